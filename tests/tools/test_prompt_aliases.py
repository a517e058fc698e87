"""Own prompts with the variables and braces of other judges' prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import template_hash
from misjudge_tools.judging.prompts import (
    ALIASES,
    PROMPT_VARIABLES,
    PromptName,
    PromptTemplate,
    own_prompt,
    render,
)
from misjudge_tools.profiles import PromptText

VALUES = {"task": "T", "criteria": "C", "constraints": "K", "response": "R", "response_a": "RA", "response_b": "RB"}
STEMS = ("answer", "output", "response", "assistant", "completion")


def own(user: str, name: PromptName = "judge_pair", system: str = "Judge.") -> PromptTemplate:
    return own_prompt(name, "en", PromptText(name="mine", text=f"{system}\n---user---\n{user}\n"))


def filled(user: str, name: PromptName = "judge_pair") -> str:
    return render(own(user, name), VALUES).user


@pytest.mark.parametrize("task", ["task", "question", "instruction", "prompt", "input", "query"])
@pytest.mark.parametrize(("a", "b"), [(f"{stem}_{x}", f"{stem}_{y}") for stem in STEMS for x, y in ("ab", "12")])
def test_pairs_may_be_called_as_other_judges_call_them(task: str, a: str, b: str) -> None:
    assert filled(f"{{{task}}} / {{{a}}} / {{{b}}}") == "T / RA / RB"


@pytest.mark.parametrize("name", ["judge_satisfaction", "judge_gate", "judge_proxy"])
@pytest.mark.parametrize("response", ["response", "answer", "output", "completion"])
def test_one_response_may_be_called_as_other_judges_call_it(name: PromptName, response: str) -> None:
    assert filled(f"{{question}} / {{{response}}}", name) == "T / R"


def test_criteria_and_constraints_may_have_their_long_names() -> None:
    text = "{question} {answer_1} {answer_2} {success_criteria} {hard_constraints}"
    assert filled(text) == "T RA RB C K"


def test_two_names_of_one_variable_are_both_filled() -> None:
    assert filled("{task} {question} {answer_a} {response_a} {output_2}") == "T T RA RA RB"


def test_doubled_braces_around_a_name_are_a_variable_as_in_jinja() -> None:
    assert filled("{{question}} {{ answer_a }} {{answer_b}} {{{task}}}") == "T RA RB {T}"


def test_doubled_braces_around_json_stay_as_they_are() -> None:
    text = 'Reply {{"winner": "A", "why": {{}}}} or {"winner": {"x": 1}}.'
    assert filled(f"{text} {{question}} {{answer_a}} {{answer_b}}") == f"{text} T RA RB"


@pytest.mark.parametrize(
    ("user", "name", "unknown"),
    [
        ("{question} {answer_a} {answer_b} {reference}", "judge_pair", "{reference}"),
        ("{question} {answer_a} {answer_b} {{ reference }}", "judge_pair", "{reference}"),
        ("{question} {answer} {answer_a}", "judge_pair", "{answer}"),
        ("{question} {answer_a} {answer}", "judge_gate", "{answer_a}"),
        ("{question} {answer} {criteria}", "judge_proxy", "{criteria}"),
        ("{question} {answer_c} {answer_a} {answer_b}", "judge_pair", "{answer_c}"),
        ("{goal} {facts} {question}", "user_sim", "{question}"),
    ],
)
def test_a_name_without_a_meaning_is_refused_with_all_that_have_one(user: str, name: PromptName, unknown: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        own(user, name)
    said = str(caught.value)
    assert said.startswith(f"Prompt mine uses the unknown variable {unknown}. Allowed are ")
    meant = {alias for alias, variable in ALIASES.items() if variable in PROMPT_VARIABLES[name]}
    offered = said.partition("Allowed are ")[2]
    assert all(f"{{{variable}}}" in offered for variable in PROMPT_VARIABLES[name] | meant)
    assert (" (also " in offered) == bool(meant)


@pytest.mark.parametrize(("a", "b"), [(f"{stem}_{x}", f"{stem}_{y}") for stem in STEMS for x, y in ("ab", "12")])
@pytest.mark.parametrize("name", ["judge_satisfaction", "judge_gate", "judge_proxy"])
def test_a_prompt_of_pairs_for_a_form_that_scores_is_refused_as_such(name: PromptName, a: str, b: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        own(f"{{question}} {{{a}}} {{{{ {b} }}}}", name)
    knows = ", ".join(f"{{{variable}}}" for variable in sorted(PROMPT_VARIABLES[name]))
    form = name.removeprefix("judge_")
    assert str(caught.value) == f"Prompt mine is for pairs: form {form} knows {knows}; it has no {{{a}}}, {{{b}}}."


@pytest.mark.parametrize("response", ["response", "answer", "output", "completion"])
def test_a_prompt_of_one_response_for_pairs_is_refused_as_such(response: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        own(f"{{question}} {{{response}}}")
    assert str(caught.value) == (
        "Prompt mine is for single responses: form pairwise knows {constraints}, {criteria}, {response_a}, "
        f"{{response_b}}, {{task}}; it has no {{{response}}}."
    )


@pytest.mark.parametrize(
    "user",
    [
        "{% for x in y %}{{question}}{% endfor %} {answer_a} {answer_b}",
        "{{ question | trim }} {answer_a} {answer_b}",
        "{{ item.question }} {answer_a} {answer_b}",
        "{{ f(question) }} {answer_a} {answer_b}",
    ],
)
def test_what_only_jinja_could_do_is_refused(user: str) -> None:
    with pytest.raises(InvalidInput, match=r"Prompt mine uses \{% … %\} or a filter, but variables are only filled in"):
        own(user)


@pytest.mark.parametrize("variable", ["{question}", "{{question}}", "{{ question }}"])
def test_a_variable_in_the_system_message_is_refused_under_the_name_it_was_given(variable: str) -> None:
    with pytest.raises(InvalidInput, match=r"uses \{question\} in its system message"):
        own("{task} {answer_a} {answer_b}", system=f"Judge {variable}.")


def test_a_missing_variable_is_refused_under_its_own_name() -> None:
    with pytest.raises(InvalidInput, match=r"Prompt mine lacks \{response_b\}\."):
        own("{question} {answer_a}")


def test_the_hash_is_that_of_the_text_as_it_was_written() -> None:
    aliased, plain = own("{question} {answer_1} {answer_2}"), own("{task} {response_a} {response_b}")
    assert aliased.user == plain.user
    assert aliased.hash == template_hash("Judge.\n---user---\n{question} {answer_1} {answer_2}\n") != plain.hash


@given(value=st.text(max_size=60))
def test_what_stands_in_a_transcript_is_never_a_variable(value: str) -> None:
    hostile = f"{{question}} {{{{answer_b}}}} {value}"
    template = own("{{question}} | {answer_a} | {answer_b}")
    assert render(template, {**VALUES, "response_a": hostile}).user == f"T | {hostile} | RB"
