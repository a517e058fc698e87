"""Forms and own prompts in `misjudge.toml`, at the command line, and in what a person reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import episode, lone, pair, passed, satisfied, verdict
from command import Misjudge
from misjudge_server.config_command import config_report
from misjudge_server.config_file import load_config, parse_config
from misjudge_server.resolution import resolve
from misjudge_server.run_printing import print_result
from misjudge_server.settings import Settings
from misjudge_server.variables import Variables
from misjudge_storage.engine import open_store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Form, Judge, Record
from misjudge_tools.deps import Deps
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import JudgeResult, RunPairResult, RunReport
from misjudge_tools.summarize_audit import summarize
from operations import pair_records, stored

PAIRS = "Which?\n---user---\n{question}\n{answer_a}\n{answer_b}\n"
ONE = "How good?\n---user---\n{question}\n{answer}\n"
USER = "Play a customer, then rate the agent from 1 to 5.\n---user---\n{goal}\n{facts}\n"
FILE = """
[profiles.strict]
model = "m"
prompt = "pairs.md"
prompts = { gate = "prompts/gate.md", satisfaction = "prompts/one.md" }
[profiles.customer]
prompt = "user.md"
[profiles.broken]
prompt = "half.md"
[profiles.odd]
prompt = "odd.md"
"""
FILES = {
    "misjudge.toml": FILE,
    "pairs.md": PAIRS,
    "user.md": USER,
    "half.md": "Which?\n---user---\n{question}\n",
    "odd.md": "Play.\n---user---\n{goal}\n{question}\n",
    "prompts/gate.md": ONE,
    "prompts/one.md": ONE,
}


@pytest.fixture
def configured(folder: Path) -> Path:
    folder.joinpath("prompts").mkdir()
    for name, text in FILES.items():
        folder.joinpath(name).write_text(text, encoding="utf-8")
    return folder


def complaint(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        parse_config(text, "misjudge.toml")
    return str(caught.value)


def test_a_profile_names_prompts_by_form(configured: Path) -> None:
    loaded = load_config(configured / "misjudge.toml", trusted=True)
    profile = resolve(Variables({}, {}), loaded).profiles["strict"]
    names = {form: prompt.name for form in FORMS if (prompt := profile.own_prompt(form)) is not None}
    assert names == {"pairwise": "pairs", "satisfaction": "one", "gate": "gate"}
    assert profile.origins["prompts"] == "profile strict (misjudge.toml)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "prompts = { gait = 'x.md' }",
            "Unknown name gait in [profiles.s.prompts] of misjudge.toml. Did you mean 'gate'?",
        ),
        ("prompts = { gate = 3 }", "prompts.gate in [profiles.s] of misjudge.toml cannot be used"),
        ("prompts = { gate = '' }", "prompts.gate in [profiles.s] of misjudge.toml cannot be used"),
        ("prompts = 'x.md'", "prompts in [profiles.s] of misjudge.toml cannot be used: it must be a table"),
        (
            "prompt = 'x.md'\nprompts = { pairwise = 'y.md' }",
            "prompt is that of pairs, as pairwise in prompts is: give",
        ),
    ],
)
def test_prompts_by_form_are_read_strictly(text: str, said: str) -> None:
    assert said in complaint(f"[profiles.s]\n{text}")


def test_a_prompt_of_a_form_lies_under_the_folder_of_the_file(folder: Path) -> None:
    folder.joinpath("misjudge.toml").write_text("[profiles.s]\nprompts = { gate = '../x.md' }", encoding="utf-8")
    with pytest.raises(
        InvalidInput, match=r"^gate of prompts in \[profiles\.s\] of misjudge\.toml must name a file in"
    ):
        load_config(folder / "misjudge.toml", trusted=True)


def test_config_shows_the_prompts_and_what_is_likely_wrong_with_them(configured: Path, misjudge: Misjudge) -> None:
    report = json.loads(misjudge("config", "--json").out)
    assert report["profiles"]["strict"]["prompts"] == {"satisfaction": "one", "gate": "gate"}
    said = report["warnings"]
    assert "profile strict: Prompt pairs offers no tie, so two that are alike are told apart by chance." in said
    assert sum(one.startswith("profile strict: Prompt gate does not forbid") for one in said) == 2
    assert (
        "profile customer: Prompt user asks the simulated user for a score, but the customer is never the judge."
        in said
    )
    (broken,) = [one for one in said if one.startswith("profile broken: ")]
    assert broken.startswith("profile broken: Prompt half lacks {response_a}, {response_b}.")
    (odd,) = [one for one in said if one.startswith("profile odd: ")]
    assert odd.startswith("profile odd: Prompt odd uses the unknown variable {question}. Allowed are {facts}, {goal}.")


def test_config_names_the_prompts_of_a_role(configured: Path, misjudge: Misjudge) -> None:
    configured.joinpath("misjudge.toml").write_text(FILE + '[roles]\njudge = "strict"\n', encoding="utf-8")
    out = " ".join(misjudge("config").out.split())
    assert "satisfaction: one, gate: gate" in out
    assert "Warning: profile strict: Prompt pairs does not forbid assuming" in out


def test_shipped_prompts_give_no_warning() -> None:
    assert config_report(Settings()).warnings == ()


@pytest.mark.parametrize(("form", "of"), [("gate", "passed (passes"), ("proxy", "content (content")])
def test_a_form_is_judged_and_summarised_at_the_command_line(
    folder: Path, misjudge: Misjudge, form: str, of: str
) -> None:
    store = open_store(folder / ".misjudge" / "misjudge.db")
    stored(store, pair_records(4), "mine")
    store.close()
    judged = misjudge("judge", "mine", "--judge", "simulated", "--form", form)
    assert (judged.code, f"simulated, {form}: done, 8 of 8 calls stored" in judged.out) == (0, True)
    out = misjudge("summarize", "mine").out
    assert f"{form}: failed, of {of} from 5 on)" in out
    assert "satisfaction: No satisfaction was judged" not in out


def test_a_prompt_of_the_call_is_part_of_the_name_and_is_warned_of(folder: Path, misjudge: Misjudge) -> None:
    store = open_store(folder / ".misjudge" / "misjudge.db")
    stored(store, pair_records(4), "mine")
    store.close()
    folder.joinpath("short.md").write_text(PAIRS, encoding="utf-8")
    planned = misjudge("judge", "mine", "--judge", "simulated", "--prompt", "short.md", "--dry-run")
    judged = misjudge("judge", "mine", "--judge", "simulated", "--prompt", "short.md")
    for said in (planned, judged):
        assert said.code == 0
        assert "Prompt short offers no tie" in " ".join(said.out.split())
    assert "simulated+short, pairwise: done" in judged.out
    found = json.loads(misjudge("summarize", "mine", "--judge", "simulated+short", "--json").out)
    assert found["judge"] == "simulated+short"


def sessions(*judges: Judge) -> list[Record]:
    """Twelve episodes, half of them good, which the judges score high."""
    found = []
    for n in range(12):
        scores = [satisfied(judge.scale.high, judge) for judge in judges]
        found.append(lone(episode("x", passed(n % 2 == 0), task=f"t{n}", satisfaction=scores), line=n))
    return found


def scorer(form: Form, label: str = "m") -> Judge:
    return Judge(label=label, form=form, model=label, scale=FORMS[form].scale)


def printed(deps: Deps, capsys: pytest.CaptureFixture[str], **values: Any) -> str:
    found = summarize(SummarizeRequest.model_validate({"audit": "a", **values}), deps.store)
    capsys.readouterr()
    print_result(found)
    return capsys.readouterr().out


def test_each_form_of_a_judge_has_its_lines(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    stored(deps.store, sessions(scorer("satisfaction"), scorer("gate")))
    out = printed(deps, capsys)
    for line in (
        "failed, of satisfied (score from 0.8 on)",
        "gate: failed, of passed (passes from 5 on)",
        "gate: relative risk, AUC",
        "gate says nothing of success",
        "gate: p against a ceiling of 20.0 %",
    ):
        assert line in out
    assert "proxy" not in out, "nobody asked for it"


def test_judges_stand_side_by_side_by_form(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    stored(deps.store, sessions(scorer("gate"), scorer("gate", "other"), scorer("proxy", "other")))
    out = printed(deps, capsys)
    assert "Audit a: gate against success" in out and "Audit a: proxy against success" in out
    assert "satisfaction against success" not in out
    gate = out.split("gate against success")[1].split("proxy against success")[0]
    assert "m" in gate and "other" in gate
    assert "passes from" in gate and "failed, of passed" in gate
    assert "content from" in out and "failed, of content" in out and "satisfied from" not in out


@pytest.mark.parametrize(
    ("form", "heading", "said"),
    [
        ("satisfaction", "satisfied though failed", "6 of 12 satisfied"),
        ("gate", "gate passed though failed", "6 of 12 passed"),
        ("proxy", "proxy content though failed", "6 of 12 content"),
        ("rubric", "rubric passed though failed", "6 of 12 passed"),
    ],
)
def test_agents_are_told_by_the_form_that_was_asked(
    deps: Deps, capsys: pytest.CaptureFixture[str], form: Form, heading: str, said: str
) -> None:
    stored(deps.store, sessions(scorer(form)))
    shown = printed(deps, capsys, sections=["agents"])
    first, second = (line.split("┃")[3].strip() for line in shown.splitlines() if line.startswith("┃"))
    assert f"{first} {second}" == heading
    assert f"│ {said}" in shown


def test_what_nobody_judged_is_said_once(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    stored(deps.store, list(pair_records(2)))
    out = printed(deps, capsys)
    said = " ".join(out.split())
    assert said.count("No judge is stored") == 1 and "satisfaction, " in said
    assert "gate" not in out and "proxy" not in out
    silent = Judge(label="p", form="proxy", model="p", scale=FORMS["proxy"].scale)
    stored(deps.store, [lone(episode("z", task="t9", satisfaction=[satisfied(6.0, silent)]))], "b")
    out = printed(deps, capsys, audit="b")
    assert "proxy: No trajectory has both" in out
    assert "gate: " not in out and "satisfaction: " not in out, "nobody asked for them"
    unscored = lone(episode("z", passed(True), task="t9"))
    stored(deps.store, [unscored, *pair_records(1), lone(episode("x", passed(True), task="t"))], "c")
    stored(deps.store, [pair("q", None, None, verdict("A"))], "c")
    out = printed(deps, capsys, audit="c")
    assert out.count(" was judged") == 1 and "satisfaction: No satisfaction was judged." in out


@pytest.mark.parametrize("state", ["planned", "done"])
def test_warnings_stand_above_what_came_of_it(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunReport.model_validate(
        {"run": "r", "audit": "a", "operation": "judge", "judge": "m", "state": state, "done": 1, "total": 1}
    )
    given: dict[str, Any] = {"simulated": False, "marked": None, "run": run, "warnings": ("Prompt [red]x[/] is odd.",)}
    for result in (
        JudgeResult(judge="m", asked_at="here", form="gate", already_stored=0, **given),
        RunPairResult(asked_at={}, pairs=1, **given),
    ):
        print_result(result)
        assert capsys.readouterr().out.startswith("Prompt [red]x[/] is odd.\n")
