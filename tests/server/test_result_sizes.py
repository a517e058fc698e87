"""Every tool on a store that is large in every direction: no result above 9 kB, and what is left out can be fetched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from builders import JUDGE, episode, label, pair, passed, verdict
from misjudge_server.app import LazyDeps, build_app
from misjudge_server.doctor.findings import SetupReport, finding
from misjudge_server.fitting import LIMIT, as_sent, size_of
from misjudge_server.tool_table import TOOLS
from misjudge_storage.run_records import create_run
from misjudge_storage.types import Check, Log, Message, Order, Preference, Record, Rule
from misjudge_tools.deps import Deps
from misjudge_tools.judging.choice import JudgingSpec
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.runs.spec import RunSpec
from misjudge_tools.summarize_audit import summarize_audit
from misjudge_tools.summary.parts import PARTS, RUBRICS
from operations import opened, stored


class Scale(NamedTuple):
    pairs: int
    judges: int
    subsets: int
    runs: int


AUDIT = "a long name 长名字" * 7
ELSEWHERE = {"probe_judge", "export_records", "write_report", "review", "check_setup"}
"""Tools that the first test leaves to the second."""
LONG = "取消订单 4417，谢谢您的耐心等待！😀 " * 800


JUDGED = JudgingSpec(kind="gateway", model=LONG[:400], form="pairwise", language="en")
SPEC = RunSpec(judges=(JUDGED,)).model_dump_json()


def long_pair(number: int, judges: int = 1, subsets: int = 1) -> Record:
    """A pair with long transcripts that every judge decided in both orders; every other judge is often wrong."""
    said = (Message(role="user", content=LONG), Message(role="assistant", content=f"{number} {LONG}"))
    evidence = Check(verifier="state", source="verifier", passed=True, evidence=LONG)
    a = episode("甲", evidence, task=f"t{number}", said=said)
    b = episode("乙", passed(False), task=f"t{number}", said=(*said, *said))
    orders: tuple[Order, Order] = ("AB", "BA")
    verdicts = [
        verdict(
            _winner(number, judge),
            order,
            judge=JUDGE.model_copy(update={"label": f"judge {judge} 号裁判", "model": f"m{judge}"}),
        )
        for judge in range(judges)
        for order in orders
    ]
    logs = [Log(model="m", raw_output=LONG, parsed_json=json.dumps({"reasons": LONG}))] if number == 0 else []
    gold = [label("A", f"annotator {n}") for n in range(8)]
    record = pair(f"pair {number} 对", a, b, *verdicts, gold=gold, logs=logs, prompt=LONG, trial=0, reward_gap=0.01)
    task = record.task
    assert task is not None
    rules = tuple(Rule(text=f"Rule {n} 规则: {LONG[:300]}", hard=n == 0, high_level=n == 1) for n in range(6))
    subset = {"subset": f"subset {number % subsets} 子集"}
    return record.model_copy(update={"task": task.model_copy(update=subset), "rubric": rules})


def _winner(number: int, judge: int) -> Preference:
    return "B" if judge % 2 and number % 3 else "A"


def fill(deps: Deps, scale: Scale) -> None:
    pairs = (long_pair(n, scale.judges, scale.subsets) for n in range(scale.pairs))
    audit_id = stored(deps.store, pairs, AUDIT)
    with deps.store.write() as connection:
        for _ in range(scale.runs):
            create_run(connection, audit_id, "judge", SPEC, None, [])


def uris(result: dict[str, Any]) -> Iterator[str]:
    """Addresses that a result names."""
    for value in result.values():
        if isinstance(value, str) and value.startswith("misjudge://"):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, str) and item.startswith("misjudge://"))


class Asked(NamedTuple):
    """A session, and the size of each result that it got."""

    session: Client
    sizes: dict[str, int]

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.session.call_tool(tool, arguments)
        assert not result.is_error, result.content
        structured: dict[str, Any] | None = result.structured_content
        assert structured is not None
        self.sizes[f"{tool} {arguments}"] = size_of(structured)
        return structured


@pytest.mark.parametrize("scale", [Scale(12, 4, 3, 30), pytest.param(Scale(60, 15, 12, 60), marks=pytest.mark.slow)])
async def test_no_result_is_larger_than_every_client_takes(deps: Deps, tmp_path: Path, scale: Scale) -> None:
    fill(deps, scale)
    async with Client(build_app(LazyDeps(deps))) as session:
        asked = Asked(session, {})
        await summarized(asked, scale)
        await read(asked, scale)
        judged = await asked.ask("judge", audit=AUDIT, judge="simulated")
        assert judged["run"]["total"] == 2 * scale.pairs
        await scored_by_rubrics(asked, deps)
        await imported(asked, tmp_path)
    assert {call.partition(" ")[0] for call in asked.sizes} == set(TOOLS) - ELSEWHERE
    assert {call[:150]: size for call, size in asked.sizes.items() if size > LIMIT} == {}


async def summarized(asked: Asked, scale: Scale) -> None:
    whole = await asked.ask("summarize_audit", audit=AUDIT)
    assert whole["left_out"]["judges"] == scale.judges * (scale.subsets + 1) - len(whole["judges"])
    assert "judge=LABEL" in whole["left_out_next"]
    one = await asked.ask("summarize_audit", audit=AUDIT, judge="judge 3 号裁判")
    assert one["misselection"]["n"] == 2 * scale.pairs
    await asked.ask("summarize_audit", audit=AUDIT, sections=["misselection"])
    unknown = await asked.session.call_tool("summarize_audit", {"audit": AUDIT, "judge": LONG})
    assert unknown.is_error
    assert size_of(unknown.content[0].model_dump()) < LIMIT


async def read(asked: Asked, scale: Scale) -> None:
    listed = await asked.ask("runs")
    assert listed["runs_left_out"] == scale.runs - 20
    assert listed.get("left_out", {}).get("runs", 0) == 20 - len(listed["runs"])
    audits = await asked.ask("read_record", uri="misjudge://audits")
    assert audits["record"]["audits"][0]["pairs"] == scale.pairs
    facts = await asked.ask("read_record", uri=f"misjudge://audits/{AUDIT}")
    assert facts["record"]["counts"]["verdicts"] == 2 * scale.pairs * scale.judges
    shown = await asked.ask("read_record", uri=f"misjudge://audits/{AUDIT}/pairs/pair 0 对")
    for uri in uris(shown["record"]):
        linked = await asked.ask("read_record", uri=uri)
        assert linked["record"]


async def scored_by_rubrics(asked: Asked, deps: Deps) -> None:
    writers = [f"simulated:hits=0.{n},invents=0.5,seed={n}" for n in range(1, 5)]
    matchers = ["simulated:misses=0.4", "simulated:overmatches=0.4"]
    work = {"audit": AUDIT, "judge": "simulated", "samples": 6}
    measured = await asked.ask("score_rubrics", **work, writers=writers, matchers=matchers, batch=True)
    assert (measured["run"]["state"], len(measured["judges"])) == ("done", 6)
    assert all(measured["rubrics"][name] for name in ("advice", "writers", "gaps", "accuracy"))
    assert measured["left_out"]["rubrics.accuracy_by_domain"]
    uncut = (await summarize_audit(SummarizeRequest(audit=AUDIT), deps)).rubrics
    for name in PARTS[RUBRICS]:
        section, rows = f"rubrics.{name}", 0
        while section:
            part = await asked.ask("summarize_audit", audit=AUDIT, sections=[section])
            rows += len(part["rubrics"][name])
            cut = part.get("left_out", {}).get(f"rubrics.{name}")
            section = part["left_out_next"].split("'")[3] if cut else ""
        assert rows == len(getattr(uncut, name)), name
    applied = await asked.ask("score_rubrics", **work, action="apply", rubrics=["self", "human"])
    assert applied["rulings"]
    written = await asked.ask("score_rubrics", **work, action="generate")
    assert written["drafts"]


async def imported(asked: Asked, folder: Path) -> None:
    files = [folder / f"log {n}.jsonl" for n in range(40)]
    for n, file in enumerate(files):
        row = {"task": f"t{n}", "prompt": LONG, "a": LONG, "b": "b" + LONG, "winner": "A"}
        file.write_text("\n".join(json.dumps({**row, "task": f"t{n} {i}"}) for i in range(5)), encoding="utf-8")
    table = {"audit": "two", "format": "table", "paths": [str(file) for file in files]}
    preview = await asked.ask("import_records", **table, dry_run=True)
    assert preview["preview"]
    await asked.ask("import_records", **table)
    await asked.ask(
        "run_pair",
        audit="two",
        judge="simulated",
        task_id="t" * 400,
        task_prompt=LONG,
        agent_a="甲" * 390,
        agent_b="乙" * 390,
        trajectory_a=LONG,
        trajectory_b=LONG + "!",
        checks=[{"kind": "contains", "value": f"{n}" + "中" * 300} for n in range(50)],
    )


async def test_files_labels_probes_and_findings_stay_small_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / ".codex").mkdir()
    providers = (
        f'[model_providers.{"p" * 40}{n}]\nname = "x"\nbase_url = "https://a.example/v1/v1"\nwire_api = "chat"\n'
        for n in range(60)
    )
    (home / ".codex" / "config.toml").write_text("\n".join(providers), encoding="utf-8")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("probe_judge", {"judge": "simulated"}),
        ("export_records", {"format": "gauge_replay", "out": "replay"}),
        ("export_records", {"format": "sarif", "out": "code.sarif"}),
        ("write_report", {"out": "report"}),
        ("review", {"reviewer": "mk"}),
    ]
    found: dict[str, dict[str, Any]] = {}
    async with opened(folder / "s.db", roots=(folder,)) as deps, Client(build_app(LazyDeps(deps))) as session:
        fill(deps, Scale(12, 4, 3, 0))
        for tool, arguments in [*((tool, {"audit": AUDIT, **given}) for tool, given in calls), ("check_setup", {})]:
            result = await session.call_tool(tool, arguments)
            assert not result.is_error, result.content
            assert result.structured_content is not None
            assert size_of(result.structured_content) <= LIMIT, tool
            found[tool] = result.structured_content
        assert set(found) == ELSEWHERE
        setup = found["check_setup"]
        assert len(setup["findings"]) + setup["left_out"]["findings"] > 60 and "check_setup" in setup["left_out_next"]
        assert found["review"]["pair"]["next_cursor"]
        for uri in await every_address(session):
            read = await session.read_resource(uri)
            assert size_of(read.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"})) <= LIMIT, (
                uri
            )


async def every_address(session: Client) -> list[str]:
    """What is listed, what that links to, and a list of each kind."""
    listed = [resource.uri for resource in (await session.list_resources()).resources]
    audit = listed[-1].removesuffix("/summary")
    kinds = [f"{audit}/{kind}" for kind in ("pairs", "trajectories", "verdicts", "probes", "logs", "tasks", "imports")]
    one = await session.call_tool("read_record", {"uri": f"{audit}/pairs/{quote('pair 0 对')}"})
    assert one.structured_content is not None
    return [*listed, audit, *kinds, "misjudge://reports", *uris(one.structured_content["record"])]


@given(
    st.lists(st.text(st.sampled_from('ab"\\\n中😀'), max_size=400), max_size=60),
    st.sampled_from([LIMIT, 4_000, 2_000]),
)
def test_findings_are_cut_from_the_end_and_counted(evidence: list[str], limit: int) -> None:
    findings = tuple(finding(f"id-{n}", "error", "here", said, "mend it") for n, said in enumerate(evidence))
    counts = {"errors": len(findings), "warnings": 0, "notes": 0}
    report = SetupReport(verdict="Mend it.", findings=findings, looked_at="1 place", places={"here": "read"}, **counts)
    whole = report.model_dump(mode="json")
    sent = as_sent("check_setup", whole, limit)
    assert size_of(sent) <= limit
    assert sent["findings"] == whole["findings"][: len(sent["findings"])]
    assert len(sent["findings"]) + sent.get("left_out", {}).get("findings", 0) == len(evidence) == sent["errors"]


async def test_a_long_record_is_read_to_its_end_page_by_page(deps: Deps) -> None:
    stored(deps.store, [long_pair(0)], "a")
    async with Client(build_app(LazyDeps(deps))) as session:
        record: dict[str, Any] = {}
        cursor: int | None = 0
        while cursor is not None:
            result = await session.call_tool("read_record", {"uri": "misjudge://audits/a/tasks/t0", "cursor": cursor})
            page = result.structured_content
            assert page is not None
            assert size_of(page) <= LIMIT
            record["prompt"] = record.get("prompt", "") + page["record"]["prompt"]
            cursor = page["next_cursor"]
    assert record["prompt"] == LONG
