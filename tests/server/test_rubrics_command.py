"""`misjudge rubrics`: what each command asks and prints, on which audit, and what it refuses."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from command import Misjudge
from misjudge_storage import rubric_library
from misjudge_storage.engine import open_store
from misjudge_storage.types import Rule
from operations import pair_records, stored
from rubric_cell_parts import rubric_records

STORE = Path(".misjudge", "misjudge.db")
JUDGED = ("--judge", "simulated")
NAIVE = ("--writer", "simulated:hits=0,invents=0.5")
"""Writes none of the gold rules."""


@pytest.fixture
def audited(folder: Path) -> Path:
    """A working directory whose store holds the audit `a`, with four pairs of tasks with gold rules."""
    with closing(open_store(folder / STORE)) as store:
        stored(store, rubric_records(4))
        with store.write() as connection:
            rubric_library.add(connection, "house", [Rule(text="Is it short?", hard=True), Rule(text="Is it kind?")])
    return folder


def test_the_gap_takes_the_only_audit_with_gold_rules_and_prints_advice_tables_and_cost(
    audited: Path, misjudge: Misjudge
) -> None:
    done = misjudge("rubrics", "gap", *JUDGED, *NAIVE, "--samples", "3")
    assert (done.code, done.err) == (0, "")
    said = " ".join(done.out.split())
    assert said.startswith("SIMULATED")
    assert "gap, 3 pairs, judge simulated and simulated+rules:self" in said
    assert "rubric_generate 3 of 3, rubric_match 3 of 3, pairwise 18 of 18" in said
    for role in ("judge", "rubric_apply", "rubric_generate", "rubric_match"):
        assert re.search(rf"{role}: \d+ requests", said)
    assert "Next: misjudge summarize a --section rubrics" in said and "By domain: misjudge summarize a" not in said
    assert "Of all that is stored" not in said
    fewer = " ".join(misjudge("rubrics", "gap", *JUDGED, *NAIVE, "--samples", "2").out.split())
    assert "Of all that is stored in the audit, more than the 2 pairs asked for now:" in fewer


def test_a_writer_of_low_recall_is_advised_against_in_plain_words_before_any_number(
    audited: Path, misjudge: Misjudge
) -> None:
    mark, advice, *_ = misjudge("rubrics", "match", *JUDGED, *NAIVE).out.splitlines()
    assert mark.startswith("SIMULATED")
    told = "Do not trust rules that simulated:hits=0,invents=0.5 (SIMULATED) writes: recall 0.0 %"
    assert advice.startswith(told)


def test_generated_rules_are_printed_with_their_marks(audited: Path, misjudge: Misjudge) -> None:
    done = misjudge("rubrics", "generate", "a", *JUDGED, "--samples", "1")
    assert done.code == 0
    assert re.search(r"simulated on task task of p\d: \d rules", done.out)
    assert "  1. " in done.out and "generate, 1 task, writer simulated: done, 1 of 1 cells done" in done.out


def test_what_is_left_out_of_a_printout_is_counted(audited: Path, misjudge: Misjudge) -> None:
    with closing(open_store(STORE)) as store:
        stored(store, rubric_records(8), "more")
    written = misjudge("rubrics", "generate", "more", *JUDGED)
    assert written.code == 0 and "and 4 more rubrics" in written.out
    judged = misjudge("rubrics", "apply", "more", *JUDGED)
    assert judged.code == 0 and "and 10 more verdicts" in judged.out


def test_what_cannot_be_read_is_printed_as_unscored(audited: Path, misjudge: Misjudge) -> None:
    unreadable = ("--judge", "simulated:parse_failure=1", "--samples", "1")
    written = misjudge("rubrics", "generate", "a", *unreadable)
    assert written.code == 0 and re.search(r"on task task of p\d: unscored \(parse_error\)", written.out)
    judged = misjudge("rubrics", "apply", "a", *unreadable)
    assert judged.code == 0 and re.search(r"in order AB: unscored \(parse_error\)", " ".join(judged.out.split()))


def test_applied_rules_are_printed_below_each_verdict(audited: Path, misjudge: Misjudge) -> None:
    done = misjudge("rubrics", "apply", "a", *JUDGED, "--rubric", "house", "--pair", "p1")
    assert done.code == 0
    said = " ".join(done.out.split())
    assert re.search(r"simulated\+rules:house on p1 in order AB: (A|B|tie), the rules come to (A|B|tie)", said)
    assert re.search(r"1\. A (meets|fails), B (meets|fails): Is it short\?", said)


def test_a_single_response_passes_or_fails(audited: Path, misjudge: Misjudge) -> None:
    done = misjudge("rubrics", "apply", *JUDGED, "--form", "rubric", "--samples", "1")
    said = " ".join(done.out.split())
    assert done.code == 0 and "apply, 1 trajectory," in said
    assert re.search(r"simulated\+rules:human on \w+: (PASS|FAIL), the rules come to (pass|fail)", said)
    assert re.search(r"1\. (meets|fails): ", said)


def test_a_judge_of_pairs_and_one_of_single_responses_are_told_apart(audited: Path, misjudge: Misjudge) -> None:
    for form in ("pairwise", "rubric"):
        assert misjudge("rubrics", "apply", *JUDGED, "--form", form).code == 0
    part = ("summarize", "a", "--section", "rubrics.conflicts")
    said = " ".join(misjudge(*part).out.split())
    for judged in ("pairs", "single responses"):
        assert (
            f"Verdicts against its own rule verdicts, simulated+rules:human (SIMULATED) on {judged}: soft over hard"
            in said
        )
    rows = json.loads(misjudge(*part, "--json").out)["rubrics"]["conflicts"]
    assert [(row["label"], row["form"], row["rulings"]) for row in rows] == [
        ("simulated+rules:human", "pairwise", 8),
        ("simulated+rules:human", "rubric", 8),
    ]
    asked = json.loads(misjudge("rubrics", "apply", *JUDGED, "--json").out)["rubrics"]["conflicts"]
    assert asked == rows[:1]


def test_a_part_of_the_section_is_asked_for_by_its_name(audited: Path, misjudge: Misjudge) -> None:
    assert misjudge("rubrics", "match", *JUDGED, *NAIVE).code == 0
    part = misjudge("summarize", "a", "--section", "rubrics.writers")
    assert part.code == 0 and "Generated rules beside the gold ones" in part.out and "Do not trust" not in part.out
    assert "checks: none" in misjudge("summarize", "a", "--section", "rubrics.checks").out
    wrong = misjudge("summarize", "a", "--section", "rubrics.writer")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.startswith(
        "misjudge: There is no part 'writer' of rubrics. Parts are: advice, simulated, writers,"
    )


def test_json_holds_the_result_and_asking_again_takes_no_call(audited: Path, misjudge: Misjudge) -> None:
    first, again = (
        json.loads(misjudge("rubrics", "gap", "a", *JUDGED, "--official", "--batch", "--json").out) for _ in range(2)
    )
    assert (first["schema"], first["action"], first["samples"], first["already_stored"]) == (1, "gap", 4, 0)
    assert {row["protocol"] for row in first["rubrics"]["accuracy"]} == {"official"}
    assert (again["run"]["total"], again["already_stored"]) == (0, first["run"]["total"])
    assert again["rubrics"] == first["rubrics"]


def test_a_dry_run_says_what_is_asked_of_whom(audited: Path, misjudge: Misjudge) -> None:
    planned = misjudge("rubrics", "gap", *JUDGED, "--matcher", "simulated:misses=0.1", "--dry-run")
    said = " ".join(planned.out.split())
    assert planned.code == 0 and "plan: gap, 4 pairs, 32 cells to do" in said
    assert "rubric_generate simulated, rubric_generate: 4 calls" in said
    assert "rubric_match simulated:misses=0.1" in said
    assert "at no cost" in said
    assert "No runs yet." in misjudge("runs").out


def test_a_limit_ends_the_work_without_an_error_and_names_the_way_on(audited: Path, misjudge: Misjudge) -> None:
    cut = misjudge("rubrics", "gap", *JUDGED, "--max-calls", "5")
    assert cut.code == 0 and "limit reached: max_calls=5" in cut.out and "misjudge runs resume run_" in cut.out
    run = re.search(r"run_\w+", cut.out)
    assert run is not None
    status = misjudge("runs", "status", run[0]).out
    assert "score_rubrics" in status and "27 cells are left" in status
    assert re.search(
        r"stages: rubric_generate \d of 4, rubric_match \d of 4, pairwise \d of 24", " ".join(status.split())
    )
    resumed = misjudge("runs", "resume", run[0], "--max-calls", "500")
    assert resumed.code == 0 and "32 of 32" in resumed.out


def test_several_audits_with_gold_rules_are_listed(audited: Path, misjudge: Misjudge) -> None:
    with closing(open_store(STORE)) as store:
        stored(store, rubric_records(1), "another")
    refused = misjudge("rubrics", "gap", *JUDGED)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "misjudge: Several audits hold gold rules; name one: another, a.\n"
    assert misjudge("rubrics", "gap", "another", *JUDGED).code == 0


def test_without_any_gold_rules_the_import_is_named(folder: Path, misjudge: Misjudge) -> None:
    with closing(open_store(folder / STORE)) as store:
        stored(store, pair_records(1))
    refused = misjudge("rubrics", "match", *JUDGED)
    assert refused.code == 2 and "misjudge import rubricbench FILE --audit NAME" in refused.err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("gap", "a"), "Set TAOTOKEN_API_KEY"),
        (("gap", "b", *JUDGED), "No audit is called 'b'. Stored are: a."),
        (("gap", "a", *JUDGED, "--samples", "0"), "greater than or equal to 1"),
        (("gap", "a", *JUDGED, "--matcher", "x", "--matcher", "y", "--matcher", "z"), "at most 2 items"),
        (("apply", "a", *JUDGED, "--form", "poem"), "Input should be 'pairwise' or 'rubric'"),
        (("apply", "a", *JUDGED, "--rubric", "hous"), "house"),
        (("apply", "a", *JUDGED, "--form", "rubric", "--rubric", "none"), "form=rubric asks whether a response meets"),
        (("apply", "a", *JUDGED, *NAIVE), "writers write the rules of rubrics=self"),
        (("gap", "a", *JUDGED, "--pair", "p9"), "1 of the pairs asked for are not stored"),
        (("gap", "a", *JUDGED, "--language", "fr"), "Input should be 'en' or 'zh'"),
        (("gap", "a", "--judge", "simulated:hit=1"), "There is no fault 'hit'"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    audited: Path, misjudge: Misjudge, given: tuple[str, ...], told: str
) -> None:
    refused = misjudge("rubrics", *given)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("misjudge: ") and told in refused.err and "Traceback" not in refused.err
