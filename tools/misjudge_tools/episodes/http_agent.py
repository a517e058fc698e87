"""An agent at an address of the user's own."""

from __future__ import annotations

from collections.abc import Sequence

from misjudge_storage.types import Message
from misjudge_tools.episodes import settings
from misjudge_tools.episodes.conversation import Surroundings, request_of, required_reply
from misjudge_tools.episodes.posting import PostFailed, post_json
from misjudge_tools.episodes.turns import AgentAway, AgentFailed, AgentReply


class HttpAgent:
    """Is posted the conversation each time; `session` names the episode, for a server that keeps something of it.

    It answers with `{"content": …, "tool_calls": […]}` (calls in OpenAI's form), `{"message": {…}}` or a chat
    completion. The calls are carried out here, and the conversation is posted again with their results.
    """

    def __init__(self, configured: settings.HttpAgent, around: Surroundings) -> None:
        self._configured = configured
        self._around = around

    async def reply(self, messages: Sequence[Message]) -> AgentReply:
        url, timeout_s = self._configured.url, self._configured.timeout_s
        try:
            answer = await post_json(
                url, request_of(self._around, messages), hosts=self._around.hosts, timeout_s=timeout_s
            )
        except PostFailed as failure:
            kind = AgentAway if failure.away else AgentFailed
            raise kind(f"The agent's address gave no answer. {failure}") from None
        return required_reply(answer)
