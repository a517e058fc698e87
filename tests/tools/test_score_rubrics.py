"""`score_rubrics`: what each action asks and stores, of what, and what it answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from builders import episode, lone, messages
from misjudge_storage import rubric_library
from misjudge_storage.errors import Conflict, InvalidInput, MissingKey, NotFound
from misjudge_storage.types import Record, Rule
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.judging.verdicts import ReplyForm
from misjudge_tools.profiles import Profile, PromptText
from misjudge_tools.requests import JudgeRequest, ScoreRubricsRequest, SummarizeRequest
from misjudge_tools.results import MARK
from misjudge_tools.rubrics.results import RubricsResult
from misjudge_tools.score_rubrics import only_audit_with_gold_rules, rubric_run
from misjudge_tools.summarize_audit import summarize_audit
from operations import NOWHERE, PromptJudge, count, dump, keyed, opened, pair_records, rows, stored
from rubric_cell_parts import GOLD, MATCHED, WRITTEN, rubric_records, writes_and_matches

NAIVE = "simulated:hits=0,invents=0.5"
"""Writes none of the gold rules."""
OWN_PROMPT = (
    "Judge.\n---user---\n{task} {response_a} {response_b} Reply in JSON with reasons, score_a, score_b, winner."
)


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[tuple[Deps, PromptJudge]]:
    """Operations whose gateway writes and matches rules as `rubric_cell_parts` says, and calls A better."""
    async with PromptJudge(writes_and_matches) as server, opened(tmp_path / "asked.db", keyed(server.base_url)) as deps:
        yield deps, server


async def score(deps: Deps, **values: Any) -> RubricsResult:
    return await rubric_run(ScoreRubricsRequest.model_validate({"audit": "a", **values}), deps)


async def refused(deps: Deps, **values: Any) -> str:
    """The sentence of a request that cannot be carried out; nothing is stored then."""
    before = dump(deps.store)
    with pytest.raises((InvalidInput, Conflict)) as error:
        await score(deps, **{"judge": "simulated", **values})
    assert dump(deps.store) == before
    return str(error.value)


def cells(deps: Deps) -> list[dict[str, Any]]:
    return rows(deps.store, "SELECT * FROM cells ORDER BY run_id, seq")


async def test_generating_writes_a_rubric_of_each_task_by_each_writer(asked: tuple[Deps, PromptJudge]) -> None:
    deps, server = asked
    stored(deps.store, rubric_records(3))
    found = await score(deps, action="generate", writers=["judge-m", "other-m"])
    assert (found.run.state, found.run.done, found.run.total, found.already_stored) == ("done", 6, 6, 0)
    assert (found.samples, found.samples_are, found.writers, found.judges) == (3, "tasks", ("judge-m", "other-m"), ())
    assert [stage.stage for stage in found.run.stages] == ["rubric_generate"]
    assert Counter(use.role for use in found.run.spent) == {"rubric_generate": 1}
    assert len(server.asked) == 6
    assert (len(found.drafts), found.drafts_left_out) == (4, 2)
    assert [rule.text for rule in found.drafts[0].rules] == list(WRITTEN)
    assert found.rulings == () and found.simulated is False and found.marked is None
    again = await score(deps, action="generate", writers=["judge-m", "other-m"])
    assert (again.run.total, again.already_stored, len(server.asked)) == (0, 6, 6)
    assert again.drafts == found.drafts


async def test_matching_counts_the_gold_rules_that_are_hit(asked: tuple[Deps, PromptJudge]) -> None:
    deps, server = asked
    stored(deps.store, rubric_records(2))
    found = await score(deps, action="match")
    assert (found.writers, found.matchers, found.judges) == (("judge-m",), ("judge-m",), ())
    assert [stage.stage for stage in found.run.stages] == ["rubric_generate", "rubric_match"]
    assert len(server.asked) == 2 * (1 + len(WRITTEN) - 1)  # a rule with the words of a gold one asks nobody
    assert found.rubrics is not None
    (writer,) = found.rubrics.writers
    hit = {gold for gold in MATCHED.values() if gold is not None}
    assert (writer.matched_gold, writer.total_gold, writer.total_generated) == (2 * len(hit), 6, 2 * len(WRITTEN))
    (lenient,) = [warning for warning in found.warnings if "lenient" in warning]
    assert lenient.startswith("judge-m matches rules that it wrote itself")


async def test_another_matcher_is_not_said_to_be_lenient(asked: tuple[Deps, PromptJudge]) -> None:
    deps, _ = asked
    stored(deps.store, rubric_records(1))
    found = await score(deps, action="match", matchers=["other-m"])
    assert not [warning for warning in found.warnings if "lenient" in warning]


async def test_matching_by_batch_takes_a_call_a_task(asked: tuple[Deps, PromptJudge]) -> None:
    deps, server = asked
    stored(deps.store, rubric_records(2))
    found = await score(deps, action="match", batch=True)
    assert found.run.state == "done" and len(server.asked) == 4


async def test_both_ways_of_matching_are_two_matchers_that_check_each_other(asked: tuple[Deps, PromptJudge]) -> None:
    deps, _ = asked
    stored(deps.store, rubric_records(2))
    each, batch = [await score(deps, action="match", batch=batch) for batch in (False, True)]
    assert (each.matchers, batch.matchers) == (("judge-m",), ("judge-m+batch",))
    found = (await summarize_audit(SummarizeRequest(audit="a", sections=["rubrics"]), deps)).rubrics
    assert found is not None
    assert sorted((row.writer, row.matcher) for row in found.writers) == [
        ("judge-m", "judge-m"),
        ("judge-m", "judge-m+batch"),
    ]
    (check,) = found.checks
    assert {check.first, check.second} == {"judge-m", "judge-m+batch"}
    assert (check.agreement.rate, check.samples, check.disputed) == (1, 2, 0)


async def test_applying_gives_each_rule_a_verdict_beside_that_on_the_pair(deps: Deps) -> None:
    stored(deps.store, rubric_records(3))
    found = await score(deps, action="apply", judge="simulated")
    assert (found.samples, found.samples_are, found.judges) == (3, "pairs", ("simulated+rules:human",))
    assert (found.writers, found.matchers, found.drafts) == ((), (), ())
    assert [(stage.stage, stage.total) for stage in found.run.stages] == [("pairwise", 6)]
    assert (len(found.rulings), found.rulings_left_out) == (6, 0)
    assert all([rule.text for rule in ruling.rules] == list(GOLD) for ruling in found.rulings)
    assert {ruling.verdict.order for ruling in found.rulings} == {"AB", "BA"}
    assert found.marked == MARK and found.simulated


async def test_each_rubric_that_is_applied_is_a_judge_of_its_own_on_the_same_pairs(deps: Deps) -> None:
    stored(deps.store, rubric_records(2))
    with deps.store.write() as connection:
        rubric_library.add(connection, "house rules", [Rule(text="Is it short?"), Rule(text="Is it kind?")])
    found = await score(
        deps, action="apply", judge="simulated", rubrics=["none", "self", "human", "house rules"], writers=[NAIVE]
    )
    assert found.judges == (
        "simulated",
        f"simulated+rules:self:{NAIVE}",
        "simulated+rules:human",
        "simulated+rules:house rules",
    )
    by_judge = Counter(cell["actor_id"] for cell in cells(deps) if cell["kind"] == "pairwise")
    assert sorted(by_judge.values()) == [4, 4, 4, 4]
    waiting = [cell for cell in cells(deps) if cell["kind"] == "pairwise" and cell["draft_id"]]
    assert len(waiting) == 4
    assert {cell["draft_id"] for cell in waiting} == {
        cell["cell_id"] for cell in cells(deps) if cell["kind"] == "rubric_generate"
    }
    assert found.run.state == "done"


async def test_single_responses_pass_or_fail(deps: Deps) -> None:
    stored(deps.store, rubric_records(2))
    found = await score(deps, action="apply", judge="simulated", form="rubric", rubrics=["human"])
    assert (found.samples, found.samples_are) == (4, "trajectories")
    assert [(stage.stage, stage.total) for stage in found.run.stages] == [("rubric", 4)]
    assert {ruling.passed for ruling in found.rulings} == {True, False}
    assert all(rule.met is not None and rule.met_a is None for ruling in found.rulings for rule in ruling.rules)


async def test_the_gap_asks_with_no_own_and_human_rules_in_both_orders(deps: Deps) -> None:
    stored(deps.store, rubric_records(4))
    found = await score(deps, judge="simulated", writers=[NAIVE])
    assert found.run.state == "done", found.run.reason
    assert [stage.stage for stage in found.run.stages] == ["rubric_generate", "rubric_match", "pairwise"]
    assert [stage.total for stage in found.run.stages] == [4, 4, 3 * 2 * 4]
    assert {use.role for use in found.run.spent} >= {"rubric_generate", "rubric_apply", "judge"}
    assert found.rubrics is not None
    assert {row.kind for row in found.rubrics.accuracy} == {"none", "self", "human"}
    assert {row.protocol for row in found.rubrics.accuracy} == {"both_orders"}
    (gap,) = [row for row in found.rubrics.gaps if row.rubric_gap]
    assert gap.first == "human"
    assert found.rubrics.writers[0].recall.rate == 0
    assert found.next == "summarize_audit(audit='a', sections=['rubrics'])"
    assert (found.drafts, found.rulings) == ((), ())


async def test_the_official_protocol_shows_each_pair_once_and_offers_no_tie(deps: Deps) -> None:
    stored(deps.store, rubric_records(3))
    found = await score(deps, judge="simulated", official=True)
    assert [cell["order_shown"] for cell in cells(deps) if cell["kind"] == "pairwise"] == ["AB"] * 9
    assert found.judges == ("simulated+forced", "simulated+forced+rules:self", "simulated+forced+rules:human")
    assert found.rubrics is not None
    assert {row.protocol for row in found.rubrics.accuracy} == {"official"}


async def test_what_the_ordinary_judge_said_is_not_asked_again(deps: Deps) -> None:
    stored(deps.store, rubric_records(3))
    await judge(JudgeRequest(audit="a", judge="simulated"), deps)
    assert (await score(deps, judge="simulated")).already_stored == 6
    assert (await score(deps, judge="simulated")).run.total == 0


async def test_samples_are_the_first_pairs_of_the_audit_whoever_is_asked(deps: Deps) -> None:
    stored(deps.store, rubric_records(6))
    one = await score(deps, judge="simulated", samples=2)
    asked_first = {cell["task_id"] for cell in cells(deps) if cell["task_id"]}
    other = await score(deps, judge="simulated:noise=0.3", samples=2)
    assert {cell["task_id"] for cell in cells(deps) if cell["task_id"]} == asked_first
    assert (one.samples, other.samples) == (2, 2)
    more = await score(deps, judge="simulated", samples=9)
    assert more.samples == 6
    assert more.warnings[0] == "There are 6 pairs to take, not 9: all of them are taken."
    assert more.already_stored == one.run.total


async def test_the_numbers_are_of_those_who_were_asked_and_the_summary_has_all(deps: Deps) -> None:
    stored(deps.store, rubric_records(3))
    one = await score(deps, judge="simulated", writers=[NAIVE])
    other = await score(deps, judge="simulated:noise=0.3", matchers=["simulated:misses=0.5", "simulated"])
    assert one.rubrics is not None and other.rubrics is not None
    assert {row.writer for row in one.rubrics.writers} == {NAIVE}
    assert {row.label for row in one.rubrics.accuracy} == set(one.judges)
    assert {row.writer for row in other.rubrics.writers} == {"simulated:noise=0.3"}
    assert {row.matcher for row in other.rubrics.writers} == {"simulated:misses=0.5", "simulated"}
    assert {row.judge for row in other.rubrics.gaps} == {"simulated:noise=0.3"} and len(other.rubrics.checks) == 1
    assert one.rubrics.checks == () and set(one.rubrics.simulated) == {*one.judges, *one.writers, *one.matchers}
    summary = (await summarize_audit(SummarizeRequest(audit="a"), deps)).rubrics
    assert summary is not None
    assert len(summary.writers) == 3
    assert all(row in summary.writers for row in (*one.rubrics.writers, *other.rubrics.writers))
    applied = await score(deps, action="apply", judge="simulated")
    assert applied.rubrics is not None and not (applied.rubrics.writers or applied.rubrics.gaps)
    assert [row.source for row in applied.rubrics.accuracy] == ["human"]


async def test_who_came_to_nothing_yet_has_no_numbers_though_others_have(deps: Deps) -> None:
    stored(deps.store, rubric_records(2))
    assert (await score(deps, action="match", judge="simulated")).rubrics is not None
    cut = await score(deps, action="match", judge="simulated:noise=0.3", max_calls=1)
    assert (cut.run.reason or "").startswith("limit reached") and cut.rubrics is None


async def test_named_pairs_alone_are_taken(deps: Deps) -> None:
    stored(deps.store, rubric_records(3))
    assert (await score(deps, judge="simulated", pair_ids=["p1"])).samples == 1
    with pytest.raises(NotFound, match="1 of the pairs asked for are not stored"):
        await score(deps, judge="simulated", pair_ids=["p1", "p7"])


async def test_what_cannot_be_taken_is_left_out_and_counted(deps: Deps) -> None:
    blank = next(rubric_records(1))
    assert blank.task is not None
    silent = _renamed(blank, "silent", prompt=" \n")
    undecided = _renamed(blank, "undecided", decided=False)
    stored(deps.store, [*rubric_records(3), *pair_records(2, start=5), silent, undecided])
    found = await score(deps, judge="simulated")
    assert (found.samples, found.not_taken) == (3, {"no_gold_rules": 2, "no_instruction": 1, "not_decidable": 1})
    assert {warning for warning in found.warnings if warning.startswith("Left out")} == {
        "Left out: 2 of the pairs, because the task has no gold rules.",
        "Left out: 1 of the pairs, because the task has no instruction to write rules from.",
        "Left out: 1 of the pairs, because it is not known which side is better.",
    }
    assert (await score(deps, action="generate", judge="simulated")).not_taken == {"no_instruction": 1}
    assert (await score(deps, action="match", judge="simulated")).not_taken == {"no_gold_rules": 2, "no_instruction": 1}
    assert (await score(deps, action="apply", judge="simulated")).not_taken == {"no_gold_rules": 2}
    assert (await score(deps, action="apply", judge="simulated", rubrics=["none"])).not_taken == {}


def _renamed(record: Record, name: str, prompt: str = "Cancel it.", decided: bool = True) -> Record:
    """The pair under other names, of a task of its own."""
    assert record.task is not None and record.pair is not None
    task = record.task.model_copy(update={"task_id": name, "prompt": prompt})
    episodes = tuple(
        one.model_copy(
            update={
                "trajectory": one.trajectory.model_copy(update={"task_id": name}),
                "checks": one.checks if decided else (),
            }
        )
        for one in record.episodes
    )
    pair = record.pair.model_copy(update={"pair_id": name})
    return record.model_copy(update={"task": task, "episodes": episodes, "pair": pair})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "No pair of audit 'a' can be taken: the task has no gold rules (2)."),
        ({"action": "match"}, "No task of audit 'a' can be taken: the task has no gold rules (2)."),
        ({"action": "apply", "pair_ids": ["p0"]}, "No pair of audit 'a' can be taken: the task has no gold rules (1)."),
    ],
)
async def test_without_gold_rules_the_way_to_them_is_told(deps: Deps, given: dict[str, Any], told: str) -> None:
    stored(deps.store, pair_records(2))
    said = await refused(deps, **given)
    assert told in said
    assert "Import gold rules (format=rubricbench), or give a task here with task_prompt and gold_rules." in said


async def test_pairs_of_unknown_gold_have_no_gap_but_can_be_judged_by_rules(deps: Deps) -> None:
    record = next(rubric_records(1))
    stored(deps.store, [_renamed(record, "undecided", decided=False)])
    said = await refused(deps)
    assert (
        "it is not known which side is better" in said and "use action=apply with rubrics none, self and human" in said
    )
    assert (await score(deps, action="apply", judge="simulated")).samples == 1


async def test_an_audit_without_transcripts_or_tasks_says_so(deps: Deps) -> None:
    stored(deps.store, [])
    assert "holds no pair with both transcripts." in await refused(deps)
    assert "holds no task." in await refused(deps, action="generate")
    assert "holds no trajectory with its transcript." in await refused(
        deps, action="apply", form="rubric", rubrics=["human"]
    )
    stored(deps.store, [lone(episode("x", said=messages("Cancel it.", "Done.")), prompt=" ")])
    assert "No task of audit 'a' can be taken: the task has no instruction to write rules from (1)." in await refused(
        deps, action="generate"
    )
    with pytest.raises(NotFound, match="No audit is called 'b'"):
        await score(deps, audit="b", judge="simulated")


NEEDLESS: list[tuple[dict[str, Any], str]] = [
    (
        {"action": "match", "rubrics": ["human"]},
        "rubrics says something of apply, library, and the action is match. Leave it",
    ),
    ({"rubrics": ["human"]}, "rubrics says something of apply, library, and the action is gap."),
    ({"form": "rubric"}, "form says something of apply, and the action is gap."),
    ({"action": "generate", "official": True}, "official says something of apply, gap, and the action is generate."),
    ({"action": "generate", "matchers": ["local"]}, "matchers says something of match, gap"),
    ({"action": "apply", "batch": True}, "batch says something of match, gap"),
    ({"action": "match", "prompt": "mine.md"}, "prompt says something of apply, gap"),
    ({"action": "generate", "pair_ids": ["p0"]}, "pair_ids says something of apply, gap"),
    ({"action": "generate", "task_prompt": "Do it.", "gold_rules": ["Is it?"]}, "gold_rules says something of match,"),
    ({"action": "match", "task_prompt": "Do it.", "response_a": "Yes."}, "response_a says something of apply, gap"),
    ({"action": "apply", "writers": ["local"]}, "writers write the rules of rubrics=self, and that is not asked for."),
    ({"action": "generate", "writers": ["simulated"]}, "judge stands for who is not named, and generate asks those"),
    ({"action": "match", "writers": ["simulated"], "matchers": ["simulated"]}, "judge stands for who is not named"),
    ({"action": "apply", "form": "rubric", "rubrics": ["none"]}, "form=rubric asks whether a response meets rules"),
    ({"action": "apply", "form": "rubric", "official": True}, "official is RubricBench's way to compare two responses"),
    ({"action": "apply", "form": "rubric", "pair_ids": ["p0"]}, "pair_ids chooses pairs, and form=rubric is of single"),
    ({"gold_rules": ["Is it?"]}, "gold_rules belongs to a task that is given here: give task_prompt, too."),
    ({"response_a": "Yes."}, "response_a belongs to a task that is given here"),
    ({"task_prompt": "Do it.", "samples": 3}, "samples chooses what is stored, and a task is given here."),
    ({"task_prompt": "Do it.", "pair_ids": ["p0"]}, "pair_ids chooses what is stored, and a task is given here."),
    ({"task_prompt": " \n"}, "task_prompt is blank"),
    ({"task_prompt": "Do it.", "response_a": "Yes."}, "give task_prompt, response_a and response_b together."),
    ({"action": "apply", "task_prompt": "Do it."}, "response_a and response_b together. form=rubric takes one."),
    (
        {"action": "apply", "form": "rubric", "task_prompt": "Do it."},
        "To judge a response given here, give task_prompt",
    ),
    (
        {"task_prompt": "Do it.", "response_a": "Yes.", "response_b": "No."},
        "To match and apply the gold rules of a task",
    ),
    (
        {"action": "match", "task_prompt": "Do it."},
        "To match the gold rules of a task given here, give gold_rules, too.",
    ),
    (
        {"action": "apply", "task_prompt": "Do it.", "response_a": "Yes.", "response_b": "No."},
        "To apply the gold rules of a task given here, give gold_rules, too.",
    ),
    (
        {"task_prompt": "Do it.", "gold_rules": ["Is it?"], "response_a": "Yes.", "response_b": "Yes."},
        "Both sides hold the same trajectory",
    ),
    ({"action": "apply", "rubrics": ["human", "human"]}, "A rubric is named twice. Name each one once."),
    ({"writers": ["local", "local"]}, "Writer 'local' is named twice. Name each one once."),
    (
        {"matchers": ["simulated", "simulated:position=0.2,politeness=0.4,noise=0.05,near=0.25,lenience=0.6,seed=7"]},
        "Matcher 'simulated' is named twice.",
    ),
    ({"action": "apply", "rubrics": ["unheard of"]}, "unheard of"),
    ({"action": "match", "task_prompt": "Do it.", "gold_rules": [" "]}, "rule"),
]
"""Arguments that do not go together, and what is said of them."""


@pytest.mark.parametrize(("given", "told"), NEEDLESS)
async def test_what_does_not_go_together_is_one_sentence_before_anything_is_stored(
    deps: Deps, given: dict[str, Any], told: str
) -> None:
    stored(deps.store, rubric_records(1))
    assert told in await refused(deps, **given)


async def test_a_task_given_here_is_stored_in_no_audit_that_is_not_named(deps: Deps) -> None:
    stored(deps.store, rubric_records(1))
    before = dump(deps.store)
    request = ScoreRubricsRequest(action="generate", judge="simulated", task_prompt="Do it.")
    with pytest.raises(InvalidInput, match=r"A task that is given here is stored in an audit\. Name it: audit=NAME"):
        await rubric_run(request, deps)
    assert dump(deps.store) == before


async def test_a_rubric_of_the_library_under_two_names_is_applied_once(deps: Deps) -> None:
    stored(deps.store, rubric_records(1))
    with deps.store.write() as connection:
        for name in ("one", "two"):
            rubric_library.add(connection, name, [Rule(text="Is it short?")])
    said = await refused(deps, action="apply", rubrics=["one", "two"])
    assert said == "'simulated+rules:one' and 'simulated+rules:two' apply the same rules. Name each rubric once."


async def test_a_task_given_here_goes_through_all_of_it(deps: Deps) -> None:
    gold = ["Can every query be converted?", "Does it say which queries have no counterpart?", "[hard] Is it feasible?"]
    found = await score(
        deps,
        audit="given",
        judge="simulated",
        writers=[NAIVE],
        task_prompt="Convert SQL to Mongo, all cases.",
        gold_rules=gold,
        response_a="Here is a script for all of it.",
        response_b="Not every join has a counterpart.",
    )
    assert found.run.state == "done", found.run.reason
    assert (found.samples, found.samples_are) == (1, "pairs")
    assert found.rubrics is not None
    (writer,) = found.rubrics.writers
    assert (writer.recall.rate, writer.matched_gold, writer.total_gold) == (0, 0, 3)
    assert len(found.rulings) == 6 and len(found.drafts) == 1
    human = [ruling for ruling in found.rulings if ruling.verdict.judge == "simulated+rules:human"]
    assert all(
        [rule.text for rule in one.rules] == ["Can every query be converted?", *_untagged(gold[1:])] for one in human
    )
    again = await score(
        deps, audit="given", action="match", judge="simulated", task_prompt="Convert SQL to Mongo, all cases."
    )
    assert again.run.state == "done"  # its gold rules are stored by now
    with pytest.raises(Conflict, match="other gold rules"):
        await score(
            deps, audit="given", action="match", judge="simulated:seed=2",
            task_prompt="Convert SQL to Mongo, all cases.", gold_rules=["Is it?"],
        )  # fmt: skip


def _untagged(rules: list[str]) -> list[str]:
    return [rule.removeprefix("[hard] ") for rule in rules]


async def test_a_single_response_given_here_passes_or_fails(deps: Deps) -> None:
    found = await score(
        deps, action="apply", judge="simulated", form="rubric", task_prompt="Cancel it.",
        gold_rules=["Is it cancelled?"], response_a=[{"role": "assistant", "content": "It is cancelled."}],
    )  # fmt: skip
    assert found.run.state == "done" and len(found.rulings) == 1
    (ruling,) = found.rulings
    assert ruling.passed is not None and [rule.text for rule in ruling.rules] == ["Is it cancelled?"]
    both = await score(
        deps, action="apply", judge="simulated", form="rubric", task_prompt="Cancel it.", response_a="Yes.",
        response_b="No.",
    )  # fmt: skip
    assert (both.samples, len(both.rulings)) == (2, 2)


async def test_a_dry_run_says_the_calls_by_role_and_asks_nobody(asked: tuple[Deps, PromptJudge]) -> None:
    deps, server = asked
    stored(deps.store, rubric_records(3))
    planned = await score(deps, dry_run=True)
    assert planned.run.state == "planned" and planned.rubrics is None
    assert {role.role for role in planned.run.plan} == {"rubric_generate", "rubric_match", "judge", "rubric_apply"}
    assert planned.asked_at.keys() == {"judge", "writer", "matcher"}
    assert (server.asked, count(deps.store, "runs")) == ([], 0)


async def test_a_large_plan_that_costs_needs_a_limit(asked: tuple[Deps, PromptJudge]) -> None:
    deps, server = asked
    stored(deps.store, rubric_records(30))
    with pytest.raises(InvalidInput, match="calls to a gateway that may cost money"):
        await score(deps)
    limited = await score(deps, max_calls=7)
    assert (limited.run.reason or "").startswith("limit reached: max_calls=7")
    assert len(server.asked) == 7


async def test_without_a_key_nothing_is_planned(deps: Deps) -> None:
    stored(deps.store, rubric_records(1))
    with pytest.raises(MissingKey):
        await score(deps)
    assert count(deps.store, "runs") == 0


async def test_the_only_audit_with_gold_rules_is_the_one_that_is_meant(deps: Deps) -> None:
    stored(deps.store, pair_records(1), "plain")
    with pytest.raises(InvalidInput, match=r"No audit holds gold rules\. Import some: misjudge import rubricbench"):
        only_audit_with_gold_rules(deps.store)
    stored(deps.store, rubric_records(1), "one")
    assert only_audit_with_gold_rules(deps.store) == "one"
    request = ScoreRubricsRequest(action="generate", judge="simulated")
    assert (await rubric_run(request, deps)).run.audit == "one"
    stored(deps.store, rubric_records(1), "two")
    with pytest.raises(InvalidInput, match=r"Several audits hold gold rules; name one: two, one\."):
        only_audit_with_gold_rules(deps.store)


@pytest.mark.parametrize("shows_rules", [False, True])
async def test_a_prompt_of_the_call_is_used_where_it_fits(tmp_path: Path, shows_rules: bool) -> None:
    prompt = tmp_path / "mine.md"
    prompt.write_text(OWN_PROMPT + (" {rules}" if shows_rules else ""), encoding="utf-8")
    async with opened(tmp_path / "m.db", NOWHERE) as deps:
        stored(deps.store, rubric_records(1))
        if not shows_rules:
            with pytest.raises(InvalidInput, match=r"does not show the rules that the judge is to apply"):
                await score(deps, judge="simulated", prompt=str(prompt))
            found = await score(deps, action="apply", rubrics=["none"], judge="simulated", prompt=str(prompt))
            assert found.judges == ("simulated+mine",)
            return
        found = await score(deps, judge="simulated", prompt=str(prompt))
        assert found.judges == ("simulated", "simulated+mine+rules:self", "simulated+mine+rules:human")
        (unlike,) = [warning for warning in found.warnings if "more than the rules" in warning]
        assert unlike.startswith(
            "Without rules simulated is asked with the prompt judge_pair.en.v1, with rules with mine"
        )
        alike = await score(deps, action="apply", rubrics=["self", "human"], judge="simulated", prompt=str(prompt))
        assert not [warning for warning in alike.warnings if "more than the rules" in warning]
        shipped = await score(deps, judge="simulated")
        assert not [warning for warning in shipped.warnings if "more than the rules" in warning]


async def test_a_profile_whose_prompt_shows_no_rules_is_asked_with_the_shipped_one_where_there_are_any(
    tmp_path: Path,
) -> None:
    async with PromptJudge(writes_and_matches) as server:
        models = keyed(server.base_url)
        own = Profile(
            name="strict",
            model="judge-m",
            endpoint=models.role("judge").endpoint,
            prompt=PromptText(name="strict", text=OWN_PROMPT),
            reply_form=ReplyForm(kind="letter"),
        )
        models = models.model_copy(update={"profiles": {"strict": own}})
        async with opened(tmp_path / "m.db", models) as deps:
            stored(deps.store, rubric_records(1))
            found = await score(deps, action="apply", rubrics=["none", "human"], judge="strict")
            assert [warning for warning in found.warnings if "more than the rules" in warning] == [
                "Without rules strict is asked with the prompt strict, with rules with judge_pair_rubric.en.v1: what "
                "differs between them is more than the rules. Go by human against self, or ask without prompts of your "
                "own."
            ]
            judges = rows(deps.store, "SELECT label, prompt_version, params FROM judges ORDER BY label")
    assert [(one["label"], one["prompt_version"]) for one in judges] == [
        ("strict", "strict"),
        ("strict+rules:human", "judge_pair_rubric.en.v1"),
    ]
    assert [json.loads(one["params"])["reply_form"] for one in judges] == [{"kind": "letter"}, "json"]
