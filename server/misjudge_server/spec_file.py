"""A run's options in a TOML file: the fields of `run_pair`, as a person would keep them beside their suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from misjudge_server.config_file import nearest, parse_toml
from misjudge_server.text_files import shown
from misjudge_storage.errors import InvalidInput
from misjudge_tools.interchange.text_files import read_text
from misjudge_tools.requests import RunPairRequest
from misjudge_tools.run_pair import RECORDED_ONLY

LIMIT_BYTES: Final = 100_000
NOT_HERE: Final = {*RECORDED_ONLY, "trajectory_a", "trajectory_b", "agent_a", "agent_b", "task_id", "dry_run", "wait_s"}


def read_spec(path: Path) -> dict[str, Any]:
    """The fields that the file states; a `suite` that is a folder, and a `prompt`, are relative to the file.

    Raises InvalidInput.
    """
    stated = parse_toml(read_text(path, path.name, LIMIT_BYTES), path.name)
    allowed = {name: field for name, field in RunPairRequest.model_fields.items() if name not in NOT_HERE}
    for name in stated:
        if name not in allowed:
            raise InvalidInput(
                f"Unknown name {shown(name)} in {path.name}.{nearest(name, allowed)} Allowed: {', '.join(allowed)}."
            )
    suite, prompt = stated.get("suite"), stated.get("prompt")
    if isinstance(suite, str) and (path.parent / suite).is_dir():
        stated["suite"] = str(path.parent / suite)
    if isinstance(prompt, str):
        stated["prompt"] = str(path.parent / prompt)
    return stated
