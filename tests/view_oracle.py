"""What the views must say, reduced in plain Python from the base rows by the definitions of the vocabulary.

Written without a look at the SQL: orders are lists of calls, and every rule is a sentence of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

Row = Mapping[str, Any]
PRECEDENCE = ("human", "verifier", "label", "reward")
WORTH = {"A": 1, "tie": 0, "B": -1}


class Facts(NamedTuple):
    """The base rows of one audit."""

    pairs: Sequence[Row]
    trajectories: Sequence[Row]
    checks: Sequence[Row]
    labels: Sequence[Row]
    verdicts: Sequence[Row]
    judges: Sequence[Row]


class Reduced(NamedTuple):
    """One judge's reduced verdict on one pair."""

    status: str
    pref: str | None


class Gold(NamedTuple):
    """What was truly better, and who says so."""

    pref: str | None
    source: str | None


class Answer(NamedTuple):
    """What the best source says."""

    value: Any
    source: str | None


def sign(number: float) -> int:
    """1, 0 or -1."""
    return (number > 0) - (number < 0)


def side(difference: float) -> str:
    """The side that is ahead."""
    return {1: "A", 0: "tie", -1: "B"}[sign(difference)]


def calls_of(verdict: Row) -> list[str | None]:
    """What the judge said, call by call; a reduced row stands for one call in each order."""
    winner = verdict["winner"]
    if not verdict["reduced"]:
        return [winner]
    if verdict["status"] == "weak":
        return [winner, "tie"]
    if verdict["status"] == "inconsistent":
        return ["A", "B"]
    return [winner, winner]


def order_of(verdict: Row) -> str:
    """AB, BA, unknown, or `both` for a row that stands for both."""
    return "both" if verdict["reduced"] else verdict["order_shown"] or "unknown"


def by_order(verdicts: Sequence[Row]) -> dict[str, list[Row]]:
    """The verdicts in each order that was shown."""
    orders: defaultdict[str, list[Row]] = defaultdict(list)
    for verdict in verdicts:
        orders[order_of(verdict)].append(verdict)
    return orders


def pick(verdicts: Sequence[Row]) -> str:
    """What one order says: the side with more of its scored calls; as many A as B is no tie but a contradiction."""
    scored = [call for verdict in verdicts for call in calls_of(verdict) if call is not None]
    if not scored:
        return "unscored"
    balance = side(sum(WORTH[call] for call in scored))
    return "inconsistent" if balance == "tie" and "A" in scored else balance


def reduce_verdicts(verdicts: Sequence[Row]) -> Reduced:
    """A/A is A; A/tie is A, weak; A/B is inconsistent; tie/tie is tie; any order unscored is unscored."""
    picks = {pick(some) for some in by_order(verdicts).values()}
    if "unscored" in picks:
        return Reduced("unscored", None)
    if "inconsistent" in picks or {"A", "B"} <= picks:
        return Reduced("inconsistent", None)
    if picks == {"tie"}:
        return Reduced("tie", "tie")
    (winner,) = picks - {"tie"}
    weak = "tie" in picks or any(verdict["status"] == "weak" for verdict in verdicts)
    return Reduced("weak" if weak else "decided", winner)


def blind_order(verdicts: Sequence[Row]) -> str | None:
    """Which orders the judge saw."""
    orders = set(by_order(verdicts))
    if "both" in orders or {"AB", "BA"} <= orders:
        return "both"
    return "A=left" if "AB" in orders else "A=right" if "BA" in orders else None


def flip(verdicts: Sequence[Row]) -> int | None:
    """Whether the verdict turned with the order; where only the source knows, what it says."""
    status = reduce_verdicts(verdicts).status
    if status == "unscored":
        return None
    if blind_order(verdicts) == "both":
        return int(status == "inconsistent")
    stated = [int(verdict["flip"]) for verdict in verdicts if verdict["flip"] is not None]
    return max(stated, default=None)


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of those known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def best(checks: Sequence[Row], what: str) -> Answer:
    """The latest answer of the best source."""
    answers = [
        check
        for check in checks
        if check["scope"] == "outcome" and check["source"] in PRECEDENCE and check[what] is not None
    ]
    if not answers:
        return Answer(None, None)
    source = min((check["source"] for check in answers), key=PRECEDENCE.index)
    latest = max(check["created_at"] for check in answers if check["source"] == source)
    chosen = min(
        (check for check in answers if check["source"] == source and check["created_at"] == latest),
        key=lambda check: str(check["check_id"]),
    )
    return Answer(chosen[what], source)


def majority(labels: Sequence[Row], source: str) -> Gold:
    """The answer that leads among the labellers of a source, of whom each counts once, with what they said last."""
    last: dict[str, Row] = {}
    for row in sorted(
        (row for row in labels if row["source"] == source), key=lambda row: row["label_id"], reverse=True
    ):
        if row["labeller"] not in last or row["created_at"] >= last[row["labeller"]]["created_at"]:
            last[row["labeller"]] = row
    if not last:
        return Gold(None, None)
    votes = Counter(row["pref"] for row in last.values()).most_common()
    leads = len(votes) == 1 or votes[0][1] > votes[1][1]
    return Gold(votes[0][0] if leads else None, source)


def weaker(a: Answer, b: Answer) -> str | None:
    """The weaker source of two."""
    if a.source is None or b.source is None:
        return None
    return max((a.source, b.source), key=PRECEDENCE.index)


def gold_of(labels: Sequence[Row], success: tuple[Answer, Answer], reward: tuple[Answer, Answer]) -> Gold:
    """Human labels; then the outcome by hard evidence; then a data set's labels; then what is left."""
    source = weaker(*success)
    outcome = Gold(None, None) if source is None else Gold(side(success[0].value - success[1].value), source)
    rewards = Gold(None, None) if weaker(*reward) is None else Gold(side(reward[0].value - reward[1].value), "reward")
    hard = outcome if source in {"human", "verifier"} else Gold(None, None)
    for gold in (majority(labels, "human"), hard, majority(labels, "label"), outcome, rewards):
        if gold.source is not None:
            return gold
    return Gold(None, None)


def reward_source(reward: tuple[Answer, Answer], scores: tuple[float | None, float | None]) -> str | None:
    """Where both rewards of a pair come from; the judge's own scores only where there are no others."""
    if weaker(*reward) is not None:
        return "verifier" if {answer.source for answer in reward} == {"verifier"} else "external"
    return "judge" if None not in scores else None


def expected_pairs(facts: Facts) -> list[dict[str, Any]]:
    """The columns of `audit_pairs` that do not hold costs: one row per pair and judge, or one where nobody judged."""
    return [
        _pair_row(
            facts, pair, judge, [v for v in facts.verdicts if (v["pair_id"], v["judge_id"]) == (pair["pair_id"], judge)]
        )
        for pair in facts.pairs
        for judge in sorted({v["judge_id"] for v in facts.verdicts if v["pair_id"] == pair["pair_id"]}) or [None]
    ]


def sides(facts: Facts, pair: Row, what: str) -> tuple[Answer, Answer]:
    """The best answers for both sides."""
    a, b = (
        best([check for check in facts.checks if check["trajectory_id"] == pair[side]], what)
        for side in ("trajectory_a", "trajectory_b")
    )
    return a, b


def is_simulated(facts: Facts, pair: Row, judge: str | None) -> bool:
    """Whether the judge of a row is made up, or an episode of its pair."""
    made_up = {row["trajectory_id"] for row in facts.trajectories if row["simulated"]}
    judged = any(row["simulated"] for row in facts.judges if row["judge_id"] == judge)
    return judged or bool({pair["trajectory_a"], pair["trajectory_b"]} & made_up)


def _pair_row(facts: Facts, pair: Row, judge: str | None, verdicts: Sequence[Row]) -> dict[str, Any]:
    success, reward = sides(facts, pair, "passed"), sides(facts, pair, "reward")
    gold = gold_of([row for row in facts.labels if row["pair_id"] == pair["pair_id"]], success, reward)
    status, pref = reduce_verdicts(verdicts) if verdicts else (None, None)
    score_a, score_b = (mean([verdict[name] for verdict in verdicts]) for name in ("score_a", "score_b"))
    source = reward_source(reward, (score_a, score_b))
    reward_a: Any
    reward_b: Any
    reward_a, reward_b = (score_a, score_b) if source == "judge" else (reward[0].value, reward[1].value)
    selected, other = (reward_a, reward_b) if pref == "A" else (reward_b, reward_a)
    compared = source is not None and pref in {"A", "B"}
    stated = pair["reward_gap"]
    return {
        "pair_id": pair["pair_id"],
        "judge_fingerprint": judge,
        "success_a": None if success[0].value is None else int(success[0].value),
        "success_b": None if success[1].value is None else int(success[1].value),
        "success_source": weaker(*success),
        "gold_pref": gold.pref,
        "gold_source": gold.source,
        "reward_a": None if source is None else reward_a,
        "reward_b": None if source is None else reward_b,
        "reward_source": source,
        "judge_pref": pref,
        "judge_status": status,
        "unscored_reason": min((v["unscored_reason"] for v in verdicts if v["unscored_reason"]), default=None)
        if status == "unscored"
        else None,
        "judge_score_a": score_a,
        "judge_score_b": score_b,
        "judge_flip": flip(verdicts) if verdicts else None,
        "blind_order": blind_order(verdicts),
        "reward_gap": stated if stated is not None else None if source is None else abs(reward_a - reward_b),
        "gap_source": pair["gap_source"]
        if stated is not None
        else {None: None, "judge": "judge_score"}.get(source, "reward"),
        "selected_reward": selected if compared else None,
        "lower_reward_selected": int(selected < other) if compared else None,
        "misselected": int(pref != gold.pref) if pref in {"A", "B"} and gold.pref in {"A", "B"} else None,
        "simulated": int(is_simulated(facts, pair, judge)),
    }
