"""What charts say, in English and Chinese. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from misjudge_tools.report.chart_labels import shown
from misjudge_tools.summary.deciding.phrases import Language, Phrase

SIMULATED = "SIMULATED"
"""The mark of made-up results; it is the same in both languages."""

GAPS: Mapping[str, Phrase] = {
    "ability": Phrase("By ability: how far apart the agents are", "按能力：智能体相差多远"),
    "reward": Phrase("By reward: how far apart the two rewards are", "按奖励：两个奖励相差多远"),
    "judge_score": Phrase(
        "By the judge's own scores (circular: no evidence of ability)", "按裁判自己的评分（循环，不能证明能力）"
    ),
}
BUCKETS: Mapping[str, Phrase] = {
    "near": Phrase("near", "接近"),
    "small": Phrase("small", "小"),
    "medium": Phrase("medium", "中"),
    "wide": Phrase("wide", "大"),
}
FORMS: Mapping[str, Phrase] = {
    "satisfaction": Phrase("satisfaction score", "满意度评分"),
    "gate": Phrase("gate score", "门控评分"),
    "proxy": Phrase("proxy score", "代理评分"),
    "rubric": Phrase("rubric", "评分细则"),
}
CELLS: Mapping[str, Phrase] = {
    "satisfied_failed": Phrase("satisfied, but failed", "满意，但失败"),
    "satisfied_succeeded": Phrase("satisfied and succeeded", "满意且成功"),
    "unsatisfied_failed": Phrase("not satisfied, and failed", "不满意且失败"),
    "unsatisfied_succeeded": Phrase("not satisfied, but succeeded", "不满意，但成功"),
}
COLUMNS: Mapping[bool, Phrase] = {True: Phrase("satisfied", "满意"), False: Phrase("not satisfied", "不满意")}
ROLES: Mapping[str, Phrase] = {
    "judge": Phrase("judge", "裁判"),
    "agent": Phrase("agents", "智能体"),
    "user_sim": Phrase("simulated users", "模拟用户"),
    "probe": Phrase("probes", "探测"),
    "success_check": Phrase("models that check success", "检查成败的模型"),
    "rubric_generate": Phrase("rubric writers", "细则撰写者"),
    "rubric_match": Phrase("rubric matchers", "细则匹配者"),
    "rubric_apply": Phrase("judges of rules", "按细则评判者"),
}
PROBES: Mapping[str, Phrase] = {
    "swapped_order": Phrase("the sides in the other order", "两方换序"),
    "padding": Phrase("filler in one side", "一方加填充"),
    "politeness": Phrase("one side polite", "一方礼貌"),
    "apology": Phrase("one side sorry", "一方道歉"),
    "promise": Phrase("work promised, not done", "承诺而未做"),
    "markdown": Phrase("markdown and emoji", "markdown 与表情符号"),
    "confidence": Phrase("a confident tone", "自信的语气"),
    "authority": Phrase("“a supervisor verified it”", "“主管已核实”"),
    "bandwagon": Phrase("“most people prefer it”", "“多数人更喜欢它”"),
    "injected_user": Phrase("order to the judge, by the user", "用户话中的对裁判指令"),
    "injected_tool": Phrase("order to the judge, in a tool result", "工具结果中的对裁判指令"),
    "self_praise": Phrase("the agent praises itself", "智能体自夸"),
    "criteria_order": Phrase("the criteria in another order", "准则换序"),
    "whitespace": Phrase("whitespace, the null control", "空白（零对照）"),
}
POLICIES: Mapping[str, Phrase] = {
    "one_call": Phrase("one_call", "one_call（单次调用）"),
    "both_orders": Phrase("both_orders", "both_orders（两种顺序）"),
    "repeats": Phrase("repeats", "repeats（重复）"),
    "panel_majority": Phrase("panel_majority", "panel_majority（多数）"),
    "panel_unanimity": Phrase("panel_unanimity", "panel_unanimity（一致）"),
    "cascade": Phrase("cascade", "cascade（级联）"),
}
MARGIN = Phrase("{policy}", "{policy}（分差）")
ON_FAILED = Phrase("{probe}, failed side", "{probe}，失败方")
FOOLED = Phrase("{probe}: fooled", "{probe}：受骗")

TITLES: Mapping[str, Phrase] = {
    "misselection_by_gap": Phrase("How often the judge picked the side that failed", "裁判选中失败一方的频率"),
    "risk_coverage": Phrase("What abstaining buys: errors against coverage", "弃判换来什么：错误与覆盖率"),
    "satisfaction_success": Phrase("Satisfied, and did it succeed?", "满意，但成功了吗？"),
    "flips_position": Phrase("Does the order of the sides decide?", "顺序会左右判定吗？"),
    "cost_by_role": Phrase("What it cost, by role", "各角色的花费"),
    "rubric_quality": Phrase("How well written rubrics stand for the gold ones", "所写细则能否代表标准细则"),
    "drift_forest": Phrase("What changed since the baseline", "自基线以来的变化"),
    "probes": Phrase("What the judge can be fooled by", "什么能骗过裁判"),
}

FIXED = Phrase("Bars are 95 % intervals.", "横线为 95 % 区间。")
ANYTIME = Phrase("Bars are 95 % anytime intervals: runs stopped by what they saw.", "横线为随时有效的 95 % 区间。")
PER_CALL = Phrase(
    "Wrong among single answers on decidable pairs (n).", "单次回答中的错误，限可判定的配对（n 为回答数）。"
)
LIMIT_MARK = Phrase("Upright mark: the limit of {limit}.", "竖标：{limit} 的上限。")
LIMIT_LINE = Phrase("Dashed: the limit of {limit}.", "虚线：{limit} 的上限。")
JUDGES_LEFT_OUT = Phrase(
    "{shown} of {all} judges are drawn; the summary has all.", "只画出 {all} 个裁判中的 {shown} 个；摘要中有全部。"
)
ROWS_LEFT_OUT = Phrase(
    "{shown} of {all} rows are drawn; the summary has all.", "只画出 {all} 行中的 {shown} 行；摘要中有全部。"
)
POINTS = Phrase("percentage points", "百分点")
BY_GOLD = Phrase("How often the judge picked the side that gold calls worse", "裁判选中标准答案认为较差一方的频率")
"""A title in place of another one, where no side is known to have failed."""

RISK_AXIS = Phrase("wrong, of what it decides", "错误，占已判定")
COVERAGE_AXIS = Phrase("decided, of decidable pairs", "已判定，占可判定的配对")
RISK_LINES = Phrase(
    "Each number is a rule for when to take a verdict. Bars are 95 % intervals.",
    "每个数字是一条采信判定的规则。竖线为 95 % 区间。",
)
WEDGE = Phrase("A wedge is the one-sided upper bound.", "楔形为单侧上界。")
TRUSTED = Phrase(
    "Shaded: the trusted region, {policy}. It decides {coverage}, at most {bound} of that wrongly (one-sided {level} "
    "bound, n={tasks} tasks).",
    "阴影：可信区间，{policy}。判定 {coverage}，其中错误至多 {bound}（单侧 {level} 上界，n={tasks} 个任务）。",
)
NO_REGION = Phrase("No region is certified: runs stopped by what they saw.", "没有证实的区间：运行依所见而停。")
NOT_TRUSTED = Phrase("No rule is certified to stay under the limit.", "没有规则被证实低于上限。")
DECIDES = Phrase("{policy}, decides {decided}", "{policy}，判定 {decided}")
BOUND = Phrase("{policy}, bound {bound}", "{policy}，上界 {bound}")

MOSAIC_LINES = Phrase("Areas are numbers of sessions with a known outcome.", "面积为结果已知的会话数。")
FAILED_OF_SATISFIED = Phrase("failed, of satisfied", "失败，占满意者")
COLUMN_COUNT = Phrase("{column}: {count}", "{column}：{count}")

FLIPS = Phrase("Verdicts that change sides with the order", "换序后改判另一方的判定")
SOFT_FLIPS = Phrase("Verdicts that move to or from a tie with the order", "换序后变为或脱离平局的判定")
FIRST = Phrase("Answers that name the side shown first", "选先展示一方的回答")
NO_LEANING = Phrase("Upright mark: 50 %, what an even-handed judge would show.", "竖标：50 %，不偏不倚的裁判应有的值。")

COST_LINES = Phrase("USD. An unknown price is never counted as 0.", "美元。未知价格从不记为 0。")
COST = Phrase("{cost}, {calls} calls", "{cost}，{calls} 次调用")
AT_LEAST = Phrase("at least {cost}, {calls} calls", "至少 {cost}，{calls} 次调用")
NO_PRICE = Phrase("no known price, {calls} calls", "价格未知，{calls} 次调用")

RECALL = Phrase("Gold rules that the writer found (recall)", "撰写者找到的标准规则（召回）")
HALLUCINATION = Phrase("Written rules that no gold rule means (hallucination)", "不对应任何标准规则的所写规则（虚构）")
MATCHED_BY = Phrase("{writer}, by {matcher}", "{writer}，匹配者 {matcher}")

DRIFT_LINES = Phrase(
    "Right verdicts now minus in the baseline, in percentage points. Right of the mark is better.",
    "现在的正确判定减去基线的，单位百分点。竖标右侧为更好。",
)
DRIFT: Mapping[str, Phrase] = {
    "difference": Phrase("all shared pairs", "全部共有的配对"),
    "single_call": Phrase("the same, per single call", "同上，按单次调用"),
    "judge": Phrase("of it: the judge (unchanged pairs)", "其中：裁判（未变的配对）"),
    "rest": Phrase("of it: everything else", "其中：其余一切"),
}
BASELINE = Phrase("Baseline: {baseline}", "基线：{baseline}")

PROBE_LINES = Phrase(
    "Verdicts that a meaningless change turns, beyond those that turn when merely asked again, in percentage points.",
    "无意义的改动使判定改变的比例，减去仅重复提问时改变的比例，单位百分点。",
)
ALT = Phrase("{title}: {rows}.", "{title}：{rows}。")
ALT_MARKED = Phrase("SIMULATED, made-up results. {alt}", "SIMULATED，编造的结果。{alt}")
ALT_ROW = Phrase("{label}: {figures}", "{label}：{figures}")
ALT_PANEL = Phrase("{title}, {row}", "{title}，{row}")

_RANGES = (
    (re.compile(r"up to (\S+)"), r"至多 \1"),
    (re.compile(r"above (\S+) to (\S+)"), r"\1 以上至 \2"),
    (re.compile(r"above (\S+)"), r"\1 以上"),
    (re.compile(r"\|ΔR\| below (\S+)"), r"|ΔR| 低于 \1"),
    (re.compile(r"\|ΔR\| of (\S+) and more"), r"|ΔR| 不低于 \1"),
)


def in_words(words: Mapping[str, Phrase], name: str, language: Language) -> str:
    """What people call it; the name itself, as a picture shows it, where nothing else is known."""
    return words[name].say(language) if name in words else shown(name)


def range_in_words(text: str, language: Language) -> str:
    """The range of a bucket; the summary has it in English."""
    if language == "zh":
        for pattern, said in _RANGES:
            if pattern.fullmatch(text):
                return pattern.sub(said, text)
    return text


def policy_in_words(name: str, language: Language) -> str:
    """A rule by its name, which is the one that gates know; in Chinese with what it means."""
    if name.startswith("margin"):
        return MARGIN.say(language, policy=name)
    return in_words(POLICIES, name, language)
