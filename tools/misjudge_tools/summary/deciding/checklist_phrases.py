"""The points of the checklist, what is said of them and what is left to do, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from misjudge_tools.summary.deciding.checklist_values import Point
from misjudge_tools.summary.deciding.phrases import Phrase

SAID: Mapping[Point, Phrase] = {
    "fixed_tasks": Phrase(
        "Fixed tasks and criteria: {with_criteria} of {tasks} tasks state what counts as done.",
        "任务与标准固定：{tasks} 个任务中有 {with_criteria} 个写明了完成标准。",
    ),
    "roles_apart": Phrase(
        "Simulated user and judge apart: {judges} and {users} share {shared} families of models.",
        "模拟用户与裁判分离：{judges}与{users}有 {shared} 个共同的模型家族。",
    ),
    "full_logs": Phrase(
        "Full logs: {with_log} of {verdicts} verdicts have the raw call behind them.",
        "完整日志：{verdicts} 个结论中有 {with_log} 个保存了原始调用。",
    ),
    "both_orders": Phrase(
        "Swapped orders: {both} of {pairs} judged pairs were asked in both orders; {flips}.",
        "交换顺序：{pairs} 个已评判配对中有 {both} 个以两种顺序询问；{flips}。",
    ),
    "by_bucket": Phrase(
        "Rates by gap: {near} near and {wide} wide decidable pairs.",
        "按差距分组：{near} 个接近、{wide} 个差距大的可判定配对。",
    ),
    "spot_checks": Phrase(
        "Spot checks by people: {pairs_by_people} pairs are labelled, {twice} of them by two people or more; of "
        "{episodes_by_people} sessions a person said whether the task was done.",
        "人工抽查：{pairs_by_people} 个配对有人工标注，其中 {twice} 个由两人以上标注；{episodes_by_people} "
        "个会话由人判断任务是否完成。",
    ),
    "versions": Phrase(
        "Versions: of {with_version} of {judges} judges the model and the prompt are known.",
        "版本：{judges} 个裁判中有 {with_version} 个的模型与提示词已知。",
    ),
    "monitoring": Phrase(
        "Watch after launch: {three} of {sessions} sessions have satisfaction, success and a human label.",
        "上线后监控：{sessions} 个会话中有 {three} 个同时有满意度、成功与人工标注。",
    ),
}
TO_DO: Mapping[Point, Phrase] = {
    "fixed_tasks": Phrase("State success criteria for every task.", "为每个任务写明成功标准。"),
    "roles_apart": Phrase(
        "Take a judge of another family than the simulated user's.", "裁判与模拟用户使用不同家族的模型。"
    ),
    "full_logs": Phrase(
        "Judge here, or import judge_logs with raw_output.", "在此评判，或导入带 raw_output 的 judge_logs。"
    ),
    "both_orders": Phrase("Judge with orders=both (--orders both).", "用 orders=both（--orders both）评判。"),
    "by_bucket": Phrase(
        "Declare near and wide pairings, or give graded rewards, with {few} decidable pairs each or more.",
        "声明 near 与 wide 配对，或给出分级奖励，每组至少 {few} 个可判定配对。",
    ),
    "spot_checks": Phrase(
        "Have two people label a random sample of {few} pairs or more.", "请两人标注至少 {few} 个随机抽取的配对。"
    ),
    "versions": Phrase(
        "Name model and prompt of each judge; judges asked here have both.",
        "注明每个裁判的模型与提示词；在此询问的裁判两者都有。",
    ),
    "monitoring": Phrase(
        "Import production sessions with satisfaction, success and human labels; see three_way.",
        "导入带满意度、成功与人工标注的线上会话；见 three_way。",
    ),
}
NO_USER = Phrase(
    "Simulated user and judge apart: no simulated user was asked here.", "模拟用户与裁判分离：此处没有询问模拟用户。"
)
NO_PAIRS = Phrase("No pair was judged here.", "此处没有评判配对。")
NO_FLIPS = Phrase("flips cannot be seen", "看不到翻转")
EACH_JUDGE = Phrase("each judge has a flip rate of its own", "各裁判有各自的翻转率")
FLIPS = Phrase("verdicts change with the order in {flips}", "结论随顺序改变：{flips}")
JUDGES = Phrase("{n} judges", "{n} 个裁判")
USERS = Phrase("{n} simulated users", "{n} 个模拟用户")
