"""Picks on pairs of which one side is of a judge's own family of models, as GROUP BYs: no row is loaded.

A side goes by its base model, by its agent where none is stated. Pairs of a side of no known family are left out: it
may be of the judge's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

from misjudge_storage.bias_counts import PAIRS, SIDES
from misjudge_storage.summary_records import sums_of
from misjudge_storage.summary_values import Sums

FAMILIES = "bias_families"


class JudgeModel(NamedTuple):
    """The model of a judge of pairs; `params` is the JSON of its fingerprint, or what an import has in its place."""

    judge_id: str
    label: str
    model: str
    params: str


class HalfSums(NamedTuple):
    """As `stats.probes.PairedSums`, of differences counted in halves, so that all is whole."""

    clusters: int
    n: int
    d: int
    squares: int
    dd: int
    dn: int
    nn: int


class FamilyPicks(NamedTuple):
    """Picks of the own side: of all picks, and against gold (`own_failed`: wrong picks where the other side was better,
    `own_did`: where the own one was). `beside`: the judge id of each other judge → how much more often the own side is
    picked than by that one on the same pairs, a pair without a pick being half a one.
    """

    own: Sums
    own_failed: Sums
    own_did: Sums
    beside: Mapping[str, HalfSums]


def judge_models(connection: Connection, audit_id: str) -> Sequence[JudgeModel]:
    """The judges of pairs by label."""
    query = """
        SELECT judge_id, label, model, params FROM judges
        WHERE audit_id = :audit AND form = 'pairwise' ORDER BY label, judge_id
    """
    return [JudgeModel(*row) for row in connection.execute(text(query), {"audit": audit_id})]


def side_models(connection: Connection) -> Sequence[str]:
    """What the sides of the pairs that `read_part` took go by."""
    return list(connection.scalars(text(f"SELECT DISTINCT model FROM {SIDES} ORDER BY model")))


def set_families(connection: Connection, families: Mapping[str, str]) -> None:
    """Say of which family each of these models is; others are of none that is known."""
    connection.execute(text(f"CREATE TEMPORARY TABLE {FAMILIES} (model VARCHAR PRIMARY KEY, family VARCHAR)"))
    if families:
        rows = [{"model": model, "family": family} for model, family in families.items()]
        connection.execute(text(f"INSERT INTO {FAMILIES} VALUES (:model, :family)"), rows)


def family_picks(connection: Connection, judge_id: str, family: str) -> FamilyPicks | None:
    """What this judge picked on pairs with one side of this family; None where it judged none."""
    given = {"judge": judge_id, "family": family}
    query = f"""
        WITH {_mixed("WHERE p.judge_id = :judge")},
        by_task AS (
            SELECT task_id,
                SUM(CASE WHEN pref = own THEN 1 ELSE 0 END) AS k_own, SUM(picked) AS n_own,
                SUM(CASE WHEN gold <> own AND pref = own THEN decidable ELSE 0 END) AS k_failed,
                SUM(CASE WHEN gold <> own THEN decidable * picked ELSE 0 END) AS n_failed,
                SUM(CASE WHEN gold = own AND pref <> own THEN decidable * picked ELSE 0 END) AS k_did,
                SUM(CASE WHEN gold = own THEN decidable * picked ELSE 0 END) AS n_did
            FROM mixed GROUP BY task_id
        )
        SELECT COUNT(*), {sums_of("own")}, {sums_of("failed")}, {sums_of("did")} FROM by_task
    """
    tasks, *values = connection.execute(text(query), given).one()
    if not tasks:
        return None
    own, failed, did = (Sums(*map(int, values[start : start + 6])) for start in (0, 6, 12))
    return FamilyPicks(own, failed, did, _beside(connection, given))


def _mixed(of: str) -> str:
    """The scored pairs with one side of the family, with the side that is (`own`)."""
    return f"""
        mixed AS (
            SELECT p.judge_id, p.task_id, p.pair_id, p.pref, p.gold, p.decidable,
                CASE WHEN a.family = :family THEN 'A' ELSE 'B' END AS own,
                CASE WHEN p.pref IN ('A', 'B') THEN 1 ELSE 0 END AS picked
            FROM {PAIRS} p
            JOIN {FAMILIES} a ON a.model = p.model_a
            JOIN {FAMILIES} b ON b.model = p.model_b
            {of} AND p.status <> 'unscored' AND (a.family = :family) <> (b.family = :family)
        )
    """


def _beside(connection: Connection, given: Mapping[str, str]) -> dict[str, HalfSums]:
    value = "CASE WHEN {0}.picked = 0 THEN 1 WHEN {0}.pref = {0}.own THEN 2 ELSE 0 END"
    query = f"""
        WITH {_mixed("WHERE 1 = 1")},
        pairs AS (
            SELECT other.judge_id, one.task_id, {value.format("one")} - {value.format("other")} AS d
            FROM mixed one JOIN mixed other ON other.pair_id = one.pair_id AND other.judge_id <> one.judge_id
            WHERE one.judge_id = :judge
        ),
        by_task AS (
            SELECT judge_id, task_id, COUNT(*) AS n, SUM(d) AS d, SUM(d * d) AS squares FROM pairs
            GROUP BY judge_id, task_id
        )
        SELECT judge_id, COUNT(*), SUM(n), SUM(d), SUM(squares), SUM(d * d), SUM(d * n), SUM(n * n)
        FROM by_task GROUP BY judge_id ORDER BY judge_id
    """
    return {judge_id: HalfSums(*map(int, sums)) for judge_id, *sums in connection.execute(text(query), dict(given))}
