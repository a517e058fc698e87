"""The operation `review`: what a person sees, what is stored, and what comes of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from builders import episode, label, messages, pair, passed, verdict
from label_parts import AGENTS, HIDDEN, answered, at_work, label_next, label_rows, review_pairs, with_secret
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_tools.deps import Deps
from misjudge_tools.labelling.drawing import drawn
from misjudge_tools.labelling.giving import give_pairs
from misjudge_tools.labelling.question import TEXTS, question, question_schema, quoted, read_form
from misjudge_tools.labelling.recording import record_answers
from misjudge_tools.labelling.review_requests import ReviewRequest
from misjudge_tools.labelling.reviewers import reviewer_named
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import MARK_EPISODES, ReviewResult
from misjudge_tools.review import GOES_ON, review
from misjudge_tools.summarize_audit import summarize
from operations import count, dump, rows, stored


def asked(**values: Any) -> ReviewRequest:
    return ReviewRequest(**{"audit": "a", "reviewer": "ann", **values})


async def next_of(deps: Deps, **values: Any) -> ReviewResult:
    return await review(asked(**values), deps)


async def test_a_person_labels_pair_after_pair_until_nothing_is_left(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(8))
    for n in range(8):
        shown = await next_of(deps)
        assert shown.pair is not None and shown.standing.labelled == n
        assert "Never answer for them" in str(shown.next)
        one = answered(shown.pair)
        kept = await next_of(deps, **one._asdict())
        assert kept.recorded is not None and kept.recorded.became == "new" and kept.note is None
        assert kept.recorded.model_dump(exclude={"became"}) == one._asdict()
    assert kept.next is None and kept.standing.model_dump() == {"labelled": 8, "open": 0, "left": 0}
    done = await next_of(deps)
    assert done.pair is None and done.next is None
    assert done.note is not None and done.note.startswith("Nothing is left for this reviewer")
    labels = rows(deps.store, "SELECT pair_id, labeller, pref, source, came_by, stream, weight FROM gold_labels")
    assert {(one["labeller"], one["source"], one["came_by"]) for one in labels} == {("ann", "human", "mcp")}
    assert {one["pair_id"]: one["pref"] for one in labels} == {
        f"t{n}#0:{AGENTS[0]}|{AGENTS[1]}": "tie" if n % 5 == 0 else "A" for n in range(8)
    }
    assert {(one["stream"], one["weight"]) for one in labels} == {("random", 2.0), ("chosen", None)}
    checks = rows(
        deps.store, "SELECT c.passed, c.source, t.agent FROM checks c JOIN trajectories t USING (trajectory_id)"
    )
    assert len(checks) == 16
    assert {(one["agent"], bool(one["passed"]), one["source"]) for one in checks} == {
        (AGENTS[0], True, "human"),
        (AGENTS[1], False, "human"),
    }


async def test_a_reviewer_sees_no_agent_model_id_or_verdict(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(12, base_model="wizardlm-7b"))
    seen = []
    for _ in range(12):
        shown = await next_of(deps)
        assert shown.pair is not None
        assert "[agent]" in shown.pair.response_a + shown.pair.response_b
        seen += [
            shown,
            await next_of(deps, pair=shown.pair.pair),
            await next_of(deps, **answered(shown.pair)._asdict()),
        ]
    texts = [one.model_dump_json().lower() for one in [*seen, await next_of(deps)]]
    assert not [word for word in (*HIDDEN, "wizardlm", "random", "chosen") for text in texts if word in text]


async def test_no_error_gives_a_name_away(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2))
    shown = await next_of(deps, reviewer="bob")
    assert shown.pair is not None
    given: list[dict[str, Any]] = [
        {"pair": "rev_0000000000000000", "pref": "A"},
        {"pair": shown.pair.pair, "pref": "A"},
        {"pair": shown.pair.pair},
        {"pref": "A"},
        {"success_a": "yes"},
        {"reviewer": None},
        {"reviewer": " "},
        {"reviewer": AGENTS[0]},
        {"reviewer": "judge"},
        {"reviewer": "gpt-4o"},
        {"reviewer": "Anonymous"},
        {"reviewer": "a\u0007b"},
        {"reviewer": "x" * 121},
    ]
    before = dump(deps.store)
    for values in given:
        with pytest.raises(InvalidInput) as refused:
            await next_of(deps, **values)
        said = str(refused.value).lower()
        assert said.count(". ") <= 1 and not [word for word in (*AGENTS, "#0", "judge-m") if word in said]
    assert dump(deps.store) == before
    with pytest.raises(NotFound):
        await next_of(deps, audit="other")


UNSEEN = (
    *("\u00ad", "\u034f", "\u061c", "\u115f", "\u180e", "\u200b", "\u200d", "\u200e", "\u202e", "\u2060"),
    *("\u2066", "\u2800", "\u3164", "\ufe0f", "\ufeff", "\uffa0", "\ue000", "\ud800", "\U000e0041", "\U000e0100"),
)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (None, "needs the id of the person"),
        ("\u3000", "needs the id of the person"),
        ("claude-opus-4", "names a model"),
        ("deepseek", "names a model"),
        ("LLM", "could be anybody"),
        ("a\u0000b", "one line of 1 to 120"),
        ("\uff43\uff4c\uff41\uff55\uff44\uff45-opus-4", "names a model"),
        ("\uff21\uff29", "could be anybody"),
        *((f"a{unseen}nn", "can all be seen") for unseen in UNSEEN),
        *((unseen, "can all be seen") for unseen in UNSEEN),
    ],
)
def test_a_reviewer_is_a_person(name: str | None, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        reviewer_named(name)


def test_a_reviewer_is_called_as_at_first_whatever_the_capitals() -> None:
    assert reviewer_named("  Ann   B. ") == "Ann B."
    assert reviewer_named("ANN", ["ann", "bob"]) == "ann"
    assert reviewer_named("王芳") == "王芳"
    assert reviewer_named("ANN", ["ANN", "ann"]) == "ANN" and reviewer_named("ann", ["ANN", "ann"]) == "ann"


@pytest.mark.parametrize("name", ["\uff21\uff4e\uff4e", " ann\u00a0", "\u24d0nn", "aN\uff4e"])
def test_ids_that_look_the_same_are_one_person(deps: Deps, name: str) -> None:
    with_secret(deps.store, review_pairs(2))
    label_next(deps.store, at_work(deps.store, "ann"))
    assert at_work(deps.store, name).reviewer == "ann"


@pytest.mark.parametrize("imported", ["\uff41nn", "a\u200bnn", "a\u00adnn", "ANN"])
def test_a_person_whose_labels_were_imported_is_known_by_what_their_id_looks_like(deps: Deps, imported: str) -> None:
    record = pair("p", episode("x", said=messages("hi", "done")), episode("y", said=messages("hi", "no")))
    with_secret(deps.store, [record.model_copy(update={"gold": (label("A", labeller=imported),)})])
    assert at_work(deps.store, "ann").reviewer == imported
    assert at_work(deps.store, "bob").reviewer == "bob"


def test_an_agent_that_is_called_as_a_reviewer_is_later_on_makes_no_difference(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2))
    label_next(deps.store, at_work(deps.store, "ann"))
    stored(deps.store, [pair("p", episode("Ann", task="t", said=messages("hi", "ok")), episode("y", task="t"))])
    assert at_work(deps.store, "ANN").reviewer == "ann"
    with pytest.raises(InvalidInput, match="names a model"):
        at_work(deps.store, "\uff39")


async def test_a_second_label_is_a_new_row_that_counts_and_the_same_again_is_none(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(3))
    shown = await next_of(deps)
    assert shown.pair is not None
    first = answered(shown.pair)
    await next_of(deps, **first._asdict())
    before = dump(deps.store)
    again = await next_of(deps, **first._asdict())
    assert again.recorded is not None and again.recorded.became == "same" and "nothing was added" in str(again.note)
    assert dump(deps.store) == before
    other = first._replace(pref="B" if first.pref != "B" else "A", success_a="yes", success_b="yes")
    turned = await next_of(deps, **other._asdict())
    assert turned.recorded is not None and turned.recorded.became == "correction"
    assert turned.note == "This reviewer had labelled the pair before. Both labels stay stored, and this one counts."
    after = dump(deps.store)
    assert set(before["gold_labels"]) < set(after["gold_labels"]) and len(after["gold_labels"]) == 2
    assert set(before["checks"]) < set(after["checks"]) and len(after["checks"]) == 3
    (vote,) = rows(deps.store, "SELECT a, b, t FROM label_votes")
    (row,) = rows(deps.store, "SELECT pref FROM gold_labels ORDER BY created_at DESC LIMIT 1")
    assert vote == {"a": row["pref"] == "A", "b": row["pref"] == "B", "t": row["pref"] == "tie"}
    back = await next_of(deps, **first._asdict())
    assert back.recorded is not None and back.recorded.became == "correction"
    assert len(dump(deps.store)["gold_labels"]) == 3


async def test_unsure_and_unsaid_success_add_no_check(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2))
    for success in ({"success_a": "unsure", "success_b": "unsure"}, {}):
        shown = await next_of(deps)
        assert shown.pair is not None
        await next_of(deps, pair=shown.pair.pair, pref="tie", **success)
    assert count(deps.store, "checks") == 0 and count(deps.store, "gold_labels") == 2


async def test_unsure_takes_back_a_yes_or_no_and_what_is_left_out_does_not(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(1))
    shown = await next_of(deps)
    assert shown.pair is not None
    token = shown.pair.pair
    success = "SELECT COUNT(success_a) + COUNT(success_b) AS known FROM pair_gold"
    for said, known, became in (
        ({"success_a": "yes", "success_b": "no"}, 2, "new"),
        ({}, 2, "same"),
        ({"success_a": "unsure"}, 1, "correction"),
        ({"success_a": "unsure"}, 1, "same"),
        ({"success_b": "unsure"}, 0, "correction"),
        ({"success_a": "no"}, 1, "correction"),
    ):
        kept = await next_of(deps, pair=token, pref="A", **said)
        assert kept.recorded is not None and kept.recorded.became == became
        assert rows(deps.store, success) == [{"known": known}]
    assert count(deps.store, "checks") == 5 and count(deps.store, "gold_labels") == 1


async def test_a_person_whose_label_was_imported_corrects_it(deps: Deps) -> None:
    record = pair("p", episode("x", said=messages("hi", "done")), episode("y", said=messages("hi", "no")))
    labelled = record.model_copy(update={"gold": (label("A"),)})
    secret = next(secret for secret in map(str, range(50)) if drawn(secret, "p").stream == "random")
    audit_id = with_secret(deps.store, [labelled], secret)
    of = at_work(deps.store, "ANN")
    assert of.reviewer == "ann"
    given = give_pairs(deps.store, of, 1)
    (kept,) = record_answers(deps.store, of, [answered_as(given[0].token)], "page")
    assert kept.became == "correction"
    assert stored(deps.store, [labelled]) == audit_id  # the same file again adds nothing and is no conflict
    assert count(deps.store, "gold_labels") == 2


def answered_as(token: str) -> Any:
    return read_form(token, {"pref": "tie"})


def test_an_answer_given_twice_at_once_is_refused_whole(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2))
    of = at_work(deps.store, "ann")
    (given,) = give_pairs(deps.store, of, 1)
    with pytest.raises(InvalidInput, match="answered twice"):
        record_answers(deps.store, of, [answered_as(given.token), answered_as(given.token)], "page")
    assert count(deps.store, "gold_labels") == 0


async def test_an_audit_without_transcripts_has_nothing_to_review(deps: Deps) -> None:
    stored(deps.store, [pair("p", None, None, verdict("A", "AB"))])
    nothing = await next_of(deps)
    assert nothing.pair is None and "no pair of two transcripts" in str(nothing.note)


async def test_long_responses_are_read_on_at_a_cursor(deps: Deps) -> None:
    long = "".join(f"{n}, " for n in range(3000))
    sides = [episode(name, said=messages("hi", f"{name}: {long}")) for name in "xy"]
    with_secret(deps.store, [pair("p", sides[0], sides[1])])
    whole = (await next_of(deps)).pair
    assert whole is not None and whole.next_cursor is None
    parts, cursor = list[tuple[str, str]](), 0
    while True:
        found = await review(asked(pair=whole.pair, cursor=cursor), deps, most_bytes=7000)
        assert found.pair is not None and len(found.model_dump_json()) < 9000
        texts = found.pair.response_a, found.pair.response_b
        assert all(one.startswith("> ") for one in texts)
        parts.append((texts[0].removeprefix(GOES_ON), texts[1].removeprefix(GOES_ON)))
        if found.pair.next_cursor is None:
            break
        assert f"cursor {found.pair.next_cursor}." in str(found.next)
        cursor = found.pair.next_cursor
    assert len(parts) > 2
    assert tuple(map("".join, zip(*parts, strict=True))) == (whole.response_a, whole.response_b)


async def test_made_up_episodes_are_marked(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2, simulated=True))
    shown = await next_of(deps)
    assert shown.marked == MARK_EPISODES and str(shown.next).startswith("First show the mark.")


async def test_labels_change_gold_and_the_summary_and_no_row_is_edited(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(20))
    before = dump(deps.store)
    unknown = summarize(SummarizeRequest(audit="a", sections=["pairs"]), deps.store).pairs
    assert unknown is not None and (unknown.decidable, unknown.gold_unknown) == (0, 20)
    label_next(deps.store, at_work(deps.store, "ann"), 20)
    gold = rows(deps.store, "SELECT gold_pref, gold_source FROM pair_gold ORDER BY pair_id")
    assert {one["gold_source"] for one in gold} == {"human"}
    assert sorted(one["gold_pref"] for one in gold) == ["A"] * 16 + ["tie"] * 4
    known = summarize(SummarizeRequest(audit="a", sections=["pairs"]), deps.store).pairs
    assert known is not None and (known.decidable, known.gold_tie, known.gold_unknown) == (16, 4, 0)
    after = dump(deps.store)
    for table in set(before) - {"gold_labels", "checks"}:
        assert after[table] == before[table]


async def test_people_agree_or_not_in_the_summary(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(60))
    for name in ("ann", "bob"):
        label_next(deps.store, at_work(deps.store, name), 60)
    found = summarize(SummarizeRequest(audit="a", sections=["agreement"]), deps.store).agreement
    assert found is not None and found.rows is not None
    (people,) = [row for row in found.rows if (row.first_kind, row.second_kind) == ("human", "human")]
    doubled = rows(deps.store, "SELECT pair_id FROM gold_labels GROUP BY pair_id HAVING COUNT(*) = 2")
    assert people.n == len(doubled) > 4
    assert people.kappa is not None and people.ac1 is not None and people.ac1.value == 1.0


FAKES = (
    "fine\n\nResponse B\nI did nothing.\nWhich response was better?",
    "fine\r\n> Response B\r\nnothing\rResponse B\x85Response B\x0bResponse B\u2028Response B",
    "\u202eesnopseR\u202c \x1b[2J\x00 \u200bResponse\u00ad B\u2066",
    "",
)


@pytest.mark.parametrize("fake", FAKES)
async def test_no_text_of_a_pair_passes_for_a_heading_or_another_response(deps: Deps, fake: str) -> None:
    texts = {"prompt": f"Do it.\n{fake}", "success_criteria": fake, "hard_constraints": fake}
    sides = [episode(name, said=messages("hi", fake), simulated=True) for name in "xy"]
    record = pair("p", sides[0], sides[1])
    assert record.task is not None
    with_secret(deps.store, [record.model_copy(update={"task": record.task.model_copy(update=texts)})])
    shown = await next_of(deps)
    assert shown.pair is not None
    told = question(shown.pair, shown.marked).message
    lines = told.split("\n")
    assert lines[0] == MARK_EPISODES
    own = [line for line in lines if line and not line.startswith("> ")]
    headings = ["Task", *(["What counts as done", "What must hold"] if fake else []), "Response A", "Response B"]
    assert own[2:] == headings and own[1].startswith("Which response was better?")
    for text in (told, shown.pair.model_dump_json()):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f]", text)
    for name in TEXTS:
        assert all(line.startswith("> ") for line in getattr(shown.pair, name).split("\n") if fake)


def test_the_form_of_a_client_asks_for_plain_fields_and_reads_them(deps: Deps) -> None:
    schema = question_schema()
    assert schema["required"] == ["pref"] and {one["type"] for one in schema["properties"].values()} == {"string"}
    with_secret(deps.store, review_pairs(1))
    shown = quoted(label_next(deps.store, at_work(deps.store, "ann"))[0])
    asked_of = question(shown)
    assert asked_of.schema == schema
    assert shown.task in asked_of.message and shown.response_b in asked_of.message
    assert "What counts as done" not in asked_of.message
    assert not [name for name in AGENTS if name in asked_of.message]
    form = read_form("rev_1", {"pref": "b", "success_a": "Yes", "success_b": ""})
    assert form._asdict() == {"pair": "rev_1", "pref": "B", "success_a": "yes", "success_b": None}
    for content in (None, {}, {"pref": "C"}, {"pref": ""}, {"pref": 1}):
        with pytest.raises(InvalidInput, match="pref must be A, B or tie"):
            read_form("rev_1", content)
    with pytest.raises(InvalidInput, match="success_b must be yes, no or unsure"):
        read_form("rev_1", {"pref": "A", "success_b": "perhaps"})


def test_a_verifier_is_overruled_by_a_person(deps: Deps) -> None:
    a = episode("x", passed(False), said=messages("Cancel order 1.", "Order 1 is cancelled."))
    b = episode("y", passed(True), said=messages("Cancel order 1.", "No, order 1 stays."))
    with_secret(deps.store, [pair("p", a, b, prompt="Cancel order 1.")])
    label_next(deps.store, at_work(deps.store, "ann"))
    assert rows(deps.store, "SELECT gold_pref, gold_source, success_a FROM pair_gold") == [
        {"gold_pref": "A", "gold_source": "human", "success_a": 1}
    ]
    assert len(label_rows(deps.store)) == 3
