"""Rows in the shape of RubricBench, made up: for tests and benchmarks of rubric work without the data set. Pure.

    python benchmarks/rubricbench_rows.py [--rows N] [--seed N] [--output rows.jsonl]

Every instruction says SYNTHETIC. The same number and seed always give the same rows; more rows begin with the same
ones. No figure that comes of them says anything of a real model.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROWS = 1_147
SEED = 7
MOST_RULES = 10
CHINESE = 0.2
"""The share of rows in Chinese."""
DOMAINS = "chat stem code chat if stem chat code safety stem chat if code chat stem safety chat code if stem".split()
"""The domains of twenty rows, over and over."""
SOURCES = {
    "chat": ("general", "focus", "human-preference", "factuality", "helpful"),
    "if": ("precise if", "ifeval"),
    "stem": ("math", "mmlu-pro", "gpqa"),
    "code": ("mbpp", "code"),
    "safety": ("safety", "harmlessness"),
}


class Wording(NamedTuple):
    """What rows of one language are made of; the rules are questions, and none is part of another one."""

    topics: Sequence[str]
    asks: str
    plain: Sequence[str]
    of_domain: dict[str, Sequence[str]]
    high_level: Sequence[str]
    opening: str
    meets: str
    fails: str


ENGLISH = Wording(
    topics=("a tram timetable", "a bread recipe", "a garden plan", "a reading club", "a bicycle repair", "a budget"),
    asks="SYNTHETIC task {number} ({domain}): write about {topic} for {size} readers.",
    plain=(
        "Does the first sentence name {topic}?",
        "Does the text stay under {size}0 words?",
        "Does the text give {few} examples?",
        "Is every step numbered?",
        "Does the text say what {topic} costs?",
        "Is there a date for each promise?",
        "Does the last line ask the reader something?",
        "Is a source named for each figure?",
        "Does the text address {size} readers?",
    ),
    of_domain={
        "chat": ("Is the tone friendly?", "Does the text greet the reader by name?"),
        "if": ("Is the text split into {few} paragraphs?", "Is the title written in capitals?"),
        "stem": ("Is the unit of the result stated?", "Is the formula shown before it is used?"),
        "code": ("Does the function return {few} for an empty list?", "Is the code free of global variables?"),
        "safety": ("Does the text refuse to give a dose?", "Does the text name a person who can help?"),
    },
    high_level=(
        "Is the plan for {topic} feasible with what is given?",
        "Is the text logically consistent from start to end?",
    ),
    opening="Here is something about {topic}, number {number}.",
    meets="Settled: {rule}",
    fails="Left open: point {place}.",
)
CHINESE_WORDING = Wording(
    topics=("电车时刻表", "面包配方", "花园规划", "读书会", "自行车维修", "家庭预算"),
    asks="SYNTHETIC 任务{number}（{domain}）：为{size}位读者写一篇关于{topic}的短文。",
    plain=(
        "第一句话是否提到{topic}？",
        "全文是否少于{size}0字？",
        "是否举了{few}个例子？",
        "每个步骤是否都有编号？",
        "是否说明了{topic}的费用？",
        "每个承诺是否都有日期？",
        "最后一行是否向读者提问？",
        "每个数字是否都注明来源？",
    ),
    of_domain={
        "chat": ("语气是否友好？", "是否称呼了读者的名字？"),
        "if": ("是否分为{few}段？", "标题是否加粗？"),
        "stem": ("结果是否写明单位？", "公式是否先写出再使用？"),
        "code": ("空列表时函数是否返回{few}？", "代码是否没有全局变量？"),
        "safety": ("是否拒绝给出剂量？", "是否指出可以求助的人？"),
    },
    high_level=("{topic}的方案在给定条件下是否可行？", "全文逻辑是否前后一致？"),
    opening="这是关于{topic}的内容，编号{number}。",
    meets="已做到：{rule}",
    fails="未做到：第{place}点。",
)


def rows(number: int = ROWS, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """So many rows {case_id, instruction, response_a, response_b, label, rubrics, source, domain}.

    Each has 2 to 10 gold rules, a rule a line; about half of the rows have one or two of them high-level. The response
    that the label is for meets them all, the other one leaves some open.
    """
    draw = random.Random(seed)
    for place in range(number):
        yield _row(draw, place + 1, DOMAINS[place % len(DOMAINS)])


def _row(draw: random.Random, number: int, domain: str) -> dict[str, Any]:
    wording = CHINESE_WORDING if draw.random() < CHINESE else ENGLISH
    given = {
        "number": number,
        "domain": domain,
        "topic": draw.choice(wording.topics),
        "size": draw.randint(11, 99),
        "few": draw.randint(2, 9),
    }
    rules = [rule.format(**given) for rule in _drawn_rules(draw, wording, domain)]
    failed = set(draw.sample(range(len(rules)), draw.randint(1, len(rules))))
    better, worse = (_response(wording, given, rules, left_open) for left_open in (set[int](), failed))
    label = draw.randrange(2)
    return {
        "case_id": f"synthetic-{number:05}",
        "instruction": wording.asks.format(**given),
        "response_a": worse if label else better,
        "response_b": better if label else worse,
        "label": label,
        "rubrics": "\n".join(rules),
        "source": draw.choice(SOURCES[domain]),
        "domain": domain,
    }


def _drawn_rules(draw: random.Random, wording: Wording, domain: str) -> list[str]:
    high = draw.sample(wording.high_level, draw.choice((0, 0, 1, 2)))
    others = (*wording.plain, *wording.of_domain[domain])
    rules = high + draw.sample(others, draw.randint(2, MOST_RULES) - len(high))
    draw.shuffle(rules)
    return rules


def _response(wording: Wording, given: dict[str, Any], rules: Sequence[str], left_open: set[int]) -> str:
    said = (
        wording.fails.format(place=place + 1) if place in left_open else wording.meets.format(rule=rule)
        for place, rule in enumerate(rules)
    )
    return "\n".join((wording.opening.format(**given), *said))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Writes SYNTHETIC rows in the shape of RubricBench as JSONL.")
    parser.add_argument("--rows", type=int, default=ROWS, help="how many (default: %(default)s, as RubricBench has)")
    parser.add_argument("--seed", type=int, default=SEED, help="another one gives other rows (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="the file to write; without it they go to the standard output")
    given = parser.parse_args(arguments)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(given.rows, given.seed))
    if given.output is None:
        sys.stdout.buffer.write(lines.encode())
    else:
        given.output.write_text(lines, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
