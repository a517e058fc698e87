"""What a person reads of judgings, runs and pings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from command import Misjudge
from misjudge_server.console import console
from misjudge_server.run_printing import print_result, role_lines
from misjudge_storage.engine import open_store
from misjudge_tools.ping import PingReport, RolePing
from misjudge_tools.results import ErrorSeen, JudgeResult, RolePlan, RoleUse, RunList, RunReport, StageDone
from operations import pair_records, stored

RUN = RunReport(run="run_1", audit="mine", operation="judge", judge="judge-m", state="running", done=4, total=10)
USE = RoleUse(role="judge", calls=5, input_tokens=44, output_tokens=12, cost=0.25)
HOSTILE = "\x1b]0;title\x07\x9b31m\u202egone[red] :smile:"
SHOWN = "]0;title31mgone[red] :smile:"


def printed(result: RunList | JudgeResult | PingReport, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    print_result(result)
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def of_run(capsys: pytest.CaptureFixture[str], **values: Any) -> list[str]:
    """The lines of one run's status."""
    return printed(RunList(runs=(RUN.model_copy(update=values),)), capsys).splitlines()


def details(lines: list[str]) -> list[str]:
    """What stands below the table."""
    return [line for line in lines if line[:1] not in "┏┃┡│└"]


def judging(**values: Any) -> JudgeResult:
    run = RUN.model_copy(update={"state": "done", "done": 10, **values.pop("run", {})})
    given = {"simulated": False, "marked": None, "judge": "judge-m", "asked_at": "somewhere", "form": "pairwise"}
    return JudgeResult.model_validate({**given, "run": run, "already_stored": 0, **values})


@pytest.fixture
def mine(folder: Path) -> Path:
    """A folder whose store holds ten pairs in the audit `mine`."""
    store = open_store(folder / ".misjudge" / "misjudge.db")
    stored(store, pair_records(10), "mine")
    store.close()
    return folder


def test_a_run_of_which_little_is_known_is_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    lines = of_run(capsys)
    assert details(lines) == []
    (row,) = [line for line in lines if line.startswith("│")]
    assert [cell.strip() for cell in row.split("│")[1:-1]] == [
        "run_1",
        "mine",
        "judge judge-m",
        "running",
        "4 of 10",
        "–",
        "",
    ]


@pytest.mark.parametrize("width", [80, 104])
def test_what_a_run_is_of_can_be_read_in_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(console, "width", width)
    judges = "simulated:position=0.3,noise=0.1, simulated:noise=0.02"
    lines = of_run(capsys, run="run_0123456789abcdef", judge=judges, state="done", reason="limit reached: max_calls=4")
    assert max(map(cell_len, lines)) <= width
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    assert len(rows) <= 5
    cells = [" ".join(filter(None, column)) for column in zip(*rows, strict=True)]
    assert cells[:2] == ["run_0123456789abcdef", "mine"]
    what = cells[2].replace(" ", "")
    assert what.startswith(f"judge {judges}".replace(" ", "")), "no word of it is lost"
    assert "done" in cells[3] and "4 of 10" in " ".join(cells[3:])
    assert "limit reached: max_calls=4" in " ".join(cells)


def test_all_that_is_known_of_one_run_stands_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    lines = of_run(
        capsys,
        stages=(StageDone(stage="pairwise", done=3, total=6), StageDone(stage="satisfaction", done=1, total=4)),
        spent=(RoleUse(role="agent", calls=2, input_tokens=7, output_tokens=1, cost=None), USE),
        from_cache=2,
        limits={"max_calls": 1_234_567, "max_usd": 0.5},
        eta_s=89.6,
        failed=3,
        errors=(ErrorSeen(error="RateLimited", attempts=4, last_at="2026-01-02T03:04:05+00:00"),),
    )
    assert details(lines) == [
        "stages: pairwise 3 of 6, satisfaction 1 of 4",
        "agent: 2 requests, 7 + 1 tokens, cost not known",
        "judge: 5 requests, 44 + 12 tokens, 0.2500 USD",
        "2 replies came from other audits, at no cost",
        "limits: max_calls=1234567, max_usd=0.5",
        "about 90 s left at the pace of the last minute",
        "3 cells were asked and got no reply: misjudge runs retry run_1",
        "RateLimited: 4 requests, the last at 2026-01-02T03:04:05+00:00",
    ]
    assert any("0.2500 USD" in line for line in lines if line.startswith("│"))


def test_tokens_that_no_reply_stated_are_not_shown_as_none_used(capsys: pytest.CaptureFixture[str]) -> None:
    unstated = USE.model_copy(update={"input_tokens": None, "output_tokens": None, "cost": None})
    assert details(of_run(capsys, spent=(unstated,))) == ["judge: 5 requests, tokens not stated, cost not known"]


def test_an_ended_run_says_when_it_was_planned_what_is_unscored_and_what_comes_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = of_run(
        capsys, state="done", done=10, started_at="2026-01-02T03:04:05+00:00", unscored={"parse_error": 2, "refused": 1}
    )
    assert details(lines) == [
        "planned at 2026-01-02T03:04:05+00:00",
        "2 unscored (parse_error)",
        "1 unscored (refused)",
        "Next: misjudge summarize mine",
    ]


def test_a_run_of_one_stage_does_not_name_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert details(of_run(capsys, stages=(StageDone(stage="pairwise", done=4, total=10),))) == []


def test_a_list_of_runs_is_a_table_without_details(capsys: pytest.CaptureFixture[str]) -> None:
    made_up = RUN.model_copy(update={"run": "run_2", "simulated": True, "failed": 1, "reason": "stopped"})
    lines = printed(RunList(runs=(RUN, made_up), runs_left_out=7), capsys).splitlines()
    assert details(lines) == ["and 7 earlier ones"]
    assert ["judge-m, SIMULATED" in line for line in lines if line.startswith("│")] == [False, True]
    assert printed(RunList(runs=()), capsys) == "No runs yet.\n"


def test_a_judging_is_told_in_one_line_with_all_that_is_not_plain(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(judging(), capsys) == (
        "judge-m, pairwise: done, 10 of 10 calls stored\nNext: misjudge summarize mine\n"
    )
    whole = judging(already_stored=3, run={"from_cache": 2, "unscored": {"parse_error": 1, "refused": 4}})
    assert (
        printed(whole, capsys)
        .replace("\n", " ")
        .startswith(
            "judge-m, pairwise: done, 10 of 10 calls stored, 3 were stored before, 2 from other audits, "
            "1 unscored (parse_error), 4 unscored (refused) "
        )
    )
    marked = printed(judging(simulated=True, marked="SIMULATED: made up"), capsys)
    assert marked.startswith("SIMULATED: made up\n")


def test_a_plan_says_what_it_costs_about_and_at_most_where_that_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    planned: dict[str, Any] = {"state": "planned", "done": 0, "run": ""}
    assert printed(judging(run=planned), capsys) == "judge-m, pairwise: planned, 10 calls, cost not known\n"
    role = RolePlan(role="judge", model="judge-m", form="pairwise", calls=10, assumes=("usual replies",))
    about = {**planned, "about_cost": 0.25, "plan": (role, role)}
    begins = "judge-m, pairwise: planned, 10 calls, about 0.2500 USD (usual replies)"
    assert flat(printed(judging(run=about), capsys)) == begins
    priced = flat(printed(judging(run={**about, "most_cost": 1.25}), capsys))
    assert priced == f"{begins}, at most 1.2500 USD (longest replies, no second tries)"
    free = printed(judging(run={**planned, "about_cost": 0, "most_cost": 0}), capsys)
    assert free == "judge-m, pairwise: planned, 10 calls, at no cost\n"


def flat(said: str) -> str:
    return " ".join(said.split())


MATCHER = RolePlan(
    role="rubric_match",
    model="m",
    form="rubric_match",
    calls=120,
    estimated=True,
    about_cost=0.02,
    assumes=("with rubrics of about 6 rules",),
)
JUDGE = RolePlan(role="judge", model="m", form="pairwise", calls=40, most_cost=0.5, about_cost=0.1, assumes=("so",))
PLAN = RUN.model_copy(update={"state": "planned", "done": 0, "total": 60, "plan": (MATCHER, JUDGE), "about_cost": 0.12})


def test_calls_that_are_an_estimate_and_what_that_assumes_are_said_by_role_and_in_all() -> None:
    assert list(role_lines(PLAN)) == [
        "rubric_match m, rubric_match: about 120 calls, about 0.0200 USD (with rubrics of about 6 rules)",
        "judge m, pairwise: 40 calls, about 0.1000 USD (so), at most 0.5000 USD (longest replies, no second tries)",
        "60 cells, about 160 calls, about 0.1200 USD in all",
    ]


def test_the_most_of_a_plan_is_said_where_it_is_known_of_each_role() -> None:
    plan = (JUDGE, JUDGE.model_copy(update={"calls": 20}))
    known = PLAN.model_copy(update={"plan": plan, "about_cost": 0.2, "most_cost": 1.0})
    assert [*role_lines(known)][-1] == "60 cells, 60 calls, about 0.2000 USD in all, at most 1.0000 USD"


def test_a_plan_without_a_price_says_its_calls_in_all_and_one_that_is_free_that_it_is() -> None:
    agent = RolePlan(role="agent", model="a", calls=300)
    unknown = PLAN.model_copy(update={"plan": (agent, JUDGE), "about_cost": None})
    assert [*role_lines(unknown)][0::2] == [
        "agent a: 300 calls at most, cost not known",
        "60 cells, 340 calls at most in all, cost not known",
    ]
    free = PLAN.model_copy(update={"about_cost": 0.0, "most_cost": None})
    assert [*role_lines(free)][-1] == "60 cells, about 160 calls in all, at no cost"


def test_a_plan_of_one_role_is_said_once() -> None:
    assert len([*role_lines(PLAN.model_copy(update={"plan": (JUDGE,)}))]) == 1


def test_a_run_that_ended_with_nothing_done_points_at_no_summary(capsys: pytest.CaptureFixture[str]) -> None:
    failed = judging(run={"state": "failed", "done": 0, "reason": "No credit left."})
    assert printed(failed, capsys) == "judge-m, pairwise: failed, 0 of 10 calls stored\nNo credit left.\n"


def test_names_that_would_steer_the_terminal_are_shown_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    run = RUN.model_copy(
        update={
            "audit": HOSTILE,
            "reason": HOSTILE,
            "spent": (USE.model_copy(update={"role": HOSTILE}),),
            "errors": (ErrorSeen(error=HOSTILE, attempts=1, last_at=HOSTILE),),
            "limits": {HOSTILE: 1.0},
            "unscored": {HOSTILE: 1},
        }
    )
    found = RolePing(roles=("judge",), model=HOSTILE, base_url=HOSTILE, ok=False, problem=HOSTILE, left_out=(HOSTILE,))
    judged = judging(judge=HOSTILE, marked=HOSTILE, run=run.model_dump())
    for result in (RunList(runs=(run,)), judged, PingReport(models=(found,))):
        out = printed(result, capsys)
        assert SHOWN in out.replace("\n", "")
        assert not set(out) & set("\x1b\x07\x9b\u202e")


def test_a_ping_is_a_row_for_each_model_and_a_line_for_each_problem(capsys: pytest.CaptureFixture[str]) -> None:
    answered = RolePing(
        roles=("agent", "judge"),
        model="m",
        base_url="http://x",
        ok=True,
        latency_ms=41.7,
        attempts=3,
        input_tokens=22,
        output_tokens=6,
        cost=0.000028,
        price_source="misjudge.toml",
        reply_format="json_object",
        obeyed=False,
        left_out=("temperature", "max_tokens"),
    )
    failed = RolePing(roles=("user_sim",), model="n", base_url="http://x", ok=False, problem="The key was refused.")
    unknown = answered.model_copy(
        update={"cost": None, "input_tokens": None, "output_tokens": None, "obeyed": True, "left_out": ()}
    )
    lines = printed(PingReport(models=(answered, failed, unknown)), capsys).splitlines()
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    cells = ["".join(row[column] for row in rows[:-2]).replace(" ", "") for column in range(9)]
    assert cells[:6] == ["agent,judge", "m", "http://x", "OK", "42", "22+6"]
    assert cells[6:] == ["0.000028(misjudge.toml)", "json_object,notobeyed", "temperature,max_tokens"]
    assert rows[-2:] == [
        ["user_sim", "n", "http://x", "failed", *["–"] * 5],
        ["agent, judge", "m", "http://x", "OK", "42", "–", "–", "json_object", "–"],
    ]
    assert lines[-1] == "user_sim: The key was refused."


def test_a_judging_that_keeps_to_its_limit_has_done_what_it_should(misjudge: Misjudge, mine: Path) -> None:
    judged = misjudge("judge", "mine", "--judge", "simulated", "--max-calls", "7")
    assert (judged.code, judged.err) == (0, "")
    out = judged.out.replace("\n", " ")
    assert "7 of 20 calls stored" in out and "limit reached: max_calls=7 is used up (7 calls asked)." in out
    run = re.findall(r"Go on with: misjudge runs resume (run_\w+), and the higher limit", out)[0]
    for again in ("resume", "wait", "status"):
        standing = misjudge("runs", again, run)
        assert (standing.code, standing.err) == (0, "")
        assert "limits: max_calls=7" in standing.out and "judge: 7 requests, " in standing.out
    higher = misjudge("runs", "resume", run, "--max-calls", "100", "--max-tokens", "1000000")
    assert (higher.code, higher.err) == (0, "")
    assert "20 of 20" in higher.out and "limits: max_calls=100, max_tokens=1000000" in higher.out
    refused = misjudge("runs", "retry", run)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == f"misjudge: Run {run} is done; there is nothing to retry.\n"


def test_limits_that_cannot_be_are_refused_by_their_names(misjudge: Misjudge, mine: Path) -> None:
    for option in ("--max-calls", "--max-usd", "--max-tokens", "--max-usd-per-task", "--deadline-s"):
        refused = misjudge("judge", "mine", "--judge", "simulated", option, "0")
        assert (refused.code, refused.out) == (2, "")
        assert f"'{option[2:].replace('-', '_')}'" in refused.err


def test_replies_of_other_audits_are_reused_when_that_is_wanted(misjudge: Misjudge, mine: Path) -> None:
    store = open_store(mine / ".misjudge" / "misjudge.db")
    stored(store, pair_records(10), "other")
    store.close()
    misjudge("judge", "mine", "--judge", "simulated")
    judged = misjudge("judge", "other", "--judge", "simulated", "--reuse")
    assert (judged.code, judged.err) == (0, "")
    assert "20 of 20 calls stored, 20 from other audits" in judged.out
