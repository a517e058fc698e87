"""Words of a table's verdict columns that no meaning is known for: named, counted, and refused where they are most."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from misjudge_storage.errors import BadRecords, InvalidInput
from misjudge_tools.deps import Deps
from misjudge_tools.import_records import import_records
from misjudge_tools.interchange.verdict_words import LONGEST_WORD, MOST_WORDS
from misjudge_tools.requests import ImportRequest
from misjudge_tools.results import ImportResult
from operations import count, dump, rows


def log(folder: Path, verdicts: Sequence[str], gold: Sequence[str] = (), name: str = "log.csv", order: str = "") -> str:
    """A judge log with a row for each verdict; `order` is the cell of the column `shown`."""
    lines = ["q,a,b,winner,gold,shown"]
    for number, said in enumerate(verdicts):
        lines.append(f"q{number},yes,no,{said},{gold[number] if gold else ''},{order}")
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


async def bring(deps: Deps, path: str, **options: Any) -> ImportResult:
    given: dict[str, Any] = {"audit": "a", "format": "table", "paths": [path], "map": ["prompt=q"], **options}
    return await import_records(ImportRequest.model_validate(given), deps)


async def refused(deps: Deps, path: str, **options: Any) -> str:
    """What the import says when it refuses; the dry run must say the same, and neither may store anything."""
    before = dump(deps.store)
    with pytest.raises(InvalidInput) as caught:
        await bring(deps, path, **options)
    dry = await bring(deps, path, dry_run=True, **options)
    assert dry.refused == str(caught.value)
    assert dump(deps.store) == before
    return str(caught.value)


async def test_words_without_a_meaning_are_named_by_column_with_their_numbers(deps: Deps, tmp_path: Path) -> None:
    path = log(tmp_path, ["A", "B", "tie", "X", "Y", "Y", "B"], ["A", "A", "A", "?", "", "B", "B"])
    told = (
        "Not understood, so an unscored verdict or no label: winner 'winner': 'Y' (2), 'X' (1); gold 'gold': '?' (1). "
        "Say what it means with --values '?=…,X=…,Y=…' (…: A, B, tie, or none for no verdict); where it is imported "
        "already, into an audit of another name."
    )
    dry = await bring(deps, path, dry_run=True)
    assert (dry.refused, dry.files[0].warnings) == (None, (told,))
    assert count(deps.store, "audits") == 0
    (report,) = (await bring(deps, path)).files
    assert (report.records, report.unscored, report.warnings) == (7, 3, (told,))


async def test_a_table_of_which_all_is_understood_warns_of_nothing(deps: Deps, tmp_path: Path) -> None:
    path = log(tmp_path, ["X", "tie", "Y", "", "n/a"], ["A", "model_b", "tie", "", ""])
    (report,) = (await bring(deps, path, values=["winner:X=A,Y=B,n/a=none"])).files
    assert (report.unscored, report.warnings) == (2, ())
    assert [row["winner"] for row in rows(deps.store, "SELECT winner FROM verdicts ORDER BY pair_id")].count("tie") == 1


@pytest.mark.parametrize(
    ("verdicts", "gold", "said"),
    [
        (["X", "Y", "X", "tie"], [], "as winner is not understood (3 of the 4 cells of 'winner': 'X' (2), 'Y' (1))"),
        (["X", "Y", "", "tie"], [], "as winner is not understood (2 of the 3 cells of 'winner'"),
        (["A", "B", "A"], ["X", "", ""], "as gold is not understood (1 of the 1 cells of 'gold': 'X' (1))"),
        (["1", "2"], ["X", "Y"], "as winner and gold is not understood (2 of the 2 cells of 'winner'"),
    ],
)
async def test_a_table_is_refused_where_most_of_a_column_is_not_understood(
    deps: Deps, tmp_path: Path, verdicts: list[str], gold: list[str], said: str
) -> None:
    error = await refused(deps, log(tmp_path, verdicts, gold))
    assert said in error and "so nothing was imported. Say what the cells mean with --values" in error


async def test_one_column_of_several_that_says_nothing_is_enough_to_refuse(deps: Deps, tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("q,a,b,gpt,llama\n" + "".join(f"q{n},yes,no,A,{n + 1}\n" for n in range(3)), encoding="utf-8")
    error = await refused(deps, str(path), map=["prompt=q", "winner=gpt+llama"])
    assert "'llama'" in error and "'gpt'" not in error


async def test_half_of_a_column_is_not_most_of_it(deps: Deps, tmp_path: Path) -> None:
    (report,) = (await bring(deps, log(tmp_path, ["A", "X"]))).files
    assert report.unscored == 1 and "'X' (1)" in report.warnings[0]


async def test_what_is_said_to_mean_no_verdict_is_no_reason_to_refuse(deps: Deps, tmp_path: Path) -> None:
    path = log(tmp_path, ["ERR", "ERR", "ERR", "model_a"])
    assert "'ERR' (3)" in await refused(deps, path)
    (report,) = (await bring(deps, path, values=["ERR=none"])).files
    assert (report.unscored, report.warnings) == (3, ())


async def test_a_column_of_empty_verdicts_is_refused(deps: Deps, tmp_path: Path) -> None:
    assert "None of the 2 verdicts in log.csv names a side or a tie" in await refused(deps, log(tmp_path, ["", ""]))


async def test_a_gold_column_left_out_does_not_keep_the_verdicts_out(deps: Deps, tmp_path: Path) -> None:
    path = log(tmp_path, ["A", "B"], ["3", "5"])
    assert "--map gold=" in await refused(deps, path)
    (report,) = (await bring(deps, path, map=["prompt=q", "gold="])).files
    assert (report.records, report.unscored) == (2, 0)


async def test_a_long_text_is_counted_and_never_repeated(deps: Deps, tmp_path: Path) -> None:
    secret = "the reply of the judge, which is private"
    assert len(secret) > LONGEST_WORD
    path = log(tmp_path, [secret.replace(",", ";"), secret.replace(",", "."), "?"])
    error = await refused(deps, path)
    assert "'?' (1), others (2)" in error and "private" not in error
    error = await refused(deps, log(tmp_path, [secret.replace(",", ";")]))
    assert "longer texts (1)" in error and "--values '1=…'" in error and "private" not in error


async def test_the_commonest_words_are_named_and_the_others_counted_in_bounded_memory(
    deps: Deps, tmp_path: Path
) -> None:
    words = [f"w{n}" for n in range(MOST_WORDS + 50)] + ["often"] * 3
    error = await refused(deps, log(tmp_path, words[::-1]))
    assert f"{len(words)} of the {len(words)} cells" in error
    assert "'often' (3)" in error and f"others ({len(words) - 3 - 4})" in error and len(error) < 700


async def test_words_of_rows_that_are_left_out_are_not_counted(deps: Deps, tmp_path: Path) -> None:
    path = log(tmp_path, ["A", "B"], order="AB")
    with Path(path).open("a", encoding="utf-8") as file:
        file.write("q8,yes,no,X,,what\nq9,yes,no,Y,,AB\n")
    (report,) = (await bring(deps, path, map=["prompt=q", "order=shown"], skip_bad=True)).files
    assert (report.left_out, report.unscored) == (1, 1)
    assert "'Y' (1)" in report.warnings[0] and "'X'" not in report.warnings[0]


async def test_the_meaning_of_order_cells_can_be_given(deps: Deps, tmp_path: Path) -> None:
    path = log(tmp_path, ["A", "B"], order="no")
    error = await refused(deps, path, map=["prompt=q", "order=shown"])
    assert "column 'shown' must hold AB or BA" in error and "--values order:yes=BA,no=AB" in error
    await bring(deps, path, map=["prompt=q", "order=shown"], values=["order:yes=BA,no=AB"])
    assert {row["order_shown"] for row in rows(deps.store, "SELECT order_shown FROM verdicts")} == {"AB"}


@pytest.mark.parametrize("behind", [100, 3000])
async def test_a_dry_run_reads_to_the_end_of_the_file(deps: Deps, tmp_path: Path, behind: int) -> None:
    path = log(tmp_path, ["A"] * behind)
    with Path(path).open("a", encoding="utf-8") as file:
        file.write("q,same,same,A,,\n" * 5)
    error = await refused(deps, path)
    assert error.startswith("log.csv: 5 records cannot be read, so nothing was imported.")
    first = behind + 2
    assert f"lines {first}, {first + 1}, {first + 2} and 2 more: both sides hold the same response" in error


async def test_a_dry_run_of_several_files_says_of_each_what_would_become_of_it(deps: Deps, tmp_path: Path) -> None:
    good = log(tmp_path, ["A", "B"], name="good.csv")
    bad = log(tmp_path, ["X", "Y"], name="bad.csv")
    worse = log(tmp_path, ["", ""], name="worse.csv")
    result = await bring(deps, good, paths=[good, bad, worse], dry_run=True)
    assert [file.source for file in result.files] == ["good.csv"]
    assert result.preview is not None and list(result.preview) == [good, bad, worse]
    assert result.refused is not None
    first, second = result.refused.splitlines()
    assert first.startswith("Most of what bad.csv holds") and "in worse.csv" in second
    assert result.next is not None and result.next.startswith("dry_run again")
    json.dumps(result.model_dump(mode="json"))


async def test_at_most_ten_different_complaints_are_named(deps: Deps, tmp_path: Path) -> None:
    columns = ("reward_a", "reward_b", "judge_score_a", "judge_score_b", "judge_cost", "trial")
    lines = [f"pair_id,judge_pref,{','.join(columns)}"]
    for said in ("wrong", "nan"):
        for column in columns:
            lines += ["p,A," + ",".join(said if name == column else "" for name in columns)] * 2
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(BadRecords) as caught:
        await bring(deps, str(path), format="pairs", map=[])
    assert (caught.value.total, len(caught.value.problems)) == (24, 10)
    assert all(problem.startswith("lines ") for problem in caught.value.problems)
    assert str(caught.value).endswith("\n  and 4 more")
