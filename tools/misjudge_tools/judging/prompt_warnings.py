"""What the lint says of the prompts that are in force. Shipped ones are never warned of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import get_args

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import AskedForm, Form
from misjudge_tools.judging.choice import JudgingSpec, form_of, template_of
from misjudge_tools.judging.forms import FORMS, FormSpec
from misjudge_tools.judging.lint import lint_judge, lint_user
from misjudge_tools.judging.prompts import PromptTemplate, own_prompt
from misjudge_tools.profiles import Profile, PromptText

USER_VARIABLES = ("{goal}", "{facts}")
JUDGED = frozenset(get_args(Form))
"""The forms whose prompts are a judge's; who writes or matches rules gives no credit for anything."""


def prompt_warnings(specs: Iterable[JudgingSpec]) -> tuple[str, ...]:
    """What is likely wrong with the judges' own prompts, each said once."""
    own = (spec for spec in specs if spec.prompt is not None and spec.form in JUDGED)
    found = (_lint(form_of(spec), template_of(spec)) for spec in own)
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def user_warnings(template: PromptTemplate | None) -> tuple[str, ...]:
    """What is likely wrong with the prompt of a simulated user; None: it is scripted."""
    return () if template is None else lint_user(_text(template), template.version)


def profile_warnings(profile: Profile) -> tuple[str, ...]:
    """What is likely wrong with a profile's own prompts, and why one of them cannot be used."""
    return tuple(dict.fromkeys(_of_profile(profile)))


def _of_profile(profile: Profile) -> Iterator[str]:
    if profile.prompt is not None:
        if any(variable in profile.prompt.text for variable in USER_VARIABLES):
            yield from _of_user(profile.prompt)
        else:
            yield from _of_judge("pairwise", profile.prompt)
    for form, prompt in profile.prompts.items():
        yield from _of_judge(form, prompt)


def _of_judge(form: AskedForm, own: PromptText) -> Iterator[str]:
    try:
        template = own_prompt(FORMS[form].prompt, "en", own)
    except InvalidInput as error:
        yield str(error)
    else:
        yield from _lint(FORMS[form], template) if form in JUDGED else ()


def _of_user(own: PromptText) -> Iterator[str]:
    try:
        yield from user_warnings(own_prompt("user_sim", "en", own))
    except InvalidInput as error:
        yield str(error)


def _lint(asked: FormSpec, template: PromptTemplate) -> tuple[str, ...]:
    return lint_judge(_text(template), template.version, compares=asked.compares and asked.ties)


def _text(template: PromptTemplate) -> str:
    return f"{template.system}\n\n{template.user}"
