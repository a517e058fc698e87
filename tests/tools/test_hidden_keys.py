"""No key of the configuration is in any file that is written, whoever said it, and however the file writes text."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from pydantic import SecretStr

from builders import episode, label, messages, pair, passed, satisfied, verdict
from label_browsing import at_the_page
from label_parts import AGENTS
from misjudge_storage.types import Judge, Log, Message, Record, Scale, Task, ToolCall
from misjudge_tools.export_records import export_records
from misjudge_tools.exporting.keys import HIDDEN, key_hider, without_keys
from misjudge_tools.exporting.sarif import shown
from misjudge_tools.file_requests import ExportRequest
from misjudge_tools.gateway.settings import SIMULATED_KEY, Endpoint
from misjudge_tools.labelling.review_requests import ReviewRequest, SheetOutRequest
from misjudge_tools.profiles import ModelSettings, Profile
from misjudge_tools.report.markdown import escaped
from misjudge_tools.review import review, sheet_out
from operations import keyed, opened, stored
from report_parts import written

KEYS = ("sk-proj_plain_0123456789", 'sk-"quoted"\\0123&<456>', "sk-längst/+0123456789==")
PLACES = {
    "audit_pairs": "out.csv", "gauge_runs": "out.csv", "judge_logs": "out.jsonl", "sarif": "out.sarif",
    "gauge_replay": "out", "parquet": "out", "dpo": "out", "kto": "out",
}  # fmt: skip


def leaking(key: str) -> list[Record]:
    """The key is all there is to say, in every text that may be anything."""
    judge = Judge(label=f"judge {key}", form="pairwise", model=key)
    scored = satisfied(0.9, Judge(label=key, form="gate", model=key, scale=Scale(low=0, high=1, threshold=0.5)))
    call = ToolCall(name="find", arguments=json.dumps({key: [key]}), id=key)

    def side(agent: str, done: bool, answer: str) -> Any:
        said = (
            Message(role="user", content=f"Use {key}."),
            Message(role="assistant", content=f"{answer} {key}", tool_calls=(call,)),
            Message(role="tool", content=key, tool_call_id=key, name=key),
        )
        return episode(agent, passed(done), task=f"t {key}", said=said, satisfaction=[scored])

    log = Log(
        role="judge", model=key, raw_output=json.dumps({"reason": key}), parsed_json=json.dumps({"reason": key}),
        params=f'{{ "spaced": {json.dumps(key)} }}', error=key, request_id=key,
    )  # fmt: skip
    one = pair(
        f"p {key}",
        side(f"x {key}", True, "Yes"),
        side(f"y {key}", False, "No"),
        verdict("B", "AB", judge=judge, reasons=key),
        gold=[label("A", key)],
        prompt=f"Task {key}",
        logs=[log],
    )
    return [one]


def forms(key: str) -> set[str]:
    """The key as one kind of file or another would write it."""
    spelled = (html.escape(key), quote(key, safe=""), shown(key), escaped(key), key.replace('"', '""'))
    as_json = (json.dumps(one, ensure_ascii=plain)[1:-1] for one in (key, shown(key)) for plain in (True, False))
    return {key, *spelled, *as_json}


def texts(out: Path) -> dict[str, str]:
    """What the files say, by name; a table of Parquet as its values."""
    files = [out] if out.is_file() else [path for path in out.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(out.parent)): str(pq.read_table(path).to_pylist())
        if path.suffix == ".parquet"
        else path.read_text(encoding="utf-8")
        for path in files
    }


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("kind", PLACES)
async def test_no_key_is_in_an_export(kind: str, key: str, tmp_path: Path) -> None:
    out = tmp_path / PLACES[kind]
    async with opened(tmp_path / "store.db", keyed("http://127.0.0.1:9", key)) as deps:
        stored(deps.store, leaking(key))
        await export_records(ExportRequest.model_validate({"audit": "a", "format": kind, "out": str(out)}), deps)
    found = texts(out)
    assert any(HIDDEN in text for text in found.values())
    for name, text in found.items():
        for form in forms(key):
            assert form not in text and form not in name, (name, text[:300])
        if name.endswith((".jsonl", ".sarif")):
            assert [json.loads(line) for line in (text.splitlines() if name.endswith(".jsonl") else [text])]


@pytest.mark.parametrize("key", KEYS)
async def test_no_key_is_in_the_tables_of_a_report(key: str, tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db", keyed("http://127.0.0.1:9", key)) as deps:
        stored(deps.store, leaking(key))
        await written(deps, tmp_path / "out", formats=["csv", "json"])
    for name, text in texts(tmp_path / "out").items():
        assert not [form for form in forms(key) if form in text], name


@pytest.mark.parametrize("key", [*KEYS, f"sk-{AGENTS[0]}-0123456789"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
async def test_no_key_is_in_what_a_person_labels(key: str, suffix: str, tmp_path: Path) -> None:
    """Nor where a key holds the name of an agent, or such a name a key: names are masked."""
    out = tmp_path / f"sheet{suffix}"
    a, b = [episode(name, said=messages("Hi.", f"I am {name}, {key}")) for name in AGENTS]
    task = Task(task_id="t1", prompt=key, success_criteria=key, hard_constraints=key)
    told = [one.model_copy(update={"gold": (), "line": 2}) for one in leaking(key)]
    async with opened(tmp_path / "store.db", keyed("http://127.0.0.1:9", key)) as deps:
        stored(deps.store, [pair("p", a, b).model_copy(update={"task": task}), *told], "a")
        await sheet_out(SheetOutRequest(audit="a", reviewer="ann", path=str(out), pairs=2), deps)
        [sheet] = texts(out).values()
        shown = [sheet]
        for _ in range(2):
            one = await review(ReviewRequest(audit="a", reviewer="ann"), deps)
            assert one.pair is not None
            async with at_the_page(deps) as person:
                shown += [(await person.get()).text, one.model_dump_json(), *one.pair.model_dump().values()]
            await review(ReviewRequest(audit="a", reviewer="ann", pair=one.pair.pair, pref="A"), deps)
    assert sheet.count(HIDDEN) >= 9
    for text in filter(None, shown):
        assert not [form for form in forms(key) if form in text], text[:300]


def test_keys_of_all_profiles_are_hidden_but_no_short_word_and_not_the_simulated_one() -> None:
    def profile(key: str) -> Profile:
        return Profile(model="m", endpoint=Endpoint(base_url="http://127.0.0.1:9", key=SecretStr(key)))

    models = ModelSettings(
        roles={"judge": profile("sk-0123456789"), "agent": profile("short")},
        profiles={"strong": profile(" sk-0123456789-longer\n"), "made up": profile(SIMULATED_KEY)},
    )
    hide = key_hider(models)
    said = f"sk-0123456789-longer sk-0123456789 short {SIMULATED_KEY}"
    assert hide(said) == f"{HIDDEN} {HIDDEN} short {SIMULATED_KEY}"
    assert without_keys({"sk-0123456789": [said, 1, None, ("sk-0123456789", frozenset({said}))]}, hide) == {
        HIDDEN: [hide(said), 1, None, (HIDDEN, frozenset({hide(said)}))],
    }
    assert key_hider(ModelSettings())(said) == said
