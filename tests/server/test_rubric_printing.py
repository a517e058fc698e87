"""What a person reads of rubric work, at the width of the terminal."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from misjudge_server.console import console
from misjudge_server.fitting import LIMIT, fit, size_of
from misjudge_server.printing import print_result
from misjudge_server.rubric_printing import print_rubrics
from misjudge_storage.engine import Store, open_store
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import MARK_IN_PART
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.rubric_parts import only_parts
from misjudge_tools.summary.rubric_values import RubricsSection
from misjudge_tools.summary.rubrics import rubrics_section
from rubric_store import (
    HUMAN,
    MATCHER,
    SECOND,
    WRITER,
    Draft,
    Said,
    actor,
    pair_of,
    rules,
    store_at_random,
    store_drafts,
    store_pairs,
    store_verdicts,
    with_own,
)

DOMAINS = ("chat", "code", "if", "safety", "stem")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "misjudge.db")
    yield opened
    opened.close()


def section(store: Store) -> RubricsSection:
    found = rubrics_section(store, "a")
    assert isinstance(found, RubricsSection)
    return found


def printed(
    found: RubricsSection, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int = 100
) -> str:
    monkeypatch.setattr(console, "width", width)
    capsys.readouterr()
    print_rubrics(found)
    return capsys.readouterr().out


def flat(text: str) -> str:
    return " ".join(text.split())


def gap_store(store: Store) -> RubricsSection:
    """Five domains of six tasks each; with human rules the judge is right on all, with its own on a third."""
    gold = rules("^It can be done.", "It is short.")
    names = [f"{domain}{n}" for domain in DOMAINS for n in range(6)]
    audit = store_pairs(store, [pair_of(name, "A", gold, name[:-1]) for name in names])
    drafts = [Draft(name, rules(f"own {name}", "spare"), {"matcher": [2, None]}) for name in names]
    store_drafts(store, audit, WRITER, drafts)
    met = {1: (True, False), 2: (True, True)}
    store_verdicts(store, audit, HUMAN, [Said(name, "A", "AB", met, "A") for name in names])
    own = [Said(name, "A" if n % 3 == 0 else "B", "AB", {1: (True, True)}, "tie") for n, name in enumerate(names)]
    store_verdicts(store, audit, with_own(), own)
    return section(store)


@pytest.mark.parametrize("width", [80, 100, 118])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_line_fits_the_terminal(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, seed: int
) -> None:
    store_at_random(store, random.Random(seed), tasks=50)
    out = printed(section(store), capsys, monkeypatch, width)
    assert max(map(cell_len, out.splitlines())) <= width
    for heading in ("recall", "hallucinated", "structural F1", "accuracy", "difference", "McNemar p"):
        assert heading in out


def test_advice_comes_first_and_every_share_has_its_number_and_interval(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = printed(gap_store(store), capsys, monkeypatch)
    assert "Rubric gap of judge: with human rules it is right 66.7 points more often" in flat(out)
    assert out.index("Rubric gap") < out.index("Generated rules beside the gold ones")
    assert "50.0 % [37–63] 30 of 60" in flat(out)
    assert "│ human" in out and "100.0 % [88–100] 30 of 30" in flat(out)
    assert "first 20, second 0 │ <.001" in out
    assert "writer: means over samples: recall 50.0 % [33–67] of 30" in flat(out)
    assert "66.7 % (20 of 30, 95 % " in flat(out), "value inversion"
    assert "pair p_chat1: its choice fails “It can be done.”, which no own rule means" in flat(out)
    assert "reweighted 0.0 % (0 of 30" in flat(out)


def test_domains_stand_side_by_side(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = printed(gap_store(store), capsys, monkeypatch, 100)
    for title in ("Recall by domain", "Right by domain: judge", "Differences by domain: judge"):
        table = out[out.index(title) :].split("└")[0]
        assert all(f"┃ {domain} " in table for domain in DOMAINS), title
    accuracy = out[out.index("Right by domain") :].split("└")[0]
    assert accuracy.count("of 6") == 10 and accuracy.count("33.3 %") == 5


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ("advice", "Rubric gap of judge: with human rules"),
        ("writers", "Generated rules beside the gold ones"),
        ("gaps", "Differences in points: judge"),
        ("accuracy", "Pairs that it gets right by its rules: judge"),
        ("inversions", "Value inversion, judge with rules by writer"),
        ("conflicts", "Verdicts against its own rule verdicts, judge+rules:human on pairs"),
        ("checks", "checks: none"),
        ("writers_by_domain", "Recall by domain"),
        ("gaps_by_domain", "Differences by domain: judge"),
        ("accuracy_by_domain", "Right by domain: judge"),
    ],
)
def test_a_part_is_printed_alone(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, part: str, shown: str
) -> None:
    whole = gap_store(store)
    out = flat(printed(only_parts(whole, [f"rubrics.{part}"]), capsys, monkeypatch))
    assert shown in out
    others = {
        "Generated rules beside",
        "Differences in points",
        "Pairs that it gets right by its",
        "Rubric gap of judge",
    }
    assert [other for other in others if other in out] == [other for other in others if other in shown]
    assert ": none" not in printed(whole, capsys, monkeypatch)


def test_a_gap_that_is_not_seen_says_what_would_be(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = store_pairs(store, [pair_of(f"t{n}", "A") for n in range(12)])
    for judge in (HUMAN, with_own()):
        store_verdicts(store, audit, judge, [Said(f"t{n}", "A" if n % 2 else "B") for n in range(12)])
    out = flat(printed(section(store), capsys, monkeypatch))
    assert "Not seen, and below so many points they would probably be missed: human − self[jdg_" in out
    assert "1.000" in out


def test_so_few_tasks_show_nothing(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = store_pairs(store, [pair_of("t0", "A")])
    for judge in (HUMAN, with_own()):
        store_verdicts(store, audit, judge, [Said("t0", "A")])
    out = flat(printed(section(store), capsys, monkeypatch))
    assert "Not seen, but so few tasks would show no difference at all" in out
    assert "+0.0 [one task] of 1" in out


def test_the_official_protocol_is_named(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = store_pairs(store, [pair_of(f"t{n}", "A") for n in range(4)])
    judge = actor("judge+forced", forced=True, simulated=True)
    store_verdicts(store, audit, judge, [Said(f"t{n}", "A" if n else None) for n in range(4)])
    out = printed(section(store), capsys, monkeypatch)
    assert "judge (official protocol: one order, no ties, unparsed is wrong)" in flat(out)
    assert "none (SIMULATED)" in out
    assert "inconsistent" not in out and "unscored" in out


def test_two_matchers_are_told_apart_and_disputed_rules_are_listed(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = rules(*(f"gold {n}" for n in range(1, 6)))
    audit = store_pairs(store, [pair_of(f"t{n}", "A", gold) for n in range(5)])
    drafts = [
        Draft(f"t{n}", rules(*(f"own {n} {k}" for k in range(5))), {"matcher": [1, 2, 3, 4, 5], "second": [None] * 5})
        for n in range(5)
    ]
    store_drafts(store, audit, WRITER, drafts, (MATCHER, SECOND))
    out = printed(section(store), capsys, monkeypatch)
    assert "writer, by matcher" in out and "writer, by second" in out
    assert "5 of 5 samples differ by more than 0.20" in flat(out)
    assert out.count("  task t") == 3 and "and 2 more samples" in out and "and 2 more rules" in out
    assert "      matcher: gold 1" in out and "      second: no gold rule" in out


def test_one_matcher_is_named_once_and_none_is_said(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = store_pairs(store, [pair_of("t0", "A", rules("gold")), pair_of("t1", "A", rules("gold"))])
    store_drafts(store, audit, WRITER, [Draft("t0", rules("own"))], ())
    assert "Nobody matched them." in printed(section(store), capsys, monkeypatch)
    store_drafts(store, audit, WRITER, [Draft("t1", rules("own 1"), {"matcher": [1]})])
    out = printed(section(store), capsys, monkeypatch)
    assert "Matched by matcher." in out and "by matcher │" not in out


def test_a_summary_prints_the_section_and_its_mark(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store_at_random(store, random.Random(3), tasks=20)
    audit = store_pairs(store, [])
    store_verdicts(store, audit, actor("made up", simulated=True), [Said("t1", "A")])
    monkeypatch.setattr(console, "width", 100)
    print_result(summarize(SummarizeRequest(audit="a"), store))
    out = capsys.readouterr().out
    assert MARK_IN_PART in out
    assert "Generated rules beside the gold ones" in out
    assert "other writer (SIMULATED)" in out


def test_a_long_section_is_cut_by_whole_rows_and_keeps_what_follows_from_it(store: Store) -> None:
    store_at_random(store, random.Random(5), tasks=50)
    whole = summarize(SummarizeRequest(audit="a", sections=["rubrics"]), store).model_dump(mode="json", by_alias=True)
    assert size_of(whole) > LIMIT
    cut = fit("summarize_audit", whole)
    assert size_of(cut) <= LIMIT
    rubrics = cut["rubrics"]
    assert rubrics["advice"] == whole["rubrics"]["advice"]
    assert rubrics["gaps"] and rubrics["writers"] == whole["rubrics"]["writers"][: len(rubrics["writers"])]
    left_out = sum(number for path, number in cut["left_out"].items() if path.startswith("rubrics.accuracy_by_domain"))
    assert len(rubrics["accuracy_by_domain"]) + left_out == len(whole["rubrics"]["accuracy_by_domain"])
