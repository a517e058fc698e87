"""Parts of the section on rubrics, asked for by name."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import InvalidInput
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.parts import PARTS, RUBRICS
from misjudge_tools.summary.rubric_values import RubricsSection
from misjudge_tools.summary.values import AuditSummary
from rubric_store import PLAIN, Said, pair_of, store_at_random, store_pairs, store_verdicts


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Rubric work of several writers, matchers, judges and domains."""
    opened = open_store(tmp_path / "misjudge.db")
    store_at_random(opened, random.Random(1), tasks=40)
    yield opened
    opened.close()


def summary(store: Store, *sections: str) -> AuditSummary:
    return summarize(SummarizeRequest(audit="a", sections=[*sections] or None), store)


def part(store: Store, *sections: str) -> RubricsSection:
    found = summary(store, *sections).rubrics
    assert found is not None
    return found


@pytest.mark.parametrize("name", PARTS[RUBRICS])
def test_a_part_is_that_of_the_whole_and_the_others_are_empty(store: Store, name: str) -> None:
    whole, found = part(store, "rubrics"), part(store, f"rubrics.{name}")
    assert (whole.parts, found.parts, found.simulated) == ((), (name,), whole.simulated)
    assert getattr(found, name) == getattr(whole, name)
    assert all(getattr(found, other) == () for other in PARTS[RUBRICS] if other not in {name, "simulated"})


def test_parts_go_with_each_other_and_with_whole_sections(store: Store) -> None:
    whole, found = summary(store), summary(store, "pairs", "rubrics.gaps", "rubrics.writers.1", "rubrics.writers.2")
    assert whole.rubrics is not None and found.rubrics is not None
    assert (found.pairs, found.agents) == (whole.pairs, None)
    assert found.rubrics.parts == ("gaps", "writers.1")
    assert (found.rubrics.gaps, found.rubrics.writers) == (whole.rubrics.gaps, whole.rubrics.writers[1:])
    assert part(store, "rubrics.gaps", "rubrics") == whole.rubrics


def test_rows_behind_the_last_one_are_none(store: Store) -> None:
    assert part(store, "rubrics.writers.999999999").writers == ()
    assert part(store, "rubrics.simulated.1").simulated == part(store, "rubrics").simulated[1:]


def test_judges_do_not_stand_beside_what_is_said_of_the_audit(store: Store) -> None:
    assert summary(store).judges
    assert summary(store, "rubrics").judges is None and summary(store, "rubrics.writers").judges is None
    assert summary(store, "rubrics.writers", "misselection").judges


def test_of_rubrics_that_there_are_not_a_part_says_why(store: Store) -> None:
    store_verdicts(store, store_pairs(store, [pair_of("alone")], "b"), PLAIN, [Said("alone", "A")])
    found = summarize(SummarizeRequest(audit="b", sections=["rubrics.checks"]), store)
    assert found.rubrics is None and found.why.keys() == {"rubrics"}


@pytest.mark.parametrize(
    "name", ["rubrics.", "rubrics.writer", "rubrics.parts", "rubrics.writers.", "rubrics.writers.-1", "rubrics.a.b"]
)
def test_a_part_that_there_is_not_is_told_with_those_there_are(store: Store, name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        summary(store, name)
    assert str(refused.value).startswith(f"There is no part {name.removeprefix('rubrics.')!r} of rubrics. Parts are: ")
    assert all(part in str(refused.value) for part in PARTS[RUBRICS])


def test_other_sections_have_no_parts(store: Store) -> None:
    with pytest.raises(InvalidInput, match=r"There is no section 'consistency\.flip_rate'\. Sections are: "):
        summary(store, "consistency.flip_rate")
