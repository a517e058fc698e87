from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

import command
from client_homes import KEY, rich_home, snapshot
from command import Misjudge

SETTINGS = ("claude", "--with-gateway", "--model", "big")
KILLED = 9


def killed_at(step: int, arguments: tuple[str, ...], project: Path, home: Path) -> None:
    """Run `misjudge setup`, and let it die just before it puts its `step`th file in place."""
    before = f"""
import os
steps = []
replace = os.replace
def dying(*paths):
    steps.append(paths)
    os._exit({KILLED}) if len(steps) == {step} else replace(*paths)
os.replace = dying
"""
    env = command.environment(HOME=str(home), USERPROFILE=str(home))
    done = subprocess.run(
        [*command.launcher(before), "setup", *arguments], cwd=project, env=env, stdout=subprocess.DEVNULL,
        timeout=command.TIMEOUT_S,
    )  # fmt: skip
    assert done.returncode == KILLED


@pytest.mark.parametrize("rich", [False, True])
@pytest.mark.parametrize(
    ("arguments", "step"),
    [(("codex",), 1), (("codex",), 2), *((SETTINGS, step) for step in (1, 2, 3, 4))],
)
def test_a_set_up_that_was_killed_leaves_nothing_behind_once_it_is_undone(
    misjudge: Misjudge, home: Path, project: Path, arguments: tuple[str, ...], step: int, rich: bool
) -> None:
    if rich:
        rich_home(home, project)
    before = snapshot(home, project)
    killed_at(step, arguments, project, home)
    assert any(path.suffix == ".tmp" for path in snapshot(home, project))
    assert misjudge("setup", arguments[0], "--undo").code == 0
    assert snapshot(home, project) == before


@pytest.mark.parametrize("step", [1, 2])
def test_the_next_set_up_clears_what_a_killed_one_left_and_no_file_of_others(
    misjudge: Misjudge, home: Path, project: Path, step: int
) -> None:
    rich_home(home, project)
    others = [home / ".codex" / name for name in (".config.toml.0123456789ab.tmp", "config.toml.tmp.12")]
    for other in others:
        other.write_bytes(b"theirs")
    killed_at(step, ("codex",), project, home)
    assert misjudge("setup", "codex").code == 0
    left = [path for path in snapshot(home, project) if ".tmp" in path.name]
    assert sorted(left) == sorted(others)
    holders = [path for path, entry in snapshot(home, project).items() if KEY.encode() in (entry.data or b"")]
    assert len(holders) == 3


@pytest.mark.parametrize("arguments", [("codex",), SETTINGS])
def test_a_file_that_was_removed_since_is_not_made_again_by_undo_and_told(
    misjudge: Misjudge, home: Path, arguments: tuple[str, ...]
) -> None:
    misjudge("setup", *arguments)
    written = [path for path in home.rglob("*") if path.is_file() and ".misjudge" not in path.parts]
    for path in written:
        path.unlink()
    undone = misjudge("setup", arguments[0], "--undo")
    assert undone.code == 0 and undone.out.count("was not there any more") == len(written) > 0
    assert "removed" not in undone.out and "as it was" not in undone.out
    assert list(home.iterdir()) == []


def test_a_file_that_undo_removes_is_told_as_removed(misjudge: Misjudge, home: Path) -> None:
    misjudge("setup", "codex")
    undone = misjudge("setup", "codex", "--undo").out
    assert "config.toml: removed." in undone and "any more" not in undone


@pytest.mark.parametrize(
    "added",
    [
        ("", "# at the top\n"),
        ("[mcp_servers.misjudge]\n", "# behind our header\n"),
        ("args = ", "# within our table\n"),
        ("[mcp_servers.misjudge.tools.", "  # above a table of ours\r\n\n"),
        ("", "# at the top\n", "[mcp_servers.misjudge]\n", "# twice\n# twice\n"),
        (None, "\n# at the end"),
        (None, "\n# above another's\n[other] # theirs\na = 1\n# below\n"),
    ],
)
def test_undo_keeps_every_comment_that_a_person_wrote(
    misjudge: Misjudge, home: Path, added: tuple[str | None, ...]
) -> None:
    misjudge("setup", "codex")
    config = home / ".codex" / "config.toml"
    text = config.read_text(encoding="utf-8")
    for anchor, comment in zip(added[::2], added[1::2], strict=True):
        place = len(text) if anchor is None else text.index(anchor)
        place += len(anchor) if anchor and anchor.endswith("\n") else 0
        text = text[:place] + str(comment) + text[place:]
    config.write_bytes(text.encode())
    comments = [line.strip() for line in text.splitlines() if "#" in line]
    undone = misjudge("setup", "codex", "--undo")
    left = config.read_text(encoding="utf-8")
    assert undone.code == 0 and "only what set-up wrote was taken out" in undone.out
    assert [line.strip() for line in left.splitlines() if "#" in line] == comments
    assert "misjudge" not in left and set(tomllib.loads(left)) <= {"other"}


def test_undo_leaves_the_comments_above_another_table_above_it(misjudge: Misjudge, home: Path) -> None:
    misjudge("setup", "codex")
    config = home / ".codex" / "config.toml"
    theirs = "# my docs\n[mcp_servers.docs]\ncommand = 'npx' # why\n\n# the end\n"
    config.write_bytes(config.read_bytes() + b"\n" + theirs.encode())
    misjudge("setup", "codex", "--undo")
    assert config.read_text(encoding="utf-8").strip() == theirs.strip()


def test_a_file_that_holds_nothing_but_space_is_removed_by_undo(misjudge: Misjudge, home: Path) -> None:
    misjudge("setup", "codex")
    config = home / ".codex" / "config.toml"
    config.write_bytes(b"\n" + config.read_bytes() + b"\n\n")
    assert misjudge("setup", "codex", "--undo").code == 0
    assert list(home.iterdir()) == []
