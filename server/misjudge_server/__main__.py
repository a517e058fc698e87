"""The command `misjudge`. Kept small: what comes first must be safe and quick."""

from __future__ import annotations

import os
import sys


def drop_relative_entries() -> None:
    """Take the working directory out of the import path, however it got in.

    Clients start this command inside arbitrary repositories, some with folders called `tools` or `mcp` and with
    `PYTHONPATH=.`. Python makes such entries absolute, so they are told by their place, in front of the standard
    library; what stands behind it (site-packages, editable installs) stays.
    """
    stated = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    relative = {os.path.abspath(entry) for entry in stated if not os.path.isabs(entry)} | {os.getcwd()}
    library = os.path.dirname(os.path.abspath(os.__file__))
    ours = sys.path.index(library) if library in sys.path else len(sys.path)
    sys.path[:] = [
        entry
        for place, entry in enumerate(sys.path)
        if os.path.isabs(entry) and not (place < ours and os.path.abspath(entry) in relative)
    ]


def main() -> None:
    """Run the command line; `serve` starts before the command line's own libraries are imported."""
    drop_relative_entries()
    if sys.argv[1:] == ["serve"]:
        from misjudge_server.serve import serve

        serve()
    else:
        from misjudge_server.cli import run

        run()


if __name__ == "__main__":
    main()
