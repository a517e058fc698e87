"""The rules that ask other judges, too: a panel, and a cascade."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from misjudge_storage.policy_counts import cascade_of_two
from misjudge_storage.summary_values import JudgeFacts
from misjudge_tools.stats.policies import margin_step
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.deciding.policies_values import PolicyRow, Source
from misjudge_tools.summary.deciding.policy_costs import policy_row, together, work_of
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.panel_counts import CascadeCounts, PanelCounts

PANEL_RULES = {"panel_majority": "majority", "panel_unanimity": "unanimity"}
ONE_JUDGE = "There is no other judge of pairs: judge the pairs with another one, too (--panel MODEL)."
BESIDE = "Stands in the summary of one judge: choose it with judge=LABEL (--judge LABEL)."
NOT_ALL = "No pair was judged by this judge and all others of the panel."
NOT_RUN = (
    "No cascade with this judge first was run (cascade=true, --cascade), and only where just two judges judged the "
    "same pairs it can be worked out from what is stored."
)


def panel_rows(of: Judged, judge: JudgeFacts) -> Iterator[PolicyRow]:
    """A row for each rule; of a judge that stands beside others they are left to the summary of one."""
    if of.beside:
        yield from (PolicyRow(policy=name, why=BESIDE) for name in (*PANEL_RULES, "cascade"))
        return
    panel = of.counts.panel
    if panel is None:
        yield from (PolicyRow(policy=name, why=ONE_JUDGE) for name in (*PANEL_RULES, "cascade"))
        return
    for name, rule in PANEL_RULES.items():
        yield _of_panel(of.counts, panel, judge, name, rule)
    yield _cascade(of.counts, panel, judge)


def _of_panel(counts: AuditCounts, panel: PanelCounts, judge: JudgeFacts, name: str, rule: str) -> PolicyRow:
    if judge.label not in panel.judges or rule not in panel.rules:
        return PolicyRow(policy=name, why=NOT_ALL)
    work = together(work_of(counts, one.judge_id).per_pair for one in _named(counts, panel.judges))
    return policy_row(name, panel.rules[rule].wrong, panel.size.decidable, work)


def _cascade(counts: AuditCounts, panel: PanelCounts, judge: JudgeFacts) -> PolicyRow:
    run = panel.cascade
    if isinstance(run, CascadeCounts) and run.judge == judge.label:
        behind = _named(counts, run.panel)
        share = run.escalated / run.size.pairs
        work = together(
            [
                work_of(counts, judge.judge_id).per_pair,
                *(work_of(counts, one.judge_id).per_pair.times(share) for one in behind),
            ]
        )
        return _from(policy_row("cascade", run.outcome.wrong, run.size.decidable, work), "cascade run")
    others = [one for one in _named(counts, panel.judges) if one.judge_id != judge.judge_id]
    if judge.label not in panel.judges or len(others) != 1 or not panel.rules:
        return PolicyRow(policy="cascade", why=run.why if isinstance(run, NoData) else NOT_RUN)
    return _of_two(counts, judge, others[0])


def _of_two(counts: AuditCounts, first: JudgeFacts, second: JudgeFacts) -> PolicyRow:
    margin = margin_step(first.low, first.high)
    found = cascade_of_two(counts.reduced, first.judge_id, second.judge_id, margin)
    behind = work_of(counts, second.judge_id).per_pair.times(found.escalated / found.pairs)
    work = together([work_of(counts, first.judge_id).per_pair, behind])
    row = policy_row("cascade", found.wrong, found.decidable, work)
    return _from(row, "stored verdicts").model_copy(update={"margin": margin})


def _from(row: PolicyRow, source: Source) -> PolicyRow:
    return row.model_copy(update={"source": source})


def _named(counts: AuditCounts, labels: Sequence[str]) -> list[JudgeFacts]:
    return [judge for judge in counts.judges if judge.form == "pairwise" and judge.label in labels]
