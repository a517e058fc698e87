"""What tests of cascades share: judges on loopback that say what a table says, and a recount of the rule in SQL."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import SecretStr

from misjudge_storage.engine import Store
from misjudge_storage.types import Order, PairKey, Record
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.settings import Endpoint, Price
from misjudge_tools.judging.verdicts import ReplyForm
from misjudge_tools.profiles import ModelSettings, Profile
from misjudge_tools.requests import JudgeRequest
from operations import KEY, Messages, PromptJudge, keyed, opened, pair_records, rows, verdict_text, with_judge

PANEL = ("strict", "stern")
PRICES = {
    "judge": Price(input=1, output=1),
    "strict": Price(input=1000, output=1000),
    "stern": Price(input=2000, output=0),
}
SHOWN_AS = {"AB": {"A": "A", "B": "B", "tie": "tie"}, "BA": {"A": "B", "B": "A", "tie": "tie"}}
Bucket = Literal["near", "wide"]


class Place(NamedTuple):
    """Which pair a prompt shows, in which order."""

    number: int
    order: Order


class Says(NamedTuple):
    """A verdict in terms of the pair's sides; without a winner, a reply that cannot be read."""

    winner: str | None = "A"
    score_a: float = 5
    score_b: float = 1


CLEAR = Says()
Table = Mapping[Place | int, Says]
"""What a judge says of a pair in one order, else of the pair; `CLEAR` of any other."""
MIXED: Table = {
    Place(1, "AB"): Says("A", 4, 2),
    Place(1, "BA"): Says("B", 2, 4),
    Place(2, "BA"): Says(None),
    3: Says("B", 2.5, 3),
    Place(4, "AB"): Says("tie", 3, 3),
    5: Says("tie", 2, 4),
}
"""Of p0, p1, …: clear, inconsistent, unscored, low margin, a weak lead of 2 on average, a tie with a wide lead."""
NEAR = frozenset({6, 7})


def place(messages: Messages) -> Place:
    """What a prompt of `pair_records` shows."""
    user = messages[-1].content
    number = re.search(r"cancelled order (\d+)", user)
    assert number is not None
    order: Order = "AB" if user.index("I cancelled") < user.index("I could not") else "BA"
    return Place(int(number[1]), order)


def replies(table: Table, text: Callable[[str, float, float], str] = verdict_text) -> Callable[[Messages], str]:
    """A judge that says what the table says."""

    def reply(messages: Messages) -> str:
        here = place(messages)
        said = table.get(here) or table.get(here.number) or CLEAR
        if said.winner is None:
            return "no idea"
        scores = (said.score_a, said.score_b)
        return text(SHOWN_AS[here.order][said.winner], *(scores if here.order == "AB" else scores[::-1]))

    return reply


def letter(winner: str, score_a: float, score_b: float) -> str:
    """A reply without scores."""
    return winner


def declared(number: int, near: frozenset[int] = NEAR, start: int = 0) -> Iterator[Record]:
    """Pairs of which some are declared near, the others wide."""
    for n, record in enumerate(pair_records(number, start=start), start):
        assert record.pair is not None
        key = PairKey(pair_id=record.pair.pair_id, trial=0, ability_bucket="near" if n in near else "wide")
        yield record.model_copy(update={"pair": key})


class Desk(NamedTuple):
    """Operations with three judges: the first, and the panel `strict` and `stern`."""

    deps: Deps
    first: PromptJudge
    panel: Mapping[str, PromptJudge]

    def calls(self) -> dict[str, int]:
        """How often each judge was asked."""
        return {"judge": len(self.first.asked), **{name: len(judge.asked) for name, judge in self.panel.items()}}

    def panel_pairs(self) -> set[int]:
        """The pairs that each of the panel was asked about, in both orders, each once."""
        asked = [Counter(place(messages) for messages in judge.asked) for judge in self.panel.values()]
        assert asked[0] == asked[1], "not all of the panel were asked the same"
        assert set(asked[0].values()) <= {1}, "the panel was asked twice"
        numbers = {here.number for here in asked[0]}
        assert set(asked[0]) == {Place(number, order) for number in numbers for order in ("AB", "BA")}
        return numbers


@asynccontextmanager
async def desk(
    where: Path,
    table: Table,
    *,
    form: Literal["json", "letter"] = "json",
    priced: bool = True,
    concurrency: int = 8,
    server: PromptJudge | None = None,
    panel: Mapping[str, PromptJudge] | None = None,
) -> AsyncIterator[Desk]:
    """Operations on the store at `where`; servers that are given are used, and stay open."""
    async with AsyncExitStack() as stack:
        first = server
        if first is None:
            text = letter if form == "letter" else verdict_text
            first = await stack.enter_async_context(PromptJudge(replies(table, text)))
        others = dict(panel or {})
        for name in PANEL:
            if name not in others:
                others[name] = await stack.enter_async_context(PromptJudge(replies({})))
        models = judges(first, others, form=form, priced=priced, concurrency=concurrency)
        deps = await stack.enter_async_context(opened(where, models, concurrency=concurrency))
        yield Desk(deps, first, others)


def judges(
    first: PromptJudge,
    others: Mapping[str, PromptJudge],
    *,
    form: Literal["json", "letter"] = "json",
    priced: bool = True,
    concurrency: int = 8,
) -> ModelSettings:
    """The models of a desk."""
    prices = PRICES if priced else dict.fromkeys(PRICES)
    models = with_judge(keyed(first.base_url), price=prices["judge"], reply_form=ReplyForm(kind=form))
    profiles = {
        name: Profile(
            name=name,
            model=f"{name}-m",
            price=prices[name],
            endpoint=Endpoint(base_url=server.base_url, key=SecretStr(KEY), concurrency=concurrency),
        )
        for name, server in others.items()
    }
    return models.model_copy(update={"profiles": profiles})


def asked(**values: Any) -> JudgeRequest:
    """A cascade over all pairs of the audit `a`."""
    return JudgeRequest.model_validate({"audit": "a", "panel": list(PANEL), "cascade": True, **values})


RECOUNT = """
    SELECT g.pair_id, g.judge_status, g.judge_pref, g.judge_score_a, g.judge_score_b, p.ability_bucket AS declared
    FROM audit_pairs g
    JOIN pairs p ON p.audit_id = g.audit_id AND p.pair_id = g.pair_id
    WHERE g.judge = :judge AND g.judge_fingerprint IN (SELECT judge_id FROM judges WHERE form = 'pairwise')
"""


def recounted(store: Store, judge: str, margin: float) -> dict[str, str | None]:
    """Pair → why the panel is to be asked, None where it is not, from the view of reduced verdicts."""
    return {row["pair_id"]: _reason(row, margin) for row in rows(store, RECOUNT, judge=judge)}


def _reason(row: Mapping[str, Any], margin: float) -> str | None:
    if row["declared"] == "near":
        return "near"
    if row["judge_status"] in {"unscored", "inconsistent"}:
        return str(row["judge_status"])
    if row["judge_score_a"] is None:
        return "low_margin" if row["judge_pref"] == "tie" else None
    return "low_margin" if abs(row["judge_score_a"] - row["judge_score_b"]) < margin else None


def questions(store: Store, judge: str) -> dict[str, set[tuple[str, int]]]:
    """Pair → orders and repeats in which this judge has a verdict on it."""
    query = """
        SELECT v.pair_id, v.order_shown, v.repeat FROM verdicts v JOIN judges j USING (audit_id, judge_id)
        WHERE j.label = :judge AND v.pair_id IS NOT NULL
    """
    found: dict[str, set[tuple[str, int]]] = {}
    for row in rows(store, query, judge=judge):
        found.setdefault(row["pair_id"], set()).add((row["order_shown"], row["repeat"]))
    return found


def assert_exact(store: Store, judge: str, panel: tuple[str, ...] | list[str], margin: float) -> dict[str, str | None]:
    """That each of the panel has been asked about the pairs that the rule names, all that the first judge was asked,
    and about no other pair; what the rule says of each pair."""
    expected = recounted(store, judge, margin)
    first = questions(store, judge)
    named = {pair: said for pair, said in first.items() if expected[pair] is not None}
    for name in panel:
        assert questions(store, name) == named
    return expected
