from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from misjudge_server.complaints import complaint
from misjudge_server.tool_table import TOOLS
from misjudge_tools import file_requests, requests

CANARY = "CANARY-7261"
REQUESTS = {entry.request.__name__: entry.request for entry in TOOLS.values()}
FIELDS = sorted((name, field) for name, request in REQUESTS.items() for field in request.model_fields)
BAD_VALUES: tuple[Any, ...] = (
    {CANARY: CANARY},
    [CANARY, {CANARY: 1}],
    [[CANARY]],
    f"\n{CANARY}\n",
    CANARY * 1_000,
    "",
    [],
    -7261,
    72.61,
    10**30,
    float("nan"),
    f"{CANARY}\0",
)


def said(request: type[BaseModel], arguments: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        request.model_validate(arguments)
    return complaint(caught.value, request)


@pytest.mark.parametrize(("request_name", "field"), FIELDS)
def test_a_value_of_the_wrong_kind_is_named_and_never_echoed(request_name: str, field: str) -> None:
    request = REQUESTS[request_name]
    complaints = 0
    for value in BAD_VALUES:
        try:
            request.model_validate({field: value})
        except ValidationError as error:
            sentence = complaint(error, request)
            complaints += field in sentence
            for hidden in ("CANARY", "7261", "72.61", "pydantic", "http", "input_value", "Traceback"):
                assert hidden not in sentence
            assert sentence.endswith(".")
            assert len(sentence) < 2_500
    assert complaints


@pytest.mark.parametrize(
    ("request_type", "arguments", "sentence"),
    [
        (
            requests.SummarizeRequest,
            {"audit": "a", "jugde": "x"},
            "Unknown argument 'jugde'. Did you mean 'judge'? "
            "Allowed: audit, judge, panel, sections, baseline, language, since, by, bill.",
        ),
        (
            requests.SummarizeRequest,
            {"audit": "a", "zzz": "x"},
            "Unknown argument 'zzz'. Allowed: audit, judge, panel, sections, baseline, language, since, by, bill.",
        ),
        (requests.SummarizeRequest, {}, "Argument 'audit' is missing."),
        (requests.SummarizeRequest, {"audit": 3}, "Argument 'audit' cannot be used: Input should be a valid string."),
        (requests.SummarizeRequest, {"audit": "a/b"}, "Argument 'audit' cannot be used: it holds a character"),
        (
            requests.JudgeRequest,
            {"audit": "a", "repeats": 99},
            "Argument 'repeats' cannot be used: Input should be less than or equal to 20. "
            "How often each order is asked.",
        ),
        (
            requests.JudgeRequest,
            {"audit": "a", "form": "best"},
            "Argument 'form' cannot be used: Input should be 'pairwise', 'satisfaction', 'gate' or 'proxy'. pairwise:",
        ),
        (requests.JudgeRequest, {"audit": "a", "repeats": "two"}, "Argument 'repeats' cannot be used: Input should be"),
        (requests.JudgeRequest, {"audit": "a", "wait_s": float("nan")}, "The arguments cannot be used: holds NaN"),
        (requests.JudgeRequest, {"audit": "a", "pair_ids": [1]}, "Argument 'pair_ids' cannot be used:"),
        (requests.RunPairRequest, {"audit": "a", "checks": ["contains"]}, "Argument 'checks' cannot be used: "),
        (requests.RunPairRequest, {"audit": "a", "agents": ["x"]}, "Argument 'agents' cannot be used: "),
        (requests.RunPairRequest, {"audit": "a", "agent": "x"}, "Unknown argument 'agent'. Did you mean 'agents'?"),
    ],
)
def test_each_kind_of_problem_is_a_sentence(request_type: type[BaseModel], arguments: Any, sentence: str) -> None:
    assert sentence in said(request_type, arguments)


def test_the_name_of_an_unknown_argument_is_cut() -> None:
    assert len(said(requests.RunsRequest, {"x" * 10_000: 1})) < 200


def test_only_the_first_problems_are_said_and_the_rest_counted() -> None:
    sentences = said(requests.SummarizeRequest, {f"wrong{n}": n for n in range(10)})
    assert sentences.count("Unknown argument") == 5
    assert "missing" not in sentences
    assert sentences.endswith("And 6 more.")


@pytest.mark.parametrize(
    ("request_type", "arguments", "near"),
    [
        (requests.ImportRequest, {"audit": "a", "paths": ["x"], "format": "rubric-bench"}, "rubricbench"),
        (requests.ImportRequest, {"audit": "a", "paths": ["x"], "format": "Gauge_Runs"}, "gauge-runs"),
        (file_requests.ExportRequest, {"audit": "a", "out": "x", "format": "audit-pairs"}, "audit_pairs"),
        (requests.ImportRequest, {"audit": "a", "paths": ["x"], "format": "excel sheet"}, None),
    ],
)
def test_a_choice_that_is_none_is_answered_with_the_nearest_one(
    request_type: type[BaseModel], arguments: Any, near: str | None
) -> None:
    sentence = said(request_type, arguments)
    assert (f". Did you mean {near!r}?" in sentence) if near else ("Did you mean" not in sentence)
    assert arguments["format"] not in sentence


def test_an_argument_is_called_as_it_was_given() -> None:
    with pytest.raises(ValidationError) as refused:
        file_requests.ReportRequest.model_validate({"audit": "", "out": "x", "formats": ["htlm"]})
    sentence = complaint(refused.value, file_requests.ReportRequest, {"formats": "--format"})
    assert "Argument '--format' cannot be used:" in sentence and "Did you mean 'html'?" in sentence
    assert "Argument 'audit' cannot be used:" in sentence and "'formats'" not in sentence


def test_a_problem_that_comes_twice_is_said_once() -> None:
    assert said(requests.SummarizeRequest, {"audit": "a", "sections": [1, 2, 3]}).count("cannot be used") == 1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"width": 5}, "Argument 'stop.width' cannot be used: Input should be less than 1. Of the interval,"),
        ({"threshold": 0}, "Argument 'stop.threshold' cannot be used: Input should be greater than 0."),
        (
            {"widht": 0.2},
            "Argument 'stop' has an unknown member. Did you mean 'stop.width'? Allowed: width, threshold.",
        ),
        ("soon", "Argument 'stop' cannot be used:"),
    ],
)
def test_the_member_that_is_wrong_is_named(given: object, sentence: str) -> None:
    with pytest.raises(ValidationError) as refused:
        requests.JudgeRequest.model_validate({"audit": "a", "stop": given})
    assert complaint(refused.value, requests.JudgeRequest).startswith(sentence)
