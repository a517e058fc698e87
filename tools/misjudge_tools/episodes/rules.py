"""Rules that tell whether a task was done, as suites and calls write them. `verifiers` applies them.

Each rule becomes one check; `name` is what it is called there, `weight` its share of the reward.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, model_validator

from misjudge_storage.types import Value
from misjudge_tools.episodes.json_answers import check_schema
from misjudge_tools.judging.patterns import group_count

Cell = str | int | float | bool | None
Row = dict[str, Cell]
Text = Annotated[str, Field(min_length=1, max_length=4000)]
Scope = Literal["answer", "any"]
"""`answer`: the agent's last message; `any`: all of its messages."""
TIMES: Final = frozenset({"created_at", "updated_at"})
"""Columns that are left out where worlds are compared, in lower case."""


def _combination(given: object) -> object:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if given not in ("all", "any") and not (number and 0 < given <= 1):  # type: ignore[operator]
        raise ValueError('it is "all", "any" or a number above 0 and up to 1, the share of the weight that must hold')
    return given


Combination = Annotated[Literal["all", "any"] | float, BeforeValidator(_combination)]
"""How rules come to success: all hold, any does, or rules that have at least this share of the weight, in (0, 1]."""


def _pattern(pattern: str) -> str:
    group_count(pattern)
    return pattern


def _fact(fact: Cell) -> Cell:
    if fact is None or isinstance(fact, bool) or not str(fact).strip():
        raise ValueError("a fact is a number, an ISO date or a name")
    return fact


Pattern = Annotated[Text, AfterValidator(_pattern)]
"""A Python regular expression."""
FactCell = Annotated[Cell, AfterValidator(_fact)]


class _Rule(Value):
    name: Annotated[str, Field(max_length=200)] = ""
    weight: Annotated[float, Field(gt=0)] = 1.0


class SqlRule(_Rule):
    """A read-only query on the final world: a scalar equals `equals`, or its rows do (lists of cells, in order).

    A query of one column that gives no row gives null. 1 equals 1.0 and true, but not "1".
    """

    kind: Literal["sql"]
    query: Text
    equals: Cell | list[list[Cell]]


class Change(Value):
    """One change of the world that must be.

    `key` finds a row that is changed or removed, `set` is what changed in it, no more and no less; of a row `added`
    the stated columns must be equal. Rows of a table without a primary key are never changed, only added and removed.
    """

    table: Text
    key: Row = Field(default_factory=dict)
    set: Row | None = None
    added: Row | None = None
    removed: bool = False

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.set is not None) + (self.added is not None) + self.removed != 1:
            raise ValueError("a change has exactly one of set, added and removed")
        if (self.added is None) != bool(self.key):
            raise ValueError("key finds the row that is changed or removed; a row that is added has none")
        return self


class WorldRule(_Rule):
    """The final world differs from the first one in exactly these rows. `changes` empty: nothing changed.

    Columns named `created_at` or `updated_at`, and tables in `ignore`, are left out of the comparison.
    """

    kind: Literal["world"]
    changes: tuple[Change, ...] = ()
    ignore: tuple[str, ...] = ()


class ToolCalledRule(_Rule):
    """The agent called this tool between `at_least` and `at_most` times with (at least) these arguments.

    Only calls that were answered, and not with an error, count where `succeeded` is set.
    """

    kind: Literal["tool_called"]
    value: Text
    arguments: dict[str, Any] = Field(default_factory=dict)
    at_least: Annotated[int, Field(ge=1)] = 1
    at_most: Annotated[int, Field(ge=1)] | None = None
    succeeded: bool = False


class ToolNotCalledRule(_Rule):
    """The agent never called this tool with (at least) these arguments."""

    kind: Literal["tool_not_called"]
    value: Text
    arguments: dict[str, Any] = Field(default_factory=dict)


class ToolOrderRule(_Rule):
    """These tools were called one after the other; others may stand between them."""

    kind: Literal["tool_order"]
    values: Annotated[tuple[Text, ...], Field(min_length=2)]


class AskedFirstRule(_Rule):
    """Before the first call of this tool the customer answered the agent, at least `turns` times.

    It holds where the tool was never called.
    """

    kind: Literal["asked_first"]
    value: Text
    turns: Annotated[int, Field(ge=1)] = 1


class SaysRule(_Rule):
    """The agent told the customer these facts: each is a number, an ISO date or a name, in any usual way of writing it
    (129.50, $129.5, 一百二十九点五; 2026-03-14, March 14, 3月14日). Of an entry that is a list, one is enough.

    Negation is not understood: "not 129.50" tells 129.50.
    """

    kind: Literal["says"]
    facts: Annotated[tuple[FactCell | Annotated[list[FactCell], Field(min_length=1)], ...], Field(min_length=1)]
    where: Scope = "any"


class NotSaysRule(_Rule):
    """The agent told the customer none of these."""

    kind: Literal["not_says"]
    facts: Annotated[tuple[FactCell, ...], Field(min_length=1)]
    where: Scope = "any"


class ContainsRule(_Rule):
    """Text in the agent's messages; case, width and runs of white space do not matter. Of a list, one is enough."""

    kind: Literal["contains"]
    value: Text | Annotated[list[Text], Field(min_length=1)]
    where: Scope = "any"


class NotContainsRule(_Rule):
    """None of these in the agent's messages."""

    kind: Literal["not_contains"]
    value: Text | Annotated[list[Text], Field(min_length=1)]
    where: Scope = "any"


class RegexRule(_Rule):
    """A pattern is found in the agent's messages, or is not, where `absent` is set."""

    kind: Literal["regex"]
    value: Pattern
    where: Scope = "answer"
    absent: bool = False


class LengthRule(_Rule):
    """The answer's length in words (of Chinese: characters), characters, sentences, lines that are not empty, or items
    of lists.
    """

    kind: Literal["length"]
    unit: Literal["words", "characters", "sentences", "lines", "items"]
    at_least: Annotated[int, Field(ge=0)] | None = None
    at_most: Annotated[int, Field(ge=0)] | None = None
    where: Scope = "answer"


class FormatRule(_Rule):
    """The answer is written as this.

    json: an object or array, also in a code fence; list: nothing but items and what belongs to them; numbered_list:
    counted from 1; table: of Markdown. A list and a table may follow one line that ends in a colon. iso_date: at least
    one date, and all of them as 2026-03-14. one_line: a single line.
    """

    kind: Literal["format"]
    value: Literal["json", "list", "numbered_list", "table", "iso_date", "one_line"]


class JsonSchemaRule(_Rule):
    """The answer is JSON (a code fence around it does not matter) that fits this schema.

    Nothing is fetched for a `$ref`, and patterns of property names are not taken.
    """

    kind: Literal["json_schema"]
    value: Annotated[dict[str, Any], AfterValidator(check_schema)]


class NumberRule(_Rule):
    """The first match of a pattern in the answer (its first group, where it has one) is a number in this range."""

    kind: Literal["number_range"]
    value: Pattern
    low: float | None = None
    high: float | None = None
    where: Scope = "answer"


class FileRule(_Rule):
    """A file of the rollout's folder exists, or does not; its text is as `contains` or `equals` says."""

    kind: Literal["file"]
    path: Text
    exists: bool = True
    contains: str | None = None
    equals: str | None = None


class HttpRule(_Rule):
    """A GET of this address answers with this status; only hosts that the configuration allows are asked."""

    kind: Literal["http_status"]
    url: Text
    status: Annotated[int, Field(ge=100, le=599)] = 200


class CommandRule(_Rule):
    """A command that the configuration allows by this name ends with this exit code, in the rollout's folder."""

    kind: Literal["command"]
    value: Text
    exit_code: int = 0


class HumanRule(_Rule):
    """Only a person can tell: unknown until one does."""

    kind: Literal["human"]
    question: str = ""


class ModelRule(_Rule):
    """A model's opinion. A candidate label: stored apart, never part of success."""

    kind: Literal["model"]
    question: Text


Rule = Annotated[
    SqlRule
    | WorldRule
    | ToolCalledRule
    | ToolNotCalledRule
    | ToolOrderRule
    | AskedFirstRule
    | SaysRule
    | NotSaysRule
    | ContainsRule
    | NotContainsRule
    | RegexRule
    | LengthRule
    | FormatRule
    | JsonSchemaRule
    | NumberRule
    | FileRule
    | HttpRule
    | CommandRule
    | HumanRule
    | ModelRule,
    Field(discriminator="kind"),
]
RULE: TypeAdapter[Rule] = TypeAdapter(Rule)
RULES: TypeAdapter[tuple[Rule, ...]] = TypeAdapter(tuple[Rule, ...])
