"""The tools of one rollout. What an agent does wrong is an answer to the agent, never an exception."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from referencing import Registry

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import ToolCall
from misjudge_tools.episodes.posting import PostFailed, host_allowed, post_json
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.turns import ToolsAway
from misjudge_tools.episodes.world import ToolRefused, World
from misjudge_tools.suites.model import ToolFault, Tools, ToolSpec

SHIPPED_TOOLS = "misjudge_tools.suites.support_desk.backend"
"""The module of tools that needs no permission."""
MOST_RESULT_CHARACTERS = 20_000
PYTHON_LIMIT_S = 5.0
"""Longest time that the SQL of one call may take, in seconds."""
HTTP_LIMIT_S = 30.0

_FAILED = "The tool failed."
_TOO_LONG = "The result is too long to show. Ask for less."
_SAVEPOINT = "misjudge_tool_call"
_log = logging.getLogger(__name__)

Functions = Mapping[str, Callable[..., object]]
Perform = Callable[[str, dict[str, Any]], Awaitable[str]]
"""Does what a tool does with checked arguments; its result as JSON text. Raises ToolRefused, or whatever went wrong."""


class Toolbox(Protocol):
    """The tools of one rollout with its world."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]: ...

    async def call(self, call: ToolCall) -> str:
        """The result as JSON text, `{"error": …}` where there is none. Calls are made one after the other.

        Raises ToolsAway where the tools are at a server that is away.
        """
        ...


def open_toolbox(
    tools: Tools, world: World | None, faults: Sequence[ToolFault], allowed: Allowed, session: str
) -> Toolbox:
    """The tools of a suite for one rollout, which `session` names to a server of tools. Raises InvalidInput where
    they cannot be found or the configuration does not allow them.
    """
    if tools.http is not None:
        if not host_allowed(tools.http, allowed.hosts):
            raise InvalidInput(
                "The address of the suite's tools is not of an allowed host. Name its host in the configuration first."
            )
        return _Toolbox(tools.tools, faults, partial(_post, tools.http, allowed.hosts, session))
    connection = None if world is None else world.connection
    if connection is not None:
        connection.set_authorizer(_without_transactions)
    return _Toolbox(tools.tools, faults, partial(_run, tool_functions(tools, allowed), connection))


def tool_functions(tools: Tools, allowed: Allowed) -> Functions:
    """The Python functions of a suite's tools by name. Raises InvalidInput where the module is not allowed, cannot be
    imported or lacks one.
    """
    if tools.python is None:
        return {}
    if tools.python != SHIPPED_TOOLS and tools.python not in allowed.python:
        raise InvalidInput(
            "The suite's tools are a Python module that the configuration does not allow. Name it there first."
        )
    try:
        module = importlib.import_module(tools.python)
    except Exception as error:
        raise InvalidInput(
            f"The Python module of the suite's tools cannot be imported ({type(error).__name__}). "
            "Install it where misjudge is installed."
        ) from error
    found = {spec.name: getattr(module, spec.name, None) for spec in tools.tools}
    if missing := [name for name, function in found.items() if not inspect.isfunction(function)]:
        raise InvalidInput(
            f"The Python module of the suite's tools has no function {', '.join(missing)}. "
            "Each tool needs a function of its name."
        )
    return {name: function for name, function in found.items() if inspect.isfunction(function)}


class _Toolbox:
    """Checks a call, lets planned faults fail, performs the rest in the order of their coming."""

    def __init__(self, specs: tuple[ToolSpec, ...], faults: Sequence[ToolFault], perform: Perform) -> None:
        self.specs = specs
        self._by_name = {spec.name: spec for spec in specs}
        self._to_fail = [error for fault in faults for error in [fault] * fault.calls]
        self._perform = perform
        self._turn = asyncio.Lock()

    async def call(self, call: ToolCall) -> str:
        async with self._turn:
            try:
                return await self._result(call)
            except ToolRefused as refusal:
                return _error(str(refusal))
            except PostFailed as failure:
                if failure.away:
                    raise ToolsAway(f"The server of the tools gave no result. {failure}") from None
                _log.warning("A tool's server gave no result: %s", failure)
            except Exception as error:
                _log.warning("A tool failed with %s.", type(error).__name__)
            return _error(_FAILED)

    async def _result(self, call: ToolCall) -> str:
        spec = self._by_name.get(call.name)
        if spec is None:
            raise ToolRefused(f"There is no such tool. The tools are: {', '.join(self._by_name) or 'none'}.")
        arguments = read_arguments(call.arguments, spec)
        for fault in self._to_fail:
            if fault.tool == spec.name:
                self._to_fail.remove(fault)
                raise ToolRefused(fault.error)
        return await self._perform(spec.name, arguments)


def read_arguments(text: str, spec: ToolSpec) -> dict[str, Any]:
    """The arguments of a call where they fit the tool's schema. Raises ToolRefused, which says what is wrong with them
    and does not repeat them.
    """
    try:
        arguments = json.loads(text or "{}", parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        raise ToolRefused("The arguments are not valid JSON.") from None
    if not isinstance(arguments, dict):
        raise ToolRefused("The arguments must be a JSON object.")
    # An empty registry: the reference of a schema to an address must never be fetched.
    validator = Draft202012Validator(spec.parameters, registry=Registry())
    if wrong := best_match(validator.iter_errors(arguments)):
        raise ToolRefused(_said_of(wrong, spec))
    return arguments


def _said_of(wrong: ValidationError, spec: ToolSpec) -> str:
    known = ", ".join(spec.parameters.get("properties", {})) or "none"
    at = wrong.absolute_path[0] if wrong.absolute_path else None
    if at is None or at not in spec.parameters.get("properties", {}):
        required = ", ".join(spec.parameters.get("required", ())) or "none"
        return f"The arguments do not fit. Known arguments: {known}. Required: {required}."
    if wrong.validator in {"type", "enum", "format", "const"}:
        return f'The argument "{at}" does not fit: {wrong.validator} must be {json.dumps(wrong.validator_value)}.'
    return f'The argument "{at}" does not fit its schema ({wrong.validator}).'


def _no_constant(_: str) -> float:
    raise ValueError("JSON has no such number")


def _finite(text: str) -> float:
    number = float(text)
    return number if abs(number) != float("inf") else _no_constant(text)


async def _post(url: str, hosts: Sequence[str], session: str, tool: str, arguments: dict[str, Any]) -> str:
    body = json.dumps({"session": session, "tool": tool, "arguments": arguments}).encode()
    return _json(await post_json(url, body, hosts=hosts, timeout_s=HTTP_LIMIT_S))


async def _run(functions: Functions, world: sqlite3.Connection | None, tool: str, arguments: dict[str, Any]) -> str:
    work = asyncio.ensure_future(asyncio.to_thread(_call_function, functions[tool], world, arguments))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        # The world must not be closed under a call that still uses it.
        await asyncio.wait([work])
        raise


def _call_function(function: Callable[..., object], world: sqlite3.Connection | None, arguments: dict[str, Any]) -> str:
    if world is None:
        return _json(function(None, **arguments))
    with _all_or_nothing(world):
        return _json(function(world, **arguments))


@contextmanager
def _all_or_nothing(world: sqlite3.Connection) -> Iterator[None]:
    """Leaves the world as it was where the body raises; its statements have a time limit."""
    end = time.monotonic() + PYTHON_LIMIT_S
    world.execute(f"SAVEPOINT {_SAVEPOINT}")
    world.set_progress_handler(lambda: time.monotonic() > end, 10_000)
    done = False
    try:
        yield
        done = True
    finally:
        world.set_progress_handler(None, 0)
        # An interrupted statement may have rolled everything back already, savepoint and all.
        if world.in_transaction:
            if not done:
                world.execute(f"ROLLBACK TO {_SAVEPOINT}")
            world.execute(f"RELEASE {_SAVEPOINT}")


def _without_transactions(action: int, *_: str | None) -> int:
    """A tool's own BEGIN, COMMIT and ROLLBACK do nothing: the caller keeps or undoes the whole call."""
    return sqlite3.SQLITE_IGNORE if action == sqlite3.SQLITE_TRANSACTION else sqlite3.SQLITE_OK


def _json(result: object) -> str:
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    if len(text) > MOST_RESULT_CHARACTERS:
        raise ToolRefused(_TOO_LONG)
    return text


def _error(sentence: str) -> str:
    return json.dumps({"error": sentence}, ensure_ascii=False)
