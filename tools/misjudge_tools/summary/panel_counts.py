"""What a summary counts of a panel of judges and of a cascade, read from the store at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import panel_records, run_records
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.summary_values import Ballot, JudgeFacts, Outcomes, PanelSize, PanelStatus
from misjudge_tools.judging.choice import judge_of
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.runs.cascade import terms_of
from misjudge_tools.runs.cascade_report import escalated_pairs
from misjudge_tools.runs.spec import read_spec
from misjudge_tools.stats.panels import RULES, majority
from misjudge_tools.stats.rates import NoData

MOST_LABELS = 30
"""Labels that a message lists."""
CASCADE = '"cascade":{'
"""Of a stored run that has one: inside a string of its JSON the quotes would be escaped."""


class CascadeCounts(NamedTuple):
    """The latest cascade by labels: the pairs that its first judge judged, the `escalated` ones for its panel.

    `alone` is what the first judge says of the same pairs.
    """

    judge: str
    panel: tuple[str, ...]
    simulated: tuple[str, ...]
    size: PanelSize
    escalated: int
    outcome: Outcomes
    alone: Outcomes


class PanelCounts(NamedTuple):
    """A panel by its judges' labels: the pairs that all judged, by rule, by each judge alone, and those `pooled`.

    `fewer` are the judges that nobody chose and that judged fewer pairs than these. Where that leaves a single judge,
    nothing is counted by rule and alone.
    """

    judges: tuple[str, ...]
    fewer: tuple[str, ...]
    simulated: tuple[str, ...]
    size: PanelSize
    rules: Mapping[str, Outcomes] = {}
    alone: Mapping[str, Outcomes] = {}
    pooled: Outcomes | None = None
    without_scores: tuple[str, ...] = ()
    cascade: CascadeCounts | NoData | None = None


class Chosen(NamedTuple):
    """The judges of a panel by label, and those (`fewer`) that are not of it because they judged fewer pairs."""

    judges: Sequence[JudgeFacts]
    fewer: Sequence[JudgeFacts] = ()


def panel_judges(
    judges: Sequence[JudgeFacts], labels: Sequence[str] | None, audit: str, pairs: Mapping[str, int]
) -> Chosen | None:
    """The judges of pairs with these labels, by default those that judged most; None where there is only one judge.

    One that applies rules, or must name one of two, is of a panel only by its label. `pairs` is the number that each
    judge has verdicts on, by its id. A cascade's panel, which sees the difficult pairs only, would else make those the
    pairs that count. Raises NotFound for a label that no judge of pairs has, InvalidInput for fewer than two of them.
    """
    known = {judge.label: judge for judge in sorted(judges, key=lambda judge: judge.label) if judge.form == "pairwise"}
    if labels is None:
        alike = [judge for judge in known.values() if not judge.apart]
        if len(alike) < 2:
            return None
        most = max(pairs.get(judge.judge_id, 0) for judge in alike)
        whole = [judge for judge in alike if pairs.get(judge.judge_id, 0) == most]
        return Chosen(whole, [judge for judge in alike if judge not in whole])
    for label in labels:
        if label not in known:
            raise NotFound(f"Audit {audit!r} has no judge {label!r} of pairs. {listed(list(known))}")
    chosen = [judge for label, judge in known.items() if label in labels]
    if len(chosen) < 2:
        raise InvalidInput(f"A panel is two judges or more. Name another one. {listed(list(known))}")
    return Chosen(chosen)


def listed(labels: Sequence[str]) -> str:
    """The labels of the judges of pairs in a sentence; of many, the first."""
    if not labels:
        return "It has none yet."
    more = f" and {len(labels) - MOST_LABELS} more" if len(labels) > MOST_LABELS else ""
    return f"Its judges of pairs are: {', '.join(labels[:MOST_LABELS])}{more}."


def read_panel(connection: Connection, audit_id: str, chosen: Chosen, everyone: Sequence[JudgeFacts]) -> PanelCounts:
    """The counts of a panel of these judges, of `everyone` in the audit, after `summary_records.reduce_audit`."""
    judges = chosen.judges
    ids = [judge.judge_id for judge in judges]
    panel_records.hold_panel(connection, audit_id, ids)
    named = PanelCounts(
        judges=tuple(judge.label for judge in judges),
        fewer=tuple(judge.label for judge in chosen.fewer),
        simulated=tuple(judge.label for judge in judges if judge.simulated),
        size=panel_records.panel_size(connection),
    )
    if len(judges) < 2:
        return named._replace(cascade=_read_cascade(connection, audit_id, everyone))
    ballots = panel_records.ballots(connection)
    alone = panel_records.judge_outcomes(connection, audit_id, ids)
    scoring = panel_records.judges_with_scores(connection, audit_id, ids)
    return named._replace(
        rules=panel_records.rule_outcomes(
            connection, {name: {ballot: rule(ballot) for ballot in ballots} for name, rule in RULES.items()}
        ),
        alone={judge.label: alone[judge.judge_id] for judge in judges if judge.judge_id in alone},
        pooled=panel_records.pooled_outcomes(connection, audit_id, ids),
        without_scores=tuple(judge.label for judge in judges if judge.judge_id not in scoring),
        cascade=_read_cascade(connection, audit_id, everyone),
    )


def _read_cascade(connection: Connection, audit_id: str, judges: Sequence[JudgeFacts]) -> CascadeCounts | NoData | None:
    """The counts of the audit's latest cascade, None where there is none or its first judge judged nothing yet."""
    run = next((run for run in run_records.list_runs(connection, audit_id) if CASCADE in run.request_json), None)
    if run is None:
        return None
    try:
        spec = read_spec(run.request_json, run.run_id)
        asked, terms = [judge_of(judge) for judge in spec.judges], terms_of(spec)
    except InvalidInput as error:
        return NoData(why=str(error))
    assert terms is not None
    labels = {judge_fingerprint(judge): judge.label for judge in asked if FORMS[judge.form].compares}
    made_up = {judge_fingerprint(judge) for judge in asked if judge.simulated}
    first, panel = terms.first_id, terms.panel_ids
    pairs = escalated_pairs(connection, run.run_id, terms)
    escalated = panel_records.hold_cascade(connection, audit_id, first, panel, pairs)
    ruled: dict[Ballot, PanelStatus] = {ballot: majority(ballot) for ballot in panel_records.ballots(connection)}
    if not ruled:
        return None
    labels |= {judge.judge_id: judge.label for judge in judges}
    return CascadeCounts(
        judge=labels[first],
        panel=tuple(sorted(labels[judge_id] for judge_id in panel)),
        simulated=tuple(sorted(labels[judge_id] for judge_id in (first, *panel) if judge_id in made_up)),
        size=panel_records.panel_size(connection),
        escalated=escalated,
        outcome=panel_records.rule_outcomes(connection, {"cascade": ruled})["cascade"],
        alone=panel_records.judge_outcomes(connection, audit_id, [first])[first],
    )
