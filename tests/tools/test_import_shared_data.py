"""The importers on the real data sets: the values to meet, counted by hand from the records."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from math import comb
from pathlib import Path

import pytest
from scipy.stats import binomtest

from misjudge_storage.types import BadRecord, Record
from misjudge_tools.interchange.gauge_table import read_gauge_table
from misjudge_tools.interchange.llmbar import read_llmbar
from misjudge_tools.interchange.simulatorarena import read_simulatorarena
from misjudge_tools.interchange.tau_bench import read_tau_bench

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "data"

# Accuracy and agreement in percent, as LLMBar's own statistics.json files state them.
LLMBAR = {
    ("GPT-4", "Natural"): (93.5, 97.0),
    ("GPT-4", "Neighbor"): (64.2, 89.6),
    ("GPT-4", "GPTInst"): (76.6, 90.2),
    ("GPT-4", "GPTOut"): (76.6, 87.2),
    ("GPT-4", "Manual"): (75.0, 89.1),
    ("ChatGPT", "Natural"): (79.0, 68.0),
    ("ChatGPT", "Neighbor"): (17.9, 73.1),
    ("ChatGPT", "GPTInst"): (29.3, 52.2),
    ("ChatGPT", "GPTOut"): (43.6, 42.6),
    ("ChatGPT", "Manual"): (37.0, 47.8),
}


def data(name: str) -> Path:
    path = Path(os.environ.get("MISJUDGE_TEST_DATA", DEFAULT)) / name
    if not path.exists():
        pytest.skip(f"the data set {name} is not there (set MISJUDGE_TEST_DATA)")
    return path


def whole(read: Iterable[Record | BadRecord]) -> list[Record]:
    records = []
    for record in read:
        assert isinstance(record, Record), record
        records.append(record)
    return records


def percent(share: float) -> float:
    return round(100 * share + 1e-9, 1)


def test_llmbar_accuracy_and_agreement_of_both_judges_meet_the_published_values() -> None:
    right: Counter[tuple[str, str]] = Counter()
    equal: Counter[tuple[str, str]] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for record in whole(read_llmbar(data("llmbar"))):
        assert record.task is not None and record.task.subset is not None
        picks: defaultdict[str, list[str | None]] = defaultdict(list)
        for verdict in record.verdicts:
            picks[verdict.judge.label].append(verdict.winner)
        for judge, (plain, swapped) in picks.items():
            cell = (judge, record.task.subset)
            pairs[cell] += 1
            right[cell] += (plain == record.gold[0].pref) + (swapped == record.gold[0].pref)
            equal[cell] += plain == swapped
    found = {cell: (percent(right[cell] / 2 / n), percent(equal[cell] / n)) for cell, n in pairs.items()}
    assert found == LLMBAR


def test_tau_bench_airline_passes_as_published() -> None:
    records = whole(read_tau_bench(data("taubench/gpt-4o-airline.json")))
    assert len(records) == 200
    passed: Counter[str] = Counter()
    for record in records:
        (episode,) = record.episodes
        assert episode.trajectory.agent == "gpt-4o-airline"
        assert episode.trajectory.trial in range(4)
        passed[episode.trajectory.task_id] += bool(episode.checks[0].passed)
    assert (len(passed), passed.total()) == (50, 84)
    powers = [sum(comb(c, k) / comb(4, k) for c in passed.values()) / 50 for k in range(1, 5)]
    assert [f"{power:.3f}" for power in powers] == ["0.420", "0.273", "0.220", "0.200"]


def test_tau_bench_tool_calls_and_results_survive() -> None:
    roles: Counter[str] = Counter()
    calls = 0
    for record in whole(read_tau_bench(data("taubench/gpt-4o-airline.json"))):
        for message in record.episodes[0].trajectory.messages or ():
            roles[message.role] += 1
            calls += len(message.tool_calls)
    assert roles == {"system": 200, "user": 1490, "assistant": 1290 + 1074 + 90, "tool": 1164}
    assert calls == 1164


def test_simulatorarena_satisfied_and_failed_sessions_meet_the_published_values() -> None:
    records = whole(read_simulatorarena(data("simulatorarena/math_tutoring.json")))
    sessions = [(record.episodes[0].satisfaction[0], record.episodes[0].checks[0].passed) for record in records]
    satisfied = [passed for score, passed in sessions if (score.score or 0) >= (score.judge.scale.threshold or 0)]
    assert (len(sessions), sum(not passed for _, passed in sessions)) == (50, 21)
    assert (len(satisfied), sum(not passed for passed in satisfied)) == (31, 12)
    assert round(binomtest(12, 31, 0.2, alternative="greater").pvalue, 4) == 0.0127


def test_gauge_table_8_gives_the_published_near_errors() -> None:
    gates = ["rank_opus48:rank", "rank_gpt55:rank", "proxy_mean"]
    path = data("gauge_table8/table8.csv")
    records = whole(read_gauge_table(path, reward_col="reward", order_col="rank_reward:rank", gate_cols=gates))
    assert len(records) == 25
    near: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    agents = [record.episodes[0] for record in records]
    for i, first in enumerate(agents):
        for second in agents[:i]:
            rewards = [episode.checks[0].reward or 0 for episode in (first, second)]
            places = [episode.checks[1].reward or 0 for episode in (first, second)]
            if round(abs(rewards[0] - rewards[1]), 9) >= 0.1:
                continue
            better = rewards[0] > rewards[1] if rewards[0] != rewards[1] else places[0] < places[1]
            for x, y in zip(first.satisfaction, second.satisfaction, strict=True):
                near[x.judge.label] += 1
                lead = (x.score or 0) - (y.score or 0)
                favoured = lead < 0 if x.judge.scale.better == "lower" else lead > 0
                wrong[x.judge.label] += lead != 0 and favoured != better
    assert set(near.values()) == {85}
    assert (wrong["rank_opus48"], percent(wrong["rank_gpt55"] / 85), percent(wrong["proxy_mean"] / 85)) == (
        28,
        41.2,
        29.4,
    )
