"""Everything that a summary counts of the pairs of an audit, as few passes over its rows as there can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from sqlalchemy import Connection, text

from misjudge_storage.agent_gates import AgentGate, WinCounting
from misjudge_storage.bucket_counts import BucketCounting, GapOf, GapSums
from misjudge_storage.conflict_rows import ConflictCounting, ConflictCounts
from misjudge_storage.missing_counts import MissingCounting, MissingReplies
from misjudge_storage.policy_counts import PolicyCounting, PolicyCounts
from misjudge_storage.reduced_audit import REDUCED
from misjudge_storage.reduced_kinds import TALLIES
from misjudge_storage.row_chunks import Counting, ReducedFacts, count_rows
from misjudge_storage.slice_counts import SliceCounting, SliceCounts, has_models
from misjudge_storage.summary_values import Group, GroupCounts, PairTotals


class _First:
    """What nearly every section asks for."""

    def __init__(self, facts: ReducedFacts, steps: Mapping[str, float], margins: int) -> None:
        self.ability = BucketCounting(facts, "ability")
        self.scores = BucketCounting(facts, "judge_score")
        self.rewards = BucketCounting(facts, "reward")
        self.missing = MissingCounting(facts)
        self.policies = PolicyCounting(facts, steps, margins)
        self.conflicts = ConflictCounting(facts)

    @property
    def all(self) -> Sequence[Counting]:
        return self.ability, self.scores, self.rewards, self.missing, self.policies, self.conflicts


class _More:
    """What single sections ask for."""

    def __init__(self, connection: Connection, facts: ReducedFacts) -> None:
        self.slices = SliceCounting(facts, models=has_models(connection))
        self.wins = WinCounting(connection, facts)

    @property
    def all(self) -> Sequence[Counting]:
        return self.slices, self.wins


class CountedPairs:
    """The counts of a reduced audit (`reduced_audit.reduce_audit`), read when they are first asked for.

    `steps` are the steps of a lead in scores by judge id, of which policies ask for up to `margins`. With `everything`,
    all is counted in one pass; else what single sections ask for in one of its own, should they ask.
    """

    def __init__(
        self, connection: Connection, steps: Mapping[str, float] | None = None, margins: int = 0, *, everything: bool
    ) -> None:
        self._connection = connection
        self._facts = ReducedFacts(connection)
        self._steps, self._margins, self._everything = steps or {}, margins, everything

    @cached_property
    def _first(self) -> _First:
        first = _First(self._facts, self._steps, self._margins)
        more = self._asked_for.all if self._everything else ()
        count_rows(self._connection, self._facts, (*first.all, *more))
        return first

    @cached_property
    def _asked_for(self) -> _More:
        return _More(self._connection, self._facts)

    @cached_property
    def _more(self) -> _More:
        if self._everything:
            _ = self._first
        else:
            count_rows(self._connection, self._facts, self._asked_for.all)
        return self._asked_for

    @property
    def totals(self) -> PairTotals:
        """Distinct pairs."""
        if len(self._facts.judges) <= 2:  # one of them is nobody, so every row is a pair of its own
            return self._first.ability.totals()
        columns = [TALLIES[name] for name in PairTotals._fields]
        summed = ", ".join(f"COALESCE(SUM({column}), 0)" for column in columns)
        pairs = f"SELECT DISTINCT pair_no, {', '.join(columns)} FROM {REDUCED}"
        return PairTotals(*map(int, self._connection.execute(text(f"SELECT {summed} FROM ({pairs}) p")).one()))

    @property
    def groups(self) -> Mapping[Group, GroupCounts]:
        """By judge and subset."""
        return self._first.ability.groups()

    @property
    def ability_buckets(self) -> Mapping[Group, GroupCounts]:
        """By judge, subset and bucket of ability: every measure."""
        return self._first.ability.buckets()

    def buckets(self, *, graded_rewards: bool) -> Mapping[Group, GroupCounts]:
        """By judge, subset and bucket of each gap (see `bucket_counts.BUCKET_MEASURES`)."""
        rewards = self._first.rewards.buckets() if graded_rewards else {}
        return {**self.ability_buckets, **self._first.scores.buckets(), **rewards}

    def gaps(self, *, graded_rewards: bool) -> Mapping[GapOf, GapSums]:
        """Near beside far pairs."""
        rewards = self._first.rewards.near_and_far() if graded_rewards else {}
        return {**self._first.ability.near_and_far(), **self._first.scores.near_and_far(), **rewards}

    def slices(self, most: int) -> Sequence[SliceCounts]:
        """The `most` largest values of each dimension and judge, the largest first."""
        return self._more.slices.slices(most)

    @property
    def missing(self) -> Sequence[MissingReplies]:
        return self._first.missing.replies()

    @property
    def policies(self) -> Mapping[str, PolicyCounts]:
        """Judge id → its decidable pairs by rule."""
        return self._first.policies.policies()

    @property
    def conflicts(self) -> Mapping[str, ConflictCounts]:
        return self._first.conflicts.conflicts()

    def wins(self, audit_id: str) -> Sequence[AgentGate]:
        return self._more.wins.agents(audit_id)
