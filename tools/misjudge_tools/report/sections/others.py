"""The judge beside others: other judges, panels, people, and itself in an earlier audit."""

from __future__ import annotations

from misjudge_tools.report.document import Book, Cell, Section, Table
from misjudge_tools.report.sections.opening import judge_at
from misjudge_tools.summary.values import AuditSummary, Sections

PAIRED = (
    ("wrong, per call", "misselection"),
    ("wrong, of decided", "misselection/decided"),
    ("changes with the order", "consistency/intervals/flip_rate"),
    ("for the side shown first", "consistency/intervals/letter_a_share"),
)
SCORED = (
    ("failed, of satisfied", "intervals/p_fail_given_satisfied"),
    ("failed, of all", "intervals/base_fail"),
    ("relative risk", "relative_risk"),
    ("AUC", "auc"),
)
FORMS = ("satisfaction", "gate", "proxy", "rubric")
RULES = ("majority", "unanimity", "mean_score")
ENDS = ("decided", "tie", "inconsistent", "split", "unscored")
ENDED = ("misselection", "misselection/coverage", *ENDS)
ERRORS = ("both_wrong", "expected_both", "correlation", "n")
TOGETHER = (
    ("judges", "/agreement/together/judges"),
    ("mean correlation of errors", "/agreement/together/mean_correlation"),
    ("judges that err independently and are worth as much", "/agreement/together/effective_judges"),
)
MOST_ROWS = 40
DRIFT = (
    ("right in the baseline", "/drift/baseline_right"),
    ("right now", "/drift/right"),
    ("difference", "/drift/difference"),
    ("difference, per call", "/drift/single_call"),
    ("another verdict", "/drift/moved"),
    ("another verdict on unchanged transcripts", "/drift/anchors_moved"),
    ("difference on unchanged transcripts", "/drift/anchors"),
    ("of the difference: the judge", "/drift/parts/judge"),
    ("of the difference: the rest", "/drift/parts/rest"),
    ("pairs of both audits", "/drift/pairs/shared"),
    ("only here", "/drift/pairs/only_here"),
    ("only in the baseline", "/drift/pairs/only_baseline"),
)


def judges(book: Book, summary: AuditSummary) -> Section | None:
    """The judges side by side."""
    if not summary.judges:
        return None
    tables = [_beside(book, summary, PAIRED, "", "misselection")]
    tables += [_beside(book, summary, SCORED, f"{form}/", form) for form in FORMS]
    return Section("judges", book.say("The judges side by side"), tables=tuple(one for one in tables if one.rows))


def _beside(book: Book, summary: AuditSummary, columns: tuple[tuple[str, str], ...], prefix: str, needed: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for label, one in (summary.judges or {}).items():
        if getattr(one, needed) is not None:
            named = f"{label} (SIMULATED)" if one.simulated else label
            rows.append(book.row(named, f"{judge_at(label)}/{prefix}".rstrip("/"), dict(columns).values()))
    caption = "" if not prefix else book.say(needed)
    return Table(book.head("judge", *(heading for heading, _ in columns)), tuple(rows), caption)


def panel(book: Book, sections: Sections, at: str) -> Section | None:
    """What a panel and a cascade come to beside one judge on the same pairs."""
    found = sections.panel
    if found is None:
        return None
    here = f"{at}/panel"
    rows = [book.row(book.say(rule), f"{here}/rules/{rule}", ENDED) for rule in RULES if found.rules.get(rule)]
    if found.best_judge is not None:
        best = book.say("best judge: {judge}", judge=found.best_judge.judge)
        rows.append(book.row(best, f"{here}/best_judge", ENDED))
    headings = book.head("rule", "wrong, of decided", "decided, of decidable", *ENDS)
    tables = [Table(headings, tuple(rows))] if rows else []
    if found.cascade is not None:
        first = book.say("first judge: {judge}", judge=found.cascade.first.judge)
        cascade = (
            book.row(book.say("cascade"), f"{here}/cascade", ENDED),
            book.row(first, f"{here}/cascade/first", ENDED),
        )
        caption = book.say("The cascade, on its {n} pairs", n=found.cascade.n)
        tables.append(Table(headings, cascade, caption))
    says = book.say(
        "{judges}: {n} pairs that all of them judged, {others} that not all did.",
        judges=", ".join(found.judges),
        n=found.n,
        others=found.not_judged_by_all,
    )
    return Section("panel", book.say("As a panel"), says=(says,), tables=tuple(tables))


def agreement(book: Book, sections: Sections, at: str) -> Section | None:
    """How far judges and people agree, and whether judges err together."""
    found = sections.agreement
    if found is None:
        return None
    here = f"{at}/agreement"
    rows, errors, alphas = (found.rows or ())[:MOST_ROWS], (found.errors or ())[:MOST_ROWS], found.alpha or ()
    tables = (
        Table(
            book.head("two labellers", "agree", "κ", "AC1"),
            book.rows(f"{here}/rows", (f"{one.first} – {one.second}" for one in rows), ("observed", "kappa", "ac1")),
        ),
        Table(
            book.head("labels of", "Krippendorff's α", "labellers", "pairs"),
            book.rows(f"{here}/alpha", (book.say(one.group) for one in alphas), ("alpha", "labellers", "pairs")),
        ),
        Table(
            book.head("two judges", "both wrong", "if independent", "correlation of errors", "pairs"),
            book.rows(f"{here}/errors", (f"{one.first} – {one.second}" for one in errors), ERRORS),
        ),
        Table(book.head("all judges together", "found"), book.known(at, TOGETHER)),
    )
    left_out = found.rows_left_out + len(found.rows or ()) - len(rows)
    notes = [book.say("{n} more couples of labellers are not shown.", n=left_out)] if left_out else []
    return Section(
        "agreement",
        book.say("Agreement with people and other judges"),
        tables=tuple(table for table in tables if table.rows),
        notes=(*notes, *found.why.values()),
    )


def corrected(book: Book, sections: Sections, at: str) -> Section | None:
    """What rests on a judge, corrected by people's labels."""
    found = sections.corrected
    if found is None:
        return None
    labels = (
        f"{book.say(row.estimand)}: {' – '.join(filter(None, (row.agent or book.say('all agents'), row.other)))}"
        for row in found.rows[:MOST_ROWS]
    )
    rows = book.rows(f"{at}/corrected/rows", labels, ("raw", "labelled", "rogan_gladen", "ppi"))
    headings = book.head("share", "as judged", "by labels alone", "corrected (Rogan–Gladen)", "corrected (PPI)")
    notes = (found.assumption, *found.why.values())
    return Section("corrected", book.say("Corrected by people's labels"), tables=(Table(headings, rows),), notes=notes)


def drift(book: Book, sections: Sections, at: str) -> Section | None:
    """The judge now against itself in the baseline."""
    found = sections.drift
    if found is None:
        return None
    tables = [Table(book.head("since the baseline", "found"), book.known(at, DRIFT))]
    if found.changed:
        rows = tuple(
            (f"{book.say(one.side)}{f' {one.who}' if one.who else ''}: {one.what}", one.before or "–", one.after or "–")
            for one in found.changed[:MOST_ROWS]
        )
        tables.append(Table(book.head("what changed", "before", "now"), rows))
    says = book.say(
        "{judge} here against {before} in {baseline}.",
        judge=found.judge,
        before=found.baseline_judge,
        baseline=found.baseline,
    )
    title = book.say("Since the baseline")
    return Section(
        "drift", title, says=(says,), charts=("drift_forest",), tables=tuple(tables), notes=tuple(found.why.values())
    )
