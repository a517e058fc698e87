"""Every error a caller may want to catch.

    MisjudgeError
    ├── InvalidInput          an argument, option or file that cannot be used as given
    │   ├── BadRecords        a file with records that cannot be read; names the first ten
    │   └── NotFound          an audit, pair, run, judge or record that is not stored
    ├── Conflict              the id is taken by different content
    ├── StoreError            the store cannot be opened, read or written
    │   ├── StoreTooNew       written by a newer version of misjudge
    │   └── StoreUnwritable   read-only, locked, or the disk is full
    ├── GatewayError          a model call that gave no usable reply; has an unscored reason
    │   ├── MissingKey        no key is configured for a call that needs the gateway
    │   ├── AuthRefused       401 or 403
    │   ├── WrongAddress      404, a web page, or an answer that is not a chat completion
    │   ├── RequestRefused    400 and other 4xx: the model does not take this request
    │   │   └── ModelNotOffered   the gateway does not know the model
    │   ├── ContextOverflow   the request is longer than the model's context
    │   ├── RateLimited       429 beyond the retries
    │   ├── Unreachable       no connection, or the connection broke
    │   ├── CallTimeout       no answer within the deadline
    │   └── ProviderFailed    5xx, or an error object in the answer
    └── RunStopped            a run ended early (too many unread replies, cancelled)

A message says what was wrong, what is allowed and what to do next, in one or two sentences. It never
holds a key, a value of the environment, or text of a transcript or reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from misjudge_storage.types import UnscoredReason


class MisjudgeError(Exception):
    """Base of all errors that misjudge raises on purpose; `str(error)` is meant for people."""


class InvalidInput(MisjudgeError):
    """An argument, option or file that cannot be used as given."""


class BadRecords(InvalidInput):
    """A file with records that cannot be read: `problems` names those found, with their lines.

    `total` is how many records cannot be read, `named` how many of them `problems` is about (one each by default).
    """

    def __init__(self, source: str, problems: Sequence[str], total: int, named: int | None = None) -> None:
        self.problems = tuple(problems)
        self.total = total
        shown = "\n".join(f"  {problem}" for problem in self.problems)
        left = total - (len(self.problems) if named is None else named)
        more = f"\n  and {left} more" if left > 0 else ""
        noun = "record" if total == 1 else "records"
        super().__init__(
            f"{source}: {total} {noun} cannot be read, so nothing was imported. "
            f"Correct them, or import the rest with --skip-bad:\n{shown}{more}"
        )


class NotFound(InvalidInput):
    """The thing named is not stored."""


class Conflict(MisjudgeError):
    """The id is taken by different content; results are append-only, so nothing was changed."""


class StoreError(MisjudgeError):
    """The store cannot be opened, read or written."""


class StoreTooNew(StoreError):
    """The store was written by a newer version."""


class StoreUnwritable(StoreError):
    """The store is read-only, locked by another process, or its disk is full."""


class GatewayError(MisjudgeError):
    """A model call that gave no usable reply.

    `unscored` is the reason stored with the verdict that was lost; `retryable` says whether the same
    call may succeed later; `leaves_open` that a resumed run asks the cell again; `stops_run` that every other
    cell would meet it too.
    """

    unscored: ClassVar[UnscoredReason] = "provider_error"
    retryable: ClassVar[bool] = False
    leaves_open: ClassVar[bool] = True
    stops_run: ClassVar[bool] = False


class MissingKey(GatewayError):
    """No key is configured for a call that needs the gateway."""

    stops_run = True


class AuthRefused(GatewayError):
    """The gateway refused the key (401, 403)."""

    stops_run = True


class WrongAddress(GatewayError):
    """The address answered, but not as a chat completions endpoint (404, a web page)."""

    stops_run = True


class RequestRefused(GatewayError):
    """The gateway does not take this request (400 and other 4xx)."""


class ModelNotOffered(RequestRefused):
    """The gateway does not know the model: a misspelt name must not count as what a judge or an agent did."""

    stops_run = True


class ContextOverflow(GatewayError):
    """The request is longer than the model's context."""

    unscored = "context_overflow"
    leaves_open = False


class RateLimited(GatewayError):
    """Still 429 after the bounded retries."""

    retryable = True


class Unreachable(GatewayError):
    """No connection, or it broke before the answer was whole."""

    retryable = True


class CallTimeout(GatewayError):
    """No answer within the call's deadline."""

    unscored = "timeout"
    retryable = True


class ProviderFailed(GatewayError):
    """A 5xx answer, or an answer that carries an error object or no choices."""

    retryable = True


class RunStopped(MisjudgeError):
    """A run ended before its plan was done; what was stored stays, and it can be resumed."""
