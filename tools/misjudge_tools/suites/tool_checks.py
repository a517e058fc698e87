"""Whether the tools of a suite can be used, and whether its tasks and solutions name tools that are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from misjudge_tools.episodes.addresses import is_protected
from misjudge_tools.episodes.posting import host_allowed
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.toolbox import SHIPPED_TOOLS, tool_functions
from misjudge_tools.suites.model import Tools, ToolSpec
from misjudge_tools.suites.reading import refuse
from misjudge_tools.suites.schemas import problem_with_parameters, unknown_names
from misjudge_tools.suites.sentences import ended, nearest, shown

WHERE_ALLOWED = "[allow] of the misjudge.toml that MISJUDGE_CONFIG names"
OTHER_CHECKS = "check by what was called (tool_called), by http_status or by what was said"


def refuse_tools(tools: Tools, allowed: Allowed, *, has_world: bool) -> None:
    """Raises InvalidInput for tools that cannot be used, or that the configuration does not allow."""
    refuse(ended(f"tools.json: {problem}") for problem in _problems(tools, allowed, has_world))
    tool_functions(tools, allowed)


def problem_with_call(tool: str, arguments: Mapping[str, Any], tools: Mapping[str, ToolSpec]) -> str | None:
    """Why no tool can be called so; to be read behind the name of the field that names the tool."""
    if not tools:
        return "names a tool, and this suite has no tools.json"
    if tool not in tools:
        return f"names a tool that tools.json does not hold.{nearest(tool, tools)} Tools: {', '.join(tools)}"
    unknown = unknown_names(arguments, tools[tool].parameters)
    if unknown:
        known = tools[tool].parameters.get("properties", {})
        takes = ", ".join(map(shown, known)) or "nothing"
        return f"names {tool}, which takes no {shown(unknown[0])}.{nearest(unknown[0], known)} It takes: {takes}"
    return None


def _problems(tools: Tools, allowed: Allowed, has_world: bool) -> Iterator[str]:
    if tools.python is not None and tools.python not in {SHIPPED_TOOLS, *allowed.python}:
        yield f"python names a module that may not be run. If you trust it, name it in python in {WHERE_ALLOWED}"
    if tools.python is not None and not has_world:
        yield "tools in Python need a world. Add world.sql or world.db"
    if tools.http is not None and has_world:
        yield (
            "tools over HTTP have a world of their own and cannot change that of the suite. Remove world.sql or "
            f"world.db and {OTHER_CHECKS}, or write the tools in Python"
        )
    if tools.http is not None:
        yield from _problems_with_address(tools.http, allowed)
    for name, times in Counter(tool.name for tool in tools.tools).items():
        if times > 1:
            yield f"{name} stands there twice. Give each tool its own name"
    for tool in tools.tools:
        problem = problem_with_parameters(tool.parameters)
        if problem is not None:
            yield f"parameters of {tool.name} {problem}"


def _problems_with_address(url: str, allowed: Allowed) -> Iterator[str]:
    if not is_protected(url):
        yield "http must begin with https://, or with http:// for a server on this machine"
    elif not host_allowed(url, allowed.hosts):
        yield f"http names a host that may not be asked. If you trust it, name it in hosts in {WHERE_ALLOWED}"
