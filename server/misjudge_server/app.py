"""The MCP server: the SDK's low-level Server over one table of tools.

Listing the tools needs their request models only. An operation, the store and the gateway are imported by
the first call that needs them, so that a client which drops slow servers gets its answer in time.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel, ValidationError

from misjudge_server import VERSION
from misjudge_server.complaints import complaint
from misjudge_server.fitting import fit, rounded
from misjudge_server.logs import log_failure
from misjudge_server.tool_table import INSTRUCTIONS, TOOLS, ToolEntry
from misjudge_storage.errors import MisjudgeError
from misjudge_tools.deps import AskPerson, Deps, Listener
from misjudge_tools.results import RunReport

log = logging.getLogger(__name__)
_UNSAID = {
    *("title", "pattern", "minLength", "maxLength", "minItems", "maxItems"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
_PLAIN = frozenset(
    {
        *("wait_s", "max_calls", "request_key", "dry_run", "language", "repeats", "pair_ids", "by"),
        *("agent_a", "agent_b", "trajectory_b", "response_b", "gold_rules", "success_source"),
        *("fields", "cursor", "max_bytes", "success_b", "force"),
    }
)
"""Arguments that the instructions, the tool's description, their names or those beside them explain."""
_FURTHER_LIMITS = frozenset({"max_tokens", "max_usd_per_task", "deadline_s"})
_OF_VERDICTS = _FURTHER_LIMITS | {"truncate", "reuse", "margin"}
UNLISTED: Mapping[str, frozenset[str]] = {
    "judge": _OF_VERDICTS,
    "run_pair": _OF_VERDICTS
    | {"hard_constraints", "success_criteria", "category", "trial", "success_source"}
    | {"seed", "signals"},
    "probe_judge": _FURTHER_LIMITS,
    "score_rubrics": _FURTHER_LIMITS | {"batch", "official"},
    "runs": _FURTHER_LIMITS,
    "import_records": frozenset({"reward_col", "order_col", "gate_col"}),
    "export_records": frozenset({"test_share", "seed", "allow_eval_tasks"}),
    "write_report": frozenset({"formats", "panel", "since", "by", "bill"}),
}
"""Arguments that a tool takes but does not list, since few need them and every client would read them: docs/clients.md
has them.
"""
_TRANSCRIPT = [{"type": "string"}, {"items": {"type": "object"}, "type": "array"}]
"""Text or messages: the arguments are described so, or stand beside one that is."""
AS_STORED = frozenset({"read_record", "import_records"})
"""Tools that show what people gave, and not what was worked out: their numbers stay whole."""
LONGEST_MESSAGE = 2_000
"""Characters of an error; it may list all labels of an audit, or repeat a name that was given."""


class LazyDeps:
    """The dependencies of the operations, built by the first call. `given` ones are the caller's to close."""

    def __init__(self, given: Deps | None = None) -> None:
        self._given = given
        self._built: Deps | None = None
        self._lock = asyncio.Lock()

    async def get(self) -> Deps:
        """Raises StoreError or InvalidInput; the next call tries again."""
        if self._given is not None:
            return self._given
        async with self._lock:
            if self._built is None:
                from misjudge_server.deps import build_deps
                from misjudge_server.settings import load_settings

                self._built = await asyncio.to_thread(lambda: build_deps(load_settings(), confined=True))
            return self._built

    async def close(self) -> None:
        """Drain and close what was built here."""
        if self._built is not None:
            from misjudge_server.deps import close_deps

            await close_deps(self._built)


def build_app(deps: LazyDeps) -> Server[Any]:
    """The server over these dependencies; both protocol eras are the SDK's."""

    async def list_tools(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool_of(name, entry) for name, entry in TOOLS.items()])

    async def call_tool(context: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        asking = _person_of(context)
        return await answer(deps, params.name, params.arguments or {}, _progress_of(context), asking)

    return Server(
        "misjudge",
        version=VERSION,
        title="misjudge",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _progress_of(context: ServerRequestContext[Any, Any]) -> Listener | None:
    """Tells a client that asked for it how far the run is that its call waits for."""
    if (context.meta or {}).get("progress_token") is None:
        return None
    told = -1

    async def tell(run: RunReport) -> None:
        nonlocal told
        if run.done > told:  # the protocol wants it to grow
            told = run.done
            await context.session.report_progress(run.done, run.total, run.reason)

    return tell


def _person_of(context: ServerRequestContext[Any, Any]) -> AskPerson | None:
    """The form that a client shows its person, None where it has none."""
    form = ClientCapabilities(elicitation=ElicitationCapability())
    if not context.session.check_client_capability(form):
        return None

    async def ask(message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        try:
            said = await context.session.elicit_form(message, dict(schema), context.request_id)
        except MCPError:  # no way back to it in the newer protocol era, or it has no form after all
            return None
        return said.content if said.action == "accept" else None

    return ask


def tool_of(name: str, entry: ToolEntry) -> Tool:
    """A tool as `tools/list` sends it: the flat schema of its request, no output schema, and no title but its name."""
    return Tool(
        name=name,
        description=entry.description,
        input_schema=schema_of(entry.request, UNLISTED.get(name, ())),
        annotations=_annotations(entry),
    )


def _annotations(entry: ToolEntry) -> ToolAnnotations:
    """The hints that differ from what the protocol takes for granted, and which world it reaches: a tool neither only
    reads nor is idempotent unless it says so, and what only reads is both idempotent and destroys nothing.
    """
    if entry.reads_only:
        return ToolAnnotations(read_only_hint=True, open_world_hint=entry.asks_models)
    return ToolAnnotations(
        destructive_hint=entry.destroys,
        idempotent_hint=True if entry.idempotent else None,
        open_world_hint=entry.asks_models,
    )


def schema_of(request: type[BaseModel], unlisted: Collection[str] = ()) -> dict[str, Any]:
    """The JSON schema of a request, without what only eats the size budget: titles, defaults that go without saying,
    types that the values show, bounds that nobody meets by chance, since a call that does is told in a sentence, and
    the `unlisted` arguments.
    """
    schema = request.model_json_schema()
    schema.pop("description", None)
    _slim(schema)
    for name in unlisted:
        del schema["properties"][name]
    for name in _PLAIN & schema["properties"].keys():
        for said in ("description", "default"):
            schema["properties"][name].pop(said, None)
    return schema


def _slim(node: Any) -> None:
    if isinstance(node, list):
        for item in node:
            _slim(item)
    elif isinstance(node, dict):
        for value in node.values():
            _slim(value)
        for name in _UNSAID & node.keys():
            if not isinstance(node[name], dict):  # a field may bear such a name
                del node[name]
        if isinstance(node.get("items"), dict):  # the list says it
            node["items"].pop("description", None)
        if isinstance(node.get("additionalProperties"), bool):  # an argument that nobody knows is told in a sentence
            del node["additionalProperties"]
        if "enum" in node or "const" in node:
            node.pop("type", None)
        _slim_default(node)


def _slim_default(node: dict[str, Any]) -> None:
    if node.get("anyOf") == _TRANSCRIPT:
        del node["anyOf"]
    if node.get("default", "") is None:
        node["anyOf"] = [option for option in node.get("anyOf", []) if option.get("type") != "null"]
        if len(node["anyOf"]) == 1:
            node.update(node.pop("anyOf")[0])
    if "default" in node and node["default"] in (None, False, "", []):
        del node["default"]


async def answer(
    deps: LazyDeps,
    name: str,
    arguments: dict[str, Any],
    progress: Listener | None = None,
    ask_person: AskPerson | None = None,
) -> CallToolResult:
    """The result of one tool call. Every failure is text for the agent, `isError`, without structured content."""
    entry = TOOLS.get(name)
    if entry is None:
        near = difflib.get_close_matches(name, TOOLS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        return _failed(f"There is no tool {name[:80]!r}.{hint} Tools are: {', '.join(TOOLS)}.")
    try:
        request = entry.request.model_validate(arguments)
    except ValidationError as error:
        return _failed(complaint(error, entry.request))
    try:
        operation = getattr(import_module(entry.module), entry.function)
        result: BaseModel = await operation(
            request, replace(await deps.get(), progress=progress, ask_person=ask_person)
        )
    except MisjudgeError as error:
        return _failed(str(error))
    except Exception as error:
        log_failure(log, f"tool {name}", error)
        return _failed(f"Internal error in {name} ({type(error).__name__}). The server's log on stderr says more.")
    structured = result.model_dump(mode="json", by_alias=True)
    return _succeeded(fit(name, structured if name in AS_STORED else rounded(structured)))


def _succeeded(structured: dict[str, Any]) -> CallToolResult:
    # Claude Code and Codex show their model structuredContent only; clients of older protocols know only the text.
    text = json.dumps(structured, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)


def _failed(message: str) -> CallToolResult:
    if len(message) > LONGEST_MESSAGE:
        message = message[:LONGEST_MESSAGE] + " …"
    return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)
