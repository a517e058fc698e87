"""What labelling takes: the tool `review`, and sheets, which are of a person's own shell and no tool of an agent."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from misjudge_tools.requests import AuditName, Request

ReviewerName = Annotated[str | None, Field(description="The person's id, such as initials.")]


class ReviewRequest(Request):
    """Have a person say which of two responses was better, blind. Only the person answers, never a model.

    Without `pref` it gives the next pair, or again the one that is named.
    """

    audit: AuditName
    reviewer: Annotated[str | None, Field(description="Needed: the person's id, such as initials.")] = None
    pair: Annotated[str | None, Field(max_length=100, description="Of an answer: the pair's token.")] = None
    pref: Annotated[Literal["A", "B", "tie"] | None, Field(description="What the person said.")] = None
    success_a: Annotated[
        Literal["yes", "no", "unsure"] | None, Field(description="Did A do the task, says the person.")
    ] = None
    success_b: Literal["yes", "no", "unsure"] | None = None
    cursor: Annotated[int, Field(ge=0, description="next_cursor of the pair.")] = 0


class SheetOutRequest(Request):
    """Write a sheet of blind pairs for one person: .csv for a spreadsheet, or .jsonl."""

    audit: AuditName
    reviewer: ReviewerName = None
    path: Annotated[str, Field(min_length=1, max_length=1000, description="A new .csv or .jsonl file.")]
    pairs: Annotated[int, Field(ge=1, le=2000, description="How many.")] = 20
    only: Annotated[Literal["random", "chosen"] | None, Field(description="Of one stream. Default: half of each.")] = (
        None
    )
    force: Annotated[bool, Field(description="Replace the file.")] = False


class SheetInRequest(Request):
    """Store the answers of a filled-in sheet: all of them, or none."""

    audit: AuditName
    reviewer: ReviewerName = None
    path: Annotated[str, Field(min_length=1, max_length=1000, description="The sheet.")]
