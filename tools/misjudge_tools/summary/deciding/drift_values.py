"""What changed since a baseline audit, and what of it the judge did."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from misjudge_storage.types import Value
from misjudge_tools.stats.drift import Parts
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Count, Rate


class Change(Value):
    """Something that is another one now. `what` is its name, as `prompt_hash` or `params.temperature`; values are short
    or hashes, None where there was none. `who`: the agents, or the task, that it is of.
    """

    side: Literal["judge", "agents", "tasks"]
    what: str
    before: str | None
    after: str | None
    who: str | None = None


class Matched(Value):
    """Pairs of the two judges by task, trial and the two agents, whichever of them is side A.

    `only_here` and `only_baseline` have no counterpart, `ambiguous` none that could be told: the audit has another pair
    of the same task, trial and agents, or both sides are of one agent. Of the `shared` ones `decidable` are in both
    audits, of these `unscored_here` and `unscored_baseline` by one of the judges. Of `alike` ones both episodes are the
    same text in both audits; `anchors` have the same gold, too.
    """

    shared: Count
    only_here: Count
    only_baseline: Count
    ambiguous_here: Count
    ambiguous_baseline: Count
    decidable: Count
    unscored_here: Count
    unscored_baseline: Count
    alike: Count
    anchors: Count


class TaskDrift(Value):
    """Tasks of both audits, `changed` of them with another prompt or other criteria, and those of one audit only."""

    shared: Count
    changed: Count
    only_here: Count
    only_baseline: Count


class Moved(Value):
    """Shared pairs by the reduced verdict before and now. A and B are the sides of the audit that is summarised."""

    before: str
    now: str
    pairs: Count


class DriftSection(Value):
    """A judge in this audit against the one in `baseline` that goes by the same name, on the pairs that both judged.

    Compared are pairs that are decidable in both audits and scored by both judges: `right` and `baseline_right` are the
    shares with the reduced verdict for the better side; a tie and an inconsistent pair are not right. `difference` is
    now minus before (`only_first`: right only now); `single_call` the same of the mean share of a pair's calls.
    `moved` is the share of shared pairs, scored by both, with another reduced verdict; `anchors_moved` of the `alike`
    ones. `anchors` is the difference on the anchors and `parts` what the judge and the rest did to the whole one; both
    None without anchors. `fingerprint` and `baseline_fingerprint` name the judges; where they are equal the judge is
    the same, and what moves on anchors is its own unsteadiness, or a model that changed behind its name.
    """

    baseline: str
    judge: str
    baseline_judge: str
    fingerprint: str
    baseline_fingerprint: str
    changed: tuple[Change, ...]
    tasks: TaskDrift
    pairs: Matched
    right: Rate | None = None
    baseline_right: Rate | None = None
    difference: PairedDifference | None = None
    single_call: Effect | None = None
    moved: Rate
    moves: tuple[Moved, ...]
    anchors_moved: Rate | None = None
    anchors: PairedDifference | None = None
    parts: Parts | None = None
    why: dict[str, str] = Field(default_factory=dict)
