"""What people write to name an agent."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput
from misjudge_tools.episodes.naming import canonical_name, choose_agent, is_scripted
from misjudge_tools.episodes.settings import ChatAgent, EpisodeSettings, RecordedAgent, ScriptedAgent
from misjudge_tools.profiles import ModelSettings, Profile

RECORDED = RecordedAgent(kind="recorded", file=Path("runs.json"))
EPISODES = EpisodeSettings(agents={"gpt-4o": RECORDED, "mine": ChatAgent(profile="strong", max_steps=5)})
MODELS = ModelSettings(profiles={"strong": Profile(name="strong"), "padder-2": Profile(name="padder-2")})


def chosen(name: str) -> object:
    return choose_agent(name, EPISODES, MODELS)


@pytest.mark.parametrize("name", ["diligent", "hasty", "smooth_talker", "padder", "refuser"])
def test_a_shipped_agent_goes_by_its_name(name: str) -> None:
    assert chosen(name) == ScriptedAgent.model_validate({"policy": name})
    assert canonical_name(name) == name
    assert is_scripted(name)


@pytest.mark.parametrize(
    ("name", "share", "canonical"),
    [
        ("flaky:0.95", 0.95, "flaky:0.95"),
        ("flaky:.95", 0.95, "flaky:0.95"),
        ("flaky:0.950", 0.95, "flaky:0.95"),
        ("flaky:00.95", 0.95, "flaky:0.95"),
        ("flaky:0.60", 0.6, "flaky:0.6"),
        ("flaky:1", 1.0, "flaky:1"),
        ("flaky:1.", 1.0, "flaky:1"),
        ("flaky:1.0", 1.0, "flaky:1"),
        ("flaky:0", 0.0, "flaky:0"),
        ("flaky:0.0", 0.0, "flaky:0"),
        ("flaky:0.000001", 0.000001, "flaky:0.000001"),
    ],
)
def test_a_share_has_one_way_of_writing(name: str, share: float, canonical: str) -> None:
    assert chosen(name) == ScriptedAgent(policy="flaky", share=share)
    assert canonical_name(name) == canonical
    assert canonical_name(canonical) == canonical
    assert chosen(canonical) == chosen(name)


@given(share=st.floats(0, 1))
def test_shares_are_one_agent_exactly_if_their_names_are(share: float) -> None:
    name = canonical_name(f"flaky:{share:.9f}")
    found = chosen(name)
    assert isinstance(found, ScriptedAgent)
    assert found.share == pytest.approx(share, abs=1e-6)
    assert chosen(f"flaky:{share:.9f}") == found


@pytest.mark.parametrize(
    "name",
    [
        "flaky",
        "flaky:",
        "flaky:1.01",
        "flaky:-0.5",
        "flaky:nan",
        "flaky:inf",
        "flaky:1e-1",
        "flaky:0,95",
        "flaky:95%",
        "flaky: 0.95",
        "flaky:0.95 ",
        "flaky:.",
        "flaky:0.9.5",
        "flaky:٠",
        "flaky:" + "9" * 400,
        "Flaky:0.95",
        "flaky0.95",
        "flaky-0.95",
        "flaky 0.95",
    ],
)
def test_a_share_that_is_none_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^flaky needs the share .* as in flaky:0\.95\.$"):
        chosen(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("smoothtalker", "smooth_talker"),
        ("smooth-talker", "smooth_talker"),
        ("Smooth Talker", "smooth_talker"),
        ("smoth_talker", "smooth_talker"),
        ("Diligent", "diligent"),
        ("dilligent", "diligent"),
        ("HASTY", "hasty"),
        ("pader", "padder"),
        ("refuser ", "refuser"),
        ("refusers", "refuser"),
    ],
)
def test_a_near_miss_is_refused_with_the_name_that_was_meant(name: str, meant: str) -> None:
    with pytest.raises(InvalidInput, match=f"Did you mean '{meant}'"):
        chosen(name)


def test_a_configured_agent_goes_before_a_model_of_its_name() -> None:
    assert chosen("gpt-4o") == RECORDED
    assert chosen("mine") == ChatAgent(profile="strong", max_steps=5)
    assert canonical_name("mine") == "mine"


@pytest.mark.parametrize(
    "name", ["strong", "padder-2", "gpt-4o-mini", "vendor/flaky-model", "flakyr1-7b", "千问", "hi"]
)
def test_any_other_name_is_a_profile_or_a_model(name: str) -> None:
    assert chosen(name) == ChatAgent(profile=name)
    assert canonical_name(name) == name
    assert not is_scripted(name)


@pytest.mark.parametrize("name", ["", "x" * 401, "a\0b", "\ud800"])
def test_a_name_that_cannot_be_stored_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^The name of an agent has 1 to 400 characters that can be stored\."):
        chosen(name)


@given(name=st.text())
def test_any_text_is_an_agent_or_invalid_input(name: str) -> None:
    try:
        assert chosen(name)
    except InvalidInput as error:
        assert str(error)
