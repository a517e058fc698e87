"""The folder `gauge_replay/`: tasks, transcripts by agent, judged orders, and the reports on them.

`agents/*.jsonl` are read by `import --format trajectories`, `pairs/pair_results.jsonl` by `--format replay`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from misjudge_storage.export_rows import Rows, agents, call_rows, episode_rows, task_rows
from misjudge_storage.hashing import digest
from misjudge_tools.exporting.json_lines import write_jsonl
from misjudge_tools.exporting.keys import Hide, hidden
from misjudge_tools.exporting.writing import Part
from misjudge_tools.interchange.written_names import DEVICES

_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,79}(?<!\.)")
_SIDES: Final = {"A": "left", "B": "right"}


def write_gauge_replay(
    folder: Path, connection: Connection, audit_id: str, reports: Mapping[str, str], hide: Hide
) -> Sequence[Part]:
    """Write all parts into an empty folder. `reports` are texts by file name, for `reports/`, in which no key is any
    more. Raises OSError.
    """
    for name in ("agents", "pairs", "reports"):
        (folder / name).mkdir()
    tasks = hidden(task_rows(connection, audit_id), hide)
    found = [Part("tasks.jsonl", write_jsonl(folder / "tasks.jsonl", tasks))]
    for agent, name in file_names(agents(connection, audit_id)).items():
        file, rows = hide(name), hidden(_episodes(connection, audit_id, agent), hide)
        found.append(Part(f"agents/{file}", write_jsonl(folder / "agents" / file, rows)))
    results = folder / "pairs" / "pair_results.jsonl"
    found.append(Part("pairs/pair_results.jsonl", write_jsonl(results, hidden(_calls(connection, audit_id), hide))))
    for name, written in reports.items():
        (folder / "reports" / name).write_text(written, encoding="utf-8", newline="\n")
        found.append(Part(f"reports/{name}", written.count("\n")))
    return found


def file_names(names: Sequence[str]) -> Mapping[str, str]:
    """A file name for each agent: its own where every system takes it and no other agent has it, in whatever case."""
    files: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = _PLAIN.fullmatch(name) is not None and DEVICES.fullmatch(name) is None
        file = name if plain and name.lower() not in taken else _made_up(name)
        taken.add(file.lower())
        files[name] = f"{file}.jsonl"
    return files


def _made_up(name: str) -> str:
    start = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:40]
    return f"{start or 'agent'}-{digest('agt', name)[-8:]}"


def _episodes(connection: Connection, audit_id: str, agent: str) -> Rows:
    with closing(episode_rows(connection, audit_id, agent)) as rows:
        for row in rows:
            messages = json.loads(row.pop("messages_json"))
            yield {**row, "messages": messages}


def _calls(connection: Connection, audit_id: str) -> Rows:
    """A letter means nothing where the order is not known, so these rows name the side."""
    with closing(call_rows(connection, audit_id)) as rows:
        for row in rows:
            winner = row.pop("winner")
            yield row if row["blind_order"] else {**row, "judge_choice": _SIDES.get(winner, winner)}
