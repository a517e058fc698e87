"""Which column of a table plays which role, as given by `--map` and `--values` and guessed from the header."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Order, Preference, Scale, Value
from misjudge_tools.interchange.scales import read_range, read_scale
from misjudge_tools.interchange.table_cells import folded

_SHARED = ("prompt", "judge", "task", "trial", "time", "category", "subset", "criteria")
PAIR_ROLES = (
    *("prompt", "a", "b", "winner", "gold", "order", "judge", "task", "trial", "time", "pair_id", "category"),
    *("subset", "criteria", "agent_a", "agent_b", "score_a", "score_b", "reward_a", "reward_b"),
    *("success_a", "success_b", "reasons", "input_tokens", "output_tokens", "cost"),
)
"""Roles of a table with one pair per row."""
RESPONSE_ROLES = (*_SHARED, "agent", "response", "score", "reward", "success", "human")
"""Roles of a table with one response per row."""
SEVERAL = frozenset({"winner", "gold", "score"})
"""Roles that several columns may play at once: one judge or annotator each."""

OF_ONE_JUDGE = ("judge", "score_a", "score_b", "reasons")
"""Roles that belong to no one where several winner columns make several judges."""

_TOGETHER = frozenset({"task", "pair_id", "category", "subset"})
_ENOUGH = (
    *(("winner",), ("gold",), ("a", "b"), ("score_a", "score_b")),
    *(("reward_a", "reward_b"), ("success_a", "success_b")),
)
_CANONICAL: Mapping[str, Preference] = {"a": "A", "b": "B", "tie": "tie"}
_PREFERENCES: Mapping[str, Preference | None] = {**_CANONICAL, "none": None}
_ORDERS: Mapping[str, Order] = {"ab": "AB", "ba": "BA"}
_VALUES_FORM = (
    "--values takes value=A, value=B, value=tie or value=none (no verdict), as in --values 1=A,2=B,0=tie or --values "
    "winner:model_a=A,model_b=B; of the order shown AB or BA, as in --values order:yes=BA,no=AB."
)


class RoleColumns(NamedTuple):
    """The columns that play a role; none where the user said that no column does."""

    role: str
    names: tuple[str, ...]


class Meaning(NamedTuple):
    """What one value (folded) of a verdict column stands for; None: for no verdict."""

    value: str
    pref: Preference | None


class OrderMeaning(NamedTuple):
    """Which order one value (folded) of the order column stands for."""

    value: str
    order: Order


class ValueMap(NamedTuple):
    """Meanings of the verdict columns in `scope`: a column, `winner`, `gold`, or all of them (empty)."""

    scope: str
    meanings: tuple[Meaning, ...]


class TableMapping(Value):
    """How a table is to be read. `scale` is that of the scores, open where nobody states it."""

    columns: tuple[RoleColumns, ...] = ()
    values: tuple[ValueMap, ...] = ()
    orders: tuple[OrderMeaning, ...] = ()
    per_response: bool = False
    scale: Scale = Scale()

    def names(self, role: str) -> tuple[str, ...]:
        """The columns of a role, empty where it has none."""
        return next((entry.names for entry in self.columns if entry.role == role), ())

    def meanings(self, role: str, column: str) -> dict[str, Preference | None] | None:
        """Meanings given for a verdict column, the narrowest scope first, and what else says A, B or tie itself; None:
        the common ones apply.
        """
        for scope in (column, role, ""):
            found = [meaning for entry in self.values if entry.scope == scope for meaning in entry.meanings]
            if found:
                return _with_canonical(dict(found))
        return None


def _with_canonical(given: dict[str, Preference | None]) -> dict[str, Preference | None]:
    """A, B and tie mean themselves, too; A and B only where neither letter was given another meaning. Where only words
    for no verdict are given, all common ones stay.
    """
    if not any(given.values()):
        return given
    renamed = any(given.get(letter, side) != side for letter, side in _CANONICAL.items() if side != "tie")
    own: dict[str, Preference | None] = {
        word: pref for word, pref in _CANONICAL.items() if pref == "tie" or not renamed
    }
    return {**own, **given}


def parse_mapping(
    map_options: Sequence[str],
    values_options: Sequence[str],
    per_response: bool,
    scale: str | None = None,
    score_range: str | None = None,
) -> TableMapping:
    """Read `--map role=column,…` and `--values [scope:]value=A|B|tie|none,…` (or `order:value=AB|BA`), each repeatable,
    and the scale of scores: `--scale` of responses, `--score-range` of pairs.

    `winner`, `gold` and `score` take several columns joined by "+"; `role=` leaves a role without a column.
    A comma in a column name is kept where no `role=` follows it. Raises InvalidInput.
    """
    roles = RESPONSE_ROLES if per_response else PAIR_ROLES
    columns = [_role_columns(item, roles) for option in map_options for item in _items(option)]
    twice = next((role for role, n in Counter(entry.role for entry in columns).items() if n > 1), None)
    if twice is not None:
        raise InvalidInput(f"--map names the role {twice} twice. Join several columns with +, as in gold=ann1+ann2.")
    written = [item for option in values_options for item in _written(option)]
    return TableMapping(
        columns=tuple(columns),
        values=_value_maps(written),
        orders=_order_meanings(written),
        per_response=per_response,
        scale=_scale(per_response, scale, score_range),
    )


def _scale(per_response: bool, scale: str | None, score_range: str | None) -> Scale:
    if scale is not None and not per_response:
        raise InvalidInput(
            "In a table --scale is that of the scores of responses and needs --per-response. The scale of score_a and "
            "score_b of pairs is --score-range LOW-HIGH."
        )
    if score_range is not None and per_response:
        raise InvalidInput("In a table --score-range is of pairs: with --per-response give --scale LOW-HIGH:THRESHOLD.")
    if score_range is not None:
        return read_range(score_range)
    return Scale() if scale is None else read_scale(scale)


def _items(option: str) -> list[str]:
    items: list[str] = []
    for part in option.split(","):
        if "=" in part or not items:
            items.append(part)
        else:
            items[-1] += f",{part}"
    return [item for item in items if item.strip()]


def _role_columns(item: str, roles: Sequence[str]) -> RoleColumns:
    role, equals, names = (part.strip() for part in item.partition("="))
    if not equals:
        raise InvalidInput("--map takes role=column, as in --map prompt=question,a=answer_1,b=answer_2.")
    if role not in roles:
        near = get_close_matches(role, roles, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise InvalidInput(f"--map knows no role {role[:60]!r}. {hint}The roles are: {', '.join(roles)}.")
    columns = [name.strip() for name in names.split("+")] if role in SEVERAL else [names]
    if len(set(columns)) < len(columns):
        raise InvalidInput(f"--map names a column twice for {role}. Name each column once.")
    return RoleColumns(role, tuple(name for name in columns if name))


class _Written(NamedTuple):
    """One item of `--values`: the scope that holds for it, the value (folded) and what it stands for (folded)."""

    scope: str
    value: str
    meant: str


def _written(option: str) -> Iterator[_Written]:
    """A scope holds for the items behind it in the same option."""
    scope = ""
    for item in _items(option):
        left, _, right = item.rpartition("=")
        before, colon, after = left.partition(":")
        scope, value = (before.strip(), after) if colon else (scope, left)
        if not value.strip():
            raise InvalidInput(_VALUES_FORM)
        yield _Written(scope, folded(value), right.strip().casefold())


def _value_maps(written: Sequence[_Written]) -> tuple[ValueMap, ...]:
    scopes: dict[str, dict[str, Preference | None]] = {}
    for scope, value, meant in written:
        if meant in _ORDERS:
            continue
        if meant not in _PREFERENCES or scope == "order":
            raise InvalidInput(_VALUES_FORM)
        pref = _PREFERENCES[meant]
        if scopes.setdefault(scope, {}).setdefault(value, pref) != pref:
            raise InvalidInput("--values gives one value two meanings. Let each value stand for A, B, tie or none.")
    return tuple(ValueMap(scope, tuple(Meaning(*item) for item in found.items())) for scope, found in scopes.items())


def _order_meanings(written: Sequence[_Written]) -> tuple[OrderMeaning, ...]:
    found: dict[str, Order] = {}
    for scope, value, meant in written:
        if meant not in _ORDERS:
            continue
        if scope not in {"", "order"}:
            raise InvalidInput(_VALUES_FORM)
        if found.setdefault(value, _ORDERS[meant]) != _ORDERS[meant]:
            raise InvalidInput("--values gives one value two meanings. Let each value stand for AB or BA.")
    return tuple(OrderMeaning(*item) for item in found.items())


def check_mapping(header: Sequence[str], mapping: TableMapping) -> None:
    """Raise InvalidInput where the mapping names what is not there, contradicts itself or says too little."""
    check_columns(header, mapping)
    _check_scopes(mapping)
    _check_roles(header, mapping)


def check_columns(header: Sequence[str], mapping: TableMapping) -> None:
    """Raise InvalidInput where a mapped column is not there or plays two roles that exclude each other."""
    for role, names in mapping.columns:
        for name in names:
            if name not in header:
                near = get_close_matches(name, header, n=3, cutoff=0.4)
                hint = f"Nearest: {_told(near)}" if near else f"The columns are: {_told(header)}"
                raise InvalidInput(f"There is no column {name[:60]!r} for {role}. {hint}.")
    used: dict[str, list[str]] = {}
    for role, names in mapping.columns:
        for name in names:
            used.setdefault(name, []).append(role)
    for name, roles in used.items():
        if len(roles) > 1 and not _TOGETHER.issuperset(roles):
            raise InvalidInput(f"Column {name[:60]!r} is mapped to {' and '.join(roles)}. Map it to one of them.")


def _check_scopes(mapping: TableMapping) -> None:
    scopes = {"", "winner", "gold", *mapping.names("winner"), *mapping.names("gold")}
    unknown = next((entry.scope for entry in mapping.values if entry.scope not in scopes), None)
    if unknown is not None:
        raise InvalidInput(
            f"--values names {unknown[:60]!r}, which is no verdict column. Write winner:, gold: or one of their "
            "columns before the colon; a value that holds a colon itself is written behind a leading colon."
        )


def _check_roles(header: Sequence[str], mapping: TableMapping) -> None:
    def has(*roles: str) -> bool:
        return all(mapping.names(role) for role in roles)

    if len(mapping.names("winner")) > 1:
        extra = next((role for role in OF_ONE_JUDGE if has(role)), None)
        if extra is not None:
            raise InvalidInput(
                f"With several winner columns each is a judge of its own, so {extra} belongs to none. "
                f"Leave it out with --map {extra}= or import one judge at a time."
            )
    if mapping.per_response:
        if not (has("task") or has("prompt")) or not any(has(role) for role in ("score", "reward", "success", "human")):
            raise InvalidInput(
                "With --per-response, say which column names the task or its prompt, and which holds a score, a "
                f"reward or the success, as in --map task=…,response=…,score=…. The columns are: {_told(header)}."
            )
    elif not any(has(*roles) for roles in _ENOUGH):
        raise InvalidInput(
            "No verdict, label, score or pair of answers was recognised. Say which column is which, as in "
            f"--map prompt=…,a=…,b=…,winner=…. The columns are: {_told(header)}."
        )


def _told(columns: Sequence[str]) -> str:
    return ", ".join(repr(column[:60]) for column in columns[:20])
