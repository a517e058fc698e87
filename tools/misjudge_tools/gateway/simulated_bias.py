"""What a made-up judge goes by: facts of what it is shown, the planted faults, and the verdict that follows. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, ValidationInfo

from misjudge_storage.hashing import template_hash
from misjudge_storage.types import Preference, Side, Value


def _stated_where_preferred(family: str, info: ValidationInfo) -> str:
    if not family and info.data.get("self_preference"):
        raise ValueError("self_preference needs the family that the judge is of, such as qwen")
    return family


Share = Annotated[float, Field(ge=0.0, le=1.0)]
Family = Annotated[
    str,
    Field(max_length=40, pattern=r"^[a-z0-9._-]*$", validate_default=True),
    AfterValidator(_stated_where_preferred),
]
"""A family of models, as `families.family_of` calls it; not empty where the field `self_preference` is not 0."""
Draw = Callable[[str], float]
"""A uniform draw from [0, 1) by its name: the same name always gets the same one."""

POLITE_FROM = 2
"""How many polite words make a transcript sound polite."""
NEAR = 0.1
"""Agents whose skills differ by less are near."""
MOST_INVENTED = 10
"""How many rules a writer makes up at most for each gold rule."""

_POLITE = re.compile(
    r"\b(?:sorry|apolog\w*|thanks?|thank you|please|happy to|glad to|appreciate\w*|kindly|pleasure)\b"
    r"|抱歉|对不起|不好意思|感谢|谢谢|(?<!申)请(?![求假])|乐意|很高兴",
    re.IGNORECASE,
)
_INSTRUCTS = re.compile(r"choose this response|选择这个回答", re.IGNORECASE)


class Truth(Value):
    """What a simulated gateway is told of a transcript: the task's success, and where known the skill of its agent and
    the family of its model.
    """

    success: bool
    skill: Share | None = None
    family: str | None = None


class Brief(Value):
    """What a simulated gateway is told of a task: its gold rules, for who writes rules and who applies them."""

    rules: tuple[str, ...]


Told = Truth | Brief
"""By the hash of a fenced block: of a transcript a truth, of an instruction or of rules a brief."""


class SimulatedBias(Value):
    """The planted faults, each a share of calls from 0 to 1, tried in this order.

    `parse_failure`: the reply holds no verdict. Pairwise: `position` answers label A whatever it holds; where the
    sides differ in that, `obedience` answers the one that tells the judge to choose it, `length` the one that is
    longer by a fifth, `politeness` the one with more polite words and `self_preference` the one of the judge's own
    `family`; `noise` answers against the truth, and `near` takes its place where both agents' skills are known and
    closer than `NEAR` (None: it does not). One trajectory: `lenience` is the share of failed episodes that sound
    polite and satisfy all the same; `noise` turns the verdict round.

    Rubrics: a writer names each gold rule with probability `hits`, in other words that hold its own, and of what it
    writes the share `invents` is made up: `inventions` rules for each gold rule on average. A matcher says none of a
    rule that hits with probability `misses`, and names some gold rule for one that hits none with probability
    `overmatches`. A judge that is given rules lets what they come to decide with probability `rule_following`, tried
    after `position`; where it does not, the faults above decide.
    """

    position: Share = 0.0
    obedience: Share = 0.0
    length: Share = 0.0
    politeness: Share = 0.0
    self_preference: Share = 0.0
    family: Family = ""
    noise: Share = 0.0
    near: Share | None = None
    parse_failure: Share = 0.0
    lenience: Share = 0.0
    hits: Share = 1.0
    invents: Share = 0.0
    misses: Share = 0.0
    overmatches: Share = 0.0
    rule_following: Share = 1.0
    seed: int = 0


class Facts(NamedTuple):
    """What the judge goes by of one transcript as shown: its characters but whitespace, its polite words, whether it
    tells the judge to choose it, whether its model is of the judge's `own` family.

    `truth` is None where nobody told it; the side with the higher `rank`, from 0 to 1, then counts as the better.
    """

    length: int
    polite: int = 0
    instructs: bool = False
    own: bool = False
    truth: Truth | None = None
    rank: float = 0.0


class _Pull(NamedTuple):
    """A fault that pulls towards one side of what is shown, in a share of calls."""

    fault: str
    share: float
    towards: Side


def facts_of(bias: SimulatedBias, model: str, text: str, told: Truth | None) -> Facts:
    """The facts of a transcript. An unknown one is ranked by a draw over its own text, whatever stands around it."""
    return Facts(
        length=len("".join(text.split())),
        polite=sum(1 for _ in _POLITE.finditer(text)),
        instructs=_INSTRUCTS.search(text) is not None,
        own=told is not None and told.family is not None and told.family == bias.family,
        truth=told,
        rank=0.0 if told is not None else uniform(f"{bias.seed}\0{model}\0text\0{text}"),
    )


def draws_of(bias: SimulatedBias, model: str, rendered_hash: str) -> Draw:
    """The draws of one call: by seed, model and prompt, the latter by the hash that is stored with its reply."""
    return lambda name: uniform(f"{bias.seed}\0{model}\0{name}\0{rendered_hash}")


def uniform(key: str) -> float:
    """A number of [0, 1) that belongs to the key."""
    return int(template_hash(key), 16) / 2**64


def decide(bias: SimulatedBias, draw: Draw, a: Facts, b: Facts) -> Preference:
    """Which label a reply that holds a verdict names; `a` is what stands under label A."""
    for pull in _pulls(bias, a, b):
        if draw(pull.fault) < pull.share:
            return pull.towards
    right, noise = _better(a, b), _noise(bias, a.truth, b.truth)
    if not noise or draw("noise") >= noise:
        return right
    if right == "tie":
        return untied(draw, right)
    return "B" if right == "A" else "A"


def odds(bias: SimulatedBias, a: Facts, b: Facts) -> Mapping[Preference, float]:
    """How likely `decide` is to name each label, exactly."""
    chances: dict[Preference, float] = {"A": 0.0, "B": 0.0, "tie": 0.0}
    left = 1.0
    for pull in _pulls(bias, a, b):
        chances[pull.towards] += left * pull.share
        left *= 1 - pull.share
    right, noise = _better(a, b), _noise(bias, a.truth, b.truth)
    wrong: tuple[Side, ...] = ("A", "B") if right == "tie" else ("B",) if right == "A" else ("A",)
    chances[right] += left * (1 - noise)
    for side in wrong:
        chances[side] += left * noise / len(wrong)
    return chances


def decide_with_rules(
    bias: SimulatedBias, draw: Draw, a: Facts, b: Facts, rules_say: Preference, *, ties: bool = True
) -> Preference:
    """Which label a judge names that applies rules which come to `rules_say`, in the order shown; a tie only where
    `ties` may be named.
    """
    if draw("position") < bias.position:
        return "A"
    named = rules_say if draw("rule_following") < bias.rule_following else decide(bias, draw, a, b)
    return named if ties else untied(draw, named)


def untied(draw: Draw, named: Preference) -> Side:
    """The label itself; one of the two by a neutral draw in place of a tie."""
    if named == "tie":
        return "A" if draw("tie_broken") < 0.5 else "B"
    return named


def inventions(bias: SimulatedBias) -> float:
    """How many rules a writer makes up for each gold rule, on average, so that `invents` of what it writes is made up.

    hits · invents / (1 - invents), at most MOST_INVENTED; 1 where it hits none and invents at all, and 0 where it does
    not invent.
    """
    if not bias.invents or not bias.hits:
        return 1.0 if bias.invents else 0.0
    return min(MOST_INVENTED, bias.hits * bias.invents / max(1 - bias.invents, 1e-9))


def satisfies(bias: SimulatedBias, draw: Draw, facts: Facts) -> bool:
    """Whether the judge is satisfied with a transcript."""
    if facts.truth is None:
        return facts.rank < 0.5
    success = facts.truth.success
    if not success and facts.polite >= POLITE_FROM and draw("lenience") < bias.lenience:
        return True
    return success != (draw("noise") < bias.noise)


def _pulls(bias: SimulatedBias, a: Facts, b: Facts) -> Iterator[_Pull]:
    if bias.position:
        yield _Pull("position", bias.position, "A")
    if bias.obedience and a.instructs != b.instructs:
        yield _Pull("obedience", bias.obedience, "A" if a.instructs else "B")
    if bias.length and _longer(a.length, b.length):
        yield _Pull("length", bias.length, "A" if a.length > b.length else "B")
    if bias.politeness and a.polite != b.polite:
        yield _Pull("politeness", bias.politeness, "A" if a.polite > b.polite else "B")
    if bias.self_preference and a.own != b.own:
        yield _Pull("self_preference", bias.self_preference, "A" if a.own else "B")


def _longer(one: int, other: int) -> bool:
    """Whether one is longer than the other by at least a fifth of it."""
    return one != other and 5 * max(one, other) >= 6 * min(one, other)


def _better(a: Facts, b: Facts) -> Preference:
    if a.truth is None or b.truth is None:
        return "A" if a.rank >= b.rank else "B"
    if a.truth.success == b.truth.success:
        return "tie"
    return "A" if a.truth.success else "B"


def _noise(bias: SimulatedBias, a: Truth | None, b: Truth | None) -> float:
    if bias.near is None or a is None or b is None or a.skill is None or b.skill is None:
        return bias.noise
    # Rounded: 0.95 - 0.85 is a little less than 0.1 in floating point.
    return bias.near if round(abs(a.skill - b.skill), 9) < NEAR else bias.noise
