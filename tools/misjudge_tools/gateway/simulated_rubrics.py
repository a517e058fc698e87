"""What a simulated gateway says of rules: as who writes them, who matches them, and who applies them. Pure.

A rule hits a gold rule where its normal form, or that of what it quotes, holds that of the other; of several it hits
the longest. What a writer's rules hold is read by a matcher, so the mark SIMULATED is not among them; it is in all
other replies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Literal, NamedTuple

from misjudge_storage.types import Preference, Rule
from misjudge_tools.gateway.simulated_bias import Brief, Draw, Facts, SimulatedBias, inventions, uniform
from misjudge_tools.judging.rule_verdicts import RuleVerdict
from misjudge_tools.judging.ruling import pair_ruling, single_ruling
from misjudge_tools.rubrics.rules import LONGEST, normal_form

_Language = Literal["en", "zh"]

MADE_UP = 3
"""Rules that are written of a task whose gold rules nobody told."""
REASON = "SIMULATED: a made-up reason."
_NUMBERED = re.compile(r"^(?P<number>[0-9]{1,4})\. (?P<hard>\[hard\] )?(?P<text>\S.*)$", re.MULTILINE)
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_IN_OTHER_WORDS: Mapping[_Language, str] = {"en": "Does the answer meet this: “{}”", "zh": "回答是否满足这一点：「{}」"}
"""In quotes, so that a gold rule of several constraints is not taken apart."""
_STEPS = 1_000
_STOCK: Mapping[_Language, tuple[str, ...]] = {
    "en": (
        "Does the answer call the search tool in step {step}?",
        "Does the answer show the command that step {step} runs?",
        "Does the answer log the output of step {step}?",
        "Does the answer name the library that step {step} uses?",
        "Does the answer set a time limit for step {step}?",
        "Does the answer print a message after step {step}?",
        "Does the answer present step {step} as a table?",
        "Does the answer retry step {step} after an error?",
    ),
    "zh": (
        "第 {step} 步是否调用了搜索工具？",
        "第 {step} 步是否写出了所运行的命令？",
        "第 {step} 步的输出是否写入日志？",
        "第 {step} 步是否写明所用的库？",
        "第 {step} 步是否设置了时限？",
        "第 {step} 步之后是否打印了提示？",
        "第 {step} 步是否以表格呈现？",
        "第 {step} 步出错后是否重试？",
    ),
}


class ShownRule(NamedTuple):
    """A rule as a prompt numbers it."""

    number: int
    text: str
    hard: bool


class RulesToApply(NamedTuple):
    """The rules of a prompt, and the gold rules of its task; none where nobody told them."""

    rules: tuple[ShownRule, ...]
    gold: tuple[str, ...]

    def are_gold(self) -> list[bool]:
        """Which of the rules hit a gold one."""
        forms = _forms(self.gold)
        return [gold_hit(rule.text, forms) is not None for rule in self.rules]


RuleSaid = Mapping[str, object]
"""The verdict of one rule as a reply holds it."""


class PairRuled(NamedTuple):
    """What a reply says of each rule, and the label that the rules come to."""

    said: list[RuleSaid]
    says: Preference


class OneRuled(NamedTuple):
    """What a reply says of each rule, and whether one response passes by them."""

    said: list[RuleSaid]
    passes: bool


def numbered_rules(text: str) -> tuple[ShownRule, ...]:
    """The rules of a numbered list: a line `1. text` or `1. [hard] text` each; other lines are none."""
    found = _NUMBERED.finditer(text)
    return tuple(ShownRule(int(line["number"]), line["text"], line["hard"] is not None) for line in found)


def gold_hit(rule: str, gold: Sequence[str]) -> int | None:
    """Which of the gold rules, given in their normal forms, this one hits, from 0."""
    written = [normal_form(text) for text in (rule, *_quoted(rule))]
    held = [nth for nth, form in enumerate(gold) if form and any(form in text for text in written)]
    return max(held, key=lambda nth: len(gold[nth]), default=None)


def _quoted(rule: str) -> Iterator[str]:
    """What a writer has put in other words, as it was told: within a rule, quoted text is compared as it stands."""
    shown = rule[1:-1] if rule.startswith("“") and rule.endswith("”") else rule
    for worded in _IN_OTHER_WORDS.values():
        head, tail = worded.split("{}")
        if shown.startswith(head) and shown.endswith(tail):
            yield shown.removeprefix(head).removesuffix(tail)


# ---- writing


def write_from(bias: SimulatedBias, draw: Draw, brief: Brief) -> str:
    """The reply of who writes rules: for each gold rule one that hits it or none, then what is made up beside it.

    A hit is the gold rule in other words, or itself where these would be too long.
    """
    mean, forms = inventions(bias), _forms(brief.rules)
    stock: Mapping[_Language, Iterator[str]] = {"en": _made_up("en", forms), "zh": _made_up("zh", forms)}
    rules = list[str]()
    for nth, rule in enumerate(brief.rules, start=1):
        language = _language_of(rule)
        if draw(f"hit {nth}") < bias.hits:
            worded = _IN_OTHER_WORDS[language].format(rule)
            rules.append(worded if len(worded) <= LONGEST else rule)
        rules += islice(stock[language], int(mean) + (draw(f"invented {nth}") < mean % 1))
    return _written(rules)


def write_about(bias: SimulatedBias, model: str, task: str) -> str:
    """The reply about a task whose gold rules nobody told: rules from where in the stock a draw over its own text says,
    whatever stands around it.
    """
    start = int(uniform(f"{bias.seed}\0{model}\0text\0{task}") * _STEPS)
    return _written(list(islice(_made_up(_language_of(task), (), start), MADE_UP)))


def _written(rules: Sequence[str]) -> str:
    return json.dumps({"rules": [{"rule": rule, "hard": False} for rule in rules]}, ensure_ascii=False)


def _made_up(language: _Language, gold: Sequence[str], start: int = 0) -> Iterator[str]:
    """Different rules, none of which hits a gold one, given in their normal forms."""
    steps = (1 + (start + step) % _STEPS for step in range(_STEPS))
    rules = chain.from_iterable((rule.format(step=step) for rule in _STOCK[language]) for step in steps)
    return (rule for rule in rules if gold_hit(rule, gold) is None)


def _forms(rules: Sequence[str]) -> list[str]:
    return [normal_form(rule) for rule in rules]


def _language_of(text: str) -> _Language:
    return "zh" if _CHINESE.search(text) else "en"


# ---- matching


def match_one(bias: SimulatedBias, draw: Draw, rule: str, gold: str) -> str:
    """The reply about one rule; `gold` are the numbered gold rules."""
    (match,) = _matches(bias, draw, [ShownRule(1, rule, hard=False)], gold)
    return json.dumps({"reason": REASON, "match": match})


def match_all(bias: SimulatedBias, draw: Draw, rules: str, gold: str) -> str:
    """The reply about numbered rules, each by draws of its own."""
    shown = numbered_rules(rules)
    matches = zip(shown, _matches(bias, draw, shown, gold), strict=True)
    return json.dumps({"matches": [{"rule": rule.number, "reason": REASON, "match": match} for rule, match in matches]})


def _matches(bias: SimulatedBias, draw: Draw, rules: Sequence[ShownRule], gold: str) -> list[int | None]:
    known = numbered_rules(gold)
    forms = _forms([rule.text for rule in known])

    def match(rule: ShownRule) -> int | None:
        hit = gold_hit(rule.text, forms)
        if hit is not None:
            return None if draw(f"missed {rule.number}") < bias.misses else known[hit].number
        if known and draw(f"overmatched {rule.number}") < bias.overmatches:
            return known[int(draw(f"matched with {rule.number}") * len(known))].number
        return None

    return [match(rule) for rule in rules]


# ---- applying


def apply_to_pair(given: RulesToApply, a: Facts, b: Facts) -> PairRuled:
    """The better side meets the rules that hit a gold one and the worse side the others, as what looks complete and
    cannot work does; both meet all where no side is known to be better, or no gold rule is known.
    """
    better = _known_better(a, b) if given.gold else "tie"
    verdicts, said = [], list[RuleSaid]()
    for nth, (rule, is_gold) in enumerate(zip(given.rules, given.are_gold(), strict=True), start=1):
        met_a, met_b = (better == "tie" or (better == side) == is_gold for side in ("A", "B"))
        verdicts.append(RuleVerdict(rule=nth, met_a=met_a, met_b=met_b))
        said.append({"rule": rule.number, "reason": REASON, "a": _word(met_a), "b": _word(met_b)})
    says = pair_ruling(_as_rules(given.rules), verdicts, None).says
    return PairRuled(said, "A" if says == "A" else "B" if says == "B" else "tie")


def apply_to_one(given: RulesToApply, facts: Facts) -> OneRuled:
    """A success meets the rules that hit a gold one and a failure the others; either meets all where its success or
    the gold rules are not known.
    """
    told = facts.truth if given.gold else None
    verdicts, said = [], list[RuleSaid]()
    for nth, (rule, is_gold) in enumerate(zip(given.rules, given.are_gold(), strict=True), start=1):
        met = told is None or told.success == is_gold
        verdicts.append(RuleVerdict(rule=nth, met=met))
        said.append({"rule": rule.number, "reason": REASON, "met": met})
    return OneRuled(said, single_ruling(_as_rules(given.rules), verdicts, None).says == "pass")


def _as_rules(rules: Sequence[ShownRule]) -> list[Rule]:
    """What a ruling goes by. Their text may be anything that a prompt holds, and no rule."""
    return [Rule(text=f"rule {rule.number}", hard=rule.hard) for rule in rules]


def _known_better(a: Facts, b: Facts) -> Preference:
    if a.truth is None or b.truth is None or a.truth.success == b.truth.success:
        return "tie"
    return "A" if a.truth.success else "B"


def _word(met: bool) -> str:
    return "meets" if met else "fails"
