"""Rows of preference data: the common prompt, who is chosen and why, and what makes no row."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from builders import messages
from misjudge_storage.export_rows import ExportedEpisode, ExportedPair
from misjudge_storage.types import Message, ToolCall
from misjudge_tools.exporting.preference import dpo_row, kto_row
from training_parts import DONE, DPO, KTO, LATE, SORRY, USER, fields, said

ASKED = [{"role": "user", "content": "What color is the sky?"}]
ANSWERED = [{"role": "assistant", "content": "It is blue."}]
"""The example of TRL's documentation."""
PREFERENCE = {"prompt": ASKED, "chosen": ANSWERED, "rejected": ANSWERED, "metadata": {}}
UNPAIRED = {"prompt": ASKED, "completion": ANSWERED, "label": True, "metadata": {}}


def test_the_shapes_take_the_examples_of_the_documentation() -> None:
    jsonschema.validate(PREFERENCE, DPO)
    jsonschema.validate(UNPAIRED, KTO)


@pytest.mark.parametrize(
    ("row", "shape"),
    [
        ({**PREFERENCE, "prompt": "What color is the sky?"}, DPO),
        ({**PREFERENCE, "chosen": []}, DPO),
        ({**PREFERENCE, "rejected": ASKED}, DPO),
        ({**UNPAIRED, "label": 1}, KTO),
        ({**UNPAIRED, "completion": "It is blue."}, KTO),
        ({**UNPAIRED, "prompt": [{"role": "user", "content": None}]}, KTO),
    ],
)
def test_the_shapes_take_nothing_else(row: dict[str, Any], shape: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(row, shape)


def exported(
    a: tuple[Message, ...] | None, b: tuple[Message, ...] | None, prompt: str = "", **facts: Any
) -> ExportedPair:
    row = {
        **dict.fromkeys(("trial", "reward_a", "reward_b", "reward_source")),
        **{"agent_a": "x", "agent_b": "y", "gold_pref": "A", "gold_source": "verifier", "simulated": 0},
        **{"success_a": 1, "success_b": 0},
        **facts,
    }
    return ExportedPair("p", "t", prompt, row, None, a, b, ())


def test_the_prompt_is_what_both_begin_with_and_the_better_side_is_chosen() -> None:
    row = fields(dpo_row(exported((USER, DONE), (USER, SORRY))))
    assert (said(row["prompt"]), said(row["chosen"]), said(row["rejected"])) == (
        ["Cancel order 1."], ["It is cancelled."], ["I could not."],
    )  # fmt: skip
    assert row["metadata"]["completion"] == "whole"
    turned = fields(dpo_row(exported((USER, SORRY), (USER, DONE), gold_pref="B", success_a=0, success_b=1)))
    assert (said(turned["chosen"]), turned["metadata"]["chosen_agent"]) == (["It is cancelled."], "y")


def test_a_turn_ends_before_the_customer_speaks_again() -> None:
    a = (*messages("Hi", "Which one?", "Number 1.", "Cancelled."),)
    b = (*messages("Hi", "All done!", "Thanks."),)
    row = fields(dpo_row(exported(a, b)))
    assert (said(row["chosen"]), said(row["rejected"])) == (["Which one?"], ["All done!"])
    assert row["metadata"]["completion"] == "first_divergent_turn"
    later = fields(dpo_row(exported(a, (*a[:3], SORRY, *messages("Bye")))))
    assert (said(later["prompt"]), said(later["rejected"])) == (["Hi", "Which one?", "Number 1."], ["I could not."])
    assert later["metadata"]["completion"] == "whole", "the customer's last word is no turn of the agent"


def called(name: str, identity: str, arguments: str = "{}") -> tuple[Message, Message]:
    call = ToolCall(name=name, arguments=arguments, id=identity)
    return (
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", content="ok", tool_call_id=identity, name=name),
    )


def test_the_ids_of_tool_calls_make_no_difference() -> None:
    a = (USER, *called("find", "call_x1"), *called("cancel", "call_x2", '{"order": 1}'), DONE)
    b = (USER, *called("find", "call_y1"), SORRY)
    row = fields(dpo_row(exported(a, b)))
    assert len(row["prompt"]) == 3
    assert row["chosen"][0]["tool_calls"] == [
        {"type": "function", "id": "call_2", "function": {"name": "cancel", "arguments": {"order": 1}}}
    ]
    assert row["chosen"][1] == {"role": "tool", "content": "ok", "tool_call_id": "call_2", "name": "cancel"}
    jsonschema.validate(row, DPO)


@pytest.mark.parametrize("written", ["not json", "[1]", '{"a": 1e999}', '{"a": NaN}', '{"a":' * 200 + "1" + "}" * 200])
def test_arguments_that_are_no_object_stay_text(written: str) -> None:
    row = fields(dpo_row(exported((USER, *called("f", "c", written), DONE), (USER, SORRY))))
    assert row["chosen"][0]["tool_calls"][0]["function"]["arguments"] == written


def test_a_prompt_that_only_the_task_holds_is_asked() -> None:
    row = fields(dpo_row(exported((DONE,), (SORRY,), "Cancel order 1.")))
    assert row["prompt"] == [{"role": "user", "content": "Cancel order 1."}]


SYSTEM = Message(role="system", content="Be kind.")
OTHER = Message(role="system", content="Be quick.")


@pytest.mark.parametrize(
    ("pair_", "why"),
    [
        (exported((USER, DONE), (USER, SORRY), gold_pref="tie"), "undecidable"),
        (exported((USER, DONE), (USER, SORRY), gold_pref=None), "undecidable"),
        (exported((USER, DONE), (USER, SORRY), success_a=0), "chosen_failed"),
        (exported((USER, DONE), None), "no_transcript"),
        (exported((USER, DONE), ()), "no_transcript"),
        (exported((USER, DONE), (USER, DONE)), "same_transcript"),
        (exported((DONE,), (SORRY,)), "no_prompt"),
        (exported((SYSTEM, USER, DONE), (OTHER, USER, SORRY)), "no_prompt"),
        (exported((SYSTEM, USER, DONE), (SYSTEM, LATE, SORRY)), "no_prompt"),
        (exported((USER, SORRY, LATE, DONE), (USER, SORRY, USER, SORRY)), "others_diverge_first"),
        (exported((USER, SORRY, LATE, DONE), (USER, SORRY)), "others_diverge_first"),
        (exported((USER, DONE), (USER,)), "nothing_done"),
    ],
)
def test_a_pair_without_a_fair_row_is_left_out_with_its_reason(pair_: ExportedPair, why: str) -> None:
    assert dpo_row(pair_) == why


def lone_episode(*told: Message, **facts: Any) -> ExportedEpisode:
    known = {"success": True, "success_source": "verifier", "better": 0, "worse": 0, **facts}
    return ExportedEpisode(
        trajectory_id="i", task_id="t", prompt="", agent="x", trial=0, reward=None, simulated=False, messages=told,
        **known,
    )  # fmt: skip


def test_an_episode_is_labelled_by_its_success_and_ends_with_the_agents_last_turn() -> None:
    told = (*messages("Hi", "Which?", "This."), *called("cancel", "c1"), DONE, *messages("Bye"))
    row = fields(kto_row(lone_episode(*told)))
    assert said(row["prompt"]) == ["Hi", "Which?", "This."]
    assert [one["role"] for one in row["completion"]] == ["assistant", "tool", "assistant"]
    assert row["label"] is True
    assert fields(kto_row(lone_episode(USER, SORRY, success=False)))["label"] is False
    jsonschema.validate(row, KTO)


def test_a_label_comes_from_pairs_only_where_success_is_not_known_and_all_agree() -> None:
    unknown: dict[str, Any] = {"success": None, "success_source": None}
    assert fields(kto_row(lone_episode(USER, DONE, better=2, **unknown)))["label"] is True
    assert fields(kto_row(lone_episode(USER, DONE, worse=1, **unknown)))["label"] is False
    assert fields(kto_row(lone_episode(USER, DONE, better=1, success=False)))["label"] is False
    assert kto_row(lone_episode(USER, DONE, better=1, worse=1, **unknown)) == "contradicting_evidence"
    assert kto_row(lone_episode(USER, DONE, **unknown)) == "no_evidence"
    assert kto_row(lone_episode(USER)) == "nothing_done"
    assert kto_row(lone_episode(DONE, USER)) == "no_prompt"
