"""The library of rubrics as an operation: names and versions, files in and out, and what changed between two sets."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.rows import rubric_id
from misjudge_storage.types import Rule
from misjudge_tools.deps import Deps
from misjudge_tools.interchange.rubric_files import read_rubric_file, write_rubric_file
from misjudge_tools.requests import RubricLibraryRequest
from misjudge_tools.results import MARK, MARK_IN_PART
from misjudge_tools.rubric_library import rubric_diff, rubric_library
from misjudge_tools.rubrics.library_values import ChangedRule, RubricLibraryResult
from operations import dump, opened
from rubric_library_parts import DATED, FEASIBLE, JUDGE, MADE_UP, SIM_WRITER, applied, named, stored_set


async def library(deps: Deps, action: str, **given: Any) -> RubricLibraryResult:
    path = {"path": str(given.pop("path"))} if "path" in given else {}
    return await rubric_library(RubricLibraryRequest.model_validate({"action": action, **path, **given}), deps)


def write(path: Path, *lines: object) -> Path:
    """A file with these lines; one that is no text is written as JSON."""
    told = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    path.write_text("\n".join(told), encoding="utf-8")
    return path


async def test_rules_are_added_listed_and_shown(deps: Deps, tmp_path: Path) -> None:
    empty = await library(deps, "list")
    assert empty.rubrics == () and "action=library, rubrics=[NAME] and gold_rules=[…]" in str(empty.next)
    file = write(tmp_path / "house.txt", "1. [hard] Does the answer name a date?", "2. Is it short?")
    added = await library(deps, "add", rubric="house", path=file)
    assert (added.name, added.rubric_id, added.added) == ("house", rubric_id(DATED), True)
    again = await library(deps, "add", rubric="house", path=file)
    assert (again.added, again.versions[0].version) == (False, 1)
    named(deps.store, "house", FEASIBLE)
    named(deps.store, "again", DATED)
    listed = await library(deps, "list")
    assert [(row.name, row.rules, row.high_level, row.versions) for row in listed.rubrics] == [
        ("again", 2, 0, 1),
        ("house", 2, 1, 2),
    ]
    shown = await library(deps, "show", rubric="house")
    assert [(one.version, one.rubric_id) for one in shown.versions] == [(2, rubric_id(FEASIBLE)), (1, rubric_id(DATED))]
    assert [(rule.rule, rule.text, rule.hard, rule.high_level) for rule in shown.rules] == [
        (1, "Is the plan feasible?", True, True),
        (2, "Is it short?", False, False),
    ]
    assert shown.name == "house" and shown.uses == () and shown.marked is None


async def test_rules_that_are_given_are_those_of_a_file(deps: Deps, tmp_path: Path) -> None:
    file = write(tmp_path / "house.txt", "[hard] Does the answer name a date?", "Is it short?")
    await library(deps, "add", rubric="house", path=file)
    given = ["[hard] Does the answer name\na date?", "2. Is it short?"]
    same = await library(deps, "add", rubric="house", rules=given)
    assert (same.rubric_id, same.added) == (rubric_id(DATED), False)
    for rules in ([" "], ["x" * 2_001], ["Is it?", ""]):
        with pytest.raises(InvalidInput):
            await library(deps, "add", rubric="house", rules=rules)
    assert (await library(deps, "list")).rubrics[0].versions == 1


async def test_rules_that_say_the_same_are_kept_once_and_counted(deps: Deps, tmp_path: Path) -> None:
    twice = ["Does the answer name a date?", "Is it short?", "[hard] does the answer name a Date"]
    added = await library(deps, "add", rubric="house", rules=twice)
    assert (added.rubric_id, added.duplicates, added.versions[0].rules) == (rubric_id(DATED), 1, 2)
    same = await library(deps, "add", rubric="house", path=write(tmp_path / "house.txt", *twice))
    assert (same.rubric_id, same.duplicates, same.added) == (rubric_id(DATED), 1, False)


async def test_uses_are_told_by_version_and_marked_where_made_up(deps: Deps) -> None:
    applied(deps.store, DATED, JUDGE, audit="one")
    applied(deps.store, DATED, MADE_UP, SIM_WRITER, audit="two")
    named(deps.store, "house", DATED)
    named(deps.store, "house", FEASIBLE)
    shown = await library(deps, "show", rubric="house")
    assert [(use.audit, use.judge, use.version, use.verdicts, use.simulated) for use in shown.uses] == [
        ("one", "strict", 1, 1, False),
        ("two", "made up", 1, 1, True),
    ]
    assert [version.verdicts for version in shown.versions] == [0, 2]
    assert shown.marked == MARK_IN_PART
    by_id = await library(deps, "show", rubric=rubric_id(DATED)[:14])
    assert (by_id.name, by_id.versions, len(by_id.uses), by_id.uses[0].version) == (None, (), 2, None)
    (row,) = (await library(deps, "list")).rubrics
    assert (row.verdicts, row.versions) == (2, 2), "earlier versions count too"


async def test_what_only_a_simulated_judge_applied_is_marked(deps: Deps) -> None:
    applied(deps.store, DATED, MADE_UP)
    assert (await library(deps, "show", rubric=rubric_id(DATED))).marked == MARK


async def test_a_set_that_comes_again_under_a_name_is_used_once(deps: Deps) -> None:
    applied(deps.store, DATED)
    for rules in (DATED, FEASIBLE, DATED):
        named(deps.store, "house", rules)
    shown = await library(deps, "show", rubric="house")
    assert [(use.version, use.verdicts) for use in shown.uses] == [(3, 1)]
    assert (await library(deps, "list")).rubrics[0].verdicts == 1


async def test_versions_and_rubrics_are_compared(deps: Deps) -> None:
    identity = stored_set(deps.store, (Rule(text="Is it short?", hard=True),))
    named(deps.store, "house", DATED)
    with pytest.raises(InvalidInput, match="There is one version of 'house'"):
        await library(deps, "diff", rubric="house")
    with pytest.raises(InvalidInput, match="There is one version of 'rub_"):
        await library(deps, "diff", rubric=identity)
    named(deps.store, "house", FEASIBLE)
    found = (await library(deps, "diff", rubric="house")).diff
    assert found is not None and (found.before, found.after) == (rubric_id(DATED), rubric_id(FEASIBLE))
    assert [rule.text for rule in found.added] == ["Is the plan feasible?"]
    assert [(rule.rule, rule.text) for rule in found.removed] == [(1, "Does the answer name a date?")]
    assert (found.changed, found.unchanged, found.reordered) == ((), 1, False)
    two = (await library(deps, "diff", rubric="house", other=identity)).diff
    assert two is not None and (two.before, two.after) == (rubric_id(FEASIBLE), identity)
    as_it_was = {"was_hard": False, "was_high_level": False}
    assert two.changed == (ChangedRule(text="Is it short?", hard=True, high_level=False, **as_it_was),)


SHORT_RULES = st.lists(
    st.builds(Rule, text=st.sampled_from("abcd"), hard=st.booleans(), high_level=st.booleans()), max_size=8
)


@given(SHORT_RULES, SHORT_RULES)
def test_a_difference_accounts_for_every_rule_and_turns_round(before: list[Rule], after: list[Rule]) -> None:
    there, back = rubric_diff(before, after), rubric_diff(after, before)
    kept = there.unchanged + len(there.changed)
    assert (len(there.added) + kept, len(there.removed) + kept) == (len(after), len(before))
    texts = Counter(rule.text for rule in before)
    texts.subtract(rule.text for rule in there.removed)
    texts.update(rule.text for rule in there.added)
    assert +texts == Counter(rule.text for rule in after)
    assert (there.added, there.removed, there.unchanged) == (back.removed, back.added, back.unchanged)
    assert there.reordered is back.reordered
    if before == after:
        assert (there.added, there.removed, there.changed, there.reordered) == ((), (), (), False)


def test_rules_in_another_order_are_told() -> None:
    found = rubric_diff(DATED, tuple(reversed(DATED)))
    assert (found.unchanged, found.reordered, found.added) == (2, True, ())


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=60)
ANY_RULES = st.lists(
    st.builds(Rule, text=TEXTS.filter(lambda text: text.strip() != ""), hard=st.booleans(), high_level=st.booleans()),
    min_size=1,
    max_size=6,
)


@given(ANY_RULES)
def test_what_is_exported_is_imported_as_it_was(tmp_path_factory: pytest.TempPathFactory, rules: list[Rule]) -> None:
    file = tmp_path_factory.mktemp("out") / "rules.jsonl"
    write_rubric_file(file, rules)
    assert read_rubric_file(file) == rules
    assert rubric_id(read_rubric_file(file)) == rubric_id(rules)


@given(ANY_RULES)
def test_a_text_file_keeps_rules_as_they_were_or_is_not_written(
    tmp_path_factory: pytest.TempPathFactory, rules: list[Rule]
) -> None:
    file = tmp_path_factory.mktemp("out") / "rules.txt"
    try:
        write_rubric_file(file, rules)
    except InvalidInput as refused:
        assert "A text file cannot keep these rules" in str(refused) and not file.exists()
    else:
        assert read_rubric_file(file) == rules


async def test_a_set_is_exported_and_comes_back_as_the_same_version(deps: Deps, tmp_path: Path) -> None:
    named(deps.store, "house", FEASIBLE)
    for name in ("out.jsonl", "OUT.TXT"):
        done = await library(deps, "export", rubric="house", path=tmp_path / name)
        assert (done.rubric_id, done.path, len(done.rules)) == (rubric_id(FEASIBLE), str(tmp_path / name), 2)
        assert not (await library(deps, "add", rubric="house", path=tmp_path / name)).added
    assert (tmp_path / "OUT.TXT").read_text(encoding="utf-8") == "[hard] Is the plan feasible?\nIs it short?\n"
    first, second = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(first) == {"rule": "Is the plan feasible?", "hard": True, "high_level": True}
    assert json.loads(second) == {"rule": "Is it short?", "hard": False, "high_level": False}
    written = {path.name for path in tmp_path.iterdir() if not path.name.startswith("misjudge.db")}
    assert written == {"OUT.TXT", "out.jsonl"}, "nothing is left beside them"


async def test_a_file_that_is_there_is_never_overwritten(deps: Deps, tmp_path: Path) -> None:
    named(deps.store, "house", DATED)
    file = write(tmp_path / "mine.jsonl", "mine")
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    for name in ("mine.jsonl", "gone.jsonl"):
        with pytest.raises(InvalidInput, match="is there already, and is not overwritten"):
            await library(deps, "export", rubric="house", path=tmp_path / name)
    assert file.read_text(encoding="utf-8") == "mine" and not (tmp_path / "nowhere.jsonl").exists()


def test_a_name_that_somebody_takes_meanwhile_stays_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.link

    def meanwhile(source: Path, target: Path) -> None:
        write(target, "theirs")
        real(source, target)

    monkeypatch.setattr(os, "link", meanwhile)
    with pytest.raises(InvalidInput, match="is there already"):
        write_rubric_file(tmp_path / "out.jsonl", DATED)
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["theirs"]


def test_a_disk_without_links_takes_the_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    write_rubric_file(tmp_path / "out.jsonl", DATED)
    assert tuple(read_rubric_file(tmp_path / "out.jsonl")) == DATED
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rules.csv", "ends in .jsonl or .txt"),
        (".bashrc", "ends in .jsonl or .txt"),
        ("no/where.jsonl", r"cannot be written \(No such file or directory\)"),
        ("a\0b.jsonl", "cannot be written"),
    ],
)
def test_a_place_that_takes_no_rules_is_told(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        write_rubric_file(tmp_path / name, DATED)
    assert list(tmp_path.iterdir()) == []


async def test_files_outside_the_roots_are_neither_read_nor_written(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    secret = write(outside / "rules.jsonl", {"rule": "SECRET"})
    (inside / "link.jsonl").symlink_to(secret)
    (inside / "there").symlink_to(outside)
    async with opened(tmp_path / "misjudge.db", roots=(inside,)) as deps:
        named(deps.store, "house", DATED)
        before = dump(deps.store)
        for path in (secret, inside / "link.jsonl", inside / ".." / "outside" / "rules.jsonl"):
            with pytest.raises(InvalidInput, match="outside the folders that may be read") as refused:
                await library(deps, "add", rubric="mine", path=path)
            assert "SECRET" not in str(refused.value)
        for path in (outside / "new.jsonl", inside / "there" / "new.jsonl", inside / ".." / "new.jsonl"):
            with pytest.raises(InvalidInput, match="outside the folders"):
                await library(deps, "export", rubric="house", path=path)
        assert dump(deps.store) == before
        await library(deps, "export", rubric="house", path=inside / "new.jsonl")
        assert (await library(deps, "add", rubric="mine", path=inside / "new.jsonl")).added


@pytest.mark.parametrize(
    "name", ["none", "self", "human", "rub_0123abcd", "deadbeef", "a/b", "-x", "x" * 121, "a\nb", " "]
)
async def test_a_name_that_could_mean_something_else_is_refused(deps: Deps, tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "rules.txt", "Is it?")
    with pytest.raises(InvalidInput, match=r"means something else|A name has 1 to 120 characters"):
        await library(deps, "add", rubric=name, path=file)
    assert (await library(deps, "list")).rubrics == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"action": "show"}, "show needs rubric."),
        (
            {"action": "add", "rubric": "x"},
            r"add needs a file with rules \(path\), or the rules themselves, and not both.",
        ),
        ({"action": "add", "rubric": "x", "path": "y", "rules": ["z"]}, "and not both."),
        ({"action": "add", "rules": ["z"]}, "add needs rubric."),
        ({"action": "export", "rubric": "x", "path": "y", "rules": ["z"]}, "export does nothing with rules."),
        ({"action": "export", "path": "x.txt"}, "export needs rubric."),
        ({"action": "diff", "other": "x"}, "diff needs rubric."),
        ({"action": "list", "rubric": "x"}, "list does nothing with rubric. Leave it out."),
        ({"action": "show", "rubric": "x", "path": "y", "other": "z"}, "show does nothing with other and path."),
        ({"action": "diff", "rubric": "x", "path": "y"}, "diff does nothing with path."),
    ],
)
async def test_arguments_that_are_missing_or_would_do_nothing_are_told(
    deps: Deps, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        await library(deps, **given)


async def test_a_rubric_that_is_not_there_is_told_with_those_that_are(deps: Deps) -> None:
    named(deps.store, "house", DATED)
    for action in ("show", "diff"):
        with pytest.raises(NotFound, match=r"no rubric 'hoose', by name or id. There are: house\."):
            await library(deps, action, rubric="hoose")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", r"line 2 is not valid JSON .*Write {\"rule\""),
        ("[]", "line 2 is not a JSON object"),
        ({"text": "Is it?"}, "line 2 has a field 'text'. There are hard, high_level, rule."),
        ({"rule": "Is it?", "Hard": True}, "line 2 has a field 'Hard'"),
        ({"hard": True}, "line 2: rule must be text of 1 to 2,000 characters"),
        ({"rule": 7}, "line 2: rule must be text"),
        ({"rule": " \n "}, "line 2: rule must be text"),
        ({"rule": "x" * 2001}, "line 2: rule must be text"),
        ({"rule": "Is it?", "hard": "yes"}, "line 2: hard must be true or false"),
        ({"rule": "Is it?", "high_level": 1}, "line 2: high_level must be true or false"),
    ],
)
def test_a_line_that_is_no_rule_is_named(tmp_path: Path, line: object, said: str) -> None:
    file = write(tmp_path / "rules.jsonl", {"rule": "Is it first?"}, line)
    with pytest.raises(InvalidInput, match=f"rules.jsonl, {said}"):
        read_rubric_file(file)


def test_what_a_line_leaves_out_is_soft_and_told_by_its_words(tmp_path: Path) -> None:
    file = write(
        tmp_path / "rules.jsonl",
        {"rule": "Is it feasible?"},
        "",
        {"rule": "Is it\nfeasible?", "hard": None, "high_level": False},
        {"rule": "Is it\r\n\u2028short?", "hard": True, "high_level": None},
        {"rule": "a\0b"},
    )
    assert read_rubric_file(file) == [
        Rule(text="Is it feasible?", high_level=True),
        Rule(text="Is it feasible?"),
        Rule(text="Is it short?", hard=True),
        Rule(text="a\ufffdb"),
    ]


def test_jsonl_is_known_by_its_first_line_whatever_the_file_is_called(tmp_path: Path) -> None:
    assert read_rubric_file(write(tmp_path / "a.txt", {"rule": "Is it?"})) == [Rule(text="Is it?")]
    assert read_rubric_file(write(tmp_path / "b", "Is it?", "{x}")) == [Rule(text="Is it?"), Rule(text="{x}")]
    crlf = tmp_path / "c.txt"
    crlf.write_bytes(b"\xef\xbb\xbfIs it?\r\n\r\n[hard] Is it new?\r\n")
    assert read_rubric_file(crlf) == [Rule(text="Is it?"), Rule(text="Is it new?", hard=True)]


def test_files_without_rules_or_with_too_many_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="There is no rule in it"):
        read_rubric_file(write(tmp_path / "a.txt", "", "---"))
    with pytest.raises(InvalidInput, match="has 0 rules, and a rubric has 1 to 500"):
        read_rubric_file(write(tmp_path / "a.jsonl", ""))
    with pytest.raises(InvalidInput, match="has 501 rules"):
        read_rubric_file(write(tmp_path / "b.jsonl", *[{"rule": f"Is it {n}?"} for n in range(501)]))
    longest = [{"rule": "界" * 2000, "hard": True, "high_level": True}] * 500
    assert len(read_rubric_file(write(tmp_path / "c.jsonl", *longest))) == 500
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_rubric_file(tmp_path / "nowhere.jsonl")
