"""A model's opinion on one question about an episode: a candidate label, never part of success."""

from __future__ import annotations

import json
from collections.abc import Sequence

from misjudge_storage.types import Message, Task
from misjudge_tools.episodes.asking import Ask, ModelParams
from misjudge_tools.gateway.calls import Call, ChatTurn
from misjudge_tools.judging.pairing import show_one, transcript
from misjudge_tools.judging.prompts import Language, load_prompt, render
from misjudge_tools.judging.reply_text import claims_in

_KEYS = ("reason", "passed")
"""In this order, so that a model held to the schema gives its reason first."""
_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "passed": {"type": "boolean"}},
        "required": [*_KEYS],
        "additionalProperties": False,
    }
)


class SuccessCheck:
    """Asks a model about one episode. `secret` and `trajectory_id` make the fence around the transcript."""

    def __init__(self, ask: Ask, params: ModelParams, language: Language, secret: str, trajectory_id: str) -> None:
        self._ask = ask
        self._params = params
        self._language: Language = language
        self._secret = secret
        self._trajectory_id = trajectory_id
        self._asked = 0

    async def passed(self, task: Task, messages: Sequence[Message], question: str) -> bool | None:
        """The model's answer, None where it gives none that can be read."""
        self._asked += 1
        fenced = show_one(self._secret, self._trajectory_id, self._asked, transcript(task, messages))
        prompt = render(
            load_prompt("success_check", self._language),
            {
                "task": task.prompt,
                "criteria": task.success_criteria,
                "constraints": task.hard_constraints,
                "question": question,
                "response": fenced.text,
            },
        )
        turns = (ChatTurn(role="system", content=prompt.system), ChatTurn(role="user", content=prompt.user))
        call = Call(role="success_check", messages=turns, json_schema=_SCHEMA, **self._params._asdict())
        exchange = await self._ask(call, self._asked)
        if exchange.text is None or exchange.truncated:
            return None
        claims = [claim.fields for claim in claims_in(exchange.text, _KEYS)]
        answers = {None if fields is None else fields.get("passed") for fields in claims}
        answer = answers.pop() if len(answers) == 1 else None
        return answer if isinstance(answer, bool) else None
