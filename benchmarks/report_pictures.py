"""Make the pictures of docs/reports.md: the report of the planted audit in headless Chromium, light and dark.

Run from the repository: python benchmarks/report_pictures.py
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Literal, NamedTuple

HERE = Path(__file__).resolve().parent.parent
for room in ("server", "tools", "storage", "tests"):
    sys.path.insert(0, str(HERE / room))

from chromium import chromium_tab  # noqa: E402
from live_parts import request  # noqa: E402
from misjudge_tools.file_requests import ReportRequest  # noqa: E402
from misjudge_tools.run_pair import run_pair  # noqa: E402
from misjudge_tools.write_report import write_report  # noqa: E402
from operations import opened  # noqa: E402

AGENTS = ["diligent", "flaky:0.95", "hasty", "smooth_talker"]


class Picture(NamedTuple):
    """A PNG of this name, of the top of a page of this size."""

    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"]


PICTURES = (Picture("report.png", 1280, 1180, "light"), Picture("report-narrow-dark.png", 390, 1180, "dark"))


async def main() -> None:
    """Print the name and size of each picture."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        async with opened(Path(folder) / "planted.db") as deps:
            asked = request(audit="planted", wait_s=40, agents=AGENTS)
            while (await run_pair(asked, deps)).run.state == "running":
                pass
            await write_report(ReportRequest(audit="planted", out=str(page)), deps)
        async with chromium_tab() as tab:
            for name, width, height, scheme in PICTURES:
                await tab.shape(width, height, scheme)
                await tab.open(page.as_uri())
                await tab.picture(HERE / "docs" / name, height)
                print(f"docs/{name}: {(HERE / 'docs' / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    asyncio.run(main())
