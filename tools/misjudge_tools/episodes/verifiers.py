"""Hard checks of one side from its transcript. Pure; a model's opinion is never a check."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from misjudge_storage.types import Check, Message
from misjudge_tools.requests import CheckRule


def check_episode(rules: Sequence[CheckRule], messages: Sequence[Message]) -> tuple[Check, ...]:
    """One `part` check a rule, then the `outcome`: success is that all hold, reward the share that holds."""
    parts = tuple(_check(rule, messages) for rule in rules)
    if not parts:
        return ()
    held = sum(check.passed is True for check in parts)
    outcome = Check(
        verifier="all rules",
        source="verifier",
        passed=held == len(parts),
        reward=held / len(parts),
        evidence=f"{held} of {len(parts)} rules hold",
    )
    return (*parts, outcome)


def _check(rule: CheckRule, messages: Sequence[Message]) -> Check:
    said = [m.content for m in messages if m.role == "assistant"]
    called = [call.name for m in messages for call in m.tool_calls]
    found = {
        "contains": any(_plain(rule.value) in _plain(text) for text in said),
        "not_contains": any(_plain(rule.value) in _plain(text) for text in said),
        "tool_called": rule.value in called,
        "tool_not_called": rule.value in called,
    }[rule.kind]
    return Check(
        verifier=f"{rule.kind}:{rule.value}"[:400],
        source="verifier",
        scope="part",
        passed=found is not rule.kind.replace("tool_", "").startswith("not_"),
        evidence="found" if found else "not found",
    )


def _plain(text: str) -> str:
    """Text for comparison: full-width forms, case and runs of white space do not matter."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
