"""The one writer of results: group commit.

Work is queued and committed as soon as the writer is idle, so batches form under load by themselves and
nothing waits for a timer. A caller's future resolves only after the commit that holds its rows, so a
result that was reported done survives `kill -9`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection

from misjudge_storage.errors import StoreError

T = TypeVar("T")
P = TypeVar("P")
Work = Callable[[Connection], T]
LARGEST_BATCH = 500


class _Item(NamedTuple):
    """Work to do, or `part` of what `together` stores in one piece."""

    future: Future[Any]
    work: Work[Any] | None = None
    together: Callable[[Connection, list[Any]], Any] | None = None
    part: Any = None


class Writer:
    """A thread that runs queued work in as few transactions as the load allows."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._lock = threading.Lock()
        self.commits = 0

    def submit(self, work: Work[T]) -> Future[T]:
        """Queue `work`; the future holds its result after the commit, or the error that undid it alone.

        `work` may run twice: alone again, when other work in its batch failed. Raises StoreError after `close`.
        """
        return self._queued(_Item(Future(), work=work))

    def submit_part(self, together: Callable[[Connection, list[P]], T], part: P) -> Future[T]:
        """Queue a part of work of which there is much: `together` gets all parts of one transaction as a list.

        The future holds what `together` answered to all of them; else as `submit`.
        """
        return self._queued(_Item(Future(), together=together, part=part))

    def _queued(self, item: _Item) -> Future[Any]:
        # Once handed over the work happens: a cancelled waiter must not turn a paid reply into a lost one.
        item.future.set_running_or_notify_cancel()
        with self._lock:
            if self._closed:
                raise StoreError("The store is closed, so nothing more is stored in it. Open it again.")
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="misjudge-writer", daemon=True)
                self._thread.start()
            self._queue.put(item)
        return item.future

    def close(self) -> None:
        """Commit what is queued, then end the thread; nothing can be queued afterwards."""
        with self._lock:
            self._closed = True
            thread = self._thread
            self._queue.put(None)
        if thread is not None:
            thread.join()

    def _loop(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, ended = self._drain(first)
            self._commit(batch)
            if ended:
                return

    def _drain(self, first: _Item) -> tuple[list[_Item], bool]:
        batch = [first]
        while len(batch) < LARGEST_BATCH:
            try:
                item = self._queue.get_nowait()
            except Empty:
                break
            if item is None:
                return batch, True
            batch.append(item)
        return batch, False

    def _commit(self, batch: list[_Item]) -> None:
        try:
            with self._transaction() as connection:
                results = list(_results(connection, batch))
        except BaseException as error:  # a thread that died of it would leave every caller waiting
            # What ails the store ails each of them, and waiting for a lock once is enough.
            if len(batch) == 1 or isinstance(error, StoreError):
                for item in batch:
                    item.future.set_exception(error)
                return
            for item in batch:
                self._commit([item])
            return
        self.commits += 1
        for item, result in zip(batch, results, strict=True):
            item.future.set_result(result)


def _results(connection: Connection, batch: list[_Item]) -> Iterator[Any]:
    """The result of each item, in order; neighbouring parts of the same work are done at once."""
    for together, items in groupby(batch, key=lambda item: item.together):
        if together is None:
            yield from (item.work(connection) for item in items if item.work is not None)
        else:
            parts = [item.part for item in items]
            yield from [together(connection, parts)] * len(parts)
