"""The fixed words of a summary in Chinese: titles, heads of tables, names of lines. JSON keys stay English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from misjudge_tools.summary.deciding.phrases import Language

_language: ContextVar[Language] = ContextVar("language", default="en")

ZH: Mapping[str, str] = {
    # heads of tables
    "judge": "裁判",
    "policy": "规则",
    "gap": "差距",
    "agent": "智能体",
    "rule": "规则",
    "p": "p",
    "near": "接近",
    "farther": "较远",
    "near − farther": "接近 − 较远",
    "wide": "差距大",
    "bucket": "分组",
    "range": "范围",
    "pairs": "配对",
    "decidable": "可判定",
    "misselected": "误选",
    "wrong, of decided": "错误，占已判定",
    "wrong,\nof decided": "错误，\n占已判定",
    "decided": "已判定",
    "calls\na pair": "每配对\n调用",
    "USD\na pair": "每配对\n美元",
    "USD a\nright pair": "每正确\n配对美元",
    "wrong, per call": "错误，按调用",
    "wrong,\nper call": "错误，\n按调用",
    "of decided/decidable": "占已判定/可判定",
    "of decided/\ndecidable": "占已判定/\n可判定",
    "flips": "翻转",
    "right": "正确",
    "first": "选先者",
    "rank correlation": "排序相关",
    "agents": "智能体",
    "by": "依据",
    "did the task": "完成任务",
    "satisfied\nthough failed": "失败却\n满意",
    "not\nknown": "未知",
    "ends": "结束方式",
    "flags": "标记",
    "point": "要点",
    "to do": "待办",
    # titles
    "Audit {audit}": "审计 {audit}",
    "Audit {audit}, judge {judge}": "审计 {audit}，裁判 {judge}",
    "Audit {audit}: pairs (95 % intervals in brackets)": "审计 {audit}：配对（括号内为 95 % 区间）",
    "Audit {audit}: agent pairs ranked wrongly": "审计 {audit}：排序错误的智能体对",
    "Agents: tasks done (95 % intervals in brackets)": "智能体：完成的任务（括号内为 95 % 区间）",
    "Misselected by gap, per single call": "按差距的误选，按单次调用",
    "Misselected per single call, near pairs against farther ones (95 % intervals in brackets)": (
        "按单次调用的误选，接近的配对与较远的配对（括号内为 95 % 区间）"
    ),
    "Policies: when to take a verdict": "规则：何时采信判定",
    "Before a release: {done} of {all} points hold": "发布前：{all} 个要点中 {done} 个成立",
    # names of lines
    "which side was better": "哪一方更好",
    "what the judge says of them": "裁判的结论",
    "misselected, per single call": "误选，按单次调用",
    "misselected, decided pairs": "误选，已判定的配对",
    "misselected of all pairs of known gold, alike or undecided too": "误选，占全部已知答案的配对（含相同与未判定）",
    "verdict flips with the order": "判定随顺序翻转",
    "verdict moves to or from a tie": "判定变为平局或由平局变来",
    "answers naming the side shown first": "选先展示一方的回答",
    "accuracy, mean of the orders": "准确率，两种顺序的均值",
    "same verdict in both orders": "两种顺序判定相同",
    "vote accuracy over both orders": "两种顺序投票的准确率",
    "failed, of satisfied": "失败，占满意者",
    "failed, of all": "失败，占全部",
    "relative risk, AUC": "相对风险、AUC",
    "agent pairs ranked wrongly": "排序错误的智能体对",
    "rank correlation of agents": "智能体的排序相关",
    "unscored": "未评分",
    "verdicts": "判定",
    # sentences
    "one_call counts calls, the others pairs. 95 % intervals in brackets.": (
        "one_call 按调用计，其余按配对计。括号内为 95 % 区间。"
    ),
    "Trusted operating region, at most {limit} wrong: {policy}. It decides {coverage}, at most {bound} of that "
    "wrongly ({how}; {tasks} tasks).": (
        "可信操作区间，错误至多 {limit}：{policy}。它判定 {coverage}，其中错误至多 {bound}（{how}；{tasks} 个任务）。"
    ),
    "Trusted operating region, at most {limit} wrong: none. Even without an error it takes {fewest} tasks that a "
    "policy decides; here it is at most {tasks} ({how}).": (
        "可信操作区间，错误至多 {limit}：无。即使没有错误，规则也需要判定 {fewest} 个任务；"
        "这里至多 {tasks} 个（{how}）。"
    ),
    "Trusted operating region, at most {limit} wrong: none. Already {policy} may be wrong in {bound} ({how}; {tasks} "
    "tasks).": "可信操作区间，错误至多 {limit}：无。{policy} 的错误率已可能达到 {bound}（{how}；{tasks} 个任务）。",
    "one-sided {level} % bound, a task counting once, fixed sequence from the strictest policy on": (
        "单侧 {level} % 上界，每个任务只计一次，从最严格的规则起按固定顺序检验"
    ),
    "{gap}: near is {near}, farther is {far}; {tasks}.": "{gap}：接近为 {near}，较远为 {far}；{tasks}。",
    "{near} and {far} decidable pairs of {tasks} tasks, {both} with both": (
        "{tasks} 个任务的 {near} 个和 {far} 个可判定配对，其中 {both} 个任务两者都有"
    ),
    "{gap}: near pairs are not shown to be worse.": "{gap}：没有显示接近的配对更差。",
    "They may still be worse: an audit of this size can miss even the largest difference.": (
        "但仍有可能更差：这样规模的审计连最大的差异也可能看不出来。"
    ),
    "They may still be worse: an audit of this size can miss a difference of less than {points} points (one that "
    "large shows in 80 of 100 such audits).": (
        "但仍有可能更差：这样规模的审计可能看不出小于 {points} 个百分点的差异（这么大的差异在 100 次这样的审计中有 80 "
        "次能看出）。"
    ),
    "interval: anytime. Runs ended where enough was known, and spared {pairs} pairs and {calls} calls, of all "
    "judges.": ("区间：anytime（随时有效）。运行在已知足够时结束，所有裁判合计省去 {pairs} 个配对和 {calls} 次调用。"),
    "Replies are missing unevenly: {arm} in {unscored} of {calls} calls ({share}). What is left is no fair sample.": (
        "缺失的回复不均匀：{arm} 的 {calls} 次调用中缺 {unscored} 次（{share}）。剩下的不是公平的样本。"
    ),
}
"""English → Chinese; what is not here stays English."""


@contextmanager
def in_language(language: Language) -> Iterator[None]:
    """Print in this language inside."""
    before = _language.set(language)
    try:
        yield
    finally:
        _language.reset(before)


def word(english: str, /, **named: object) -> str:
    """A fixed word or sentence in the language in force, with what it names."""
    said = ZH.get(english, english) if _language.get() == "zh" else english
    return said.format(**named) if named else said
