"""Names and ids for completing what somebody types."""

from __future__ import annotations

import pytest

from builders import JUDGE, episode, pair, verdict
from misjudge_storage.engine import Store
from misjudge_storage.record_names import audit_names, ids_that_begin, judge_labels
from operations import stored


def test_names_of_audits_and_labels_of_judges_are_those_that_are_stored(store: Store) -> None:
    for audit, label in (("first", "strong"), ("second", "strong"), ("second", "弱")):
        said = verdict("A", "AB", judge=JUDGE.model_copy(update={"label": label, "model": label}))
        stored(store, [pair(f"p {label}", episode("one"), episode("two"), said)], audit)
    with store.read() as connection:
        assert audit_names(connection) == ["second", "first"]
        assert judge_labels(connection, None) == ["strong", "弱"]
        assert judge_labels(connection, "first") == ["strong"]
        assert judge_labels(connection, "third") == []


def test_ids_are_found_by_how_they_begin_in_one_audit_only(store: Store) -> None:
    for audit, ids in (("a", ("p_1", "p%2", "q")), ("b", ("p_3",))):
        for name in ids:
            stored(store, [pair(name, episode("one", task=name), episode("two", task=name))], audit)
    with store.read() as connection:
        assert ids_that_begin(connection, "a", "pairs", "p", 10) == ["p%2", "p_1"]
        assert ids_that_begin(connection, "a", "pairs", "p_", 10) == ["p_1"]
        assert ids_that_begin(connection, "a", "pairs", "", 2) == ["p%2", "p_1"]
        assert ids_that_begin(connection, "b", "tasks", "", 9) == ["p_3"]
        assert ids_that_begin(connection, "c", "pairs", "", 9) == []


@pytest.mark.parametrize("typed", ["örd", "ÖRD", "Örder-", "öRDER-Ä", "ÖRDER-ä1"])
async def test_ids_are_completed_whatever_their_capitals_in_any_script(any_store: Store, typed: str) -> None:
    names = ["Örder-Ä1", "örder-ä1", "ÖRDER-ä12", "order-a1", "Other"]
    stored(any_store, [pair(one, episode("x", task=one), episode("y", task=one)) for one in names], "a")
    with any_store.read() as connection:
        assert {*ids_that_begin(connection, "a", "pairs", typed, 9)} == {*names[:3]}
        assert len(ids_that_begin(connection, "a", "pairs", typed, 2)) == 2
        assert {*ids_that_begin(connection, "a", "pairs", "O", 9)} == {*names[3:]}
        assert len(ids_that_begin(connection, "a", "pairs", "", 9)) == 5
