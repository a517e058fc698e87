from __future__ import annotations

import asyncio
import json
import logging
import re
import subprocess
from pathlib import Path

import pytest

from command import Misjudge, environment, launcher, run
from misjudge_server.logs import log_failure, set_up_logging
from misjudge_storage.engine import open_store
from operations import PromptJudge, pair_record, stored, verdict_text

LOG = logging.getLogger("misjudge_tools.some.place")

pytestmark = pytest.mark.usefixtures("quiet_again")


def test_a_line_of_text_holds_level_place_message_run_and_cell(capfd: pytest.CaptureFixture[str]) -> None:
    set_up_logging("info")
    LOG.info("cell stored", extra={"run": "run_1", "cell": "cell_2"})
    LOG.warning("no run here")
    assert capfd.readouterr().err.splitlines() == [
        "info misjudge_tools.some.place: cell stored run=run_1 cell=cell_2",
        "warning misjudge_tools.some.place: no run here",
    ]


def test_a_line_of_json_holds_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    set_up_logging("info", as_json=True)
    LOG.info("gespeichert: %s\nzweite Zeile", "ü", extra={"run": "run_1", "cell": "cell_2"})
    [line] = capfd.readouterr().err.splitlines()
    assert json.loads(line) == {
        "level": "info",
        "logger": "misjudge_tools.some.place",
        "message": "gespeichert: ü\nzweite Zeile",
        "run": "run_1",
        "cell": "cell_2",
    }


@pytest.mark.parametrize(
    ("level", "shown"),
    [("DEBUG", 4), ("info", 3), ("", 2), ("Warning", 2), ("ERROR", 1), ("nonsense", 2), ("CRITICAL", 2)],
)
def test_the_level_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], level: str, shown: int
) -> None:
    monkeypatch.setenv("MISJUDGE_LOG", level)
    monkeypatch.delenv("MISJUDGE_LOG_JSON", raising=False)
    set_up_logging()
    for each in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        LOG.log(each, "said")
    assert len(capfd.readouterr().err.splitlines()) == shown


def test_json_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MISJUDGE_LOG_JSON", "1")
    set_up_logging("INFO")
    LOG.info("said")
    assert json.loads(capfd.readouterr().err)["message"] == "said"


def test_setting_up_twice_writes_each_line_once(capfd: pytest.CaptureFixture[str]) -> None:
    set_up_logging("INFO")
    set_up_logging("INFO")
    LOG.info("said")
    assert capfd.readouterr().err.count("said") == 1


def test_a_failure_is_logged_by_its_place_without_what_it_quotes(capfd: pytest.CaptureFixture[str]) -> None:
    set_up_logging()
    try:
        raise ValueError("a reply: CANARY")
    except ValueError as error:
        log_failure(LOG, "tool judge", error)
    said = capfd.readouterr().err
    assert said.startswith("error misjudge_tools.some.place: tool judge failed: ValueError\n")
    assert re.search(r'File ".*test_logs.py", line \d+', said)
    assert "CANARY" not in said.replace('raise ValueError("a reply: CANARY")', "")


def test_records_of_other_libraries_are_not_shown(tmp_path: Path) -> None:
    noise = "import logging; logging.getLogger('openai').error('CANARY of a library'); logging.error('CANARY of root')"
    code = f"from misjudge_server.logs import set_up_logging; set_up_logging('DEBUG'); {noise}"
    program = launcher(f"{code}\nraise SystemExit")
    done = subprocess.run(program, cwd=tmp_path, env=environment(), capture_output=True, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


KEY = "sk-CANARY-key"
SECRETS = ("CANARY", KEY, "task text", "said by the agent", "said by the judge")


def prepared(folder: Path) -> None:
    """A store with three pairs to judge."""
    store = open_store(folder / "s.db")
    said = ("CANARY said by the agent, one", "CANARY said by the agent, two")
    stored(store, [pair_record(f"p{n}", f"CANARY task text {n}", said) for n in range(3)])
    store.close()


def settings(folder: Path, base_url: str) -> dict[str, str]:
    return {
        "MISJUDGE_STORE": str(folder / "s.db"),
        "MISJUDGE_LOG": "DEBUG",
        "TAOTOKEN_API_KEY": KEY,
        "TAOTOKEN_BASE_URL": base_url,
    }


async def test_no_log_line_of_a_judging_holds_a_payload_or_the_key(tmp_path: Path) -> None:
    prepared(tmp_path)
    reply = verdict_text("A").replace("So it is.", "CANARY said by the judge")
    async with PromptJudge(lambda _: reply, key=KEY) as server:
        env = environment(**settings(tmp_path, server.base_url))
        done = await asyncio.to_thread(run, "judge", "a", "--judge", "judge-m", cwd=tmp_path, env=env)
    lines = [line for line in done.stderr.splitlines() if "cell stored" in line]
    assert len(lines) == 6
    assert all(re.search(r" run=run_\w+ cell=\w+$", line) for line in lines)
    for secret in SECRETS:
        assert secret not in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("reply", "accepted"),
    [
        pytest.param(verdict_text("A").replace("So it is.", "CANARY said by the judge"), KEY, id="well"),
        pytest.param("CANARY said by the judge: neither", KEY, id="unreadable"),
        pytest.param('{"winner": "CANARY said by the judge"', KEY, id="broken JSON"),
        pytest.param(verdict_text("A"), "another key", id="refused key"),
    ],
)
async def test_trouble_with_a_judge_is_logged_as_json_lines_without_what_it_said(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch, reply: str, accepted: str
) -> None:
    prepared(folder)
    monkeypatch.setenv("MISJUDGE_LOG_JSON", "1")
    async with PromptJudge(lambda _: reply, key=accepted) as server:
        for name, value in settings(folder, server.base_url).items():
            monkeypatch.setenv(name, value)
        outcome = await asyncio.to_thread(misjudge, "judge", "a", "--judge", "judge-m")
    records = [json.loads(line) for line in outcome.err.splitlines() if not line.startswith("misjudge: ")]
    assert records
    assert all("run" in record for record in records if record["logger"].startswith("misjudge_tools.runs"))
    assert all("cell" in record for record in records if record["message"] == "cell stored")
    for secret in SECRETS:
        assert secret not in outcome.err + outcome.out
