"""Single sessions: satisfaction against success, over time; the agents, and how the judge ranks them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from misjudge_tools.report.document import Book, Section, Table
from misjudge_tools.report.figures import escaped
from misjudge_tools.summary.values import AgentOutcome, SatisfactionSection, Sections

FORMS = ("satisfaction", "gate", "proxy", "rubric")
LINES = (
    ("failed, of those that satisfied it", "intervals/p_fail_given_satisfied"),
    ("failed, of all", "intervals/base_fail"),
    ("relative risk of failure if satisfied (1: says nothing)", "relative_risk"),
    ("AUC (0.50: says nothing)", "auc"),
    ("rank correlation with success", "spearman"),
    ("mean score", "mean_satisfaction"),
    ("sessions", "n"),
)
CROSS = (
    ("satisfied", "satisfied_succeeded", "satisfied_failed"),
    ("not satisfied", "unsatisfied_succeeded", "unsatisfied_failed"),
)
DISAGREEMENTS = (
    ("satisfied, but failed", "satisfied_failed"),
    ("not satisfied, but did it", "unsatisfied_succeeded"),
    ("satisfaction against success", "satisfaction_against_success"),
    ("success against people", "success_against_human"),
    ("satisfaction against people", "satisfaction_against_human"),
    ("any two of them", "any_disagreement"),
    ("any two, where all three are known", "any_of_three"),
)
MOST_PERIODS = 15
MOST_AGENTS = 60
MOST_TRIALS = 5
"""Values of k whose pass^k stands in the table; `figures.csv` has all."""


def satisfaction(book: Book, sections: Sections, at: str) -> Section | None:
    """What a score says of success, for each form that was asked for."""
    tables: list[Table] = []
    for form in FORMS:
        found: SatisfactionSection | None = getattr(sections, form)
        if found is not None:
            tables += _of_form(book, form, found, at)
    if not tables:
        return None
    title = book.say("Satisfaction and success")
    return Section("satisfaction", title, charts=("satisfaction_success",), tables=tuple(tables))


def _of_form(book: Book, form: str, found: SatisfactionSection, at: str) -> Iterator[Table]:
    rows = book.known(at, tuple((label, f"/{form}/{name}") for label, name in LINES))
    note = (
        "" if found.threshold is None else book.say("Satisfied from {threshold} on.", threshold=f"{found.threshold:g}")
    )
    yield Table((book.say(form), book.say("found")), rows, note=note)
    if found.cross_table is not None:
        cells = tuple(
            (book.say(label), *(book.at(f"{at}/{form}/cross_table/{name}") for name in names))
            for label, *names in CROSS
        )
        yield Table(book.head("sessions", "did the task", "failed"), cells)


def three_way(book: Book, sections: Sections, at: str) -> Section | None:
    """Where satisfaction, success and people disagree, in all and by period."""
    found = sections.three_way
    if found is None:
        return None
    total = f"{at}/three_way/total"
    lines = tuple((label, name) for label, name in DISAGREEMENTS if getattr(found.total, name).n)
    trends = f"{at}/three_way/trends"
    headings, names = ["disagree", "found"], [total]
    if any(f"{trends}/{name}" in book.figures for _, name in lines):
        headings, names = [*headings, "change a period"], [*names, trends]
    rows = tuple((book.say(label), *(book.at(f"{one}/{name}") for one in names)) for label, name in lines)
    tables = [Table(book.head(*headings), rows)] if rows else []
    first = max(len(found.periods) - MOST_PERIODS, 0)
    if len(found.periods) > 1:
        wanted = ("sessions", *dict(lines).values())
        periods = book.rows(f"{at}/three_way/periods", (period.starts for period in found.periods), wanted)[first:]
        tables.append(Table(book.head("from", "sessions", *dict(lines)), periods, book.say("By period")))
    left_out = found.periods_left_out + first
    notes = [book.say("{n} earlier periods are not shown.", n=left_out)] if left_out else []
    if found.undated:
        notes.append(book.say("{n} sessions are placed by when they were stored.", n=found.undated))
    return Section(
        "three_way",
        book.say("Satisfaction, success and people"),
        tables=tuple(tables),
        notes=(*notes, *found.why.values()),
    )


def agents(book: Book, sections: Sections, at: str) -> Section | None:
    """How often each agent did its task."""
    found = sections.agents
    if not found:
        return None
    hats = _pass_hats(sections, at)
    ks = sorted({int(k) for one in hats.values() for k in one})[1:MOST_TRIALS]
    shown = found[:MOST_AGENTS]
    known = book.rows(
        f"{at}/agents", (one.agent for one in shown), ("success", "satisfied_failed", "satisfied", "unknown")
    )
    rows = tuple(
        (*row, _ends(book, agent), *(book.at(hats.get(agent.agent, {}).get(str(k), "")) for k in ks))
        for agent, row in zip(shown, known, strict=True)
    )
    headings = ("agent", "did the task", "failed, though satisfied", "of satisfied", "not known", "ends")
    more = "" if len(found) <= MOST_AGENTS else book.say("{n} more agents are not shown.", n=len(found) - MOST_AGENTS)
    table = Table((*book.head(*headings), *(f"pass^{k}" for k in ks)), rows, note=more)
    notes = [book.say("pass^k: how often k trials of a task all do it; a mean over its tasks.")] if ks else []
    notes += (f"{agent.agent}: {agent.trouble}" for agent in shown if agent.trouble)
    return Section("agents", book.say("Agents"), tables=(table,), notes=tuple(notes))


def _pass_hats(sections: Sections, at: str) -> Mapping[str, Mapping[str, str]]:
    """Agent → k → the name of its pass^k; with intervals where there is one agent only."""
    alone = sections.pass_hat_k_intervals
    if alone is not None:
        whose = [one.agent for one in sections.agents or () if one.succeeded + one.failed]
        return {agent: {k: f"{at}/pass_hat_k_intervals/{k}" for k in alone} for agent in whose[:1]}
    named = (sections.pass_hat_k_by_agent or {}).items()
    return {agent: {k: f"{at}/pass_hat_k_by_agent/{escaped(agent)}/{k}" for k in ks} for agent, ks in named}


def _ends(book: Book, agent: AgentOutcome) -> str:
    counted = {**agent.ends, **agent.flags}
    return ", ".join(f"{number} {book.say(name)}" for name, number in counted.items()) or "–"


def ranking(book: Book, sections: Sections, at: str) -> Section | None:
    """Whether the judge ranks agents as their rewards do."""
    found = sections.ranking
    if found is None:
        return None
    lines = (
        ("near agent pairs ranked wrongly", "/ranking/near"),
        ("wide agent pairs ranked wrongly", "/ranking/wide"),
        ("rank correlation of agents", "/ranking/spearman"),
        ("near, declining what is within noise", "/ranking/abstention/near/error"),
        ("wide, declining what is within noise", "/ranking/abstention/wide/error"),
        ("agents", "/ranking/agents"),
    )
    says = book.say(
        "Over pairs of agents, ranked by {gate} against {against}.",
        gate=book.say(found.gate),
        against=book.say(found.against),
    )
    table = Table(book.head("ranking", "found"), book.known(at, lines))
    return Section(
        "ranking", book.say("How it ranks agents"), says=(says,), tables=(table,), notes=tuple(found.why.values())
    )
