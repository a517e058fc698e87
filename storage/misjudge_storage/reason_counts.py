"""Words in the reasons of judges that say what they looked at: what is no evidence of success, and what is.

A reply whose reasons hold a word of a group counts, wherever the word stands: it may be said of the side that lost
("A is longer, but wrong"), or be denied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.summary_records import sums_of
from misjudge_storage.summary_values import CrossSums, Sums
from misjudge_storage.task_moments import cross_columns

MOST_READ = 2_500
"""Pairs of one judge after which no further task has its reasons read."""
MOST_CHARACTERS = 2_000
"""Of one reply's reasons: none makes the others wait."""
REASONS = "bias_reasons"


class Words(NamedTuple):
    """Parts of text in lower case, without quotes, `%` and `_`: they stand in SQL as they are. Text that holds one of
    `unlike` is not meant.
    """

    like: tuple[str, ...]
    unlike: tuple[str, ...] = ()


WORDS: Mapping[str, Words] = {
    "length": Words(
        like=(
            *("more detail", "detailed", "longer", "thorough", "comprehensive", "elaborate", "in-depth", "verbose"),
            *("更详细", "更长", "更全面", "详尽", "篇幅", "冗长"),
        ),
        unlike=("no longer",),
    ),
    "tone": Words(
        like=(
            *("better tone", "polite", "friendl", "professional", "courte", "empath"),
            *("语气", "礼貌", "友好", "友善", "专业", "热情", "亲切"),
        )
    ),
    "format": Words(
        like=(
            *(
                "formatt",
                "bullet",
                "markdown",
                "well-structured",
                "well structured",
                "well-organized",
                "well organized",
            ),
            *("格式", "排版", "条理", "结构清晰", "分点"),
        )
    ),
    "confidence": Words(like=("confident", "confidence", "assertive", "自信", "笃定", "果断")),
    "evidence": Words(
        like=(
            *("completed", "succeeded", "successfully", "database", "final state", "tool result", "verified"),
            *("refund issued", "refunded", "was booked", "was cancelled", "was canceled", "was updated"),
            *("数据库", "最终状态", "完成", "成功", "已退款", "已取消", "已更新", "核实"),
        )
    ),
}
"""Group → its words in English and Chinese."""


class Held(NamedTuple):
    """Replies with reasons, `said` of them with a word of the group; and calls on decidable pairs that named the wrong
    side, of those with a word and of those without.

    `cross` holds the products of these two over tasks.
    """

    said: Sums
    wrong_with: Sums
    wrong_without: Sums
    cross: CrossSums


def word_counts(connection: Connection, audit_id: str, pairs: str) -> dict[str, dict[str, Held]]:
    """Judge id → group → its counts, of replies on the pairs in this temporary table that name a side or a tie."""
    types = "judge_id VARCHAR, task_id VARCHAR, decidable INTEGER, wrong INTEGER, said TEXT"
    connection.execute(text(f"CREATE TEMPORARY TABLE {REASONS} ({types})"))
    connection.execute(
        text(f"""
        INSERT INTO {REASONS} (judge_id, task_id, decidable, wrong, said)
        SELECT b.judge_id, b.task_id, b.decidable,
            CASE WHEN b.decidable = 1 AND v.winner <> 'tie' AND v.winner <> b.gold THEN 1 ELSE 0 END,
            LOWER(SUBSTR(v.reasons, 1, {MOST_CHARACTERS}))
        FROM {pairs} b CROSS JOIN verdicts v
        WHERE v.audit_id = :audit AND v.pair_id = b.pair_id AND v.judge_id = b.judge_id
            AND b.place < {MOST_READ} AND v.winner IS NOT NULL AND v.reasons <> ''
        """),
        {"audit": audit_id},
    )
    found = {}
    for judge_id, *columns in connection.execute(text(_query())):
        values = list(map(int, columns))
        size = len(values) // len(WORDS)
        found[judge_id] = {group: _held(values[size * place : size * (place + 1)]) for place, group in enumerate(WORDS)}
    return found


def _query() -> str:
    marked = ", ".join(f"CASE WHEN {_holds(words)} THEN 1 ELSE 0 END AS {group}" for group, words in WORDS.items())
    return f"""
        WITH marked AS (SELECT judge_id, task_id, decidable, wrong, {marked} FROM {REASONS}),
        by_task AS (
            SELECT judge_id, task_id, COUNT(*) AS replies, {", ".join(map(_tallies, WORDS))}
            FROM marked GROUP BY judge_id, task_id
        )
        SELECT judge_id, {", ".join(map(_columns, WORDS))} FROM by_task GROUP BY judge_id
    """


def _holds(words: Words) -> str:
    like = " OR ".join(f"said LIKE '%{word}%'" for word in words.like)
    return " AND ".join([f"({like})", *(f"said NOT LIKE '%{word}%'" for word in words.unlike)])


def _tallies(group: str) -> str:
    return (
        f"SUM({group}) AS k_{group}, COUNT(*) AS n_{group}, "
        f"SUM({group} * wrong) AS k_{group}_with, SUM({group} * decidable) AS n_{group}_with, "
        f"SUM((1 - {group}) * wrong) AS k_{group}_without, SUM((1 - {group}) * decidable) AS n_{group}_without"
    )


def _columns(group: str) -> str:
    held, lacking = f"{group}_with", f"{group}_without"
    return f"{sums_of(group)}, {sums_of(held)}, {sums_of(lacking)}, {cross_columns(held, lacking)}"


def _held(values: Sequence[int]) -> Held:
    return Held(Sums(*values[:6]), Sums(*values[6:12]), Sums(*values[12:18]), CrossSums(*values[18:]))
