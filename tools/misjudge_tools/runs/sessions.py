"""The judge of a stored run: what `Worker` opens before it works on cells."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from misjudge_storage import judging_records
from misjudge_storage.engine import Store
from misjudge_storage.run_records import RunRow
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.judging.choice import JudgingSpec, open_gateway
from misjudge_tools.judging.session import JudgingSession
from misjudge_tools.profiles import ModelSettings
from misjudge_tools.runs.worker import OpenSession


def session_opener(store: Store, models: ModelSettings, gateways: Gateways) -> OpenSession:
    """Opens a run's judge from the specification stored with the run, so that any process can resume it."""

    @asynccontextmanager
    async def open_session(run: RunRow) -> AsyncIterator[JudgingSession]:
        spec = JudgingSpec.model_validate_json(run.request_json)
        with store.read() as connection:
            audit = judging_records.read_audit(connection, run.audit)
        async with open_gateway(spec, models, gateways) as way:
            yield JudgingSession(store, audit, run.run_id, spec, way)

    return open_session
