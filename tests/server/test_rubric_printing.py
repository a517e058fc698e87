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
from misjudge_server.rubric_printing import Domains, print_rubrics
from misjudge_storage.engine import Store, open_store
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import MARK_IN_PART
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.parts import only_rubric_parts
from misjudge_tools.summary.rubric_values import AccuracyRow, InversionRow, RubricsSection, WriterDifference
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
    found: RubricsSection,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int = 100,
    domains: Domains = "all",
) -> str:
    monkeypatch.setattr(console, "width", width)
    capsys.readouterr()
    print_rubrics(found, "a", domains)
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
    assert "│ human" in out and "100.0 % [89–100] 30 of 30" in flat(out)
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
    assert accuracy.count("2 of 6") == 5 and accuracy.count("6 of 6") == 5 and accuracy.count("33.3 %") == 5


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ("advice", "Rubric gap of judge: with human rules"),
        ("writers", "Generated rules beside the gold ones"),
        ("gaps", "Gaps: differences in points: judge"),
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
    out = flat(printed(only_rubric_parts(whole, [f"rubrics.{part}"]), capsys, monkeypatch))
    assert shown in out
    others = {
        "Generated rules beside",
        "Gaps: differences in points",
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
    assert "judge (SIMULATED) (official protocol: one order, no ties, unparsed is wrong)" in flat(out)
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
    assert "Checks: two matchers on the same rules" in out
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
    assert "By domain: misjudge summarize a --section rubrics" in out and "Right by domain" not in out
    print_result(summarize(SummarizeRequest(audit="a", sections=["rubrics"]), store))
    out = capsys.readouterr().out
    assert "By domain: misjudge" not in out and "Right by domain" in out


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


def accuracy_row(**given: object) -> AccuracyRow:
    counts = {"pairs": 4, "right": 2, "wrong": 0, "tie": 0, "inconsistent": 0, "unscored": 2, "no_rubric": 1}
    rate = {"rate": 1.0, "k": 2, "n": 2, "low": 0.3, "high": 1.0}
    names = {"judge": "judge", "source": "self[w]", "kind": "self", "protocol": "both_orders", "label": "judge+rules"}
    return AccuracyRow.model_validate({**names, **counts, "accuracy": rate, "decided_accuracy": rate, **given})


def with_rows(**rows: object) -> RubricsSection:
    """An empty section but for these rows."""
    names = ("advice", "writers", "writer_differences", "gaps", "accuracy", "inversions", "conflicts", "checks")
    return RubricsSection.model_validate({"simulated": (), **dict.fromkeys(names, ()), **rows})


def test_a_share_fits_its_counts_and_names_the_pairs_without_a_rubric(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {"accuracy": (accuracy_row(),), "accuracy_by_domain": (accuracy_row(domain="chat"),)}
    out = printed(with_rows(**rows), capsys, monkeypatch, 118)
    assert "2 (1 no_rubric)" in out
    assert out.count("2 of 2") == 3 and "of 4" not in out


def test_rows_of_one_name_do_not_overwrite_each_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tuple(accuracy_row(label=label) for label in ("one", "two"))
    by_domain = tuple(accuracy_row(label=label, domain="chat") for label in ("one", "two"))
    out = printed(with_rows(accuracy=rows, accuracy_by_domain=by_domain), capsys, monkeypatch, 118)
    assert out.count("│ self[w] ") == 4


def test_writers_are_compared_with_the_best_one_and_marked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    effect = {"value": -0.2, "low": -0.3, "high": -0.1, "n": 50}
    facts = {"best": "b", "tasks": 20, "recall_difference": effect, "only_writer": 3, "only_best": 13}
    rows = [WriterDifference.model_validate({"writer": w, "matcher": m, **facts}) for w in "wv" for m in ("m", "n")]
    out = printed(with_rows(writer_differences=rows, simulated=("w", "n")), capsys, monkeypatch, 118)
    assert "Writer differences" in out
    assert "│ w (SIMULATED) − b, by n (SIMULATED) │ -20.0 [-30, -10] of 20 tasks │ 3 " in out
    assert out.index("w (SIMULATED) − b, by m") < out.index("v − b, by m")
    unknown = [
        rows[0].model_copy(update={"recall_difference": rows[0].recall_difference.model_copy(update=gone)})
        for gone in ({"value": None}, {"low": None})
    ]
    out = printed(with_rows(writer_differences=unknown), capsys, monkeypatch, 118)
    assert "│ w − b │ – " in flat(out) and "│ w − b │ -20.0 of 20 tasks " in flat(out)


def test_value_inversion_is_told_from_all_pairs_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rate = {"rate": 0.5, "k": 4, "n": 8, "low": 0.2, "high": 0.8}
    examples = [{"pair": f"p{n}", "task": "t", "rule": "r", "hits": ()} for n in range(3)]
    names = {"judge": "judge", "protocol": "both_orders", "label": "judge+rules", "writer": "w", "matcher": "m"}
    counts = {"pairs": 30, "with_high_level": 12, "decided": 9, "untold": 1, "inverted": rate, "of_wrong": rate}
    row = InversionRow.model_validate({**names, **counts, "examples": examples})
    marked = ("w", "m", "judge+rules")
    out = flat(printed(with_rows(inversions=(row,), simulated=marked), capsys, monkeypatch))
    assert "judge (SIMULATED) with rules by w (SIMULATED) (both orders, matched by m (SIMULATED))" in out
    assert "of 30 pairs 12 with high-level gold rules, 9 of these decided, 8 told, in 1 more case it cannot" in out
    assert "and 1 more pair" in out and "and 1 more pairs" not in out


@pytest.mark.parametrize(("domains", "shown"), [("all", True), ("large", True), ("none", False)])
def test_domains_are_shown_or_the_way_to_them(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, domains: Domains, shown: bool
) -> None:
    out = printed(gap_store(store), capsys, monkeypatch, domains=domains)
    assert ("Right by domain" in out) is shown
    assert ("By domain: misjudge summarize a --section rubrics" in out) is not shown


def test_domains_of_few_samples_are_not_shown_unasked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = with_rows(accuracy=(accuracy_row(),), accuracy_by_domain=(accuracy_row(domain="chat"),))
    assert "By domain: misjudge" in printed(found, capsys, monkeypatch, domains="large")
    part = only_rubric_parts(found, ["rubrics.accuracy_by_domain"])
    assert "Right by domain" in printed(part, capsys, monkeypatch, domains="none")
