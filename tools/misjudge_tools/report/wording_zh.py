"""What a report says, in Chinese. Words that a printed summary has, too, are in `summary.words`."""

from __future__ import annotations

from collections.abc import Mapping

from misjudge_tools.report.wording_zh_more import COST, GUIDES, LISTS, NAMES, OTHERS

OPENING: Mapping[str, str] = {
    "How far can {judge} be trusted?": "{judge} 可以信任到什么程度？",
    "How far can these judges be trusted?": "这些裁判可以信任到什么程度？",
    "judge {judge}": "裁判 {judge}",
    "picked the side that failed, per call": "选中失败一方，按调用",
    "picked the side that gold calls worse, per call": "选中标准答案认为较差的一方，按调用",
    "the same on near pairs": "同上，接近的配对",
    "verdict changes with the order": "判定随顺序改变",
    "picked the side that failed, of decided pairs": "选中失败一方，占已判定配对",
    "picked the side that gold calls worse, of decided pairs": "选中标准答案认为较差的一方，占已判定配对",
    "answers for the side shown first": "选先展示一方的回答",
    "failed, of those that satisfied the judge": "令裁判满意却失败",
    "failed, of all, satisfied or not": "失败，占全部（无论是否满意）",
    "AUC: does satisfaction tell success from failure (0.50: no)": "AUC：满意能否区分成功与失败（0.50：不能）",
    "pairs in the audit": "审计中的配对",
    "pairs of which one side is known to be better": "已知哪一方更好的配对",
    "{k} of {n} judges may be used on what was judged here.": "{n} 个裁判中有 {k} 个可用于此处所评判的内容。",
    "No judge has judged anything in this audit yet.": "此审计中还没有裁判做过任何评判。",
    "{judge}: picked the side that failed, per call": "{judge}：选中失败一方，按调用",
    "{judge}: picked the side that gold calls worse, per call": "{judge}：选中标准答案认为较差的一方，按调用",
    "{judge}: failed, of those that satisfied it": "{judge}：失败，占令其满意者",
    "the majority of all of them, of decided pairs": "全体多数，占已判定配对",
    "What would change this": "什么会改变这一结论",
    "Contents": "目录",
    "Each judge": "各裁判",
    "The judges side by side": "裁判对照",
    "What to do": "该做什么",
    "do this": "做法",
    "because": "理由",
    "Before a release": "发布之前",
    "{done} of {all} points hold.": "{all} 个要点中 {done} 个成立。",
    "holds": "成立",
    "yes": "是",
    "partly": "部分",
    "no": "否",
    "not_needed": "不需要",
    "How to read this": "如何阅读",
    "Not in this report, and why": "本报告没有的内容及原因",
    "Brackets hold 95 % intervals; an interval counts all observations of one task as one cluster.": (
        "方括号内为 95 % 区间；区间把同一任务的所有观测算作一个聚类。"
    ),
    "131/320 is 131 of 320; n=320 stands where a number is a mean over 320.": (
        "131/320 表示 320 个中的 131 个；n=320 表示该数是 320 个上的均值。"
    ),
    "Δ is a difference of shares in points.": "Δ 是比例之差，单位为百分点。",
    "A tie, a pair whose orders disagree and a reply that cannot be read are counted apart, never as wrong or right.": (
        "平局、两种顺序相互矛盾的配对和无法读取的回复都单独计数，从不算作错误或正确。"
    ),
    "Every number stands under its name in figures.csv and summary.json.": (
        "每个数字都以其名称出现在 figures.csv 与 summary.json 中。"
    ),
}
PAIRS: Mapping[str, str] = {
    "How often it is wrong": "出错频率",
    "picked the side that failed": "选中失败一方",
    "picked the side that gold calls worse": "选中标准答案认为较差的一方",
    "found": "结果",
    "per single call": "按单次调用",
    "of decided pairs": "占已判定配对",
    "decided, of decidable pairs": "已判定，占可判定配对",
    "of all pairs of known gold, alike or undecided too": "占全部已知答案的配对（含相同与未判定）",
    "near pairs, per call": "接近的配对，按调用",
    "picked the side that failed, near pairs, per call": "选中失败一方，接近的配对，按调用",
    "picked the side that gold calls worse, near pairs, per call": "选中标准答案认为较差的一方，接近的配对，按调用",
    "picked the side that failed, wide pairs, per call": "选中失败一方，差距大的配对，按调用",
    "picked the side that gold calls worse, wide pairs, per call": "选中标准答案认为较差的一方，差距大的配对，按调用",
    "wide pairs, per call": "差距大的配对，按调用",
    "if every undecided pair were right": "若未判定的配对全部正确",
    "if every undecided pair were wrong": "若未判定的配对全部错误",
    "decidable: one side is better": "可判定：一方更好",
    "both sides alike": "双方相同",
    "not known": "未知",
    "tie": "平局",
    "inconsistent: the orders disagree": "不一致：两种顺序矛盾",
    "weak: one order a tie": "弱：一种顺序为平局",
    "weak": "弱",
    "replies that could not be read": "无法读取的回复",
    "Of {n} pairs nobody knows which side was better: they are in no error rate.": (
        "有 {n} 个配对无人知道哪一方更好：它们不计入任何错误率。"
    ),
    "Verdicts: {asked} asked of a model here, {cached} taken from the cache, {imported} imported, {unasked} ended "
    "before any call.": (
        "判定：{asked} 个在此询问模型，{cached} 个取自缓存，{imported} 个导入，{unasked} 个在调用前结束。"
    ),
    "Intervals marked anytime hold whenever a run stops. Runs ended where enough was known, and spared {pairs} pairs "
    "and {calls} calls.": (
        "标有 anytime 的区间无论运行何时停止都成立。运行在已知足够时结束，省去 {pairs} 个配对和 {calls} 次调用。"
    ),
    "Replies are missing unevenly: {arm} in {unscored} of {calls} calls. What is left is no fair sample.": (
        "缺失的回复不均匀：{arm} 的 {calls} 次调用中缺 {unscored} 次。剩下的不是公平的样本。"
    ),
    "When to take a verdict": "何时采信判定",
    "wrong, of decided": "错误，占已判定",
    "calls a pair": "每配对调用",
    "cost a pair": "每配对成本",
    "one_call counts calls, the others pairs.": "one_call 按调用计，其余按配对计。",
    "Where judge and evidence disagree": "裁判与证据相左之处",
    "the judge": "裁判",
    "number": "数量",
    "of": "占",
    "what these are": "分母",
    "picked the side that is known to be worse": "选中已知更差的一方",
    "picks on decidable pairs": "可判定配对上的选择",
    "picked a side that failed, where the other did no better": "选中失败的一方，而另一方也没有更好",
    "picks on other pairs": "其他配对上的选择",
    "named no side where one is better": "一方更好却没有选出",
    "decidable pairs": "可判定配对",
    "scored decidable pairs": "已评判的可判定配对",
    "was satisfied with what failed": "对失败的会话满意",
    "sessions that satisfied it": "令其满意的会话",
    "Near and wide": "接近与差距大",
    "{gap} (circular)": "{gap}（循环）",
    "{gap}: near is {near}, farther is {far}; {near_pairs} and {far_pairs} decidable pairs of {tasks} tasks.": (
        "{gap}：接近为 {near}，较远为 {far}；{tasks} 个任务的 {near_pairs} 个与 {far_pairs} 个可判定配对。"
    ),
    "{gap}: near pairs are not shown to be worse; this audit could miss any difference.": (
        "{gap}：没有显示接近的配对更差；这样规模的审计连最大的差异也可能看不出。"
    ),
    "{gap}: near pairs are not shown to be worse; this audit can miss a difference below {points} points.": (
        "{gap}：没有显示接近的配对更差；这样规模的审计可能看不出小于 {points} 个百分点的差异。"
    ),
    "ability": "能力",
    "reward": "奖励",
    "judge_score": "裁判评分",
    "order_rank": "既定名次",
    "mean gate score": "门控平均分",
    "mean score": "平均分",
    "win share": "胜率",
    "By bucket": "按分组",
    "Kinds of pairs": "各类配对",
    "against the others": "与其余相比",
    "p adjusted": "校正 p",
    "Not shown: {n} further, with {pairs} pairs.": "另有 {n} 个取值（{pairs} 个配对）未列出。",
    "None of the {n} kinds that were tested stands out (Benjamini–Hochberg, 5 %).": (
        "检验过的 {n} 类中没有突出者（Benjamini–Hochberg，5 %）。"
    ),
    "* stands out among the {n} kinds that were tested (Benjamini–Hochberg, 5 %).": (
        "* 在检验过的 {n} 类中突出（Benjamini–Hochberg，5 %）。"
    ),
    "What this audit can show": "这次审计能显示什么",
    "this audit": "这次审计",
    "half the width of its interval, in points": "区间半宽（百分点）",
    "independent calls that say as much": "等效的独立调用数",
    "design effect": "设计效应",
    "would show a judge under the limit whose true rate is at most": "能显示低于上限的真实错误率至多",
    "would show a judge over the limit whose true rate is at least": "能显示高于上限的真实错误率至少",
    "fewest calls, all right, that can pass": "能通过的最少调用（全部正确）",
    "to have": "要得到",
    "needs pairs": "所需配对",
    "more than here": "比现有多",
    "an interval of ± {points} points": "± {points} 个百分点的区间",
    "it shown under {limit}": "显示其低于 {limit}",
    "it shown over {limit}": "显示其高于 {limit}",
    "more than ten million": "超过一千万",
}
HABITS: Mapping[str, str] = {
    "None of {n} reasons holds words of {kinds}.": "{n} 条理由中都没有这类词：{kinds}。",
    "finding": "结论",
    "length": "长度",
    "tone": "语气",
    "format": "格式",
    "confidence": "自信",
    "evidence": "证据",
    "category": "类别",
    "Position and other habits": "位置与其他习惯",
    "when the sides change places": "交换双方位置时",
    "verdict changes sides with the order": "判定随顺序换边",
    "answers for the side shown first (no bias: 50 %)": "选先展示一方的回答（无偏：50 %）",
    "accuracy, mean of the two orders": "准确率，两种顺序的均值",
    "what it leans to": "偏向",
    "picks of the longer side": "选较长一方",
    "Picks of the longer side prove no bias where longer episodes are better: the odds ratio holds gold fixed.": (
        "若较长的会话确实更好，选较长一方不能证明偏差：优势比固定了答案。"
    ),
    "Picks of the longer side prove no bias: longer episodes may be better. The odds ratio, which would tell, is not "
    "known here.": "选较长一方不能证明偏差：较长的会话可能确实更好。能分辨的优势比在此未知。",
    "output_tokens": "输出令牌数",
    "transcript_characters": "记录字符数",
    "odds ratio of the longer side, gold held fixed (no bias: 1)": "较长一方的优势比，固定答案（无偏：1）",
    "calls against the judge's own scores": "与裁判自己的评分相反的调用",
    "picks of the lower reward": "选奖励较低的一方",
    "picks of the lower reward, near pairs": "选奖励较低的一方，接近的配对",
    "picks of the lower reward, wide pairs": "选奖励较低的一方，差距大的配对",
    "picks of its own family's side": "选自家模型一方",
    "… more often than another judge on the same pairs": "…… 比另一裁判在同样配对上更常",
    "… more often wrong where its own side failed": "…… 自家一方失败时更常出错",
    "same verdict when asked again": "再问一次判定相同",
    "verdict changes when the same is asked again": "同样再问一次判定改变",
    "more often wrong where that favours its own family": "对自家有利时更常出错",
    "Words in the judge's reasons": "裁判理由中的用词",
    "words of": "用词类别",
    "said": "出现",
    "wrong with them": "有则错误",
    "wrong without": "无则错误",
    "difference": "差异",
    "It gave a constant answer: the side shown {place}.": "它总给同一答案：{place}展示的一方。",
    "first": "先",
    "second": "后",
    "Length by {by}; picks on {equal} pairs of equal and {unknown} of unknown length are left out.": (
        "长度按 {by}；{equal} 个长度相等、{unknown} 个长度未知的配对上的选择不计。"
    ),
    "Counted on {n} of {all} pairs, whole tasks.": "计数基于 {all} 个配对中的 {n} 个，按整任务抽取。",
    "What fools it": "什么会骗过它",
    "probe": "探针",
    "verdicts changed beyond chance": "超出偶然的判定改变",
    "towards it": "偏向改动方",
    "left out": "未计入",
    "fooled": "被骗",
    "unreadable": "无法读取",
    "too few items": "条目太少",
    "not seen ({smallest} %)": "未见（{smallest} %）",
    "Not seen (N %) is no acquittal: an excess below N % would probably be missed with so few items.": (
        "“未见（N %）”并非无罪：条目这么少，低于 N % 的超出很可能看不出来。"
    ),
    "What fooled it stands first, the control last.": "骗过它的排在最前，对照排在最后。",
    "unchanged": "未改动",
}
SESSIONS: Mapping[str, str] = {
    "Satisfaction and success": "满意与成功",
    "satisfaction": "满意",
    "gate": "门控",
    "proxy": "代理",
    "rubric": "评分细则",
    "failed, of those that satisfied it": "失败，占令其满意者",
    "relative risk of failure if satisfied (1: says nothing)": "满意时失败的相对风险（1：无信息）",
    "AUC (0.50: says nothing)": "AUC（0.50：无信息）",
    "rank correlation with success": "与成功的秩相关",
    "mean score": "平均分",
    "sessions": "会话",
    "satisfied": "满意",
    "not satisfied": "不满意",
    "failed": "失败",
    "Satisfied from {threshold} on.": "自 {threshold} 起为满意。",
    "Satisfaction, success and people": "满意、成功与人工",
    "disagree": "不一致",
    "change a period": "每期变化",
    "satisfied, but failed": "满意却失败",
    "not satisfied, but did it": "不满意却完成",
    "satisfaction against success": "满意与成功",
    "success against people": "成功与人工",
    "satisfaction against people": "满意与人工",
    "any two of them": "任意两者",
    "any two, where all three are known": "任意两者（三者皆知）",
    "By period": "按时期",
    "from": "起始",
    "{n} earlier periods are not shown.": "另有 {n} 个更早的时期未列出。",
    "{n} sessions are placed by when they were stored.": "{n} 个会话按存储时间归期。",
    "Agents": "智能体",
    "failed, though satisfied": "失败却满意",
    "of satisfied": "满意总数",
    "pass^k: how often k trials of a task all do it; a mean over its tasks.": (
        "pass^k：同一任务 k 次试验全部完成的频率，按任务取均值。"
    ),
    "{n} more agents are not shown.": "另有 {n} 个智能体未列出。",
    "How it ranks agents": "它如何给智能体排序",
    "ranking": "排序",
    "near agent pairs ranked wrongly": "接近的智能体对排序错误",
    "wide agent pairs ranked wrongly": "差距大的智能体对排序错误",
    "near, declining what is within noise": "接近，弃用噪声之内者",
    "wide, declining what is within noise": "差距大，弃用噪声之内者",
    "Over pairs of agents, ranked by {gate} against {against}.": "按智能体对计，以 {gate} 排序，与 {against} 对照。",
}
ZH: Mapping[str, str] = {**OPENING, **PAIRS, **HABITS, **SESSIONS, **OTHERS, **COST, **GUIDES, **LISTS, **NAMES}
"""English → Chinese; what is not here stays English."""
