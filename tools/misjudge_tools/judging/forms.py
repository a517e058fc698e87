"""The forms of judging, as data: what is asked about, with which prompt, on which scale, of how much of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from misjudge_storage.types import AskedForm, Scale

View = Literal["whole", "spoken"]
"""How much of an episode the judge sees: all but system messages, or only what user and agent said to each other."""
JudgePrompt = Literal[
    "judge_pair",
    "judge_pair_rubric",
    "judge_forced",
    "judge_forced_rubric",
    "judge_satisfaction",
    "judge_gate",
    "judge_proxy",
    "judge_rubric",
    "rubric_generate",
    "rubric_match",
    "rubric_match_batch",
]


class FormSpec(NamedTuple):
    """One form. `score_key` and `reason_key` are the fields of its JSON reply; a pairwise one has others.

    `whole_scores`: whole numbers are asked for. A judge that gives another number of the scale is read all the same.
    `ties` may be named; `rules`: each rule of a rubric gets a verdict of its own before the one on the whole; `passes`:
    that one is whether a response passes, which scores 1 or 0.
    """

    compares: bool
    prompt: JudgePrompt
    scale: Scale
    view: View = "whole"
    score_key: str = "score"
    reason_key: str = "reason"
    whole_scores: bool = False
    ties: bool = True
    rules: bool = False
    passes: bool = False


SEVEN = Scale(low=1, high=7, threshold=5)
"""GAUGE (arXiv 2609.12191) calls a session satisfied from 5 of 7."""
FORMS: Mapping[AskedForm, FormSpec] = {
    "pairwise": FormSpec(True, "judge_pair", Scale(low=0, high=5)),
    "satisfaction": FormSpec(False, "judge_satisfaction", Scale(low=0, high=1, threshold=0.8), "whole", "satisfaction"),
    "gate": FormSpec(False, "judge_gate", SEVEN, whole_scores=True),
    "proxy": FormSpec(False, "judge_proxy", SEVEN, "spoken", whole_scores=True),
    "rubric": FormSpec(
        False, "judge_rubric", Scale(low=0, high=1, threshold=1), score_key="passed", rules=True, passes=True
    ),
    "rubric_generate": FormSpec(False, "rubric_generate", Scale()),
    "rubric_match": FormSpec(False, "rubric_match", Scale()),
    "rubric_match_batch": FormSpec(False, "rubric_match_batch", Scale()),
}
_PAIR_PROMPTS: Mapping[tuple[bool, bool], JudgePrompt] = {
    (True, False): "judge_pair",
    (True, True): "judge_pair_rubric",
    (False, False): "judge_forced",
    (False, True): "judge_forced_rubric",
}


def form_of_prompt(name: str) -> AskedForm | None:
    """The form that is asked with this prompt, None for a prompt of something else."""
    if name in _PAIR_PROMPTS.values():
        return "pairwise"
    return next((form for form, spec in FORMS.items() if spec.prompt == name), None)


def asked_form(form: AskedForm, *, ties: bool = True, rules: bool = False) -> FormSpec:
    """The form as it is asked: a pairwise one without ties where one of two must be named, and with rules to apply."""
    asked = FORMS[form]
    if form != "pairwise":
        return asked
    return asked._replace(prompt=_PAIR_PROMPTS[ties, rules], ties=ties, rules=rules)
