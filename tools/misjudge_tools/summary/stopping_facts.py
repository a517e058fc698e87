"""What adaptive runs mean for a summary: intervals that hold whenever a run stops, and what stopping early saved.

An audit is adaptive where any of its runs was to stop early. How many tasks it holds then depends on what was seen, so
that Wilson's interval would promise too much; the confidence sequence of `stats.anytime` takes its place.
"""

from __future__ import annotations

from misjudge_storage import run_records, stopping_records
from misjudge_storage.summary_values import Group, GroupCounts
from misjudge_tools.runs.stop_report import stopping_facts
from misjudge_tools.stats.anytime import TaskShares
from misjudge_tools.stats.misselection import Misselection, anytime
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary import sections as make
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.stopping_values import StoppingFacts
from misjudge_tools.summary.values import Bucket


def misselection_of(of: Judged, group: GroupCounts) -> Misselection | NoData:
    """How often the judge picked the side that failed, over all of its pairs, which are this `group`."""
    found = make.misselection_section(group)
    return found if isinstance(found, NoData) or not of.counts.adaptive else _anytime(of, found)


def bucket_of(of: Judged, found: Bucket) -> Bucket:
    """A bucket with the interval that it needs: runs stop by buckets of ability only."""
    if found.gap != "ability" or not of.counts.adaptive:
        return found
    return found.model_copy(update={"misselection": _anytime(of, found.misselection, found.gap, found.bucket)})


def _anytime(of: Judged, found: Misselection, gap: str = "", bucket: str = "") -> Misselection:
    calls, decided = (_shares(of, measure, gap, bucket) for measure in ("wrong_calls", "wrong_pairs"))
    return anytime(found, calls, decided)


def _shares(of: Judged, measure: str, gap: str, bucket: str) -> list[TaskShares]:
    """Those of the judge's tasks; of two subsets, tasks of one name are two."""
    assert of.paired is not None
    wanted = (of.paired.judge_id, gap, bucket)
    return [
        TaskShares(*counted)
        for group, counts in of.counts.task_shares[measure].items()
        if _key(group) == wanted and of.subset in {None, group.subset}
        for counted in counts
    ]


def _key(group: Group) -> tuple[str, str, str]:
    return group.judge_id, group.gap, group.bucket


def stopping_of(counts: AuditCounts) -> StoppingFacts | None:
    """What the audit's adaptive runs decided and saved, with all of their judges; None where there are none.

    Of runs for the very same request one counts that is done, else the latest.
    """
    seen: set[str] = set()
    chosen: list[str] = []
    for run_id in counts.adaptive:  # the latest first
        if run_id in seen:
            continue
        same = [run_id, *stopping_records.same_requests(counts.connection, run_id)]
        seen.update(same)
        done = [one for one in same if run_records.read_run(counts.connection, one).state == "done"]
        chosen.append((done or same)[0])
    labels = {judge.judge_id: judge.label for judge in counts.judges}
    return stopping_facts(counts.connection, chosen, labels)
