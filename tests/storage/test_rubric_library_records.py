"""The library of rubrics and the lists of its records, in a file and on Postgres."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from misjudge_storage import rubric_details, rubric_library, rubric_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.record_lists import list_kind
from misjudge_storage.rows import audit_id, rubric_id
from misjudge_storage.rubric_library import RubricUse, RubricWriting
from misjudge_storage.types import Rule
from rubric_library_parts import (
    DATED,
    FEASIBLE,
    JUDGE,
    MADE_UP,
    OWN,
    SIM_WRITER,
    applied,
    named,
    stored_set,
)


def find(store: Store, ref: str) -> str:
    with store.read() as connection:
        return rubric_library.find(connection, ref)


def numbers(store: Store, name: str) -> list[tuple[int, str]]:
    with store.read() as connection:
        return [(entry.version, entry.rubric_id) for entry in rubric_library.versions(connection, name)]


def test_other_rules_under_a_name_are_its_next_version(any_store: Store) -> None:
    first, second = named(any_store, "house", DATED), named(any_store, "house", FEASIBLE)
    assert (first.name, first.rubric_id, first.number, first.version) == ("house", rubric_id(DATED), 2, 1)
    assert (second.rubric_id, second.version) == (rubric_id(FEASIBLE), 2)
    assert find(any_store, "house") == rubric_id(FEASIBLE)
    assert named(any_store, "house", FEASIBLE) == second, "what is current already is no new version"
    assert named(any_store, "house", DATED).version == 3, "an earlier one may come again"
    assert numbers(any_store, "house") == [(1, rubric_id(DATED)), (2, rubric_id(FEASIBLE)), (3, rubric_id(DATED))]
    assert first.created_at.utcoffset() is not None
    with any_store.read() as connection:
        stored = rubric_records.rules_of(connection, [first.rubric_id, second.rubric_id])
    assert stored == {first.rubric_id: DATED, second.rubric_id: FEASIBLE}


def test_a_mark_makes_another_set_of_the_same_words(store: Store) -> None:
    soft = tuple(rule.model_copy(update={"hard": False}) for rule in DATED)
    assert named(store, "house", DATED).rubric_id != named(store, "house", soft).rubric_id
    assert named(store, "house", tuple(reversed(DATED))).version == 3, "and so does another order"


def test_names_that_share_a_set_keep_their_own_versions(any_store: Store) -> None:
    named(any_store, "b", DATED)
    named(any_store, "a", DATED)
    named(any_store, "b", FEASIBLE)
    with any_store.read() as connection:
        found = [(entry.name, entry.version) for entry in rubric_library.entries(connection)]
    assert found == [("a", 1), ("b", 1), ("b", 2)]


def test_versions_stand_in_order_beyond_ten_and_whatever_the_clock_said(store: Store) -> None:
    for number in range(12):
        named(store, "house", (Rule(text=f"Is it {number}?"),))
    with store.write() as connection:
        connection.execute(text("UPDATE rubric_names SET created_at = '2020-01-01 00:00:00.000000'"))
    assert [version for version, _ in numbers(store, "house")] == list(range(1, 13))
    assert find(store, "house") == rubric_id((Rule(text="Is it 11?"),))


def test_a_set_is_found_by_name_id_and_the_start_of_an_id(any_store: Store) -> None:
    identity = stored_set(any_store, DATED)
    named(any_store, "house", FEASIBLE)
    assert find(any_store, identity) == find(any_store, identity[:12]) == find(any_store, identity[4:12]) == identity
    for ref in ("0123456789", identity[:11], identity.upper(), f"{identity}0", "rub_", "house%", "rub_________"):
        with pytest.raises(NotFound, match=r"has no rubric .* by name or id. There are: house\."):
            find(any_store, ref)


def test_a_name_is_meant_before_an_id(store: Store) -> None:
    identity = stored_set(store, DATED)
    named(store, identity[4:12], FEASIBLE)
    assert find(store, identity[4:12]) == rubric_id(FEASIBLE)
    assert find(store, identity[4:13]) == identity


def test_the_start_of_several_ids_is_refused(store: Store) -> None:
    with store.write() as connection:
        for last in "01":
            connection.execute(
                text(f"INSERT INTO rubric_sets VALUES ('rub_{'ab' * 6}{last * 12}', 1, '2026-01-01 00:00:00')")
            )
    with pytest.raises(InvalidInput, match="Several rubrics have an id that begins so, as rub_abababababab0"):
        find(store, "abababab")
    assert find(store, "abababababab1") == f"rub_{'ab' * 6}{'1' * 12}"


def test_what_is_not_there_is_answered_with_names_that_are_near(store: Store) -> None:
    with pytest.raises(NotFound, match="The library is empty: add a file with rules to it"):
        find(store, "hose")
    for name in ("house rules", "mathematics", "other"):
        named(store, name, DATED)
    with pytest.raises(NotFound, match=r"no rubric 'house rulez', by name or id. There are: house rules\."):
        find(store, "house rulez")
    with pytest.raises(NotFound, match=r"There are: house rules, mathematics, other\."):
        find(store, "zzz" * 200)


def test_what_looks_like_an_id_is_told() -> None:
    assert rubric_library.looks_like_id("rub_0123abcd") and rubric_library.looks_like_id("deadbeef")
    assert not any(map(rubric_library.looks_like_id, ("house", "abc", "rub_xyz", "0123456", "DEADBEEF", "a" * 25)))


def test_many_who_add_at_once_get_a_version_each(any_store: Store) -> None:
    sets = [(Rule(text=f"Is it {number}?"),) for number in range(8)]
    with ThreadPoolExecutor(4) as several:
        made = list(several.map(lambda rules: named(any_store, "house", rules), sets))
    assert sorted(entry.version for entry in made) == list(range(1, 9))
    assert dict(numbers(any_store, "house")) == {entry.version: entry.rubric_id for entry in made}


def test_many_who_add_the_same_make_one_version(any_store: Store) -> None:
    with ThreadPoolExecutor(4) as several:
        made = list(several.map(lambda _: named(any_store, "house", DATED), range(8)))
    assert len(set(made)) == 1 and len(numbers(any_store, "house")) == 1


def test_uses_say_which_judges_of_which_audits_applied_a_set(any_store: Store) -> None:
    applied(any_store, DATED, JUDGE, audit="one")
    applied(any_store, DATED, MADE_UP, audit="two", writer=SIM_WRITER)
    with any_store.read() as connection:
        uses = rubric_library.uses(connection, rubric_id(DATED))
        written = rubric_library.writings(connection, rubric_id(OWN))
        verdicts = rubric_library.verdicts_by_rubric(connection, [rubric_id(DATED), rubric_id(OWN)])
        high = rubric_library.high_level_by_rubric(connection, [rubric_id(FEASIBLE), rubric_id(DATED)])
        assert rubric_library.uses(connection, rubric_id(FEASIBLE)) == []
    assert uses == [RubricUse("one", "strict", 1, False), RubricUse("two", "made up", 1, True)]
    assert written == [RubricWriting("one", "writer", 1, False), RubricWriting("two", "sim writer", 1, True)]
    assert verdicts == {rubric_id(DATED): 2} and high == {rubric_id(FEASIBLE): 1}


def test_all_sets_are_listed_once_over_the_pages_with_what_they_hold(any_store: Store) -> None:
    applied(any_store, DATED, writer=SIM_WRITER)
    named(any_store, "house", DATED)
    with any_store.read() as connection:
        total = rubric_details.count_rubrics(connection)
        whole = rubric_details.list_rubrics(connection, 0, 100)
        paged = [row for start in range(total + 1) for row in rubric_details.list_rubrics(connection, start, 1)]
    assert paged == whole and len(whole) == total == 3
    told = {row.shown["rubric_id"]: row.shown for row in whole}
    assert told[rubric_id(DATED)] == {
        "rubric_id": rubric_id(DATED), "number": 2, "hard": 1, "high_level": 0, "name": "house",
        "first_rule": "Does the answer name a date?", "simulated": False,
    }  # fmt: skip
    assert (told[rubric_id(FEASIBLE)]["high_level"], told[rubric_id(FEASIBLE)]["name"]) == (1, None)
    assert [row.shown["rubric_id"] for row in whole if row.judged] == [rubric_id(OWN)], "a simulated writer wrote it"


def test_gold_rules_that_a_simulated_writer_hit_word_by_word_are_not_made_up(store: Store) -> None:
    applied(store, DATED, writer=SIM_WRITER)
    with store.write() as connection:
        connection.execute(text("UPDATE task_rubrics SET rubric_id = :own"), {"own": rubric_id(OWN)})
    with store.read() as connection:
        assert not any(row.judged for row in rubric_details.list_rubrics(connection, 0, 100))


@pytest.mark.parametrize(
    ("judge", "writer", "scripted", "marked"),
    [
        (JUDGE, None, False, {"drafts": (0, False), "matchings": (0, False), "rulings": (0, False)}),
        (MADE_UP, None, False, {"drafts": (0, False), "matchings": (0, False), "rulings": (1, False)}),
        (JUDGE, SIM_WRITER, False, {"drafts": (1, False), "matchings": (1, False), "rulings": (0, False)}),
        (JUDGE, None, True, {"drafts": (0, False), "matchings": (0, False), "rulings": (0, True)}),
    ],
)
def test_a_row_is_made_up_where_who_made_it_is(
    any_store: Store, judge: object, writer: object, scripted: bool, marked: dict[str, tuple[int, bool]]
) -> None:
    who = {"judge": judge, **({"writer": writer} if writer else {})}
    applied(any_store, DATED, scripted=scripted, **who)  # type: ignore[arg-type]
    for kind, expected in marked.items():
        with any_store.read() as connection:
            (row,) = list_kind(connection, audit_id("a"), kind, 0, 10)
        assert (row.judged, row.made_up) == expected, kind
        assert row.shown["simulated"] is any(expected)


def test_kinds_of_rubrics_are_listed_with_who_made_them(store: Store) -> None:
    ids = applied(store)
    with store.read() as connection:
        (draft,), (matching,), (ruling,) = (
            list_kind(connection, audit_id("a"), kind, 0, 10) for kind in ("drafts", "matchings", "rulings")
        )
    assert draft.shown == {
        "draft_id": ids.draft, "task_id": "t1", "writer": "writer", "status": "scored", "unscored_reason": None,
        "rubric_id": rubric_id(OWN), "number": 2, "simulated": False,
    }  # fmt: skip
    assert matching.shown == {
        "matching_id": ids.matching, "draft_id": ids.draft, "task_id": "t1", "writer": "writer", "matcher": "matcher",
        "status": "scored", "unscored_reason": None, "simulated": False,
    }  # fmt: skip
    assert ruling.shown == {
        "ruling_id": ids.ruling, "pair_id": "p", "trajectory_id": None, "judge": "strict", "order_shown": "AB",
        "rubric_id": rubric_id(FEASIBLE), "says": None, "conflict": None, "simulated": False,
    }  # fmt: skip
