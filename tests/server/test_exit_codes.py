"""One rule for every command: 0 done or yes, 1 looked into and the answer is no, 2 no answer."""

from __future__ import annotations

import pytest

from command import Misjudge

USAGE = [
    ("import", "table", "nowhere.csv", "--audit", "a"),
    ("import", "scroll", "nowhere.csv", "--audit", "a"),
    ("import", "table"),
    ("judge", "nowhere", "--judge", "simulated"),
    ("judge", "demo", "--judge", "simulated", "--repeats", "0"),
    ("summarize", "nowhere"),
    ("summarize", "demo", "--section", "luck"),
    ("summarize", "demo", "--by", "century"),
    ("summarize", "demo", "--colour", "red"),
    ("gate", "nowhere"),
    ("gate", "demo", "--at", "far"),
    ("runs", "status", "run_nowhere"),
    ("runs", "juggle"),
    ("read", "misjudge://audits/nowhere"),
    ("ping", "--role", "jury"),
    ("run", "--agents", "diligent", "--judge", "simulated"),
    ("simulate", "--port", "seven"),
    ("suite", "nowhere"),
    ("probe", "nowhere", "--judge", "simulated"),
    ("rubrics", "gap", "--audit", "nowhere", "--judge", "simulated"),
    ("rubrics", "library", "show", "nowhere"),
    ("config", "import", "nowhere.json"),
    ("demo", "--audit", "a/b"),
    ("dance",),
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_what_cannot_be_answered_ends_with_2_whatever_the_command(
    misjudge: Misjudge, arguments: tuple[str, ...]
) -> None:
    done = misjudge(*arguments)
    assert (done.code, done.out) == (2, ""), done
    assert done.err


def test_a_broken_store_ends_with_2_and_what_is_done_with_0(misjudge: Misjudge) -> None:
    assert misjudge("runs").code == 0
    assert misjudge("demo", "--no-local").code == 0
    assert misjudge("summarize", "demo").code == 0
