"""What adaptive runs decided and saved, as values."""

from __future__ import annotations

from misjudge_storage.types import Value


class StoppedBucket(Value):
    """A bucket of pairs of which enough was known of a judge after `tasks` tasks: their mean share of wrong calls lies
    from `low` to `high`, 95 % at every number of tasks at once.

    `bucket` is near, wide, all (where no pair is declared either) or undeclared. `pairs` and `calls` are what this
    judge was planned to be asked and never was.
    """

    judge: str
    bucket: str
    tasks: int
    low: float
    high: float
    pairs: int
    calls: int


class StoppingFacts(Value):
    """What runs that were to stop early decided, and what that saved in the end: pairs that none of their judges was
    asked about, calls of all of their judges together, and episodes.
    """

    stopped: tuple[StoppedBucket, ...]
    pairs_saved: int
    calls_saved: int
    episodes_saved: int
