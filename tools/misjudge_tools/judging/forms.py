"""The forms of judging, as data: what is asked about, with which prompt, on which scale, of how much of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from misjudge_storage.types import Form, Scale

View = Literal["whole", "spoken"]
"""How much of an episode the judge sees: all but system messages, or only what user and agent said to each other."""
JudgePrompt = Literal["judge_pair", "judge_satisfaction", "judge_gate", "judge_proxy"]


class FormSpec(NamedTuple):
    """One form. `score_key` and `reason_key` are the fields of its JSON reply; a pairwise one has others.

    `whole_scores`: whole numbers are asked for. A judge that gives another number of the scale is read all the same.
    """

    compares: bool
    prompt: JudgePrompt
    scale: Scale
    view: View = "whole"
    score_key: str = "score"
    reason_key: str = "reason"
    whole_scores: bool = False


SEVEN = Scale(low=1, high=7, threshold=5)
"""GAUGE (arXiv 2609.12191) calls a session satisfied from 5 of 7."""
FORMS: Mapping[Form, FormSpec] = {
    "pairwise": FormSpec(True, "judge_pair", Scale(low=0, high=5)),
    "satisfaction": FormSpec(False, "judge_satisfaction", Scale(low=0, high=1, threshold=0.8), "whole", "satisfaction"),
    "gate": FormSpec(False, "judge_gate", SEVEN, whole_scores=True),
    "proxy": FormSpec(False, "judge_proxy", SEVEN, "spoken", whole_scores=True),
}
