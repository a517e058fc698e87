"""The signals that end a process: taken like Ctrl-C, so that nothing is lost and no agent's program stays."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress


def ending_signals() -> Sequence[signal.Signals]:
    """SIGTERM and, where there is one, SIGHUP; without those that this process was started to ignore (`nohup`)."""
    known = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
    return [number for number in known if number is not None and signal.getsignal(number) is not signal.SIG_IGN]


def take_signals(taken: list[signal.Signals]) -> None:
    """From now on such a signal is noted in `taken` and cancels the task at work, as Ctrl-C does in `asyncio.run`.

    Windows has no signals that could be taken so, nor has a thread beside the main one.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop(number: signal.Signals) -> None:
        taken.append(number)
        task.cancel()

    for number in ending_signals():
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, stop, number)


def let_signals_end() -> None:
    """A second Ctrl-C or signal does not wait."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for number in ending_signals():
        with suppress(NotImplementedError):
            asyncio.get_running_loop().remove_signal_handler(number)


def exit_code(taken: Sequence[signal.Signals]) -> int:
    """As shells tell that a signal ended a command: 143 for SIGTERM; 130, for Ctrl-C, where none was taken."""
    return 128 + (taken[0] if taken else signal.SIGINT)
