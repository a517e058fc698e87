"""What a person reads of a summary: pairs by what gold says, and agents, at the width of the terminal."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from builders import JUDGE, episode, label, lone, pair, passed, satisfied, verdict
from command import ROOTS, environment
from misjudge_server.console import console
from misjudge_server.run_printing import print_result
from misjudge_storage.types import Check, Form, Judge, Record
from misjudge_tools.deps import Deps
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import MARK_EPISODES
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.cost_values import CostSection
from misjudge_tools.summary.values import AuditSummary, RoleTokens, TokenSection
from operations import stored

UNKNOWN = Check(verifier="success", source="verifier", evidence="The simulated user failed.")
HOSTILE = "\x1b]0;title\x07\x9b31m\u202egone[red] :smile:"
SHOWN = "]0;title31mgone[red] :smile:"


def printed(deps: Deps, capsys: pytest.CaptureFixture[str], **values: Any) -> str:
    found = summarize(SummarizeRequest.model_validate({"audit": "a", **values}), deps.store)
    capsys.readouterr()
    print_result(found)
    return capsys.readouterr().out


def table(out: str, title: str) -> list[list[str]]:
    """The rows of the table with this title, with what stands below each other joined; the headings first."""
    found: list[list[str]] = []
    for line in out.split(title, 1)[1].splitlines()[1:]:
        cells = [cell.strip() for cell in re.split("[│┃]", line)[1:-1]]
        if line.startswith("└"):
            break
        if cells and found and (not cells[0] or not found[-1][0]):
            found[-1] = [" ".join(filter(None, both)) for both in zip(found[-1], cells, strict=True)]
        elif cells:
            found.append(cells)
    return found


def live(**values: Any) -> list[Record]:
    """Three agents on ten tasks, their ends and flags, and one episode whose customer failed."""
    found = []
    agents = {"客服智能体": (0.3, True), "talker": (0.95, False), "flaky:0.95": (None, True)}
    for n in range(10):
        for agent, (score, done) in agents.items():
            lost = n == 9 and agent == "talker"
            one = episode(
                agent, UNKNOWN if lost else passed(done), task=f"t{n}", satisfaction=[satisfied(score)],
                end_reason="user_sim_error" if lost else "finished", flags=("leaked_criteria",) if n < 2 else (),
                **values,
            )  # fmt: skip
            found.append(lone(one, line=n))
    return found


FLAGS = "leaked_criteria 2"
FACTS = {
    "客服智能体": ["10 of 10", "100.0 % [72–100]", "0 of 0 satisfied", "finished 10", FLAGS],
    "flaky:0.95": ["10 of 10", "100.0 % [72–100]", "–", "finished 10", FLAGS],
    "talker": ["0 of 9", "0.0 % [0–30]", "9 of 9 satisfied", "finished 9", "user_sim_error 1", FLAGS],
}


@pytest.mark.parametrize("width", [60, 80, 100, 120, 150])
def test_agents_fit_the_terminal_with_all_that_is_known_of_them(
    deps: Deps, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    stored(deps.store, live(simulated=True))
    monkeypatch.setattr(console, "width", width)
    out = printed(deps, capsys, sections=["agents"])
    assert max(map(cell_len, out.splitlines())) <= width
    assert MARK_EPISODES in " ".join(out.split())
    headings, *rows = table(out, "Agents: tasks done")
    shown = headings if len(headings) > 3 else ["agent", *rows[0][1].split("  ")]
    assert " ".join(shown) == "agent did the task satisfied though failed not known ends flags"
    assert [row[0] for row in rows] == ["flaky:0.95", "客服智能体", "talker"]
    for agent, *cells in rows:
        for fact in FACTS[agent]:
            assert fact in " ".join(cells), "a word is not broken"
    assert [row.count("1") for row in rows if len(row) > 3] in ([], [0, 0, 1]), "of the talker one is not known"


def test_what_is_known_of_agents_stands_in_a_line_where_there_is_room(
    deps: Deps, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(deps.store, live())
    talker = ["talker", "0 of 9: 0.0 % [0–30]", "9 of 9 satisfied", "1", "finished 9, user_sim_error 1", FLAGS]
    for width, lines in ((150, 1), (100, 2)):
        monkeypatch.setattr(console, "width", width)
        out = printed(deps, capsys)
        assert table(out, "Agents: tasks done")[-1] == talker
        assert len(out[out.index("│ talker") :].split("└")[0].splitlines()) == lines
    monkeypatch.setattr(console, "width", 60)
    assert table(printed(deps, capsys), "Agents: tasks done")[0] == ["agent", "", ""]


def test_columns_that_say_nothing_are_left_out(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    stored(deps.store, [lone(episode(agent, passed(True, "label")), line=n) for n, agent in enumerate("xy")])
    assert table(printed(deps, capsys), "Agents: tasks done") == [
        ["agent", "did the task"],
        ["x", "1 of 1: 100.0 % [0–100]"],
        ["y", "1 of 1: 100.0 % [0–100]"],
    ]


def test_made_up_agents_are_named_where_real_ones_stand_beside_them(
    deps: Deps, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(deps.store, [lone(episode(agent, passed(True), simulated=agent == "x"), line=1) for agent in "xy"])
    assert [row[0] for row in table(printed(deps, capsys), "Agents: tasks done")[1:]] == ["x (SIMULATED)", "y"]


def test_of_hundreds_of_agents_the_best_are_shown(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    stored(deps.store, [lone(episode(f"m{n:03}", passed(n % 2 == 0)), line=n) for n in range(100)])
    out = printed(deps, capsys)
    assert [row[0] for row in table(out, "Agents: tasks done")[1:]] == [f"m{n:03}" for n in range(0, 60, 2)]
    assert "and 70 more agents: --json has all" in out


def test_an_agent_whose_name_would_steer_the_terminal_is_shown_as_text(
    deps: Deps, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(deps.store, [lone(episode(HOSTILE, passed(True), end_reason=HOSTILE, flags=(HOSTILE,)))])
    out = printed(deps, capsys)
    assert out.count("gone[red]") == 3 and SHOWN in out
    assert not set(out) & set("\x1b\x07\x9b\u202e")


def pairs(*golds: tuple[bool | None, bool | None], judge: Judge = JUDGE) -> list[Record]:
    def side(agent: str, done: bool | None, task: str) -> Any:
        return episode(agent, UNKNOWN if done is None else passed(done), task=task)

    return [
        pair(f"p{n}", side("x", a, f"t{n}"), side("y", b, f"t{n}"), verdict("A", "AB", judge=judge), line=n)
        for n, (a, b) in enumerate(golds)
    ]


@pytest.mark.parametrize(
    ("golds", "said"),
    [
        ([(True, False)], "1 pair: 1 decidable, 0 alike"),
        ([(True, False), (True, True), (False, False)], "3 pairs: 1 decidable, 2 alike"),
        (
            [(True, False), (True, True), (None, True), (None, None)],
            "4 pairs: 1 decidable, 1 alike, 2 not known (left out of every error rate)",
        ),
    ],
)
def test_pairs_are_told_by_what_is_known_of_them(
    deps: Deps, capsys: pytest.CaptureFixture[str], golds: Sequence[Any], said: str
) -> None:
    stored(deps.store, pairs(*golds))
    lines = dict(table(printed(deps, capsys), "Audit a, judge judge"))
    assert lines["which side was better"] == said
    assert lines["what the judge says of them"] == "0 tie, 0 inconsistent, 0 unscored, 0 weak"


def test_of_several_judges_the_pairs_are_told_once_and_the_agents_below(
    deps: Deps, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Judge(label="other", form="pairwise", model="judge-n", origin="imported")
    stored(deps.store, pairs((True, False), (None, True)))
    stored(deps.store, [*pairs((True, False), judge=other), pair("q", None, None, verdict("A"), gold=[label("A")])])
    out = printed(deps, capsys)
    assert out.count("3 pairs: 2 decidable, 0 alike, 1 not known") == 1
    assert "what the judge says of them" not in out
    assert len(table(out, "Agents: tasks done")) == 3


@pytest.mark.parametrize(
    ("cost", "unpriced", "sources", "shown"),
    [
        (0.25, 0, ("misjudge.toml",), "0.2500 USD (price: misjudge.toml)"),
        (0.0, 0, ("misjudge.toml",), "0.0000 USD (price: misjudge.toml)"),
        (0.0, 10, ("misjudge.toml",), "0.0000 USD, unknown for 10 of 13 calls (price: misjudge.toml)"),
        (None, 13, (), "unknown (no price)"),
        (None, 13, ("misjudge.toml",), "unknown (usage not stated)"),
    ],
)
def test_a_cost_that_is_known_in_part_says_of_how_many_calls_it_is_not(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    cost: float | None,
    unpriced: int,
    sources: tuple[str, ...],
    shown: str,
) -> None:
    monkeypatch.setattr(console, "width", 150)
    role = {"calls": 13, "input_tokens": 5, "output_tokens": 1, "calls_without_usage": 0}
    tokens = TokenSection(by_role={"agent": RoleTokens(**role)}, stated_by_source=None)
    costs = CostSection(
        by_role={"agent": cost}, calls_without_price={"agent": unpriced}, price_sources={"agent": sources}
    )
    print_result(AuditSummary(audit="a", simulated=False, tokens=tokens, cost=costs))
    assert f"│ cost, agent   │ {shown} " in capsys.readouterr().out
    print_result(AuditSummary(audit="a", simulated=False, cost=costs))
    assert f"│ cost, agent │ {shown.replace(' of 13', '')} " in capsys.readouterr().out


def ranked(*judges: Judge) -> list[Record]:
    """Three agents of different skill, of whom each judge always picks the better one, or scores it higher."""
    found: list[Record] = []
    skills = {"x": 4, "y": 2, "z": 0}
    for n in range(4):
        sides = {
            agent: episode(
                agent, passed(n < skill), task=f"t{n}",
                satisfaction=[satisfied(skill / 4, judge) for judge in judges if judge.form != "pairwise"],
            )
            for agent, skill in skills.items()
        }  # fmt: skip
        for a, b in (("x", "y"), ("y", "z"), ("x", "z")):
            said = [verdict("A", "AB", judge=judge) for judge in judges if judge.form == "pairwise"]
            found.append(pair(f"{a}{b}{n}", sides[a], sides[b], *said, line=len(found) + 1))
    return found


def judge_of(form: Form, label: str) -> Judge:
    return Judge(label=label, form=form, model=label, scale=FORMS[form].scale)


def test_what_ranks_the_agents_is_said_beside_each_judge(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    stored(deps.store, ranked(judge_of("pairwise", "p"), judge_of("gate", "g"), judge_of("satisfaction", "s")))
    out = printed(deps, capsys, sections=["ranking"])
    headings, *rows = table(out, "Audit a: agent pairs ranked wrongly")
    assert headings[-1] == "by"
    assert {row[0]: row[-1] for row in rows} == {"g": "mean gate score", "p": "win share", "s": "mean score"}


@pytest.mark.parametrize(
    ("sections", "headings"),
    [
        (["misselection"], ["wrong, per call", "of decided/decidable"]),
        (["consistency"], ["flips", "right", "first"]),
        (["misselection", "consistency"], ["wrong, per call", "of decided/decidable", "flips", "right", "first"]),
    ],
)
def test_columns_that_were_not_asked_for_are_left_out(
    deps: Deps, capsys: pytest.CaptureFixture[str], sections: list[str], headings: list[str]
) -> None:
    stored(deps.store, ranked(judge_of("pairwise", "p"), judge_of("pairwise", "q")))
    assert table(printed(deps, capsys, sections=sections), "Audit a: pairs")[0] == ["judge", *headings]


def test_of_several_agents_the_repeated_trials_are_a_table(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    records = [
        lone(episode(agent, passed(agent == "x" or trial == 0), task=f"t{n}", trial=trial), line=n)
        for n in range(2)
        for agent in "xy"
        for trial in range(2)
    ]
    stored(deps.store, records)
    out = printed(deps, capsys)
    assert table(out, "All of k trials succeeded") == [
        ["agent", "pass^1", "pass^2"],
        ["x", "1.000", "1.000"],
        ["y", "0.500", "0.000"],
    ]
    assert "pass_hat_k_by_agent" not in out
    assert "All of k trials" not in printed(deps, capsys, sections=["agents"])


def test_single_trials_are_a_table_only_where_they_are_asked_for(
    deps: Deps, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(deps.store, [lone(episode(agent, passed(True), task="t", trial=0), line=1) for agent in "xy"])
    out = printed(deps, capsys)
    assert "All of k trials" not in out and "pass_hat_k" not in out
    assert table(printed(deps, capsys, sections=["pass_hat_k"]), "All of k trials")[1:] == [
        ["x", "1.000"],
        ["y", "1.000"],
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_no_two_kappas_look_alike(
    deps: Deps, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    labels = [f"a judge of a very long name, the one with number {n}" for n in range(3)]
    judges = [judge_of("pairwise", name) for name in labels]
    stored(deps.store, ranked(*judges))
    monkeypatch.setattr(console, "width", width)
    out = printed(deps, capsys, sections=["kappa"])
    assert max(map(cell_len, out.splitlines())) <= width
    shown = "".join(line.split("│")[1] for line in out.splitlines() if line.startswith("│")).replace(" ", "")
    for a, b in combinations(labels, 2):
        assert f"kappa {a}|{b}".replace(" ", "") in shown


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("150", 150), ("0", 118), ("many", 118), (None, 118)])
def test_where_the_output_is_no_terminal_the_environment_says_how_wide_it_is(
    folder: Path, columns: str | None, width: int
) -> None:
    asked = "from misjudge_server.console import console; print(console.width)"
    env = {**environment(), **({} if columns is None else {"COLUMNS": columns})}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[len(sys.path):] = {ROOTS!r}; {asked}"],
        cwd=folder, env=env, capture_output=True, encoding="utf-8", timeout=60, check=True,
    )  # fmt: skip
    assert int(done.stdout) == width
