"""People ask in their own words, in both languages, and the tool that they need is found first."""

from __future__ import annotations

import pytest

from misjudge_server.listing import tool_of
from misjudge_server.tool_table import TOOLS
from tool_search import codex_text, ranking, tokens, wide_text

SAID = {
    "summarize_audit": [
        "summarize the audit",
        "is my LLM judge biased",
        "can I trust this judge",
        "misselection rate",
        "position bias of the judge",
        "satisfaction against task success",
        "kappa agreement with humans",
        "tokens and cost of the audit",
        "误选率",
        "位置偏差",
        "这个裁判可信吗",
        "满意度与成功率",
    ],
    "import_records": ["import my judge log from a CSV file", "load a preference dataset", "导入评判日志"],
    "export_records": ["export training data for DPO", "sarif for code scanning", "导出训练数据"],
    "write_report": ["write an HTML report with charts", "生成审计报告"],
    "review": ["human annotation", "label pairs by hand", "人工标注"],
    "judge": ["which of two responses is better", "rejudge with another model", "哪个回答更好"],
    "probe_judge": [
        "reward hacking",
        "does the judge prefer long answers: length bias",
        "can prompt injection fool the judge",
        "奖励作弊",
        "长度偏差",
        "提示注入攻击",
    ],
    "score_rubrics": ["rubric quality", "let the model write its own checklist", "评分准则质量"],
    "run_pair": ["compare two agents", "run agents on customer service tasks", "比较两个智能体"],
    "read_record": ["show the raw reply of the judge", "list of audits", "读取原始回复"],
    "runs": ["is the background run done", "cancel the run", "取消后台运行"],
    "check_setup": ["check my setup", "401 invalid API key", "Codex does not start", "连接失败", "密钥不对"],
}
ASKED = [(words, tool) for tool, several in SAID.items() for words in several]
LISTED = {name: tool_of(name, entry) for name, entry in TOOLS.items()}


def test_enough_is_asked_of_every_tool_in_both_languages() -> None:
    assert SAID.keys() == TOOLS.keys()
    assert len(ASKED) >= 30
    for several in SAID.values():
        assert any(words.isascii() for words in several) and any(not words.isascii() for words in several)


@pytest.mark.parametrize("indexed", [codex_text, wide_text])
@pytest.mark.parametrize(("words", "tool"), ASKED)
def test_what_people_say_finds_the_right_tool_first(words: str, tool: str, indexed: object) -> None:
    assert callable(indexed)
    found = ranking({name: indexed(listed) for name, listed in LISTED.items()}, words)
    assert found[:1] == [tool], found[:4]


def test_a_word_that_no_tool_bears_finds_none() -> None:
    texts = {name: codex_text(listed) for name, listed in LISTED.items()}
    assert ranking(texts, "weather forecast, 天气") == []


def test_words_are_compared_by_their_stems_and_chinese_by_characters() -> None:
    assert tokens("The judges JUDGED 误选率") == ["judg", "judg", "误", "选", "率"]
