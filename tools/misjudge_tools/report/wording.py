"""The fixed words of a report in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from misjudge_tools.report.wording_zh import ZH as REPORT_ZH
from misjudge_tools.summary.deciding.phrases import Language
from misjudge_tools.summary.words import ZH

EN: Mapping[str, str] = {
    "strict": "wrong side",
    "unsupported": "no support",
    "missed": "named none",
    "satisfied_failed": "satisfied, but failed",
    "did:strict": "picked the side that is known to be worse",
    "did:unsupported": "picked a side that failed, where the other did no better",
    "did:missed": "named no side where one is better",
    "did:satisfied_failed": "was satisfied with what failed",
    "not_needed": "not needed",
    "user_sim": "simulated user",
    "mean_score": "mean score",
    "output_tokens": "output tokens",
    "transcript_characters": "characters of the transcript",
}
"""Names that are no words."""


def said(english: str, language: Language, /, **named: object) -> str:
    """A word or sentence in this language, with what it names; what has no Chinese stays English."""
    text = REPORT_ZH.get(english, ZH.get(english)) if language == "zh" else None
    text = EN.get(english, english) if text is None else text
    return text.format(**named) if named else text
