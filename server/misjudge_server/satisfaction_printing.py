"""What the forms that score one trajectory (satisfaction, gate, proxy, rubric) say of success, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from misjudge_server.console import estimate, percent, short
from misjudge_server.side_by_side import SATISFIED, side_by_side
from misjudge_storage.types import Form
from misjudge_tools.summary.assemble import NOT_JUDGED
from misjudge_tools.summary.judged import SATISFACTION_FORMS
from misjudge_tools.summary.values import SatisfactionSection, Sections

HEADINGS = ("{enough} from", "failed, of {satisfied}", "failed, of all", "relative risk", "AUC")
ENOUGH: Mapping[Form, str] = {**SATISFIED, "gate": "passes", "rubric": "passes"}


def satisfaction_tables(title: str, judges: Mapping[str, Sections]) -> Iterator[Table]:
    """The judges side by side, a table for each form that one of them judged."""
    for form in SATISFACTION_FORMS:
        rows = {label: _cells(found) for label, one in judges.items() if (found := _of(one, form))}
        if rows:
            words = {"enough": ENOUGH[form], "satisfied": SATISFIED[form]}
            headings = [heading.format(**words) for heading in HEADINGS]
            yield side_by_side(f"{title}: {form} against success", headings, rows)


def satisfaction_lines(sections: Sections) -> Iterator[tuple[str, str]]:
    """The lines of one judge; those of other forms than satisfaction are named so."""
    for form in SATISFACTION_FORMS:
        if found := _of(sections, form):
            named = "" if form == "satisfaction" else f"{form}: "
            yield from ((f"{named}{label}", value) for label, value in _lines(found, form))


def without_other_forms(sections: Sections) -> dict[str, str]:
    """Why sections are missing, without what goes without saying: where one of the forms was judged, the others were
    not asked for, and where none was it is said once.
    """
    judged = any(sections.why.get(form) != reason.why for form, reason in NOT_JUDGED.items())
    silent = {name for name in SATISFACTION_FORMS[1:] if sections.why.get(name) == sections.why.get("satisfaction")}
    for form, reason in NOT_JUDGED.items():
        if sections.why.get(form) == reason.why and (judged or form != "satisfaction"):
            silent.add(form)
    return {name: reason for name, reason in sections.why.items() if name not in silent}


def _of(sections: Sections, form: str) -> SatisfactionSection | None:
    found: SatisfactionSection | None = getattr(sections, form)
    return found


def _cells(found: SatisfactionSection) -> Sequence[str]:
    return (
        "–" if found.threshold is None else f"{found.threshold:g}",
        short(found.intervals.get("p_fail_given_satisfied")),
        short(found.intervals["base_fail"]),
        _number(found.relative_risk),
        _number(found.auc),
    )


def _lines(found: SatisfactionSection, form: Form) -> Iterator[tuple[str, str]]:
    enough = "score" if form == "satisfaction" else ENOUGH[form]
    threshold = "" if found.threshold is None else f" ({enough} from {found.threshold:g} on)"
    yield f"failed, of {SATISFIED[form]}{threshold}", estimate(found.intervals.get("p_fail_given_satisfied"))
    yield "failed, of all", estimate(found.intervals["base_fail"])
    of_nothing = f"(1.00 and 0.50: {form} says nothing of success)"
    yield "relative risk, AUC", f"{_number(found.relative_risk)}, {_number(found.auc)} {of_nothing}"
    if found.p_value is not None and found.ceiling is not None:
        p = "< 0.0001" if found.p_value < 0.0001 else f"{found.p_value:.4f}"
        yield f"p against a ceiling of {percent(found.ceiling)}", p


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
