"""Which column plays which role: `--map`, `--values`, the guess, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from misjudge_storage.errors import InvalidInput
from misjudge_tools.interchange.files import Row
from misjudge_tools.interchange.table import TableMapping, guess_mapping, parse_mapping

OWN = {"a": "A", "b": "B", "tie": "tie"}


def given(*options: str, values: tuple[str, ...] = (), per_response: bool = False) -> TableMapping:
    return parse_mapping(options, values, per_response)


def guessed(header: str, *options: str, rows: tuple[dict[str, Any], ...] = (), **other: Any) -> dict[str, str]:
    numbered = [Row(line, fields) for line, fields in enumerate(rows, 2)]
    mapping = guess_mapping(header.split(), numbered, given(*options, **other))
    assert guess_mapping(header.split(), numbered, mapping) == mapping
    return {entry.role: "+".join(entry.names) for entry in mapping.columns}


def refusal(*options: str, header: str | None = None, **other: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        mapping = given(*options, **other)
        assert header is not None
        guess_mapping(header.split(), [], mapping)
    return str(caught.value)


def test_options_may_be_joined_by_commas_or_repeated() -> None:
    assert given("prompt=q,a=x", "gold=ann1+ann2+ann3") == given("prompt=q", "a=x,gold=ann1 + ann2+ann3")
    mapping = given("prompt=q, with a comma,a=x+y,order=")
    assert mapping.names("prompt") == ("q, with a comma",)
    assert mapping.names("a") == ("x+y",)
    assert mapping.names("order") == mapping.names("judge") == ()


def test_values_apply_to_all_verdict_columns_or_to_the_scope_before_the_colon() -> None:
    mapping = given("winner=gpt+llama,gold=human", values=("1=A,2=B,0=tie", "winner:x=A,y=B", "llama:A=B=tie"))
    assert mapping.meanings("gold", "human") == {"1": "A", "2": "B", "0": "tie", **OWN}
    assert mapping.meanings("winner", "gpt") == {"x": "A", "y": "B", **OWN}
    assert mapping.meanings("winner", "llama") == {"a=b": "tie", **OWN}
    assert given().meanings("winner", "gpt") is None


def test_a_scope_holds_until_the_next_one_and_a_leading_colon_escapes_one() -> None:
    mapping = given(values=("winner:1=a,2=B,gold:x=B,:a:b=TIE",))
    assert mapping.meanings("winner", "w") == {"1": "A", "2": "B", **OWN}
    assert mapping.meanings("gold", "g") == {"x": "B", **OWN}
    assert mapping.meanings("", "") == {"a:b": "tie", **OWN}


@pytest.mark.parametrize(
    ("values", "meanings"),
    [
        ("x=A,y=B", {"x": "A", "y": "B", **OWN}),
        ("x=A,tie=none", {"x": "A", "a": "A", "b": "B", "tie": None}),
        ("A=B", {"a": "B", "tie": "tie"}),
        ("A=B,B=A", {"a": "B", "b": "A", "tie": "tie"}),
        ("A=A", {"a": "A", "b": "B", "tie": "tie"}),
        ("n/a=none,err=none", {"n/a": None, "err": None}),
    ],
)
def test_a_b_and_tie_mean_themselves_unless_a_letter_is_given_another_meaning(
    values: str, meanings: dict[str, str | None]
) -> None:
    assert given(values=(values,)).meanings("winner", "w") == meanings


def test_values_of_the_order_are_ab_and_ba_and_keep_out_of_the_verdicts() -> None:
    mapping = given(values=("x=A,order:yes=BA,No =AB",))
    assert dict(mapping.orders) == {"yes": "BA", "no": "AB"}
    assert mapping.meanings("winner", "w") == {"x": "A", **OWN}
    assert given(values=("yes=BA",)).orders == (("yes", "BA"),)


@pytest.mark.parametrize(
    ("options", "values", "said"),
    [
        (("prompt",), (), "--map takes role=column"),
        (("winer=w",), (), "knows no role 'winer'. Did you mean winner?"),
        (("zzz=w",), (), "knows no role 'zzz'. The roles are: prompt, a, b"),
        (("a=x", "a=y"), (), "names the role a twice"),
        (("gold=x+x",), (), "names a column twice for gold"),
        ((), ("1",), "--values takes value=A, value=B, value=tie or value=none"),
        ((), ("1=C",), "--values takes value=A"),
        ((), ("=A",), "--values takes value=A"),
        ((), ("1=A,1.0=B",), "--values gives one value two meanings"),
        ((), ("1=AB,1.0=BA",), "--values gives one value two meanings"),
        ((), ("order:1=A",), "--values takes value=A"),
        ((), ("winner:1=AB",), "of the order shown AB or BA"),
    ],
)
def test_an_option_that_cannot_be_read_says_its_form(
    options: tuple[str, ...], values: tuple[str, ...], said: str
) -> None:
    assert said in refusal(*options, values=values)


def test_per_response_has_roles_of_its_own() -> None:
    assert given("response=r,score=s1+s2", per_response=True).names("score") == ("s1", "s2")
    assert "knows no role 'winner'" in refusal("winner=w", per_response=True)


def test_common_names_are_guessed() -> None:
    header = (
        "question_id prompt Response-A responseB model_a model_b winner judge_model human_winner blind_order score_a "
        "score_b reward_a reward_b success_a success_b pair_id trial category subset success_criteria rationale "
        "judge_input_tokens judge_output_tokens judge_cost note"
    )
    assert guessed(header) == {
        "prompt": "prompt",
        "a": "Response-A",
        "b": "responseB",
        "winner": "winner",
        "gold": "human_winner",
        "order": "blind_order",
        "judge": "judge_model",
        "task": "question_id",
        "trial": "trial",
        "pair_id": "pair_id",
        "category": "category",
        "subset": "subset",
        "criteria": "success_criteria",
        "agent_a": "model_a",
        "agent_b": "model_b",
        "score_a": "score_a",
        "score_b": "score_b",
        "reward_a": "reward_a",
        "reward_b": "reward_b",
        "success_a": "success_a",
        "success_b": "success_b",
        "reasons": "rationale",
        "input_tokens": "judge_input_tokens",
        "output_tokens": "judge_output_tokens",
        "cost": "judge_cost",
    }


@pytest.mark.parametrize(
    ("header", "a", "b"),
    [
        ("a b", "a", "b"),
        ("output_2 output_1", "output_1", "output_2"),
        ("response_0 response_1", "response_0", "response_1"),
        ("response_0 response_1 response_2", "response_1", "response_2"),
        ("answer1 answer2", "answer1", "answer2"),
        ("left_answer right_answer", "left_answer", "right_answer"),
        ("a_completion b_completion", "a_completion", "b_completion"),
        ("conversation_a conversation_b", "conversation_a", "conversation_b"),
    ],
)
def test_the_two_sides_are_guessed_together(header: str, a: str, b: str) -> None:
    found = guessed(header)
    assert (found["a"], found["b"]) == (a, b)


def test_what_is_given_is_never_guessed_over() -> None:
    found = guessed("prompt response_a response_b winner label gold", "winner=label,gold=,a=response_b")
    assert found == {"prompt": "prompt", "a": "response_b", "winner": "label", "gold": ""}


def test_an_id_names_the_task_only_without_a_prompt() -> None:
    assert guessed("id winner")["task"] == "id"
    assert "task" not in guessed("id prompt winner")


@pytest.mark.parametrize(
    ("cells", "values", "taken"),
    [
        (("A", "x"), (), True),
        (("", ""), (), True),
        (("1",), (), True),
        ((2,), (), True),
        (("math", "code"), (), False),
        (("left",), ("left=A",), True),
    ],
)
def test_a_doubtful_name_is_taken_only_for_what_may_be_verdicts(
    cells: tuple[Any, ...], values: tuple[str, ...], taken: bool
) -> None:
    rows = tuple({"label": value} for value in cells)
    assert ("gold" in guessed("a b label", rows=rows, values=values)) is taken


def test_several_winner_columns_keep_what_belongs_to_one_judge_from_being_guessed() -> None:
    found = guessed("a b gpt llama judge score_a score_b reason", "winner=gpt+llama")
    assert found["winner"] == "gpt+llama"
    assert found["judge"] == found["score_a"] == found["score_b"] == found["reasons"] == ""


@pytest.mark.parametrize("role", ["judge", "score_a", "score_b", "reasons"])
def test_several_winner_columns_refuse_what_belongs_to_one_judge(role: str) -> None:
    message = refusal(f"winner=gpt+llama,{role}=x", header="gpt llama x")
    assert f"so {role} belongs to none. Leave it out with --map {role}=" in message


def test_a_column_that_is_not_there_is_answered_with_the_nearest() -> None:
    message = refusal("prompt=qestion", header="question answer_a answer_b")
    assert message == "There is no column 'qestion' for prompt. Nearest: 'question'."
    message = refusal("winner=zzz", header="question answer")
    assert message == "There is no column 'zzz' for winner. The columns are: 'question', 'answer'."


def test_a_column_plays_two_roles_only_where_that_makes_sense() -> None:
    assert guessed("x winner", "task=x,pair_id=x")["pair_id"] == "x"
    assert "Column 'w' is mapped to winner and gold" in refusal("winner=w,gold=w", header="w x")
    assert "Column 'w' is mapped to gold and task" in refusal("gold=w,task=w", header="w x")


def test_a_scope_that_is_no_verdict_column_is_refused() -> None:
    assert "--values names 'prompt', which is no verdict column" in refusal(
        values=("prompt:1=A",), header="prompt winner"
    )


@pytest.mark.parametrize(
    ("options", "per_response", "said"),
    [
        ((), False, "No verdict, label, score or pair of answers was recognised"),
        (("a=x",), False, "No verdict, label, score or pair of answers was recognised"),
        (("task=x",), True, "With --per-response, say which column names the task"),
        (("score=x",), True, "With --per-response, say which column names the task"),
    ],
)
def test_a_table_that_says_too_little_is_refused(options: tuple[str, ...], per_response: bool, said: str) -> None:
    message = refusal(*options, header="x y", per_response=per_response)
    assert said in message and "The columns are: 'x', 'y'." in message


def test_per_response_names_are_guessed() -> None:
    assert guessed("prompt id model response rating judge reward correct split", per_response=True) == {
        "prompt": "prompt",
        "judge": "judge",
        "subset": "split",
        "agent": "model",
        "response": "response",
        "score": "rating",
        "reward": "reward",
        "success": "correct",
    }
