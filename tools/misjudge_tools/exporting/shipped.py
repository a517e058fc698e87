"""Whether something is of a shipped suite, told by its text: what is trained on can no longer be used to evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Message
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.suites.loading import SHIPPED, load_suite


def refuse_shipped(prompt: str, *transcripts: Sequence[Message]) -> None:
    """Raises InvalidInput for a task of a shipped suite: its goal, or a customer that begins with its words."""
    begins = (next((one.content for one in messages if one.role == "user"), "") for messages in transcripts)
    if not _texts().isdisjoint({_folded(said) for said in (prompt, *begins)}):
        raise InvalidInput(
            f"This audit holds tasks of the shipped suite {', '.join(SHIPPED)}, which are for evaluation: a model that "
            "was trained on them cannot be judged by them any more. Export other tasks, or allow it with "
            "allow_eval_tasks (--allow-eval-tasks)."
        )


@cache
def _texts() -> frozenset[str]:
    tasks = [task for name in SHIPPED for task in load_suite(name, Allowed(), None).tasks]
    return frozenset(_folded(said) for task in tasks for said in (task.goal, task.opening))


def _folded(said: str) -> str:
    """Spaces and letter case make no other task."""
    return " ".join(said.split()).casefold()
