"""Lines of `.env` that set nothing: told by their numbers, never by their text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from doctor_homes import CANARY, KEY, MODELS, Case, read_made
from misjudge_server.doctor.checks_files import dotenv_findings, file_findings
from misjudge_server.doctor.dotenv_lines import UnreadLine, unread_lines
from misjudge_server.doctor.facts import SetupFacts


def read(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> SetupFacts:
    return read_made(Case("", environment=MODELS, files={".env": text}), folder, monkeypatch)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("# note\n\nNAME=value\nexport OTHER='x'\nEMPTY=\n", []),
        ('CERT="one\nnot a line: of its own\n"\n', []),
        (f'A=1\n\nTAOTOKEN_API_KEY="{KEY}\nB=2\n', [UnreadLine(3, ours=True)]),
        (f"\n\n  taotoken_api_key: {KEY}\n", [UnreadLine(3, ours=True)]),
        ("A=1\r\nsay hello\r\n\r\nJUDGE_MODEL m\r\n", [UnreadLine(2, ours=False), UnreadLine(4, ours=True)]),
        ("{\n}\n", [UnreadLine(1, ours=False), UnreadLine(2, ours=False)]),
    ],
)
def test_a_line_that_sets_nothing_is_counted_as_an_editor_counts(text: str, lines: list[UnreadLine]) -> None:
    assert list(unread_lines(text)) == lines


def test_lines_are_told_by_number_and_a_variable_of_ours_makes_it_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = read(f"setx TAOTOKEN_API_KEY {KEY}\n" + f"hello {KEY}\n" * 12, folder, monkeypatch)
    error, warning = dotenv_findings(facts)
    assert (error.severity, warning.severity) == ("error", "warning")
    assert error.evidence.startswith("Line 1 sets nothing")
    assert warning.evidence.startswith("Lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more set nothing")
    assert CANARY not in f"{error}{warning}{facts}"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes and few links among its files")
@pytest.mark.parametrize("kind", ["pipe", "link to nothing"])
def test_a_pipe_or_a_link_to_nothing_is_no_file_that_can_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (folder / "work").mkdir()
    path = folder / "work" / ".env"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("none")
    facts = read_made(Case("", environment=MODELS), folder, monkeypatch)
    (found,) = file_findings(facts)
    assert (found.id, found.where) == ("file-unreadable", ".env")
