"""What is sent with a call, and what to leave out once a model has refused it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from misjudge_storage.hashing import canonical, digest
from misjudge_tools.gateway.calls import Call, ChatTurn
from misjudge_tools.gateway.replies import Problem

_TOO_LARGE = re.compile(r"too (large|big|high|many)|at most|exceed|less than|greater than|maximum|range", re.IGNORECASE)


class Shape(NamedTuple):
    """The parameters that a model has not refused so far. None: left out."""

    temperature: bool = True
    seed: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] | None = "max_tokens"
    form: Literal["json_schema", "json_object"] | None = "json_schema"


def request_body(call: Call, shape: Shape, max_tokens: int | None) -> dict[str, Any]:
    """The JSON body of the request."""
    body: dict[str, Any] = {
        "model": call.model,
        "messages": [_message(turn) for turn in call.messages],
    }
    if shape.temperature and call.temperature is not None:
        body["temperature"] = call.temperature
    if shape.seed and call.seed is not None:
        body["seed"] = call.seed
    if shape.limit and max_tokens is not None:
        body[shape.limit] = max_tokens
    if shape.form and call.json_schema is not None:
        body["response_format"] = _response_format(shape.form, call.json_schema)
    if call.tools is not None:
        body["tools"] = _parsed(call.tools)
    return body


def encode(body: dict[str, Any]) -> bytes:
    """UTF-8 JSON; a lone surrogate, which real logs hold, becomes its JSON escape."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def sent_bytes(call: Call) -> int:
    """Bytes of text that the call sends: messages, tool calls and tools, without what JSON puts around them."""
    texts = [turn.content for turn in call.messages]
    texts += [part for turn in call.messages for made in turn.tool_calls for part in (made.name, made.arguments)]
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in (*texts, call.tools or ""))


def estimated_tokens(call: Call, max_tokens: int | None) -> float:
    """About how many tokens the call can use, for pacing only: four bytes a token, and the longest reply."""
    return sent_bytes(call) / 4 + (max_tokens or 0)


def effective_params(body: dict[str, Any]) -> str:
    """Canonical JSON of the parameters in a request body, without messages and schema; of tools a digest."""
    params = {name: value for name, value in body.items() if name != "messages"}
    if "response_format" in params:
        params["response_format"] = params["response_format"]["type"]
    if "tools" in params:
        params["tools"] = digest("tools", params["tools"])
    return canonical(params)


def narrowed(body: dict[str, Any], shape: Shape, problem: Problem) -> Shape | None:
    """The shape without the one sent parameter that the refusal names; None where it names none."""
    if problem.status not in {400, 422}:
        return None
    if "temperature" in body and problem.names("temperature"):
        return shape._replace(temperature=False)
    if "response_format" in body and problem.names("response_format", "json_schema", "json_object"):
        return shape._replace(form="json_object" if shape.form == "json_schema" else None)
    if "seed" in body and problem.names("seed"):
        return shape._replace(seed=False)
    return _with_other_limit(body, shape, problem)


def _with_other_limit(body: dict[str, Any], shape: Shape, problem: Problem) -> Shape | None:
    if shape.limit not in body or not problem.names("max_tokens", "max_completion_tokens"):
        return None
    # A limit that is too large is refused by the same name; leaving it out would change what was asked.
    if _TOO_LARGE.search(problem.message):
        return None
    return shape._replace(limit="max_completion_tokens" if shape.limit == "max_tokens" else None)


def _message(turn: ChatTurn) -> dict[str, Any]:
    """The turn in OpenAI's form."""
    if turn.role == "tool":
        return {"role": turn.role, "tool_call_id": turn.tool_call_id or "", "content": turn.content}
    if not turn.tool_calls:
        return {"role": turn.role, "content": turn.content}
    calls = [
        {"id": call.id or "", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in turn.tool_calls
    ]
    return {"role": turn.role, "content": turn.content or None, "tool_calls": calls}


def _response_format(form: Literal["json_schema", "json_object"], schema: str) -> dict[str, Any]:
    if form == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": _parsed(schema)}}


@lru_cache(maxsize=64)
def _parsed(schema: str) -> Any:
    return json.loads(schema)
