"""How far judges and people agree beyond chance, and whether judges err together."""

from __future__ import annotations

from typing import Literal

from misjudge_storage.summary_values import LabellerKind
from misjudge_storage.types import Form, Value
from misjudge_tools.stats.agreement import Agreement, Coefficient
from misjudge_tools.stats.common_errors import CommonErrors, Together
from misjudge_tools.stats.rates import Count


class LabelledAlike(Agreement):
    """Two labellers on the pairs that both labelled."""

    first: str
    first_kind: LabellerKind
    second: str
    second_kind: LabellerKind


class WrongTogether(CommonErrors):
    """Two judges on the decidable pairs that both decided."""

    first: str
    second: str


class LabelAlpha(Value):
    """Krippendorff's α of the labels A, B and tie. `group`: of people, of judges, or `all` with those of data sets.

    `pairs` have two labels or more of the `labellers`; the n of α counts labels.
    """

    group: Literal["people", "judges", "all"]
    labellers: Count
    pairs: Count
    alpha: Coefficient


class ScoreAlpha(Value):
    """Krippendorff's α (interval) of the scores of judges of one form: of trajectories, or of pairs the lead of side A.
    As shares of each judge's scale where that is known. `units` have two scores or more; the n of α counts scores.
    """

    form: Form
    judges: tuple[str, ...]
    units: Count
    alpha: Coefficient


class AgreementSection(Value):
    """How far judges and people agree beyond chance, and whether judges err together.

    `rows_left_out` and `errors_left_out` are couples beyond those told:
    `agreement.rows.100` asks for the rows from that on. `parts` are those asked for, where not all were. Parts are None
    for the reason under `why`, by their names.
    """

    parts: tuple[str, ...] = ()
    rows_left_out: Count = 0
    errors_left_out: Count = 0
    rows: tuple[LabelledAlike, ...] | None
    alpha: tuple[LabelAlpha, ...] | None
    score_alpha: tuple[ScoreAlpha, ...] | None
    errors: tuple[WrongTogether, ...] | None
    together: Together | None
    why: dict[str, str]
