"""The pages against each other and against the code."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import get_args

import pytest

import docs_reference
from misjudge_server.clients.server_entry import FORWARDED
from misjudge_server.tool_table import TOOLS
from misjudge_storage.inspecting import StoreProblem

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
MADE = re.compile(r"(?:finding\(\s*|id=|_Wrong\()\"([a-z-]+)\"")
LITERAL = re.compile(r"\"([a-z]+(?:-[a-z]+)*)\"")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its code, in which nothing is a link or a heading."""
    return CODE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """What headings are called in links: lower case, hyphens for spaces, without punctuation."""
    blocks = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {slug(heading) for heading in HEADING.findall(blocks)}


def slug(heading: str) -> str:
    kept = (sign for sign in heading.lower().strip() if sign in " -_" or unicodedata.category(sign)[0] in "LN")
    return "".join(kept).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    lost = []
    for link in LINK.findall(prose(page)):
        if link.startswith(("http://", "https://")):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_every_page_is_named_in_the_readme(readme: str) -> None:
    text = read(readme)
    assert [page.name for page in ROOT.glob("docs/*.md") if f"(docs/{page.name})" not in text] == []


def test_the_reference_is_that_of_the_code() -> None:
    again = "docs/reference.md is not what the code says: run python benchmarks/docs_reference.py"
    assert read("docs/reference.md") == docs_reference.page(), again


def test_every_variable_is_explained() -> None:
    page = read("docs/configuration.md")
    assert [name for name in FORWARDED if f"`{name}`" not in page] == []


def test_every_finding_of_the_doctor_is_explained_and_no_other() -> None:
    folder = ROOT / "server" / "misjudge_server" / "doctor"
    sources = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    of_store = {f"store-{problem}" for problem in get_args(StoreProblem)}
    made, known = set(MADE.findall(sources)) | of_store, set(LITERAL.findall(sources)) | of_store
    tables = read("docs/troubleshooting.md").partition("## By finding")[2]
    rows = [line.split("|")[1] for line in tables.splitlines() if line.startswith("| `")]
    explained = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}
    assert len(made) > 50
    assert (made - explained, explained - known) == (set(), set())


def test_the_questions_name_tools_that_there_are() -> None:
    named = re.findall(r"^\| \d+ \|.*\| `(\w+)` \|$", read("README.md"), re.MULTILINE)
    assert len(named) == 10
    assert set(named) <= TOOLS.keys()
