"""The section `ranking`."""

from __future__ import annotations

from misjudge_storage.summary_values import JudgeFacts
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary import sections as make
from misjudge_tools.summary.judged import RANKING_FORMS, Judged
from misjudge_tools.summary.values import RankingSection


def ranking_section(of: Judged) -> RankingSection | NoData:
    """Whether the judge ranks agents as their rewards do."""
    return make.ranking_section(_ranked_by(of), of.counts.agent_scores, of.paired, of.counts.agent_wins)


def _ranked_by(of: Judged) -> JudgeFacts | None:
    """The judge whose mean scores rank the agents, None where it has scored none."""
    scoring = {row.judge_id for row in of.counts.agent_scores}
    candidates = [of.mine[form] for form in RANKING_FORMS if form in of.mine]
    return next((judge for judge in candidates if judge.judge_id in scoring), None)
