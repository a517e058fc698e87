"""The summary of judges that score trajectories: satisfaction, gate, proxy and rubric beside each other."""

from __future__ import annotations

import random
from statistics import mean
from typing import Any, get_args

import pytest
from scipy.stats import spearmanr

from builders import episode, lone, pair, passed, satisfied, verdict
from misjudge_storage.types import Form, Judge, Record
from misjudge_tools.deps import Deps
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.assemble import NOT_JUDGED
from misjudge_tools.summary.judged import SATISFACTION_FORMS
from misjudge_tools.summary.values import AuditSummary
from operations import stored

PAIRWISE = Judge(label="m", form="pairwise", model="m")


def scorer(form: Form, label: str = "m") -> Judge:
    return Judge(label=label, form=form, model="m", scale=FORMS[form].scale)


def episodes(*forms: Form, agents: int = 6, tasks: int = 6) -> list[Record]:
    """Agents of growing skill, each scored by every form with a noise of its own."""
    rng = random.Random(7)
    found: list[Record] = []
    for agent in range(agents):
        for task in range(tasks):
            success = rng.random() < agent / agents
            scores = {"satisfaction": rng.choice([0.2, 0.9]), "gate": rng.randint(1, 7), "proxy": rng.randint(1, 7)}
            scores["rubric"] = rng.randint(0, 1)
            said = [satisfied(float(scores[form]), scorer(form)) for form in forms]
            one = episode(f"agent{agent}", passed(success), task=f"t{task}", satisfaction=said)
            found.append(lone(one, line=len(found)))
    return found


def summary(deps: Deps, **values: Any) -> AuditSummary:
    return summarize(SummarizeRequest.model_validate({"audit": "a", **values}), deps.store)


def scores_of(records: list[Record], form: Form) -> list[tuple[str, bool, float]]:
    """Agent, success and score of each episode."""
    found = []
    for record in records:
        (one,) = record.episodes
        (score,) = [said.score for said in one.satisfaction if said.judge.form == form]
        found.append((one.trajectory.agent, bool(one.checks[0].passed), float(score or 0)))
    return found


def test_every_form_is_set_against_success_by_its_own_threshold(deps: Deps) -> None:
    records = episodes(*SATISFACTION_FORMS)
    stored(deps.store, records)
    found = summary(deps)
    assert found.judge == "m"
    for form in SATISFACTION_FORMS:
        section = getattr(found, form)
        threshold = FORMS[form].scale.threshold
        known = scores_of(records, form)
        content = [success for _, success, score in known if score >= (threshold or 0)]
        assert (section.threshold, section.n) == (threshold, len(known))
        assert (section.satisfied, section.satisfied_failed) == (len(content), content.count(False))
        assert section.mean_satisfaction == pytest.approx(mean(score for _, _, score in known))


@pytest.mark.parametrize(
    ("forms", "by", "named"),
    [
        (("satisfaction", "gate", "proxy"), "gate", "mean gate score"),
        (("satisfaction", "proxy"), "satisfaction", "mean score"),
        (("gate",), "gate", "mean gate score"),
    ],
)
def test_agents_are_ranked_by_the_gate_else_by_satisfaction(
    deps: Deps, forms: tuple[Form, ...], by: Form, named: str
) -> None:
    records = episodes(*forms)
    stored(deps.store, records)
    ranking = summary(deps).ranking
    assert ranking is not None and ranking.gate == named
    agents = sorted({agent for agent, _, _ in scores_of(records, by)})
    means = [mean(score for one, _, score in scores_of(records, by) if one == agent) for agent in agents]
    rewards = [mean(success for one, success, _ in scores_of(records, by) if one == agent) for agent in agents]
    assert ranking.spearman == pytest.approx(float(spearmanr(means, rewards).statistic))


def test_the_proxy_alone_ranks_nobody_and_pairs_do(deps: Deps) -> None:
    stored(deps.store, episodes("proxy"))
    assert summary(deps).ranking is None
    agents = ("x", "y", "z")
    for n, (a, b) in enumerate((a, b) for a in agents for b in agents if a < b):
        first, second = (episode(one, passed(one == "z"), task=f"p{n}") for one in (a, b))
        stored(deps.store, [pair(f"p{n}", first, second, verdict("B", "AB", judge=PAIRWISE), line=n)])
    ranking = summary(deps).ranking
    assert ranking is not None and ranking.gate == "win share"


def test_a_gate_that_scored_nothing_leaves_the_ranking_to_satisfaction(deps: Deps) -> None:
    records = episodes("satisfaction")
    (one,) = records[0].episodes
    mute = one.model_copy(update={"satisfaction": (*one.satisfaction, satisfied(None, scorer("gate")))})
    stored(deps.store, [records[0].model_copy(update={"episodes": (mute,)}), *records[1:]])
    found = summary(deps)
    assert found.ranking is not None and found.ranking.gate == "mean score"
    assert found.gate is None and "known outcome" in found.why["gate"]


@pytest.mark.parametrize(
    ("forms", "by"),
    [(("satisfaction", "gate", "proxy"), "satisfaction"), (("gate", "proxy"), "gate"), (("proxy",),) * 2],
)
def test_whether_an_agent_satisfied_is_said_by_the_first_form_there(
    deps: Deps, forms: tuple[Form, ...], by: Form | tuple[Form, ...]
) -> None:
    stored(deps.store, episodes(*forms))
    found = summary(deps)
    section = getattr(found, by if isinstance(by, str) else by[0])
    assert found.agents is not None
    assert sum(one.satisfied or 0 for one in found.agents) == section.satisfied
    assert sum(one.satisfied_failed or 0 for one in found.agents) == section.satisfied_failed


def test_a_form_that_nobody_judged_is_missing_with_a_short_reason(deps: Deps) -> None:
    stored(deps.store, episodes("gate"))
    found = summary(deps)
    assert found.gate is not None
    assert {form: found.why[form] for form in ("satisfaction", "proxy")} == {
        form: NOT_JUDGED[form].why for form in ("satisfaction", "proxy")
    }
    assert set(NOT_JUDGED) == set(SATISFACTION_FORMS) == set(get_args(Form)) - {"pairwise"}


def test_the_new_sections_can_be_asked_for_alone(deps: Deps) -> None:
    stored(deps.store, episodes(*SATISFACTION_FORMS))
    found = summary(deps, sections=["gate"])
    assert found.gate is not None and found.satisfaction is None and found.proxy is None and found.ranking is None
