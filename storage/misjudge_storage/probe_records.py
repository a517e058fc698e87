"""The counts of a probed judge, as GROUP BYs over `probe_verdicts`: no row is loaded to be counted.

An item is a pair in one order. Its two baselines are the calls without a change, repeats 0 and 1; a changed call is
compared with the baselines of its own item, language and version (`swapped_order` was shown in the other order). Of a
pair that a probe changed more than once, such as on the other side after gold was corrected, the latest call counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.types import NO_REPLY


class ProbeTask(NamedTuple):
    """The items of one task under one probe; see `stats.probes.TaskTally`.

    `aim` is `failed` where the side was changed because it failed by gold, else None. `items` have three scored calls,
    `left_out` have all three and one is unscored. Halves and quarters, so that they are whole: `half_shift` is twice
    the sum of the shift, `quarter_squares` four times the sum of its squares.
    """

    probe: str
    aim: str | None
    task_id: str
    items: int
    left_out: int
    gained: int
    lost: int
    flips: int
    baseline_flips: int
    half_shift: int
    quarter_squares: int
    replied: int
    unscored: int
    baseline_unscored: int
    newly_unscored: int
    newly_scored: int


class BaselineTask(NamedTuple):
    """The items of one task: how many were asked unchanged, were scored both times, and then got another verdict."""

    task_id: str
    items: int
    scored: int
    flips: int


class BaselineErrors(NamedTuple):
    """First baselines of one task on pairs in which `better` did the job and `worse` did not, and the wrong ones.

    A side goes by its base model, by its agent where none is stated.
    """

    task_id: str
    better: str
    worse: str
    calls: int
    wrong: int


class ProbedJudge(NamedTuple):
    """Everything that is counted of one judge. `params` is the JSON of its fingerprint."""

    model: str
    params: str
    probes: Sequence[ProbeTask]
    baselines: Sequence[BaselineTask]
    errors: Sequence[BaselineErrors]


_NO_REPLY = ", ".join(f"'{reason}'" for reason in NO_REPLY)
_ITEMS = f"""
    items AS (
        SELECT pair_id, order_shown, SUBSTR(variant, LENGTH(probe) + 1) AS made,
            MAX(CASE repeat WHEN 0 THEN winner END) AS base, MAX(CASE repeat WHEN 1 THEN winner END) AS again,
            MAX(CASE WHEN unscored_reason IN ({_NO_REPLY}) THEN 1 ELSE 0 END) AS silent
        FROM probe_verdicts
        WHERE audit_id = :audit AND judge_id = :judge AND probe = 'baseline' AND repeat IN (0, 1)
        GROUP BY pair_id, order_shown, probe, variant HAVING COUNT(*) = 2
    )
"""
"""Items with both baselines, NULL where one could not be scored; `made` is language and version, as `.en.v1`;
`silent` where a call got no reply.
"""


def probed_judges(connection: Connection, audit_id: str) -> dict[str, ProbedJudge]:
    """The counts of every judge of the audit that was probed, by its id."""
    query = "SELECT DISTINCT judge_id FROM probe_verdicts WHERE audit_id = :audit ORDER BY judge_id"
    ids = list(connection.scalars(text(query), {"audit": audit_id}))
    found = {judge_id: probed_judge(connection, audit_id, judge_id) for judge_id in ids}
    return {judge_id: judge for judge_id, judge in found.items() if judge is not None}


def probed_judge(connection: Connection, audit_id: str, judge_id: str) -> ProbedJudge | None:
    """The counts of this judge; None where no item has both of its baselines."""
    keys = {"audit": audit_id, "judge": judge_id}
    judge = connection.execute(
        text("SELECT model, params FROM judges WHERE audit_id = :audit AND judge_id = :judge"), keys
    ).one_or_none()
    baselines = _baselines(connection, keys)
    if judge is None or not baselines:
        return None
    model, params = judge
    return ProbedJudge(model, params, _probes(connection, keys), baselines, _errors(connection, keys))


def _baselines(connection: Connection, keys: dict[str, str]) -> list[BaselineTask]:
    query = f"""
        WITH {_ITEMS}
        SELECT p.task_id, COUNT(*), COUNT(i.base || i.again), SUM(CASE WHEN i.base <> i.again THEN 1 ELSE 0 END)
        FROM items i JOIN pairs p ON p.audit_id = :audit AND p.pair_id = i.pair_id
        GROUP BY p.task_id ORDER BY p.task_id
    """
    return [BaselineTask(row[0], *map(int, row[1:])) for row in connection.execute(text(query), keys)]


def _probes(connection: Connection, keys: dict[str, str]) -> list[ProbeTask]:
    query = f"""
        WITH {_ITEMS},
        changed AS (
            SELECT c.probe, p.task_id, c.pair_id, i.base, i.again, c.winner, c.created_at, c.probe_verdict_id,
                CASE WHEN c.variant = c.probe || i.made || ':' || c.side || '.failed' THEN 'failed' END AS aim,
                CASE WHEN i.silent = 1 OR c.unscored_reason IN ({_NO_REPLY}) THEN 0 ELSE 1 END AS replied,
                CASE WHEN c.probe = 'swapped_order' THEN SUBSTR(c.order_shown, 1, 1) ELSE c.side END AS side
            FROM probe_verdicts c
            JOIN items i ON i.pair_id = c.pair_id AND c.variant IN (
                    c.probe || i.made, c.probe || i.made || ':' || c.side,
                    c.probe || i.made || ':' || c.side || '.failed')
                AND (c.probe = 'swapped_order') = (c.order_shown <> i.order_shown)
            JOIN pairs p ON p.audit_id = :audit AND p.pair_id = c.pair_id
            WHERE c.audit_id = :audit AND c.judge_id = :judge AND c.probe <> 'baseline'
        ),
        latest AS (
            SELECT changed.*, ROW_NUMBER() OVER (
                PARTITION BY probe, aim, pair_id ORDER BY created_at DESC, probe_verdict_id) AS nth
            FROM changed
        ),
        scored AS (
            SELECT probe, aim, task_id, replied,
                CASE WHEN winner <> base THEN 1 ELSE 0 END AS flip,
                CASE WHEN again <> base THEN 1 ELSE 0 END AS baseline_flip,
                CASE WHEN side IS NULL THEN 0
                    ELSE CASE winner WHEN side THEN 2 WHEN 'tie' THEN 1 ELSE 0 END
                        - CASE base WHEN side THEN 2 WHEN 'tie' THEN 1 ELSE 0 END END AS shift,
                CASE WHEN winner IS NULL OR base IS NULL OR again IS NULL THEN 0 ELSE 1 END AS whole,
                CASE WHEN winner IS NULL THEN 1 ELSE 0 END AS unscored,
                CASE WHEN base IS NULL THEN 1 ELSE 0 END AS base_unscored,
                CASE WHEN again IS NULL THEN 1 ELSE 0 END AS again_unscored
            FROM latest WHERE nth = 1
        )
        SELECT probe, aim, task_id, SUM(whole), SUM(1 - whole),
            SUM(whole * flip * (1 - baseline_flip)), SUM(whole * baseline_flip * (1 - flip)),
            SUM(whole * flip), SUM(whole * baseline_flip), SUM(whole * shift), SUM(whole * shift * shift),
            SUM(replied), SUM(replied * unscored), SUM(replied * (base_unscored + again_unscored)),
            SUM(replied * unscored * (1 - base_unscored)), SUM(replied * base_unscored * (1 - unscored))
        FROM scored GROUP BY probe, aim, task_id ORDER BY probe, COALESCE(aim, ''), task_id
    """
    return [ProbeTask(*row[:3], *map(int, row[3:])) for row in connection.execute(text(query), keys)]


def _errors(connection: Connection, keys: dict[str, str]) -> list[BaselineErrors]:
    query = """
        WITH known AS (
            SELECT p.task_id, g.gold_pref AS gold, c.winner,
                COALESCE(a.base_model, a.agent) AS name_a, COALESCE(b.base_model, b.agent) AS name_b
            FROM probe_verdicts c
            JOIN pairs p ON p.audit_id = :audit AND p.pair_id = c.pair_id
            JOIN pair_gold g ON g.audit_id = :audit AND g.pair_id = c.pair_id
            JOIN trajectories a ON a.trajectory_id = p.trajectory_a
            JOIN trajectories b ON b.trajectory_id = p.trajectory_b
            WHERE c.audit_id = :audit AND c.judge_id = :judge AND c.probe = 'baseline' AND c.repeat = 0
                AND c.winner IS NOT NULL AND g.gold_pref IN ('A', 'B')
        ),
        named AS (
            SELECT task_id,
                CASE gold WHEN 'A' THEN name_a ELSE name_b END AS better,
                CASE gold WHEN 'A' THEN name_b ELSE name_a END AS worse,
                CASE WHEN winner <> 'tie' AND winner <> gold THEN 1 ELSE 0 END AS wrong
            FROM known
        )
        SELECT task_id, better, worse, COUNT(*), SUM(wrong) FROM named
        GROUP BY task_id, better, worse ORDER BY task_id, better, worse
    """
    return [BaselineErrors(*row[:3], *map(int, row[3:])) for row in connection.execute(text(query), keys)]
