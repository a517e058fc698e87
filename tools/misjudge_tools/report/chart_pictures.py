"""Which charts a summary gives, and what is in each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from misjudge_tools.report import chart_words as say
from misjudge_tools.report.chart_data import (
    MOST_ROWS,
    Bar,
    Bars,
    Cell,
    Forest,
    Judged,
    Mosaic,
    Picture,
    Plane,
    Point,
    Row,
    chosen,
    filled,
    is_simulated,
    limit_of,
    of_judge,
    row,
)
from misjudge_tools.report.chart_labels import Said, shown
from misjudge_tools.report.figures import percent, usd
from misjudge_tools.stats.policies import Region
from misjudge_tools.stats.probes import ProbeRow
from misjudge_tools.stats.rates import Rate
from misjudge_tools.summary.deciding.cost_values import CostSection, StageCost
from misjudge_tools.summary.deciding.drift_values import DriftSection
from misjudge_tools.summary.deciding.phrases import Language, Phrase
from misjudge_tools.summary.deciding.policies_values import PoliciesSection, PolicyRow
from misjudge_tools.summary.rubric_values import WriterRow
from misjudge_tools.summary.values import AuditSummary, Bucket, SatisfactionSection, Sections

Panels = tuple[Forest, ...] | tuple[Mosaic, ...] | tuple[Bars, ...] | tuple[Plane, ...]


class Contents(NamedTuple):
    """Panels and the lines that stand below the title."""

    panels: Panels
    lines: Sequence[str]


def pictures(summary: AuditSummary, language: Language) -> tuple[Picture, ...]:
    """The pictures for which the summary has data, in the order of a report."""
    simulated = is_simulated(summary)
    found = {
        "misselection_by_gap": _misselection(summary, language),
        "risk_coverage": _risk(summary, language),
        "satisfaction_success": _satisfaction(summary, language),
        "flips_position": _flips(summary, language),
        "cost_by_role": _cost(summary.cost, language),
        "rubric_quality": _rubrics(summary, language),
        "drift_forest": _drift(summary, language),
        "probes": _probes(summary, language),
    }
    return tuple(
        Picture(name, _title(summary, name, language), tuple(contents.lines), simulated, contents.panels)
        for name, contents in found.items()
        if contents.panels
    )


def _title(summary: AuditSummary, name: str, language: Language) -> str:
    """That a side failed is said only where that is known."""
    of_each = (one.headline for one in (summary, *(summary.judges or {}).values()))
    failed = all(found.failed_known for found in of_each if found is not None)
    by_gold = name == "misselection_by_gap" and not failed
    return (say.BY_GOLD if by_gold else say.TITLES[name]).say(language)


def _misselection(summary: AuditSummary, language: Language) -> Contents:
    judges, left_out = chosen(summary, lambda sections: len(sections.buckets or ()), language)
    limit = limit_of(judges)
    rows: dict[str, list[Row]] = {gap: [] for gap in say.GAPS}
    for gap in rows:
        for name in _bucket_names(judges, gap):
            for number, of in enumerate(judges):
                rows[gap] += [_bucket(one, of, number, language) for one in _buckets(of, gap) if one.bucket == name]
    panels = filled(
        Forest(say.GAPS[gap].say(language), tuple(found), line=limit) for gap, found in rows.items() if found
    )
    anytime = any(one.misselection.interval == "anytime" for of in judges for one in of.sections.buckets or ())
    interval = (say.ANYTIME if anytime else say.FIXED).say(language)
    return Contents(panels, (say.PER_CALL.say(language), interval, *_limit(say.LIMIT_MARK, limit, language), *left_out))


def _limit(said: Phrase, limit: float | None, language: Language) -> tuple[str, ...]:
    return () if limit is None else (said.say(language, limit=percent(limit)),)


def _buckets(of: Judged, gap: str) -> list[Bucket]:
    return [one for one in of.sections.buckets or () if one.gap == gap]


def _bucket_names(judges: Iterable[Judged], gap: str) -> list[str]:
    """The buckets of a gap, nearest first, as far as any of the judges has them."""
    there = {one.bucket for of in judges for one in _buckets(of, gap)}
    return [name for name in say.BUCKETS if name in there]


def _bucket(one: Bucket, of: Judged, number: int, language: Language) -> Row:
    name = say.in_words(say.BUCKETS, one.bucket, language)
    label = f"{name} ({say.range_in_words(one.range, language)})"
    return row(of_judge(name, of) if of.label else label, one.misselection, number)


def _risk(summary: AuditSummary, language: Language) -> Contents:
    judges, left_out = chosen(summary, lambda sections: len(_tried(sections.policies)), language)
    planes = tuple(_plane(of, found, language) for of in judges if (found := of.sections.policies) is not None)
    limits = {plane.limit for plane in planes if plane.limit is not None}
    line = _limit(say.LIMIT_LINE, limits.pop() if len(limits) == 1 else None, language)
    bounded = any(point.bound is not None for plane in planes for point in plane.points)
    wedge = (say.WEDGE.say(language),) if bounded else ()
    return Contents(planes, (say.RISK_LINES.say(language), *wedge, *line, *left_out))


def _tried(found: PoliciesSection | None) -> list[PolicyRow]:
    rows = () if found is None else found.rows
    return [one for one in rows if one.misselection is not None and one.misselection.rate is not None]


def _plane(of: Judged, found: PoliciesSection, language: Language) -> Plane:
    region = found.region
    bounds = {one.policy: one.bound for one in (region.tested if region else ())}
    numbers: dict[tuple[float | None, Rate | None], str] = {}
    points = []
    for one in _tried(found):
        number = numbers.setdefault((one.coverage, one.misselection), str(len(numbers) + 1))
        points.append(_point(number, one, bounds.get(one.policy), region, language))
    trusted = region is not None and region.policy is not None
    return Plane(
        of.label,
        tuple(points),
        None if region is None else region.limit,
        region.coverage if region is not None and trusted else None,
        _trust(found, language),
    )


def _point(number: str, one: PolicyRow, bound: float | None, region: Region | None, language: Language) -> Point:
    assert one.misselection is not None and one.misselection.rate is not None and one.coverage is not None
    policy = say.policy_in_words(one.policy, language)
    label = say.DECIDES.say(language, policy=policy, decided=f"{one.misselection.n}/{one.decidable}")
    if bound is not None:
        label = say.BOUND.say(language, policy=label, bound=percent(bound))
    drawn = row(label, one.misselection)
    return Point(
        number,
        label,
        one.coverage,
        one.misselection.rate,
        drawn.low,
        drawn.high,
        bound,
        drawn.n,
        region is not None and region.policy == one.policy,
        drawn.figures,
    )


def _trust(found: PoliciesSection, language: Language) -> str:
    region = found.region
    if region is None:
        return say.NO_REGION.say(language)
    if region.policy is None or region.coverage is None or region.bound is None:
        return say.NOT_TRUSTED.say(language)
    return say.TRUSTED.say(
        language,
        policy=region.policy,
        coverage=percent(region.coverage),
        bound=percent(region.bound),
        level=percent(region.level),
        tasks=region.tasks,
    )


def _satisfaction(summary: AuditSummary, language: Language) -> Contents:
    # A mosaic takes the room of some six rows.
    judges, left_out = chosen(summary, lambda sections: 6 * len(_scored(sections)), language)
    panels = tuple(_mosaic(form, one, of, language) for of in judges for form, one in _scored(of.sections).items())
    return Contents(panels, (say.MOSAIC_LINES.say(language), *left_out))


def _scored(sections: Sections) -> dict[str, SatisfactionSection]:
    found = {form: getattr(sections, form) for form in say.FORMS}
    return {form: one for form, one in found.items() if one is not None and one.cross_table and one.n}


def _mosaic(form: str, one: SatisfactionSection, of: Judged, language: Language) -> Mosaic:
    table = one.cross_table or {}
    n = sum(table.values())
    satisfied = table["satisfied_failed"] + table["satisfied_succeeded"]
    cells = tuple(
        Cell(
            satisfied=column == "satisfied",
            failed=outcome == "failed",
            sessions=table[f"{column}_{outcome}"],
            label=say.CELLS[f"{column}_{outcome}"].say(language),
            figures=f"{table[f'{column}_{outcome}']}/{n}",
        )
        for column in ("satisfied", "unsatisfied")
        for outcome in ("failed", "succeeded")
    )
    rate = one.intervals.get("p_fail_given_satisfied")
    left, right = (
        say.COLUMN_COUNT.say(language, column=say.COLUMNS[is_satisfied].say(language), count=count)
        for is_satisfied, count in ((True, satisfied), (False, n - satisfied))
    )
    text = "n=0" if rate is None else row("", rate).figures
    title = of_judge(say.FORMS[form].say(language), of)
    return Mosaic(title, cells, left, right, Said(say.FAILED_OF_SATISFIED.say(language), text))


def _flips(summary: AuditSummary, language: Language) -> Contents:
    judges, left_out = chosen(summary, lambda sections: len(_leanings(sections)), language)
    panels = []
    for phrase in (say.FIRST, say.FLIPS, say.SOFT_FLIPS):
        rows = [
            row(of.label or shown(summary.judge or ""), found, number)
            for number, of in enumerate(judges)
            if (found := _leanings(of.sections).get(phrase)) is not None
        ]
        panels.append(Forest(phrase.say(language), tuple(rows), line=_even_handed(phrase, judges)))
    return Contents(filled(panels), (say.FIXED.say(language), say.NO_LEANING.say(language), *left_out))


def _leanings(sections: Sections) -> dict[Phrase, Rate]:
    """The rates of one judge that tell whether the order decides, as far as they are known."""
    position = sections.bias.position if sections.bias is not None else None
    consistency = sections.consistency.intervals if sections.consistency is not None else {}
    found = {
        say.FIRST: position.first if position is not None else None,
        say.FLIPS: position.flip_rate if position is not None else consistency.get("flip_rate"),
        say.SOFT_FLIPS: consistency.get("soft_flip_rate"),
    }
    return {phrase: rate for phrase, rate in found.items() if rate is not None and rate.n}


def _even_handed(phrase: Phrase, judges: Iterable[Judged]) -> float | None:
    if phrase is not say.FIRST:
        return None
    biases = (of.sections.bias for of in judges)
    return next((bias.position.first.unbiased for bias in biases if bias is not None and bias.position), None)


def _cost(found: CostSection | None, language: Language) -> Contents:
    if found is None or not any(stage.cost for stage in found.stages):
        return Contents((), ())
    bars = tuple(_bar(stage, language) for stage in found.stages)
    return Contents((Bars("", bars),), (say.COST_LINES.say(language),))


def _bar(stage: StageCost, language: Language) -> Bar:
    said = say.NO_PRICE if stage.cost is None else say.AT_LEAST if stage.calls_without_price else say.COST
    figures = said.say(language, cost="" if stage.cost is None else usd(stage.cost), calls=stage.calls)
    return Bar(say.in_words(say.ROLES, stage.stage, language), stage.cost, stage.calls, figures)


def _rubrics(summary: AuditSummary, language: Language) -> Contents:
    writers = () if summary.rubrics is None else summary.rubrics.writers
    matched = [one for one in writers if one.recall.n or one.hallucination_rate.n]
    drawn = matched[: MOST_ROWS // 4]
    panels = filled(
        (
            Forest(say.RECALL.say(language), tuple(row(_writer(one, language), one.recall) for one in drawn)),
            Forest(
                say.HALLUCINATION.say(language),
                tuple(row(_writer(one, language), one.hallucination_rate) for one in drawn),
            ),
        )
    )
    rest = say.ROWS_LEFT_OUT.say(language, shown=len(drawn), all=len(matched))
    return Contents(panels, (say.FIXED.say(language), *((rest,) if len(drawn) < len(matched) else ())))


def _writer(one: WriterRow, language: Language) -> str:
    writer = shown(one.writer)
    return writer if one.matcher is None else say.MATCHED_BY.say(language, writer=writer, matcher=shown(one.matcher))


def _drift(summary: AuditSummary, language: Language) -> Contents:
    judges, left_out = chosen(summary, lambda sections: len(_changes(sections.drift, 0, language)), language)
    panels = filled(
        Forest(of.label, _changes(of.sections.drift, number, language), unit="difference", line=0.0)
        for number, of in enumerate(judges)
    )
    baselines = sorted({of.sections.drift.baseline for of in judges if of.sections.drift is not None})
    named = [say.BASELINE.say(language, baseline=shown(one)) for one in baselines]
    return Contents(panels, (say.DRIFT_LINES.say(language), say.FIXED.say(language), *named, *left_out))


def _changes(found: DriftSection | None, number: int, language: Language) -> tuple[Row, ...]:
    if found is None:
        return ()
    parts = found.parts
    effects = {
        "difference": found.difference,
        "single_call": found.single_call,
        "judge": parts.judge if parts is not None else found.anchors,
        "rest": parts.rest if parts is not None else None,
    }
    drawn = (
        row(say.DRIFT[name].say(language), effect, number) for name, effect in effects.items() if effect is not None
    )
    return tuple(one for one in drawn if one.value is not None)


def _probes(summary: AuditSummary, language: Language) -> Contents:
    judges, left_out = chosen(
        summary, lambda sections: len(sections.probes.rows) if sections.probes is not None else 0, language
    )
    panels = filled(
        Forest(of.label, tuple(_probe_rows(of.sections, number, language)), unit="difference", line=0.0)
        for number, of in enumerate(judges)
    )
    return Contents(panels, (say.PROBE_LINES.say(language), say.FIXED.say(language), *left_out))


def _probe_rows(sections: Sections, number: int, language: Language) -> Iterator[Row]:
    for one in sections.probes.rows if sections.probes is not None else ():
        yield row(_probe(one, language), one.excess_flip, number)


def _probe(one: ProbeRow, language: Language) -> str:
    label = say.in_words(say.PROBES, one.probe, language)
    if one.aim == "failed":
        label = say.ON_FAILED.say(language, probe=label)
    return say.FOOLED.say(language, probe=label) if one.fooled else label
