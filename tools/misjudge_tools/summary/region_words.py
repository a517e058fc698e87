"""Where a judge may be trusted, as a sentence."""

from __future__ import annotations

from math import ceil, log

from misjudge_tools.stats.policies import Region
from misjudge_tools.summary.deciding.phrases import Language
from misjudge_tools.summary.words import in_language, word

HOW = "one-sided {level} % bound, a task counting once, fixed sequence from the strictest policy on"
CERTIFIED = (
    "Trusted operating region, at most {limit} wrong: {policy}. It decides {coverage}, at most {bound} of that "
    "wrongly ({how}; {tasks} tasks)."
)
TOO_FEW = (
    "Trusted operating region, at most {limit} wrong: none. Even without an error it takes {fewest} tasks that a "
    "policy decides; here it is at most {tasks} ({how})."
)
WRONG = (
    "Trusted operating region, at most {limit} wrong: none. Already {policy} may be wrong in {bound} ({how}; {tasks} "
    "tasks)."
)


def region_sentence(region: Region, language: Language) -> str:
    """As `region_line`, in this language."""
    with in_language(language):
        return region_line(region)


def region_line(region: Region) -> str:
    """Where the judge may be trusted, in the language in force (see `words`)."""
    limit, tasks = _percent(region.limit), region.tasks
    how = word(HOW, level=f"{100 * region.level:g}")
    if region.policy is not None and region.bound is not None:
        covered = {"coverage": _percent(region.coverage), "bound": _percent(region.bound)}
        return word(CERTIFIED, limit=limit, policy=region.policy, how=how, tasks=tasks, **covered)
    if not region.tested:
        fewest = ceil(log(1 - region.level) / log(1 - region.limit) - 1e-9)
        return word(TOO_FEW, limit=limit, fewest=fewest, tasks=tasks, how=how)
    first = region.tested[0]
    return word(WRONG, limit=limit, policy=first.policy, bound=_percent(first.bound), how=how, tasks=tasks)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
