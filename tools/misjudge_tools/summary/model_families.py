"""Of which families of models judges and agents are, as far as that is known. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from misjudge_storage.family_picks import JudgeModel
from misjudge_tools.gateway.families import family_of


def judge_families(judges: Sequence[JudgeModel], stated: Mapping[str, str]) -> dict[str, str]:
    """Judge id → its family, where that is known: planted in a simulated judge, stated of its model, or by its name."""
    found = {judge.judge_id: _planted(judge.params) or _known(judge.model, stated) for judge in judges}
    return {judge_id: family for judge_id, family in found.items() if family}


def known_families(models: Sequence[str], stated: Mapping[str, str]) -> dict[str, str]:
    """Those of these models whose family is known, with it. `stated` stands above what a name says."""
    found = {model: _known(model, stated) for model in models}
    return {model: family for model, family in found.items() if family}


def _known(model: str, stated: Mapping[str, str]) -> str | None:
    return stated.get(model.casefold()) or family_of(model)


def _planted(params: str) -> str | None:
    """Imported parameters may be anything."""
    try:
        made = json.loads(params)
    except (ValueError, RecursionError):
        return None
    planted = made.get("planted") if isinstance(made, dict) else None
    family = planted.get("family") if isinstance(planted, dict) else None
    return family if isinstance(family, str) else None
