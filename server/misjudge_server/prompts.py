"""MCP prompts, which clients offer as slash commands: each leads an agent through calls of our tools."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent
from pydantic import BaseModel, ValidationError

from misjudge_server import prompt_requests as takes
from misjudge_server import prompt_texts as texts
from misjudge_server.complaints import complaint
from misjudge_server.refusals import shortened


class PromptEntry(NamedTuple):
    """One prompt: what it takes, and what it says then."""

    request: type[BaseModel]
    text: Callable[[Any], str]
    description: str


PROMPTS: Mapping[str, PromptEntry] = {
    "audit_judge": PromptEntry(
        takes.AuditJudge, texts.audit_judge, "Audit an LLM judge, from a log, a suite or stored pairs (审计评判模型)."
    ),
    "explain_misselection": PromptEntry(
        takes.ExplainMisselection,
        texts.explain_misselection,
        "Explain why the judge picked the side that failed, on one pair (误选).",
    ),
    "release_gate": PromptEntry(
        takes.ReleaseGate,
        texts.release_gate,
        "May this judge be used? Hold its misselection against a limit (发布门禁).",
    ),
    "rubric_baseline": PromptEntry(
        takes.RubricBaseline,
        texts.rubric_baseline,
        "Can this model write its own rubric? Recall, hallucination, rubric gap (评分准则).",
    ),
    "label_session": PromptEntry(
        takes.LabelSession, texts.label_session, "Label blind pairs with a person, one by one (人工标注)."
    ),
}


def listed_prompts() -> list[Prompt]:
    """The prompts as `prompts/list` sends them; arguments that are needed come first."""
    return [
        Prompt(name=name, description=entry.description, arguments=_arguments(entry.request))
        for name, entry in PROMPTS.items()
    ]


def _arguments(request: type[BaseModel]) -> list[PromptArgument]:
    return [
        PromptArgument(name=name, description=field.description, required=field.is_required())
        for name, field in sorted(request.model_fields.items(), key=lambda item: not item[1].is_required())
    ]


def given_prompt(name: str, arguments: Mapping[str, str]) -> GetPromptResult:
    """The text of a prompt. Raises MCPError, with a sentence, for a prompt or arguments that there are not."""
    entry = prompt_named(name)
    try:
        request = entry.request.model_validate({key: value for key, value in arguments.items() if value.strip()})
    except ValidationError as error:
        raise MCPError(INVALID_PARAMS, shortened(complaint(error, entry.request))) from None
    content = TextContent(type="text", text=entry.text(request))
    return GetPromptResult(description=entry.description, messages=[PromptMessage(role="user", content=content)])


def prompt_named(name: str) -> PromptEntry:
    """Raises MCPError where there is none of this name."""
    entry = PROMPTS.get(name)
    if entry is None:
        near = difflib.get_close_matches(name, PROMPTS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise MCPError(INVALID_PARAMS, f"There is no prompt {name[:80]!r}.{hint} Prompts are: {', '.join(PROMPTS)}.")
    return entry
