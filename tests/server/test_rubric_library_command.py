"""`misjudge rubrics library`: rules kept under names, shown, compared and exported; no key and no model."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from command import Misjudge, Outcome
from misjudge_storage.engine import open_store
from misjudge_storage.rows import rubric_id
from rubric_library_parts import DATED, FEASIBLE, JUDGE, MADE_UP, OWN, applied

DATED_FILE = "1. [hard] Does the answer name a date?\n2. Is it short?\n"
FEASIBLE_FILE = '{"rule": "Is the plan feasible?", "hard": true}\n{"rule": "Is it short?"}\n'


@pytest.fixture
def filled(misjudge: Misjudge, folder: Path) -> Misjudge:
    """A library with two versions of `house`."""
    folder.joinpath("dated.txt").write_text(DATED_FILE, encoding="utf-8")
    folder.joinpath("feasible.jsonl").write_text(FEASIBLE_FILE, encoding="utf-8")
    for name in ("dated.txt", "feasible.jsonl"):
        assert misjudge("rubrics", "library", "add", "house", name).code == 0
    return misjudge


def told(done: Outcome) -> dict[str, Any]:
    assert (done.code, done.err) == (0, "")
    found: dict[str, Any] = json.loads(done.out)
    assert found["schema"] == 1
    return found


def test_an_empty_library_says_what_to_do(misjudge: Misjudge) -> None:
    done = misjudge("rubrics", "library", "list")
    assert (done.code, done.err) == (0, "")
    assert done.out == "The library is empty. Add rules with: misjudge rubrics library add NAME FILE\n"


def test_adding_says_which_version_it_is(misjudge: Misjudge, folder: Path) -> None:
    folder.joinpath("dated.txt").write_text(DATED_FILE, encoding="utf-8")
    told_of = f"version 1, {rubric_id(DATED)}: 2 rules, 0 of them high-level"
    added = misjudge("rubrics", "library", "add", "house", "dated.txt")
    assert (added.code, added.out) == (0, f"house is now {told_of}\n")
    again = misjudge("rubrics", "library", "add", "house", "dated.txt")
    assert (again.code, again.out) == (0, f"house is already {told_of}; nothing was added\n")


def test_rules_can_be_given_in_place_of_a_file(filled: Misjudge) -> None:
    rules = ("--rule", "[hard] Does the answer name a date?", "--rule", "Is it short?")
    added = filled("rubrics", "library", "add", "typed", *rules)
    assert (added.code, added.out) == (
        0,
        f"typed is now version 1, {rubric_id(DATED)}: 2 rules, 0 of them high-level\n",
    )


def test_rules_that_say_the_same_are_told(misjudge: Misjudge) -> None:
    done = misjudge("rubrics", "library", "add", "short", "--rule", "Is it short?", "--rule", "is it SHORT")
    assert done.code == 0 and done.out.endswith("\n1 rule left out: another one says the same\n")


def test_names_are_listed_in_a_table(filled: Misjudge) -> None:
    done = filled("rubrics", "library", "list")
    (row,) = [line for line in done.out.splitlines() if "house" in line]
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells[:6] == ["house", rubric_id(FEASIBLE), "2", "1", "2", "0"]


def test_a_rubric_is_shown_with_its_rules_versions_and_uses(filled: Misjudge, folder: Path) -> None:
    unused = filled("rubrics", "library", "show", "house")
    assert unused.out.splitlines()[:3] == [
        f"house, {rubric_id(FEASIBLE)}: 2 rules",
        "1. [hard] [high] Is the plan feasible?",
        "2. Is it short?",
    ]
    assert "No verdict applied it yet." in unused.out
    with closing(open_store(folder / ".misjudge" / "misjudge.db")) as store:
        applied(store, DATED, JUDGE, audit="one")
        applied(store, DATED, MADE_UP, audit="two")
    used = filled("rubrics", "library", "show", "house").out
    assert used.startswith("SIMULATED in part")
    assert "No verdict" not in used and "Applied by" in used
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in used.splitlines()]
    assert ["one", "strict", "1", "1"] in cells and ["two", "made up (SIMULATED)", "1", "1"] in cells
    assert any(line[:1] == ["1"] and line[-1] == "2 (1 SIMULATED)" for line in cells), "versions"
    listed = filled("rubrics", "library", "list").out
    assert listed.startswith("SIMULATED in part") and "2 (1 SIMULATED)" in " ".join(listed.split())
    row = told(filled("rubrics", "library", "list", "--json"))
    assert row["marked"].startswith("SIMULATED in part") and row["rubrics"][0]["simulated"] == 1
    by_id = filled("rubrics", "library", "show", rubric_id(OWN)[:12]).out
    assert by_id.splitlines()[0] == f"{rubric_id(OWN)}: 2 rules" and "Versions" not in by_id
    marked = filled("rubrics", "library", "show", rubric_id(DATED)).out
    assert "rub_" in marked.splitlines()[-2], "without a name there are no versions, so the set itself is named"


def test_versions_are_compared_line_by_line(filled: Misjudge, folder: Path) -> None:
    done = filled("rubrics", "library", "diff", "house")
    assert done.out.splitlines() == [
        f"{rubric_id(DATED)} → {rubric_id(FEASIBLE)}",
        "- 1. [hard] Does the answer name a date?",
        "+ 1. [hard] [high] Is the plan feasible?",
        "1 added, 1 removed, 0 marked otherwise, 1 unchanged",
    ]
    folder.joinpath("other.txt").write_text("[hard] [high] Is it short?\nIs the plan feasible?", encoding="utf-8")
    filled("rubrics", "library", "add", "other", "other.txt")
    assert filled("rubrics", "library", "diff", "house", "other").out.splitlines()[1:] == [
        "~ Is it short? [soft] → [hard] [high]",
        "~ Is the plan feasible? [hard] [high] → [high]",
        "0 added, 0 removed, 2 marked otherwise, 0 unchanged, in another order",
    ]


def test_an_export_is_a_new_file_that_can_be_added_again(filled: Misjudge, folder: Path) -> None:
    done = filled("rubrics", "library", "export", "house", "out.jsonl")
    assert (done.code, done.out) == (0, f"out.jsonl: 2 rules of {rubric_id(FEASIBLE)}\n")
    assert "nothing was added" in filled("rubrics", "library", "add", "house", "out.jsonl").out
    refused = filled("rubrics", "library", "export", "house", "out.jsonl")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "misjudge: out.jsonl is there already, and is not overwritten. Name another file.\n"


def test_every_command_tells_the_same_as_json(filled: Misjudge) -> None:
    listed = told(filled("rubrics", "library", "list", "--json"))
    assert [row["name"] for row in listed["rubrics"]] == ["house"]
    shown = told(filled("rubrics", "library", "show", "house", "--json"))
    assert [rule["text"] for rule in shown["rules"]] == [rule.text for rule in FEASIBLE]
    assert [version["version"] for version in shown["versions"]] == [2, 1]
    assert told(filled("rubrics", "library", "diff", "house", "--json"))["diff"]["before"] == rubric_id(DATED)
    assert told(filled("rubrics", "library", "export", "house", "x.txt", "--json"))["path"] == "x.txt"
    assert told(filled("rubrics", "library", "add", "new", "x.txt", "--json"))["added"] is True


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "hoose"), "The library has no rubric 'hoose', by name or id. There are: house."),
        (("add", "human", "dated.txt"), "'human' means something else where rules are chosen."),
        (("add", "x", "nowhere.txt"), "The file nowhere.txt cannot be read"),
        (("add", "", "dated.txt"), "Argument 'rubric' cannot be used"),
        (("add", "x"), "add needs a file with rules (path), or the rules themselves, and not both."),
        (("export", "house", "x.csv"), "Rules are written to a file that ends in .jsonl or .txt."),
    ],
)
def test_what_cannot_be_done_is_one_sentence(filled: Misjudge, arguments: tuple[str, ...], said: str) -> None:
    failed = filled("rubrics", "library", *arguments)
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.startswith(f"misjudge: {said}") and failed.err.count("\n") == 1


def test_rules_cannot_paint_the_terminal(misjudge: Misjudge, folder: Path) -> None:
    folder.joinpath("paint.txt").write_text("Is it \x1b]0;title\x07[red]red\u202e?\n", encoding="utf-8")
    misjudge("rubrics", "library", "add", "paint", "paint.txt")
    for arguments in (("show", "paint"), ("show", "paint", "--json"), ("list",)):
        done = misjudge("rubrics", "library", *arguments)
        assert done.code == 0 and not set(done.out) & {"\x1b", "\x07", "\u202e"}
        assert arguments == ("list",) or "[red]red" in done.out


def test_the_library_is_read_by_address_too(filled: Misjudge) -> None:
    page = told(filled("read", "misjudge://rubrics"))["record"]
    assert page["total"] == 2 and {row["name"] for row in page["rubrics"]} == {"house"}
    one = told(filled("read", f"misjudge://rubrics/{page['rubrics'][1]['rubric_id']}"))["record"]
    assert [rule["text"] for rule in one["rules"]] == [rule.text for rule in FEASIBLE]
