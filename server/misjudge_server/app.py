"""The MCP server: the SDK's low-level Server over one table of tools, the prompts, and what is stored as resources.

Listing needs the request models only. An operation, the store and the gateway are imported by the first call that needs
them, so that a client which drops slow servers gets its answer in time.
"""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Mapping
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
    CompleteRequestParams,
    CompleteResult,
    ElicitationCapability,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)
from pydantic import BaseModel, ValidationError

from misjudge_server import VERSION
from misjudge_server.complaints import complaint
from misjudge_server.completion import completed
from misjudge_server.fitting import as_sent
from misjudge_server.lazy_deps import LazyDeps
from misjudge_server.listing import tool_of
from misjudge_server.logs import log_failure
from misjudge_server.prompts import given_prompt, listed_prompts
from misjudge_server.refusals import internal, refusing, shortened
from misjudge_server.resources import listed_resources, listed_templates, read_resource
from misjudge_server.tool_table import INSTRUCTIONS, TOOLS, ToolEntry
from misjudge_storage.errors import MisjudgeError
from misjudge_tools.deps import AskPerson, Listener
from misjudge_tools.results import RunReport

__all__ = ["LazyDeps", "answer", "build_app"]

log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any, Any]
_Page = PaginatedRequestParams | None


def build_app(deps: LazyDeps) -> Server[Any]:
    """The server over these dependencies; both protocol eras are the SDK's."""

    async def list_tools(_: _Context, __: _Page) -> ListToolsResult:
        return ListToolsResult(tools=[tool_of(name, entry) for name, entry in TOOLS.items()])

    async def call_tool(context: _Context, params: CallToolRequestParams) -> CallToolResult:
        asking = _person_of(context)
        return await answer(deps, params.name, params.arguments or {}, _progress_of(context), asking)

    async def list_prompts(_: _Context, __: _Page) -> ListPromptsResult:
        return ListPromptsResult(prompts=listed_prompts())

    async def get_prompt(_: _Context, params: GetPromptRequestParams) -> GetPromptResult:
        return given_prompt(params.name, params.arguments or {})

    async def list_resources(_: _Context, params: _Page) -> ListResourcesResult:
        return await refusing("resources/list", listed_resources(deps, params.cursor if params else None))

    async def list_templates(_: _Context, __: _Page) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=listed_templates())

    async def read(_: _Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await refusing("resources/read", read_resource(deps, params.uri))

    async def complete(_: _Context, params: CompleteRequestParams) -> CompleteResult:
        return CompleteResult(completion=await refusing("completion/complete", completed(deps, params)))

    return Server(
        "misjudge",
        version=VERSION,
        title="misjudge",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
        on_completion=complete,
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
        result = await _carried_out(entry, request, deps, progress, ask_person)
    except MisjudgeError as error:
        return _failed(str(error))
    except Exception as error:
        log_failure(log, f"tool {name}", error)
        return _failed(internal(name, error))
    return _succeeded(as_sent(name, result.model_dump(mode="json", by_alias=True)))


async def _carried_out(
    entry: ToolEntry, request: BaseModel, deps: LazyDeps, progress: Listener | None, ask_person: AskPerson | None
) -> BaseModel:
    operation = getattr(import_module(entry.module), entry.function)
    if entry.stands_alone:
        result: BaseModel = await operation(request)
    else:
        result = await operation(request, replace(await deps.get(), progress=progress, ask_person=ask_person))
    return result


def _succeeded(structured: dict[str, Any]) -> CallToolResult:
    # Claude Code and Codex show their model structuredContent only; clients of older protocols know only the text.
    text = json.dumps(structured, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)


def _failed(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=shortened(message))], is_error=True)
