"""The first replies of each model of a run: one that cannot be read ends the run before it has cost much."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from misjudge_storage.errors import RunStopped
from misjudge_storage.run_records import PlannedCell
from misjudge_tools.judging.session import UNREADABLE, Judged
from misjudge_tools.probing.variants import BASELINE, read_variant
from misjudge_tools.results import record_uri
from misjudge_tools.rubrics.plan import GENERATE, MATCH

FIRST_REPLIES = 20
MOST_UNREADABLE = 4
"""A judge of which more than 20 % of the first 20 replies cannot be read stops the run."""
_WANTED: Mapping[str, str] = {GENERATE: "rules", MATCH: "matches"}
"""What a reply lacks that cannot be read, by kind of cell; else a verdict."""


class FirstReplies:
    """Counts the first replies of each judge of a run, and of who writes and matches rubrics, by cell: one that cannot
    be read ends it. `labels` are what people call them, `before` how many replies earlier sittings counted.

    A probe may make a judge unreadable that is not so otherwise; that is a result, and ends nothing.
    """

    def __init__(self, audit: str, labels: Mapping[str, str], before: Mapping[str, int]) -> None:
        self.trouble: RunStopped | None = None
        self._audit = audit
        self._labels = labels
        # A run that goes on behind a judge's first replies was resumed by somebody who has seen them.
        self._replies = Counter(before)
        self._unreadable: defaultdict[str, list[str]] = defaultdict(list)
        self._read_unchanged: set[str] = set()

    def count(self, cell: PlannedCell, judged: Judged) -> None:
        judge_id = cell.actor_id
        if judged.readable is None or self._replies[judge_id] >= FIRST_REPLIES:
            return
        if cell.variant is not None and read_variant(cell.variant).probe != BASELINE:
            if judge_id in self._read_unchanged:
                return
        elif judged.readable:
            self._read_unchanged.add(judge_id)
        self._replies[judge_id] += 1
        unreadable = self._unreadable[judge_id]
        if not judged.readable:
            unreadable.append(_log_of(judged))
        if self._replies[judge_id] == FIRST_REPLIES and len(unreadable) > MOST_UNREADABLE:
            self.trouble = self._said(cell)

    def _said(self, cell: PlannedCell) -> RunStopped:
        unreadable = self._unreadable[cell.actor_id]
        examples = ", ".join(record_uri(self._audit, "logs", log_id) for log_id in unreadable[:3])
        who = "judge" if cell.kind not in _WANTED else "model"
        wanted, label = _WANTED.get(cell.kind, "verdict"), self._labels[cell.actor_id]
        return RunStopped(
            f"{len(unreadable)} of the first {FIRST_REPLIES} replies of {label} hold no readable {wanted}, so the run "
            f"was stopped. Read three of them ({examples}), then change this {who} or its prompt; resuming goes on."
        )


def _log_of(judged: Judged) -> str:
    """The log of a reply that cannot be read: what takes several calls stores them as they come."""
    if judged.result.logs:
        return str(judged.result.logs[-1]["log_id"])
    rows = (row for _, row in judged.result.more)
    return str(next(row["log_id"] for row in rows if row.get("unscored_reason") in UNREADABLE))
