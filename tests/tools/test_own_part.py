"""What of the section on rubrics belongs to a call: the rows of those whom it asked, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from misjudge_storage.engine import Store, open_store
from misjudge_storage.types import Judge
from misjudge_tools.rubrics.own_part import Asked, part_of
from misjudge_tools.summary.rubric_values import RubricsSection
from misjudge_tools.summary.rubrics import rubrics_section
from rubric_store import (
    HUMAN,
    MATCHER,
    PLAIN,
    WRITER,
    Draft,
    Said,
    actor,
    pair_of,
    rules,
    store_drafts,
    store_pairs,
    store_verdicts,
    with_own,
)

NAMES = [f"t{n}" for n in range(4)]
OTHER = actor("other", "rubric_generate")
THIRD = actor("third", "rubric_generate")


def prompted(judge: Judge) -> Judge:
    label = judge.label.replace("judge", "judge+strict.md")
    return judge.model_copy(update={"prompt_version": "strict.md", "label": label})


@pytest.fixture
def found(tmp_path: Path) -> Iterator[RubricsSection]:
    """A judge with and without rules, with rules in a prompt of people's own too, and three writers of these."""
    store = open_store(tmp_path / "misjudge.db")
    audit = store_pairs(store, [pair_of(name, "A", rules("one", "two", "^three")) for name in NAMES])
    _written(store, audit)
    for judge in (PLAIN, HUMAN, with_own(), prompted(HUMAN), prompted(with_own())):
        store_verdicts(store, audit, judge, [Said(name, "A", met={3: (True, False)}) for name in NAMES])
    section = rubrics_section(store, "a")
    assert isinstance(section, RubricsSection)
    yield section
    store.close()


def _written(store: Store, audit: str) -> None:
    for writer, hits in ((WRITER, [1, 2, 3]), (OTHER, [1, 2, None]), (THIRD, [1, None, None])):
        drafts = [
            Draft(name, rules(*(f"{writer.label} {name} {n}" for n in range(3))), {"matcher": hits}) for name in NAMES
        ]
        store_drafts(store, audit, writer, drafts, [MATCHER])


def test_a_judge_without_rules_is_shown_beside_those_whose_rules_were_asked_for(found: RubricsSection) -> None:
    assert [(row.judge, row.source) for row in found.accuracy if row.label == "judge"] == [
        ("judge", "none"),
        ("judge+strict.md", "none"),
    ]
    labels = ("judge", "judge+strict.md+rules:human", "judge+strict.md+rules:self")
    part = part_of(found, Asked(labels, ("writer",), ("matcher",)))
    assert part is not None
    assert {(row.judge, row.source) for row in part.accuracy} == {
        ("judge+strict.md", source) for source in ("none", "self[writer]", "human")
    }
    assert [(row.judge, row.first, row.second) for row in part.gaps] == [
        ("judge+strict.md", "human", "self[writer]"),
        ("judge+strict.md", "human", "none"),
        ("judge+strict.md", "self[writer]", "none"),
    ]
    assert {row.judge for row in found.inversions} == {"judge", "judge+strict.md"}
    assert [row.judge for row in part.inversions] == ["judge+strict.md"]


def test_a_judge_that_was_asked_without_rules_alone_stands_wherever_it_does(found: RubricsSection) -> None:
    part = part_of(found, Asked(("judge",), (), ()))
    assert part is not None and part.gaps == ()
    assert [(row.judge, row.source) for row in part.accuracy] == [("judge", "none"), ("judge+strict.md", "none")]


def test_writers_are_compared_where_both_were_asked(found: RubricsSection) -> None:
    assert [(row.writer, row.best) for row in found.writer_differences] == [("other", "writer"), ("third", "writer")]
    part = part_of(found, Asked((), ("writer", "third"), ("matcher",)))
    assert part is not None
    assert [(row.writer, row.best) for row in part.writer_differences] == [("third", "writer")]
    assert any(said.startswith("Of the writers, writer hits more gold rules than third") for said in part.advice)
    assert not any("other" in said for said in part.advice)


def test_a_call_that_asked_nobody_of_the_section_has_no_part_of_it(found: RubricsSection) -> None:
    assert part_of(found, Asked(("stranger",), ("other",), ("stranger",))) is None
