"""The ceiling of one run: what may still be asked, reserved before a call and settled after it."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from enum import Enum
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Role, Value
from misjudge_tools.gateway.billing import Used
from misjudge_tools.gateway.client import LARGER
from misjudge_tools.gateway.clock import Clock
from misjudge_tools.gateway.pricing import Pricing

FRAME_TOKENS = 64
"""What a chat format puts around the text of a request, at most."""
PARTS_PER_USD = 10**12
"""Money is added up in whole parts, so that a thousand calls of 0.001 USD are one USD."""


class Budget(Value):
    """Limits of one run; None: no limit. A call is one question to a model with all of its bounded retries.

    Tokens are those of input and output as the gateway states them. `deadline_s` are seconds of work, counted
    from when the run was taken up.
    """

    max_usd: Annotated[float, Field(gt=0, le=1e9)] | None = None
    max_calls: Annotated[int, Field(gt=0)] | None = None
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    max_usd_per_task: Annotated[float, Field(gt=0, le=1e9)] | None = None
    deadline_s: Annotated[float, Field(gt=0)] | None = None

    @property
    def unlimited(self) -> bool:
        """Whether it sets no limit at all."""
        return self == UNLIMITED


UNLIMITED = Budget()


class Estimate(NamedTuple):
    """The most that one call takes. `usd` None: the price is not known."""

    tokens: int
    usd: float | None


class Spent(NamedTuple):
    """What a run took before."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0


class Left(NamedTuple):
    """What limits leave; without a limit everything."""

    calls: float = math.inf
    tokens: float = math.inf
    usd: float = math.inf
    seconds: float = math.inf


class Reservation(NamedTuple):
    """A granted call, to be settled exactly once."""

    number: int
    estimate: Estimate


class Refusal(NamedTuple):
    """A limit is reached: for the `whole_run`, or else for the calls of this task alone."""

    whole_run: bool
    reason: str


def upper_bound(text_bytes: int, max_tokens: int, pricing: Pricing) -> Estimate:
    """The most that a call with so many bytes of text takes: a byte is at most a token, and a reply that is cut off
    is asked for once more with `LARGER` times the limit."""
    input_tokens = text_bytes + FRAME_TOKENS
    limits = (max_tokens, LARGER * max_tokens)
    costs = [pricing.of(input_tokens, limit).usd for limit in limits]
    known = [cost for cost in costs if cost is not None]
    return Estimate(2 * input_tokens + sum(limits), sum(known) if len(known) == len(costs) else None)


def refuse_unpriced(budget: Budget, pricing: Pricing) -> None:
    """Raises InvalidInput for a limit in USD on a model without a known price."""
    names = [name for name in ("max_usd", "max_usd_per_task") if getattr(budget, name) is not None]
    if names and not pricing.known:
        raise InvalidInput(
            f"{' and '.join(names)} cannot be kept: the price of {pricing.model[:80]!r} is not known. "
            "Set price_in and price_out for it in misjudge.toml (USD per million tokens), or use max_calls."
        )


class _Room(Enum):
    """Whether a limit has room for a call."""

    FITS = "fits"
    BEYOND = "beyond"
    NOT_YET = "not yet"
    USED_UP = "used up"


class _Account:
    """One limit, and what counts against it, in whole tokens or parts of a USD.

    A call that does not fit is granted BEYOND it where its role has none in flight, as long as what is spent and
    what is reserved within the limit are below it. So all of the limit can be used, and is overshot by at most
    one call per role (and by what the calls in flight take above their estimates).
    """

    def __init__(
        self, name: str, unit: Literal["USD", "tokens"], limit: float, spent: float, *, whole_run: bool = True
    ) -> None:
        self.whole_run = whole_run
        self.name = name
        self._unit = unit
        self._stated = limit
        self._parts = PARTS_PER_USD if unit == "USD" else 1
        self._limit = round(limit * self._parts)
        self._spent = round(spent * self._parts)
        self._reserved = 0
        self._beyond = 0
        self._in_flight: Counter[Role] = Counter()

    def amount(self, tokens: int, usd: float | None) -> int:
        """What these come to here; an unknown price counts nothing, see `refuse_unpriced`."""
        return tokens if self._unit == "tokens" else round((usd or 0.0) * self._parts)

    def room(self, role: Role, amount: int) -> _Room:
        committed = self._spent + self._reserved
        if committed + amount <= self._limit:
            return _Room.FITS
        if self.used_up:
            return _Room.USED_UP
        if not self._in_flight[role] and committed - self._beyond < self._limit:
            return _Room.BEYOND
        return _Room.NOT_YET

    @property
    def used_up(self) -> bool:
        """Whether nothing is left."""
        return self._spent >= self._limit

    @property
    def left(self) -> float:
        """What is left beside what is spent and reserved."""
        return (self._limit - self._spent - self._reserved) / self._parts

    def take(self, role: Role, amount: int, room: _Room) -> None:
        self._in_flight[role] += 1
        self._reserved += amount
        self._beyond += amount if room is _Room.BEYOND else 0

    def give_back(self, role: Role, amount: int, room: _Room, used: int) -> None:
        self._in_flight[role] -= 1
        self._reserved -= amount
        self._beyond -= amount if room is _Room.BEYOND else 0
        self._spent += used

    def refusal(self) -> Refusal:
        counted = f"{self._spent / self._parts:.4g}" if self._unit == "USD" else self._spent
        where = "" if self.whole_run else " for this task"
        stated = f"{self.name}={self._stated:.15g}"
        return Refusal(self.whole_run, f"{stated} is used up{where} ({counted} {self._unit} counted).")


class _Asked(NamedTuple):
    """A call that waits for its answer."""

    role: Role
    task_id: str
    estimate: Estimate
    answer: asyncio.Future[Reservation | Refusal]


class _Share(NamedTuple):
    """What a call takes of one account, and how that has room for it."""

    account: _Account
    amount: int
    room: _Room


class _Held(NamedTuple):
    """What a granted call holds."""

    role: Role
    shares: tuple[_Share, ...]


class Ledger:
    """Keeps a run within its budget. Make it when the run is taken up, and use it within one event loop.

    `before` is what the run spent earlier, `usd_by_task` that by task.
    """

    def __init__(self, budget: Budget, before: Spent, usd_by_task: Mapping[str, float], clock: Clock) -> None:
        self._budget = budget
        self._clock = clock
        self._end = None if budget.deadline_s is None else clock.now() + budget.deadline_s
        self._calls = before.calls
        self._usd_by_task = usd_by_task
        self._accounts: list[_Account] = []
        if budget.max_usd is not None:
            self._accounts.append(_Account("max_usd", "USD", budget.max_usd, before.usd))
        if budget.max_tokens is not None:
            self._accounts.append(_Account("max_tokens", "tokens", budget.max_tokens, before.tokens))
        self._tasks: dict[str, _Account] = {}
        self._granted = 0
        self._open: dict[int, _Held] = {}
        self._waiting: dict[Role, list[_Asked]] = {}
        self._excess = 1.0

    @property
    def unlimited(self) -> bool:
        """Whether every call is granted, whatever its estimate."""
        return self._budget.unlimited

    def left(self) -> Left:
        """What the limits of the whole run still leave, without what calls in flight hold."""
        of = {account.name: account.left for account in self._accounts}
        return Left(
            calls=math.inf if self._budget.max_calls is None else self._budget.max_calls - self._calls,
            tokens=of.get("max_tokens", math.inf),
            usd=of.get("max_usd", math.inf),
            seconds=math.inf if self._end is None else self._end - self._clock.now(),
        )

    async def reserve(self, role: Role, task_id: str, estimate: Estimate) -> Reservation | Refusal:
        """Leave for one call, or the limit that is reached; waits while a call in flight may still leave room."""
        if self._budget.unlimited:
            self._granted += 1
            return Reservation(self._granted, estimate)
        asked = _Asked(role, task_id, estimate, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(role, []).append(asked)
        self._answer_waiting(role)
        if asked.answer.done():
            return asked.answer.result()
        try:
            async with self._until_end():
                return await asked.answer
        except TimeoutError:
            self._withdraw(asked)
            return self._too_late()
        except asyncio.CancelledError:
            self._withdraw(asked)
            raise

    def settle(self, reservation: Reservation, used: Used) -> None:
        """What the call took; to be told of a call that got lost, too. Raises KeyError the second time."""
        if self._budget.unlimited:
            return
        estimate = reservation.estimate
        self._learn(estimate, used)
        tokens = estimate.tokens if used.tokens is None else used.tokens
        usd = estimate.usd if used.usd is None else used.usd
        self._close(reservation, tokens, usd)

    def _learn(self, estimate: Estimate, used: Used) -> None:
        """A call that took more than the most there should be shows what the next ones may take."""
        known = [(used.tokens, estimate.tokens), (used.usd, estimate.usd)]
        self._excess = max(self._excess, *(taken / most for taken, most in known if taken is not None and most), 1.0)

    def refused(self) -> Refusal | None:
        """The limit that ends the whole run, with all that counts against it by now; None where none does."""
        used_up = (account.refusal() for account in self._accounts if account.used_up)
        return self._over() or next(used_up, None)

    def _close(self, reservation: Reservation, tokens: int, usd: float | None) -> None:
        role, shares = self._open.pop(reservation.number)
        for account, amount, room in shares:
            account.give_back(role, amount, room, account.amount(tokens, usd))
        self._answer_all()

    def _until_end(self) -> AbstractAsyncContextManager[object]:
        return nullcontext() if self._end is None else self._clock.within(self._end - self._clock.now())

    def _withdraw(self, asked: _Asked) -> None:
        """Undo a call that nobody waits for any more; it may have been granted just before."""
        asked.answer.cancel()
        answer = None if asked.answer.cancelled() else asked.answer.result()
        if isinstance(answer, Reservation):
            self._calls -= 1
            self._close(answer, 0, 0.0)
        else:
            self._answer_all()

    def _answer_all(self) -> None:
        for role in self._waiting:
            self._answer_waiting(role)

    def _answer_waiting(self, role: Role) -> None:
        """Answer who waits in this role, in order; who must wait holds up those behind under the same limit."""
        queue = self._waiting[role]
        waiting: list[_Asked] = []
        held: set[str] = set()
        for place, asked in enumerate(queue):
            if asked.answer.cancelled():
                continue
            answer = None if asked.task_id in held else self._answer(asked)
            if isinstance(answer, _Account) and answer.whole_run:
                waiting.extend(queue[place:])
                break
            if isinstance(answer, Reservation | Refusal):
                asked.answer.set_result(answer)
            else:
                waiting.append(asked)
                held.add(asked.task_id)
        self._waiting[role] = waiting

    def _answer(self, asked: _Asked) -> Reservation | Refusal | _Account:
        """Leave, or the limit that is reached, or the one that has no room yet."""
        role, task_id, (tokens, usd), _ = asked
        tokens, usd = math.ceil(tokens * self._excess), None if usd is None else usd * self._excess
        over = self._over()
        if over is not None:
            return over
        shares: list[_Share] = []
        for account in self._accounts_of(task_id):
            amount = account.amount(tokens, usd)
            shares.append(_Share(account, amount, account.room(role, amount)))
        for share in shares:
            if share.room is _Room.USED_UP:
                return share.account.refusal()
        for share in shares:
            if share.room is _Room.NOT_YET:
                return share.account
        return self._grant(_Held(role, tuple(shares)), asked.estimate)

    def _over(self) -> Refusal | None:
        """Whether nothing at all may be asked any more."""
        if self._end is not None and self._clock.now() >= self._end:
            return self._too_late()
        if self._budget.max_calls is not None and self._calls >= self._budget.max_calls:
            return Refusal(True, f"max_calls={self._budget.max_calls} is used up ({self._calls} calls asked).")
        return None

    def _grant(self, held: _Held, estimate: Estimate) -> Reservation:
        self._granted += 1
        self._calls += 1
        for account, amount, room in held.shares:
            account.take(held.role, amount, room)
        self._open[self._granted] = held
        return Reservation(self._granted, estimate)

    def _accounts_of(self, task_id: str) -> list[_Account]:
        limit = self._budget.max_usd_per_task
        if limit is None:
            return self._accounts
        if task_id not in self._tasks:
            spent = self._usd_by_task.get(task_id, 0.0)
            self._tasks[task_id] = _Account("max_usd_per_task", "USD", limit, spent, whole_run=False)
        return [*self._accounts, self._tasks[task_id]]

    def _too_late(self) -> Refusal:
        return Refusal(True, f"deadline_s={self._budget.deadline_s:.15g} is over.")
