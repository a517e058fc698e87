"""SARIF 2.1.0 (OASIS): each place where a judge and the evidence disagree is a result, found by the address of its
pair.

A strict conflict of the summary is a misselected pair, so it is one result. Results are written one by one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from misjudge_storage.export_rows import Fields, Rows, pair_rows, read_calls, satisfied_failure_rows
from misjudge_storage.hashing import digest
from misjudge_tools.exporting.keys import Hide, without_keys
from misjudge_tools.results import record_uri
from misjudge_tools.stats.rates import Tally
from misjudge_tools.summary.judged import SATISFACTION_FORMS

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_TOOL: Final = "misjudge"
OURS: Final = re.compile(
    re.escape(
        f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [{{"tool": {{"driver": {{"name": "{_TOOL}"'.encode()
    )
)
"""How such a file begins."""
_UNSHOWN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Characters that a viewer might obey: controls, and marks that turn the direction of text or cannot be seen."""


class Rule(NamedTuple):
    """What a result may be an example of, and how bad that is."""

    rule_id: str
    level: str
    short: str
    full: str


RULES: Final = (
    Rule(
        "misselected",
        "error",
        "The judge picked the side that the evidence says is the worse one.",
        "Gold (human over verifier over label over reward) names one side as the better one, and the judge's reduced "
        "verdict names the other. These are the strict conflicts of the summary.",
    ),
    Rule(
        "unsupported",
        "warning",
        "The judge picked a side that failed, and nothing says that the other one was worse.",
        "The picked side failed; the other one failed too, or nothing is known of it.",
    ),
    Rule(
        "missed",
        "note",
        "The evidence names a side and the judge named none.",
        "Gold names one side as the better one; the judge's orders disagree, or it called a tie.",
    ),
    Rule(
        "satisfied-failed",
        "warning",
        "The judge was satisfied with an episode that failed.",
        "The judge's mean score meets the threshold of its scale, and the task was not done.",
    ),
)
_INDEX: Final = {rule.rule_id: place for place, rule in enumerate(RULES)}


class Totals(NamedTuple):
    """Of one judge: how many of its verdicts are such a conflict, of those that could be one, by rule."""

    by_rule: Mapping[str, Tally]


def write_sarif(
    path: Path,
    connection: Connection,
    audit: str,
    audit_id: str,
    *,
    judge: str | None,
    totals: Mapping[str, Totals],
    marked: str | None,
    hide: Hide,
) -> int:
    """Write the log with one run; how many results it has. `judge`: only those of this one. Raises OSError."""
    number = 0
    results = _results(connection, audit, audit_id, judge, totals, hide)
    with closing(results), path.open("x", encoding="utf-8", newline="\n") as file:
        head, tail = _frame(hide(audit), marked)
        file.write(head)
        for number, result in enumerate(results, 1):
            file.write(f"{',' if number > 1 else ''}\n{json.dumps(result, ensure_ascii=False, allow_nan=False)}")
        file.write(tail)
    return number


def shown(text: str) -> str:
    """Text as part of a message: no placeholder, no link and no character that a viewer would obey."""
    plain = _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text)
    return re.sub(r"([\[\]\\])", r"\\\1", plain).replace("{", "{{").replace("}", "}}")


def _frame(audit: str, marked: str | None) -> tuple[str, str]:
    """The log before and behind its results."""
    rules = [
        {
            "id": rule.rule_id,
            "shortDescription": {"text": rule.short},
            "fullDescription": {"text": rule.full},
            "defaultConfiguration": {"level": rule.level},
        }
        for rule in RULES
    ]
    run = {
        "tool": {"driver": {"name": _TOOL, "rules": rules}},
        "automationDetails": {"id": f"misjudge/{audit}/"},
        "properties": {"audit": audit, **({} if marked is None else {"marked": marked})},
        "results": [],
    }
    log = json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False)
    head, _, tail = log.rpartition("[]")
    return f"{head}[", f"\n]{tail}\n"


def _results(
    connection: Connection, audit: str, audit_id: str, judge: str | None, totals: Mapping[str, Totals], hide: Hide
) -> Rows:
    """Keys are taken out of the rows: in a message or an address they would not read the same."""
    with closing(pair_rows(connection, audit_id)) as rows:
        for row in rows:
            label: str = row["judge"] or ""
            rule = rule_of(row) if label and judge in {None, label} else None
            if rule is not None:
                calls = read_calls(connection, audit_id, row["pair_id"], row["judge_fingerprint"])
                yield _pair_result(audit, without_keys(row, hide), rule, calls, totals.get(label))
    with closing(satisfied_failure_rows(connection, audit_id, SATISFACTION_FORMS)) as rows:
        for row in rows:
            label = row["judge"]
            if judge in {None, label}:
                yield _episode_result(audit, without_keys(row, hide), totals.get(label))


def rule_of(row: Mapping[str, Any]) -> str | None:
    """The rule that a row of `audit_pairs` is an example of, as the section `conflicts` sorts them."""
    picked = row["judge_pref"]
    if row["gold_pref"] in {"A", "B"}:
        if row["misselected"]:
            return "misselected"
        return "missed" if row["judge_status"] in {"tie", "inconsistent"} else None
    if picked not in {"A", "B"}:
        return None
    success = {"A": row["success_a"], "B": row["success_b"]}
    other = success["B" if picked == "A" else "A"]
    return "unsupported" if success[picked] == 0 and not other else None


def _pair_result(audit: str, row: Fields, rule: str, calls: Sequence[str], totals: Totals | None) -> Fields:
    picked, gold = row["judge_pref"], row["gold_pref"]
    named = picked if rule != "missed" else gold
    k = sum(call == named for call in calls)
    said = {
        "misselected": f"picked {picked}, and {gold} was better ({row['gold_source']})",
        "unsupported": f"picked {picked}, which failed, and nothing says that the other side was worse",
        "missed": f"named no side ({row['judge_status']}), and {gold} was better ({row['gold_source']})",
    }[rule]
    message = f"Judge {shown(row['judge'])} {said}: {named} in {k} of {len(calls)} readable verdicts on this pair."
    properties = {
        "pair_id": row["pair_id"],
        "task_id": row["task_id"],
        "judge": row["judge"],
        "agents": [row["agent_a"], row["agent_b"]],
        "judge_status": row["judge_status"],
        "judge_pref": picked,
        "gold_pref": gold,
        "gold_source": row["gold_source"],
        "ability_bucket": row["ability_bucket"],
        "verdicts": {"k": k, "n": len(calls)},
        "simulated": bool(row["simulated"]),
    }
    where = _Where(record_uri(audit, "pairs", row["pair_id"]), row["pair_id"])
    return _result(rule, message + _among(rule, totals), where, row["judge_fingerprint"], properties)


def _episode_result(audit: str, row: Fields, totals: Totals | None) -> Fields:
    rule = "satisfied-failed"
    message = (
        f"Judge {shown(row['judge'])} scored this episode {row['score']:g}, with {row['threshold']:g} as its "
        f"threshold, and the task was not done ({row['success_source']})."
    )
    where = _Where(record_uri(audit, "trajectories", row["trajectory_id"]), row["trajectory_id"])
    return _result(rule, message + _among(rule, totals), where, f"{row['judge']}/{row['form']}", row)


class _Where(NamedTuple):
    uri: str
    name: str


def _among(rule: str, totals: Totals | None) -> str:
    found = None if totals is None else totals.by_rule.get(rule)
    return "" if found is None else f" This is one of {found.k} of {found.n} in the audit."


def _result(rule: str, message: str, where: _Where, judge: str, properties: Mapping[str, Any]) -> Fields:
    return {
        "ruleId": rule,
        "ruleIndex": _INDEX[rule],
        "level": RULES[_INDEX[rule]].level,
        "message": {"text": message},
        "locations": [
            {"logicalLocations": [{"name": where.name, "fullyQualifiedName": where.uri, "kind": "resource"}]}
        ],
        "partialFingerprints": {"misjudge/v1": digest("res", [rule, where.uri, judge])},
        "properties": dict(properties),
    }
