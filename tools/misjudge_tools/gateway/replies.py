"""Reads what a gateway answered: a reply, or a typed error.

Everything in an answer is hostile text. It decides which error it is and never enters its message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from misjudge_storage.errors import (
    AuthRefused,
    CallTimeout,
    ContextOverflow,
    GatewayError,
    ModelNotOffered,
    ProviderFailed,
    RateLimited,
    RequestRefused,
    Unreachable,
    WrongAddress,
)
from misjudge_storage.types import ToolCall
from misjudge_tools.gateway.settings import DEFAULT_KEY_VARIABLE
from misjudge_tools.gateway.tool_calls import UnreadableCalls, read_tool_calls, storable

_ADDRESS = (
    "Set TAOTOKEN_BASE_URL, or the base_url of the profile, to the API address of the gateway "
    "(as https://taotoken.net/api), not its website."
)
PROXY_FAILED = (
    "The local proxy failed: HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names one that does not answer or cannot be used. "
    "Start it, unset the variable, or set MISJUDGE_TRUST_ENV=0."
)
_OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size|limit)|maximum context|(prompt|input|request) is too long|reduce the length"
    r"|too many (input )?tokens",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"\bmodel\b.{0,200}?(not found|not exist|doesn.t exist)|(unknown|invalid|no such) model\b|模型.{0,40}不存在",
    re.IGNORECASE | re.DOTALL,
)
_TOOLS = re.compile(r"\btools\b(?!\[|\.\w)|\b(tool|function)[ _-](use|choice|calling)\b", re.IGNORECASE)
_TAKES_NO_TOOLS = {400, 404, 422, 501}
_TRUNCATED = {"length", "max_tokens"}
_FILTERED = {"content_filter", "content_policy_violation", "refusal"}
_ID_CHARS = 200
_READ_CHARS = 4000
_MOST_TOKENS = 10**9


class Answer(NamedTuple):
    """An HTTP answer as it came; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Reply(NamedTuple):
    """A chat completion that was read. `raw_output` is the model's text, or its refusal.

    `tool_calls` are read only where tools were offered.
    """

    raw_output: str | None
    finish_reason: str | None
    truncated: bool
    refused: bool
    input_tokens: int | None
    output_tokens: int | None
    request_id: str | None
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def tokens(self) -> int | None:
        """All that were used, where both counts are stated."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


class Problem(NamedTuple):
    """What an error answer says, for decisions only. `param` is the parameter that it names, if any."""

    status: int
    message: str = ""
    param: str = ""
    code: str = ""

    def names(self, *words: str) -> bool:
        """Whether it is about one of these parameters; the message counts only where no `param` is stated."""
        if self.param:
            return any(word in self.param for word in words)
        return any(re.search(rf"\b{word}\b", self.message) for word in words)


class Fault(NamedTuple):
    """A typed error with what the answer said. `wait_s`: the seconds to wait that it asks for."""

    error: GatewayError
    problem: Problem = Problem(0)
    request_id: str | None = None
    wait_s: float | None = None


def read_answer(answer: Answer, key_variable: str = DEFAULT_KEY_VARIABLE, *, with_tools: bool = False) -> Reply | Fault:
    """A reply where the answer holds one, else the fault that fits it best.

    `key_variable` is the name of the variable with the key, for the message about a refused one; `with_tools`:
    tools were offered, so that the reply may call them.
    """
    outcome = _read(answer, key_variable, with_tools)
    if with_tools and isinstance(outcome, Fault) and _refuses_tools(outcome):
        error = RequestRefused(
            f"This model takes no tools ({outcome.problem.status}). Name a model that can call tools for the agent."
        )
        return outcome._replace(error=error)
    return outcome


def _read(answer: Answer, key_variable: str, with_tools: bool) -> Reply | Fault:
    text = answer.body.decode("utf-8-sig", "replace")
    data = _json(text)
    request_id = _request_id(answer.headers, data)
    if answer.status != 200:
        return _fault(_problem(answer.status, data, text), request_id, key_variable)
    choice = _first_choice(data)
    if choice is not None:
        return _reply_with_calls(choice, data, request_id) if with_tools else _reply(choice, data, request_id)
    if isinstance(data, dict) and data.get("error"):
        return _error_with_200(data, request_id, key_variable)
    return Fault(_not_a_completion(answer.headers, text, data), Problem(200), request_id)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _request_id(headers: Mapping[str, str], data: Any) -> str | None:
    found = headers.get("x-request-id") or (data.get("id") if isinstance(data, dict) else None)
    return storable(found)[:_ID_CHARS] if isinstance(found, str) and found else None


def _first_choice(data: Any) -> dict[str, Any] | None:
    choices = data.get("choices") if isinstance(data, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, dict) and isinstance(first.get("message"), dict) and first.get("finish_reason") != "error":
        return first
    return None


def _reply(choice: dict[str, Any], data: dict[str, Any], request_id: str | None) -> Reply:
    message = choice["message"]
    finish = choice.get("finish_reason")
    finish_reason = storable(finish)[:_ID_CHARS] if isinstance(finish, str) else None
    refusal = message.get("refusal")
    spoken = isinstance(refusal, str) and refusal != ""
    usage = data.get("usage")
    counts: dict[str, Any] = usage if isinstance(usage, dict) else {}
    return Reply(
        raw_output=storable(refusal if spoken else _content(message.get("content"))),
        finish_reason=finish_reason,
        truncated=finish_reason in _TRUNCATED,
        refused=spoken or finish_reason in _FILTERED,
        input_tokens=_count(counts.get("prompt_tokens")),
        output_tokens=_count(counts.get("completion_tokens")),
        request_id=request_id,
    )


def _reply_with_calls(choice: dict[str, Any], data: dict[str, Any], request_id: str | None) -> Reply | Fault:
    reply = _reply(choice, data, request_id)
    try:
        return reply if reply.refused else reply._replace(tool_calls=read_tool_calls(choice["message"]))
    except UnreadableCalls as error:
        return Fault(_failed(str(error)), Problem(200), request_id)


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _count(value: Any) -> int | None:
    """A stated number of tokens; None for what no reply can have had, which no database might hold either."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def _problem(status: int, data: Any, text: str) -> Problem:
    body: dict[str, Any] = data if isinstance(data, dict) else {"message": text}
    error = body.get("error")
    if isinstance(error, str):
        body = {**body, "message": error}
    elif isinstance(error, dict):
        body = error
    details = body.get("detail")
    if isinstance(details, list):
        return _problem_of_fields(status, details)
    message = body.get("message") or details
    return Problem(status, _text(message), _text(body.get("param")), _text(body.get("code") or body.get("type")))


def _problem_of_fields(status: int, details: list[Any]) -> Problem:
    """FastAPI's form: one {loc, msg} for each field. Their `input` echoes the request and is left out."""
    fields = [item for item in details if isinstance(item, dict)]
    places = (item["loc"] for item in fields if isinstance(item.get("loc"), list))
    params = (_text(part) for place in places for part in place)
    return Problem(status, " ".join(_text(item.get("msg")) for item in fields), " ".join(params))


def _text(value: Any) -> str:
    return str(value)[:_READ_CHARS] if isinstance(value, str | int) else ""


def _error_with_200(data: dict[str, Any], request_id: str | None, key_variable: str) -> Reply | Fault:
    problem = _problem(200, data, "")
    if problem.code.isdecimal() and 400 <= int(problem.code[:9]) < 600:
        return _fault(problem._replace(status=int(problem.code)), request_id, key_variable)
    return Fault(_known(problem) or _failed("an error in place of a reply"), problem, request_id)


def _fault(problem: Problem, request_id: str | None, key_variable: str) -> Reply | Fault:
    if problem.status < 500 and problem.code in _FILTERED:
        return Reply(None, problem.code, False, True, None, None, request_id)
    return Fault(_known(problem) or _by_status(problem.status, key_variable), problem, request_id)


def _refuses_tools(fault: Fault) -> bool:
    """Whether it is about tools as such, not about one of them or its schema."""
    problem = fault.problem
    refused = isinstance(fault.error, RequestRefused | WrongAddress | ProviderFailed)
    if not refused or problem.status not in _TAKES_NO_TOOLS:
        return False
    return problem.param in {"tools", "tool_choice"} or (not problem.param and bool(_TOOLS.search(problem.message)))


def _known(problem: Problem) -> GatewayError | None:
    """Faults that the text tells apart better than the status does."""
    status, code = problem.status, problem.code
    if status == 402 or code == "insufficient_quota":
        return AuthRefused(
            f"The gateway says that the account has no credit left ({status}). Top it up or use another key."
        )
    if code == "model_not_found" or (status in {400, 404, 422} and _NO_MODEL.search(problem.message)):
        return ModelNotOffered(
            f"The gateway does not offer this model ({status}). Check the spelling of the model name."
        )
    if status == 413 or code == "context_length_exceeded" or (status < 500 and _OVERFLOW.search(problem.message)):
        return ContextOverflow(
            f"The request is longer than the model takes ({status}). "
            "Use a model with a longer context, or shorter trajectories."
        )
    return None


def _by_status(status: int, key_variable: str) -> GatewayError:
    if status == 401:
        return AuthRefused(
            "The gateway refused the key (401). "
            f"Check that {key_variable} holds one whole, valid key without spaces or quotes."
        )
    if status == 403:
        return AuthRefused("The gateway does not allow this to this key (403). Check which models the key may use.")
    if status in {404, 405}:
        return WrongAddress(f"There is no chat completions endpoint at the base URL ({status}). {_ADDRESS}")
    if status == 407:
        return Unreachable(PROXY_FAILED)
    if status == 408:
        return CallTimeout("The gateway gave up waiting for the request (408). Try again later.")
    if status == 429:
        return RateLimited("The gateway limits the rate of requests (429). Lower the concurrency or try again later.")
    if status in {409, 425} or status >= 500:
        return ProviderFailed(f"The gateway failed to answer ({status}). Try again later.")
    if status < 400:
        return WrongAddress(f"The base URL answers with status {status} and no chat completion. {_ADDRESS}")
    return RequestRefused(f"The gateway refused the request ({status}). Check the model name and its parameters.")


def _not_a_completion(headers: Mapping[str, str], text: str, data: Any) -> GatewayError:
    if "html" in headers.get("content-type", "").lower() or re.match(r"\s*<(!doctype|html)", text, re.IGNORECASE):
        return WrongAddress(f"The base URL answers with a web page. {_ADDRESS}")
    if data is None:
        return _failed("something that is not JSON")
    return _failed("no choices")


def _failed(what: str) -> ProviderFailed:
    return ProviderFailed(f"The gateway answered with {what}. Try again later, or another model.")
