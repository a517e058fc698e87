"""audit_pairs files: one row per pair and judge, with the guides' columns or those of our `audit_pairs` view.

pair_id and judge_pref (or judge_status) are enough; columns not named here are ignored. So are selected_reward,
lower_reward_selected, misselected and total_cost: they follow from the others. Five readings need a word:

- A row stands for both orders (a *reduced* verdict) where blind_order is `both`, where judge_status is weak or
  inconsistent, and where a source that does not state both of these has a judge_flip. Then judge_flip = 1
  without a judge_status means inconsistent.
- Rewards with reward_source `judge` are the judge's own scores over again and are left out.
- gold_pref is stored as a label unless it follows from the success or reward columns of its row.
- An empty gold_pref with gold_source human or label means labellers without a majority: the pair is undecidable.
- simulated = 1 says that the judge or an episode is made up; `made_up` says which are taken for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from misjudge_storage.types import (
    BadRecord,
    Check,
    CheckSource,
    Episode,
    GoldLabel,
    Log,
    PairKey,
    Preference,
    Record,
    RecordError,
    Satisfaction,
    Scale,
    Task,
    Trajectory,
)
from misjudge_tools.interchange.evidence import (
    REWARD_SOURCES,
    SUCCESS_SOURCES,
    reward_check,
    success_check,
    user_satisfaction,
)
from misjudge_tools.interchange.fields import Fields, choice, expect, flag, number, required, text, whole
from misjudge_tools.interchange.files import Row, parse_rows, read_exported
from misjudge_tools.interchange.made_up import Part, episode_part, made_up_parts
from misjudge_tools.interchange.pair_gap import GapSource, reward_gap, source_of_gaps
from misjudge_tools.interchange.pair_verdict import (
    PREFERENCES,
    is_unjudged,
    judge_label,
    pair_verdict,
    rewards_are_scores,
)
from misjudge_tools.interchange.scales import bounds, read_range, read_scale

_GOLD_SOURCES: dict[str, Literal["human", "label", "verifier", "reward"]] = {
    "human": "human",
    "label": "label",
    "verifier": "verifier",
    "reward": "reward",
}
_BUCKETS: dict[str, Literal["near", "wide"]] = {"near": "near", "wide": "wide"}


class _Options(NamedTuple):
    gap_source: GapSource | None
    satisfaction: Scale
    scores: Scale
    made_up: frozenset[Part]


class _Facts(NamedTuple):
    """Success and rewards of both sides, with their sources."""

    success_a: bool | None
    success_b: bool | None
    success_source: CheckSource
    reward_a: float | None
    reward_b: float | None
    reward_source: CheckSource


class _Implied(NamedTuple):
    pref: Preference
    source: CheckSource


def read_pairs(
    path: Path, *, gap_source: GapSource | None = None, scale: str = "0-1", score_range: str = "0-5"
) -> Iterator[Record | BadRecord]:
    """One record per row, with one verdict (none where our view shows a pair that was not judged).

    `gap_source` says what reward_gap is where no gap_source column does and it is not the difference of the
    judge's scores or of the rewards in every row. `scale` is that of user_sat_a and user_sat_b (see
    `read_scale`), `score_range` that of the judge's scores. Raises InvalidInput for a file of another format
    and for a gap without a source.
    """
    kind = ("pair_id", ("judge_pref", "judge_status"))
    source = gap_source or source_of_gaps(expect(read_exported(path), path, "pairs", *kind), path)
    made_up = made_up_parts(lambda: expect(read_exported(path), path, "pairs", *kind), _parts)
    options = _Options(source, read_scale(scale), read_range(score_range), made_up)
    return parse_rows(expect(read_exported(path), path, "pairs", *kind), partial(_record, options=options))


def _parts(fields: Fields) -> Iterator[Part]:
    """The judge of a row, where it has one, and both its episodes."""
    if not is_unjudged(fields):
        yield Part("judge", judge_label(fields))
    yield from _sides(fields)


def _sides(fields: Fields) -> tuple[Part, Part]:
    pair_id, trial = required(fields, "pair_id"), whole(fields, "trial")
    task_id = text(fields, "task_id") or pair_id
    a, b = text(fields, "agent_a") or "agent_a", text(fields, "agent_b") or "agent_b"
    return episode_part(task_id, a, trial, pair_id, "A"), episode_part(task_id, b, trial, pair_id, "B")


def _record(row: Row, options: _Options) -> Record:
    fields = row.fields
    pair_id = required(fields, "pair_id")
    facts = _facts(fields)
    a, b = _sides(fields)
    if a.name == b.name:
        raise RecordError("both sides are the same trajectory: agent_a and agent_b name one agent")
    flag(fields, "simulated")  # read for all rows together, and to be refused here where it is neither yes nor no
    task = Task(task_id=a.task_id, category=text(fields, "category"))
    gap = reward_gap(fields, options.gap_source)
    judge_made_up = Part("judge", judge_label(fields)) in options.made_up
    verdict = pair_verdict(fields, options.scores, simulated=judge_made_up)
    return Record(
        line=row.line,
        task=task,
        episodes=tuple(
            Episode(
                trajectory=Trajectory(
                    task_id=task.task_id, agent=part.name, trial=part.trial, simulated=part in options.made_up
                ),
                checks=_checks(facts, side),
                satisfaction=_satisfaction(fields, side, options.satisfaction),
            )
            for part, side in ((a, "a"), (b, "b"))
        ),
        pair=PairKey(
            pair_id=pair_id,
            trial=a.trial,
            ability_bucket=choice(fields, "ability_bucket", _BUCKETS),
            reward_gap=gap.size,
            gap_source=gap.source,
        ),
        gold=_gold(fields, facts),
        verdicts=() if verdict is None else (verdict,),
        logs=tuple(_logs(fields, judge=judge_made_up, episodes=bool({a, b} & options.made_up))),
    )


def _facts(fields: Fields) -> _Facts:
    own_scores = rewards_are_scores(fields)
    implied: CheckSource = "verifier" if choice(fields, "gold_source", _GOLD_SOURCES) == "verifier" else "label"
    return _Facts(
        success_a=flag(fields, "success_a"),
        success_b=flag(fields, "success_b"),
        success_source=choice(fields, "success_source", SUCCESS_SOURCES) or implied,
        reward_a=None if own_scores else number(fields, "reward_a"),
        reward_b=None if own_scores else number(fields, "reward_b"),
        reward_source="reward"
        if own_scores
        else choice(fields, "reward_source", REWARD_SOURCES, shown="verifier, external, judge") or "reward",
    )


def _checks(facts: _Facts, side: str) -> tuple[Check, ...]:
    passed, reward = (facts.success_a, facts.reward_a) if side == "a" else (facts.success_b, facts.reward_b)
    return (*success_check(passed, facts.success_source), *reward_check(reward, facts.reward_source))


def _satisfaction(fields: Fields, side: str, scale: Scale) -> tuple[Satisfaction, ...]:
    return user_satisfaction(number(fields, f"user_sat_{side}", *bounds(scale)), scale)


def _gold(fields: Fields, facts: _Facts) -> tuple[GoldLabel, ...]:
    pref = choice(fields, "gold_pref", PREFERENCES)
    stated = choice(fields, "gold_source", _GOLD_SOURCES)
    if stated == "human" or stated == "label":
        return (GoldLabel(labeller="imported", pref=pref or "split", source=stated),)
    if pref is None:
        return ()
    if stated is None:
        return (GoldLabel(labeller="imported", pref=pref, source="label"),)
    implied = _implied(facts)
    if implied is not None and implied.pref == pref:
        return ()
    if implied is not None and implied.source in {"human", "verifier", stated}:
        raise RecordError(
            f"gold_pref contradicts the row's own outcomes (source {implied.source}), which outrank it; "
            "leave gold_pref empty to go by them"
        )
    return (GoldLabel(labeller="imported", pref=pref, source="label"),)


def _implied(facts: _Facts) -> _Implied | None:
    """What the row's own success, or else its rewards, say was better."""
    by_success = _better(facts.success_a, facts.success_b)
    if by_success is not None and facts.success_source != "model":
        return _Implied(by_success, facts.success_source)
    by_reward = _better(facts.reward_a, facts.reward_b)
    return None if by_reward is None else _Implied(by_reward, "reward")


def _better(a: float | None, b: float | None) -> Preference | None:
    if a is None or b is None:
        return None
    return "tie" if a == b else "A" if a > b else "B"


def _logs(fields: Fields, *, judge: bool, episodes: bool) -> Iterator[Log]:
    """The pair's costs as stated. Agents first, so that rows of several judges say the same of them. `judge` and
    `episodes` say whether theirs are made up.
    """
    agent, user_sim = number(fields, "agent_cost", low=0), number(fields, "user_sim_cost", low=0)
    if agent is not None:
        yield Log(role="agent", est_cost=agent, price_source="imported", simulated=episodes)
    if user_sim is not None:
        yield Log(role="user_sim", est_cost=user_sim, price_source="imported", simulated=episodes)
    cost = number(fields, "judge_cost", low=0)
    tokens_in, tokens_out = whole(fields, "input_tokens"), whole(fields, "output_tokens")
    if not cost == tokens_in == tokens_out is None:
        yield Log(
            role="judge",
            model=text(fields, "judge") or "",
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            est_cost=cost,
            price_source=None if cost is None else "imported",
            simulated=judge,
        )
