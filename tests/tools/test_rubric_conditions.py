"""Which judges of an audit are one judge under several conditions, and how all of them are told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from misjudge_storage import rubric_library
from misjudge_storage.engine import Store, open_store
from misjudge_storage.ingest import ensure_audit, ensure_judge
from misjudge_storage.rows import judge_fingerprint, rubric_id
from misjudge_storage.rubric_counts import rubric_actors
from misjudge_storage.types import Judge, Rule
from misjudge_tools.summary.rubric_conditions import Condition, compared, conditions
from rubric_store import HUMAN, PLAIN, WRITER, actor, rules, with_own

FORCED = actor("judge+forced", forced=True)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "misjudge.db")
    yield opened
    opened.close()


def found(store: Store, *judges: Judge, writers: Sequence[Judge] = ()) -> list[Condition]:
    """The conditions of these judges, stored in turn under labels that the store makes unique."""
    with store.write() as connection:
        audit = ensure_audit(connection, "a")
        for judge in judges:
            ensure_judge(connection, audit, judge)
        named = rubric_library.entries(connection)
        return conditions(rubric_actors(connection, audit), named, [*map(judge_fingerprint, writers)])


def told(found: Sequence[Condition]) -> list[tuple[str, str]]:
    return [(one.judge, one.source) for one in found]


def gaps(found: Sequence[Condition]) -> list[tuple[str, str, str]]:
    return [(one.judge, one.source, other.source) for one, other in compared(found)]


def short(judge: Judge) -> str:
    return judge_fingerprint(judge)[4:10]


def speaking(judge: Judge, language: str) -> Judge:
    return judge.model_copy(update={"prompt_version": judge.prompt_version.replace(".en.", f".{language}.")})


def longer(judge: Judge) -> Judge:
    return judge.model_copy(update={"params": judge.params.replace("1024", "2048")})


def prompted(judge: Judge, prompt: str, label: str, text: str = "text") -> Judge:
    return judge.model_copy(update={"prompt_version": prompt, "prompt_hash": text, "label": label})


def library(name: str, of: Sequence[Rule], ref: str | None = None) -> Judge:
    return actor(f"judge+rules:{ref or name}", rubrics={"kind": "library", "rubric_id": rubric_id(of)})


def keep(store: Store, name: str, *versions: Sequence[Rule]) -> None:
    with store.write() as connection:
        for version in versions:
            rubric_library.add(connection, name, version)


# One judge


def test_conditions_of_one_judge_go_together_and_others_are_left_out(store: Store) -> None:
    single = actor("judge+rules:human", "rubric", rubrics={"kind": "human"})
    strict = actor("judge+rules:strict", rubrics={"kind": "library", "rubric_id": "rub_1"})
    mine = found(store, PLAIN, HUMAN, with_own(), strict, FORCED, single, actor("bystander"), WRITER)
    assert [(one.judge, one.form, one.source, one.protocol) for one in mine] == [
        ("judge", "pairwise", "none", "both_orders"),
        ("judge", "pairwise", "self[writer]", "both_orders"),
        ("judge", "pairwise", "human", "both_orders"),
        ("judge", "pairwise", "strict", "both_orders"),
        ("judge", "pairwise", "none", "official"),
        ("judge", "rubric", "human", "both_orders"),
    ]
    assert gaps(mine) == [
        ("judge", "human", "self[writer]"),
        ("judge", "human", "none"),
        ("judge", "self[writer]", "none"),
        ("judge", "strict", "human"),
        ("judge", "strict", "none"),
    ]


def test_own_rules_stand_in_the_order_of_their_writers(store: Store) -> None:
    writers = [actor(name, "rubric_generate") for name in ("poor", "good", "fair")]
    judges = [with_own(writer) for writer in writers]
    poor, good, fair = writers
    mine = found(store, *writers, *judges, PLAIN, HUMAN, writers=[good, fair, poor])
    assert told(mine) == [("judge", source) for source in ("none", "self[good]", "self[fair]", "self[poor]", "human")]
    assert [second for _, first, second in gaps(mine) if first == "human"] == [
        *("self[good]", "self[fair]", "self[poor]", "none")
    ]


# Judges that differ in more than their rules


def test_a_judge_that_was_asked_in_two_languages_is_two(store: Store) -> None:
    chinese = [speaking(judge, "zh") for judge in (PLAIN, HUMAN, with_own())]
    mine = found(store, WRITER, *chinese, PLAIN, HUMAN, with_own())
    english = f"judge@{short(PLAIN)}[en]"
    sources = ("none", "self[writer]", "human")
    assert told(mine) == [*(("judge[zh]", source) for source in sources), *((english, source) for source in sources)]
    assert [one.label for one in mine if one.source == "none"] == ["judge", f"judge@{short(PLAIN)}"]
    pairs = [("human", "self[writer]"), ("human", "none"), ("self[writer]", "none")]
    assert gaps(mine) == [*(("judge[zh]", *pair) for pair in pairs), *((english, *pair) for pair in pairs)]


def test_languages_tell_judges_apart_of_which_none_was_asked_without_rules(store: Store) -> None:
    assert told(found(store, HUMAN, speaking(HUMAN, "zh"))) == [("judge[en]", "human"), ("judge[zh]", "human")]


def test_other_parameters_make_another_judge_under_its_stored_label(store: Store) -> None:
    mine = found(store, PLAIN, HUMAN, longer(PLAIN), longer(HUMAN))
    name = f"judge@{short(longer(PLAIN))}"
    assert told(mine) == [("judge", "none"), ("judge", "human"), (name, "none"), (name, "human")]
    assert gaps(mine) == [("judge", "human", "none"), (name, "human", "none")]


def test_a_judge_without_a_plain_one_gives_way_to_whom_its_name_is_the_label_of(store: Store) -> None:
    mine = found(store, HUMAN, longer(PLAIN), longer(HUMAN))
    assert told(mine) == [("judge", "none"), ("judge", "human"), (f"judge@{short(HUMAN)}", "human")]
    assert gaps(mine) == [("judge", "human", "none")]


def test_it_does_so_even_where_the_other_one_has_nothing_to_do_with_rules(store: Store) -> None:
    assert told(found(store, HUMAN, longer(PLAIN))) == [(f"judge@{short(HUMAN)}", "human")]


def test_where_that_name_is_taken_too_the_whole_id_tells_it_apart(store: Store) -> None:
    taken = PLAIN.model_copy(update={"model": "another", "label": f"judge@{short(HUMAN)}"})
    assert told(found(store, HUMAN, longer(PLAIN), taken)) == [(f"judge@{judge_fingerprint(HUMAN)}", "human")]


def test_officially_a_second_judge_bears_its_hash_too(store: Store) -> None:
    mine = found(store, FORCED, longer(FORCED))
    assert told(mine) == [("judge", "none"), (f"judge@{short(longer(FORCED))}", "none")]


def test_another_form_of_reply_is_told_by_the_stored_label_and_is_the_same_judge(store: Store) -> None:
    tagged = actor("judge", reply_form={"kind": "tag"})
    mine = found(store, HUMAN, PLAIN, tagged)
    apart = [f"none[judge@{short(tagged)}]", "none[judge]"]
    assert sorted(told(mine)) == [("judge", "human"), *(("judge", source) for source in sorted(apart))]
    assert sorted(gaps(mine)) == sorted(("judge", "human", source) for source in apart)


# Prompts of people's own


def test_a_judge_with_a_prompt_of_its_own_stands_beside_the_one_with_rules(store: Store) -> None:
    """That of a profile shows no rules, so the shipped prompt takes its place where there are any."""
    mine = found(store, prompted(PLAIN, "mine", "judge"), HUMAN)
    assert gaps(mine) == [("judge", "human", "none")]


def test_it_does_so_also_where_the_shipped_one_was_asked_without_rules_before(store: Store) -> None:
    mine = found(store, PLAIN, HUMAN, prompted(PLAIN, "mine", "judge"))
    second = f"judge@{short(prompted(PLAIN, 'mine', 'judge'))}"
    assert sorted(gaps(mine)) == [
        ("judge", "human", "none[judge@" + second[-6:] + "]"),
        ("judge", "human", "none[judge]"),
    ]


def test_a_prompt_with_rules_makes_another_judge_beside_which_the_plain_one_stands_once_more(store: Store) -> None:
    mine = found(store, PLAIN, HUMAN, prompted(HUMAN, "strict.md", "judge+strict.md+rules:human"))
    assert told(mine) == [
        *(("judge", "none"), ("judge", "human")),
        *(("judge+strict.md", "none"), ("judge+strict.md", "human")),
    ]
    assert gaps(mine) == [("judge", "human", "none"), ("judge+strict.md", "human", "none")]


def test_where_the_plain_one_was_asked_in_two_languages_both_stand_beside_a_prompt_of_unknown_language(
    store: Store,
) -> None:
    mine = found(store, PLAIN, speaking(PLAIN, "zh"), prompted(HUMAN, "strict.md", "judge+strict.md+rules:human"))
    assert gaps(mine) == [
        ("judge+strict.md", "human", "none[en]"),
        ("judge+strict.md", "human", "none[zh]"),
    ]


def test_prompts_of_one_name_and_other_texts_make_two_judges(store: Store) -> None:
    one, other = (prompted(HUMAN, "mine", "judge+mine+rules:human", text) for text in ("one", "other"))
    assert told(found(store, one, other)) == [
        ("judge+mine", "human"),
        (f"judge+mine@{short(other)}", "human"),
    ]


# Rubrics of the library


def test_a_rubric_of_the_library_goes_by_its_name(store: Store) -> None:
    one = rules("Is it short?")
    keep(store, "team", one)
    assert told(found(store, library("team", one))) == [("judge", "team")]


def test_versions_of_a_name_are_told_apart_and_compared(store: Store) -> None:
    texts = [rules(f"Is it {word}?") for word in ("short", "kind", "true")]
    keep(store, "team", *texts)
    mine = found(store, PLAIN, HUMAN, *(library("team", text) for text in texts))
    assert [one.source for one in mine] == ["none", "human", "team v1", "team v2", "team v3"]
    assert [one.label.partition("@")[0] for one in mine if one.kind == "library"] == ["judge+rules:team"] * 3
    of_library = [(first, second) for _, first, second in gaps(mine) if first != "human"]
    versions = ("team v1", "team v2", "team v3")
    assert of_library == [
        *((version, "human") for version in versions),
        *((version, "none") for version in versions),
        *(("team v2", "team v1"), ("team v3", "team v1"), ("team v3", "team v2")),
    ]


def test_one_version_is_told_by_its_name_alone_and_other_names_are_not_compared(store: Store) -> None:
    texts = [rules(f"Is it {word}?") for word in ("short", "kind")]
    keep(store, "team", *texts)
    keep(store, "house", texts[0])
    mine = found(store, library("house", texts[0]), library("team", texts[1]))
    assert told(mine) == [("judge", "house"), ("judge", "team")] and gaps(mine) == []


def test_a_version_that_was_chosen_by_its_id_goes_by_the_name_of_it(store: Store) -> None:
    one, other = rules("Is it short?"), rules("Is it kind?")
    keep(store, "team", one, other)
    by_id = library("team", one, ref=rubric_id(one)[4:14])
    assert [one.source for one in found(store, library("team", other), by_id)] == ["team v1", "team v2"]


def test_a_long_name_is_not_cut_though_the_label_is(store: Store) -> None:
    one = rules("Is it short?")
    keep(store, "rules of our team " * 6, one)
    keep(store, "zeta", one)
    mine = found(store, library("team", one, ref=("rules of our team " * 6)[:80]))
    assert [one.source for one in mine] == ["rules of our team " * 6]


def test_sets_that_bear_no_name_any_more_are_told_by_their_ids(store: Store) -> None:
    texts = [rules(f"Is it {word}?") for word in ("short", "kind")]
    mine = found(store, *(library("team", text) for text in texts))
    assert sorted(one.source for one in mine) == sorted(f"team {rubric_id(text)[4:12]}" for text in texts)
    assert gaps(mine) == []


# Judges that were imported


@pytest.mark.parametrize("params", ["", "[]", "no json", '{"rubrics":"mine"}', '{"rubrics":{"kind":"strange"}}'])
def test_parameters_that_an_imported_judge_states_as_it_likes_do_no_harm(store: Store, params: str) -> None:
    strange = PLAIN.model_copy(update={"params": params, "model": "", "origin": "imported"})
    assert told(found(store, strange)) == [("judge", "none")]
