"""The words of the label page in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from misjudge_tools.labelling.giving import NO_PAIRS, NOTHING_LEFT
from misjudge_tools.labelling.recording import UNKNOWN
from misjudge_tools.results import MARK_EPISODES
from misjudge_tools.summary.deciding.phrases import Language

CHOOSE: Final = "Say which response was better, A, B or tie, and save again. Nothing was saved."
CHOOSE_DONE: Final = (
    "Whether a response did the task is yes, no or unsure, or left out. Nothing was saved; choose and save again."
)
CORRECTED: Final = "Saved as a correction. What you said before stays stored, and this counts."
NOT_OURS: Final = "That was not the form of this page. Nothing was saved; answer here and save again."
NOT_READ: Final = "The store could not be read or written just now. Nothing was saved; try again."
SAVED: Final = "Saved."
STOOD: Final = "This was saved already, so nothing was added."

ZH: Final[Mapping[str, str]] = {
    CHOOSE: "请选择哪个回复更好（A、B 或平局），然后重新保存。尚未保存任何内容。",
    CHOOSE_DONE: "回复是否完成任务只能选是、否、不确定，或不填。尚未保存任何内容，请选择后重新保存。",
    CORRECTED: "已作为更正保存。之前的标注仍会保留，以这次为准。",
    MARK_EPISODES: "SIMULATED（模拟）：这些会话由脚本或模拟的智能体和客户生成",
    NO_PAIRS: "此审计中没有带两份对话记录的配对，因此没有可供比较的内容。",
    NOTHING_LEFT: "没有留给您的配对了：每个配对都已有所需的标注，或正由他人标注。",
    NOT_OURS: "提交的不是此页面的表单。尚未保存任何内容，请在此作答后重新保存。",
    NOT_READ: "暂时无法读写数据库。尚未保存任何内容，请重试。",
    SAVED: "已保存。",
    STOOD: "此前已保存过，未新增内容。",
    UNKNOWN: "没有以此标记给过您的配对。请打开下一个配对。",
    "A": "A",
    "B": "B",
    "Back to the last one": "回到上一个",
    "Close": "关闭",
    "Did {side} do the task?": "{side} 完成任务了吗？",
    "Go on to the next pair": "继续下一个配对",
    "Keys": "按键",
    "Nothing is left": "全部完成",
    "Response {side}": "回复 {side}",
    "Save and go on": "保存并继续",
    "Show {first} to {last} of {all} characters": "显示第 {first} 至 {last} 个字符（共 {all} 个）",
    "Single keys answer": "用单个按键作答",
    "Task": "任务",
    "That did not work": "未能完成",
    "The command ends in about a minute. Until then you can go back and correct what you said.": (
        "命令将在约一分钟后结束。在此之前，您可以返回更正。"
    ),
    "What counts as done": "怎样算完成",
    "What must hold": "必须遵守",
    "Which response was better?": "哪个回复更好？",
    "You labelled this pair before. Saving another answer corrects it.": "您标注过此配对。保存其他答案即为更正。",
    "assistant": "助手",
    "better": "更好",
    "go back and correct the last one": "返回并更正上一个",
    "it is empty": "内容为空",
    "optional": "可不填",
    "save, and go on": "保存并继续",
    "show or hide these keys": "显示或隐藏这些按键",
    "tie": "平局",
    "tool call": "工具调用",
    "tool result": "工具结果",
    "unsure": "不确定",
    "user": "用户",
    "whether A did the task, then whether B did: yes, no, unsure": "A 是否完成任务，然后 B 是否完成：是、否、不确定",
    "which response was better: A, B, or a tie": "哪个回复更好：A、B 或平局",
    "yes": "是",
    "no": "否",
    "{labelled} labelled, {left} left": "已标注 {labelled} 个，还剩 {left} 个",
    "{reviewer} labels": "标注者：{reviewer}",
}


def said(english: str, language: Language, /, **named: object) -> str:
    """The words in this language, with what they name; what has no Chinese stays English."""
    text = ZH.get(english, english) if language == "zh" else english
    return text.format(**named) if named else text
