"""A server for the protocol's conformance suite, over streamable HTTP on a free port of loopback.

    python tests/conformance_server.py

prints its URL, then serves until it is killed. It is the app of `misjudge serve`, and before that the few tools,
prompts and resources that the suite wants to find, under the suite's own names. What misjudge does not offer is not
offered here either: scripts/conformance/exceptions.yaml has the reasons.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent.parent / room) for room in ("server", "tools", "storage")]

import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ContentBlock,
    EmbeddedResource,
    GetPromptRequestParams,
    GetPromptResult,
    ImageContent,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
)
from pydantic import BaseModel

from misjudge_server.app import build_app
from misjudge_server.lazy_deps import LazyDeps

Context = ServerRequestContext[Any, Any]
Params = TypeVar("Params", bound=BaseModel)
Handler = Callable[[Context, Any], Awaitable[Any]]

PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQAAAAA="
NOTHING: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}
ADDRESSED: Final[Mapping[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
PERSON: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}
DEFAULTS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
_PLAIN = ["option1", "option2", "option3"]
ENUMS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": _PLAIN},
        "titledSingle": {
            "type": "string",
            "oneOf": [
                {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second"), 1)
            ],
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _PLAIN}},
        "titledMulti": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"const": f"value{n}", "title": f"{word} Choice"} for n, word in enumerate(("First", "Second"), 1)
                ]
            },
        },
    },
}


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))


IMAGE: Final = ImageContent(type="image", data=PNG, mime_type="image/png")
CONTENTS: Final[Mapping[str, list[ContentBlock]]] = {
    "test_simple_text": [_text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [AudioContent(type="audio", data=WAV, mime_type="audio/wav")],
    "test_embedded_resource": [
        _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        _text("Multiple content types test:"),
        IMAGE,
        _embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "json_schema_2020_12_tool": [_text("done")],
}
"""Tools that only show content of each kind."""


class Form(NamedTuple):
    """A tool that asks the person behind the client, and how it words the answer."""

    schema: Mapping[str, Any]
    says: str


FORMS: Final[Mapping[str, Form]] = {
    "test_elicitation": Form(PERSON, "User response"),
    "test_elicitation_sep1034_defaults": Form(DEFAULTS, "Elicitation completed"),
    "test_elicitation_sep1330_enums": Form(ENUMS, "Elicitation completed"),
}
MESSAGE: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"message": {"type": "string"}},
    "required": ["message"],
}
SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {"json_schema_2020_12_tool": ADDRESSED, "test_elicitation": MESSAGE}
TOOLS: Final = (*CONTENTS, *FORMS, "test_error_handling", "test_tool_with_progress")
PROMPTS: Final[Mapping[str, tuple[str, ...]]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}
TEMPLATE: Final = re.compile("test://template/([^/]+)/data")
STATIC: Final = {"test://static-text": "text/plain", "test://static-binary": "image/png"}


async def call(context: Context, params: CallToolRequestParams) -> CallToolResult | None:
    """The result of a tool of the suite, None for any other tool."""
    if params.name in CONTENTS:
        return CallToolResult(content=list(CONTENTS[params.name]))
    if params.name in FORMS:
        return await _ask(context, FORMS[params.name], params.arguments or {})
    if params.name == "test_error_handling":
        return CallToolResult(content=[_text("This tool intentionally returns an error for testing")], is_error=True)
    if params.name == "test_tool_with_progress":
        for done in (0, 50, 100):
            await context.session.report_progress(done, 100)
        return CallToolResult(content=[_text("done")])
    return None


async def _ask(context: Context, form: Form, arguments: Mapping[str, Any]) -> CallToolResult:
    said = await context.session.elicit_form(arguments.get("message", "Please"), dict(form.schema), context.request_id)
    return CallToolResult(content=[_text(f"{form.says}: action={said.action}, content={json.dumps(said.content)}")])


async def prompt(_: Context, params: GetPromptRequestParams) -> GetPromptResult | None:
    """A prompt of the suite, None for any other."""
    given = params.arguments or {}
    contents: Mapping[str, Callable[[], list[ContentBlock]]] = {
        "test_simple_prompt": lambda: [_text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": lambda: [
            _text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
        ],
        "test_prompt_with_embedded_resource": lambda: [
            _embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing."),
            _text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": lambda: [IMAGE, _text("Please analyze the image above.")],
    }
    if params.name not in contents:
        return None
    return GetPromptResult(messages=[PromptMessage(role="user", content=one) for one in contents[params.name]()])


async def read(_: Context, params: ReadResourceRequestParams) -> ReadResourceResult | None:
    """A resource of the suite, None for any other."""
    uri = str(params.uri)
    if uri == "test://static-binary":
        blob = BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
        return ReadResourceResult(contents=[blob])
    if uri == "test://static-text":
        text = "This is the content of the static text resource."
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type="text/plain", text=text)])
    if found := TEMPLATE.fullmatch(uri):
        told = json.dumps({"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"})
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type="application/json", text=told)])
    return None


async def complete(_: Context, params: CompleteRequestParams) -> CompleteResult | None:
    """No suggestions for the suite's prompts, None for any other reference."""
    if isinstance(params.ref, PromptReference) and params.ref.name in PROMPTS:
        return CompleteResult(completion=Completion(values=[]))
    return None


async def tools(_: Context, __: Any) -> ListToolsResult:
    """The suite's tools."""
    return ListToolsResult(
        tools=[
            Tool(name=name, description="Of the suite.", input_schema=dict(SCHEMAS.get(name, NOTHING)))
            for name in TOOLS
        ]
    )


async def prompts(_: Context, __: Any) -> ListPromptsResult:
    """The suite's prompts."""
    return ListPromptsResult(
        prompts=[
            Prompt(
                name=name,
                description="Of the suite.",
                arguments=[PromptArgument(name=argument, description="Any.", required=True) for argument in arguments],
            )
            for name, arguments in PROMPTS.items()
        ]
    )


async def resources(_: Context, __: Any) -> ListResourcesResult:
    """The suite's resources."""
    found = [Resource(uri=uri, name=uri, description="Of the suite.", mime_type=kind) for uri, kind in STATIC.items()]
    return ListResourcesResult(resources=found)


async def templates(_: Context, __: Any) -> ListResourceTemplatesResult:
    """The suite's template."""
    made = ResourceTemplate(uri_template="test://template/{id}/data", name="template", description="Of the suite.")
    return ListResourceTemplatesResult(resource_templates=[made])


FIRST: Final[Mapping[str, tuple[type[BaseModel], Handler]]] = {
    "tools/call": (CallToolRequestParams, call),
    "prompts/get": (GetPromptRequestParams, prompt),
    "resources/read": (ReadResourceRequestParams, read),
    "completion/complete": (CompleteRequestParams, complete),
}
"""Asked before the app's own handler, which answers where they do not."""
LISTED: Final[Mapping[str, tuple[Handler, str]]] = {
    "tools/list": (tools, "tools"),
    "prompts/list": (prompts, "prompts"),
    "resources/list": (resources, "resources"),
    "resources/templates/list": (templates, "resource_templates"),
}
"""Put before what the app lists."""


def conformance_app() -> Server[Any]:
    """The app of misjudge with the suite's fixtures before it."""
    app = build_app(LazyDeps())
    for method, (params_type, handler) in FIRST.items():
        app.add_request_handler(method, params_type, _either(handler, _own(app, method)))
    for method, (handler, member) in LISTED.items():
        app.add_request_handler(method, PaginatedRequestParams, _both(handler, _own(app, method), member))
    return app


def _own(app: Server[Any], method: str) -> Handler:
    entry = app.get_request_handler(method)
    assert entry is not None, f"misjudge does not answer {method}"
    return entry.handler


def _either(first: Handler, own: Handler) -> Handler:
    async def answer(context: Context, params: Any) -> Any:
        answered = await first(context, params)
        return await own(context, params) if answered is None else answered

    return answer


def _both(first: Handler, own: Handler, member: str) -> Handler:
    async def answer(context: Context, params: Any) -> Any:
        fixtures, listed = await first(context, params), await own(context, params)
        return listed.model_copy(update={member: [*getattr(fixtures, member), *getattr(listed, member)]})

    return answer


async def main() -> None:
    """Serve on a free port, and say where."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        config = uvicorn.Config(conformance_app().streamable_http_app(), log_level="warning")
        print(url, flush=True)
        await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(main())
