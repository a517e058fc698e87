"""Failures of requests that are no tool calls, as errors of the protocol: one sentence each."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TypeVar

from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

from misjudge_server.logs import log_failure
from misjudge_storage.errors import InvalidInput, MisjudgeError

log = logging.getLogger(__name__)
LONGEST_MESSAGE = 2_000
"""Characters of an error; it may list all labels of an audit, or repeat a name that was given."""
_Result = TypeVar("_Result")


async def refusing(method: str, work: Awaitable[_Result]) -> _Result:
    """What the work comes to. Raises MCPError for every failure of it."""
    try:
        return await work
    except MCPError:
        raise
    except MisjudgeError as error:
        code = INVALID_PARAMS if isinstance(error, InvalidInput) else INTERNAL_ERROR
        raise MCPError(code, shortened(str(error))) from None
    except Exception as error:
        log_failure(log, method, error)
        raise MCPError(INTERNAL_ERROR, internal(method, error)) from None


def internal(where: str, error: Exception) -> str:
    """What is said of a failure that nobody foresaw; its text may hold what was read."""
    return f"Internal error in {where} ({type(error).__name__}). The server's log on stderr says more."


def shortened(message: str) -> str:
    """The message in a length that everybody can read."""
    return message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + " …"
