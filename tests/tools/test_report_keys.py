"""Keys of the configuration are in no file of a report, however a format would write them."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from builders import JUDGE, episode, messages, pair, passed, satisfied, verdict
from misjudge_storage.types import Log, Record
from misjudge_tools.report.drill_down import MOST_RAW, MOST_TURN
from operations import keyed, opened, stored
from report_parts import written

TEXTS = {".html", ".md", ".csv", ".json", ".svg"}
KEYS = ("sk-plain-0123456789", "sk_under*score[0]", "sk&amp<b>\"c'd", "钥匙-sk-0123456789", "sk a\\b|c~d")


def records(key: str) -> list[Record]:
    """The key as a name, in a prompt, in what was said, checked and replied; and just where texts are cut."""
    judge = JUDGE.model_copy(update={"label": f"judge {key}"})
    found = []
    for n in range(8):
        x, y = (
            episode(
                f"{agent} {key}",
                passed(done).model_copy(update={"evidence": f"saw {key}"}),
                task=f"t{n} {key}",
                said=messages(f"My key is {key}.", "x" * (MOST_TURN - 6) + key),
                satisfaction=[satisfied(0.9)],
            )
            for agent, done in (("x", True), ("y", False))
        )
        log = Log(model=f"m {key}", raw_output="y" * (MOST_RAW - 6) + key, order_shown="AB", prompt_version=key)
        judged = [verdict("B" if n % 2 else "A", order, judge=judge, reasons=f"By {key}.") for order in ("AB", "BA")]
        found.append(pair(f"p{n}", x, y, *judged, logs=[log], prompt=key, line=n + 1, ability_bucket="near"))
    return found


def unescaped(text: str) -> str:
    """The text as a reader of HTML or of Markdown would see it."""
    return re.sub(r"\\(.)", r"\1", html.unescape(text))


@pytest.mark.parametrize("key", KEYS)
async def test_no_file_of_a_report_holds_a_key_or_its_beginning(key: str, tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db", keyed("http://127.0.0.1:9", key)) as deps:
        stored(deps.store, records(key))
        await written(deps, tmp_path / "out", formats=["html", "markdown", "csv", "json", "guides", "charts"])
    texts = [path for path in (tmp_path / "out").rglob("*") if path.suffix in TEXTS]
    assert {path.suffix for path in texts} == TEXTS
    for path in texts:
        text = path.read_text(encoding="utf-8")
        for form in (text, html.unescape(text), unescaped(text)):
            assert key not in form and key[:6] not in form, path.name
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "My key is ⟦key⟧." in page and "judge ⟦key⟧" in page
    assert "x ⟦key⟧" in page


async def test_what_is_left_out_is_counted_without_the_key(tmp_path: Path) -> None:
    """A text that is shown whole but for the key says of nothing that it is not shown."""
    async with opened(tmp_path / "store.db", keyed("http://127.0.0.1:9", KEYS[0])) as deps:
        said = messages(f"My key is {KEYS[0]}.", "Well.")
        x, y = (episode(agent, passed(done), said=said) for agent, done in (("x", True), ("y", False)))
        stored(deps.store, [pair("p1", x, y, verdict("B", "AB", reasons=f"By {KEYS[0]}."))])
        await written(deps, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "My key is ⟦key⟧." in page and "By ⟦key⟧." in page
    assert "more characters are not shown" not in page
