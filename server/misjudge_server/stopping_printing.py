"""What adaptive stopping came to, as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_tools.results import RunReport
from misjudge_tools.summary.stopping_values import StoppedBucket


def stopping_lines(run: RunReport) -> Iterator[str]:
    """Which buckets are decided; of a plan, that it may take less. No line where the reason of the run says so."""
    if run.pairs_saved is None:
        return
    if run.state == "planned":
        known = f"; {_number(run.calls_saved, 'call')} left out, as enough is known there" if run.calls_saved else ""
        yield f"stops early where enough is known, so this is the most that it takes{known}"
    elif run.state != "done" or not run.reason:
        yield from map(_line, run.stopped)


def _line(one: StoppedBucket) -> str:
    found = f"{100 * one.low:.1f}–{100 * one.high:.1f} % wrong after {_number(one.tasks, 'task')}"
    saved = f"{_number(one.pairs, 'pair')} and {_number(one.calls, 'call')} saved"
    return f"enough is known of {one.judge}, {one.bucket} pairs: {found} (95 % at any number of tasks); {saved}"


def _number(number: int | None, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
