"""What judges with and without rules come to, counted in the store: no pair is loaded to be counted.

After `summary_records.reduce_audit`, `hold_judged` fills a temporary table with one row for each judge and decidable
pair; rates and differences are counted from it. `hold_losers` fills another one for inversions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, String, bindparam, text

from misjudge_storage.summary_records import REDUCED, sums_of
from misjudge_storage.summary_values import Sums
from misjudge_storage.types import NO_REPLY

JUDGED = "audit_rubric_pairs"
LOSERS = "audit_rubric_losers"
ENDS = ("right", "wrong", "tie", "inconsistent", "unscored")


class VerdictGroup(NamedTuple):
    """A judge, and a domain of its tasks (None: tasks without one)."""

    judge_id: str
    domain: str | None


class VerdictCounts(NamedTuple):
    """Decidable pairs by how they ended. Of the unscored ones `no_rubric` had no rules to be judged by. `accuracy` sums
    the right ones of those that count (see `hold_judged`), `decided` those of right and wrong.
    """

    pairs: int
    right: int
    wrong: int
    tie: int
    inconsistent: int
    unscored: int
    no_rubric: int
    accuracy: Sums
    decided: Sums


class DifferenceCounts(NamedTuple):
    """Pairs that count for two judges, by who alone is right; the last are as in `stats.probes.PairedSums`."""

    domain: str | None
    only_first: int
    only_second: int
    clusters: int
    n: int
    d: int
    dd: int
    dn: int
    nn: int


class RulingCounts(NamedTuple):
    """The rulings of a judge that applied rules. `soft_over_hard` and `reweighted` are of those whose rules say
    something; `left_out` rules were not shown and `unscored_rules` got no readable verdict, over all `rulings`.
    """

    rulings: int
    left_out: int
    unscored_rules: int
    soft_over_hard: Sums
    reweighted: Sums


class Inversions(NamedTuple):
    """See `inversions`. `seen` sums the inverted ones of all pairs of which it can be told, `of_wrong` those of the
    ones that the own rules got wrong.
    """

    seen: Sums
    of_wrong: Sums
    untold: int


class OwnPairs(NamedTuple):
    """The pairs held of a judge with own rules, and how many of them are of tasks with high-level gold rules."""

    pairs: int
    with_high_level: int


class Inversion(NamedTuple):
    """A pair with value inversion, the gold rule that the chosen side fails, and the gold rules that own ones hit."""

    pair_id: str
    task_id: str
    rule: str
    hits: tuple[str, ...]


class Conditions(NamedTuple):
    """A judge with the rules that `writer_id` wrote and with the gold ones, and who matched the former with these."""

    own_id: str
    human_id: str
    writer_id: str
    matcher_id: str


_ENDED = """
    CASE WHEN r.status = 'unscored' THEN 'unscored' WHEN r.status = 'inconsistent' THEN 'inconsistent'
        WHEN r.pref = 'tie' THEN 'tie' WHEN r.pref = r.gold THEN 'right' ELSE 'wrong' END
"""
_ENDED_FIRST = """
    CASE WHEN r.ab_a > r.ab_b THEN CASE r.gold WHEN 'A' THEN 'right' ELSE 'wrong' END
        WHEN r.ab_b > r.ab_a THEN CASE r.gold WHEN 'B' THEN 'right' ELSE 'wrong' END
        WHEN r.ab_a + r.ab_b + r.ab_tie > 0 THEN 'tie' ELSE 'unscored' END
"""
"""By what the judge said with side A shown first, as RubricBench asks."""
_REPLIED_FIRST = """
    CASE WHEN r.ab_a + r.ab_b + r.ab_tie > 0 OR EXISTS (
        SELECT 1 FROM verdicts v WHERE v.audit_id = :audit AND v.pair_id = r.pair_id AND v.judge_id = r.judge_id
            AND v.order_shown = 'AB' AND v.unscored_reason NOT IN :no_reply
    ) THEN 1 ELSE 0 END
"""
_NO_RUBRIC = """
    CASE WHEN EXISTS (
        SELECT 1 FROM verdicts v WHERE v.audit_id = :audit AND v.pair_id = r.pair_id AND v.judge_id = r.judge_id
            AND v.unscored_reason = 'no_rubric'
    ) THEN 1 ELSE 0 END
"""


def hold_judged(connection: Connection, audit_id: str, both: Sequence[str], first: Sequence[str]) -> None:
    """Hold the decidable pairs of the judges in `both` by their reduced verdict, of those in `first` by order AB.

    One that is unscored counts for the latter only, and only where a reply came that could not be read: RubricBench
    takes that for wrong. What nobody answered says nothing of a judge.
    """
    connection.execute(text(f"DROP TABLE IF EXISTS {JUDGED}"))
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {JUDGED} (
            judge_id VARCHAR NOT NULL, pair_id VARCHAR NOT NULL, task_id VARCHAR NOT NULL, domain VARCHAR,
            gold VARCHAR NOT NULL, ended VARCHAR NOT NULL, counts INTEGER NOT NULL, no_rubric INTEGER NOT NULL,
            PRIMARY KEY (judge_id, pair_id)
        )
        """)
    )
    query = text(f"""
        INSERT INTO {JUDGED} (judge_id, pair_id, task_id, domain, gold, ended, counts, no_rubric)
        SELECT r.judge_id, r.pair_id, r.task_id, r.subset, r.gold,
            CASE WHEN r.judge_id IN :first THEN {_ENDED_FIRST} ELSE {_ENDED} END,
            CASE WHEN r.judge_id IN :first THEN {_REPLIED_FIRST} WHEN r.status <> 'unscored' THEN 1 ELSE 0 END,
            {_NO_RUBRIC}
        FROM {REDUCED} r WHERE r.decidable = 1 AND r.judge_id IN :judges
    """).bindparams(*(bindparam(name, type_=String, expanding=True) for name in ("first", "judges", "no_reply")))
    values = {"audit": audit_id, "first": list(first), "judges": [*both, *first], "no_reply": list(NO_REPLY)}
    connection.execute(query, values)


def verdict_counts(connection: Connection) -> dict[VerdictGroup, VerdictCounts]:
    """The pairs held, by judge and domain."""
    ends = ", ".join(f"SUM(CASE WHEN ended = '{end}' THEN 1 ELSE 0 END) AS c_{end}" for end in ENDS)
    named = ", ".join(f"SUM(c_{end})" for end in ENDS)
    query = f"""
        WITH counted AS (
            SELECT judge_id, domain, task_id, COUNT(*) AS pairs, SUM(counts) AS counts, {ends},
                SUM(CASE WHEN ended = 'unscored' THEN no_rubric ELSE 0 END) AS c_no_rubric
            FROM {JUDGED} GROUP BY judge_id, domain, task_id
        ),
        by_task AS (
            SELECT counted.*, c_right AS k_accuracy, counts AS n_accuracy, c_right AS k_decided,
                c_right + c_wrong AS n_decided
            FROM counted
        )
        SELECT judge_id, domain, SUM(pairs), {named}, SUM(c_no_rubric), {sums_of("accuracy")}, {sums_of("decided")}
        FROM by_task GROUP BY judge_id, domain ORDER BY judge_id, domain
    """
    found = {}
    for judge_id, domain, *values in connection.execute(text(query)):
        pairs, right, wrong, tie, inconsistent, unscored, no_rubric, *sums = map(int, values)
        ended = (pairs, right, wrong, tie, inconsistent, unscored, no_rubric)
        found[VerdictGroup(judge_id, domain)] = VerdictCounts(*ended, Sums(*sums[:6]), Sums(*sums[6:]))
    return found


def difference_counts(connection: Connection, first_id: str, second_id: str) -> list[DifferenceCounts]:
    """The pairs held of both judges, by domain."""
    query = f"""
        WITH compared AS (
            SELECT a.task_id, a.domain, CASE a.ended WHEN 'right' THEN 1 ELSE 0 END AS one,
                CASE b.ended WHEN 'right' THEN 1 ELSE 0 END AS other
            FROM {JUDGED} a JOIN {JUDGED} b ON b.judge_id = :second AND b.pair_id = a.pair_id
            WHERE a.judge_id = :first AND a.counts = 1 AND b.counts = 1
        ),
        by_task AS (
            SELECT domain, task_id, SUM(one * (1 - other)) AS gained, SUM(other * (1 - one)) AS lost,
                COUNT(*) AS n, SUM(one - other) AS d
            FROM compared GROUP BY domain, task_id
        )
        SELECT domain, SUM(gained), SUM(lost), COUNT(*), SUM(n), SUM(d), SUM(d * d), SUM(d * n), SUM(n * n)
        FROM by_task GROUP BY domain ORDER BY domain
    """
    rows = connection.execute(text(query), {"first": first_id, "second": second_id})
    return [DifferenceCounts(row[0], *map(int, row[1:])) for row in rows]


def ruling_counts(connection: Connection, audit_id: str) -> dict[str, RulingCounts]:
    """Judge id → what came of the rules that it applied, to pairs or to one response."""
    query = f"""
        WITH ruled AS (
            SELECT r.judge_id, COALESCE(p.task_id, t.task_id) AS task_id, r.left_out, r.unscored, r.conflict,
                CASE WHEN r.says IS NOT NULL AND v.status = 'scored' THEN 1 ELSE 0 END AS known
            FROM rubric_rulings r
            JOIN verdicts v ON v.verdict_id = r.ruling_id
            LEFT JOIN pairs p ON p.audit_id = r.audit_id AND p.pair_id = v.pair_id
            LEFT JOIN trajectories t ON t.trajectory_id = v.trajectory_id
            WHERE r.audit_id = :audit
        ),
        by_task AS (
            SELECT judge_id, task_id, COUNT(*) AS rulings, SUM(left_out) AS left_out, SUM(unscored) AS unscored,
                SUM(CASE WHEN conflict = 'soft_over_hard' THEN known ELSE 0 END) AS k_soft, SUM(known) AS n_soft,
                SUM(CASE WHEN conflict = 'reweighted' THEN known ELSE 0 END) AS k_moved, SUM(known) AS n_moved
            FROM ruled GROUP BY judge_id, task_id
        )
        SELECT judge_id, SUM(rulings), SUM(left_out), SUM(unscored), {sums_of("soft")}, {sums_of("moved")}
        FROM by_task GROUP BY judge_id ORDER BY judge_id
    """
    found = {}
    for judge_id, *values in connection.execute(text(query), {"audit": audit_id}):
        rulings, left_out, unscored, *sums = map(int, values)
        found[judge_id] = RulingCounts(rulings, left_out, unscored, Sums(*sums[:6]), Sums(*sums[6:]))
    return found


_LOSERS = f"""
    losers AS (
        SELECT pair_id, task_id, ended, CASE gold WHEN 'A' THEN 'B' ELSE 'A' END AS loser
        FROM {JUDGED} WHERE judge_id = :own_id AND ended IN ('right', 'wrong')
    ),
    high AS (
        SELECT r.task_id, u.rule FROM task_rubrics r
        JOIN rubric_rules u ON u.rubric_id = r.rubric_id AND u.high_level
        WHERE r.audit_id = :audit
    ),
    drafted AS (
        SELECT d.task_id, g.matching_id FROM rubric_drafts d
        JOIN rubric_sets s ON s.rubric_id = d.rubric_id
        JOIN rubric_matchings g ON g.draft_id = d.draft_id AND g.matcher_id = :matcher_id
        WHERE d.audit_id = :audit AND d.writer_id = :writer_id AND s.number = (
            SELECT COUNT(*) FROM rubric_matches m WHERE m.matching_id = g.matching_id AND m.status = 'scored'
        )
    ),
    met AS (
        SELECT l.pair_id, u.rule, CASE l.loser WHEN 'A' THEN u.met_a ELSE u.met_b END AS met
        FROM losers l
        JOIN verdicts v ON v.audit_id = :audit AND v.pair_id = l.pair_id AND v.judge_id = :human_id
        JOIN rubric_verdicts u ON u.ruling_id = v.verdict_id
    ),
    said AS (
        SELECT pair_id, rule, SUM(CASE WHEN met THEN 1 ELSE 0 END) AS meets,
            SUM(CASE WHEN NOT met THEN 1 ELSE 0 END) AS fails
        FROM met GROUP BY pair_id, rule
    )
"""
"""`losers` are the pairs that the own rules decided, with the side that gold says is worse; `said` is what verdicts on
rules say of that side.
"""


def hold_losers(connection: Connection, audit_id: str, conditions: Conditions) -> None:
    """Hold the high-level gold rules of each pair held that the own rules decided: whether an own rule matches it, and
    whether the side that gold says is worse fails or meets it. It does where all readable verdicts on it say so.
    """
    connection.execute(text(f"DROP TABLE IF EXISTS {LOSERS}"))
    connection.execute(
        text(f"""
        CREATE TEMPORARY TABLE {LOSERS} (
            pair_id VARCHAR NOT NULL, task_id VARCHAR NOT NULL, ended VARCHAR NOT NULL, rule INTEGER NOT NULL,
            matching_id VARCHAR, matched INTEGER NOT NULL, fails INTEGER NOT NULL, meets INTEGER NOT NULL,
            PRIMARY KEY (pair_id, rule)
        )
        """)
    )
    query = f"""
        INSERT INTO {LOSERS} (pair_id, task_id, ended, rule, matching_id, matched, fails, meets)
        WITH {_LOSERS}
        SELECT l.pair_id, l.task_id, l.ended, h.rule, d.matching_id,
            CASE WHEN EXISTS (
                SELECT 1 FROM rubric_matches m
                WHERE m.matching_id = d.matching_id AND m.status = 'scored' AND m.gold_rule = h.rule
            ) THEN 1 ELSE 0 END,
            CASE WHEN s.fails > 0 AND s.meets = 0 THEN 1 ELSE 0 END,
            CASE WHEN s.meets > 0 AND s.fails = 0 THEN 1 ELSE 0 END
        FROM losers l
        JOIN high h ON h.task_id = l.task_id
        LEFT JOIN drafted d ON d.task_id = l.task_id
        LEFT JOIN said s ON s.pair_id = l.pair_id AND s.rule = h.rule
    """
    given = conditions._asdict() | {"audit": audit_id}
    connection.execute(text(query), given)


_KNOWN = f"""
    known AS (
        SELECT pair_id, task_id, ended, MAX((1 - matched) * fails) AS lacking, MIN(
            CASE WHEN matching_id IS NOT NULL AND matched + fails + meets > 0 THEN 1 ELSE 0 END) AS told
        FROM {LOSERS} GROUP BY pair_id, task_id, ended
    )
"""
"""Whether the side that gold says is worse fails a high-level rule that the own ones lack, as far as it is `told`."""


def inversions(connection: Connection) -> Inversions:
    """Of what `hold_losers` holds: pairs on which the judge with its own rules prefers the gold loser, which with the
    gold rules it says fails a high-level one that the own rules have no match for. `untold`: a match or a verdict on a
    high-level rule is missing, or its two orders disagree.
    """
    query = f"""
        WITH {_KNOWN},
        by_task AS (
            SELECT task_id, SUM(1 - told) AS untold,
                SUM(CASE ended WHEN 'wrong' THEN told * lacking ELSE 0 END) AS k_seen, SUM(told) AS n_seen,
                SUM(CASE ended WHEN 'wrong' THEN told * lacking ELSE 0 END) AS k_wrong,
                SUM(CASE ended WHEN 'wrong' THEN told ELSE 0 END) AS n_wrong
            FROM known GROUP BY task_id
        )
        SELECT {sums_of("seen")}, {sums_of("wrong")}, SUM(untold) FROM by_task
    """
    row = [int(value or 0) for value in connection.execute(text(query)).one()]
    return Inversions(Sums(*row[:6]), Sums(*row[6:12]), row[12])


def own_pairs(connection: Connection, audit_id: str, own_id: str) -> OwnPairs:
    """How many of the pairs that `hold_judged` holds of this judge could show an inversion at all."""
    query = f"""
        SELECT COUNT(*), SUM(CASE WHEN EXISTS (
            SELECT 1 FROM task_rubrics r JOIN rubric_rules u ON u.rubric_id = r.rubric_id AND u.high_level
            WHERE r.audit_id = :audit AND r.task_id = j.task_id
        ) THEN 1 ELSE 0 END)
        FROM {JUDGED} j WHERE j.judge_id = :own
    """
    row = connection.execute(text(query), {"audit": audit_id, "own": own_id}).one()
    return OwnPairs(*(int(value or 0) for value in row))


def inversion_examples(connection: Connection, most: int) -> list[Inversion]:
    """The first `most` of the pairs that `inversions` counts, each with the first rule that it is counted for."""
    query = f"""
        WITH {_KNOWN},
        lacked AS (
            SELECT l.pair_id, MIN(l.rule) AS rule FROM {LOSERS} l JOIN known k ON k.pair_id = l.pair_id
            WHERE k.ended = 'wrong' AND k.told = 1 AND l.matched = 0 AND l.fails = 1
            GROUP BY l.pair_id ORDER BY l.pair_id LIMIT :most
        )
        SELECT l.pair_id, l.task_id, u.text, l.matching_id
        FROM lacked x
        JOIN {LOSERS} l ON l.pair_id = x.pair_id AND l.rule = x.rule
        JOIN rubric_matchings g ON g.matching_id = l.matching_id
        JOIN rubric_rules u ON u.rubric_id = g.rubric_id AND u.rule = l.rule
        ORDER BY l.pair_id
    """
    rows = connection.execute(text(query), {"most": most}).all()
    hits = _hits(connection, [row.matching_id for row in rows])
    return [Inversion(row.pair_id, row.task_id, row.text, tuple(hits.get(row.matching_id, ()))) for row in rows]


def _hits(connection: Connection, matching_ids: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Matching → the gold rules that it hits, by their texts."""
    query = text("""
        SELECT DISTINCT g.matching_id, u.rule, u.text FROM rubric_matchings g
        JOIN rubric_matches m ON m.matching_id = g.matching_id AND m.status = 'scored'
        JOIN rubric_rules u ON u.rubric_id = g.rubric_id AND u.rule = m.gold_rule
        WHERE g.matching_id IN :matchings ORDER BY g.matching_id, u.rule
    """).bindparams(bindparam("matchings", type_=String, expanding=True))
    found: dict[str, list[str]] = {}
    for matching_id, _, rule in connection.execute(query, {"matchings": list(matching_ids)}):
        found.setdefault(matching_id, []).append(rule)
    return found
