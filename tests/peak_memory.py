"""The peak memory of this process alone. Standard library only: it is imported by measured subprocesses."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_bytes() -> int:
    """Bytes of resident memory at its highest.

    On Linux from /proc: `getrusage` there counts what the parent held when it started this process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
