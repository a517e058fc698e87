"""`misjudge demo`: the main job on twelve recorded pairs, without a key and without a network."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from misjudge_server.console import console, percent
from misjudge_server.progress import with_progress
from misjudge_server.run_printing import print_result
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.types import Check, Episode, Message, PairKey, Record, Task, Trajectory
from misjudge_tools.demo import DemoPair, load_demo_pairs
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.local import local_available
from misjudge_tools.judge import judge
from misjudge_tools.requests import JudgeRequest, SummarizeRequest
from misjudge_tools.summarize_audit import summarize_audit
from misjudge_tools.summary.values import AuditSummary, Sections

LONGEST_S = 600.0
CONNECT = """\
Connect it to your agent:
  Claude Code   claude mcp add misjudge -e MISJUDGE_STORE={store} -- {command} serve
  Codex         codex mcp add misjudge --env MISJUDGE_STORE={store} -- {command} serve
Then ask: "Summarise the audit demo. Which judge should I not trust, and why?"
Audit a judge log you have: misjudge import table LOG.csv --audit mine --dry-run"""


async def run_demo(deps: Deps, audit: str, *, with_local: bool) -> None:
    """Import the pairs, ask the simulated judge and (where it is installed) the local one, and say what came out."""
    await asyncio.to_thread(_import, deps, audit)
    missing = local_available() if with_local else "The local judge was left out (--no-local)."
    for name in ("simulated", *(() if missing else ("local",))):
        request = JudgeRequest(audit=audit, judge=name).model_copy(update={"wait_s": LONGEST_S})
        print_result(await with_progress(deps, partial(judge, request)))
    if missing:
        console.print(f"Local judge skipped: {missing}")
    summary = await summarize_audit(SummarizeRequest(audit=audit), deps)
    print_result(summary)
    for sentence in meaning(summary):
        console.print(sentence)
    print(CONNECT.format(command=_command(), store=shlex.quote(str(Path(deps.store.location).absolute()))))


def _command() -> str:
    """How this command was started, so that a client finds it without a PATH."""
    started = Path(sys.argv[0])
    return shlex.quote(str(started.resolve())) if started.stem == "misjudge" else "misjudge"


def demo_records() -> Iterator[Record]:
    """The shipped pairs as records."""
    for line, pair in enumerate(load_demo_pairs(), 1):
        yield Record(
            line=line,
            task=Task(
                task_id=pair.task_id,
                prompt=pair.task_prompt,
                success_criteria=pair.success_criteria,
                hard_constraints=pair.hard_constraints,
                category=pair.category,
                language="en",
            ),
            episodes=(
                _episode(pair, pair.agent_a, pair.messages_a, pair.success_a, pair.evidence_a),
                _episode(pair, pair.agent_b, pair.messages_b, pair.success_b, pair.evidence_b),
            ),
            pair=PairKey(pair_id=pair.task_id, trial=0),
        )


def _episode(pair: DemoPair, agent: str, messages: tuple[Message, ...], success: bool, evidence: str) -> Episode:
    check = Check(verifier="demo", source="verifier", passed=success, evidence=evidence)
    trajectory = Trajectory(task_id=pair.task_id, agent=agent, trial=0, messages=messages)
    return Episode(trajectory=trajectory, checks=(check,))


def _import(deps: Deps, audit: str) -> None:
    with deps.store.write() as connection:
        # A known secret gives everyone the same prompts, so the same simulated numbers; the pairs are our own.
        ingest(connection, ensure_audit(connection, audit, secret="demo"), "demo", demo_records())


def meaning(summary: AuditSummary) -> tuple[str, str, str]:
    """What the numbers say, in three sentences; each from what was measured."""
    judges = summary.judges or ({summary.judge: summary} if summary.judge else {})
    simulated = judges["simulated"]
    return (_planted(simulated), _local(judges.get("local")), _size(simulated))


def _planted(simulated: Sections) -> str:
    wrong, steady = simulated.misselection, simulated.consistency
    assert wrong is not None and steady is not None
    return (
        f"SIMULATED: the simulated judge, into which a liking for Response A and for polite words was planted, picked "
        f"the side that failed in {percent(wrong.rate)} of {wrong.n} calls, and changed its mind with the order in "
        f"{percent(steady.flip_rate)} of the pairs."
    )


def _local(local: Sections | None) -> str:
    if local is None or local.consistency is None:
        return "No real judge was asked here; install the local one to see one fail."
    steady = local.consistency
    return (
        f"The local SmolLM2 judge is real and has {percent(steady.accuracy)} accuracy, but it answered A in "
        f"{percent(steady.letter_a_share)} of its calls and flipped in {percent(steady.flip_rate)} of the pairs: "
        "that is an answer by position, not a judgement."
    )


def _size(simulated: Sections) -> str:
    decidable = simulated.pairs.decidable if simulated.pairs else 0
    return (
        f"{decidable} decidable pairs show how an audit reads, not how good a judge is: the intervals above are wide, "
        "and a decision needs hundreds of pairs of your own."
    )
