"""One rubric written, one matched: what is asked, what is never shown, and what is stored of every kind of reply."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage import judging_records
from misjudge_storage.errors import InvalidInput, NotFound, RequestRefused
from misjudge_storage.ingest import ensure_judge
from misjudge_storage.judging_records import store_results
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Record, Role, Rule, Task
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.settings import Price
from misjudge_tools.gateway.simulated_bias import SimulatedBias
from misjudge_tools.gateway.ways import Ways
from misjudge_tools.judging.choice import judge_of
from misjudge_tools.judging.session import Judged
from misjudge_tools.runs.budget import Estimate
from misjudge_tools.runs.paid import Leave, Paid
from misjudge_tools.runs.rubric_session import RubricSession
from misjudge_tools.runs.spec import RubricWork
from operations import keyed, opened, pair_record, rows, stored, with_judge
from rubric_cell_parts import (
    GOLD,
    MATCHED,
    WRITTEN,
    Protocol,
    cells_of,
    ids_of,
    match_text,
    rubric_records,
    rules_text,
    spec_of,
    tasks_of,
    work_of,
)

RUN = "run_1"
TASK = tasks_of(1)
NO = {"error": {"message": "this content is not allowed"}}
DRAFTS = "SELECT * FROM rubric_drafts"
MATCHES = "SELECT rule, gold_rule, status, unscored_reason, method FROM rubric_matches ORDER BY rule"
LOGS = "SELECT * FROM judge_logs ORDER BY created_at, turn"


class Asked:
    """A session on a store, which keeps each result as a run would."""

    def __init__(self, deps: Deps, session: RubricSession) -> None:
        self.deps = deps
        self.session = session
        self.roles: list[Role] = []
        self.answered = 0

    @asynccontextmanager
    async def leave(self, role: Role, task_id: str, estimate: Estimate) -> AsyncIterator[Leave]:
        self.roles.append(role)
        yield Leave()

    async def save(self, result: judging_records.CellResult) -> None:
        with self.deps.store.write() as connection:
            store_results(connection, [result])

    async def note(self) -> None:
        self.answered += 1

    async def ask(self, cell: PlannedCell) -> Judged:
        judged = await self.session.ask(cell, Paid(self.leave, self.save, self.note))
        await self.save(judged.result)
        return judged


@asynccontextmanager
async def session_of(deps: Deps, work: RubricWork) -> AsyncIterator[Asked]:
    asked = (*work.writers, *work.matchers)
    with deps.store.write() as connection:
        audit = judging_records.read_audit(connection, "a")
        for one in asked:
            ensure_judge(connection, audit.audit_id, judge_of(one))
    async with Ways(deps.models, deps.gateways) as ways:
        opened_ways = {judge_id: await ways.open(one) for judge_id, one in zip(ids_of(asked), asked, strict=True)}
        yield Asked(deps, RubricSession(deps.store, audit, RUN, work, opened_ways))


@asynccontextmanager
async def at_loopback(
    where: Path, protocol: Protocol = "rubric_match", records: Sequence[Record] = (), **values: Any
) -> AsyncIterator[tuple[LoopbackServer, Asked, list[PlannedCell]]]:
    """A server to script, a session that asks it about a stored task, and the task's two cells."""
    async with LoopbackServer() as server:
        settings = keyed(server.base_url, max_attempts=1)
        async with opened(where / "s.db", settings, concurrency=1, clock=VirtualClock()) as deps:
            stored(deps.store, records or list(rubric_records(1)))
            work = work_of(deps, protocol, **values)
            async with session_of(deps, work) as asked:
                yield server, asked, cells_of(work, TASK)


def draft_of(asked: Asked) -> dict[str, Any]:
    (draft,) = rows(asked.deps.store, DRAFTS)
    return draft


def matches_of(asked: Asked) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows(asked.deps.store, MATCHES)]


def matching_of(asked: Asked) -> tuple[str, str | None]:
    (row,) = rows(asked.deps.store, "SELECT status, unscored_reason FROM rubric_matchings")
    return row["status"], row["unscored_reason"]


async def test_a_rubric_is_stored_with_its_rules_and_the_call_that_wrote_it(tmp_path: Path) -> None:
    async with at_loopback(tmp_path) as (server, asked, (cell, _)):
        server.enqueue(completion(rules_text(WRITTEN[0], WRITTEN[2], WRITTEN[2].upper())))
        judged = await asked.ask(cell)
        draft, (log,) = draft_of(asked), rows(asked.deps.store, LOGS)
        rules = rows(
            asked.deps.store, "SELECT rule, text FROM rubric_rules WHERE rubric_id = :id", id=draft["rubric_id"]
        )
    assert (judged.readable, judged.lost, asked.roles, asked.answered) == (True, None, ["rubric_generate"], 1)
    assert (draft["draft_id"], draft["writer_id"], draft["task_id"]) == (cell.cell_id, cell.actor_id, TASK[0])
    assert (draft["status"], draft["written"], draft["duplicates"], draft["repaired"]) == ("scored", 3, 1, 0)
    assert [row["text"] for row in rules] == [WRITTEN[0], WRITTEN[2]]
    assert draft["log_id"] == log["log_id"]
    assert (log["role"], log["run_id"], log["cell_id"], log["judge_id"]) == (
        *("rubric_generate", RUN),
        *(cell.cell_id, cell.actor_id),
    )
    assert (log["pair_id"], log["trajectory_id"], log["unscored_reason"]) == (None, None, None)
    assert log["prompt_version"] == "rubric_generate.en.v1" and log["prompt_hash"] and log["rendered_hash"]
    assert json.loads(log["parsed_json"]) == {
        "rules": [{"rule": WRITTEN[0], "hard": False}, {"rule": WRITTEN[2], "hard": False}]
    }


async def test_no_byte_that_a_writer_is_sent_holds_a_response_a_criterion_a_gold_rule_or_an_agent(
    tmp_path: Path,
) -> None:
    hidden = ("RESPONSE-ONE-7f3a", "RESPONSE-TWO-91bc", "CRITERION-5d2e", "CONSTRAINT-c0de", "GOLD-RULE-44aa")
    base = pair_record("p0", "INSTRUCTION-1234 in plain words", (hidden[0], hidden[1]), "A")
    agents = ("AGENT-NAME-88ee", "AGENT-NAME-99ff")
    episodes = tuple(
        episode.model_copy(
            update={"trajectory": episode.trajectory.model_copy(update={"agent": agent, "base_model": f"base {agent}"})}
        )
        for episode, agent in zip(base.episodes, agents, strict=True)
    )
    task = Task(
        task_id=TASK[0],
        prompt="INSTRUCTION-1234 in plain words",
        success_criteria=hidden[2],
        hard_constraints=hidden[3],
        category="CATEGORY-ab12",
    )
    record = Record(
        line=1, task=task, episodes=episodes, pair=base.pair, rubric=(Rule(text=f"{hidden[4]} holds.", hard=True),)
    )
    async with at_loopback(tmp_path, records=[record]) as (server, asked, (cell, _)):
        server.enqueue(completion(rules_text(WRITTEN[0])))
        await asked.ask(cell)
        (request,) = server.requests
    sent = request.raw.decode() + json.dumps(request.headers) + request.path
    assert "INSTRUCTION-1234 in plain words" in sent
    assert [mark for mark in (*hidden, *agents, "CATEGORY-ab12", TASK[0]) if mark in sent] == []


async def test_each_rule_is_asked_about_by_itself_and_one_of_equal_wording_is_not(tmp_path: Path) -> None:
    async with at_loopback(tmp_path) as (server, asked, (draft, match)):
        server.enqueue(completion(rules_text(*WRITTEN)))
        for rule in (1, 3, 4):
            server.enqueue(completion(match_text(MATCHED[rule])))
        await asked.ask(draft)
        judged = await asked.ask(match)
        _, *logs = rows(asked.deps.store, LOGS)
        found = rows(asked.deps.store, "SELECT rule, reason, log_id FROM rubric_matches ORDER BY rule")
        bodies = [request.raw.decode() for request in server.requests[1:]]
        assert matching_of(asked) == ("scored", None)
        assert matches_of(asked) == [
            (1, 1, "scored", None, "judge"),
            (2, 2, "scored", None, "equal"),
            (3, None, "scored", None, "judge"),
            (4, 3, "scored", None, "judge"),
        ]
    assert (judged.readable, judged.lost, asked.answered) == (True, None, 4)
    assert [(log["role"], log["turn"], log["judge_id"]) for log in logs] == [
        ("rubric_match", turn, match.actor_id) for turn in (1, 2, 3)
    ]
    assert [json.loads(log["parsed_json"]) for log in logs] == [
        {"matches": [{"rule": rule, "match": MATCHED[rule]}]} for rule in (1, 3, 4)
    ]
    assert [row["log_id"] for row in found] == [logs[0]["log_id"], None, logs[1]["log_id"], logs[2]["log_id"]]
    assert [row["reason"] for row in found] == ["As it reads.", "", "As it reads.", "As it reads."]
    assert all(GOLD[1] in body for body in bodies), "the numbered gold list"
    assert [WRITTEN[2] in body for body in bodies] == [False, True, False]


async def test_a_batch_asks_about_all_rules_of_other_wording_at_once(tmp_path: Path) -> None:
    async with at_loopback(tmp_path, "rubric_match_batch") as (server, asked, (draft, match)):
        server.enqueue(completion(rules_text(*WRITTEN)))
        said = [{"rule": 1, "reason": "", "match": 1}, {"rule": 2, "reason": "", "match": None}]
        server.enqueue(completion(json.dumps({"matches": [*said, {"rule": 3, "reason": "", "match": 9}]})))
        await asked.ask(draft)
        judged = await asked.ask(match)
        log = rows(asked.deps.store, LOGS)[-1]
        assert matches_of(asked) == [
            (1, 1, "scored", None, "judge"),
            (2, 2, "scored", None, "equal"),
            (3, None, "scored", None, "judge"),
            (4, None, "unscored", "parse_error", "judge"),
        ]
    assert judged.readable is True, "only one of three answers cannot be read"
    assert len(server.requests) == 2
    assert json.loads(log["parsed_json"]) == {"matches": [{"rule": 1, "match": 1}, {"rule": 3, "match": None}]}


@pytest.mark.parametrize(
    ("reply", "reason", "readable"),
    [
        (completion("I would write a few rules about it."), "parse_error", False),
        (completion('{"rules": [{"rule": "It ru', finish_reason="length"), "truncated", True),
        (completion(None, finish_reason="content_filter"), "refused", None),
    ],
)
async def test_a_draft_that_cannot_be_read_is_a_result_and_its_matching_asks_nothing(
    tmp_path: Path, reply: dict[str, Any], reason: str, readable: bool | None
) -> None:
    async with at_loopback(tmp_path) as (server, asked, (draft, match)):
        server.always(reply)
        judged = await asked.ask(draft)
        number = len(server.requests)
        kept = draft_of(asked)
        assert (kept["status"], kept["unscored_reason"], kept["rubric_id"], kept["written"]) == (
            *("unscored", reason),
            *(None, 0),
        )
        assert (judged.readable, judged.lost) == (readable, None)
        log = rows(asked.deps.store, LOGS)[-1]
        assert (log["log_id"], log["unscored_reason"]) == (kept["log_id"], reason)
        matched = await asked.ask(match)
        assert (matching_of(asked), matches_of(asked)) == (("unscored", "no_rubric"), [])
        assert (matched.readable, matched.lost, len(server.requests)) == (None, None, number)


async def test_a_draft_without_rules_is_matched_without_a_call(tmp_path: Path) -> None:
    async with at_loopback(tmp_path) as (server, asked, (draft, match)):
        server.enqueue(completion('{"rules": []}'))
        await asked.ask(draft)
        kept = draft_of(asked)
        assert (kept["status"], kept["rubric_id"]) == ("scored", None)
        assert (await asked.ask(match)).readable is None
        assert (matching_of(asked), matches_of(asked), len(server.requests)) == (("scored", None), [], 1)


async def test_rules_that_all_say_gold_ones_are_matched_without_a_call(tmp_path: Path) -> None:
    async with at_loopback(tmp_path) as (server, asked, (draft, match)):
        server.enqueue(completion(rules_text(*(text.upper() for text in reversed(GOLD)))))
        await asked.ask(draft)
        await asked.ask(match)
        assert [row[:2] for row in matches_of(asked)] == [(1, 3), (2, 2), (3, 1)]
        assert len(server.requests) == 1


async def test_more_than_half_unreadable_answers_make_a_matching_unreadable(tmp_path: Path) -> None:
    async with at_loopback(tmp_path) as (server, asked, (draft, match)):
        server.enqueue(completion(rules_text(*WRITTEN)))
        server.enqueue(completion("They differ."))
        server.enqueue(completion(match_text(None)))
        server.enqueue(completion('{"match": "the second"}'))
        await asked.ask(draft)
        judged = await asked.ask(match)
        assert (judged.readable, judged.lost, matching_of(asked)) == (False, None, ("scored", None))
        assert [row[3] for row in matches_of(asked)] == ["parse_error", None, None, "parse_error"]
        assert [log["unscored_reason"] for log in rows(asked.deps.store, LOGS)][1:] == [
            *("parse_error", None),
            "parse_error",
        ]


async def test_a_lost_call_keeps_the_cell_open_and_what_was_paid_for_is_taken_again(tmp_path: Path) -> None:
    async with at_loopback(tmp_path) as (server, asked, (draft, match)):
        server.enqueue(completion(rules_text(*WRITTEN)))
        server.enqueue(completion(match_text(1)))
        server.enqueue(completion('{"match":', finish_reason="length"), times=2)
        server.enqueue(status=503)
        await asked.ask(draft)
        lost = await asked.ask(match)
        assert lost.lost is not None and lost.lost.retryable and lost.result.more == ()
        assert rows(asked.deps.store, "SELECT * FROM rubric_matchings") == []
        number = len(server.requests)
        server.enqueue(completion(match_text(3)))
        again = await asked.ask(match)
        assert (again.lost, len(server.requests)) == (None, number + 1), "only the lost one is asked again"
        assert [row[1:4] for row in matches_of(asked)] == [
            *((1, "scored", None), (2, "scored", None)),
            *((None, "unscored", "truncated"), (3, "scored", None)),
        ]
        logged = {log["log_id"] for log in rows(asked.deps.store, LOGS)}
        taken = rows(asked.deps.store, "SELECT log_id FROM rubric_matches WHERE method = 'judge'")
        assert len(taken) == 3 and {row["log_id"] for row in taken} <= logged


async def test_a_call_that_is_refused_for_its_content_leaves_its_rule_unscored(tmp_path: Path) -> None:
    async with at_loopback(tmp_path) as (server, asked, (draft, match)):
        server.enqueue(completion(rules_text(*WRITTEN)))
        server.enqueue(completion(match_text(1)))
        server.enqueue(completion(None, finish_reason="content_filter"))
        server.enqueue(completion(match_text(3)))
        await asked.ask(draft)
        judged = await asked.ask(match)
        assert (judged.lost, judged.readable, matching_of(asked)) == (None, True, ("scored", None))
        assert [row[3] for row in matches_of(asked)] == [None, None, "refused", None]
        assert all(row["log_id"] for row in rows(asked.deps.store, "SELECT log_id FROM rubric_matches WHERE rule > 2"))


async def test_a_request_that_is_refused_is_asked_again_whatever_the_model_took_before(tmp_path: Path) -> None:
    async with at_loopback(tmp_path, records=list(rubric_records(2))) as (server, asked, (first, match)):
        (second, _) = cells_of(work_of(asked.deps), tasks_of(2)[1:])
        server.enqueue(completion(rules_text(*WRITTEN)))
        assert (await asked.ask(second)).lost is None
        server.enqueue(NO, status=400)
        assert isinstance((await asked.ask(first)).lost, RequestRefused)
        assert [row["draft_id"] for row in rows(asked.deps.store, DRAFTS)] == [second.cell_id]
        server.enqueue(completion(rules_text(*WRITTEN)))
        assert (await asked.ask(first)).lost is None
        server.enqueue(completion(match_text(1)))
        server.enqueue(NO, status=400)
        assert isinstance((await asked.ask(match)).lost, RequestRefused)
        assert rows(asked.deps.store, "SELECT * FROM rubric_matchings") == []
        server.enqueue(completion(match_text(None)))
        server.enqueue(completion(match_text(3)))
        before = len(server.requests)
        assert (await asked.ask(match)).lost is None
        assert len(server.requests) == before + 2, "the answer to the first rule was kept"


@pytest.mark.parametrize("protocol", ["rubric_match", "rubric_match_batch"])
async def test_what_a_context_cannot_take_is_never_sent(tmp_path: Path, protocol: Protocol) -> None:
    async with at_loopback(tmp_path, protocol, context_tokens=1_030) as (server, asked, (draft, match)):
        judged = await asked.ask(draft)
        assert (judged.lost, judged.readable, server.requests) == (None, None, [])
        assert draft_of(asked)["unscored_reason"] == "context_overflow"
        assert asked.roles == []
    async with at_loopback(tmp_path / "other", protocol) as (server, asked, (draft, _)):
        server.enqueue(completion(rules_text(*WRITTEN)))
        await asked.ask(draft)
        work = RubricWork(matchers=(spec_of(asked.deps, protocol, context_tokens=1_100),))
        async with session_of(asked.deps, work) as narrow:
            (other,) = ids_of(work.matchers)
            cell = match._replace(actor_id=other, cell_id=f"{match.cell_id}x", draft_id=draft.cell_id)
            judged = await narrow.ask(cell)
        assert (judged.lost, judged.readable, len(server.requests)) == (None, None, 1)
        assert [row[3] for row in matches_of(narrow)] == [
            *("context_overflow", None),
            *("context_overflow", "context_overflow"),
        ]


@pytest.mark.parametrize("context", [1_500, 50_000])
async def test_a_context_that_takes_the_call_by_its_tokens_or_by_its_bytes_is_asked(
    tmp_path: Path, context: int
) -> None:
    async with at_loopback(tmp_path, context_tokens=context) as (server, asked, (draft, _)):
        server.enqueue(completion(rules_text(WRITTEN[0])))
        await asked.ask(draft)
        assert draft_of(asked)["unscored_reason"] is None
        assert len(server.requests[0].raw) > 1_500 - 1_024, "more bytes than the tokens that are left"


async def test_a_simulated_writer_is_told_the_gold_rules_before_it_is_asked(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as deps:
        stored(deps.store, list(rubric_records(3)))
        planted = spec_of(deps, "rubric_generate", "simulated").model_copy(
            update={"planted": SimulatedBias(hits=1.0, invents=0.0)}
        )
        matcher = planted.model_copy(update={"form": "rubric_match"})
        work = RubricWork(writers=(planted,), matchers=(matcher,))
        async with session_of(deps, work) as asked:
            for cell in cells_of(work, tasks_of(3)):
                judged = await asked.ask(cell)
                assert judged.lost is None
        hit = rows(deps.store, "SELECT matching_id, COUNT(DISTINCT gold_rule) AS n FROM rubric_matches GROUP BY 1")
        logs = rows(deps.store, "SELECT DISTINCT simulated FROM judge_logs")
    assert [row["n"] for row in hit] == [3, 3, 3]
    assert logs == [{"simulated": 1}]


async def test_a_gateway_that_cannot_be_told_keeps_the_cell_open(tmp_path: Path) -> None:
    async with LoopbackServer() as server:
        settings = with_judge(keyed(server.base_url, "simulated", max_attempts=1))
        async with opened(tmp_path / "s.db", settings, concurrency=1, clock=VirtualClock()) as deps:
            stored(deps.store, list(rubric_records(1)))
            work = work_of(deps)
            async with session_of(deps, work) as asked:
                server.always("gone", status=503)
                judged = await asked.ask(cells_of(work, TASK)[0])
                assert judged.lost is not None and rows(deps.store, DRAFTS) == []
                assert {request.path for request in server.requests} == {"/truth"}


async def test_the_most_that_a_cell_can_use_is_that_of_all_its_calls(tmp_path: Path) -> None:
    async with LoopbackServer() as server:
        settings = with_judge(keyed(server.base_url), price=Price(input=1_000_000, output=1_000_000))
        async with opened(tmp_path / "s.db", settings) as deps:
            stored(deps.store, list(rubric_records(1)))
            each, batch = work_of(deps), work_of(deps, "rubric_match_batch")
            server.enqueue(completion(rules_text(*WRITTEN)))
            async with session_of(
                deps, RubricWork(writers=each.writers, matchers=(*each.matchers, *batch.matchers))
            ) as (asked):
                draft, one_by_one = cells_of(each, TASK)
                _, at_once = cells_of(batch, TASK)
                writing = asked.session.estimate(draft)
                await asked.ask(draft)
                three, one = asked.session.estimate(one_by_one), asked.session.estimate(at_once)
    assert writing.usd == writing.tokens, "a USD a token"
    assert three.usd == three.tokens and one.usd == one.tokens
    assert writing.tokens > 3 * 1024 and three.tokens > 2 * one.tokens > 6 * 1024


async def test_a_changed_plan_is_said_and_not_guessed(tmp_path: Path) -> None:
    async with at_loopback(tmp_path) as (_, asked, (draft, match)):
        for changed in (
            draft._replace(actor_id="jdg_other"),
            draft._replace(kind="pairwise"),
            draft._replace(task_id=None),
        ):
            with pytest.raises(InvalidInput, match="Begin it anew"):
                await asked.ask(changed)
        with pytest.raises(NotFound, match="holds no task 'gone'"):
            await asked.ask(draft._replace(task_id="gone"))
        stored(asked.deps.store, [pair_record("bare", "Do it.", ("yes", "no"))])
        with pytest.raises(InvalidInput, match="no gold rules"):
            await asked.ask(match._replace(task_id="task of bare"))


async def test_what_a_session_tells_of_itself(tmp_path: Path) -> None:
    async with at_loopback(tmp_path) as (_, asked, (draft, match)):
        session = asked.session
        assert session.labels == {draft.actor_id: "judge-m", match.actor_id: "judge-m"}
        assert session.concurrency == 1 and [pricing.model for pricing in session.pricings] == ["judge-m"] * 2
        audit = judging_records.AuditRow("aud_x", "x", 0, "secret")
        empty = RubricSession(asked.deps.store, audit, RUN, RubricWork(), {})
        assert (empty.concurrency, empty.pricings, empty.labels) == (1, [], {})
