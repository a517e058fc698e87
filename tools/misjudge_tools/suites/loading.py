"""A suite from its folder, checked as a whole before anything is asked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import digest
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.world import build_image
from misjudge_tools.interchange.confinement import lies_under, refuse_outside
from misjudge_tools.suites.consistency import problems_of_solutions, problems_of_tasks
from misjudge_tools.suites.model import Language, Solution, SuiteTask, Tools
from misjudge_tools.suites.reading import (
    LARGE_LIMIT_BYTES,
    TEXT_LIMIT_BYTES,
    at_line,
    read_object,
    read_records,
    read_whole,
    refuse,
    refuse_large,
)
from misjudge_tools.suites.rule_checks import Surroundings
from misjudge_tools.suites.sentences import nearest
from misjudge_tools.suites.tool_checks import refuse_tools
from misjudge_tools.suites.world_checks import WorldShape, shape_of

TASKS: Final = "tasks.jsonl"
TOOLS: Final = "tools.json"
SOLUTIONS: Final = "solutions.jsonl"
SCRIPT: Final = "world.sql"
DATABASE: Final = "world.db"
INSTRUCTIONS: Final[Mapping[Language, str]] = {"en": "agent.md", "zh": "agent.zh.md"}
FILES: Final = (TASKS, TOOLS, SOLUTIONS, SCRIPT, DATABASE, *INSTRUCTIONS.values())

SHIPPED: Final = ("support_desk",)

Paths = Mapping[str, Path]


class Suite(NamedTuple):
    """Tasks with all that goes with them. `image` is the world as a serialized SQLite database, None without one.

    `instructions` are what agents are told; tasks in Chinese fall back to those in English. `solutions` by task.
    `digest` changes with any of its content, not with its place or line ends.
    """

    name: str
    tasks: tuple[SuiteTask, ...]
    tools: Tools
    image: bytes | None
    instructions: Mapping[Language, str]
    solutions: Mapping[str, Solution]
    digest: str
    shipped: bool


class _World(NamedTuple):
    """`content` is what tells two worlds apart: of a script not the image, which differs with the version of SQLite."""

    shape: WorldShape | None
    content: str | None


def load_suite(name_or_folder: str, allowed: Allowed, roots: Sequence[Path] | None) -> Suite:
    """The shipped suite of this name, else that of this folder, which must lie under `roots` where they are given.

    Raises InvalidInput; it names up to five problems, each with its file and line, and quotes no value.
    """
    if name_or_folder in SHIPPED:
        return _load(Path(__file__).parent / name_or_folder, Allowed(), shipped=True)
    folder = Path(name_or_folder)
    if roots is not None:
        refuse_outside(folder, roots)
    _refuse_no_folder(folder, name_or_folder)
    return _load(folder, allowed, shipped=False)


def tasks_in(suite: Suite, language: Language) -> tuple[SuiteTask, ...]:
    """The tasks of this language, in the order of the file. Raises InvalidInput where there is none."""
    tasks = tuple(task for task in suite.tasks if task.language == language)
    if not tasks:
        held = ", ".join(sorted({task.language for task in suite.tasks}))
        raise InvalidInput(f"The suite {suite.name} has no tasks in {language}. It has: {held}.")
    return tasks


def _refuse_no_folder(folder: Path, given: str) -> None:
    if not given or not os.path.lexists(folder / TASKS):
        raise InvalidInput(
            f"There is no such suite.{nearest(given, SHIPPED)} Give {', '.join(SHIPPED)}, which is shipped, or a "
            f"folder with {TASKS}."
        )


def _load(folder: Path, allowed: Allowed, *, shipped: bool) -> Suite:
    paths = {name: folder / name for name in FILES if os.path.lexists(folder / name)}
    for path in paths.values():
        _refuse_escape(path, folder)
    world = _world(paths)
    tools = read_object(paths[TOOLS], Tools) if TOOLS in paths else Tools()
    refuse_tools(tools, allowed, has_world=world.shape is not None)
    tasks = _tasks(paths, _around(tools, world.shape, allowed))
    solutions = _solutions(paths, tasks, tools)
    instructions = _instructions(paths)
    content = {
        "tasks": [task.model_dump(mode="json", exclude_defaults=True) for task in tasks],
        "tools": tools.model_dump(mode="json", exclude_defaults=True),
        "solutions": [solution.model_dump(mode="json", exclude_defaults=True) for solution in solutions.values()],
        "instructions": instructions,
        "world": world.content,
        "source": _sources(folder) if shipped else [],
    }
    return Suite(
        name=folder.resolve().name,
        tasks=tasks,
        tools=tools,
        image=None if world.shape is None else world.shape.image,
        instructions=instructions,
        solutions=solutions,
        digest=digest("suite", content),
        shipped=shipped,
    )


def _refuse_escape(path: Path, folder: Path) -> None:
    """By a link out of its folder the suite of a stranger could have your other files sent to a model."""
    if not lies_under(path, [folder]):
        raise InvalidInput(f"{path} leads out of the folder of its suite. Put the file itself there.")


def _around(tools: Tools, world: WorldShape | None, allowed: Allowed) -> Surroundings:
    return Surroundings({tool.name: tool for tool in tools.tools}, world, allowed, over_http=tools.http is not None)


def _tasks(paths: Paths, around: Surroundings) -> tuple[SuiteTask, ...]:
    records = read_records(paths[TASKS], SuiteTask)
    refuse(at_line(TASKS, line, problem) for line, problem in sorted(problems_of_tasks(records, around)))
    return tuple(record.value for record in records)


def _solutions(paths: Paths, tasks: Sequence[SuiteTask], tools: Tools) -> Mapping[str, Solution]:
    if SOLUTIONS not in paths:
        return {}
    records = read_records(paths[SOLUTIONS], Solution)
    known = dict.fromkeys(task.task_id for task in tasks)
    specs = {tool.name: tool for tool in tools.tools}
    refuse(at_line(SOLUTIONS, line, problem) for line, problem in sorted(problems_of_solutions(records, known, specs)))
    return {record.value.task_id: record.value for record in records}


def _world(paths: Paths) -> _World:
    if SCRIPT in paths and DATABASE in paths:
        raise InvalidInput(f"A suite has either {SCRIPT} or {DATABASE}, not both. Remove one.")
    if SCRIPT in paths:
        script = read_whole(paths[SCRIPT], LARGE_LIMIT_BYTES)
        return _World(shape_of(build_image(script, None)), script)
    if DATABASE in paths:
        refuse_large(paths[DATABASE], LARGE_LIMIT_BYTES)
        image = build_image(None, paths[DATABASE])
        return _World(shape_of(image), hashlib.sha256(image).hexdigest())
    return _World(None, None)


def _instructions(paths: Paths) -> Mapping[Language, str]:
    stated: dict[Language, str] = {
        language: read_whole(paths[name], TEXT_LIMIT_BYTES).strip()
        for language, name in INSTRUCTIONS.items()
        if name in paths
    }
    if "en" in stated:
        stated.setdefault("zh", stated["en"])
    return stated


def _sources(folder: Path) -> list[list[str]]:
    """The tools of a shipped suite, which are part of what it is."""
    return [[path.name, path.read_text(encoding="utf-8")] for path in sorted(folder.glob("*.py"))]
