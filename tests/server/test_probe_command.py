"""`misjudge probe` and the tool `probe_judge` over stdio: what is asked, answered and refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Misjudge, environment
from misjudge_server.fitting import LIMIT, size_of
from misjudge_server.tool_table import TOOLS
from misjudge_storage.engine import open_store
from misjudge_tools.probing.variants import PROBES
from operations import KEY, stored
from probe_parts import probed_records
from stdio_session import serving

STORE = Path(".misjudge", "misjudge.db")
CALLS = 2 + len(PROBES)


@pytest.fixture
def audited(folder: Path) -> Path:
    """A working directory whose store holds the audit `a`, with four pairs."""
    store = open_store(folder / STORE)
    stored(store, probed_records(4))
    store.close()
    return folder


def test_probes_are_asked_and_printed(audited: Path, misjudge: Misjudge) -> None:
    done = misjudge("probe", "a", "--judge", "simulated", "--items", "3", "--probe", "padding", "--probe", "whitespace")
    assert (done.code, done.err) == (0, "")
    assert "SIMULATED" in done.out and "12 of 12 calls stored" in done.out
    assert "padding" in done.out and "whitespace" in done.out


def test_json_holds_the_result_and_asking_again_takes_no_call(audited: Path, misjudge: Misjudge) -> None:
    first, again = (json.loads(misjudge("probe", "a", "--judge", "simulated", "--json").out) for _ in range(2))
    assert (first["schema"], first["run"]["done"], first["already_stored"]) == (1, 4 * CALLS, 0)
    assert (again["run"]["total"], again["already_stored"], again["probes"]) == (0, 4 * CALLS, first["probes"])
    assert {row["probe"] for row in first["probes"]["rows"]} == set(PROBES)


def test_a_dry_run_says_the_calls(audited: Path, misjudge: Misjudge) -> None:
    planned = misjudge("probe", "a", "--judge", "simulated", "--dry-run")
    assert planned.code == 0 and f"{4 * CALLS} calls" in planned.out


def test_a_limit_ends_a_probing_without_an_error_and_names_the_way_on(audited: Path, misjudge: Misjudge) -> None:
    cut = misjudge("probe", "a", "--judge", "simulated", "--max-calls", "5")
    assert cut.code == 0 and "limit reached: max_calls=5" in cut.out and "misjudge runs resume run_" in cut.out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("a", "--probe", "paddding"), "Input should be 'swapped_order', 'padding'"),
        (("a", "--items", "0"), "greater than or equal to 1"),
        (("a", "--side", "worse"), "Input should be 'random' or 'failed'"),
        (("b", "--judge", "simulated"), "No audit is called 'b'. Stored are: a."),
        (("a", "--judge", "simulated", "--pair", "p"), "1 of the pairs asked for are not stored"),
        (("a",), "Set TAOTOKEN_API_KEY"),
    ],
)
def test_what_cannot_be_probed_is_one_sentence(
    audited: Path, misjudge: Misjudge, given: tuple[str, ...], told: str
) -> None:
    refused = misjudge("probe", *given)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("misjudge: ") and told in refused.err and "Traceback" not in refused.err


def test_the_tool_is_found_by_the_words_that_people_use_for_it() -> None:
    said = TOOLS["probe_judge"].description
    assert len(said) <= 500
    begin = said[:200].lower()
    for words in ("fool", "verbosity bias", "prompt injection", "sycophancy", "politeness"):
        assert words in begin


async def test_a_client_probes_a_judge_over_stdio(audited: Path) -> None:
    async with serving(audited, environment(TAOTOKEN_API_KEY=KEY)) as session:
        await session.initialize()
        wrong = await session.call("probe_judge", audit="a", probe="padding")
        planned = await session.call("probe_judge", audit="a", judge="simulated", dry_run=True)
        done = await session.call("probe_judge", audit="a", judge="simulated")
        again = await session.call("probe_judge", audit="a", judge="simulated")
        calls = await session.call("read_record", uri="misjudge://audits/a/probes")
    assert wrong["isError"] and "Unknown argument 'probe'. Did you mean 'probes'?" in wrong["content"][0]["text"]
    assert planned["structuredContent"]["run"]["plan"][0]["role"] == "probe"
    found = done["structuredContent"]
    assert (found["run"]["state"], found["run"]["done"], found["items"]) == ("done", 4 * CALLS, 4)
    assert "SIMULATED" in found["marked"] and found["next"] == "summarize_audit(audit='a', judge='simulated')"
    assert {row["probe"] for row in found["probes"]["rows"]} == set(PROBES)
    assert size_of(found) <= LIMIT
    assert (again["structuredContent"]["run"]["total"], again["structuredContent"]["already_stored"]) == (0, 4 * CALLS)
    assert calls["structuredContent"]["record"]["total"] == 4 * CALLS
