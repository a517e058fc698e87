"""What a suite is made of. A task says what the customer wants and how success is told; a solution meets it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from misjudge_storage.types import Name, Value
from misjudge_tools.episodes.rules import Combination, Rule

Language = Literal["en", "zh"]
Text = Annotated[str, Field(min_length=1)]


class Fact(Value):
    """Something that only the customer knows. `says` is their answer to a question that holds one of the `asks`."""

    asks: Annotated[tuple[Text, ...], Field(min_length=1)]
    says: Text


class Rubric(Value):
    """A yes/no question of the gold rubric. `hard`: failing it vetoes; `high_level`: about feasibility or logic."""

    text: Text
    hard: bool = False
    high_level: bool = False


class ToolFault(Value):
    """The first `calls` calls of a tool fail with this error, as a back end that is away for a moment."""

    tool: Name
    calls: Annotated[int, Field(ge=1, le=5)] = 1
    error: Text = "The service did not answer in time. Try again."


class SuiteTask(Value):
    """One task. `opening` is the customer's first message, `goal` all that they want, as the simulated user is told.

    `checks` tell success and are combined as `combine` says. `translation_of` names the task that this one translates.
    `max_turns` bounds the customer's messages.
    """

    task_id: Name
    language: Language = "en"
    category: Text
    difficulty: Literal["easy", "medium", "hard"] = "medium"
    opening: Text
    goal: Text
    facts: tuple[Fact, ...] = ()
    success_criteria: Text
    hard_constraints: str = ""
    checks: Annotated[tuple[Rule, ...], Field(min_length=1)]
    combine: Combination = "all"
    rubrics: tuple[Rubric, ...] = ()
    tool_faults: tuple[ToolFault, ...] = ()
    translation_of: Name | None = None
    max_turns: Annotated[int, Field(ge=1, le=100)] = 12


class Step(Value):
    """What a scripted agent does next: calls a tool with these arguments, or says something and waits for an answer.

    Calls in a row are made one after the other.
    """

    call: Name | None = None
    args: dict[str, Any] = Field(default_factory=dict)
    say: Text | None = None

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        if (self.call is None) == (self.say is None):
            raise ValueError("a step has either call (with args) or say")
        return self


Steps = Annotated[tuple[Step, ...], Field(min_length=1)]


class Broken(Value):
    """A way to get the task wrong, which its checks must notice."""

    name: Text
    steps: Steps


class Solution(Value):
    """How a task is done. `hasty`: what skipping a policy check comes to, None where nothing is to be skipped."""

    task_id: Name
    steps: Steps
    hasty: Steps | None = None
    broken: tuple[Broken, ...] = ()


class ToolSpec(Value):
    """A tool as models are shown it. `parameters` is a JSON Schema of an object."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})


class Tools(Value):
    """The file `tools.json`. `python` names a module whose functions are the tools, `http` where they are posted to.

    A function takes the world as an open `sqlite3.Connection` and the arguments by name, returns what JSON can hold,
    and raises `ToolRefused` for what the back end does not do.
    """

    python: str | None = None
    http: str | None = None
    tools: tuple[ToolSpec, ...] = ()

    @model_validator(mode="after")
    def _has_one_home(self) -> Self:
        if self.tools and (self.python is None) == (self.http is None):
            raise ValueError("give either python (a module) or http (an address) for the tools")
        return self
