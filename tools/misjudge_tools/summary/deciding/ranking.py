"""The section `ranking`."""

from __future__ import annotations

from collections.abc import Sequence

from misjudge_storage.agent_gates import AgentGate
from misjudge_storage.summary_values import JudgeFacts
from misjudge_tools.stats.agent_pairs import AgentScore, GateNoise
from misjudge_tools.stats.ranking import ranking
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.ranking_values import RankingSection
from misjudge_tools.summary.judged import RANKING_FORMS, Judged


def ranking_section(of: Judged) -> RankingSection | NoData:
    """Whether the judge ranks agents as their rewards do: by mean score where there is one, else by pairs won."""
    scored = _ranked_by(of)
    if scored is None:
        found = ranking(_agents(of.counts.agent_wins if of.paired else (), of.paired), shares_of_wins=True)
        return found if isinstance(found, NoData) else RankingSection(**dict(found), gate="win share")
    found = ranking(_agents(of.counts.agent_scores, scored), "lower" if scored.better == "lower" else "higher")
    if isinstance(found, NoData):
        return found
    return RankingSection(**dict(found), gate="mean gate score" if scored.form == "gate" else "mean score")


def _ranked_by(of: Judged) -> JudgeFacts | None:
    """The judge whose mean scores rank the agents, None where it has scored none."""
    scoring = {row.judge_id for row in of.counts.agent_scores}
    candidates = [of.mine[form] for form in RANKING_FORMS if form in of.mine]
    return next((judge for judge in candidates if judge.judge_id in scoring), None)


def _agents(rows: Sequence[AgentGate], judge: JudgeFacts | None) -> list[AgentScore]:
    return [
        AgentScore(
            row.agent,
            row.reward,
            row.gate,
            row.order_rank,
            row.base_model,
            GateNoise(row.tasks, row.total, row.squares),
        )
        for row in rows
        if judge is not None and row.judge_id == judge.judge_id
    ]
