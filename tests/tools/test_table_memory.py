"""A file of 200 MB is read in less than 300 MB of memory, whatever its kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FILE_BYTES = 200_000_000
MEMORY_BYTES = 300_000_000
_READ = """
import sys
from peak_memory import peak_bytes
from pathlib import Path
from misjudge_tools.interchange.table import parse_mapping, read_table
count = sum(1 for _ in read_table(Path(sys.argv[1]), parse_mapping((), (), sys.argv[2] == "responses")))
print(count, peak_bytes())
"""


def pairs() -> Iterator[dict[str, Any]]:
    for number in range(FILE_BYTES):
        text = f"{number} " * 500
        yield {"prompt": f"task {number}", "a": text, "b": text + "!", "winner": "A", "score_a": 2, "score_b": 1}


def responses() -> Iterator[dict[str, Any]]:
    """Four responses a task, of which the later ones stand far behind the first."""
    for number in range(FILE_BYTES):
        yield {"task": f"t{number % 7000}", "agent": f"a{number}", "response": f"{number} " * 1000, "score": number}


def write(path: Path, rows: Iterator[dict[str, Any]], start: str, separator: str, end: str) -> int:
    with path.open("w", encoding="utf-8") as handle:
        handle.write(start)
        for number, row in enumerate(rows):
            if handle.tell() > FILE_BYTES:
                break
            cells = ",".join(f'"{value}"' for value in row.values())
            handle.write((separator if number else "") + (cells if path.suffix == ".csv" else json.dumps(row)))
        handle.write(end)
    return number


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "start", "separator", "end"),
    [
        ("pairs.csv", "prompt,a,b,winner,score_a,score_b\n", "\n", "\n"),
        ("pairs.jsonl", "", "\n", "\n"),
        ("pairs.json", "[", ",", "]"),
        ("responses.jsonl", "", "\n", "\n"),
    ],
)
def test_a_file_of_200_mb_streams(tmp_path: Path, name: str, start: str, separator: str, end: str) -> None:
    path = tmp_path / name
    of_responses = path.stem == "responses"
    written = write(path, responses() if of_responses else pairs(), start, separator, end)
    assert path.stat().st_size > FILE_BYTES
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path), path.stem],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    count, peak = map(int, done.stdout.split())
    path.unlink()
    assert count > written if of_responses else count == written
    assert peak < MEMORY_BYTES, f"{peak / 1e6:.0f} MB"
