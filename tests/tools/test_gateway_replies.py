from __future__ import annotations

import json
from typing import Any

import pytest

from loopback import completion
from misjudge_storage import errors
from misjudge_tools.gateway.replies import Answer, Fault, Reply, read_answer


def _read(body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Reply | Fault:
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return read_answer(Answer(status, headers or {}, data))


def _reply(body: Any, headers: dict[str, str] | None = None) -> Reply:
    outcome = _read(body, headers=headers)
    assert isinstance(outcome, Reply)
    return outcome


def test_a_reply_is_read_with_its_usage_and_request_id() -> None:
    assert _reply(completion("yes"), {"x-request-id": "req-9"}) == Reply("yes", "stop", False, False, 11, 3, "req-9")


def test_without_a_request_id_header_the_id_of_the_completion_stands_in() -> None:
    assert _reply(completion()).request_id == "chatcmpl-1"


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        {"prompt_tokens": 2**70, "completion_tokens": 10**10},
        {},
        {"prompt_tokens": None},
        {"prompt_tokens": -1},
        {"prompt_tokens": True},
        {"prompt_tokens": 1.5},
    ],
)
def test_missing_or_senseless_usage_is_none_and_never_zero(usage: Any) -> None:
    reply = _reply({**completion(), "usage": usage})
    assert (reply.input_tokens, reply.output_tokens) == (None, None)


def test_reasoning_is_not_the_answer() -> None:
    assert _reply(completion(None, reasoning_content="[[A]]", reasoning="[[A]]")).raw_output == ""


def test_text_parts_are_joined_and_other_parts_left_out() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, "b", {"type": "text", "text": 7}, {"text": "c"}]
    assert _reply(completion(None, content=parts)).raw_output == "ac"


def test_a_byte_order_mark_and_broken_bytes_do_no_harm() -> None:
    assert _reply(b"\xef\xbb\xbf" + json.dumps(completion("é")).encode()).raw_output == "é"
    assert _reply(json.dumps(completion("x")).encode().replace(b'"x"', b'"\xff"')).raw_output == "\ufffd"


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert _reply(completion("a\ud800b\ud83d\ude00")).raw_output == "a\ufffdb😀"


@pytest.mark.parametrize("reason", ["length", "max_tokens"])
def test_a_reply_cut_at_the_limit_is_truncated_with_or_without_text(reason: str) -> None:
    assert _reply(completion("half a", finish_reason=reason)).truncated
    assert _reply(completion(None, finish_reason=reason)) == Reply("", reason, True, False, 11, 3, "chatcmpl-1")


def test_a_filtered_reply_and_a_refusal_are_refused() -> None:
    assert _reply(completion("half", finish_reason="content_filter")).refused
    refusal = _reply(completion(None, refusal="I cannot do that"))
    assert refusal.refused
    assert refusal.raw_output == "I cannot do that"
    assert not _reply(completion("fine", refusal=None)).refused
    assert not _reply(completion("fine", refusal="")).refused


def test_a_prompt_stopped_by_the_content_filter_is_refused_and_not_an_error() -> None:
    outcome = _read({"error": {"message": "…", "code": "content_filter"}}, status=400)
    assert outcome == Reply(None, "content_filter", False, True, None, None, None)


HTML = "\n<!DOCTYPE html><html><body>Welcome</body></html>"


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, HTML, errors.WrongAddress),
        (200, "<HTML>", errors.WrongAddress),
        (200, "", errors.ProviderFailed),
        (200, '{"choices": [', errors.ProviderFailed),
        (200, "[" * 200_000, errors.ProviderFailed),
        (200, "data: {}\n\n", errors.ProviderFailed),
        (200, {}, errors.ProviderFailed),
        (200, [], errors.ProviderFailed),
        (200, "null", errors.ProviderFailed),
        (200, {"choices": None}, errors.ProviderFailed),
        (200, {"choices": []}, errors.ProviderFailed),
        (200, {"choices": {}}, errors.ProviderFailed),
        (200, {"choices": ["A"]}, errors.ProviderFailed),
        (200, {"choices": [{"text": "A"}]}, errors.ProviderFailed),
        (200, completion("half", finish_reason="error"), errors.ProviderFailed),
        (200, {"error": {"message": "overloaded"}}, errors.ProviderFailed),
        (200, {"error": "overloaded"}, errors.ProviderFailed),
        (200, {"error": {"message": "slow down", "code": 429}}, errors.RateLimited),
        (200, {"error": {"message": "no", "code": "401"}}, errors.AuthRefused),
        (200, {"error": {"message": "no", "code": 777}, "choices": []}, errors.ProviderFailed),
        (204, "", errors.WrongAddress),
        (302, "", errors.WrongAddress),
        (400, {"error": {"message": "bad"}}, errors.RequestRefused),
        (400, {"error": {"message": "This model's maximum context length is 8 tokens"}}, errors.ContextOverflow),
        (400, {"error": {"message": "x", "code": "context_length_exceeded"}}, errors.ContextOverflow),
        (400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}, errors.ContextOverflow),
        (400, {"error": {"message": "the request exceeds the available context size"}}, errors.ContextOverflow),
        (400, {"error": {"message": "Model Not Exist"}}, errors.ModelNotOffered),
        (401, {"error": {"message": "bad key"}}, errors.AuthRefused),
        (402, {"error": {"message": "Insufficient Balance"}}, errors.AuthRefused),
        (403, HTML, errors.AuthRefused),
        (404, HTML, errors.WrongAddress),
        (404, {"error": {"message": "Invalid URL (POST /chat/completions)"}}, errors.WrongAddress),
        (404, {"error": {"message": "The model `x` does not exist"}}, errors.ModelNotOffered),
        (404, {"error": {"message": "", "code": "model_not_found"}}, errors.ModelNotOffered),
        (405, "", errors.WrongAddress),
        (408, "", errors.CallTimeout),
        (409, "", errors.ProviderFailed),
        (413, HTML, errors.ContextOverflow),
        (418, "", errors.RequestRefused),
        (422, {"detail": [{"loc": ["body", "n"], "msg": "too many tokens"}, 5]}, errors.ContextOverflow),
        (425, "", errors.ProviderFailed),
        (429, {"error": {"message": "slow down"}}, errors.RateLimited),
        (429, {"error": {"message": "pay", "code": "insufficient_quota"}}, errors.AuthRefused),
        (500, {"error": {"message": "maximum context exceeded the engine"}}, errors.ProviderFailed),
        (503, {"error": {"message": "no channel", "code": "model_not_found"}}, errors.ModelNotOffered),
        (529, HTML, errors.ProviderFailed),
    ],
)
def test_each_answer_without_a_reply_is_the_error_that_fits_it(
    status: int, body: Any, expected: type[errors.GatewayError]
) -> None:
    outcome = _read(body, status=status)
    assert isinstance(outcome, Fault)
    assert type(outcome.error) is expected


def test_a_page_is_known_by_its_content_type_too() -> None:
    outcome = _read("Welcome", headers={"content-type": "text/html; charset=utf-8"})
    assert isinstance(outcome, Fault)
    assert isinstance(outcome.error, errors.WrongAddress)


def test_an_error_message_says_what_to_do_and_repeats_nothing_of_the_answer() -> None:
    for status in (302, 400, 401, 402, 403, 404, 408, 409, 413, 429, 500):
        outcome = _read({"error": {"message": "canary", "param": "canary", "code": "canary"}}, status=status)
        assert isinstance(outcome, Fault)
        said = str(outcome.error)
        assert "canary" not in said
        assert str(status) in said
        assert said.count(". ") >= 1


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"error": {"message": "no", "param": "temperature"}}, "temperature"),
        ({"error": {"message": "Unsupported value: 'temperature'", "param": None}}, "temperature"),
        ({"error": "temperature is not supported"}, "temperature"),
        ({"message": "max_tokens is not supported"}, "max_tokens"),
        ({"detail": [{"loc": ["body", "response_format", 0], "msg": "extra"}]}, "response_format"),
        ({"detail": "unknown field seed"}, "seed"),
        ("seed is not allowed", "seed"),
    ],
)
def test_a_refusal_names_the_parameter_in_any_of_the_usual_forms(body: Any, param: str) -> None:
    outcome = _read(body, status=400)
    assert isinstance(outcome, Fault)
    names = {name for name in ("temperature", "max_tokens", "response_format", "seed") if outcome.problem.names(name)}
    assert names == {param}


def test_a_stated_parameter_outweighs_words_in_the_message() -> None:
    outcome = _read({"error": {"message": "max_tokens with this temperature", "param": "max_tokens"}}, status=400)
    assert isinstance(outcome, Fault)
    assert not outcome.problem.names("temperature")
