"""The worked example of rubric evaluation: tool-minded rules miss what the task is about, and mislead who follows them.

A writer thinks of tools where people ask whether a conversion of all cases can be had at all.
"""

from __future__ import annotations

import json
from pathlib import Path

from misjudge_storage.types import Episode, GoldLabel, Message, PairKey, Record, Rule, Task, Trajectory
from misjudge_tools.deps import Deps
from misjudge_tools.requests import ScoreRubricsRequest
from misjudge_tools.rubrics.results import RubricsResult
from misjudge_tools.score_rubrics import rubric_run
from operations import Messages, PromptJudge, keyed, opened, stored
from rubric_cell_parts import blocks

INSTRUCTION = "Write a tool that converts any SQL query to MongoDB, all cases."
TOOL_MINDED = (
    "Does the answer name a parser library?",
    "Does the answer give a command line?",
    "Does the answer show an example of a converted query?",
)
FEASIBILITY = (
    "Does the answer say that some SQL cannot be converted to MongoDB?",
    "Does the answer limit itself to a subset that is feasible?",
    "Does the answer tell what happens to a query outside that subset?",
)
COMPLETE = "Use `sqlglot`. Run `sql2mongo query.sql`. `SELECT * FROM t` becomes `db.t.find()`. It converts all cases."
HONEST = "Not all SQL can be converted: recursive queries have no counterpart. I convert SELECT and refuse all else."
FOLLOWS = "simulated:noise=1,rule_following=1"
"""By itself it is always wrong; given rules it goes by them."""


def worked(messages: Messages) -> str:
    """A model that writes tool-minded rules, and sees that none of them means a gold one."""
    if "GOLD" in blocks(messages):
        return json.dumps({"reason": "It asks about tools, not about feasibility.", "match": None})
    return json.dumps({"rules": [{"rule": rule, "hard": False} for rule in TOOL_MINDED]})


def example() -> Record:
    def episode(agent: str, text: str) -> Episode:
        return Episode(
            trajectory=Trajectory(task_id="sql", agent=agent, messages=(Message(role="assistant", content=text),))
        )

    return Record(
        line=1,
        task=Task(task_id="sql", prompt=INSTRUCTION),
        episodes=(episode("one", COMPLETE), episode("two", HONEST)),
        pair=PairKey(pair_id="p"),
        gold=(GoldLabel(labeller="people", pref="B", source="human"),),
        rubric=tuple(Rule(text=text, high_level=True) for text in FEASIBILITY),
    )


async def gap(deps: Deps) -> RubricsResult:
    given = {"audit": "a", "judge": FOLLOWS, "writers": ["judge-m"], "matchers": ["judge-m"]}
    return await rubric_run(ScoreRubricsRequest.model_validate(given), deps)


async def test_rules_that_miss_the_point_are_told_and_the_gold_ones_turn_the_verdict(tmp_path: Path) -> None:
    async with PromptJudge(worked) as server, opened(tmp_path / "a.db", keyed(server.base_url)) as deps:
        stored(deps.store, [example()])
        found = await gap(deps)
    assert found.run.state == "done" and found.rubrics is not None
    assert len(server.asked) == 1 + len(TOOL_MINDED), "one call writes, one a rule matches, over HTTP"
    [row] = found.rubrics.writers
    assert (row.recall.rate, row.hallucination_rate.rate, row.structural_f1.value) == (0, 1, 0)
    assert (row.matched_gold, row.total_gold, row.total_generated) == (0, 3, 3)
    ended = {row.kind: (row.right, row.wrong) for row in found.rubrics.accuracy}
    assert ended == {"none": (0, 1), "self": (0, 1), "human": (1, 0)}
    [inversion] = found.rubrics.inversions
    assert (inversion.inverted.k, inversion.inverted.n) == (1, 1)
    assert inversion.examples[0].rule in FEASIBILITY and inversion.examples[0].hits == ()
    assert any("recall" in line and "0 of 3" in line for line in found.rubrics.advice), found.rubrics.advice
