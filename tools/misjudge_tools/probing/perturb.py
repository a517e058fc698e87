"""What each probe does to a pair. Pure; the texts are package data (`probing/texts.*.toml`)."""

from __future__ import annotations

from misjudge_storage.judging_records import PairSubject
from misjudge_tools.probing.variants import Variant


def perturb(subject: PairSubject, variant: Variant) -> PairSubject | None:
    """The pair as this variant changes it, None where it has nothing to change (no tool result, one criterion)."""
    return subject
