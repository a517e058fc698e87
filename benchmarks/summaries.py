"""What a summary of a large audit takes: `summarize_audit` in a fresh process, beside pandas on the same pairs.

    python benchmarks/summaries.py [--pairs 1000000] [--smaller 100000,250000] [--folder FOLDER]

Makes an audit of each number of pairs (see `audit_rows.py`; a store that is in the folder already is taken as it is),
writes its view audit_pairs as CSV, and measures in processes of their own: a summary with every section, one of the
headline alone, and pandas `read_csv` of that CSV with `cut` of the gap and a `groupby`, which gives one table of all
that a summary says. Machines are noisy: read the ratios of one run.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import process_time
from typing import NamedTuple

from audit_rows import AUDIT, fill

GAPS = (-1.0, 0.2, 0.5, 1.0, 1e9)
"""The buckets of a gap in a summary."""


class Taken(NamedTuple):
    """CPU seconds of a process, from its start to its end, and its memory at its highest."""

    cpu_s: float
    peak_mb: float


def whole_summary(store: Path) -> None:
    """Every section."""
    _summary(store, None)


def headline(store: Path) -> None:
    """The headline alone."""
    _summary(store, ["headline"])


def _summary(store: Path, sections: Sequence[str] | None) -> None:
    from misjudge_storage.engine import open_store
    from misjudge_tools.requests import SummarizeRequest
    from misjudge_tools.summarize_audit import summarize

    opened = open_store(store)
    summarize(SummarizeRequest(audit=AUDIT, sections=sections), opened)
    opened.close()


def pandas_table(store: Path) -> None:
    """One table: pairs and wrong picks by judge and gap."""
    import pandas

    pairs = pandas.read_csv(store.with_suffix(".csv"))
    pairs["bucket"] = pandas.cut(pairs["reward_gap"], GAPS)
    pairs.groupby(["judge", "bucket"], observed=True)["misselected"].agg(["size", "count", "sum"])


WAYS: Mapping[str, Callable[[Path], None]] = {
    "summary, all sections": whole_summary,
    "summary, headline": headline,
    "pandas, one table": pandas_table,
}


def measured(way: str, store: Path) -> Taken:
    """What this way takes in a fresh process."""
    command = [sys.executable, __file__, "--measure", way, str(store)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Taken(*json.loads(done.stdout))


def measure(way: str, store: Path) -> None:
    """Go this way in this process, and say what it took."""
    WAYS[way](store)
    print(json.dumps([process_time(), _peak_mb()]))


def _peak_mb() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts there what the parent held when it started this process
        (line,) = (line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def prepared(folder: Path, pairs: int) -> Path:
    """The store of so many pairs, and beside it their CSV."""
    store = folder / f"{pairs}.db"
    if not store.exists():
        fill(store, pairs)
    table = store.with_suffix(".csv")
    if not table.exists():
        with closing(sqlite3.connect(store)) as connection, table.open("w", newline="", encoding="utf-8") as file:
            rows = connection.execute("SELECT * FROM audit_pairs")
            writer = csv.writer(file)
            writer.writerow(column[0] for column in rows.description)
            writer.writerows(rows)
    return store


@contextmanager
def place(given: Path | None) -> Iterator[Path]:
    """The folder for the stores: one of ours that is removed at the end, unless one is given."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def main(numbers: Sequence[int], folder: Path | None) -> None:
    print("| pairs | way | CPU s | memory MB | against pandas |\n|---:|---|---:|---:|---:|")
    with place(folder) as where:
        for pairs in numbers:
            store = prepared(where, pairs)
            taken = {way: measured(way, store) for way in WAYS}
            table = taken["pandas, one table"]
            for way, (cpu_s, peak_mb) in taken.items():
                print(f"| {pairs:,} | {way} | {cpu_s:.2f} | {peak_mb:.0f} | {cpu_s / table.cpu_s:.1f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--smaller", default="100000,250000", help="measured before, to see that memory does not grow")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        measure(asked.measure[0], Path(asked.measure[1]))
    else:
        main([*map(int, filter(None, asked.smaller.split(","))), asked.pairs], asked.folder)
