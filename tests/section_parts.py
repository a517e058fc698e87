"""What tests of the sections of a report share: values, and what a report says of them."""

from __future__ import annotations

from typing import Any

from misjudge_tools.report.document import Cell, Document, Section
from misjudge_tools.report.figures import Figure, figures
from misjudge_tools.report.page_parts import document
from misjudge_tools.stats.agreement import Coefficient
from misjudge_tools.stats.misselection import DecidedRate
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Rate
from misjudge_tools.summary.values import AuditSummary

QUARTER = Rate(rate=0.25, k=5, n=20, low=0.1, high=0.5)
DECIDED = DecidedRate(rate=0.25, k=5, n=20, low=0.1, high=0.5, coverage=0.8)
NUMBER = Coefficient(value=0.5, low=0.25, high=0.75, n=20)
POINTS = Effect(value=0.05, low=-0.01, high=0.11, n=20, p=0.2, p_adjusted=0.4)
OUTCOME: dict[str, Any] = {
    "decided": 20,
    "tie": 2,
    "inconsistent": 3,
    "split": 1,
    "unscored": 0,
    "misselection": DECIDED,
}


def of(**sections: Any) -> Document:
    summary = AuditSummary(audit="a", judge="j", simulated=False, **sections)
    return document(summary, figures(summary), "en")


def section(name: str, **sections: Any) -> Section:
    [found] = [one for one in of(**sections).sections if one.name == name]
    return found


def texts(cells: tuple[Cell, ...]) -> list[str]:
    return [one.text if isinstance(one, Figure) else one for one in cells]


def figures_of(**sections: Any) -> dict[str, Figure]:
    return figures(AuditSummary(audit="a", simulated=False, **sections))
