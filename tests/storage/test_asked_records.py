"""The models that an audit asked."""

from __future__ import annotations

from builders import JUDGE, SATISFACTION, episode, lone, pair, satisfied, verdict
from misjudge_storage.asked_records import AskedJudge, AskedModels, asked_models
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ensure_judge
from misjudge_storage.types import Judge, Log
from operations import stored


def test_judges_and_simulated_users_are_named_once_and_what_is_made_up_or_unnamed_is_not(store: Store) -> None:
    judges = [
        JUDGE,
        Judge(label="made up", form="pairwise", model="m", simulated=True),
        Judge(label="unnamed", form="pairwise"),
    ]
    with store.write() as connection:  # planned, and not asked yet
        ensure_judge(connection, ensure_audit(connection, "demo"), Judge(label="later", form="pairwise", model="l"))
    logs = [
        Log(role="user_sim", model="u"),
        Log(role="user_sim", model="u", turn=2),
        Log(role="user_sim", model="made-up", simulated=True),
        Log(role="user_sim"),
        Log(role="agent", model="an agent's"),
    ]
    audit = stored(
        store,
        [
            pair("p", None, None, *(verdict("A", judge=judge) for judge in judges)),
            lone(episode("x", task="t2", satisfaction=[satisfied(0.9)], logs=logs), 2),
        ],
    )
    stored(store, [pair("p", None, None, verdict("A", judge=Judge(label="other", form="pairwise", model="o")))], "b")
    with store.read() as connection:
        found = asked_models(connection, audit)
    expected = (AskedJudge("gate", "satisfaction", SATISFACTION.model), AskedJudge("judge", "pairwise", JUDGE.model))
    assert found == AskedModels(expected, ("u",))
