"""The rows of an audit as exports write them: streamed in a stable order, never all of them in memory.

Who stops before the last row closes the generator, so that its cursor is gone before the connection is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from itertools import groupby, islice
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, bindparam, text

from misjudge_storage.columns import UtcDateTime
from misjudge_storage.cutoffs import NEAR_BELOW, satisfied
from misjudge_storage.judging_records import messages_from
from misjudge_storage.rows import storable
from misjudge_storage.types import Message

Kind = Literal["text", "whole", "number", "flag", "time"]
Fields = dict[str, Any]
"""A row by column: text without NUL and lone surrogates, numbers, None; times are text in ISO 8601."""

Rows = Generator[Fields, None, None]

CHUNK = 200
"""Rows in memory at once."""
PAIR_COLUMNS: Mapping[str, Kind] = {
    **{"pair_id": "text", "audit_id": "text", "task_id": "text", "trial": "whole", "agent_a": "text"},
    **{"agent_b": "text", "success_a": "whole", "success_b": "whole", "success_source": "text", "gold_pref": "text"},
    **{"gold_source": "text", "reward_a": "number", "reward_b": "number", "reward_source": "text"},
    **{"judge_pref": "text", "judge_status": "text", "unscored_reason": "text", "judge_score_a": "number"},
    **{"judge_score_b": "number", "judge_flip": "whole", "blind_order": "text", "reward_gap": "number"},
    **{"gap_source": "text", "ability_bucket": "text", "selected_reward": "number", "lower_reward_selected": "whole"},
    **{"misselected": "whole", "user_sat_a": "number", "user_sat_b": "number", "input_tokens": "whole"},
    **{"output_tokens": "whole", "agent_cost": "number", "user_sim_cost": "number", "judge_cost": "number"},
    **{"total_cost": "number", "judge": "text", "judge_fingerprint": "text", "created_at": "time"},
    "simulated": "whole",
}
"""The columns of the view `audit_pairs`, in its order."""
LOG_COLUMNS: Mapping[str, Kind] = {
    **{"log_id": "text", "audit_id": "text", "run_id": "text", "cell_id": "text", "pair_id": "text"},
    **{"trajectory_id": "text", "judge_id": "text", "turn": "whole", "role": "text", "model": "text"},
    **{"params": "text", "prompt_hash": "text", "prompt_version": "text", "rendered_hash": "text"},
    **{"order_shown": "text", "repeat": "whole", "attempt": "whole", "raw_output": "text", "parsed_json": "text"},
    **{"unscored_reason": "text", "error": "text", "finish_reason": "text", "input_tokens": "whole"},
    **{"output_tokens": "whole", "latency_ms": "number", "est_cost": "number", "price_source": "text"},
    **{"request_id": "text", "simulated": "flag", "created_at": "time", "reply_key": "text", "cached_from": "text"},
    **{"retry_after_s": "number", "shown_json": "text"},
}
"""The columns of the table `judge_logs`, in its order."""
SESSION_COLUMNS: Mapping[str, Kind] = {
    **{"run_id": "text", "sim_user_model": "text", "judge_model": "text", "agent_model": "text"},
    **{"satisfaction": "number", "task_success": "whole", "prompt_tokens": "whole", "completion_tokens": "whole"},
    **{"total_tokens": "whole", "judge_flip": "whole", "task_id": "text", "trial": "whole", "category": "text"},
    **{"success_source": "text", "form": "text", "simulated": "whole"},
}
"""The guides' columns of gauge_runs, and behind them what tells sessions and judges apart."""
_CALL_COLUMNS: Mapping[str, Kind] = {"created_at": "time"}
_EPISODE_TIMES: Mapping[str, Kind] = {"occurred_at": "time"}


class MadeUp(NamedTuple):
    """How many judges an audit has, how many of them are simulated, and whether any of its episodes is."""

    judges: int
    simulated: int
    episodes: bool


class JudgeSaid(NamedTuple):
    """What one judge says of a pair, its orders reduced."""

    judge: str
    pref: str | None
    status: str
    score_a: float | None
    score_b: float | None
    misselected: bool | None
    simulated: bool


class ExportedPair(NamedTuple):
    """A pair with its evidence, both transcripts (None where none is stored) and what judges say of it.

    `row` holds the columns of `audit_pairs` that no judge is needed for. `near` is by its stated ability gap alone.
    """

    pair_id: str
    task_id: str
    prompt: str
    row: Fields
    near: bool | None
    a: tuple[Message, ...] | None
    b: tuple[Message, ...] | None
    judges: tuple[JudgeSaid, ...]


class ExportedEpisode(NamedTuple):
    """An episode that was transcribed, with what evidence says of it.

    `better` and `worse` count the pairs in which gold names its side as the better or the other one.
    """

    trajectory_id: str
    task_id: str
    prompt: str
    agent: str
    trial: int | None
    success: bool | None
    success_source: str | None
    reward: float | None
    better: int
    worse: int
    simulated: bool
    messages: tuple[Message, ...]


def pair_rows(connection: Connection, audit_id: str) -> Rows:
    """The rows of `audit_pairs`: one a pair and judge."""
    query = "SELECT * FROM audit_pairs WHERE audit_id = :audit ORDER BY pair_id, judge, judge_fingerprint"
    return _streamed(connection, query, PAIR_COLUMNS, {"audit": audit_id})


def log_rows(connection: Connection, audit_id: str) -> Rows:
    """The rows of `judge_logs` as they came."""
    query = f"SELECT {', '.join(LOG_COLUMNS)} FROM judge_logs WHERE audit_id = :audit ORDER BY created_at, log_id"
    return _streamed(connection, query, LOG_COLUMNS, {"audit": audit_id})


def session_rows(connection: Connection, audit_id: str, judge: str | None) -> Rows:
    """One row an episode and judge (only this one, by its label) that scored it; several scores are their mean."""
    query = """
        WITH scored AS (
            SELECT v.trajectory_id, v.judge_id, AVG(v.score) AS score,
                MAX(CASE WHEN v.flip THEN 1 WHEN NOT v.flip THEN 0 END) AS flip
            FROM verdicts v WHERE v.audit_id = :audit AND v.trajectory_id IS NOT NULL
            GROUP BY v.trajectory_id, v.judge_id
        )
        SELECT s.trajectory_id AS run_id,
            (
                SELECT MIN(l.model) FROM judge_logs l
                WHERE l.trajectory_id = t.trajectory_id AND l.role = 'user_sim' AND l.model <> ''
            ) AS sim_user_model,
            j.label AS judge_model, t.agent AS agent_model, s.score AS satisfaction, o.success AS task_success,
            t.input_tokens AS prompt_tokens, t.output_tokens AS completion_tokens,
            t.input_tokens + t.output_tokens AS total_tokens, s.flip AS judge_flip,
            t.task_id, t.trial, k.category, o.success_source, j.form,
            CASE WHEN t.simulated OR j.simulated THEN 1 ELSE 0 END AS simulated
        FROM scored s
        JOIN trajectories t ON t.trajectory_id = s.trajectory_id
        JOIN tasks k ON k.audit_id = t.audit_id AND k.task_id = t.task_id
        JOIN trajectory_outcomes o ON o.trajectory_id = t.trajectory_id AND o.audit_id = t.audit_id
        JOIN judges j ON j.audit_id = t.audit_id AND j.judge_id = s.judge_id
        WHERE CAST(:judge AS VARCHAR) IS NULL OR j.label = :judge
        ORDER BY t.task_id, t.agent, t.trial, s.trajectory_id, j.label, j.form
    """
    return _streamed(connection, query, SESSION_COLUMNS, {"audit": audit_id, "judge": judge})


def made_up(connection: Connection, audit_id: str) -> MadeUp:
    """How much of the audit is simulated."""
    query = """
        SELECT COUNT(*), COALESCE(SUM(CASE WHEN simulated THEN 1 ELSE 0 END), 0),
            EXISTS (SELECT 1 FROM trajectories WHERE audit_id = :audit AND simulated)
        FROM judges WHERE audit_id = :audit
    """
    judges, simulated, episodes = connection.execute(text(query), {"audit": audit_id}).one()
    return MadeUp(judges, simulated, bool(episodes))


def judge_labels(connection: Connection, audit_id: str) -> Sequence[str]:
    """The labels of those who judge pairs or episodes."""
    crafts = "('rubric_generate', 'rubric_match', 'rubric_match_batch')"
    query = f"SELECT DISTINCT label FROM judges WHERE audit_id = :audit AND form NOT IN {crafts} ORDER BY 1"
    return connection.scalars(text(query), {"audit": audit_id}).all()


def task_rows(connection: Connection, audit_id: str) -> Rows:
    """The tasks of the audit."""
    columns = "task_id, prompt, success_criteria, hard_constraints, category, language, subset"
    query = f"SELECT {columns} FROM tasks WHERE audit_id = :audit ORDER BY task_id"
    return _streamed(connection, query, {}, {"audit": audit_id})


def agents(connection: Connection, audit_id: str) -> Sequence[str]:
    """The names of the agents whose episodes were transcribed."""
    query = "SELECT DISTINCT agent FROM trajectories WHERE audit_id = :audit AND messages_json IS NOT NULL ORDER BY 1"
    return connection.scalars(text(query), {"audit": audit_id}).all()


def episode_rows(connection: Connection, audit_id: str, agent: str) -> Rows:
    """The transcribed episodes of one agent with what is known of them; `messages_json` is JSON text."""
    query = """
        SELECT t.task_id, t.agent, t.trial, k.prompt, k.success_criteria, k.hard_constraints, k.category, k.language,
            k.subset, o.success, o.success_source, o.reward, o.reward_source, t.end_reason, t.base_model,
            t.input_tokens, t.output_tokens, t.occurred_at, CASE WHEN t.simulated THEN 1 ELSE 0 END AS simulated,
            t.messages_json
        FROM trajectories t
        JOIN tasks k ON k.audit_id = t.audit_id AND k.task_id = t.task_id
        JOIN trajectory_outcomes o ON o.trajectory_id = t.trajectory_id
        WHERE t.audit_id = :audit AND t.agent = :agent AND t.messages_json IS NOT NULL
        ORDER BY t.task_id, t.trial, t.trajectory_id
    """
    return _streamed(connection, query, _EPISODE_TIMES, {"audit": audit_id, "agent": agent})


def call_rows(connection: Connection, audit_id: str) -> Rows:
    """The rows of `pairwise`, one a judged order, with what it leaves out: trial, sources and why one is unscored."""
    query = """
        SELECT c.*, p.trial, g.reward_source, g.success_source, v.unscored_reason, v.winner
        FROM verdicts v
        JOIN judges j ON j.audit_id = v.audit_id AND j.judge_id = v.judge_id
        JOIN pairs p ON p.audit_id = v.audit_id AND p.pair_id = v.pair_id
        JOIN pair_gold g ON g.audit_id = v.audit_id AND g.pair_id = v.pair_id
        JOIN pairwise c ON c.audit_id = v.audit_id AND c.pair_id = v.pair_id AND c.judge = j.label
            AND c.repeat = v.repeat AND COALESCE(c.blind_order, '') =
                CASE v.order_shown WHEN 'AB' THEN 'A=left' WHEN 'BA' THEN 'A=right' ELSE '' END
        WHERE v.audit_id = :audit AND NOT v.reduced AND j.form = 'pairwise'
        ORDER BY v.pair_id, j.label, v.repeat, c.blind_order
    """
    return _streamed(connection, query, _CALL_COLUMNS, {"audit": audit_id})


def exported_pairs(connection: Connection, audit_id: str) -> Generator[ExportedPair, None, None]:
    """All pairs of the audit, by id."""
    query = "SELECT pair_id AS id FROM pairs WHERE audit_id = :audit ORDER BY pair_id"
    with closing(_streamed(connection, query, {}, {"audit": audit_id})) as ids:
        while some := [row["id"] for row in islice(ids, CHUNK)]:
            yield from _pairs(connection, audit_id, some)


def exported_episodes(connection: Connection, audit_id: str) -> Generator[ExportedEpisode, None, None]:
    """All episodes that were transcribed, by id."""
    query = """
        SELECT trajectory_id AS id FROM trajectories
        WHERE audit_id = :audit AND messages_json IS NOT NULL ORDER BY trajectory_id
    """
    with closing(_streamed(connection, query, {}, {"audit": audit_id})) as ids:
        while some := [row["id"] for row in islice(ids, CHUNK)]:
            yield from _episodes(connection, some)


def satisfied_failure_rows(connection: Connection, audit_id: str, forms: Sequence[str]) -> Rows:
    """Episodes that failed and satisfied a judge by the threshold of its scale, with its mean score: of each label by
    the first of these `forms` that it has.
    """
    ranked = " ".join(f"WHEN '{form}' THEN {place}" for place, form in enumerate(forms))
    rank = f"CASE {{judge}}.form {ranked} ELSE {len(forms)} END"
    query = f"""
        WITH scores AS (
            SELECT trajectory_id, judge_id, AVG(score) AS score FROM verdicts
            WHERE audit_id = :audit AND trajectory_id IS NOT NULL AND score IS NOT NULL
            GROUP BY trajectory_id, judge_id
        )
        SELECT s.trajectory_id, o.task_id, o.agent, o.success_source, s.score, j.label AS judge, j.form, j.threshold
        FROM scores s
        JOIN judges j ON j.audit_id = :audit AND j.judge_id = s.judge_id
        JOIN trajectory_outcomes o ON o.trajectory_id = s.trajectory_id AND o.audit_id = :audit
        WHERE o.success = 0 AND {satisfied("s.score")}
            AND {rank.format(judge="j")} < {len(forms)} AND NOT EXISTS (
                SELECT 1 FROM judges b WHERE b.audit_id = :audit AND b.label = j.label
                    AND {rank.format(judge="b")} < {rank.format(judge="j")}
            )
        ORDER BY j.label, j.form, s.trajectory_id
    """
    return _streamed(connection, query, {}, {"audit": audit_id})


def read_calls(connection: Connection, audit_id: str, pair_id: str, judge_id: str) -> Sequence[str]:
    """Whom each verdict of this judge on this pair picked that could be read: A, B, tie or inconsistent."""
    query = """
        SELECT COALESCE(winner, status) FROM verdicts
        WHERE audit_id = :audit AND pair_id = :pair AND judge_id = :judge AND status <> 'unscored'
    """
    return connection.scalars(text(query), {"audit": audit_id, "pair": pair_id, "judge": judge_id}).all()


def _pairs(connection: Connection, audit_id: str, pair_ids: Sequence[str]) -> Generator[ExportedPair, None, None]:
    known = text("SELECT * FROM audit_pairs WHERE audit_id = :audit AND pair_id IN :ids ORDER BY pair_id, judge")
    given = {"audit": audit_id, "ids": list(pair_ids)}
    rows = connection.execute(known.bindparams(bindparam("ids", expanding=True)), given).mappings()
    by_pair = {pair_id: [dict(row) for row in some] for pair_id, some in groupby(rows, key=lambda row: row["pair_id"])}
    told = """
        SELECT p.pair_id, p.task_id, k.prompt, a.messages_json AS json_a, b.messages_json AS json_b,
            CASE WHEN a.simulated OR b.simulated THEN 1 ELSE 0 END AS made_up
        FROM pairs p
        JOIN tasks k ON k.audit_id = p.audit_id AND k.task_id = p.task_id
        JOIN trajectories a ON a.trajectory_id = p.trajectory_a
        JOIN trajectories b ON b.trajectory_id = p.trajectory_b
        WHERE p.audit_id = :audit AND p.pair_id IN :ids ORDER BY p.pair_id
    """
    for one in _streamed(connection, told, {}, given):
        found = by_pair[one["pair_id"]]
        yield ExportedPair(
            pair_id=one["pair_id"],
            task_id=one["task_id"],
            prompt=one["prompt"],
            row={**found[0], "simulated": one["made_up"]},
            near=_is_near(found[0]),
            a=_messages(one["json_a"]),
            b=_messages(one["json_b"]),
            judges=tuple(_said(row) for row in found if row["judge"] is not None),
        )


def _is_near(row: Fields) -> bool | None:
    """As a summary sorts pairs: declared, or by a stated gap of ability; None where neither is known."""
    if row["ability_bucket"] is not None:
        return bool(row["ability_bucket"] == "near")
    return bool(row["reward_gap"] < NEAR_BELOW) if row["gap_source"] == "ability" else None


def _said(row: Fields) -> JudgeSaid:
    return JudgeSaid(
        judge=row["judge"],
        pref=row["judge_pref"],
        status=row["judge_status"],
        score_a=row["judge_score_a"],
        score_b=row["judge_score_b"],
        misselected=None if row["misselected"] is None else bool(row["misselected"]),
        simulated=bool(row["simulated"]),
    )


def _episodes(connection: Connection, ids: Sequence[str]) -> Iterator[ExportedEpisode]:
    query = """
        SELECT t.trajectory_id, t.task_id, k.prompt, t.agent, t.trial, o.success, o.success_source,
            o.reward, t.messages_json, CASE WHEN t.simulated THEN 1 ELSE 0 END AS simulated
        FROM trajectories t
        JOIN tasks k ON k.audit_id = t.audit_id AND k.task_id = t.task_id
        JOIN trajectory_outcomes o ON o.trajectory_id = t.trajectory_id
        WHERE t.trajectory_id IN :ids ORDER BY t.trajectory_id
    """
    # Without the audit, which their ids imply: SQLite would go through all of it for each chunk.
    given = {"ids": list(ids)}
    better = _named(connection, given, {"a": "A", "b": "B"})
    worse = _named(connection, given, {"a": "B", "b": "A"})
    for row in _streamed(connection, query, {}, given):
        identity, messages, success = row["trajectory_id"], _messages(row.pop("messages_json")), row.pop("success")
        yield ExportedEpisode(
            **{**row, "simulated": bool(row["simulated"])},
            success=None if success is None else bool(success),
            better=better[identity],
            worse=worse[identity],
            messages=messages or (),
        )


def _named(connection: Connection, given: Mapping[str, Any], gold: Mapping[str, str]) -> Counter[str]:
    """In how many pairs an episode is this side, and gold is this one."""
    found = Counter[str]()
    for side, pref in gold.items():
        # CROSS JOIN keeps SQLite from working out the gold of every pair.
        query = text(f"""
            SELECT p.trajectory_{side}, COUNT(*) FROM pairs p CROSS JOIN pair_gold g
            WHERE p.trajectory_{side} IN :ids AND g.audit_id = p.audit_id AND g.pair_id = p.pair_id
                AND g.gold_pref = :pref
            GROUP BY p.trajectory_{side}
        """).bindparams(bindparam("ids", expanding=True))
        found.update({identity: number for identity, number in connection.execute(query, {**given, "pref": pref})})
    return found


def _messages(stored: str | None) -> tuple[Message, ...] | None:
    return None if stored is None else messages_from(stored)


def _streamed(connection: Connection, query: str, kinds: Mapping[str, Kind], given: Mapping[str, Any]) -> Rows:
    """The rows as they come: of Postgres by a cursor on its side, of SQLite one by one."""
    statement = text(query)
    if "ids" in given:
        statement = statement.bindparams(bindparam("ids", expanding=True))
    times = {name: UtcDateTime() for name, kind in kinds.items() if kind == "time"}
    typed = statement.columns(**times) if times else statement
    with connection.execute(
        typed.execution_options(stream_results=True, max_row_buffer=CHUNK), dict(given)
    ).mappings() as rows:
        for row in rows:
            yield {str(name): _plain(value, kinds.get(str(name))) for name, value in row.items()}


def _plain(value: Any, kind: Kind | None) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return storable(value)
    return bool(value) if kind == "flag" else value
