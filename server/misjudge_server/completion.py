"""Completing the arguments of prompts and addresses, from names that are stored or configured. Makes no store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CompleteRequestParams, Completion, PromptReference

from misjudge_server.lazy_deps import LazyDeps
from misjudge_server.prompts import prompt_named
from misjudge_server.resources import TEMPLATES
from misjudge_tools.results import SCHEME

if TYPE_CHECKING:
    from sqlalchemy import Connection

MOST: Final = 100
"""Values that the protocol allows in one answer."""
ASKED_JUDGES: Final = ("simulated", "local")
ASKING: Final = frozenset({"audit_judge", "rubric_baseline"})
"""Prompts whose judge is asked now; those of the others are judges of the audit."""
KINDS_OF_ID: Final[Mapping[str, str]] = {"pair": "pairs", "log": "logs"}


async def completed(deps: LazyDeps, params: CompleteRequestParams) -> Completion:
    """The values that begin with what was typed, whatever its capitals; none for an argument that takes any text.

    Raises MCPError for a prompt, address or argument that there is not.
    """
    name, typed = params.argument.name, params.argument.value
    said = params.context.arguments or {} if params.context else {}
    if isinstance(params.ref, PromptReference):
        _refuse_unknown(name, list(prompt_named(params.ref.name).request.model_fields))
        values = await _of_prompt(deps, params.ref.name, name, said)
    else:
        _refuse_unknown(name, _variables(params.ref.uri))
        values = await _of_address(deps, name, typed, said)
    found = [value for value in dict.fromkeys(values) if value.casefold().startswith(typed.casefold())]
    return Completion(values=found[:MOST], has_more=len(found) > MOST)


def _refuse_unknown(name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise MCPError(INVALID_PARAMS, f"There is no argument {name[:80]!r} here. Arguments are: {', '.join(names)}.")


def _variables(address: str) -> list[str]:
    place = address.removeprefix(SCHEME)
    if place not in TEMPLATES:
        raise MCPError(
            INVALID_PARAMS, f"There is no such template. Templates are: {', '.join(map(SCHEME.__add__, TEMPLATES))}."
        )
    return [part[1:-1] for part in place.split("/") if part.startswith("{")]


async def _of_prompt(deps: LazyDeps, prompt: str, name: str, said: Mapping[str, str]) -> Iterable[str]:
    if name in {"audit", "baseline"}:
        return await _audits(deps)
    if name == "judge":
        asked = [*ASKED_JUDGES, *await _profiles(deps)] if prompt in ASKING else []
        return [*asked, *await _labels(deps, said.get("audit") or None)]
    return await asyncio.to_thread(_suites) if name == "data" else []


async def _of_address(deps: LazyDeps, name: str, typed: str, said: Mapping[str, str]) -> Iterable[str]:
    if name == "audit":
        return await _audits(deps)
    if name == "kind":
        return await asyncio.to_thread(_kinds)
    if name in {*KINDS_OF_ID, "id"} and "audit" in said:
        return await _ids(deps, said["audit"], KINDS_OF_ID.get(name, said.get("kind", "")), typed)
    return []


async def _audits(deps: LazyDeps) -> list[str]:
    def query(connection: Connection) -> list[str]:
        from misjudge_storage.record_names import audit_names

        return audit_names(connection)

    return await _stored(deps, query)


async def _labels(deps: LazyDeps, audit: str | None) -> list[str]:
    def query(connection: Connection) -> list[str]:
        from misjudge_storage.record_names import judge_labels

        return judge_labels(connection, audit)

    return await _stored(deps, query)


async def _ids(deps: LazyDeps, audit: str, kind: str, typed: str) -> list[str]:
    def query(connection: Connection) -> list[str]:
        from misjudge_storage.record_names import ids_that_begin

        return ids_that_begin(connection, audit, kind, typed, MOST + 1)

    return await _stored(deps, query) if kind in await asyncio.to_thread(_kinds) else []


async def _stored(deps: LazyDeps, query: Callable[[Connection], list[str]]) -> list[str]:
    """What the store holds, nothing where there is none."""
    there = await deps.existing()
    if there is None:
        return []

    def read() -> list[str]:
        with there.store.read() as connection:
            return query(connection)

    return await asyncio.to_thread(read)


async def _profiles(deps: LazyDeps) -> list[str]:
    """The profiles of misjudge.toml, which are known without a store."""
    there = await deps.existing()
    if there is not None:
        return sorted(there.models.profiles)
    from misjudge_server.settings import load_settings

    return sorted((await asyncio.to_thread(load_settings)).models.profiles)


def _kinds() -> Sequence[str]:
    from misjudge_storage.queries import BY_KIND

    return list(BY_KIND)


def _suites() -> Sequence[str]:
    from misjudge_tools.suites.loading import SHIPPED

    return SHIPPED
