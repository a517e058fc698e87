"""How likely a made-up judge with rules is to name each label, exactly: the reference for what it draws."""

from __future__ import annotations

from collections.abc import Mapping

from misjudge_storage.types import Preference
from misjudge_tools.gateway.simulated_bias import Facts, SimulatedBias, odds


def odds_with_rules(
    bias: SimulatedBias, a: Facts, b: Facts, rules_say: Preference, *, ties: bool = True
) -> Mapping[Preference, float]:
    """How likely `decide_with_rules` is to name each label, exactly."""
    left = 1 - bias.position
    otherwise = odds(bias.model_copy(update={"position": 0.0}), a, b)
    chances: dict[Preference, float] = {
        label: left * (1 - bias.rule_following) * share for label, share in otherwise.items()
    }
    chances[rules_say] += left * bias.rule_following
    chances["A"] += bias.position
    return chances if ties else untied_odds(chances)


def untied_odds(chances: Mapping[Preference, float]) -> Mapping[Preference, float]:
    """The odds of labels after `untied`."""
    half = chances["tie"] / 2
    return {"A": chances["A"] + half, "B": chances["B"] + half, "tie": 0.0}
