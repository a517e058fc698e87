"""What does not fit a judge's context is not sent and counts as unscored, or is cut in the middle where asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from misjudge_storage import judging_records
from misjudge_storage.errors import InvalidInput
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.run_records import PlannedCell
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.settings import Price
from misjudge_tools.judge import judge
from misjudge_tools.judging.choice import JudgingSpec, choose_judge, judge_of, reply_schema, template_of
from misjudge_tools.judging.fit_context import FRAME_TOKENS, tokens_of
from misjudge_tools.judging.prompts import render
from misjudge_tools.judging.showing import EMPTY, Showing, Shown
from misjudge_tools.requests import JudgeRequest, SummarizeRequest
from misjudge_tools.results import JudgeResult
from misjudge_tools.runs.plan import both_orders, pair_cells
from misjudge_tools.summarize_audit import summarize
from operations import NOWHERE, PromptJudge, count, keyed, opened, pair_record, rows, stored, with_judge

SHORT = ("I cancelled it.", "I could not cancel it.")
CONTEXT = 4000


def lines(number: int) -> str:
    return "\n".join(f"Step {n}: I looked at the order once more." for n in range(number))


LONG = (lines(700), lines(300))


@pytest.fixture
async def deps(tmp_path: Path, prompt_judge: PromptJudge) -> AsyncIterator[Deps]:
    """A judge of 4,000 tokens, and an audit of a short pair and a long one."""
    models = with_judge(keyed(prompt_judge.base_url), context_tokens=CONTEXT, price=Price(input=1, output=1))
    wide = models.role("judge").model_copy(update={"context_tokens": 10**6, "model": "wide-m", "name": "wide"})
    with_wide = models.model_copy(update={"profiles": {"wide": wide}})
    async with opened(tmp_path / "s.db", with_wide) as made:
        stored(
            made.store, [pair_record("short", "Cancel it.", SHORT, "A"), pair_record("long", "Cancel it.", LONG, "B")]
        )
        yield made


async def judging(deps: Deps, **values: Any) -> JudgeResult:
    return await judge(JudgeRequest.model_validate({"audit": "a", **values}), deps)


def verdicts_of(deps: Deps, label: str = "judge-m") -> dict[str, list[str | None]]:
    """Subject → why its verdicts by this judge are unscored, None where they are scored."""
    query = """
        SELECT COALESCE(v.pair_id, t.agent || ' ' || t.task_id) AS subject, v.unscored_reason, v.log_id FROM verdicts v
        JOIN judges j ON j.judge_id = v.judge_id AND j.audit_id = v.audit_id
        LEFT JOIN trajectories t ON t.trajectory_id = v.trajectory_id
        WHERE j.label = :judge ORDER BY subject, v.order_shown
    """
    found: dict[str, list[str | None]] = {}
    for row in rows(deps.store, query, judge=label):
        assert (row["log_id"] is None) is (row["unscored_reason"] == "context_overflow")
        found.setdefault(row["subject"], []).append(row["unscored_reason"])
    return found


OVERFLOW = "context_overflow"


async def test_a_pair_that_does_not_fit_is_not_sent_and_is_unscored(deps: Deps, prompt_judge: PromptJudge) -> None:
    done = await judging(deps)
    assert (done.run.state, done.run.done, done.run.unscored) == ("done", 4, {OVERFLOW: 2})
    assert verdicts_of(deps) == {"long": [OVERFLOW, OVERFLOW], "short": [None, None]}
    assert len(prompt_judge.asked) == count(deps.store, "judge_logs") == 2
    assert sum(use.calls for use in done.run.spent) == 2
    assert all("Step 1" not in str(messages) for messages in prompt_judge.asked)
    again = await judging(deps)
    assert (again.run.total, again.already_stored) == (0, 4)


async def test_one_long_trajectory_does_not_spoil_the_others(deps: Deps, prompt_judge: PromptJudge) -> None:
    done = await judging(deps, form="gate")
    assert (done.run.state, done.run.unscored) == ("done", {OVERFLOW: 2})
    unscored = {subject for subject, reasons in verdicts_of(deps).items() if reasons == [OVERFLOW]}
    assert unscored == {"left task of long", "right task of long"}
    assert len(prompt_judge.asked) == 2


async def test_what_is_not_sent_counts_against_no_limit(deps: Deps, prompt_judge: PromptJudge) -> None:
    done = await judging(deps, max_calls=2, max_tokens=20_000, max_usd=0.02)
    assert (done.run.state, len(prompt_judge.asked)) == ("done", 2)


async def test_a_dry_run_counts_and_prices_only_what_will_be_sent(deps: Deps, prompt_judge: PromptJudge) -> None:
    dry = await judging(deps, dry_run=True)
    (role,) = dry.run.plan
    assert (dry.run.total, role.calls, prompt_judge.asked) == (4, 2, [])
    only_short = await judging(deps, dry_run=True, pair_ids=["short"])
    assert role.most_cost == only_short.run.plan[0].most_cost
    wide = await judging(deps, dry_run=True, judge="wide")
    assert wide.run.plan[0].calls == 4 and (wide.run.plan[0].most_cost or 0) > (role.most_cost or 0)


async def test_a_summary_says_of_which_judge_what_was_not_asked(deps: Deps) -> None:
    await judging(deps, panel=["wide"])
    found = summarize(SummarizeRequest(audit="a"), deps.store)
    assert found.judges is not None
    assert {label: one.unscored for label, one in found.judges.items()} == {"judge-m": {OVERFLOW: 2}, "wide": {}}
    narrow = found.judges["judge-m"]
    assert narrow.pairs is not None and (narrow.pairs.scored, narrow.pairs.unscored) == (1, 1)
    assert narrow.provenance is not None and (narrow.provenance.asked, narrow.provenance.unasked) == (2, 2)


# ---- the boundary


def cells_of(spec: JudgingSpec, audit_id: str, *pair_ids: str) -> list[PlannedCell]:
    return list(pair_cells(audit_id, [judge_fingerprint(judge_of(spec))], pair_ids, 1, both_orders))


def shown_at(deps: Deps, context: int, pair_id: str = "long", **values: Any) -> list[Shown]:
    """What the judge would see of the pair in both orders."""
    spec = choose_judge(None, "pairwise", "en", deps.models).model_copy(update={"context_tokens": context, **values})
    with deps.store.read() as connection:
        audit = judging_records.read_audit(connection, "a")
    showing = Showing(deps.store, audit, spec, with_truth=False)
    return list(showing.show(cells_of(spec, audit.audit_id, pair_id)).values())


def least_context(deps: Deps, pair_id: str) -> int:
    """The smallest context that the pair fits in."""
    low, high = 0, 100_000
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if shown_at(deps, middle, pair_id)[0].unasked else (low, middle)
    return low


def taken(spec: JudgingSpec, system: str, user: str) -> int:
    """Tokens of a request and the longest reply to it."""
    return tokens_of(system + (reply_schema(spec) or "")) + tokens_of(user) + FRAME_TOKENS + spec.max_tokens


SAID = {"short": SHORT, "long": LONG}


@pytest.mark.parametrize("pair_id", ["short", "long"])
async def test_a_pair_fits_to_the_last_token_in_both_orders_or_in_none(deps: Deps, pair_id: str) -> None:
    spec = choose_judge(None, "pairwise", "en", deps.models)
    template = template_of(spec)
    task = {"task": "Cancel it.", "criteria": "The order is cancelled.", "constraints": ""}
    around = render(template, {**task, **EMPTY}).user
    said = sum(tokens_of(f"[assistant] {one}") for one in SAID[pair_id])
    least = taken(spec, template.system, around) + said
    assert [shown.unasked for shown in shown_at(deps, least - 1, pair_id)] == ["context_overflow"] * 2
    for shown in shown_at(deps, least, pair_id):
        assert shown.unasked is None
        assert 0 <= least - taken(spec, shown.prompt.system, shown.prompt.user) < 30, "what a fence may take"
    assert least_context(deps, pair_id) == least


async def test_at_the_boundary_it_is_sent_and_one_token_below_it_is_not(
    deps: Deps, tmp_path: Path, prompt_judge: PromptJudge
) -> None:
    least = least_context(deps, "long")
    for context, sent in ((least, 2), (least - 1, 0)):
        models = with_judge(keyed(prompt_judge.base_url), context_tokens=context)
        prompt_judge.asked.clear()
        async with opened(tmp_path / f"{context}.db", models) as other:
            stored(other.store, [pair_record("long", "Cancel it.", LONG, "B")])
            assert (await judging(other)).run.state == "done"
            assert verdicts_of(other) == {"long": [None if sent else OVERFLOW] * 2}
        assert len(prompt_judge.asked) == sent


async def test_a_long_task_or_schema_takes_of_the_room_too(deps: Deps) -> None:
    stored(deps.store, [pair_record("wordy", "Cancel it. " * 2000, SHORT, "A")])
    assert shown_at(deps, CONTEXT, "wordy")[0].unasked
    assert shown_at(deps, CONTEXT, "wordy", truncate="middle")[0].unasked, "only transcripts are cut"


# ---- cut in the middle


async def test_truncation_sends_something_that_fits_and_records_what_is_missing(
    deps: Deps, prompt_judge: PromptJudge
) -> None:
    done = await judging(deps, truncate="middle")
    assert (done.run.state, done.run.unscored, len(prompt_judge.asked)) == ("done", {}, 4)
    spec = choose_judge(None, "pairwise", "en", deps.models, truncate="middle")
    cut = [messages for messages in prompt_judge.asked if "left out by misjudge" in str(messages[1].content)]
    assert len(cut) == 2
    for messages in cut:
        size = taken(spec, str(messages[0].content), str(messages[1].content))
        assert CONTEXT - 150 < size <= CONTEXT, "as much as fits"
    logs = rows(deps.store, "SELECT pair_id, order_shown, shown_json FROM judge_logs ORDER BY pair_id, order_shown")
    left_out = [json.loads(log["shown_json"] or "{}").get("left_out") for log in logs]
    assert [(log["pair_id"], log["order_shown"]) for log in logs] == [
        ("long", "AB"), ("long", "BA"), ("short", "AB"), ("short", "BA"),
    ]  # fmt: skip
    assert left_out[2:] == [None, None]
    assert left_out[0] == left_out[1] and set(left_out[0]) == {"A", "B"}
    said = sum(left_out[0].values())
    assert 0 < left_out[0]["B"] < left_out[0]["A"] < said < sum(map(len, LONG))
    for messages in cut:
        for number in left_out[0].values():
            assert f"[… {number:,} characters left out by misjudge …]" in str(messages[1].content)


async def test_both_sides_keep_the_same_room_and_the_same_text_in_both_orders(deps: Deps) -> None:
    ab, ba = shown_at(deps, CONTEXT, truncate="middle")
    assert (ab.unasked, ba.unasked) == (None, None)
    first, second = inner(ab)
    assert (second, first) == inner(ba)
    assert abs(tokens_of(first) - tokens_of(second)) < 60, "to the end of a line"
    assert first.startswith("[assistant] Step 0:") and second.endswith(lines(300)[-30:])


def inner(shown: Shown) -> tuple[str, str]:
    """What stands between the fences, in the order shown."""
    parts = shown.prompt.user.split("\n=== ")
    (a,) = [part.partition("\n")[2] for part in parts if part.startswith("BEGIN RESPONSE A")]
    (b,) = [part.partition("\n")[2] for part in parts if part.startswith("BEGIN RESPONSE B")]
    return a, b


async def test_a_judge_that_sees_cut_transcripts_is_another_one_and_is_asked(
    deps: Deps, prompt_judge: PromptJudge
) -> None:
    await judging(deps)
    done = await judging(deps, truncate="middle")
    assert (done.run.total, done.already_stored, done.run.unscored) == (4, 0, {})
    assert count(deps.store, "judges") == 2
    assert len(prompt_judge.asked) == 2 + 4


async def test_what_cannot_be_cut_to_fit_is_not_sent(tmp_path: Path, prompt_judge: PromptJudge) -> None:
    models = with_judge(keyed(prompt_judge.base_url), context_tokens=1100)
    async with opened(tmp_path / "s.db", models) as deps:
        stored(deps.store, [pair_record("long", "Cancel it.", LONG, "B")])
        done = await judging(deps, truncate="middle")
        assert (done.run.state, done.run.unscored, prompt_judge.asked) == ("done", {OVERFLOW: 2}, [])


async def test_one_trajectory_is_cut_under_its_own_name(deps: Deps, prompt_judge: PromptJudge) -> None:
    done = await judging(deps, form="satisfaction", truncate="middle")
    assert (done.run.state, done.run.unscored, len(prompt_judge.asked)) == ("done", {}, 4)
    shown = [
        json.loads(row["shown_json"])
        for row in rows(deps.store, "SELECT shown_json FROM judge_logs")
        if row["shown_json"]
    ]
    assert len(shown) == 2
    assert all(set(one["left_out"]) == {"response"} for one in shown)


# ---- what a model takes


def test_a_profile_states_the_context_before_any_list() -> None:
    listed = keyed("http://127.0.0.1:9").model_copy(update={"profiles": {}})
    named = with_judge(listed, model="gpt-4o-mini")
    assert choose_judge(None, "pairwise", "en", named).context_tokens == 128_000
    assert choose_judge("openai/gpt-4o", "pairwise", "en", named).context_tokens == 128_000
    stated = with_judge(named, context_tokens=9_000)
    assert choose_judge(None, "pairwise", "en", stated).context_tokens == 9_000
    assert choose_judge("gpt-4o", "pairwise", "en", stated).context_tokens == 128_000, "that of another model"


@pytest.mark.parametrize("model", ["judge-m", "gpt-4o-mini-tuned-by-me", "gemini-2.5-pro"])
def test_a_model_that_is_not_listed_exactly_has_no_known_context(model: str) -> None:
    models = with_judge(keyed("http://127.0.0.1:9"), model=model)
    assert choose_judge(None, "pairwise", "en", models).context_tokens is None
    with pytest.raises(InvalidInput, match=r"that of .* is not known. State context_tokens in its profile"):
        choose_judge(None, "pairwise", "en", models, truncate="middle")


def test_the_local_model_has_the_context_that_its_server_is_started_with() -> None:
    spec = choose_judge("local", "pairwise", "en", NOWHERE, truncate="middle")
    assert (spec.context_tokens, spec.truncate) == (2048, "middle")


def test_a_simulated_judge_takes_any_length() -> None:
    spec = choose_judge("simulated", "pairwise", "en", NOWHERE, truncate="middle")
    assert (spec.context_tokens, spec.truncate) == (None, None)
    gateway = with_judge(keyed("http://127.0.0.1:9", "simulated"), model="gpt-4o-mini")
    assert choose_judge(None, "pairwise", "en", gateway).context_tokens is None


def test_the_context_makes_another_judge_only_where_something_is_cut_to_it() -> None:
    def fingerprint(context: int | None, truncate: Any = None) -> str:
        spec = JudgingSpec(kind="gateway", model="m", form="pairwise", language="en")
        return judge_fingerprint(judge_of(spec.model_copy(update={"context_tokens": context, "truncate": truncate})))

    assert fingerprint(None) == fingerprint(4000) == fingerprint(8000)
    assert len({fingerprint(4000), fingerprint(4000, "middle"), fingerprint(8000, "middle")}) == 3


NO_LIST = """
import sys
from misjudge_tools.judging.choice import choose_judge
from misjudge_tools.profiles import ModelSettings
for name in ("local", "simulated"):
    choose_judge(name, "pairwise", "en", ModelSettings())
assert "genai_prices" not in sys.modules
"""


def test_no_list_is_read_where_no_provider_is_asked() -> None:
    roots = repr([path for path in sys.path if path])
    code = f"import sys; sys.path[:] = {roots}\n{NO_LIST}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
