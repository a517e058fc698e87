"""The section `drift`: the same pairs in two audits, counted by rows, and judged end to end with two prompts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import SecretStr
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from builders import JUDGE, episode, messages, pair, passed, satisfied, verdict
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.hashing import template_hash
from misjudge_storage.types import Judge, Order, Preference, Record
from misjudge_tools.gateway.settings import Endpoint
from misjudge_tools.judge import judge
from misjudge_tools.profiles import ModelSettings, Profile, PromptText
from misjudge_tools.requests import JudgeRequest, SummarizeRequest
from misjudge_tools.stats.rates import Tally, cluster_sums, clustered_rate
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.drift_values import Change, DriftSection
from operations import KEY, Messages, PromptJudge, opened, pair_record, stored, verdict_text

ORDERS: tuple[Order, Order] = ("AB", "BA")
CHANGED = JUDGE.model_copy(update={"prompt_version": "v2", "prompt_hash": "beef", "params": '{"temperature":1}'})


class Seen(NamedTuple):
    """A pair of both audits, by hand."""

    task: str
    gold: tuple[Preference, Preference]
    said: tuple[str, str]
    alike: bool


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened_ = open_store(tmp_path / "s.db")
    yield opened_
    opened_.close()


def drift(store: Store, **values: Any) -> DriftSection:
    found = summarize(SummarizeRequest.model_validate({"audit": "now", "baseline": "before", **values}), store).drift
    assert found is not None
    return found


def why(store: Store, **values: Any) -> str:
    found = summarize(SummarizeRequest.model_validate({"audit": "now", "baseline": "before", **values}), store)
    assert found.drift is None
    return found.why["drift"]


def record(
    task: str,
    gold: Preference,
    said: Sequence[Preference | None],
    *,
    text: str = "same",
    turned: bool = False,
    by: Judge = JUDGE,
    agents: tuple[str, str] = ("x", "y"),
    trial: int | None = 0,
) -> Record:
    """A pair of x and y judged in both orders; `gold` and `said` speak of x as A, also where the sides are `turned`."""
    did = {"A": (True, False), "B": (False, True), "tie": (True, True)}[gold]
    x, y = (
        episode(agent, passed(done), task=task, trial=trial, said=messages("Do it.", f"{n} {agent} {text}"))
        for n, (agent, done) in enumerate(zip(agents, did, strict=True))
    )
    winners = [_turned(winner) if turned else winner for winner in said]
    verdicts = [verdict(winner, order, judge=by) for winner, order in zip(winners, ORDERS, strict=False)]
    first, second = (y, x) if turned else (x, y)
    return pair(f"{task} {'-'.join(agents)}", first, second, *verdicts, trial=trial)


def _turned(winner: Preference | None) -> Preference | None:
    turned: dict[Preference | None, Preference | None] = {"A": "B", "B": "A"}
    return turned.get(winner, winner)


def reduced(said: Sequence[Preference | None]) -> str:
    if None in said:
        return "unscored"
    decided = {winner for winner in said if winner != "tie"}
    return "tie" if not decided else "inconsistent" if len(decided) > 1 else str(decided.pop())


def made_up(seed: int, tasks: int, anchors: float) -> tuple[list[Record], list[Record], list[Seen]]:
    """Two audits of the same pairs, turned at random, and what each pair comes to."""
    draw = random.Random(seed)
    now: list[Record] = []
    before: list[Record] = []
    seen: list[Seen] = []
    for number in range(tasks):
        for couple in (("x", "y"), ("x", "z"), ("y", "z")):
            task, alike = f"t{number}", draw.random() < anchors
            gold: list[Preference] = [draw.choice(("A", "B"))]
            gold.append(gold[0] if draw.random() < 0.8 else draw.choice(("A", "B", "tie")))
            said: list[list[Preference | None]] = [
                [draw.choice((gold[when], gold[when], "A", "B", "tie", None)) for _ in range(2)] for when in (0, 1)
            ]
            for when, (audit, by) in enumerate(((now, CHANGED), (before, JUDGE))):
                audit.append(
                    record(
                        task, gold[when], said[when], by=by, agents=couple, turned=draw.random() < 0.5,
                        text=f"{couple}" if alike else f"{couple} in {when}", trial=number * 3 + len(audit) % 3,
                    )
                )  # fmt: skip
            seen.append(Seen(task, (gold[0], gold[1]), (reduced(said[0]), reduced(said[1])), alike))
    return now, before, seen


def compared(seen: Sequence[Seen]) -> list[Seen]:
    return [one for one in seen if "tie" not in one.gold and "unscored" not in one.said]


def right(one: Seen, when: int) -> int:
    return int(one.said[when] == one.gold[when])


def by_enumeration(seen: Sequence[Seen]) -> dict[str, float]:
    """The paired difference over rows: Bonett and Price on the effective number of independent pairs."""
    ds = [right(one, 0) - right(one, 1) for one in seen]
    n, mean = len(ds), sum(ds) / len(ds)
    tasks = sorted({one.task for one in seen})
    residuals = [sum(d - mean for d, one in zip(ds, seen, strict=True) if one.task == task) for task in tasks]
    between = len(tasks) / (len(tasks) - 1) * sum(value * value for value in residuals) / n**2
    alone = sum((d - mean) ** 2 for d in ds) / n**2
    effective = n / max(1.0, between / alone)
    # One pair of +1 and one of −1 more, on the scale of the effective number.
    centre = mean * effective / (effective + 2)
    square = (sum(d * d for d in ds) / n * effective + 2) / (effective + 2)
    half = stats.t.ppf(0.975, len(tasks) - 1) * sqrt((square - centre**2) / (effective + 2))
    return {"difference": mean, "low": max(-1, centre - half), "high": min(1, centre + half), "n": n}


def rate_by_hand(seen: Sequence[Seen], counted: Sequence[int]) -> Any:
    tasks = {one.task for one in seen}
    tallies = [
        Tally(
            sum(k for k, one in zip(counted, seen, strict=True) if one.task == task), sum(o.task == task for o in seen)
        )
        for task in tasks
    ]
    return clustered_rate(cluster_sums(tallies))


@pytest.mark.parametrize("seed", range(4))
def test_the_difference_is_that_of_the_rows(store: Store, seed: int) -> None:
    now, before, seen = made_up(seed, tasks=25, anchors=0.4)
    stored(store, now, "now")
    stored(store, before, "before")
    found, rows = drift(store), compared(seen)
    gained = sum(right(one, 0) > right(one, 1) for one in rows)
    lost = sum(right(one, 0) < right(one, 1) for one in rows)
    assert found.difference is not None and found.right is not None and found.baseline_right is not None
    expected = by_enumeration(rows)
    assert {name: getattr(found.difference, name) for name in expected} == {
        name: pytest.approx(value) for name, value in expected.items()
    }
    assert (found.difference.only_first, found.difference.only_second) == (gained, lost)
    assert found.difference.mcnemar_p == pytest.approx(mcnemar([[9, lost], [gained, 9]], exact=True).pvalue)
    for rate, when in ((found.right, 0), (found.baseline_right, 1)):
        assert rate == rate_by_hand(rows, [right(one, when) for one in rows])
    scored = [one for one in seen if "unscored" not in one.said]
    assert found.moved == rate_by_hand(scored, [one.said[0] != one.said[1] for one in scored])
    same = [one for one in scored if one.alike]
    assert found.anchors_moved == rate_by_hand(same, [one.said[0] != one.said[1] for one in same])
    assert sum(one.pairs for one in found.moves) == len(seen) == found.pairs.shared
    assert sum(one.pairs for one in found.moves if one.before != one.now) == sum(
        one.said[0] != one.said[1] for one in seen
    )
    decidable = [one for one in seen if "tie" not in one.gold]
    assert found.pairs.decidable == len(decidable)
    assert found.pairs.unscored_here == sum(one.said[0] == "unscored" for one in decidable)
    assert found.pairs.unscored_baseline == sum(one.said[1] == "unscored" for one in decidable)
    anchors = [one for one in rows if one.alike and one.gold[0] == one.gold[1]]
    assert found.anchors is not None and found.parts is not None
    on_anchors = by_enumeration(anchors)
    assert {name: getattr(found.anchors, name) for name in on_anchors} == {
        name: pytest.approx(value) for name, value in on_anchors.items()
    }
    assert found.parts.judge.value == pytest.approx(on_anchors["difference"])
    assert found.parts.rest.value == pytest.approx(expected["difference"] - on_anchors["difference"])
    assert found.why == {}


def test_the_single_calls_are_compared_too(store: Store) -> None:
    stored(store, [record("t1", "A", ("A", "A")), record("t2", "A", ("A", "B")), record("t3", "B", ("B", "B"))], "now")
    stored(
        store, [record("t1", "A", ("A", "B")), record("t2", "A", ("B", "B")), record("t3", "B", ("B", "B"))], "before"
    )
    found = drift(store)
    assert found.single_call is not None
    assert found.single_call.value == pytest.approx(1 / 3)
    assert found.single_call.n == 3
    assert found.fingerprint == found.baseline_fingerprint and found.changed == ()


def test_the_order_of_the_sides_does_not_matter(store: Store) -> None:
    now, before, _ = made_up(9, tasks=10, anchors=0.5)
    stored(store, now, "now")
    stored(store, before, "before")
    swapped = [
        one.model_copy(
            update={
                "episodes": one.episodes[::-1],
                "verdicts": tuple(v.model_copy(update={"winner": _turned(v.winner)}) for v in one.verdicts),
            }
        )
        for one in before
    ]
    stored(store, swapped, "turned")
    ignored = {"baseline"}
    assert drift(store).model_dump(exclude=ignored) == drift(store, baseline="turned").model_dump(exclude=ignored)


def test_without_anchors_nothing_is_apportioned(store: Store) -> None:
    now, before, _ = made_up(1, tasks=10, anchors=0.0)
    stored(store, now, "now")
    stored(store, before, "before")
    found = drift(store)
    assert found.difference is not None
    assert (found.anchors, found.parts, found.anchors_moved, found.pairs.anchors) == (None, None, None, 0)
    assert found.why.keys() == {"anchors", "parts", "anchors_moved"}
    assert "cannot be told from what the agents did" in found.why["parts"]


def test_transcripts_that_are_alike_under_other_gold_are_no_anchors(store: Store) -> None:
    stored(store, [record(f"t{n}", "A", ("A", "A")) for n in range(4)], "now")
    stored(store, [record(f"t{n}", "B", ("A", "A")) for n in range(4)], "before")
    found = drift(store)
    assert (found.pairs.alike, found.pairs.anchors) == (4, 0)
    assert found.parts is None and found.anchors_moved is not None and found.anchors_moved.k == 0
    assert found.right is not None and found.baseline_right is not None
    assert (found.right.rate, found.baseline_right.rate) == (1, 0)


def test_without_gold_the_moves_are_still_counted(store: Store) -> None:
    stored(store, [record(f"t{n}", "tie", ("A", "A")) for n in range(4)], "now")
    stored(store, [record(f"t{n}", "tie", ("B", "B")) for n in range(4)], "before")
    found = drift(store)
    assert found.right is None and "No shared pair is both decidable" in found.why["right"]
    assert [(one.before, one.now, one.pairs) for one in found.moves] == [("B", "A", 4)]
    assert found.moved.rate == 1


def test_pairs_of_one_audit_and_those_that_cannot_be_told_apart_are_counted(store: Store) -> None:
    twin = record("t1", "A", ("A", "A"), trial=None)
    twice = [twin, record("t1", "A", ("A", "A"), trial=None, text="again")]
    twice[1] = twice[1].model_copy(update={"pair": twin.pair and twin.pair.model_copy(update={"pair_id": "other"})})
    one_agent = record("t5", "A", ("A", "A"), agents=("x", "x"), trial=None)
    here = [record("t2", "A", ("A", "A")), record("t3", "A", ("A", "A")), one_agent, twin]
    stored(store, here, "now")
    stored(store, [record("t2", "A", ("A", "A")), *twice, record("t4", "A", ("A", "A"))], "before")
    pairs = drift(store).pairs
    assert (pairs.shared, pairs.only_here, pairs.only_baseline) == (1, 1, 1)
    assert (pairs.ambiguous_here, pairs.ambiguous_baseline) == (2, 2)


def test_what_changed_is_named_with_short_values_or_hashes(store: Store) -> None:
    long = "Say which one is better, and mind the customer's own words above all."
    here = CHANGED.model_copy(update={"model": long, "params": '{"temperature":1,"reply":{"kind":"tag"}}'})
    there = JUDGE.model_copy(update={"params": '{"temperature":0,"max_tokens":9}'})
    stored(store, [record("t1", "A", ("A", "A"), by=here)], "now")
    other = record("t1", "A", ("A", "A"), by=there)
    assert other.task is not None
    stored(
        store,
        [other.model_copy(update={"task": other.task.model_copy(update={"prompt": "Book two tables."})})],
        "before",
    )
    found = drift(store)
    assert found.tasks.model_dump() == {"shared": 1, "changed": 1, "only_here": 0, "only_baseline": 0}
    *judge_part, task = found.changed
    assert (task.side, task.what, task.who) == ("tasks", "content_hash", "t1")
    assert task.before != task.after and task.before is not None and task.before.startswith("tsk_")
    told = {
        "model": ("judge-m", f"hash {template_hash(long)}"),
        "params.temperature": ("0", "1"),
        "params.max_tokens": ("9", None),
        "params.reply.kind": (None, "tag"),
        "prompt_version": (None, "v2"),
        "prompt_hash": (None, "beef"),
    }
    assert {one.what: (one.before, one.after) for one in judge_part} == told
    assert long not in found.model_dump_json() and "Book" not in found.model_dump_json()


def test_agents_that_were_made_otherwise_are_named(store: Store) -> None:
    def one(setup: str, base: str, extra: str) -> Record:
        x, y = (
            episode(agent, passed(done), setup=setup, base_model=base, said=messages("Do it.", agent))
            for agent, done in (("x", True), (extra, False))
        )
        return pair("p", x, y, verdict("A", "AB"), trial=0)

    stored(
        store,
        [
            one('{"suite":"s2","agent":{"model":"m"}}', "m2", "y"),
            record("t1", "A", ("A", "A"), agents=("x", "w"), trial=3),
        ],
        "now",
    )
    stored(
        store,
        [
            one('{"suite":"s1","agent":{"model":"m"}}', "m1", "y"),
            record("t1", "A", ("A", "A"), agents=("x", "v"), trial=3),
        ],
        "before",
    )
    changed = [change for change in drift(store).changed if change.side == "agents"]
    assert Change(side="agents", what="setup.suite", before="s1", after="s2", who="x, y") in changed
    assert Change(side="agents", what="base_model", before="m1", after="m2", who="x, y") in changed
    assert Change(side="agents", what="only in one audit", before=None, after="1", who="w") in changed
    assert Change(side="agents", what="only in one audit", before="1", after=None, who="v") in changed
    assert "setup.agent.model" not in {change.what for change in changed}


def test_parameters_of_an_imported_judge_may_be_anything(store: Store) -> None:
    for audit, params in (("now", "not json"), ("before", "[1, 2]")):
        stored(store, [record("t1", "A", ("A", "A"), by=JUDGE.model_copy(update={"params": params}))], audit)
    assert {(change.what, change.before) for change in drift(store).changed} == {("params", "[1,2]")}


def test_a_judge_by_the_same_name_is_compared_with_its_own_past(store: Store) -> None:
    other = Judge(label="other", form="pairwise", model="m2")
    both = [record("t1", "A", ("A", "A")), record("t2", "A", ("A", "A"), by=other)]
    stored(store, [*both, record("t3", "A", ("A", "A"), by=CHANGED)], "now")
    stored(store, [*both, record("t3", "A", ("B", "B"))], "before")
    found = summarize(SummarizeRequest(audit="now", baseline="before"), store)
    assert found.drift is None and found.judges is not None
    fingerprint = next(label for label in found.judges if "@" in label)
    named = {label: one.drift and one.drift.baseline_judge for label, one in found.judges.items()}
    assert named == {"judge": "judge", "other": "other", fingerprint: "judge"}


def test_a_judge_without_a_counterpart_asks_which(store: Store) -> None:
    third = Judge(label="third", form="pairwise")
    stored(store, [record("t1", "A", ("A", "A"), by=third)], "now")
    two = [record("t1", "A", ("A", "A")), record("t2", "A", ("A", "A"), by=Judge(label="other", form="pairwise"))]
    stored(store, two, "before")
    with pytest.raises(InvalidInput, match=r"compare 'third' with cannot be told: .* 'judge', 'other'\. Choose one"):
        drift(store)
    stored(store, [record("t2", "A", ("A", "A"))], "now")
    found = summarize(SummarizeRequest(audit="now", baseline="before"), store)
    assert found.judges is not None and "cannot be told" in found.judges["third"].why["drift"]


def test_the_only_judges_of_two_audits_are_compared_by_whatever_name(store: Store) -> None:
    stored(store, [record("t1", "A", ("A", "A"), by=Judge(label="new", form="pairwise"))], "now")
    stored(store, [record("t1", "A", ("A", "A"))], "before")
    found = drift(store)
    assert (found.judge, found.baseline_judge) == ("new", "judge")


def test_what_cannot_be_compared_is_said_in_a_sentence(store: Store) -> None:
    stored(store, [record("t1", "A", ("A", "A"))], "now")
    stored(store, [record("t2", "A", ("A", "A"))], "apart")
    stored(store, [record("t1", "A", ())], "unjudged")
    x, y = (episode(agent, satisfaction=[satisfied(1)]) for agent in ("x", "y"))
    stored(store, [pair("p", x, y)], "scores")
    assert "No baseline is named" in why(store, baseline=None)
    assert "shares no pair with this audit" in why(store, baseline="apart")
    assert "no judge judged a pair" in why(store, baseline="unjudged")
    assert "judged no pair" in why(store, audit="scores", baseline="apart")
    with pytest.raises(InvalidInput, match="is this audit itself"):
        drift(store, baseline="now")
    with pytest.raises(NotFound, match="No audit is called 'gone'"):
        drift(store, baseline="gone")


STRICT = "Say which is better.\n---user---\nTask: {task}\n\nFirst:\n{response_a}\n\nSecond:\n{response_b}\n"
LENIENT = STRICT.replace("Say which is better.", "Say which is better. The first one is usually fine.")


def _reply(turns: Messages) -> str:
    """The one that cancelled, where it is asked strictly; else the first."""
    system, user = (str(turn.content) for turn in turns)
    first = user.split("Second:")[0]
    return verdict_text("A" if "usually fine" in system or "I cancelled" in first else "B")


async def test_two_audits_that_differ_only_in_the_prompt_of_the_judge(tmp_path: Path) -> None:
    records = [
        pair_record(f"p{n}", f"Cancel order {n}.", (f"I cancelled order {n}.", f"I could not cancel {n}."), "A")
        for n in range(12)
    ]
    async with PromptJudge(_reply) as server:
        there = Endpoint(base_url=server.base_url, key=SecretStr(KEY), concurrency=4)
        for audit, prompt in (("before", STRICT), ("now", LENIENT)):
            own = Profile(name="own", model="m", endpoint=there, prompt=PromptText(name="own", text=prompt))
            async with opened(tmp_path / "s.db", ModelSettings(profiles={"own": own})) as deps:
                stored(deps.store, records, audit)
                done = await judge(JudgeRequest.model_validate({"audit": audit, "judge": "own"}), deps)
                assert done.run.state == "done" and not done.run.unscored
        store = open_store(tmp_path / "s.db")
    found = drift(store)
    store.close()
    assert found.changed == (
        Change(side="judge", what="prompt_hash", before=template_hash(STRICT), after=template_hash(LENIENT)),
    )
    assert (found.judge, found.baseline_judge) == ("own", "own")
    assert found.pairs.shared == found.pairs.anchors == found.pairs.alike == 12
    assert found.difference is not None and found.anchors is not None and found.parts is not None
    assert found.difference.mcnemar_p == pytest.approx(mcnemar([[0, 12], [0, 0]], exact=True).pvalue)
    assert [(one.before, one.now, one.pairs) for one in found.moves] == [("A", "inconsistent", 12)]
    seen = [Seen(f"t{n}", ("A", "A"), ("inconsistent", "A"), True) for n in range(12)]
    assert (found.difference.difference, found.difference.n) == (-1, len(seen))
    assert found.anchors == found.difference
    assert found.parts.judge.value == -1 and found.parts.rest.value == 0
