"""Whether a judge ranks agents as their rewards do, as text for people. Every rate is of agent pairs, and says so."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, percent
from misjudge_server.side_by_side import Layout, first_that_fits, side_by_side
from misjudge_tools.stats.ranking import Disagreement, NearWide, Selective
from misjudge_tools.summary.deciding.ranking_values import RankingSection

HEADINGS = ("near", "wide")
LABEL_WIDTH = 34


def print_ranking(found: RankingSection) -> None:
    """The agent pairs that are ranked wrongly, the rank correlation, and what is missing."""
    for part in ranking_parts(found):
        console.print(part)


def ranking_parts(found: RankingSection) -> Iterator[Table | Text]:
    """As `print_ranking`, in its parts."""
    rows = {
        label: [_shown(row.near), _shown(row.wide)]
        for label, row in (
            *((f"|ΔR| cut at {one.cut:g}", one) for one in found.cuts),
            *_by_model(found),
        )
    }
    if found.abstention is not None:
        z, near, wide = found.abstention.z, found.abstention.near, found.abstention.wide
        rows[f"gate gap above {z:.2f} standard errors"] = [_selective(near), _selective(wide)]
    narrow = {label: [cell.replace(" of ", "\nof ") for cell in cells] for label, cells in rows.items()}
    layout = first_that_fits(Layout(HEADINGS, rows), Layout(HEADINGS, narrow), label_width=LABEL_WIDTH)
    title = f"Agent pairs ranked wrongly by {found.gate} (pairs of {found.agents} agents, not of answers)"
    yield side_by_side(title, layout.headings, layout.rows, first="agent pairs", label_width=LABEL_WIDTH)
    yield Text(f"Rank correlation of the agents with their {_against(found)}: {rank_correlation(found)}")
    yield Text(_how(found), "dim")
    for name, why in found.why.items():
        yield Text(f"{name}: {why}", "dim")


def rank_correlation(found: RankingSection) -> str:
    """ρ with its interval and the number of agents."""
    if found.spearman is None:
        return "–"
    if found.spearman_low is None or found.spearman_high is None:
        return f"{found.spearman:.3f} over {found.agents} agents"
    return f"{found.spearman:.3f} over {found.agents} agents (95 % {found.spearman_low:.3f}–{found.spearman_high:.3f})"


def agent_pairs(found: Disagreement) -> str:
    """A share of agent pairs with counts and interval, as `32.9 % (28 of 85 agent pairs, 95 % 20.0–49.0 %)`."""
    interval = (
        "" if found.low is None or found.high is None else f", 95 % {100 * found.low:.1f}–{100 * found.high:.1f} %"
    )
    return f"{percent(found.rate)} ({found.k} of {found.n} agent pairs{interval})"


def _by_model(found: RankingSection) -> Iterator[tuple[str, NearWide]]:
    if found.by_base_model is not None:
        yield "on different base models", found.by_base_model.different
        yield "on the same base model", found.by_base_model.same


def _against(found: RankingSection) -> str:
    return "stated ranks" if found.against == "order_rank" else "rewards"


def _shown(found: Disagreement) -> str:
    if found.rate is None:
        return "– of 0"
    interval = "" if found.low is None or found.high is None else f" [{100 * found.low:.0f}–{100 * found.high:.0f}]"
    return f"{percent(found.rate)}{interval} of {found.n}"


def _selective(found: Selective) -> str:
    return f"{_shown(found.error)}/{found.pairs}"


def _how(found: RankingSection) -> str:
    ties = (
        f"{found.reward_ties} agent pairs of equal reward are left out",
        f"{found.gate_ties} of equal gate score count as right",
    )
    resampled = (
        "" if found.resampled is None else f" Intervals of 95 % in brackets, from {found.units} {found.resampled}."
    )
    return f"Near is |ΔR| below the cut ({found.cut:g} for base models and gate gaps). {'; '.join(ties)}.{resampled}"
