"""Records that hold what a page, a table or a terminal would obey: for tests of everything that shows records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from builders import episode, pair, satisfied, verdict
from misjudge_storage.types import Check, Episode, Log, Message, Record, ToolCall

MARKUP: Final = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "</style><style>*{display:none}</style><link rel=stylesheet href=http://127.0.0.1:9/x.css>",
    "<svg onload=alert(3)><a href='javascript:alert(4)'>x</a></svg><iframe src=http://127.0.0.1:9/></iframe>",
    "</textarea></title></script><script>document.title='owned'</script>",
    "<details open ontoggle=alert(5)><form action=http://127.0.0.1:9/><input autofocus onfocus=alert(6)>",
    "{{ 7*7 }}{% raw %} ${7*7} <!-- --> ]]> &lt;b&gt; &amp;",
    "[x](javascript:alert(7)) | a | b\n# head\n> quote\n```\n- list",
    "=cmd|' /C calc'!A0",
)
UNSEEN: Final = (
    "\u202egnp.exe\u202c \u2066hidden\u2069 \u200bzero\ufeff",
    "\x1b[31mred\x1b[0m \x07bell \x9b31m \x7f",
    "\u2028line\u2029paragraph\x0cpage\x0bvertical\rreturn",
    "z" + "\u0335\u0328\u031b\u0350" * 200,
    "\U000e0041\U000e0042 tags \uffff",
)
LONG: Final = ("A" * 1_000_000, "𝕏中文字符" * 40_000, "a b " * 100_000, "<" * 300_000)
KEY: Final = "sk-hostile-0123456789"
"""A key that an agent says aloud."""


def hostile_records() -> Iterator[Record]:
    """Pairs of which everything that is text is hostile, in names as far as names may hold it."""
    for number, text in enumerate((*MARKUP, *UNSEEN, *LONG, f"My key is {KEY}.")):
        name = " ".join(text[:120].split()) + f" {number}"
        sides = (_side(f"agent {name}", text, number, done=True), _side(f"other {name}", text, number, done=False))
        judged = (verdict("B", "AB", reasons=text), verdict("B", "BA", reasons=text[:5_000]))
        log = Log(model=name, raw_output=text, prompt_version=name, order_shown="AB")
        yield pair(f"pair {name}", *sides, *judged, logs=[log], prompt=text, line=number + 1)


def _side(agent: str, text: str, number: int, *, done: bool) -> Episode:
    said = (
        Message(role="user", content=text),
        Message(role="assistant", content=text, tool_calls=(ToolCall(name=text[:80], arguments=text[:80]),)),
        Message(role="tool", content=text, name=text[:80]),
    )
    check = Check(verifier=f"check {agent}", source="verifier", passed=done, evidence=text[:20_000])
    return episode(agent, check, task=f"task {number} {text[:60]}".strip(), said=said, satisfaction=[satisfied(0.9)])
