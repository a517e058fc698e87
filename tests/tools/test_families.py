"""Which family a model is of, by the names that gateways and hubs give it."""

from __future__ import annotations

import pytest

from misjudge_tools.gateway.families import FAMILIES, family_of

NAMES = {
    "openai": "gpt-4 openai/gpt-4o-2024-08-06 chatgpt-4o-latest o1 o3-mini openai/some-new-name gpt-oss-120b "
    "ft:gpt-4o:org::id ft:gpt-4o-mini-2024-07-18:claude-fans::x1 my-openai-deployment GPT-4 ｇｐｔ－４",
    "anthropic": "claude-3-5-sonnet-20241022 anthropic/claude-opus-4 anthropic.claude-3-haiku-20240307-v1:0 "
    "us.anthropic.something-1",
    "google": "gemini-2.5-pro models/gemini-1.5-flash google/gemma-2-9b-it google/other codegemma-7b",
    "qwen": "Qwen/Qwen2.5-7B-Instruct qwen-max QwQ-32B 通义千问-Max",
    "deepseek": "deepseek-v3 deepseek-r1-distill-qwen-32b deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
    "meta": "meta-llama/Llama-3-8b llama3 accounts/fireworks/models/llama-v3p1-70b-instruct vicuna-13b-v1.5 "
    "nvidia/Llama-3.1-Nemotron-70B-Instruct NousResearch/Hermes-3-Llama-3.1-8B meta/other-1",
    "mistral": "mistralai/Mixtral-8x7B-Instruct-v0.1 mistral-large-latest codestral",
    "zhipu": "glm-4-plus THUDM/chatglm3-6b zai-org/other",
    "moonshot": "moonshot-v1-8k kimi-k2-0711-preview moonshotai/other",
    "baidu": "ernie-4.0-8k ERNIE-Bot-turbo 文心一言 baidu/other",
    "bytedance": "doubao-1.5-pro-32k 豆包",
    "xai": "x-ai/grok-4 grok-beta x-ai/other",
    "microsoft": "microsoft/Phi-4 phi3 microsoft/other",
    "tencent": "hunyuan-large 混元",
    "01ai": "yi-34b-chat 01-ai/Yi-1.5-34B yi-lightning",
    "minimax": "abab6.5s-chat MiniMax-M1",
    "cohere": "command-r-plus command-r cohere/command-a-03-2025 CohereForAI/other",
    "smollm": "SmolLM2-135M-Instruct HuggingFaceTB/other",
    "nvidia": "nvidia/nemotron-4-340b",
    "eleuther": "gpt-neox-20b gpt-j-6b EleutherAI/pythia-12b",
}
UNKNOWN = (
    *("", "judge-m", "judge-model-1", "simulated-judge", "vendor/alpha-2-mini", "small-model-2", "strong", "model-a"),
    *("meta-judge", "google-like", "azure/my-deployment", "foo1", "sophia-2", "metallama", "agent-model", "/", "ft:"),
)


@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family, names in NAMES.items() for name in names.split()]
)
def test_a_name_tells_the_family(family: str, name: str) -> None:
    assert family_of(name) == family


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_name_that_tells_no_family_is_of_none(name: str) -> None:
    assert family_of(name) is None


def test_every_family_is_told_apart_and_has_a_name() -> None:
    assert len({one.key for one in FAMILIES}) == len(FAMILIES)
    assert all(one.names or one.words or one.forms for one in FAMILIES)


def test_a_name_of_any_length_is_answered_at_once() -> None:
    assert family_of("x-" * 1_000_000 + "gpt-4") is None
