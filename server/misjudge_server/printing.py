"""Results as text for people. Numbers come with n and interval, never as a bare percentage."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch
from itertools import compress

from pydantic import BaseModel
from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, estimate, is_anytime, of_decided, percent, short
from misjudge_server.deciding_printing import DETAILS, is_whole, print_deciding, print_verdicts
from misjudge_server.import_printing import print_import
from misjudge_server.panel_printing import panel_tables
from misjudge_server.probe_printing import print_all_probes
from misjudge_server.rubric_printing import print_rubrics
from misjudge_server.satisfaction_printing import satisfaction_lines, satisfaction_tables, without_other_forms
from misjudge_server.side_by_side import MOST_AGENTS, Layout, first_that_fits, print_agents, side_by_side
from misjudge_server.terminal import json_text
from misjudge_tools.results import ImportResult
from misjudge_tools.stats.misselection import Misselection
from misjudge_tools.summary.assemble import SEVERAL, SEVERAL_AGENTS
from misjudge_tools.summary.constant_answers import constant_answer
from misjudge_tools.summary.deciding.cost_values import CostSection
from misjudge_tools.summary.deciding.ranking_values import RankingSection
from misjudge_tools.summary.values import (
    AuditSummary,
    Bucket,
    ConsistencySection,
    PairCounts,
    ProvenanceSection,
    Sections,
)
from misjudge_tools.summary.words import word

PAIR_HEADINGS = ("wrong, per call", "of decided/decidable", "flips", "right", "first")
RANKING_HEADINGS = ("near", "wide", "rank correlation", "agents", "by")
MOST_TRIALS = 5
"""Values of k whose pass^k stands in a table; --json has all."""
CONSISTENCY = {
    "flip_rate": "verdict flips with the order",
    "soft_flip_rate": "verdict moves to or from a tie",
    "letter_a_share": "answers naming the side shown first",
    "accuracy": "accuracy, mean of the orders",
    "agreement": "same verdict in both orders",
    "vote_accuracy": "vote accuracy over both orders",
}


@singledispatch
def print_result(result: BaseModel) -> None:
    """Print a result; one of no form of its own as JSON."""
    print(json_text(result.model_dump(mode="json", by_alias=True)))


@print_result.register
def _(summary: AuditSummary) -> None:
    if summary.marked:
        console.print(Text(summary.marked, style="bold yellow"))
    for warning in summary.warnings:
        console.print(Text(warning, style="yellow"))
    print_verdicts(summary)
    titled = "Audit {audit}, judge {judge}" if summary.judge else "Audit {audit}"
    title = word(titled, audit=summary.audit, judge=summary.judge)
    if summary.judges:
        for table in _comparisons(summary, summary.judges):
            console.print(table)
        console.print(Text(f"One judge in full: misjudge summarize {shlex.quote(summary.audit)} --judge LABEL"))
    if lines := _lines(summary):
        console.print(_sections_table(title, lines))
    _print_agents(summary)
    if summary.buckets:
        console.print(_buckets_table(summary.buckets))
    print_all_probes(summary)
    print_deciding(summary)
    if summary.rubrics is not None:
        asked_alone = not (summary.judges or summary.pairs or summary.why)
        print_rubrics(summary.rubrics, summary.audit, domains="all" if asked_alone else "none")
    _print_missing(summary)


def _print_missing(summary: AuditSummary) -> None:
    """Why sections are missing, each reason once."""
    missing: dict[str, list[str]] = {}
    for name, reason in without_other_forms(summary).items():
        if reason not in {SEVERAL.why, SEVERAL_AGENTS.why} and not (name in DETAILS and is_whole(summary)):
            missing.setdefault(reason, []).append(name)
    for reason, names in missing.items():
        console.print(Text(f"{', '.join(names)}: {reason}", style="dim"))


def _print_agents(summary: AuditSummary) -> None:
    if summary.agents:
        print_agents(summary.agents, word("Agents: tasks done (95 % intervals in brackets)"))
    hats = summary.pass_hat_k_by_agent or {}
    # pass^1 alone is the share of tasks done again.
    if hats and (not summary.agents or any(len(found) > 1 for found in hats.values())):
        console.print(_pass_hat_table(hats))


def _comparisons(summary: AuditSummary, judges: Mapping[str, Sections]) -> Iterator[Table | Text]:
    """The judges side by side: on pairs, on satisfaction, on the ranking of agents; as a panel. Only what is there."""
    rows = {_label(label, sections): sections for label, sections in judges.items()}
    named = word("Audit {audit}", audit=summary.audit)
    paired = {label: one for label, one in rows.items() if one.misselection or one.consistency}
    ranked = {label: _ranking_cells(one.ranking) for label, one in rows.items() if one.ranking}
    if paired:
        yield from _paired(word("Audit {audit}: pairs (95 % intervals in brackets)", audit=summary.audit), paired)
    yield from satisfaction_tables(named, rows)
    if ranked:
        title = word("Audit {audit}: agent pairs ranked wrongly", audit=summary.audit)
        yield side_by_side(title, RANKING_HEADINGS, ranked)
    if summary.panel:
        yield from panel_tables(summary.panel)


def _label(label: str, sections: Sections) -> str:
    return f"{label} (SIMULATED)" if sections.simulated else label


def _paired(title: str, judges: Mapping[str, Sections]) -> Iterator[Table | Text]:
    """The judges of pairs, without the columns of a section that was not asked for."""
    asked = [any(one.misselection for one in judges.values())] * 2
    asked += [any(one.consistency for one in judges.values())] * 3
    rows = {label: [*compress(_pair_cells(one), asked)] for label, one in judges.items()}
    headings = [*compress(PAIR_HEADINGS, asked)]
    folded = {label: [cell.replace(" [", "\n[") for cell in row] for label, row in rows.items()}
    narrow = [heading.replace(", ", ",\n").replace("/", "/\n") for heading in headings]
    layouts = [
        Layout(narrow[:n], {label: row[:n] for label, row in folded.items()}) for n in range(len(headings), 1, -1)
    ]
    yield side_by_side(title, *first_that_fits(Layout(headings, rows), *layouts))
    if any(one.consistency and constant_answer(one.consistency) for one in judges.values()):
        yield Text("* of a constant answer, not a skill", style="dim")


def _pair_cells(sections: Sections) -> Sequence[str]:
    wrong, steady = sections.misselection, sections.consistency
    return (
        short(wrong),
        of_decided(wrong.decided) if wrong else "–",
        short(steady.intervals["flip_rate"]) if steady else "–",
        f"{short(steady.intervals['accuracy'])}{' *' if constant_answer(steady) else ''}" if steady else "–",
        short(steady.intervals["letter_a_share"]) if steady else "–",
    )


def _ranking_cells(found: RankingSection) -> Sequence[str]:
    near, wide = found.near, found.wide
    return (
        f"{percent(near.rate)} ({near.k} of {near.n})",
        f"{percent(wide.rate)} ({wide.k} of {wide.n})",
        "–" if found.spearman is None else f"{found.spearman:.3f}",
        str(found.agents),
        found.gate,
    )


def _sections_table(title: str, lines: Sequence[tuple[str, str]]) -> Table:
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column("what", overflow="fold")
    table.add_column("value", overflow="fold")
    for name, value in lines:
        table.add_row(Text(word(name)), Text(value))
    return table


def _lines(sections: Sections) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    if sections.pairs is not None:
        lines.extend(_pair_lines(sections.pairs))
    if sections.misselection is not None:
        lines.append(("misselected, per single call", estimate(sections.misselection)))
        decided = sections.misselection.decided
        anytime = is_anytime(sections.misselection)
        lines.append(
            (
                "misselected, decided pairs",
                f"{estimate(decided, anytime=anytime)}, coverage {percent(decided.coverage)}",
            )
        )
        lines.append(("misselected of all pairs of known gold, alike or undecided too", _of_all(sections.misselection)))
    if sections.consistency is not None:
        lines.extend(_consistency_lines(sections.consistency))
    lines.extend(satisfaction_lines(sections))
    lines.extend(_agent_lines(sections))
    if sections.unscored:
        lines.append(("unscored", ", ".join(f"{number} {reason}" for reason, number in sections.unscored.items())))
    lines.extend(_cost_lines(sections))
    return lines


def _of_all(found: Misselection) -> str:
    rate = found.all_pairs_rate
    known = f" ({found.decided.k} of {found.decided.k / rate:.0f})" if rate else ""
    return f"{percent(rate)}{known}"


def _consistency_lines(found: ConsistencySection) -> Iterator[tuple[str, str]]:
    for name, label in CONSISTENCY.items():
        constant = ", constant" if name == "accuracy" and constant_answer(found) else ""
        yield label, f"{estimate(found.intervals.get(name))}{constant}"


def _pair_lines(pairs: PairCounts) -> list[tuple[str, str]]:
    unknown = f", {pairs.gold_unknown} not known (left out of every error rate)" if pairs.gold_unknown else ""
    number = "1 pair" if pairs.n == 1 else f"{pairs.n} pairs"
    lines = [("which side was better", f"{number}: {pairs.decidable} decidable, {pairs.gold_tie} alike{unknown}")]
    ends = {"tie": pairs.tie, "inconsistent": pairs.inconsistent, "unscored": pairs.unscored, "weak": pairs.weak}
    if known := [f"{found} {end}" for end, found in ends.items() if found is not None]:
        lines.append(("what the judge says of them", ", ".join(known)))
    return lines


def _agent_lines(sections: Sections) -> list[tuple[str, str]]:
    lines = []
    if sections.ranking is not None:
        near, wide, rho = sections.ranking.near, sections.ranking.wide, sections.ranking.spearman
        shares = f"near {percent(near.rate)} ({near.k} of {near.n}), wide {percent(wide.rate)} ({wide.k} of {wide.n})"
        lines.append(("agent pairs ranked wrongly", f"{shares}, by {sections.ranking.gate}"))
        lines.append(
            ("rank correlation of agents", "–" if rho is None else f"{rho:.3f} over {sections.ranking.agents}")
        )
    for k, rate in (sections.pass_hat_k_intervals or {}).items():
        lines.append((f"pass^{k}", f"{rate.rate:.3f} over {rate.tasks} tasks (95 % {rate.low:.3f}–{rate.high:.3f})"))
    for couple, kappa in (sections.kappa or {}).items():
        lines.append((f"kappa {couple}", "–" if kappa is None else f"{kappa:.3f}"))
    return lines


def _cost_lines(sections: Sections) -> list[tuple[str, str]]:
    lines = []
    if sections.provenance is not None:
        lines.append(("verdicts", _provenance(sections.provenance)))
    for role, use in (sections.tokens.by_role if sections.tokens else {}).items():
        lines.append(
            (f"tokens, {role}", f"{use.input_tokens or 0} in, {use.output_tokens or 0} out, {use.calls} requests")
        )
    if sections.cost is not None:
        roles = sections.tokens.by_role if sections.tokens else {}
        calls = {role: use.calls for role, use in roles.items()}
        lines.extend((f"cost, {role}", _cost(sections.cost, role, calls.get(role))) for role in sections.cost.by_role)
    return lines


def _provenance(found: ProvenanceSection) -> str:
    parts = {
        "asked here": found.asked,
        "from other audits, free": found.from_cache,
        "imported": found.imported,
        "never asked": found.unasked,
    }
    return ", ".join(f"{number} {name}" for name, number in parts.items() if number)


def _cost(found: CostSection, role: str, calls: int | None) -> str:
    """What is known of the cost of a role; what is not is never 0."""
    cost, sources, unpriced = found.by_role[role], found.price_sources[role], found.calls_without_price[role]
    if cost is None:
        return f"unknown ({'usage not stated' if sources else 'no price'})"
    of = "" if calls is None else f" of {calls}"
    missing = f", unknown for {unpriced}{of} calls" if unpriced else ""
    return f"{cost:.4f} USD{missing} (price: {', '.join(sources) or 'not stated'})"


def _pass_hat_table(found: Mapping[str, Mapping[str, float]]) -> Table:
    ks = list(dict.fromkeys(k for shares in found.values() for k in shares))[:MOST_TRIALS]
    rows = {
        agent: [f"{shares[k]:.3f}" if k in shares else "–" for k in ks]
        for agent, shares in [*found.items()][:MOST_AGENTS]
    }
    return side_by_side("All of k trials succeeded, mean over tasks", [f"pass^{k}" for k in ks], rows, first="agent")


def _buckets_table(buckets: tuple[Bucket, ...]) -> Table:
    table = Table(title=word("Misselected by gap, per single call"), title_justify="left")
    for heading in ("gap", "bucket", "range", "pairs", "decidable", "misselected"):
        table.add_column(word(heading))
    for one in buckets:
        gap = "judge_score (circular)" if one.gap == "judge_score" else one.gap
        table.add_row(gap, one.bucket, one.range, str(one.n), str(one.decidable), estimate(one.misselection))
    return table


@print_result.register
def _(result: ImportResult) -> None:
    print_import(result)
    if result.preview is None:
        console.print(summarize_next(result.audit))


def summarize_next(audit: str) -> Text:
    """The command that shows the numbers of an audit."""
    return Text(f"Next: misjudge summarize {shlex.quote(audit)}")
