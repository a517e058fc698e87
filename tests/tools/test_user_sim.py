from __future__ import annotations

from typing import Literal

import pytest

from misjudge_storage.errors import InvalidInput, Unreachable
from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes.asking import ModelParams
from misjudge_tools.episodes.turns import UserSimFailed, UserTurn
from misjudge_tools.episodes.user_flags import flags_of
from misjudge_tools.episodes.user_sim import ModelUser, facts_as_told, read_turn, user_template
from misjudge_tools.gateway.calls import Call, Exchange
from misjudge_tools.profiles import PromptText
from misjudge_tools.suites.model import Language, SuiteTask
from rollout_parts import a_call, a_task

PARAMS = ModelParams("user-m", 0.7, 200, 7)
TASK = a_task(
    facts=[
        {"asks": ["colour", "color"], "says": "It should be red."},
        {"asks": ["name"], "says": "My name is Ada. A-D-A. That is all. Really. Yes."},
    ],
    success_criteria="SECRET CRITERIA",
    hard_constraints="SECRET CONSTRAINTS",
    rubrics=[{"text": "SECRET RUBRIC"}],
    checks=[{"kind": "contains", "value": "SECRET CHECK"}],
)
TALK = (
    Message(role="user", content="I want a tent."),
    Message(role="assistant", content="One moment.", tool_calls=(a_call("take", "c1", sku="tent"),)),
    Message(role="tool", content='{"secret": 1}', tool_call_id="c1", name="take"),
    Message(role="assistant", content="Which colour?"),
    Message(role="user", content="Red."),
    Message(role="assistant", tool_calls=(a_call("notes", "c2"),)),
    Message(role="tool", content="[]", tool_call_id="c2", name="notes"),
    Message(role="assistant", content="It is done."),
)


class Model:
    """An `Ask` that says these texts one after the other."""

    def __init__(self, *replies: str | Exchange) -> None:
        self.replies = list(replies)
        self.calls: list[Call] = []
        self.turns: list[int] = []

    async def __call__(self, call: Call, turn: int) -> Exchange:
        self.calls.append(call)
        self.turns.append(turn)
        reply = self.replies.pop(0)
        return Exchange(reply, False, False, (), None) if isinstance(reply, str) else reply


def customer(model: Model, task: SuiteTask = TASK, own: PromptText | None = None) -> ModelUser:
    return ModelUser(model, PARAMS, task, user_template(task.language, own))


async def test_the_model_plays_the_customer_with_roles_turned_and_sees_no_tools() -> None:
    model = Model("Thank you.")
    assert await customer(model).reply(TALK) == UserTurn("Thank you.")
    (call,) = model.calls
    assert [turn.role for turn in call.messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [turn.content for turn in call.messages[2:]] == [
        "I want a tent.",
        "One moment.\n\nWhich colour?",
        "Red.",
        "It is done.",
    ]
    assert (call.role, call.model, call.temperature, call.max_tokens, call.seed) == ("user_sim", "user-m", 0.7, 200, 7)
    assert call.tools is None
    assert all(not turn.tool_calls for turn in call.messages)


async def test_the_model_knows_goal_and_facts_and_nothing_of_how_success_is_checked() -> None:
    model = Model("Red.")
    await customer(model).reply(TALK)
    told = "\n".join(turn.content for turn in model.calls[0].messages)
    assert "You want one tent." in told
    assert "When asked about colour or color: It should be red." in told
    assert "SECRET" not in told and "secret" not in told


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_prompt_holds_the_rules_of_a_customer(language: Language) -> None:
    template = user_template(language, None)
    assert "FINISHED" in template.system and "BLOCKED" in template.system
    assert ("three" if language == "en" else "三个短句") in template.system
    assert template.version == f"user_sim.{language}.v1"


def test_a_task_without_facts_says_so() -> None:
    assert facts_as_told((), "en") == ""
    assert facts_as_told(TASK.facts[:1], "zh") == "- 被问到colour或color时：It should be red."


async def test_a_persons_own_prompt_takes_the_place_of_the_shipped_one() -> None:
    model = Model("Red.")
    own = PromptText(name="mine", text="You are a pirate.\n---user---\n{goal} {facts}")
    await customer(model, a_task(facts=[]), own).reply(TALK)
    assert [turn.content for turn in model.calls[0].messages[:2]] == [
        "You are a pirate.",
        "You want one tent. none stated",
    ]


@pytest.mark.parametrize("text", ["Be.\n---user---\n{goal}", "Be.\n---user---\n{facts} {goal} {criteria}", "{goal}"])
def test_a_persons_own_prompt_needs_goal_and_facts_and_gets_no_more(text: str) -> None:
    with pytest.raises(InvalidInput, match="Prompt mine"):
        user_template("en", PromptText(name="mine", text=text))


async def test_an_empty_reply_is_asked_once_more() -> None:
    model = Model(" \n", "Red.")
    assert await customer(model).reply(TALK) == UserTurn("Red.")
    assert model.turns == [1, 2]


async def test_two_empty_replies_are_a_failure() -> None:
    with pytest.raises(UserSimFailed, match="said nothing, 2 times"):
        await customer(Model("", "<think>What should I say")).reply(TALK)


@pytest.mark.parametrize(
    ("exchange", "says"),
    [
        (Exchange("I am not a customer.", False, True, (), None), "refused to play"),
        (Exchange("", False, False, (), None, (ToolCall(name="take"),)), "called a tool"),
        (Exchange(None, False, False, (), Unreachable("No connection.")), r"gave no reply\. No connection\."),
    ],
)  # fmt: skip
async def test_a_model_that_plays_no_customer_has_failed(exchange: Exchange, says: str) -> None:
    with pytest.raises(UserSimFailed, match=says):
        await customer(Model(exchange)).reply(TALK)


@pytest.mark.parametrize(
    ("text", "said", "end"),
    [
        ("Thanks.\nFINISHED", "Thanks.", "finished"),
        ("Thanks.\n\n**FINISHED**\n", "Thanks.", "finished"),
        ("Thanks!\nFINISHED.", "Thanks!", "finished"),
        ("Thanks. FINISHED", "Thanks.", "finished"),
        ("好的，谢谢。FINISHED", "好的，谢谢。", "finished"),
        ("那算了。\r\n【BLOCKED】", "那算了。", "blocked"),
        ("FINISHED", "", "finished"),
        ("Then no.\nBLOCKED\nAgent: Goodbye!", "Then no.", "blocked"),
        ("My card says BLOCKED", "My card says BLOCKED", None),
        ("I have not FINISHED", "I have not FINISHED", None),
        ("It is finished.", "It is finished.", None),
        ("FINISHED yet? No.", "FINISHED yet? No.", None),
        ("." * 200_000 + "x", "." * 200_000 + "x", None),
        ("\n" * 200_000 + "x", "\n" * 200_000 + "x", None),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_the_last_line_ends_the_conversation(text: str, said: str, end: Literal["finished", "blocked"] | None) -> None:
    assert read_turn(text) == UserTurn(said, end)


CRITERIA = (
    "The order O-17 is cancelled and 129.50 USD are refunded to the card within policy, and nothing else is changed."
)
CRITERIA_ZH = "订单已取消，并且将一百二十九元五角退回到原来的银行卡，其他任何记录都没有改变。"
CANCEL = a_task(
    opening="I want to cancel an order.",
    goal="You want order O-17 cancelled and your money back on the card that you paid with.",
    facts=[{"asks": ["number"], "says": "It is O-17. I placed it on 3/10. It was two tents. They are late. Sorry!"}],
    success_criteria=CRITERIA,
    hard_constraints="Refund only the card that was used; never give store credit in place of the money.",
)  # fmt: skip
CANCEL_ZH = a_task(
    language="zh",
    opening="我想取消订单。",
    goal="你想取消订单O-17，并把钱退回付款的卡。",
    facts=[{"asks": ["订单号"], "says": "订单号是O-17。三月十日下的单。一共两顶帐篷。还没有收到。"}],
    success_criteria=CRITERIA_ZH,
)


def flags(said: str, task: SuiteTask = CANCEL, agent: str = "How can I help?") -> tuple[str, ...]:
    talk = (
        Message(role="user", content=task.opening),
        Message(role="assistant", content=agent, tool_calls=(a_call("cancel_order", "c1", order_id="O-17"),)),
        Message(role="tool", content="{}", tool_call_id="c1", name="cancel_order"),
        Message(role="user", content=said),
    )
    return flags_of(task, talk, ("issue_refund", "find"))


@pytest.mark.parametrize(
    ("said", "task", "flag"),
    [
        ("So the order O-17 is cancelled, and 129.50 USD are refunded to the card?", CANCEL, "leaked_criteria"),
        ("Never give store credit, in place of THE MONEY!", CANCEL, "leaked_criteria"),
        ("请将一百二十九元五角退回到原来的银行卡。", CANCEL_ZH, "leaked_criteria"),
        ("That was 8/10.", CANCEL, "scored"),
        ("Score: 4", CANCEL, "scored"),
        ("I'd rate this conversation highly.", CANCEL, "scored"),
        ("I rate it well.", CANCEL, "scored"),
        ("You get 9 out of 10 from me.", CANCEL, "scored"),
        ("评分：5", CANCEL_ZH, "scored"),
        ("我给你打9分。", CANCEL_ZH, "scored"),
        ("给您九分！", CANCEL_ZH, "scored"),
        ('{"name": "cancel", "arguments": {"order_id": "O-17"}}', CANCEL, "solved_task"),
        ("<tool_call>cancel</tool_call>", CANCEL, "solved_task"),
        ("Just use cancel_order for it.", CANCEL, "solved_task"),
        ("请调用issue_refund退款。", CANCEL_ZH, "solved_task"),
        ("Hello. I am here. I want this. Do it now.", CANCEL, "too_long"),
        ("你好。我在。我要退款。快点！", CANCEL_ZH, "too_long"),
        ("Hello! 1. Cancel it. 2. Refund me. 3. Tell me. 4. Go.", CANCEL, "too_long"),
    ],
)  # fmt: skip
def test_what_a_simulator_does_wrong_is_flagged(said: str, task: SuiteTask, flag: str) -> None:
    assert flags(said, task) == (flag,)


@pytest.mark.parametrize(
    ("said", "task"),
    [
        ("I want order O-17 cancelled and my money back on the card that I paid with.", CANCEL),
        ("You want order O-17 cancelled and your money back on the card that you paid with.", CANCEL),
        (CANCEL.facts[0].says, CANCEL),
        (f"{CANCEL.facts[0].says} Yes, please go ahead.", CANCEL),
        (CANCEL_ZH.facts[0].says, CANCEL_ZH),
        ("Yes, please go ahead.", CANCEL),
        ("好的，请继续。", CANCEL_ZH),
        ("Thank you, that is all.", CANCEL),
        ("谢谢，没有别的事了。", CANCEL_ZH),
        ("Mr. St. John wrote at 5 p.m. that $129.50 is due, e.g. to a.b@c.example. So? I paid 3.5 of it!", CANCEL),
        ("I placed it on 3/10.", CANCEL),
        ("The date was 3/10/2026, so a quarter, 1/4, and 3/5 of the price.", CANCEL),
        ("I'd rather wait. Can you find it?", CANCEL),
        ("请给我10分钟，大部分已经付了，我只给五分之一。", CANCEL_ZH),
        ("The order was cancelled.", CANCEL),
        ("", CANCEL),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)  # fmt: skip
def test_what_a_customer_may_say_is_not_flagged(said: str, task: SuiteTask) -> None:
    assert flags(said, task) == ()


@pytest.mark.parametrize(
    "said", ["The agent quoted: " + CRITERIA, "So I call cancel_order?", "You said 8/10 are done."]
)
def test_what_the_agent_said_first_may_be_repeated(said: str) -> None:
    assert flags(said, agent=f"{CRITERIA} I ran cancel_order; 8/10 are done.") == ()


def test_the_opening_is_the_suites_own_and_not_looked_at() -> None:
    task = a_task(opening="One. Two. Three. Four. I rate it 8/10.")
    assert flags_of(task, (Message(role="user", content=task.opening),)) == ()


def test_several_faults_come_in_a_fixed_order_and_once() -> None:
    said = f"{CRITERIA} Score: 4. Use cancel_order. Now. Please. And. Thanks."
    assert flags(f"{said} {said}") == ("leaked_criteria", "scored", "solved_task", "too_long")


@pytest.mark.parametrize("piece", [".", "\n", " ", "1 ", "a.", "/", '"name":', "1.\n", "。", "i would "])
def test_a_message_without_end_is_read_in_time(piece: str) -> None:
    flags(piece * (200_000 // len(piece)))
