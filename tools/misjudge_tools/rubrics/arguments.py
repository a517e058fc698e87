"""Which arguments of `score_rubrics` belong together. What would do nothing is refused: it would mislead. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from misjudge_storage.errors import InvalidInput
from misjudge_tools.requests import RubricLibraryRequest, ScoreRubricsRequest

LIBRARY = "library"
JUDGING = ("apply", "gap")
MATCHING = ("match", "gap")
BELONGS_TO: Mapping[str, tuple[str, ...]] = {
    "rubrics": ("apply", LIBRARY),
    "form": ("apply",),
    "official": JUDGING,
    "prompt": JUDGING,
    "pair_ids": JUDGING,
    "response_a": JUDGING,
    "response_b": JUDGING,
    "matchers": MATCHING,
    "batch": MATCHING,
    "gold_rules": ("match", "apply", "gap", LIBRARY),
}
"""The actions that an argument says something of, of those that not every action takes."""
OF_LIBRARY = frozenset({"action", "rubrics", "gold_rules"})
"""All that looking after the library takes: it asks nobody, and belongs to no audit."""
OF_GIVEN = ("gold_rules", "response_a", "response_b")
OF_STORED = ("samples", "pair_ids")
HUMAN: tuple[str, ...] = ("human",)
"""The rules that are applied where none are named."""


def applied(request: ScoreRubricsRequest) -> tuple[str, ...]:
    """Names of the rules that a request applies, `none` for a judge without any; empty where it judges nothing."""
    if request.action == "gap":
        return ("none", "self", "human")
    return tuple(request.rubrics or HUMAN) if request.action == "apply" else ()


def writes(request: ScoreRubricsRequest) -> bool:
    """Whether rubrics are written for it."""
    return request.action in {"generate", "match"} or "self" in applied(request)


def needs_gold(request: ScoreRubricsRequest) -> bool:
    """Whether it is about tasks with gold rules only."""
    return request.action == "match" or "human" in applied(request)


def asks_judge(request: ScoreRubricsRequest) -> bool:
    """Whether its judge is asked at all, be it in the place of a writer or matcher that is not named."""
    matches = request.action in MATCHING
    return bool(applied(request)) or request.writers is None or (matches and request.matchers is None)


def refuse_needless(request: ScoreRubricsRequest) -> None:
    """Raises InvalidInput for arguments that do not go together."""
    for complaint in _complaints(request):
        raise InvalidInput(complaint)


def library_request(request: ScoreRubricsRequest) -> RubricLibraryRequest:
    """What is asked of the library, of arguments that go together: what is named is shown, two are compared, and rules
    are put under a name.
    """
    named = dict(zip(("rubric", "other"), request.rubrics or (), strict=False))
    keeps = request.gold_rules is not None
    action = "add" if keeps else ("list", "show", "diff")[len(named)]
    return RubricLibraryRequest.model_validate({"action": action, "rules": request.gold_rules, **named})


def _complaints(request: ScoreRubricsRequest) -> Iterator[str]:
    yield from _of_library(request) if request.action == LIBRARY else _of_work(request)


def _of_library(request: ScoreRubricsRequest) -> Iterator[str]:
    idle = [name for name in type(request).model_fields if name not in OF_LIBRARY and _stated(request, name)]
    if idle:
        *most, last = idle
        named = f"{', '.join(most)} and {last}" if most else last
        yield f"The library does nothing with {named}. Leave it out."
    number = len(request.rubrics or ())
    if request.gold_rules is not None and number != 1:
        yield "gold_rules are kept under one name, and rubrics says which: rubrics=[NAME]."
    if number > 2:
        yield f"The library shows one rubric or how two differ, and {number} are named. Name fewer."


def _of_work(request: ScoreRubricsRequest) -> Iterator[str]:
    if request.task_prompt is not None and not request.audit:
        yield "A task that is given here is stored in an audit. Name it: audit=NAME, a new one or one that there is."
    yield from (
        f"{name} says something of {', '.join(actions)}, and the action is {request.action}. Leave it out."
        for name, actions in BELONGS_TO.items()
        if request.action not in actions and _stated(request, name)
    )
    yield from _of_roles(request)
    yield from _of_forms(request)
    if request.task_prompt is None:
        yield from (
            f"{name} belongs to a task that is given here: give task_prompt, too."
            for name in OF_GIVEN
            if _stated(request, name)
        )
    elif not request.task_prompt.strip():
        yield "task_prompt is blank. Say in it what the task is."
    else:
        yield from (
            f"{name} chooses what is stored, and a task is given here. Leave one of them out."
            for name in OF_STORED
            if _stated(request, name)
        )
        yield from _of_responses(request)


def _of_roles(request: ScoreRubricsRequest) -> Iterator[str]:
    if request.writers is not None and not writes(request):
        yield "writers write the rules of rubrics=self, and that is not asked for. Leave writers out."
    if request.judge is not None and not asks_judge(request):
        yield f"judge stands for who is not named, and {request.action} asks those that are. Leave judge out."


def _of_forms(request: ScoreRubricsRequest) -> Iterator[str]:
    if request.form == "pairwise":
        return
    if "none" in applied(request):
        yield "form=rubric asks whether a response meets rules, and none has none. Name self, human or a rubric."
    if request.official:
        yield "official is RubricBench's way to compare two responses, and form=rubric is of single ones. Leave it out."
    if request.pair_ids is not None:
        yield "pair_ids chooses pairs, and form=rubric is of single trajectories. Leave it out."


def _of_responses(request: ScoreRubricsRequest) -> Iterator[str]:
    if not applied(request):
        return
    given = [response for response in (request.response_a, request.response_b) if response is not None]
    if request.form == "pairwise" and len(given) < 2:
        one = " form=rubric takes one." if request.action == "apply" else ""
        yield f"To judge responses given here, give task_prompt, response_a and response_b together.{one}"
    if request.form == "rubric" and request.response_a is None:
        yield "To judge a response given here, give task_prompt and response_a."


def _stated(request: ScoreRubricsRequest, name: str) -> bool:
    return name in request.model_fields_set and getattr(request, name) != type(request).model_fields[name].get_default()
