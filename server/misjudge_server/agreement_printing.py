"""How far labellers agree, whether judges err together, and shares corrected by labels, as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from misjudge_server.console import percent, short
from misjudge_server.side_by_side import Row, side_by_side
from misjudge_tools.stats.agreement import Coefficient
from misjudge_tools.stats.common_errors import Together
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.summary.deciding.agreement_values import AgreementSection, LabelAlpha, LabelledAlike, ScoreAlpha
from misjudge_tools.summary.deciding.corrected_values import CorrectedRow, CorrectedSection

MOST_ROWS = 30
"""Rows that a table shows."""
LABEL_WIDTH = 30
MORE = "and {} more rows: --json has all"
INTERVALS = (
    "95 % intervals in brackets. κ and AC1: agreement beyond chance, 1 is full and 0 is chance; where nearly all pairs "
    "get one label, κ is low however well both agree."
)
ERRORS = "φ: correlation of being wrong, on decidable pairs that both decided; 0 is independent."
CORRECTED = (
    "95 % intervals in brackets. raw: by the judge. labels: the share among the labelled alone. Rogan–Gladen takes the "
    "judge's errors out of its share of the others; PPI++ adds the labels to it with the weight that serves best."
)


def agreement_tables(found: AgreementSection) -> Iterator[Table | Text]:
    """Every two labellers, all together, and judges by the errors that they have in common."""
    if found.rows:
        yield _couples(found.rows)
        yield from _more(len(found.rows))
        yield Text(INTERVALS, "dim")
    for alpha in found.alpha or ():
        yield Text(_label_alpha(alpha))
    for scores in found.score_alpha or ():
        yield Text(_score_alpha(scores))
    if found.errors:
        yield _errors(found)
        yield from _more(len(found.errors))
        yield Text(ERRORS, "dim")
    if found.together is not None:
        yield Text(_together(found.together))


def corrected_tables(found: CorrectedSection) -> Iterator[Table | Text]:
    """The shares that rest on a judge beside what labels make of them, and why some cannot be corrected."""
    rows = [Row(_share_name(row), _corrected(row)) for row in found.rows[:MOST_ROWS]]
    headings = ("raw", "labels", "right of no", "right of yes", "Rogan–Gladen", "PPI++")
    yield side_by_side("Shares by the judge, corrected by labels", headings, rows, "share", LABEL_WIDTH)
    yield from _more(len(found.rows))
    yield Text(CORRECTED, "dim")
    for reason in dict.fromkeys(reason for row in found.rows for reason in row.why.values()):
        yield Text(f"–: {reason}")
    yield Text(found.assumption)


def _more(number: int) -> Iterator[Text]:
    if number > MOST_ROWS:
        yield Text(MORE.format(number - MOST_ROWS))


def _couples(rows: Sequence[LabelledAlike]) -> Table:
    cells = [
        Row(f"{row.first} & {row.second}", (short(row.observed), _number(row.kappa), _number(row.ac1)))
        for row in rows[:MOST_ROWS]
    ]
    return side_by_side("Labellers on the same pairs", ("alike, of pairs", "κ", "AC1"), cells, "labellers", LABEL_WIDTH)


def _errors(found: AgreementSection) -> Table:
    headings = ("both wrong", "if independent", "one wrong, other wrong", "φ")
    rows = [
        Row(
            f"{row.first} & {row.second}",
            (
                f"{row.both_wrong} of {row.n}",
                _decimal(row.expected_both, 1),
                f"{row.first_wrong}, {row.second_wrong}",
                _number(row.correlation),
            ),
        )
        for row in (found.errors or ())[:MOST_ROWS]
    ]
    return side_by_side("Judges wrong together", headings, rows, "judges", LABEL_WIDTH)


def _together(found: Together) -> str:
    worth = _decimal(found.effective_judges, 1)
    between = _between(found.effective_low, found.effective_high, 1)
    return (
        f"{found.judges} judges, mean φ {_number(found.mean_correlation)}: worth {worth}{between} judges that err "
        f"independently. Both wrong {found.both_wrong} times over {found.couples} couples; if independent, "
        f"{found.expected_both:.1f}."
    )


def _label_alpha(row: LabelAlpha) -> str:
    who = f"{row.group} ({row.labellers})"
    return f"Krippendorff's α of labels, {who}: {_number(row.alpha)} on {row.pairs} pairs, {row.alpha.n} labels"


def _score_alpha(row: ScoreAlpha) -> str:
    what = "leads on pairs" if row.form == "pairwise" else f"scores, form {row.form}"
    judges = ", ".join(row.judges)
    return f"Krippendorff's α of {what} by {judges}: {_number(row.alpha)} on {row.units}, {row.alpha.n} scores"


def _share_name(row: CorrectedRow) -> str:
    if row.estimand == "success":
        return f"success, {row.agent or 'all agents'}"
    return f"{row.agent} over {row.other or 'all others'}"


def _corrected(row: CorrectedRow) -> Sequence[str]:
    return (
        short(row.raw),
        short(row.labelled),
        short(row.specificity),
        short(row.sensitivity),
        _estimate(row.rogan_gladen),
        _estimate(row.ppi),
    )


def _estimate(found: Estimate | None) -> str:
    if found is None or found.value is None or found.low is None or found.high is None:
        return "–"
    return f"{percent(found.value)} [{100 * found.low:.0f}–{100 * found.high:.0f}]"


def _number(found: Coefficient) -> str:
    return "–" if found.value is None else f"{found.value:.2f}{_between(found.low, found.high, 2)}"


def _between(low: float | None, high: float | None, digits: int) -> str:
    if low is None or high is None:
        return ""
    return f" [{low:.{digits}f} to {high:.{digits}f}]"


def _decimal(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
