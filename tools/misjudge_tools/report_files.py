"""Reports that were written before, found and read again: only files that begin as reports of misjudge do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from misjudge_storage.errors import NotFound
from misjudge_tools.exporting.writing import begins
from misjudge_tools.interchange.confinement import refuse_outside
from misjudge_tools.interchange.text_files import read_text
from misjudge_tools.results import SCHEME
from misjudge_tools.write_report import OURS, SINGLE

MIME_TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html",
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".json": "application/json",
}
LIMIT_BYTES: Final = 100_000_000
MOST_ENTRIES: Final = 20_000
"""Names of a folder that are looked at: the working directory may be anything, a home as well."""
MOST_FOLDERS: Final = 1_000
"""Folders that are looked into."""
MOST_FILES: Final = 2_000
"""Files with the ending of a report that are opened, of each folder as many as of any other."""
NOT_ALL: Final = (
    "There are so many files here that not all were looked at, so reports may be missing. Keep reports in a folder of "
    "their own; one that is not listed can still be read by its address."
)
_Roots = Sequence[Path] | None


class ReportFile(NamedTuple):
    """A report by its path: below the working directory where it lies there, else from the root on."""

    path: str
    mime_type: str
    size: int

    @property
    def uri(self) -> str:
        """The address that `read_record` takes."""
        return f"{SCHEME}reports/{quote(self.path, safe='')}"


class FoundReports(NamedTuple):
    """Reports, and why there may be more of them: in one sentence, None where all were looked at."""

    reports: list[ReportFile]
    note: str | None


class ReportText(NamedTuple):
    """A report and what it says."""

    file: ReportFile
    text: str


def report_files(roots: _Roots) -> FoundReports:
    """The reports in these folders and those just below them, in the working directory where there are none."""
    folders = list(_folders([Path.cwd()] if roots is None else roots))
    files = [path for folder in folders for path in folder.files]
    opened = set(islice(_in_turn(folders), MOST_FILES))
    found = (_recognised(path) for path in files if path in opened)
    reports = list(dict.fromkeys(report for report in found if report is not None))
    whole = len(opened) == len(set(files)) and all(folder.whole for folder in folders)
    return FoundReports(reports, None if whole else NOT_ALL)


def read_report(path: str, roots: _Roots) -> ReportText:
    """A report and its text. Raises InvalidInput for a place that is not allowed, NotFound where no report is."""
    place = Path(path)
    if roots is not None:
        refuse_outside(place, roots)
    found = _recognised(place)
    if found is None:
        raise NotFound(f"No report of misjudge lies there. {SCHEME}reports lists those that there are.")
    return ReportText(found, read_text(place, place.name, LIMIT_BYTES))


class _Folder(NamedTuple):
    """Files that may be reports by their ending, and folders, both by name; `whole`: every name was looked at."""

    files: list[Path]
    folders: list[Path]
    whole: bool


def _folders(roots: Sequence[Path]) -> Iterator[_Folder]:
    """Each root, and after it the folders in it."""
    room = MOST_FOLDERS
    for root in roots:
        there = _listed(root)
        below = there.folders[: max(room, 0)]
        room -= len(below)
        yield there._replace(whole=there.whole and len(below) == len(there.folders))
        yield from map(_listed, below)


def _listed(folder: Path) -> _Folder:
    """What is in a folder, without what is hidden and links. One that cannot be read is empty."""
    files, folders, whole = list[Path](), list[Path](), True
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, MOST_ENTRIES):
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir():
                folders.append(Path(entry.path))
            elif _ending(entry.name) in SINGLE:
                files.append(Path(entry.path))
        whole = next(entries, None) is None
    return _Folder(sorted(files), sorted(folders), whole)


def _in_turn(folders: Sequence[_Folder]) -> Iterator[Path]:
    """The first file of each folder, then the second one of each: a full folder takes no other one's place."""
    columns = zip_longest(*(folder.files for folder in folders))
    return (path for column in columns for path in column if path is not None)


def _ending(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _recognised(path: Path) -> ReportFile | None:
    ending = _ending(path.name)
    try:
        if ending not in SINGLE or not path.is_file() or not begins(path, OURS[SINGLE[ending]]):
            return None
        size = path.stat().st_size
    except (OSError, ValueError):
        return None
    return ReportFile(_shown(path), MIME_TYPES[ending], size)


def _shown(path: Path) -> str:
    here = Path.cwd()
    try:
        return path.absolute().relative_to(here).as_posix()
    except ValueError:
        return path.absolute().as_posix()
