"""Whom a request asks, and in which orders it shows pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import Connection

from misjudge_storage import run_records
from misjudge_storage.errors import InvalidInput
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.types import AskedForm, Form
from misjudge_tools.deps import Deps
from misjudge_tools.interchange.confinement import refuse_outside
from misjudge_tools.interchange.text_files import prompt_in
from misjudge_tools.judging.choice import JudgingSpec, RubricSource, choose_judge, judge_of, label_of
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.judging.prompts import shows_rules
from misjudge_tools.profiles import PromptText
from misjudge_tools.requests import AskingRequest, JudgingRequest, ScoreRubricsRequest
from misjudge_tools.runs.plan import OrdersOf, balanced_orders, both_orders, fixed_order
from misjudge_tools.runs.spec import Cascade, orders_in


def asked_judge(request: AskingRequest, form: Form, deps: Deps) -> JudgingSpec:
    """The judge that a request names. Raises MissingKey or InvalidInput."""
    return _chosen(request, form, deps, request.judge, own_prompt_of(request, deps.roots))


def asked_judges(request: JudgingRequest, form: Form, deps: Deps) -> tuple[JudgingSpec, ...]:
    """The judge and the panel of a request. Raises MissingKey or InvalidInput, also for one that is named twice."""
    own = own_prompt_of(request, deps.roots)
    names = (request.judge, *(request.panel or ()))
    judges = tuple(_chosen(request, form, deps, name, own) for name in names)
    _refuse_twice(judges, _same_judge)
    return judges


def asked_writers(request: ScoreRubricsRequest, deps: Deps) -> tuple[JudgingSpec, ...]:
    """Who writes rubrics for a request: the judge's model where none is named.

    Raises MissingKey or InvalidInput, also for one that is named twice.
    """
    return _asked_craft(request, "rubric_generate", request.writers, "Writer", deps)


def asked_matchers(request: ScoreRubricsRequest, deps: Deps) -> tuple[JudgingSpec, ...]:
    """Who matches rubrics for a request, rule by rule or all at once: the judge's model where none is named.

    Raises MissingKey or InvalidInput, also for one that is named twice.
    """
    form: AskedForm = "rubric_match_batch" if request.batch else "rubric_match"
    return _asked_craft(request, form, request.matchers, "Matcher", deps)


def _asked_craft(
    request: ScoreRubricsRequest, form: AskedForm, names: Sequence[str] | None, role: str, deps: Deps
) -> tuple[JudgingSpec, ...]:
    asked = tuple(_chosen(request, form, deps, name, None) for name in names or (request.judge,))

    def same(one: str, other: str) -> str:
        if one == other:
            return f"{role} {one!r} is named twice. Name each one once."
        return f"{role}s {one!r} and {other!r} are the same model with the same prompt and parameters: name one."

    _refuse_twice(asked, same)
    return asked


def with_rules(
    request: ScoreRubricsRequest, form: AskedForm, sources: Sequence[RubricSource | None], deps: Deps
) -> tuple[JudgingSpec, ...]:
    """The judge of a request once for each source of rules, None for a judge without any.

    A prompt of the request is for rules if it shows them; the judge without rules is then asked with its own one.
    Raises MissingKey or InvalidInput, also for rules that are named twice.
    """
    own = own_prompt_of(request, deps.roots)
    without = None if own is not None and shows_rules(own) else own
    judges = tuple(
        _chosen(request, form, deps, request.judge, without if source is None else own, source) for source in sources
    )
    _refuse_twice(judges, _same_rules)
    return judges


def _same_rules(one: str, other: str) -> str:
    named = "is named twice" if one == other else f"and {other!r} apply the same rules"
    return f"{one!r} {named}. Name each rubric once."


def _refuse_twice(asked: Sequence[JudgingSpec], same: Callable[[str, str], str]) -> None:
    """Raises InvalidInput where two of them have one fingerprint; `same` says so of their labels."""
    seen: dict[str, str] = {}
    for spec in asked:
        identity, label = judge_fingerprint(judge_of(spec)), label_of(spec)
        if identity in seen:
            raise InvalidInput(same(seen[identity], label))
        seen[identity] = label


def _same_judge(one: str, other: str) -> str:
    if one == other:
        return f"Judge {one!r} is named twice, and no judge is a panel of its own. Name each one once."
    return (
        f"Judges {one!r} and {other!r} are the same model with the same prompt and parameters; a panel needs different "
        "judges."
    )


def _chosen(
    request: AskingRequest,
    form: AskedForm,
    deps: Deps,
    name: str | None,
    own: PromptText | None,
    rubrics: RubricSource | None = None,
) -> JudgingSpec:
    judging = request if isinstance(request, JudgingRequest) else None
    return choose_judge(
        name,
        form,
        request.language,
        deps.models,
        to_ask=not request.dry_run,
        reuse=judging is not None and judging.reuse,
        own=own,
        truncate=None if judging is None else judging.truncate,
        rubrics=rubrics,
        forced=isinstance(request, ScoreRubricsRequest) and request.official and FORMS[form].compares,
    )


def own_prompt_of(request: AskingRequest, roots: Sequence[Path] | None) -> PromptText | None:
    """The prompt in the file that a request names, if it does. Raises InvalidInput."""
    if request.prompt is None:
        return None
    path = Path(request.prompt)
    if roots is not None:
        refuse_outside(path, roots)
    return prompt_in(path, f"{path.name} (prompt)")


def asked_cascade(request: JudgingRequest, form: Form) -> Cascade | None:
    """The cascade of a request, if it asks for one.

    Raises InvalidInput for one without a panel, or of another form, and for a margin without a cascade.
    """
    if not request.cascade:
        if "margin" in request.model_fields_set:
            raise InvalidInput(
                "margin says which leads a cascade takes for close, and no cascade is asked for. Give cascade=true "
                "(--cascade) too, or leave margin out."
            )
        return None
    if not FORMS[form].compares:
        raise InvalidInput(
            f"A cascade goes by verdicts on pairs, and {form} is judged of single trajectories. Leave cascade out to "
            "ask every judge of the panel, or use form=pairwise."
        )
    if not request.panel:
        raise InvalidInput("A cascade needs a panel to ask where the judge is not clear: name it (--panel MODEL).")
    return Cascade(margin=request.margin)


def refuse_orders(request: JudgingRequest, form: Form) -> None:
    """Raises InvalidInput for orders of a form that shows no two responses: ignored, they would mislead."""
    if "orders" in request.model_fields_set and request.orders != "both" and not FORMS[form].compares:
        raise InvalidInput(
            f"orders says in which order two responses are shown, and {form} is judged of single trajectories; leave "
            "it out."
        )


def asked_orders(
    request: JudgingRequest, seed: int, pair_ids: Sequence[str], connection: Connection, audit: str
) -> OrdersOf:
    """In which orders a request shows these pairs, which stand in the audit's random order. Reads the store."""
    if request.orders == "both":
        return both_orders
    if request.orders == "fixed":
        return fixed_order
    before = [run.run_id for run in run_records.list_runs(connection, audit) if orders_in(run.request_json) == "random"]
    return balanced_orders(seed, pair_ids, run_records.planned_orders(connection, before))
