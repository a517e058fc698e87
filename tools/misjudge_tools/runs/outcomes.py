"""What became of a compared pair and of the agents of an audit, as answers show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from misjudge_storage import episode_records, judging_records, queries, run_records, summary_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import NotFound
from misjudge_storage.queries import Fields
from misjudge_storage.types import AskedForm, Form
from misjudge_tools.results import PairOutcome, RunReport, SideOutcome, record_uri
from misjudge_tools.runs.report import shown_verdicts
from misjudge_tools.summary import sections
from misjudge_tools.summary.judged import SATISFACTION_FORMS
from misjudge_tools.summary.values import AgentOutcome

SHOWN_OF_CHECKS = ("verifier", "scope", "passed", "reward", "evidence")


def pair_outcome(
    connection: Connection, audit: str, audit_id: str, pair_id: str, judge_id: str, cell_ids: Sequence[str]
) -> PairOutcome | None:
    """The pair as this judge sees it; None while its trajectories are not both stored."""
    try:
        pair = queries.read_one(connection, audit_id, "pairs", pair_id)
    except NotFound:
        return None
    rows = queries.read_pair_rows(connection, audit_id, pair_id)
    row = next((row for row in rows if row["judge_fingerprint"] == judge_id), None)
    a, b = (_side(connection, audit, audit_id, pair[side]) for side in ("trajectory_a", "trajectory_b"))
    verdicts = judging_records.read_verdicts(connection, cell_ids)
    return PairOutcome(row=row, a=a, b=b, verdicts=shown_verdicts(verdicts))


def _side(connection: Connection, audit: str, audit_id: str, trajectory_id: str) -> SideOutcome:
    trajectory = queries.read_one(connection, audit_id, "trajectories", trajectory_id)
    checks = queries.read_checks(connection, trajectory_id)
    return SideOutcome(
        agent=trajectory["agent"],
        trajectory=record_uri(audit, "trajectories", trajectory_id),
        end_reason=trajectory["end_reason"],
        success=episode_records.success_of(connection, trajectory_id),
        trouble=trajectory["trouble"],
        flags=tuple(trajectory["flags_json"] or ()),
        input_tokens=trajectory["input_tokens"],
        output_tokens=trajectory["output_tokens"],
        checks=tuple(_check(check) for check in checks),
    )


def _check(check: Fields) -> Fields:
    shown = {name: check[name] for name in SHOWN_OF_CHECKS}
    return shown if check["source"] == "verifier" else {**shown, "source": check["source"]}


def agent_outcomes(
    connection: Connection, audit_id: str, agents: Sequence[str], judges: Mapping[AskedForm, str]
) -> tuple[AgentOutcome, ...]:
    """Episodes of these agents of the audit by success, the best first, and whether they satisfied the judge.

    `judges` are ids by form; the form whose threshold says whether one satisfied is the summary's.
    """
    episodes = [one for one in episode_records.agent_episodes(connection, audit_id) if one.agent in agents]
    forms: list[Form] = [form for form in SATISFACTION_FORMS if form in judges]
    if not forms:
        return sections.agent_outcomes(episodes)
    form = forms[0]
    satisfaction = summary_records.agent_satisfaction(connection, audit_id)
    return sections.agent_outcomes(episodes, [row for row in satisfaction if row.judge_id == judges[form]], form)


def outcome_of_run(store: Store, report: RunReport) -> PairOutcome | None:
    """The pair of a run of `run_pair` that has a single one."""
    if report.operation != "run_pair":
        return None
    with store.read() as connection:
        run = run_records.read_run(connection, report.run)
        cells = run_records.cells_of_single_pair(connection, report.run)
        if not cells:
            return None
        first = cells[0]
        assert first.pair_id is not None
        cell_ids = [cell.cell_id for cell in cells]
        return pair_outcome(connection, run.audit, run.audit_id, first.pair_id, first.actor_id, cell_ids)
