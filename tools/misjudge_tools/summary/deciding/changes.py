"""What is another one now than in a baseline audit, by name; values are short or hashes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from misjudge_storage.drift_counts import AgentSetup, JudgeSetup, TaskChanges
from misjudge_storage.hashing import canonical, template_hash
from misjudge_tools.summary.deciding.drift_values import Change

SHORT = 40
"""Characters up to which a value is told; of a longer one, which may be anything, the hash is."""
_OF_JUDGE = tuple(name for name in JudgeSetup._fields if name not in {"judge_id", "label", "params"})
_Facts = Mapping[str, str]


class _Fact(NamedTuple):
    what: str
    before: str | None
    after: str | None


def judge_changes(now: JudgeSetup, before: JudgeSetup) -> tuple[Change, ...]:
    """The parts of the fingerprint that differ; parameters by their keys."""
    return tuple(Change(side="judge", **fact._asdict()) for fact in _differing(_judge_facts(before), _judge_facts(now)))


def agent_changes(now: Sequence[AgentSetup], before: Sequence[AgentSetup]) -> tuple[Change, ...]:
    """What differs in how the agents of both audits were made; what differs alike in several of them once."""
    here, there = _by_agent(now), _by_agent(before)
    found: defaultdict[_Fact, list[str]] = defaultdict(list)
    for agent in sorted(here.keys() & there.keys()):
        for fact in _differing(there[agent], here[agent]):
            found[fact].append(agent)
    return (
        *(Change(side="agents", **fact._asdict(), who=_listed(agents)) for fact, agents in found.items()),
        *_alone(sorted(there.keys() - here.keys()), gone=True),
        *_alone(sorted(here.keys() - there.keys()), gone=False),
    )


SHOWN = frozenset({"model", "kind", "form", "language", "orders", "reply", "reply_form", "effort", "name", "suite"})
"""Settings whose text is shown; any other may hold what nobody should see, so its hash is."""


def task_content_changes(tasks: TaskChanges) -> tuple[Change, ...]:
    """The first of the tasks with other content, by its hashes."""
    return tuple(
        Change(side="tasks", what="content_hash", before=one.before, after=one.now, who=_brief(one.task_id))
        for one in tasks.first
    )


def _alone(agents: Sequence[str], *, gone: bool) -> Iterator[Change]:
    """Agents of one audit only."""
    if agents:
        number = str(len(agents))
        before, after = (number, None) if gone else (None, number)
        yield Change(side="agents", what="only in one audit", before=before, after=after, who=_listed(agents))


def _listed(agents: Sequence[str], most: int = 5) -> str:
    more = f" and {len(agents) - most} more" if len(agents) > most else ""
    return f"{', '.join(_brief(agent) for agent in agents[:most])}{more}"


def _differing(before: _Facts, after: _Facts) -> Iterator[_Fact]:
    for name in (*before, *(name for name in after if name not in before)):
        if before.get(name) != after.get(name):
            yield _Fact(name, before.get(name), after.get(name))


def _judge_facts(judge: JudgeSetup) -> _Facts:
    plain = {name: getattr(judge, name) for name in _OF_JUDGE}
    return {
        **{name: _brief(value) for name, value in plain.items() if value not in {None, ""}},
        **_told("params", judge.params),
    }


def _by_agent(setups: Sequence[AgentSetup]) -> dict[str, _Facts]:
    """Agent → what its episodes state; several statements of one thing are joined."""
    stated: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in setups:
        facts = {**({"base_model": _brief(one.base_model)} if one.base_model else {}), **_told("setup", one.setup)}
        told = stated[one.agent]
        for name, value in facts.items():
            told[name].add(value)
    return {
        agent: {name: _brief(" | ".join(sorted(told))) for name, told in facts.items()}
        for agent, facts in stated.items()
    }


def _told(name: str, written: str | None) -> _Facts:
    """The values of a JSON object by dotted names. An imported one may be anything."""
    try:
        return dict(_flat(name, json.loads(written or "{}")))
    except (ValueError, RecursionError):
        return {name: template_hash(written or "")}


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{_brief(key)}", inner)
    elif isinstance(value, str) and name.rpartition(".")[2] not in SHOWN:
        yield name, f"hash {template_hash(value)}"
    else:
        yield name, _brief(value)


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= SHORT else f"hash {template_hash(text)}"
