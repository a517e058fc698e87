"""What a plan asks of the models: how many calls, and what they come to. Reads the store, asks nobody."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import judging_records, rows
from misjudge_storage.errors import NotFound
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.rubric_records import stored_drafts
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Role
from misjudge_tools.deps import Deps
from misjudge_tools.episodes import settings
from misjudge_tools.episodes.casting import Asking
from misjudge_tools.episodes.rules import ModelRule
from misjudge_tools.episodes.user_sim import TRIES
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.gateway.ways import ModelChoice, pricing_of
from misjudge_tools.judging.choice import JudgingSpec, judge_of, label_of, reply_schema, template_of
from misjudge_tools.judging.pairing import fence
from misjudge_tools.judging.showing import EMPTY_TOKEN, Showing, reply_tokens
from misjudge_tools.profiles import ModelSettings
from misjudge_tools.results import RolePlan
from misjudge_tools.rubrics.rules import numbered
from misjudge_tools.runs.plan import ROLLOUT
from misjudge_tools.runs.request_sizes import (
    BYTES_A_TOKEN,
    OF_EPISODES,
    OF_PANEL,
    OF_REPLIES,
    OF_RUBRICS,
    USUAL_RUBRIC,
    USUAL_RULE_TOKENS,
    USUAL_RULES,
    USUAL_TOKENS,
    Costs,
    Size,
    costs_of,
)
from misjudge_tools.runs.rollout_plan import Cast, checker_of
from misjudge_tools.runs.rubric_expected import expected_calls, rubric_role
from misjudge_tools.runs.spec import RunSpec

CHUNK = 256
USUAL_REPLIES = 8
"""Replies of an agent in a usual episode; half as many of its customer. For estimates only."""


class PaidCalls(NamedTuple):
    """How many calls may cost money: at most, or, `estimated`, about so many."""

    number: int
    estimated: bool


class _Group(NamedTuple):
    """Rollouts of one role that ask one model, with `usual` and at `most` so many calls in each."""

    role: str
    asking: Asking
    fixed_bytes: int
    usual: int
    most: int


def pricings_of(spec: RunSpec, cast: Cast | None, models: ModelSettings) -> list[Pricing]:
    """What each model costs that the plan asks."""
    choices: list[ModelChoice] = [*spec.asked]
    if cast is not None:
        choices += [group.asking.choice for group in _groups(spec, cast)]
    return [pricing_of(choice, models) for choice in choices]


def most_paid_calls(
    connection: Connection, audit_id: str, spec: RunSpec, cast: Cast | None, cells: Sequence[PlannedCell]
) -> PaidCalls:
    """The most calls that may cost money, of the open cells of a plan; where rubrics are not written yet that are to be
    matched, about so many as usual ones take.
    """
    numbers = Counter(cell.actor_id for cell in cells)
    paid = [judge for judge in spec.judges if _may_cost(judge)]
    calls = sum(numbers[judge_fingerprint(judge_of(judge))] for judge in paid)
    for group in () if cast is None else _groups(spec, cast):
        calls += group.most * _rollouts(group, cast, numbers) if _may_cost(group.asking.choice) else 0
    paid = [one for one in spec.asked[len(spec.judges) :] if _may_cost(one)]
    rubrics = [expected_calls(connection, audit_id, one, cells) for one in paid]
    return PaidCalls(calls + sum(one.number for one in rubrics), not all(one.certain for one in rubrics))


def _may_cost(choice: ModelChoice) -> bool:
    return choice.kind == "gateway" and not choice.simulated


def expected_use(
    deps: Deps,
    audit: str,
    spec: RunSpec,
    cast: Cast | None,
    cells: Sequence[PlannedCell],
    possible: Sequence[PlannedCell] = (),
) -> tuple[RolePlan, ...]:
    """What each role is asked for the open cells of a plan: agents first, then who writes and matches rubrics.

    `possible` are those of a cascade's panel that may follow.
    """
    every = [*cells, *possible]
    numbers = Counter(cell.actor_id for cell in every)
    groups = () if cast is None else _groups(spec, cast)
    made = [_of_group(deps, group, _rollouts(group, cast, numbers)) for group in groups]
    audit_id = rows.audit_id(audit)
    rubrics = [
        rubric_role(deps.store, audit_id, one, pricing_of(one, deps.models), every)
        for one in spec.asked[len(spec.judges) :]
    ]
    panel = {cell.actor_id for cell in possible}
    judged = [_of_judge(deps, audit, judge, every, panel) for judge in spec.judges]
    return (*made, *rubrics, *judged)


def _rollouts(group: _Group, cast: Cast | None, numbers: Counter[str]) -> int:
    """How many of the open rollouts ask the group's model."""
    assert cast is not None
    every = group.role != "agent"
    # A set: two names of one set-up have one fingerprint, under which the rollouts of both are counted.
    asking = {agent.fingerprint for agent in cast.agents if every or agent.asking == group.asking}
    return sum(numbers[fingerprint] for fingerprint in asking)


def _groups(spec: RunSpec, cast: Cast) -> Iterator[_Group]:
    """Each model that plays an agent, then the one that plays the customer, then the one that `model` rules ask."""
    suite = cast.stage.suite
    told = suite.instructions.get(cast.stage.language, "") + json.dumps(
        [tool.model_dump() for tool in suite.tools.tools]
    )
    turns = max((task.max_turns for task in cast.tasks), default=1)
    steps: dict[Asking, int] = {}
    for agent in cast.agents:
        if agent.asking is not None and isinstance(agent.settings, settings.ChatAgent):
            steps[agent.asking] = max(agent.settings.max_steps, steps.get(agent.asking, 0))
    for asking, most in steps.items():
        yield _Group("agent", asking, len(told.encode()), USUAL_REPLIES, most)
    if cast.user.asking is not None and cast.user.template is not None:
        fixed = len(cast.user.template.system) + len(cast.user.template.user)
        yield _Group("user_sim", cast.user.asking, fixed, USUAL_REPLIES // 2, turns * TRIES)
    checker = checker_of(cast, spec.judges)
    if checker is not None:
        rules = max(sum(isinstance(rule, ModelRule) for rule in task.checks) for task in cast.tasks)
        yield _Group("success_check", checker, 2 * USUAL_REPLIES * USUAL_TOKENS * BYTES_A_TOKEN, rules, rules)


def _of_group(deps: Deps, group: _Group, rollouts: int) -> RolePlan:
    pricing = pricing_of(group.asking.choice, deps.models)
    sent = sum(group.fixed_bytes // BYTES_A_TOKEN + reply * USUAL_TOKENS for reply in range(1, group.usual + 1))
    one = pricing.of(sent, group.usual * USUAL_TOKENS).usd if pricing.known else None
    about = None if one is None else one * rollouts
    name = group.asking.choice.profile or group.asking.choice.model
    assumes = () if about is None else (OF_EPISODES,)
    return RolePlan(role=group.role, model=name, calls=rollouts * group.most, about_cost=about, assumes=assumes)


def _of_judge(
    deps: Deps, audit: str, judge: JudgingSpec, cells: Sequence[PlannedCell], panel: Collection[str]
) -> RolePlan:
    fingerprint = judge_fingerprint(judge_of(judge))
    mine = [cell for cell in cells if cell.actor_id == fingerprint]
    pricing = pricing_of(judge, deps.models)
    live = any(cell.kind == ROLLOUT for cell in cells)
    sent = None
    if not live and (pricing.known or judge.context_tokens is not None):
        sent = _sent(deps, judge, audit, mine)
    given = OF_EPISODES if live else OF_REPLIES if sent is None or sent.certain else OF_RUBRICS
    if live:
        costs = costs_of(pricing, [_of_episodes(judge)] * len(mine), certain=False)
    else:
        costs = Costs() if sent is None else costs_of(pricing, sent.sizes, certain=sent.certain)
    role: Role = "judge" if judge.rubrics is None else "rubric_apply"
    return RolePlan(
        role="probe" if any(cell.variant is not None for cell in mine) else role,
        model=label_of(judge),
        form=judge.form,
        calls=len(mine) if sent is None else len(sent.sizes),
        most_cost=costs.most,
        about_cost=costs.about,
        assumes=() if costs.about is None else (given, OF_PANEL) if fingerprint in panel else (given,),
    )


def _of_episodes(judge: JudgingSpec) -> Size:
    """A request about episodes that are not there yet."""
    sides = 2 if judge.form == "pairwise" else 1
    return Size(sides * 2 * USUAL_REPLIES * USUAL_TOKENS * BYTES_A_TOKEN, judge.max_tokens, USUAL_TOKENS)


class _Sent(NamedTuple):
    """The requests that will be sent; not `certain` where rules that they will hold are not written yet."""

    sizes: Sequence[Size]
    certain: bool


def _sent(deps: Deps, judge: JudgingSpec, audit: str, cells: Sequence[PlannedCell]) -> _Sent | None:
    """What will be sent: what the judge's context cannot take is not.

    None where what is judged comes with the request and is not stored yet.
    """
    with deps.store.read() as connection:
        drafts = stored_drafts(connection, [cell.draft_id for cell in cells if cell.draft_id is not None])
    waiting = [cell for cell in cells if cell.draft_id is not None and cell.draft_id not in drafts]
    later = {cell.cell_id for cell in waiting}
    try:
        known = _sizes(deps, judge, audit, [cell for cell in cells if cell.cell_id not in later])
        guessed = _guessed(deps, judge, audit, waiting) if waiting else []
    except (NotFound, KeyError):
        return None
    return _Sent([*known, *guessed], certain=not waiting)


def _sizes(deps: Deps, judge: JudgingSpec, audit: str, cells: Sequence[PlannedCell]) -> list[Size]:
    with deps.store.read() as connection:
        showing = Showing(deps.store, judging_records.read_audit(connection, audit), judge, with_truth=False)
    chunks = (cells[start : start + CHUNK] for start in range(0, len(cells), CHUNK))
    shown = [one for chunk in chunks for one in showing.show(chunk).values() if one.unasked is None]
    return [_size(judge, one.size, one.rules) for one in shown]


def _guessed(deps: Deps, judge: JudgingSpec, audit: str, cells: Sequence[PlannedCell]) -> list[Size]:
    """What is sent where the rules are not written yet: as without any, and a usual rubric."""
    form = "pairwise" if judge.form == "pairwise" else "satisfaction"
    plain = judge.model_copy(update={"rubrics": None, "prompt": None, "form": form})
    rules = fence("RULES", EMPTY_TOKEN, numbered(USUAL_RUBRIC, marks=True)).text
    more = len(rules) + _fixed_bytes(judge) - _fixed_bytes(plain)
    return [_size(judge, one.bytes_in + more, USUAL_RULES) for one in _sizes(deps, plain, audit, cells)]


def _fixed_bytes(judge: JudgingSpec) -> int:
    template = template_of(judge)
    return len(f"{template.system}{template.user}{reply_schema(judge, USUAL_RULES) or ''}".encode())


def _size(judge: JudgingSpec, bytes_in: int, rules: int) -> Size:
    return Size(bytes_in, reply_tokens(judge, rules), USUAL_TOKENS + rules * USUAL_RULE_TOKENS)
