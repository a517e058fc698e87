"""Single stored things, whole: what `read_record` shows."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NoReturn

from sqlalchemy import Connection, Executable, RowMapping, func, select, text
from sqlmodel import SQLModel

from misjudge_storage import columns, run_records, tables
from misjudge_storage.errors import NotFound

Fields = dict[str, Any]
BY_KIND: dict[str, tuple[type[SQLModel], str]] = {
    "tasks": (tables.Task, "task_id"),
    "trajectories": (tables.Trajectory, "trajectory_id"),
    "pairs": (tables.Pair, "pair_id"),
    "verdicts": (tables.Verdict, "verdict_id"),
    "probes": (tables.ProbeVerdict, "probe_verdict_id"),
    "logs": (tables.JudgeLog, "log_id"),
    "imports": (tables.Import, "import_id"),
    "drafts": (tables.RubricDraft, "draft_id"),
    "matchings": (tables.RubricMatching, "matching_id"),
    "rulings": (tables.RubricRuling, "ruling_id"),
}
_COUNTED: tuple[type[SQLModel], ...] = (
    *(tables.Task, tables.Trajectory, tables.Pair, tables.Verdict, tables.ProbeVerdict),
    *(tables.GoldLabel, tables.JudgeLog),
)
_OF_RUBRICS: tuple[type[SQLModel], ...] = (
    tables.TaskRubric,
    tables.RubricDraft,
    tables.RubricMatching,
    tables.RubricRuling,
)


def read_audit_facts(connection: Connection, audit_id: str) -> Fields:
    """An audit: its judges, counts of its rows (of rubrics where there are any), imports and runs. Never its secret."""
    audits, judges, imports = (tables.table(model) for model in (tables.Audit, tables.Judge, tables.Import))
    row = (
        connection.execute(
            select(audits.c.name, audits.c.seed, audits.c.created_at).where(audits.c.audit_id == audit_id)
        )
        .mappings()
        .one()
    )
    counts = [(model, count_of(connection, model, audit_id)) for model in (*_COUNTED, *_OF_RUBRICS)]
    return {
        **fields(row),
        "counts": {str(model.__tablename__): number for model, number in counts if number or model in _COUNTED},
        "judges": _rows(connection, select(judges).where(judges.c.audit_id == audit_id)),
        "imports": _rows(
            connection, select(imports).where(imports.c.audit_id == audit_id).order_by(imports.c.created_at)
        ),
        "runs": [run.run_id for run in run_records.list_runs(connection, audit_id)[:20]],
    }


def read_one(connection: Connection, audit_id: str, kind: str, identity: str) -> Fields:
    """One row of a table by its id. Raises NotFound."""
    model, key = BY_KIND[kind]
    table = tables.table(model)
    query = select(table).where(table.c.audit_id == audit_id, table.c[key] == identity)
    row = connection.execute(query).mappings().first()
    if row is None:
        examples = connection.scalars(select(table.c[key]).where(table.c.audit_id == audit_id).limit(3)).all()
        known = f"Some that are: {', '.join(examples)}." if examples else f"This audit has no {kind}."
        raise NotFound(f"No {kind} record has the id {identity!r} in this audit. {known}")
    return fields(row)


def read_pair_rows(connection: Connection, audit_id: str, pair_id: str) -> list[Fields]:
    """The rows of `audit_pairs` for one pair: one a judge, `simulated` where that judge or an episode is."""
    query = text("SELECT * FROM audit_pairs WHERE audit_id = :audit AND pair_id = :pair ORDER BY judge")
    typed = query.columns(created_at=columns.UtcDateTime())
    found = connection.execute(typed, {"audit": audit_id, "pair": pair_id}).mappings()
    return [{**fields(row), "simulated": bool(row["simulated"])} for row in found]


def has_simulated_sides(connection: Connection, audit_id: str, pair_id: str) -> bool:
    """Whether an episode of this pair is made up."""
    pairs, trajectories = tables.table(tables.Pair), tables.table(tables.Trajectory)
    sides = trajectories.c.trajectory_id.in_((pairs.c.trajectory_a, pairs.c.trajectory_b))
    query = (
        select(trajectories.c.trajectory_id)
        .join_from(pairs, trajectories, sides)
        .where(pairs.c.audit_id == audit_id, pairs.c.pair_id == pair_id, trajectories.c.simulated)
    )
    return connection.scalar(query.limit(1)) is not None


def is_made_up(connection: Connection, trajectory_id: str) -> bool:
    """Whether this episode is made up."""
    trajectories = tables.table(tables.Trajectory)
    query = select(trajectories.c.simulated).where(trajectories.c.trajectory_id == trajectory_id)
    return bool(connection.scalar(query))


def is_made_up_under(connection: Connection, audit_id: str, verdict: Fields) -> bool:
    """Whether the pair or trajectory that a verdict is on is made up."""
    if verdict["pair_id"] is not None:
        return has_simulated_sides(connection, audit_id, verdict["pair_id"])
    return is_made_up(connection, verdict["trajectory_id"])


def is_simulated(connection: Connection, audit_id: str, judge_id: str | None) -> bool:
    """Whether this judge of the audit is a simulated one."""
    judges = tables.table(tables.Judge)
    query = select(judges.c.simulated).where(judges.c.audit_id == audit_id, judges.c.judge_id == judge_id)
    return bool(connection.scalar(query))


def read_verdict_ids(connection: Connection, audit_id: str, pair_id: str) -> list[str]:
    """Ids of the verdicts on one pair."""
    verdicts = tables.table(tables.Verdict)
    query = select(verdicts.c.verdict_id).where(verdicts.c.audit_id == audit_id, verdicts.c.pair_id == pair_id)
    return list(connection.scalars(query.order_by(verdicts.c.judge_id, verdicts.c.repeat, verdicts.c.order_shown)))


def read_checks(connection: Connection, trajectory_id: str) -> list[Fields]:
    """The checks of one trajectory."""
    checks = tables.table(tables.Check)
    return _rows(connection, select(checks).where(checks.c.trajectory_id == trajectory_id).order_by(checks.c.verifier))


def _rows(connection: Connection, query: Executable) -> list[Fields]:
    return [fields(row) for row in connection.execute(query).mappings()]


def fields(row: RowMapping) -> Fields:
    """A row as plain JSON values: times as text, stored JSON as what it says."""
    return {str(name): _plain(str(name), value) for name, value in row.items()}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, str) and (name.endswith("_json") or name == "params"):
        try:
            return json.loads(value, parse_constant=_refuse)
        except (ValueError, RecursionError):  # an imported log may hold any text there
            return value
    return value


def _refuse(constant: str) -> NoReturn:
    """NaN and infinity are not JSON."""
    raise ValueError(constant)


def count_of(connection: Connection, model: type[SQLModel], audit_id: str) -> int:
    """How many rows of a table are of this audit."""
    table = tables.table(model)
    return connection.scalar(select(func.count()).select_from(table).where(table.c.audit_id == audit_id)) or 0
