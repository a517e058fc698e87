"""Logging to stderr: misjudge's own records only, each with its run and cell, never a payload.

Records of libraries are not shown: at some levels they hold requests and replies.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from typing import Any

from misjudge_server.terminal import plain

ROOMS = ("misjudge_server", "misjudge_tools", "misjudge_storage")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


def set_up_logging(level: str | None = None, as_json: bool | None = None) -> None:
    """Log at `level` (default MISJUDGE_LOG, else WARNING), as JSON lines where MISJUDGE_LOG_JSON is set."""
    wanted = (level or os.environ.get("MISJUDGE_LOG") or "WARNING").upper()
    handler = _StderrHandler()
    json_lines = _json_wanted() if as_json is None else as_json
    handler.setFormatter(_JsonFormatter() if json_lines else _TextFormatter())
    for room in ROOMS:
        logger = logging.getLogger(room)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(wanted if wanted in LEVELS else "WARNING")
    logging.getLogger().addHandler(logging.NullHandler())


def announce(sentence: str) -> None:
    """A sentence for people on stderr whatever the log level; a JSON line where logs are."""
    line = {"level": "info", "logger": "misjudge", "message": sentence}
    print(json.dumps(line, ensure_ascii=False) if _json_wanted() else f"misjudge: {plain(sentence)}", file=sys.stderr)


def _json_wanted() -> bool:
    return bool(os.environ.get("MISJUDGE_LOG_JSON"))


def log_failure(log: logging.Logger, what: str, error: BaseException) -> None:
    """Log an unexpected error with its place in the code, without its own text, which may quote a reply."""
    place = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s failed: %s\n%s", what, type(error).__name__, place)


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    facts = {"run": getattr(record, "run", None), "cell": getattr(record, "cell", None)}
    return {name: value for name, value in facts.items() if value is not None}


class _StderrHandler(logging.Handler):
    """Writes to what stderr is now: a progress bar puts lines above itself."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = " ".join(f"{name}={value}" for name, value in _facts(record).items())
        line = f"{record.levelname.lower()} {record.name}: {record.getMessage()}"
        return f"{line} {facts}" if facts else line


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {"level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        return json.dumps({**line, **_facts(record)}, ensure_ascii=False)
