from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from loopback import VirtualClock
from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes.rollout import MOST_CALLS, MOST_CHARACTERS, Rollout, roll_out
from misjudge_tools.episodes.turns import Agent, AgentFailed, AgentReply, User, UserSimFailed, UserTurn
from misjudge_tools.episodes.world import World, differences
from misjudge_tools.suites.model import SuiteTask
from rollout_parts import SHOP_IMAGE, AnswersInTurn, SaysInTurn, a_call, a_task, open_shop


async def rolled(
    agent: Agent,
    user: User | None = None,
    *,
    task: SuiteTask | None = None,
    clock: VirtualClock | None = None,
    max_steps: int = 10,
) -> Rollout:
    with World.from_image(SHOP_IMAGE) as world:
        return await roll_out(
            task or a_task(),
            agent,
            user or AnswersInTurn(),
            open_shop(world),
            world,
            clock=clock or VirtualClock(),
            max_steps=max_steps,
        )


def calls(*made: ToolCall, text: str = "") -> AgentReply:
    return AgentReply(text, made)


async def test_an_episode_is_kept_as_it_went_from_the_opening_to_the_customers_end() -> None:
    agent = SaysInTurn(calls(a_call("take", "c1", sku="tent"), text="One moment."), "Done.", "You are welcome.")
    done = await rolled(agent, AnswersInTurn("Is it red?", UserTurn("Thanks.", "finished")))
    assert done.messages == (
        Message(role="user", content="I want a tent."),
        Message(role="assistant", content="One moment.", tool_calls=(a_call("take", "c1", sku="tent"),)),
        Message(role="tool", content='{"sku": "tent", "left": 4}', tool_call_id="c1", name="take"),
        Message(role="assistant", content="Done."),
        Message(role="user", content="Is it red?"),
        Message(role="assistant", content="You are welcome."),
        Message(role="user", content="Thanks."),
    )
    assert (done.end_reason, done.trouble, done.flags) == ("finished", None, ())
    assert agent.seen[1] == done.messages[:3]


async def test_the_images_are_of_the_world_before_and_after() -> None:
    done = await rolled(SaysInTurn(calls(a_call("take", sku="tent")), "Done."))
    assert done.before == SHOP_IMAGE
    assert done.before is not None and done.after is not None
    (change,) = differences(done.before, done.after)
    assert (change.table, change.kind, change.after) == ("stock", "changed", {"left_over": 4})


async def test_without_world_and_tools_a_call_is_answered_and_there_is_no_image() -> None:
    agent = SaysInTurn(calls(a_call("take", sku="tent")), "Sorry.")
    done = await roll_out(a_task(), agent, AnswersInTurn(), None, None, clock=VirtualClock(), max_steps=5)
    assert json.loads(done.messages[2].content) == {"error": "There are no tools."}
    assert (done.before, done.after, done.end_reason) == (None, None, "finished")


async def test_several_calls_of_one_message_are_made_in_order_and_answered_by_their_ids() -> None:
    agent = SaysInTurn(
        calls(a_call("note", "a", text="1"), a_call("note", "b", text="2"), a_call("notes", "c")), "Done."
    )
    done = await rolled(agent)
    assert [(m.tool_call_id, m.name) for m in done.messages[2:5]] == [("a", "note"), ("b", "note"), ("c", "notes")]
    assert json.loads(done.messages[4].content) == ["1", "2"]


async def test_ids_that_are_missing_repeated_or_too_long_are_made_unique() -> None:
    agent = SaysInTurn(
        calls(a_call("notes", "a"), a_call("notes", "a"), a_call("notes"), a_call("notes", "")),
        calls(a_call("notes", "call_6"), a_call("notes", "a"), a_call("notes", "x" * 65)),
        "Done.",
    )
    done = await rolled(agent)
    asked = [call.id for message in done.messages for call in message.tool_calls]
    answered = [message.tool_call_id for message in done.messages if message.role == "tool"]
    assert asked == answered == ["a", "call_2", "call_3", "call_4", "call_6", "call_7", "call_8"]


async def test_an_agent_may_correct_a_call_that_was_wrong() -> None:
    agent = SaysInTurn(calls(ToolCall(name="take", arguments="{sku")), calls(a_call("take", sku="tent")), "Done.")
    done = await rolled(agent)
    assert json.loads(done.messages[2].content) == {"error": "The arguments are not valid JSON."}
    assert done.messages[1].tool_calls[0].arguments == "{sku"
    assert json.loads(done.messages[4].content) == {"sku": "tent", "left": 4}


async def test_the_customer_can_end_blocked_and_without_a_word() -> None:
    done = await rolled(SaysInTurn("That cannot be done."), AnswersInTurn(UserTurn("", "blocked")))
    assert done.end_reason == "blocked"
    assert [message.role for message in done.messages] == ["user", "assistant"]


async def test_two_empty_replies_in_a_row_are_giving_up() -> None:
    done = await rolled(SaysInTurn("", " \n"))
    assert done.end_reason == "agent_gave_up"
    assert len(done.messages) == 1


async def test_one_empty_reply_is_asked_again() -> None:
    done = await rolled(SaysInTurn("", "Here.", "", "Still here."), AnswersInTurn("And?"))
    assert done.end_reason == "finished"
    assert [m.content for m in done.messages if m.role == "assistant"] == ["Here.", "Still here."]


async def test_the_customers_messages_are_bounded_with_the_opening() -> None:
    done = await rolled(SaysInTurn("One?", "Two?"), AnswersInTurn("Hm.", "Never said."), task=a_task(max_turns=2))
    assert done.end_reason == "max_turns"
    assert [message.content for message in done.messages] == ["I want a tent.", "One?", "Hm.", "Two?"]


async def test_an_agent_is_asked_no_more_often_than_it_may_be() -> None:
    agent = SaysInTurn(*[calls(a_call("notes"))] * 9)
    done = await rolled(agent, max_steps=3)
    assert done.end_reason == "max_turns"
    assert len(agent.seen) == 3
    assert [message.role for message in done.messages] == ["user"] + ["assistant", "tool"] * 3


@pytest.mark.parametrize("late", ["agent", "user"])
async def test_the_time_is_looked_at_between_steps_and_what_was_said_is_kept(late: str) -> None:
    clock = VirtualClock()

    def slow(_: Sequence[Message]) -> AgentReply:
        clock.advance(601)
        return AgentReply("Here it is.") if late == "user" else calls(a_call("take", sku="tent"))

    done = await rolled(SaysInTurn(slow, "Never said."), clock=clock)
    assert (done.end_reason, done.trouble) == ("timeout", None)
    assert done.messages[-1].role == ("assistant" if late == "user" else "tool")


async def test_an_agent_that_fails_is_an_agent_error_and_its_messages_and_world_stay() -> None:
    done = await rolled(SaysInTurn(calls(a_call("take", sku="tent")), AgentFailed("It broke.")))
    assert (done.end_reason, done.trouble) == ("agent_error", "It broke.")
    assert len(done.messages) == 3
    assert done.after != done.before


async def test_a_customer_that_fails_is_a_user_sim_error() -> None:
    done = await rolled(SaysInTurn("Which one?"), AnswersInTurn(UserSimFailed("It broke.")))
    assert (done.end_reason, done.trouble) == ("user_sim_error", "It broke.")
    assert len(done.messages) == 2


async def test_a_customer_that_says_nothing_and_does_not_end_has_failed() -> None:
    done = await rolled(SaysInTurn("Which one?"), AnswersInTurn("  "))
    assert (done.end_reason, done.trouble) == ("user_sim_error", "The simulated user said nothing.")


@pytest.mark.parametrize("who", ["agent", "user"])
async def test_any_other_error_passes_through(who: str) -> None:
    lost = ConnectionError("the run itself is in trouble")
    agent = SaysInTurn(lost) if who == "agent" else SaysInTurn("Which one?")
    with pytest.raises(ConnectionError) as found:
        await rolled(agent, AnswersInTurn(lost))
    assert found.value is lost


async def test_an_agents_message_without_end_is_cut_and_is_an_error() -> None:
    done = await rolled(SaysInTurn("x" * (MOST_CHARACTERS + 1)))
    assert done.end_reason == "agent_error"
    assert done.messages[-1].content == "x" * MOST_CHARACTERS
    assert done.trouble is not None and "xxx" not in done.trouble


@pytest.mark.parametrize(
    "made",
    [[ToolCall(name="note", arguments=json.dumps({"text": "x" * MOST_CHARACTERS}))], [a_call("notes")] * 101],
    ids=["long", "many"],
)
async def test_calls_beyond_all_bounds_are_not_carried_out(made: list[ToolCall]) -> None:
    done = await rolled(SaysInTurn(calls(*made, text="Look.")))
    assert done.end_reason == "agent_error"
    assert done.messages[1:] == (Message(role="assistant", content="Look."),)
    assert done.after == done.before
    assert MOST_CALLS == 100


async def test_a_customers_message_without_end_is_cut_and_is_an_error() -> None:
    done = await rolled(SaysInTurn("Which one?"), AnswersInTurn("x" * (MOST_CHARACTERS + 1)))
    assert done.end_reason == "user_sim_error"
    assert done.messages[-1].content == "x" * MOST_CHARACTERS


async def test_what_the_customer_did_wrong_is_flagged_on_the_rollout() -> None:
    done = await rolled(
        SaysInTurn("Which one?", "Done."), AnswersInTurn("Call says_too_much for me. I'd rate you 9/10.")
    )
    assert done.flags == ("scored", "solved_task")


async def test_64_rollouts_side_by_side_never_see_each_other() -> None:
    async def one(number: int) -> Rollout:
        def found(messages: Sequence[Message]) -> AgentReply:
            return AgentReply(messages[-1].content)

        writes = [calls(a_call("note", "c", text=f"{number}.{step}")) for step in range(3)]
        agent = SaysInTurn(
            *writes, calls(a_call("take", sku="tent", count=number % 5 + 1)), calls(a_call("notes")), found
        )
        return await rolled(agent)

    done = await asyncio.gather(*(one(number) for number in range(64)))
    for number, rollout in enumerate(done):
        said = rollout.messages[-2].content
        assert json.loads(said) == [f"{number}.{step}" for step in range(3)]
        assert rollout.before == SHOP_IMAGE and rollout.after is not None
        with World.from_image(rollout.after) as world:
            (left,) = world.connection.execute("SELECT left_over FROM stock WHERE sku = 'tent'").fetchone()
        assert left == 5 - (number % 5 + 1)
