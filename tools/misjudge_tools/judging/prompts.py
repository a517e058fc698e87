"""Prompt templates: versioned package data, strict about their variables, filled in one pass.

A template is the system message, a line `---user---`, then the user message. `{lower_case_name}` is a variable;
any other brace is text, so JSON stands as it is. Variables belong in the user message only: the system message is
then the same for every call, so a local model keeps it cached and no transcript can reach it.

A person's own template may call a variable by a name that other judges use (`ALIASES`), and may write it as
`{{name}}`.

Responses come to `render` already fenced (`=== BEGIN RESPONSE A token ===`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import template_hash
from misjudge_storage.types import Value
from misjudge_tools.judging.forms import FORMS, JudgePrompt, form_of_prompt
from misjudge_tools.profiles import PromptText

PromptName = JudgePrompt | Literal["user_sim", "success_check"]
Language = Literal["en", "zh"]

TASK_VARIABLES = frozenset({"task", "criteria", "constraints"})
PAIR_VARIABLES = TASK_VARIABLES | {"response_a", "response_b"}
PROMPT_VARIABLES: Mapping[PromptName, frozenset[str]] = {
    "judge_pair": PAIR_VARIABLES,
    "judge_pair_rubric": PAIR_VARIABLES | {"rules"},
    "judge_forced": PAIR_VARIABLES,
    "judge_forced_rubric": PAIR_VARIABLES | {"rules"},
    "judge_satisfaction": TASK_VARIABLES | {"response"},
    "judge_gate": TASK_VARIABLES | {"response"},
    "judge_proxy": frozenset({"task", "response"}),
    "judge_rubric": TASK_VARIABLES | {"response", "rules"},
    "rubric_generate": frozenset({"task"}),
    "rubric_match": frozenset({"task", "rule", "gold"}),
    "rubric_match_batch": frozenset({"task", "rules", "gold"}),
    "user_sim": frozenset({"goal", "facts"}),
    "success_check": TASK_VARIABLES | {"question", "response"},
}
OPTIONAL_VARIABLES = frozenset({"criteria", "constraints"})
"""What a person's own template may leave out."""
RESPONSE_NAMES = ("answer", "output", "response", "assistant", "completion")
ALIASES: Mapping[str, str] = {
    **dict.fromkeys(("question", "instruction", "prompt", "input", "query"), "task"),
    "success_criteria": "criteria",
    "hard_constraints": "constraints",
    **dict.fromkeys(("answer", "output", "completion"), "response"),
    **{f"{name}_{side}": "response_a" for name in RESPONSE_NAMES for side in "a1"},
    **{f"{name}_{side}": "response_b" for name in RESPONSE_NAMES for side in "b2"},
}
"""What a person's own template may call a variable, as the prompts of MT-Bench and AlpacaEval do."""
OF_ONE = frozenset({"response", *(alias for alias, meant in ALIASES.items() if meant == "response")})
OF_PAIRS = frozenset(
    {"response_a", "response_b", *(alias for alias, meant in ALIASES.items() if meant in {"response_a", "response_b"})}
)
"""By which a person's own template shows whether it is of one response or of two."""
NONE_STATED: Mapping[Language, str] = {"en": "none stated", "zh": "未说明"}
LATEST = "v1"

_FENCED = frozenset({"response", "response_a", "response_b", "rules", "rule", "gold"})
_VARIABLE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_DOUBLED = re.compile(r"\{\{[ \t]*([a-z][a-z0-9_]*)[ \t]*\}\}")
_OTHER_JINJA = re.compile(r"\{%|\{\{[ \t]*[A-Za-z_]\w*[ \t]*[.|\[(]")
_USER_MARK = re.compile(r"^---user---[ \t]*$", re.MULTILINE)


class PromptTemplate(Value):
    """A checked template. `hash` is that of the whole text with LF line ends, whatever the platform wrote."""

    name: str
    language: Language
    version: str
    system: str
    user: str
    hash: str


class RenderedPrompt(NamedTuple):
    """The two messages of one call."""

    system: str
    user: str


def load_prompt(name: PromptName, language: Language) -> PromptTemplate:
    """The shipped template, latest version; read once per process."""
    return _load(name, language)


def own_prompt(name: PromptName, language: Language, own: PromptText) -> PromptTemplate:
    """A person's own template in place of this one, with its variables under their own names.

    Its hash is that of the text as it was written. A judge's prompt may have {rules} though it is given none, and must
    have it where it is. Raises InvalidInput as `parse_template` does, and for what Jinja would do beyond filling in
    variables.
    """
    variables = PROMPT_VARIABLES[name]
    judges = name.startswith("judge_")
    if _OTHER_JINJA.search(own.text):
        raise InvalidInput(
            f"Prompt {own.name} uses {{% … %}} or a filter, but variables are only filled in. Write each as {{name}}."
        )
    _refuse_other_form(name, own)
    if judges and "rules" in variables and not shows_rules(own):
        raise InvalidInput(
            f"Prompt {own.name} does not show the rules that the judge is to apply. Add {{rules}} to its user message, "
            "or judge without a rubric."
        )
    return parse_template(
        own.text,
        variables | {"rules"} if judges else variables,
        variables - OPTIONAL_VARIABLES,
        name=name,
        language=language,
        version=own.name,
        aliases={alias: meant for alias, meant in ALIASES.items() if meant in variables and alias not in variables},
    )


def shows_rules(own: PromptText) -> bool:
    """Whether a person's own template of a judge has a place for the rules that it is to apply."""
    return "rules" in _variables(_DOUBLED.sub(r"{\1}", own.text))


def _refuse_other_form(name: PromptName, own: PromptText) -> None:
    """Raises InvalidInput for a prompt of pairs that is to score one response, and the other way round."""
    form = form_of_prompt(name)
    if form is None:
        return
    compares = FORMS[form].compares
    mine, others = (OF_PAIRS, OF_ONE) if compares else (OF_ONE, OF_PAIRS)
    used = _variables(_DOUBLED.sub(r"{\1}", own.text))
    if used & others and not used & mine:
        raise InvalidInput(
            f"Prompt {own.name} is for {'single responses' if compares else 'pairs'}: form {form} knows "
            f"{_listed(PROMPT_VARIABLES[name])}; it has no {_listed(used & others)}."
        )


@cache
def _load(name: PromptName, language: Language) -> PromptTemplate:
    version = f"{name}.{language}.{LATEST}"
    text = files("misjudge_tools").joinpath("prompts", f"{version}.md").read_text(encoding="utf-8")
    variables = PROMPT_VARIABLES[name]
    return parse_template(text, variables, variables, name=name, language=language, version=version)


def parse_template(
    text: str,
    allowed: frozenset[str],
    required: frozenset[str],
    *,
    name: str,
    language: Language,
    version: str,
    aliases: Mapping[str, str] | None = None,
) -> PromptTemplate:
    """Checks and splits a template's text; blank lines at the ends of either message are dropped.

    `aliases`, None for a shipped template, are other names of allowed variables; they also let `{{name}}` be one.
    Raises InvalidInput for a missing or repeated `---user---` line, a variable in the system message, one
    outside `allowed`, or an absent one of `required`.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    parts = _USER_MARK.split(text)
    if len(parts) != 2:
        raise InvalidInput(
            f"Prompt {version} has {len(parts) - 1} lines '---user---' and needs exactly one. "
            "Put it between the system message and the user message."
        )
    system, user = (part.strip() if aliases is None else _DOUBLED.sub(r"{\1}", part.strip()) for part in parts)
    if in_system := _variables(system):
        raise InvalidInput(
            f"Prompt {version} uses {_listed(in_system)} in its system message, which must be the same for every call. "
            "Move it below the line '---user---'."
        )
    user = _under_own_names(user, aliases or {})
    used = _variables(user)
    if unknown := used - allowed:
        raise InvalidInput(
            f"Prompt {version} uses the unknown variable {_listed(unknown)}. Allowed are {_offered(allowed, aliases)}."
        )
    if missing := required - used:
        raise InvalidInput(
            f"Prompt {version} lacks {_listed(missing)}. Add it to the user message, or the model would not see it."
        )
    return PromptTemplate(
        name=name, language=language, version=version, system=system, user=user, hash=template_hash(text)
    )


def render(template: PromptTemplate, values: Mapping[str, str]) -> RenderedPrompt:
    """Fills the user message; braces inside a value stay text.

    A blank value reads "none stated". A fence stands on lines of its own, whatever the template has beside it. Values
    that the template does not use are ignored. Raises InvalidInput where the template uses a variable without a value.
    """
    if missing := _variables(template.user) - values.keys():
        raise InvalidInput(f"Prompt {template.version} needs a value for {_listed(missing)}.")
    blank = NONE_STATED[template.language]

    def fill(variable: re.Match[str]) -> str:
        value = values[variable[1]]
        if variable[1] in _FENCED and value.startswith("=== BEGIN "):
            return _on_own_lines(template.user, variable, value)
        return value if value.strip() else blank

    return RenderedPrompt(template.system, _VARIABLE.sub(fill, template.user))


def _on_own_lines(text: str, variable: re.Match[str], value: str) -> str:
    start, end = variable.span()
    before = "" if start == 0 or text[start - 1] == "\n" else "\n"
    after = "" if end == len(text) or text[end] == "\n" else "\n"
    return f"{before}{value}{after}"


def _under_own_names(text: str, aliases: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: f"{{{aliases.get(found[1], found[1])}}}", text)


def _offered(allowed: frozenset[str], aliases: Mapping[str, str] | None) -> str:
    """The allowed variables with their aliases: `{response}, {task} (also {question}, {input})`."""
    offered = []
    for name in sorted(allowed):
        also = frozenset(alias for alias, meant in (aliases or {}).items() if meant == name)
        offered.append(_listed(frozenset({name})) + (f" (also {_listed(also)})" if also else ""))
    return ", ".join(offered)


def _variables(text: str) -> frozenset[str]:
    return frozenset(_VARIABLE.findall(text))


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))
