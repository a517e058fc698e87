"""The hashing contract: what changes an id, what does not, and ids that must never change."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.hashing import canonical, digest, fence_token, template_hash

TEXT = st.text(st.characters(), max_size=8)  # lone surrogates too
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def reordered(value: Any) -> Any:
    """The same value with the keys of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: reordered(inner) for key, inner in reversed(value.items())}
    return [reordered(inner) for inner in value] if isinstance(value, list) else value


@given(VALUES)
def test_the_order_of_keys_never_changes_a_digest(value: Any) -> None:
    assert digest("t", reordered(value)) == digest("t", value)


@given(VALUES)
def test_the_canonical_form_says_the_whole_value(value: Any) -> None:
    assert json.loads(canonical(value)) == value


def test_the_order_of_a_list_changes_a_digest() -> None:
    assert digest("t", [1, 2]) != digest("t", [2, 1])


@pytest.mark.parametrize("other", [1.0, "1", True, [1], None])
def test_values_that_differ_in_kind_differ_in_digest(other: object) -> None:
    assert digest("t", other) != digest("t", 1)


def test_the_same_value_under_another_tag_has_another_hash() -> None:
    assert digest("tsk", "x").split("_")[1] != digest("lab", "x").split("_")[1]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinity_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        digest("t", {"score": [number]})


def test_lone_surrogates_hash_and_differ_from_each_other() -> None:
    ids = {digest("t", text) for text in ("\ud800", "\udfff", "\ufffd", "?")}
    assert len(ids) == 4
    assert template_hash("\ud800") != template_hash("\udfff")
    assert fence_token("secret", "\ud800") != fence_token("secret", "\udfff")


def test_text_is_hashed_as_utf8_without_escapes() -> None:
    assert canonical({"b": "甲", "a": [1, 0.5, None, True]}) == '{"a":[1,0.5,null,true],"b":"甲"}'


def test_digests_are_what_they_were_in_the_first_release() -> None:
    by_hand = hashlib.sha256(b'tsk\0{"a":[1,2.5,null],"b":"\xe7\x94\xb2"}').hexdigest()
    assert by_hand == "9578d4d4bb7aa5c08f3cb7788aa85f933a9bb8373b9753403d0757a1197615e5"
    assert digest("tsk", {"b": "甲", "a": [1, 2.5, None]}) == "tsk_9578d4d4bb7aa5c08f3cb778"
    assert hashlib.sha256(b'aud\0"demo"').hexdigest().startswith("9c74c0d9546f1fb685a2621f")
    assert digest("aud", "demo") == "aud_9c74c0d9546f1fb685a2621f"


def test_a_template_hash_is_the_start_of_its_sha256() -> None:
    assert hashlib.sha256(b"Which is better?\n").hexdigest().startswith("56ba738bc14dab21")
    assert template_hash("Which is better?\n") == "56ba738bc14dab21"


def test_a_fence_token_is_the_start_of_an_hmac_over_its_parts() -> None:
    assert hmac.new(b"secret", b'["p1","AB",0]', "sha256").hexdigest().startswith("7fbb07252983eacc")
    assert fence_token("secret", "p1", "AB", 0) == "7fbb07252983eacc"


@pytest.mark.parametrize("other", [("secret", "p1", "BA", 0), ("secret", "p1", "AB", 1), ("other", "p1", "AB", 0)])
def test_a_fence_token_changes_with_the_secret_and_each_part(other: tuple[str, str, str, int]) -> None:
    assert fence_token(*other) != fence_token("secret", "p1", "AB", 0)


def test_the_parts_of_a_fence_token_do_not_run_together() -> None:
    assert fence_token("secret", "a", "bc") != fence_token("secret", "ab", "c")
