"""What an audit's records say, counted in plain Python: the reference for the summary.

Written from the definitions (gold precedence, reduction of both orders, single calls), not from the SQL.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from misjudge_storage.types import Check, Episode, Preference, Record, Verdict
from misjudge_tools.stats.rates import ClusterSums, Tally, cluster_sums

PRECEDENCE = {"human": 1, "verifier": 2, "label": 3, "reward": 4}


class Judged(NamedTuple):
    """One pair and one judge. `calls` are single verdicts with their order; a tie counts as a call."""

    task: str
    subset: str | None
    gold: Preference | None
    status: str
    pref: Preference | None
    both_orders: bool
    calls: tuple[tuple[str | None, Preference], ...]
    record: Record
    verdicts: tuple[Verdict, ...]

    @property
    def decidable(self) -> bool:
        return self.gold in {"A", "B"}

    def right(self, order: str | None = None) -> int:
        return sum(said == self.gold for shown, said in self.calls if order in {None, shown}) if self.decidable else 0

    def wrong(self) -> int:
        return sum(said not in {self.gold, "tie"} for _, said in self.calls) if self.decidable else 0

    def scored(self, order: str | None = None) -> int:
        return sum(order in {None, shown} for shown, _ in self.calls) if self.decidable else 0


def best(episode: Episode, field: str) -> Check | None:
    """The check of the best source that says something of `field`."""
    found = [c for c in episode.checks if c.source in PRECEDENCE and getattr(c, field) is not None]
    return min(found, key=lambda check: PRECEDENCE[check.source], default=None)


def compare(a: float, b: float) -> Preference:
    return "A" if a > b else "B" if b > a else "tie"


def majority(labels: Iterable[str]) -> Preference | None:
    first, *others = Counter(labels).most_common()
    winner = first[0]
    assert winner in {"A", "B", "tie"}
    return None if others and others[0][1] == first[1] else winner  # type: ignore[return-value]


def gold_of(record: Record) -> Preference | None:
    """Human labels, then hard evidence, then the data set's labels, then rewards."""
    people = [label.pref for label in record.gold if label.source == "human"]
    given = [label.pref for label in record.gold if label.source == "label"]
    success = [best(episode, "passed") for episode in record.episodes]
    rewards = [best(episode, "reward") for episode in record.episodes]
    if people:
        return majority(people)
    known = [check for check in success if check is not None]
    by_success = compare(bool(known[0].passed), bool(known[1].passed)) if len(known) == 2 else None
    if by_success is not None and {check.source for check in known} <= {"human", "verifier"}:
        return by_success
    if given:
        return majority(given)
    if by_success is not None:
        return by_success
    sums = [check.reward for check in rewards if check is not None and check.reward is not None]
    return compare(sums[0], sums[1]) if len(sums) == 2 else None


def calls_of(verdict: Verdict) -> list[tuple[str | None, Preference]]:
    """The single calls that a verdict stands for; a reduced one for two."""
    if verdict.status == "unscored":
        return []
    if not verdict.reduced:
        assert verdict.winner is not None
        return [(verdict.order, verdict.winner)]
    if verdict.status == "inconsistent":
        return [(None, "A"), (None, "B")]
    assert verdict.winner is not None
    return [(None, verdict.winner), (None, "tie" if verdict.status == "weak" else verdict.winner)]


def pick(said: Sequence[Verdict]) -> str:
    """What the calls in one order say together."""
    votes = Counter(verdict.winner for verdict in said if verdict.status == "scored")
    if not votes:
        return "unscored"
    return "inconsistent" if votes["A"] == votes["B"] > 0 else compare(votes["A"], votes["B"])


def status_of(verdicts: Sequence[Verdict]) -> tuple[str, Preference | None, bool]:
    """The reduced verdict, its side, and whether both orders were asked."""
    (first, *_) = verdicts
    if first.reduced:
        status = "decided" if first.status == "scored" else first.status
        return ("tie" if first.winner == "tie" else status), first.winner, True
    orders: defaultdict[str | None, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        orders[verdict.order].append(verdict)
    picks = {pick(said) for said in orders.values()}
    both = {"AB", "BA"} <= orders.keys()
    if "unscored" in picks:
        return "unscored", None, both
    if "inconsistent" in picks or {"A", "B"} <= picks:
        return "inconsistent", None, both
    for side in ("A", "B"):
        if side in picks:
            return ("weak" if "tie" in picks else "decided"), side, both
    return "tie", "tie", both


def judged(records: Iterable[Record], judge: str) -> list[Judged]:
    """Every pair that the judge of this label judged."""
    found = []
    for record in records:
        verdicts = tuple(verdict for verdict in record.verdicts if verdict.judge.label == judge)
        if verdicts and record.task is not None:
            status, pref, both = status_of(verdicts)
            calls = tuple(call for verdict in verdicts for call in calls_of(verdict))
            task = record.task
            found.append(
                Judged(task.task_id, task.subset, gold_of(record), status, pref, both, calls, record, verdicts)
            )
    return found


def sums(pairs: Sequence[Judged], k: Callable[[Judged], int], n: Callable[[Judged], int]) -> ClusterSums:
    """The sums over tasks."""
    tasks: defaultdict[str, list[Judged]] = defaultdict(list)
    for one in pairs:
        tasks[one.task].append(one)
    return cluster_sums(Tally(sum(map(k, group)), sum(map(n, group))) for group in tasks.values())


def pair_counts(pairs: Sequence[Judged]) -> dict[str, int]:
    statuses = Counter(one.status for one in pairs)
    return {
        "n": len(pairs),
        "decidable": sum(one.decidable for one in pairs),
        "gold_tie": sum(one.gold == "tie" for one in pairs),
        "gold_unknown": sum(one.gold is None for one in pairs),
        "scored": len(pairs) - statuses["unscored"],
        "tie": statuses["tie"],
        "inconsistent": statuses["inconsistent"],
        "unscored": statuses["unscored"],
        "weak": statuses["weak"],
    }


def misselection_sums(pairs: Sequence[Judged]) -> dict[str, ClusterSums]:
    decided = [one for one in pairs if one.decidable and one.pref in {"A", "B"}]
    return {
        "calls": sums(pairs, Judged.wrong, Judged.scored),
        "decided": sums(decided, lambda one: one.pref != one.gold, lambda one: 1),
    }


def scored_any(pairs: Sequence[Judged]) -> bool:
    """Whether any pair has a verdict; where none has, nothing was got right or wrong."""
    return any(one.status != "unscored" for one in pairs)


def consistency_rates(pairs: Sequence[Judged]) -> Mapping[str, float | None]:
    both = [one for one in pairs if one.both_orders and one.status != "unscored"]
    letters = [(shown, said) for one in pairs for shown, said in one.calls if shown and said != "tie"]
    named_first = sum((shown == "AB") == (said == "A") for shown, said in letters)
    decidable = [one for one in pairs if one.decidable]
    won = sum(one.right() > one.wrong() for one in decidable)
    return {
        "flip_rate": share(sum(one.status == "inconsistent" for one in both), len(both)),
        "soft_flip_rate": share(sum(one.status == "weak" for one in both), len(both)),
        "agreement": share(sum(one.status in {"decided", "tie"} for one in both), len(both)),
        "letter_a_share": share(named_first, len(letters)),
        "accuracy": accuracy(decidable),
        "vote_accuracy": share(won, len(decidable) if scored_any(pairs) else 0),
    }


def accuracy(decidable: Sequence[Judged]) -> float | None:
    """The mean of the accuracies by order; over all calls where the order of some is unknown."""
    if any(shown is None for one in decidable for shown, _ in one.calls):
        return share(sum(one.right() for one in decidable), sum(one.scored() for one in decidable))
    shares = [
        share(sum(one.right(order) for one in decidable), sum(one.scored(order) for one in decidable))
        for order in ("AB", "BA")
    ]
    known = [one for one in shares if one is not None]
    return sum(known) / len(known) if known else None


def share(k: int, n: int) -> float | None:
    return k / n if n else None


def unscored(pairs: Iterable[Judged]) -> dict[str, int]:
    found = Counter(
        str(verdict.unscored_reason) for one in pairs for verdict in one.verdicts if verdict.status == "unscored"
    )
    return dict(sorted(found.items()))


def buckets(pairs: Sequence[Judged], records: Sequence[Record]) -> dict[tuple[str, str], list[Judged]]:
    """The pairs of each bucket of each gap."""
    values = {c.reward for r in records for e in r.episodes for c in e.checks if c.reward is not None}
    found: defaultdict[tuple[str, str], list[Judged]] = defaultdict(list)
    for one in pairs:
        key = one.record.pair
        assert key is not None
        if key.ability_bucket is not None:
            found["ability", key.ability_bucket].append(one)
        elif key.gap_source == "ability" and key.reward_gap is not None:
            found["ability", "near" if key.reward_gap < 0.1 else "wide"].append(one)
        rewards = [best(episode, "reward") for episode in one.record.episodes]
        a, b = (None if check is None else check.reward for check in rewards)
        if len(values) >= 3 and a is not None and b is not None:
            found["reward", bucket(abs(a - b))].append(one)
        scores = [means(one, side) for side in ("score_a", "score_b")]
        if scores[0] is not None and scores[1] is not None:
            found["judge_score", bucket(abs(scores[0] - scores[1]))].append(one)
    return dict(found)


def means(one: Judged, side: str) -> float | None:
    known = [getattr(verdict, side) for verdict in one.verdicts if getattr(verdict, side) is not None]
    return sum(known) / len(known) if known else None


class AgentCount(NamedTuple):
    """Episodes of one agent: successes by task among those of known outcome, and who satisfied a judge."""

    tallies: tuple[Tally, ...]
    unknown: int
    satisfied: int
    satisfied_failed: int


def agents(records: Iterable[Record], satisfies: Callable[[float], bool]) -> dict[str, AgentCount]:
    """Every agent's episodes, each of which stands in one record; `satisfies` says it of a score."""
    found: defaultdict[str, list[Episode]] = defaultdict(list)
    for record in records:
        for episode in record.episodes:
            found[episode.trajectory.agent].append(episode)
    return {agent: _agent_count(episodes, satisfies) for agent, episodes in found.items()}


def _agent_count(episodes: Sequence[Episode], satisfies: Callable[[float], bool]) -> AgentCount:
    known = [(episode, check.passed) for episode in episodes if (check := best(episode, "passed")) is not None]
    tasks: defaultdict[str, list[bool]] = defaultdict(list)
    for episode, success in known:
        tasks[episode.trajectory.task_id].append(bool(success))
    content = [
        success
        for episode, success in known
        if any(satisfies(said.score) for said in episode.satisfaction if said.score is not None)
    ]
    tallies = tuple(Tally(sum(successes), len(successes)) for successes in tasks.values())
    return AgentCount(tallies, len(episodes) - len(known), len(content), content.count(False))


def bucket(gap: float) -> str:
    return "near" if gap <= 0.2 else "small" if gap <= 0.5 else "medium" if gap <= 1 else "wide"


def labels(records: Iterable[Record], judges: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Labeller → pair → label: annotators and judges' reduced verdicts."""
    found: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    every = list(records)
    for record in every:
        for label in record.gold:
            assert record.pair is not None
            found[label.labeller][str(record.pair.pair_id)] = label.pref
    for judge in judges:
        for one in judged(every, judge):
            assert one.record.pair is not None
            if one.pref is not None:
                found[judge][str(one.record.pair.pair_id)] = one.pref
    return dict(found)
