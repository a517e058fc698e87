"""An agent that is a program of the user's own, run once a turn."""

from __future__ import annotations

import json
from collections.abc import Sequence

from misjudge_storage.types import Message
from misjudge_tools.episodes import settings
from misjudge_tools.episodes.conversation import Surroundings, reply_in, request_of
from misjudge_tools.episodes.processes import NotStarted, ProcessFailed, environment_for, run_process
from misjudge_tools.episodes.turns import AgentAway, AgentFailed, AgentReply
from misjudge_tools.gateway.tool_calls import storable


class CommandAgent:
    """Reads `{"messages": […], "tools": […], "session": …}` on its standard input and writes what it does next, in a
    form that `HttpAgent` takes or as the plain text that it says. It runs in the rollout's folder.
    """

    def __init__(self, configured: settings.CommandAgent, around: Surroundings) -> None:
        self._configured = configured
        self._around = around

    async def reply(self, messages: Sequence[Message]) -> AgentReply:
        try:
            done = await run_process(
                self._configured.argv,
                given=request_of(self._around, messages),
                folder=self._around.folder,
                environment=environment_for(self._around.folder, self._configured.env),
                timeout_s=self._configured.timeout_s,
            )
        except NotStarted as failure:
            raise AgentAway(f"The agent's program is not there. {failure}") from None
        except ProcessFailed as failure:
            raise AgentFailed(f"The agent's program gave no answer. {failure}") from None
        if done.exit_code != 0:
            raise AgentFailed(f"The agent's program ended with exit code {done.exit_code}.")
        text = done.output.decode("utf-8-sig", "replace").strip()
        reply = reply_in(_json(text)) if text.startswith("{") else None
        return reply or AgentReply(storable(text))


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
