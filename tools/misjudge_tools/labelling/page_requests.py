"""What the label page takes and answers. It belongs to a person's own shell, and is no tool of an agent."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from misjudge_storage.types import Value
from misjudge_tools.labelling.review_requests import ReviewerName
from misjudge_tools.labelling.values import ReviewStanding
from misjudge_tools.requests import AuditName, Request


class LabelPageRequest(Request):
    """Serve a page of this machine on which one person labels pairs, blind."""

    audit: AuditName
    reviewer: ReviewerName = None
    language: Annotated[Literal["en", "zh"], Field(description="Of the page.")] = "en"
    port: Annotated[int, Field(ge=0, le=65535, description="0 is a free one.")] = 0


class LabelPageResult(Value):
    """Where the page can be opened; None, with a `note`, where nothing is left to label."""

    audit: str
    reviewer: str
    address: str | None
    standing: ReviewStanding
    note: str | None = None
