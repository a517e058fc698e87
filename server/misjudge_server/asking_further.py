"""Which call shows what a result left out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str, ...]
"""Where rows stood in a result."""
ASK_FURTHER = {
    "summarize_audit": "summarize_audit with judge=LABEL and sections=[NAME] for what was left out; "
    "read_record of misjudge://audits/NAME lists the labels, misjudge summarize --json has all",
    "judge": "summarize_audit for all verdicts together, read_record for one",
    "probe_judge": "read_record of misjudge://audits/NAME/probes for the single calls",
    "score_rubrics": "read_record of misjudge://audits/NAME/verdicts for single ones",
    "run_pair": "read_record for what was left out",
    "import_records": "read_record of misjudge://audits/NAME for every import",
    "read_record": "read_record with fields=[…] or cursor",
    "runs": "runs with run=ID for one of them",
    "check_setup": "mend these, then call check_setup again for the rest",
    "write_report": "read_record of misjudge://reports lists the files",
    "export_records": "the folder holds the files that are not named here",
    "review": "review again with cursor=next_cursor",
}
"""What to call for rows that have no call of their own."""
IN_ROWS = "read_record of misjudge://audits/NAME/matchings and of …/rulings, rule by rule"
"""What to call for the examples of a row on rubrics."""


ASIDE = frozenset({"advice", "simulated"})
"""Parts of the section on rubrics without numbers, which are asked for last."""


def further(tool: str, result: Mapping[str, Any], left_out: Mapping[Path, int]) -> str:
    """The calls that fetch the rows which were cut off a result, of so many at each path."""
    if tool == "score_rubrics" and "diff" in result:
        return _of_library(result)
    said = [*_of_rubrics(result, {path: cut for path, cut in left_out.items() if _in_rubrics(path)})]
    said += _of_agreement(result, left_out) if tool == "summarize_audit" else ()
    if not said or not all(_in_rubrics(path) or _in_agreement(path) for path in left_out):
        said.append(ASK_FURTHER.get(tool, ""))
    return "; ".join(said)


def _in_rubrics(path: Path) -> bool:
    return path[0] == "rubrics" and len(path) > 1


def _in_agreement(path: Path) -> bool:
    return path[-2:] in {("agreement", "rows"), ("agreement", "errors")}


def _of_agreement(result: Mapping[str, Any], left_out: Mapping[Path, int]) -> Iterator[str]:
    """The calls that go on behind the couples that are shown, of the audit or of the judges beside each other."""
    for path in filter(_in_agreement, left_out):
        *above, part = path
        found: Any = result
        for name in above:
            found = found[name]
        begun = dict(one.partition(".")[::2] for one in found.get("parts", ()))
        shown = int(begun.get(part) or 0) + len(found[part]) - left_out[path]
        judge = above[1] if above[0] == "judges" else result.get("judge")
        named = "" if judge is None else f", judge={judge!r}"
        yield f"summarize_audit(audit={result['audit']!r}{named}, sections=['agreement.{part}.{shown}'])"


def _of_library(result: Mapping[str, Any]) -> str:
    """A set of rules is read page by page by its address."""
    compared = result["diff"] or {}
    sets = [result["rubric_id"], compared.get("before"), compared.get("after")]
    uris = [f"misjudge://rubrics/{one}" for one in sets if one] or ["misjudge://rubrics"]
    return " and ".join(f"read_record(uri={uri!r})" for uri in uris)


def _of_rubrics(result: Mapping[str, Any], left_out: Mapping[Path, int]) -> Iterator[str]:
    """The call for the first part that was cut, and which parts to ask for likewise."""
    found = result["rubrics"] if left_out else {}
    begun = dict(part.partition(".")[::2] for part in found.get("parts", ()))
    cut = {path[1] for path in left_out if not begun or len(path) == 2}
    parts = sorted((name for name in found if name in cut and name != "parts"), key=ASIDE.__contains__)
    if begun:  # what is asked for alone goes on behind the rows that are shown
        parts = [f"{one}.{int(begun.get(one) or 0) + len(found[one]) - left_out['rubrics', one]}" for one in parts]
    if parts:
        audit = result["audit"] if "audit" in result else result["run"]["audit"]
        others = ", ".join(f"rubrics.{part}" for part in parts[1:])
        more = f", and likewise, one a call, {others}" if others else ""
        yield f"summarize_audit(audit={audit!r}, sections=['rubrics.{parts[0]}']){more}"
    if begun and any(len(path) > 2 for path in left_out):
        yield IN_ROWS
