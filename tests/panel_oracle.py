"""What a panel's judges come to, counted in plain Python from an audit's records: the reference for the section.

Written from the definitions, not from the SQL and not from `stats.panels`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from brute_force import Judged, judged
from misjudge_storage.types import Preference, Record
from misjudge_tools.stats.rates import ClusterSums, Tally, cluster_sums, clustered_rate

KINDS = ("tie", "inconsistent", "split", "unscored")


class Seen(NamedTuple):
    """A pair that every judge of the panel judged, and what each of them says."""

    task: str
    gold: Preference | None
    by: Mapping[str, Judged]


def said(one: Judged) -> str:
    return one.pref or one.status


def lead(one: Judged) -> float | None:
    """How much better A was scored than B, as a share of the judge's scale; None without scores."""
    scale = one.verdicts[0].judge.scale
    both = [(v.score_a, v.score_b) for v in one.verdicts if v.score_a is not None and v.score_b is not None]
    if not both or one.status == "unscored" or scale.low is None or scale.high is None:
        return None
    mean = sum(a - b for a, b in both) / len(both) / (scale.high - scale.low)
    return -mean if scale.better == "lower" else mean


def seen(records: Sequence[Record], labels: Sequence[str]) -> dict[str, Seen]:
    """The pairs that all of these judges judged, by id."""
    by_judge = {
        label: {str(one.record.pair.pair_id): one for one in judged(records, label) if one.record.pair}
        for label in labels
    }
    shared = set.intersection(*(set(found) for found in by_judge.values()))
    found = {}
    for pair_id in sorted(shared):
        by = {label: by_judge[label][pair_id] for label in labels}
        first = next(iter(by.values()))
        found[pair_id] = Seen(first.task, first.gold, by)
    return found


def by_majority(pair: Seen) -> str:
    return _agreed(pair, lambda number: 2 * number > len(pair.by))


def by_unanimity(pair: Seen) -> str:
    return _agreed(pair, lambda number: number == len(pair.by))


def _agreed(pair: Seen, enough: Callable[[int], bool]) -> str:
    votes = Counter(map(said, pair.by.values()))
    unread = votes.pop("unscored", 0)
    for kind, number in votes.items():
        if enough(number):
            return kind
    return "unscored" if enough(max(votes.values(), default=0) + unread) else "split"


def by_mean_score(pair: Seen) -> str:
    leads = [lead(one) for one in pair.by.values()]
    if any(one is None for one in leads):
        return "unscored"
    total = sum(one for one in leads if one is not None)
    return "tie" if abs(total) < 1e-6 else "A" if total > 0 else "B"


def outcome(pairs: Sequence[Seen], verdicts: Sequence[str]) -> dict[str, Any]:
    """Pairs by their verdicts, and the rate of the wrong ones."""
    counts = Counter(verdicts)
    decidable = sum(pair.gold in {"A", "B"} for pair in pairs)
    sums = wrong(pairs, verdicts)
    return {
        "decided": counts["A"] + counts["B"],
        **{kind: counts[kind] for kind in KINDS},
        "misselection": rate(sums, decidable),
    }


def wrong(pairs: Sequence[Seen], verdicts: Sequence[str]) -> ClusterSums:
    tasks: defaultdict[str, list[bool]] = defaultdict(list)
    for pair, verdict in zip(pairs, verdicts, strict=True):
        if pair.gold in {"A", "B"} and verdict in {"A", "B"}:
            tasks[pair.task].append(verdict != pair.gold)
    return cluster_sums(Tally(sum(group), len(group)) for group in tasks.values())


def rate(sums: ClusterSums, decidable: int) -> dict[str, Any]:
    return {**clustered_rate(sums).model_dump(), "coverage": sums.n / decidable if decidable else None}


def section(records: Sequence[Record], labels: Sequence[str]) -> dict[str, Any]:
    """The section as JSON, without a cascade."""
    pairs = [*seen(records, labels).values()]
    rules = {"majority": by_majority, "unanimity": by_unanimity, "mean_score": by_mean_score}
    found: dict[str, Any] = {name: outcome(pairs, [*map(rule, pairs)]) for name, rule in rules.items()}
    if any(all(lead(pair.by[label]) is None for pair in pairs) for label in labels):
        found["mean_score"] = None
    alone = {label: [said(pair.by[label]) for pair in pairs] for label in sorted(labels)}
    able = {label: one for label, verdicts in alone.items() if (one := wrong(pairs, verdicts)).n}
    decidable = sum(pair.gold in {"A", "B"} for pair in pairs)
    best = None
    if able:
        label = min(able, key=lambda label: (able[label].k / able[label].n, -able[label].n, label))
        best = {**outcome(pairs, alone[label]), "judge": label}
    every = [(pair, verdict) for verdicts in alone.values() for pair, verdict in zip(pairs, verdicts, strict=True)]
    pooled = wrong([pair for pair, _ in every], [verdict for _, verdict in every])
    return {
        "judges": sorted(labels),
        "simulated": [],
        "n": len(pairs),
        "decidable": decidable,
        "not_judged_by_all": len(records) - len(pairs),
        "rules": found if pairs else {},
        "best_judge": best,
        "mean_judge": rate(pooled, len(labels) * decidable) if pairs else None,
        "cascade": None,
    }
