"""`import_records`: all of a call's files or none, and never twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import rubricbench_rows
from misjudge_storage.errors import BadRecords, Conflict, InvalidInput, MisjudgeError
from misjudge_tools.deps import Deps
from misjudge_tools.import_records import import_records
from misjudge_tools.requests import ImportRequest
from misjudge_tools.results import ImportResult
from operations import NOWHERE, count, dump, opened, rows

CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Done"}]
PAIRS_HEADER = "pair_id,task_id,agent_a,agent_b,gold_pref,judge_pref,judge_score_a,judge_score_b,judge_cost"
PAIRS = f"{PAIRS_HEADER}\np1,t1,x,y,A,A,4,2,0.01\np2,t2,x,y,B,A,3,1,0.02\n"


def json_lines(*records: Mapping[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def bench(pair_id: str, label: str, *decisions: str) -> dict[str, Any]:
    judgments = [{"decision": said, "judgment": {"judge_model": "m"}} for said in decisions]
    known = {
        "original_id": pair_id,
        "source": "s",
        "response_model": "r",
        "judge_name": "arena",
        "judgments": judgments,
    }
    return {
        "pair_id": pair_id,
        "question": f"Q {pair_id}",
        "response_A": "1",
        "response_B": "2",
        "label": label,
        **known,
    }


LLMBAR = [{"input": "Add 2 and 2.", "output_1": "4", "output_2": "5", "label": 1}]
LLMBAR_SAID = {"swap = False": {"winner": "1"}, "swap = True": {"winner": "2"}}
SESSION = {
    "problem_id": 1,
    "model": "tutor",
    "user_queries": ["Why?"],
    "ai_responses": ["So."],
    "overall_rating": 9,
    "problem_1_correctness": "correct",
}
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "table": ("t.csv", "prompt,a,b,winner,gold\nQ1,yes,no,1,2\nQ2,yes,no,2,2\n", {"values": ["1=A,2=B"]}),
    "pairs": ("pairs.csv", PAIRS, {}),
    "replay": (
        "replay.jsonl",
        json_lines(
            {"pair_id": "p", "agent_left": "x", "agent_right": "y", "blind_order": "A=left", "judge_choice": "A"},
            {"pair_id": "p", "agent_left": "x", "agent_right": "y", "blind_order": "A=right", "judge_choice": "A"},
        ),
        {},
    ),
    "gauge-runs": ("runs.csv", "run_id,satisfaction,task_success\nr1,0.9,1\nr2,0.9,0\n", {}),
    "judge-logs": ("logs.jsonl", json_lines({"role": "judge", "model": "m"}, {"role": "agent", "model": "m"}), {}),
    "trajectories": ("t.jsonl", json_lines({"task_id": "t", "agent": "x", "messages": CHAT, "success": True}), {}),
    "llmbar": ("Natural/dataset.json", json.dumps(LLMBAR), {}),
    "simulatorarena": ("sim.json", json.dumps([SESSION]), {}),
    "tau-bench": (
        "gpt.json",
        json.dumps([{"task_id": 0, "trial": n, "reward": 1.0, "traj": CHAT} for n in range(2)]),
        {"agent": "gpt"},
    ),
    "gauge-table": ("agents.csv", "agent,r,g\na,0.1,1\nb,0.2,2\n", {"reward_col": "r", "gate_col": ["g:rank"]}),
    "judgebench": ("bench.jsonl", json_lines(bench("p1", "A>B", "A>B", "A>B"), bench("p2", "B>A", "B>A")), {}),
    "rubricbench": ("rules.jsonl", json_lines(*rubricbench_rows.rows(2)), {}),
}


def write(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def written(folder: Path, kind: str) -> ImportRequest:
    """A small file of this format, and the request that imports it."""
    name, content, options = CASES[kind]
    path = write(folder, name, content)
    if kind == "llmbar":
        judged = json.dumps([{**LLMBAR[0], "results": [LLMBAR_SAID]}])
        write(folder, "Natural/evaluators/M/P/result.json", judged)
        path = str(folder)
    return ImportRequest.model_validate({"audit": "a", "format": kind, "paths": [path], **options})


async def bring(deps: Deps, kind: str, *paths: str, **options: Any) -> ImportResult:
    given = {"audit": "a", "format": kind, "paths": list(paths), **options}
    return await import_records(ImportRequest.model_validate(given), deps)


@pytest.mark.parametrize("kind", CASES)
async def test_importing_again_changes_nothing(deps: Deps, tmp_path: Path, kind: str) -> None:
    request = written(tmp_path, kind)
    first = await import_records(request, deps)
    (report,) = first.files
    assert report.records >= 1 and sum(report.added.values()) >= 2 - (kind == "llmbar")
    assert (report.left_out, report.problems, first.next) == (0, (), "summarize_audit(audit='a')")
    before = dump(deps.store)
    again = await import_records(request, deps)
    assert again.files[0].records == report.records
    assert sum(again.files[0].added.values()) == 0
    assert dump(deps.store) == before
    assert count(deps.store, "imports") == 1


@pytest.mark.parametrize("kind", CASES)
async def test_a_wrong_format_is_named_and_nothing_is_stored(deps: Deps, tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, "other.csv", "colour,size\nred,3\n")
    before = dump(deps.store)
    request = written(tmp_path / "there", kind).model_copy(update={"paths": [path]})
    with pytest.raises(InvalidInput) as refused:
        await import_records(request, deps)
    assert len(str(refused.value)) < 700
    assert dump(deps.store) == before


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize(
    "content", [b"", b"  \n", b"\xff\xfe\x00broken", b"pair_id,a\n\xff\xff,1\n", b"\x00\x01\x02", b"{", b"[1, 2"]
)
async def test_a_file_that_is_empty_or_not_text_or_broken_leaves_the_store_unchanged(
    deps: Deps, tmp_path: Path, kind: str, content: bytes
) -> None:
    await import_records(written(tmp_path / "good", kind), deps)
    before = dump(deps.store)
    request = written(tmp_path / "bad", kind)
    path = Path(request.paths[0])
    (path / "Natural" / "dataset.json" if path.is_dir() else path).write_bytes(content)
    with pytest.raises(InvalidInput) as refused:
        await import_records(request, deps)
    assert str(refused.value).strip() and "\n\n" not in str(refused.value)
    assert dump(deps.store) == before


async def test_a_missing_file_a_folder_and_a_device_are_refused(deps: Deps, tmp_path: Path) -> None:
    before = dump(deps.store)
    for path, said in (
        (str(tmp_path / "no.csv"), "does not exist"),
        (str(tmp_path), "is a folder"),
        (os.devnull, "not a regular file" if sys.platform != "win32" else ""),
        ("a\0b.csv", "does not exist"),
    ):
        with pytest.raises(InvalidInput, match=said):
            await bring(deps, "pairs", path)
    assert dump(deps.store) == before


async def test_equal_complaints_about_bad_records_are_joined_and_nothing_is_imported(
    deps: Deps, tmp_path: Path
) -> None:
    lines = [PAIRS_HEADER, *(f"p{n},t{n},x,y,A,{'A' if n % 2 else 'maybe'},,," for n in range(30))]
    path = write(tmp_path, "pairs.csv", "\n".join(lines))
    before = dump(deps.store)
    with pytest.raises(BadRecords) as refused:
        await bring(deps, "pairs", path)
    said = str(refused.value)
    assert said.startswith("pairs.csv: 15 records cannot be read, so nothing was imported.")
    assert refused.value.total == 15
    assert said.endswith("\n  lines 2, 4, 6 and 12 more: judge_pref must be A, B, tie, or empty")
    assert "maybe" not in said
    assert dump(deps.store) == before


async def test_skip_bad_imports_the_rest_and_records_what_was_left_out(deps: Deps, tmp_path: Path) -> None:
    lines = [PAIRS_HEADER, *(f"p{n},t{n},x,y,A,{'A' if n % 2 else 'maybe'},,," for n in range(30))]
    path = write(tmp_path, "pairs.csv", "\n".join(lines))
    (report,) = (await bring(deps, "pairs", path, skip_bad=True)).files
    assert (report.records, report.left_out, len(report.problems)) == (15, 15, 1)
    (kept,) = rows(deps.store, "SELECT records, skipped, problems_json, source, format FROM imports")
    assert (kept["records"], kept["skipped"], kept["source"], kept["format"]) == (15, 15, "pairs.csv", "pairs")
    problems = json.loads(kept["problems_json"])
    assert [line.split(":")[0] for line in problems] == [f"line {n}" for n in range(2, 32, 2)]
    assert count(deps.store, "pairs") == 15


async def test_a_file_of_bad_records_only_is_refused_also_with_skip_bad(deps: Deps, tmp_path: Path) -> None:
    path = write(tmp_path, "pairs.csv", f"{PAIRS_HEADER}\np,t,x,y,A,maybe,,,\n")
    before = dump(deps.store)
    with pytest.raises(InvalidInput, match=r"pairs\.csv holds no record that can be read as pairs"):
        await bring(deps, "pairs", path, skip_bad=True)
    assert dump(deps.store) == before


async def test_one_bad_file_of_several_keeps_all_of_them_out(deps: Deps, tmp_path: Path) -> None:
    good = write(tmp_path, "good.csv", PAIRS)
    bad = write(tmp_path, "bad.csv", f"{PAIRS_HEADER}\np9,t9,x,y,A,maybe,,,\n")
    before = dump(deps.store)
    for paths in ((good, bad), (bad, good), (good, str(tmp_path / "missing.csv"))):
        with pytest.raises(InvalidInput):
            await bring(deps, "pairs", *paths)
        assert dump(deps.store) == before
    other = write(tmp_path, "more.csv", f"{PAIRS_HEADER}\np9,t9,x,y,A,B,,,\n")
    result = await bring(deps, "pairs", good, other)
    assert [report.source for report in result.files] == ["good.csv", "more.csv"]
    assert count(deps.store, "pairs") == 3


@pytest.mark.parametrize(
    "line",
    [
        "p1,t1,x,y,A,B,4,2,0.01",  # another verdict
        "p1,t1,x,y,B,A,4,2,0.01",  # another label
        "p1,t1,x,z,A,A,4,2,0.01",  # another agent
        "p1,t9,x,y,A,A,4,2,0.01",  # another task
        "p1,t1,x,y,A,A,4,3,0.01",  # another score
    ],
)
async def test_a_pair_id_that_comes_again_with_other_content_is_refused(deps: Deps, tmp_path: Path, line: str) -> None:
    twice = write(tmp_path, "twice.csv", f"{PAIRS}{line}\n")
    empty = dump(deps.store)
    with pytest.raises(Conflict, match=r"twice(\.csv)?, line 4: .*nothing was imported"):
        await bring(deps, "pairs", twice)
    assert dump(deps.store) == empty
    await bring(deps, "pairs", write(tmp_path, "first.csv", PAIRS))
    before = dump(deps.store)
    later = write(tmp_path, "later.csv", f"{PAIRS_HEADER}\np7,t7,x,y,A,B,,,\n{line}\n")
    with pytest.raises(Conflict, match=r"later(\.csv)?, line 3: .*nothing was imported"):
        await bring(deps, "pairs", later)
    assert dump(deps.store) == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("p,t,x,y,A,A,nan,2,", "finite number, not NaN"),
        ("p,t,x,y,A,A,inf,2,", "finite number, not NaN"),
        ("p,t,x,y,A,A,4,99,", "judge_score_b must be from 0 to 5"),
        ("p,t,x,y,A,A,-1,2,", "judge_score_a must be from 0 to 5"),
        ("p,t,x,y,A,A,4,2,-0.1", "judge_cost must be 0 or more"),
        ("p,t,x,x,A,A,4,2,", "both sides are the same trajectory"),
        (",t,x,y,A,A,4,2,", "pair_id is missing or empty"),
    ],
)
async def test_values_that_cannot_be_are_named_with_their_line(
    deps: Deps, tmp_path: Path, line: str, said: str
) -> None:
    path = write(tmp_path, "pairs.csv", f"{PAIRS}{line}\n")
    before = dump(deps.store)
    with pytest.raises(BadRecords, match=f"(?s)1 record cannot be read.*line 4: .*{said}"):
        await bring(deps, "pairs", path)
    assert dump(deps.store) == before


@pytest.mark.parametrize(
    ("kind", "option", "said"),
    [
        ("pairs", {"map": ["a=x"]}, r"--map belongs to table, not to pairs"),
        ("pairs", {"per_response": True}, r"--per-response belongs to table"),
        ("llmbar", {"dry_run": True}, r"--dry-run belongs to table"),
        ("llmbar", {"scale": "1-7"}, r"--scale belongs to table and pairs and replay and gauge-runs, not to llmbar"),
        ("table", {"agent": "x"}, r"--agent belongs to tau-bench and trajectories"),
        ("tau-bench", {"gap_source": "reward"}, r"--gap-source belongs to pairs"),
        ("replay", {"score_range": "0-10"}, r"--score-range belongs to table and pairs"),
        ("judgebench", {"gate_col": ["g"]}, r"--gate-col belongs to gauge-table"),
        ("gauge-table", {}, r"needs --reward-col COLUMN and --gate-col COLUMN"),
        ("gauge-table", {"reward_col": "r"}, r"needs --reward-col COLUMN and --gate-col COLUMN"),
        ("table", {"map": ["colour=x"]}, r"colour"),
        ("pairs", {"scale": "1-5"}, r"needs a threshold"),
    ],
)
async def test_options_of_another_format_and_unusable_ones_are_refused(
    deps: Deps, tmp_path: Path, kind: str, option: dict[str, Any], said: str
) -> None:
    request = written(tmp_path, kind)
    before = dump(deps.store)
    with pytest.raises(InvalidInput, match=said):
        await bring(deps, kind, *request.paths, **option)
    assert dump(deps.store) == before


def test_unknown_arguments_formats_and_names_are_refused() -> None:
    good: dict[str, Any] = {"audit": "a", "format": "pairs", "paths": ["x"]}
    changes: tuple[dict[str, Any], ...] = (
        {"format": "excel"},
        {"paths": []},
        {"audit": ""},
        {"audit": "a/b"},
        {"mapping": ["a=x"]},
    )
    for change in changes:
        with pytest.raises(ValidationError):
            ImportRequest.model_validate({**good, **change})


async def test_options_reach_their_readers(deps: Deps, tmp_path: Path) -> None:
    header = "pair_id,judge_pref,judge_score_a,judge_score_b,user_sat_a,reward_gap"
    path = write(tmp_path, "pairs.csv", f"{header}\np,A,9,7,6,0.05\n")
    await bring(deps, "pairs", path, scale="1-7", score_range="0-10", gap_source="ability")
    assert rows(deps.store, "SELECT score_a FROM verdicts WHERE pair_id = 'p'") == [{"score_a": 9.0}]
    assert rows(deps.store, "SELECT threshold FROM judges WHERE form = 'satisfaction'") == [{"threshold": 5.0}]
    assert rows(deps.store, "SELECT gap_source, reward_gap FROM pairs") == [
        {"gap_source": "ability", "reward_gap": 0.05}
    ]
    chat = write(tmp_path, "chat.jsonl", json_lines({"task_id": "t", "messages": CHAT}))
    await bring(deps, "trajectories", chat, agent="named here")
    assert count(deps.store, "trajectories", "agent = 'named here'") == 1


async def test_importing_one_file_with_other_options_is_an_import_of_its_own(deps: Deps, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "prompt,a,b,gpt,llama\nQ1,yes,no,A,B\nQ2,yes,no,B,B\n")
    columns = {"map": ["prompt=prompt", "a=a", "b=b"]}
    for winner in ("gpt", "llama"):
        await bring(deps, "table", path, **{"map": [*columns["map"], f"winner={winner}"]})
    assert (count(deps.store, "imports"), count(deps.store, "pairs"), count(deps.store, "verdicts")) == (2, 2, 4)


async def test_a_dry_run_shows_the_mapping_and_stores_nothing(deps: Deps, tmp_path: Path) -> None:
    request = written(tmp_path, "table")
    other = write(tmp_path, "other/t.csv", "prompt,a,b,winner\nQ,yes,no,A\n")
    before = dump(deps.store)
    result = await bring(deps, "table", *request.paths, other, dry_run=True, values=["1=A,2=B"])
    assert result.preview is not None and list(result.preview) == [*request.paths, other]
    shown = result.preview[request.paths[0]]
    assert (shown["kind"], len(shown["rows"])) == ("csv", 2)
    assert [(file.records, file.added) for file in result.files] == [(2, {}), (1, {})]
    assert result.next is not None and "without dry_run" in result.next
    assert dump(deps.store) == before
    json.dumps(result.model_dump(mode="json"))


LINKS = pytest.mark.skipif(sys.platform == "win32", reason="making symbolic links needs a privilege on Windows")


@pytest.fixture
async def confined(tmp_path: Path) -> Any:
    """Operations that may only read files under `inside`."""
    inside = tmp_path / "inside"
    inside.mkdir()
    async with opened(tmp_path / "s.db", NOWHERE, roots=(inside,)) as made:
        yield made


@LINKS
async def test_files_are_read_only_under_the_allowed_folders(
    confined: Deps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "inside-not"
    secret = write(outside, "pairs.csv", PAIRS)
    good = write(inside, "pairs.csv", PAIRS)
    (inside / "link.csv").symlink_to(secret)
    (inside / "linked").symlink_to(outside)
    before = dump(confined.store)
    monkeypatch.chdir(inside)
    for path in (
        secret,
        str(inside / ".." / "inside-not" / "pairs.csv"),
        "../inside-not/pairs.csv",
        str(inside / "link.csv"),
        str(inside / "linked" / "pairs.csv"),
        "/etc/hostname",
        str(tmp_path / "nowhere.csv"),
    ):
        with pytest.raises(InvalidInput, match=r"is outside the folders that may be read.*MISJUDGE_ROOTS"):
            await bring(confined, "pairs", path)
        with pytest.raises(InvalidInput, match="is outside the folders"):
            await bring(confined, "table", path, dry_run=True)
        with pytest.raises(InvalidInput, match="is outside the folders"):
            await bring(confined, "pairs", good, path)
    assert dump(confined.store) == before
    (inside / "fine.csv").symlink_to(good)
    (inside / "x").mkdir()
    for path in ("pairs.csv", good, str(inside / "x" / ".." / "pairs.csv"), str(inside / "fine.csv")):
        await bring(confined, "pairs", path)
    assert count(confined.store, "pairs") == 2


@LINKS
async def test_a_folder_whose_links_lead_outside_is_refused(confined: Deps, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    request = written(outside, "llmbar")
    assert request.paths == [str(outside)]
    (inside / "Natural").mkdir()
    data = inside / "Natural" / "dataset.json"
    data.symlink_to(outside / "Natural" / "dataset.json")
    with pytest.raises(InvalidInput, match=r"Natural/dataset\.json is outside the folders"):
        await bring(confined, "llmbar", str(inside))
    data.unlink()
    data.write_text(json.dumps(LLMBAR), encoding="utf-8")
    # Through a folder inside the root that itself leads outside.
    (inside / "judges").mkdir()
    (inside / "judges" / "M").symlink_to(outside / "Natural" / "evaluators" / "M")
    (inside / "Natural" / "evaluators").symlink_to(inside / "judges")
    with pytest.raises(InvalidInput, match="is outside the folders"):
        await bring(confined, "llmbar", str(inside / "Natural"))
    (inside / "judges" / "M").unlink()
    # A folder that links to itself is walked once.
    (inside / "judges" / "loop").symlink_to(inside / "judges")
    assert (await bring(confined, "llmbar", str(inside / "Natural"))).files[0].records == 1
    with pytest.raises(MisjudgeError):
        await bring(confined, "llmbar", str(outside))


MEMORY_BYTES = 300_000_000
_IMPORT = """
import asyncio, sys
from peak_memory import peak_bytes
from pathlib import Path
from misjudge_tools.import_records import import_records
from misjudge_tools.requests import ImportRequest
from operations import opened

async def main():
    async with opened(Path(sys.argv[1])) as deps:
        result = await import_records(ImportRequest(audit="big", format="table", paths=[sys.argv[2]]), deps)
    return result.files[0].records

records = asyncio.run(main())
print(records, peak_bytes())
"""


def large_table() -> Iterator[str]:
    """Rows of about 10 kB."""
    yield "prompt,a,b,winner,gold,score_a,score_b\n"
    for number in range(20_000):
        said = f"{number} order " * 450
        yield f'task {number},"{said}","{said}!",{"AB"[number % 2]},{"AB"[number % 3 == 0]},4,2\n'


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module")
@pytest.mark.timeout(600)
def test_a_table_of_200_mb_is_imported_in_less_than_300_mb_of_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("w", encoding="utf-8") as handle:
        handle.writelines(large_table())
    assert path.stat().st_size > 200_000_000
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT, str(tmp_path / "s.db"), str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    records, peak = map(int, done.stdout.split())
    assert records == 20_000
    assert peak < MEMORY_BYTES, f"{peak / 1e6:.0f} MB"


async def test_a_table_in_which_no_verdict_has_a_meaning_is_refused_with_the_way_on(deps: Deps, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("prompt,a,b,winner\nq,x,y,1\nq2,x,y,2\n", encoding="utf-8")
    request = ImportRequest(audit="a", format="table", paths=[str(path)])
    said = r"log\.csv holds as winner is not understood \(2 of the 2 cells of 'winner': '1' \(1\), '2' \(1\)\)"
    with pytest.raises(InvalidInput, match=f"{said}.*--values '1=…,2=…'"):
        await import_records(request, deps)
    assert count(deps.store, "audits") == 0, "the name is free for the corrected import"
    result = await import_records(request.model_copy(update={"values": ["1=A"]}), deps)
    assert result.files[0].unscored == 1


@pytest.mark.parametrize(("order", "verdicts"), [("AB", 3), ("", 1)])
async def test_a_row_that_stands_twice_is_a_repeat_where_the_order_of_its_pair_is_known(
    tmp_path: Path, deps: Deps, order: str, verdicts: int
) -> None:
    file = tmp_path / "repeats.csv"
    file.write_text("pair_id,prompt,a,b,order,winner,gold\n" + 3 * f"p1,q1,x,y,{order},A,A\n", encoding="utf-8")
    request = ImportRequest(audit="a", format="table", paths=[str(file)])
    for _ in range(2):  # again is the same
        await import_records(request, deps)
        assert count(deps.store, "verdicts") == verdicts
        assert count(deps.store, "pairs") == 1


async def test_repeats_of_a_pair_with_an_id_may_differ(tmp_path: Path, deps: Deps) -> None:
    file = tmp_path / "repeats.csv"
    lines = "".join(f"p1,q1,x,y,AB,{winner},A,gpt\n" for winner in ("A", "B", "A"))
    file.write_text(f"pair_id,prompt,a,b,order,winner,gold,judge\n{lines}", encoding="utf-8")
    await import_records(ImportRequest(audit="a", format="table", paths=[str(file)]), deps)
    assert sorted(row["winner"] for row in rows(deps.store, "SELECT winner FROM verdicts")) == ["A", "A", "B"]
