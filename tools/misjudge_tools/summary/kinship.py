"""Judges that are one model or of one family, and those like the simulated user: what agreement is worth. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from misjudge_storage.asked_records import AskedJudge, AskedModels
from misjudge_tools.gateway.families import family_of
from misjudge_tools.gateway.ways import ModelChoice
from misjudge_tools.judging.choice import JudgingSpec, label_of
from misjudge_tools.profiles import ModelSettings

MOST_WARNINGS = 3
MOST_NAMED = 5


def stated_families(models: ModelSettings) -> dict[str, str]:
    """Model name in lower case → the family that its profile states, which stands above what its name says."""
    profiles = (*models.roles.values(), *models.profiles.values())
    return {one.model.casefold(): one.family.casefold() for one in profiles if one.model and one.family}


def asked_now(judges: Sequence[JudgingSpec], user: ModelChoice | None = None) -> AskedModels:
    """The models that a run asks; what a simulated gateway makes up is left out."""
    return AskedModels(
        tuple(AskedJudge(label_of(one), one.form, one.model) for one in judges if not one.simulated),
        () if user is None or user.simulated else (user.model,),
    )


def shared_warnings(asked: AskedModels, stated: Mapping[str, str]) -> tuple[str, ...]:
    """What to know before believing judges that agree, or one that likes what the simulated user wrote."""
    found = list(dict.fromkeys((*_among_judges(asked, stated), *shared_with_users(asked, stated))))
    more = len(found) - MOST_WARNINGS
    rest = [f"{more} more groups share a model or a family."] if more > 1 else found[MOST_WARNINGS:]
    return (*found[:MOST_WARNINGS], *rest)


def _among_judges(asked: AskedModels, stated: Mapping[str, str]) -> Iterator[str]:
    kin: dict[tuple[str, str], list[AskedJudge]] = {}
    for judge in asked.judges:
        kin.setdefault((judge.form, _family(judge.model, stated)), []).append(judge)
    for (_, family), judges in kin.items():
        if len(judges) > 1:
            who = f"Judges {_listed([judge.label for judge in judges])}"
            what = _shared(family, [judge.model for judge in judges])
            yield f"{who} {what}: they may err together, so their agreement proves little."


def shared_with_users(asked: AskedModels, stated: Mapping[str, str]) -> Iterator[str]:
    """Judges that are of the family of the simulated user, in sentences."""
    users: dict[str, list[str]] = {}
    for model in asked.users:
        users.setdefault(_family(model, stated), []).append(model)
    for family, models in users.items():
        judges = [judge for judge in asked.judges if _family(judge.model, stated) == family]
        if judges:
            labels = list(dict.fromkeys(judge.label for judge in judges))
            who = f"The simulated user and {'judge' if len(labels) == 1 else 'judges'} {_listed(labels)}"
            what = _shared(family, [*models, *(judge.model for judge in judges)])
            yield f"{who} {what}: a judge may favour words like its own."


def _family(model: str, stated: Mapping[str, str]) -> str:
    """The family of a model; one that nobody knows is a family of its own."""
    return stated.get(model.casefold()) or family_of(model) or model.casefold()


def _shared(family: str, models: Sequence[str]) -> str:
    one = len({model.casefold() for model in models}) == 1
    return f"are one model, {models[0]}" if one else f"share the family {family}"


def _listed(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
