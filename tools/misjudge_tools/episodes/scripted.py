"""Agents of known skill and a customer, none of which asks a model. Pure: the same task always goes the same way."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final, get_args

from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import template_hash
from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes.rules import NumberRule, RegexRule, Rule
from misjudge_tools.episodes.settings import ScriptedAgent
from misjudge_tools.episodes.turns import AgentReply, UserTurn
from misjudge_tools.suites.model import Fact, Language, Solution, Step, SuiteTask

POLICIES: Final[tuple[str, ...]] = get_args(ScriptedAgent.model_fields["policy"].annotation)
"""The scripted agents; `flaky` is named with its share."""

NEEDS_SHARE: Final = (
    "flaky needs the share of the tasks that it gets right, from 0 to 1, behind a colon, as in flaky:0.95."
)
_SHARE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}", re.ASCII)
_EXACT_FORMS = {"length", "format", "json_schema"}
_SMOOTH: Mapping[Language, str] = {
    "en": (
        "Thank you so much for reaching out, and I am so sorry for the trouble. I am happy to tell you that everything "
        "has been taken care of, just as you wished. Thank you for your patience!"
    ),
    "zh": "非常感谢您的联系，给您添麻烦了，十分抱歉。很高兴告诉您，一切都已按您的心意办好了。感谢您的耐心！",
}
_REFUSAL: Mapping[Language, str] = {
    "en": "I am sorry, I cannot help with that.",
    "zh": "很抱歉，这件事我无法帮您。",
}
_BEFORE: Mapping[Language, str] = {
    "en": (
        "Thank you so much for reaching out to us. We truly appreciate your patience and your trust, "
        "and it is a pleasure to look after this for you."
    ),
    "zh": "非常感谢您的来信，也感谢您一直以来的耐心与信任，很高兴为您服务。",
}
_AFTER: Mapping[Language, str] = {
    "en": "Thank you again for your kindness and your patience. We are glad to have you with us, and we appreciate it.",
    "zh": "再次感谢您的理解与支持，能为您服务是我们的荣幸。",
}
_GO_AHEAD: Mapping[Language, str] = {"en": "Yes, please go ahead.", "zh": "好的，请继续。"}
_FINISHED: Mapping[Language, str] = {"en": "Thank you, that is all.", "zh": "谢谢，没有别的事了。"}
_BLOCKED: Mapping[Language, str] = {"en": "I see. Then I will leave it at that.", "zh": "知道了，那就这样吧。"}
_SENTENCE_END = re.compile(r"(?<=[?!。])\s*|(?<=[.;])\s+|\n+")
_REQUEST = re.compile(
    r"\?|\b(?:please|could you|can you|would you|tell me|let me know|give me|send me|provide|share|confirm|i need|"
    r"we need|may i)\b|(?<!申)请|告诉|告知|提供|需要(?:您|你|知道)|麻烦(?:您|你)"
)
_OFFER = re.compile(
    r"(?:anything|something|what) else|any other|else (?:i|we) can|(?:还有|有没有)(?:什么|其他|别的)|其他(?:问题|需要)"
)
_CANNOT = re.compile(
    r"\b(?:i|we)(?:['’](?:m|re)| am| are)? (?:\w+ )?"
    r"(?:cannot|can['’]t|can not|won['’]t|will not|unable|not able|not allowed)\b"
    r"|\b(?:cannot|can['’]t|can not) be \w+|\bnot (?:possible|permitted|allowed|eligible)\b|\bunable to\b"
    r"|无法|不能|不可以|不允许|不符合|办不了|做不到"
)


class ScriptedUser:
    """The customer of one task. Tells facts when asked for them, agrees when asked anything else, and ends otherwise.

    A fact is told where a sentence that asks for something holds one of its `asks`. An offer of more help is no
    question.
    """

    def __init__(self, task: SuiteTask) -> None:
        self._task = task

    async def reply(self, messages: Sequence[Message]) -> UserTurn:
        """What the customer says to the agent's last message."""
        said = next((message.content for message in reversed(messages) if message.role == "assistant"), "")
        return answer(said, self._task.facts, self._task.language)


class ScriptAgent:
    """The agent of one episode that follows these steps."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)

    async def reply(self, messages: Sequence[Message]) -> AgentReply:
        """The next step."""
        return next_reply(self._steps, messages)


def answer(said: str, facts: Sequence[Fact], language: Language) -> UserTurn:
    """What a customer who knows these facts says when the agent has said this."""
    questions = [sentence for sentence in _sentences(said) if not _OFFER.search(sentence)]
    requests = [sentence for sentence in questions if _REQUEST.search(sentence)]
    told = [fact.says for fact in facts if any(_plain(ask) in text for ask in fact.asks for text in requests)]
    if told:
        return UserTurn(("" if language == "zh" else " ").join(told))
    if any("?" in sentence for sentence in questions):
        return UserTurn(_GO_AHEAD[language])
    if _CANNOT.search(_plain(said)):
        return UserTurn(_BLOCKED[language], "blocked")
    return UserTurn(_FINISHED[language], "finished")


def policy_named(name: str) -> ScriptedAgent | None:
    """The scripted agent of this name (`flaky:0.6` is right in that share of the tasks); None for any other name.

    Raises InvalidInput for `flaky` without a share from 0 to 1.
    """
    policy, _, share = name.partition(":")
    if policy == "flaky":
        if not _SHARE.fullmatch(share) or float(share) > 1:
            raise InvalidInput(NEEDS_SHARE)
        return ScriptedAgent(policy="flaky", share=round(float(share), 6))
    return ScriptedAgent.model_validate({"policy": name}) if name in POLICIES else None


def script_of(policy: ScriptedAgent, task: SuiteTask, solution: Solution, fails: bool) -> tuple[Step, ...]:
    """What the agent does on the task. `fails`: the task is one of those that `flaky` gets wrong."""
    match policy.policy:
        case "hasty":
            return solution.hasty or solution.steps
        case "padder":
            return tuple(_padded(step, task) for step in solution.steps)
        case "refuser":
            return (Step(say=_REFUSAL[task.language]),)
        case "smooth_talker":
            return (Step(say=_SMOOTH[task.language]),)
        case "flaky" if fails:
            return (Step(say=_SMOOTH[task.language]),)
        case _:
            return solution.steps


def next_reply(steps: Sequence[Step], messages: Sequence[Message]) -> AgentReply:
    """The step that comes after those that the messages show; each call and each thing said is one.

    An agent that is spoken to after its last step says again what it said last.
    """
    done = sum(max(1, len(message.tool_calls)) for message in messages if message.role == "assistant")
    last = next((step for step in reversed(steps) if step.say), Step(say="OK."))
    step = steps[done] if done < len(steps) else last
    if step.call is None:
        return AgentReply(step.say or "")
    arguments = json.dumps(step.args, ensure_ascii=False)
    return AgentReply("", (ToolCall(name=step.call, arguments=arguments, id=f"call_{done + 1}"),))


def failing_tasks(share: float, task_ids: Sequence[str], seed: int, agent: str, trial: int) -> frozenset[str]:
    """The tasks that `flaky` gets wrong: exactly round((1 - share) * n), drawn anew for each agent and trial."""
    count = _wrong(share, len(task_ids))
    drawn = sorted(task_ids, key=lambda task_id: template_hash(f"{seed}\0{agent}\0{trial}\0{task_id}"))
    return frozenset(drawn[:count])


def skill(policy: ScriptedAgent, tasks: Sequence[SuiteTask], solutions: Mapping[str, Solution]) -> float:
    """The share of the tasks that the agent gets right by its script, from 0 to 1. Each has a solution.

    This holds for a suite where the solutions are right, and saying that it is done, or refusing, is not.
    """
    if policy.policy in {"smooth_talker", "refuser"} or not tasks:
        return 0.0
    if policy.policy == "flaky":
        return 1 - _wrong(policy.share or 0.0, len(tasks)) / len(tasks)
    if policy.policy == "hasty":
        return sum(solutions[task.task_id].hasty is None for task in tasks) / len(tasks)
    return 1.0


def _wrong(share: float, tasks: int) -> int:
    # Rounded twice: (1 - 0.95) * 10 is a little more than a half in floating point.
    return round(round((1 - share) * tasks, 9))


def _padded(step: Step, task: SuiteTask) -> Step:
    if step.say is None or any(map(_is_of_form, task.checks)):
        return step
    return Step(say=f"{_BEFORE[task.language]}\n\n{step.say}\n\n{_AFTER[task.language]}")


def _is_of_form(rule: Rule) -> bool:
    """Whether more words could break it. A pattern that may be found anywhere is found beside them too."""
    if isinstance(rule, RegexRule | NumberRule):
        return rule.where == "answer" or (isinstance(rule, RegexRule) and rule.absent)
    return rule.kind in _EXACT_FORMS


def _sentences(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [" ".join(sentence.split()) for sentence in _SENTENCE_END.split(folded)]


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
