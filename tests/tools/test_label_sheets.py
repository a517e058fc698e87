"""Label sheets: blind, safe in a spreadsheet, and the same rows as one by one, whatever a spreadsheet made of them."""

from __future__ import annotations

import csv
import errno
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from builders import episode, messages, pair
from label_parts import HIDDEN, answered, at_work, label_next, label_rows, review_pairs, with_secret
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.review_records import Review
from misjudge_tools.deps import Deps
from misjudge_tools.exporting.keys import Hide
from misjudge_tools.labelling.giving import Session, blind_pairs
from misjudge_tools.labelling.review_requests import SheetInRequest, SheetOutRequest
from misjudge_tools.labelling.values import ReviewPair
from misjudge_tools.results import SheetResult
from misjudge_tools.review import sheet_in, sheet_out
from operations import count, dump, opened, rows

Cells = dict[str, Any]
TEXTS = ("task", "criteria", "constraints", "response_a", "response_b")


async def written(deps: Deps, path: Path, **values: Any) -> SheetResult:
    return await sheet_out(SheetOutRequest(audit="a", reviewer="ann", path=str(path), **values), deps)


async def read_in(deps: Deps, path: Path, reviewer: str | None = "ann") -> SheetResult:
    return await sheet_in(SheetInRequest(audit="a", reviewer=reviewer, path=str(path)), deps)


def cells_of(path: Path) -> list[Cells]:
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text, newline="")))


def filled(row: Cells) -> Cells:
    """The row as a person fills it in."""
    shown = ReviewPair(pair=row["pair"], **{name: row[name] or "" for name in TEXTS})
    return {**row, **answered(shown)._asdict()}


def save(path: Path, found: list[Cells], *, delimiter: str = ",", encoding: str = "utf-8", end: str = "\r\n") -> None:
    """Write the rows as a program does that a person filled them in with."""
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in found), encoding="utf-8")
        return
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), delimiter=delimiter, lineterminator=end)
        writer.writeheader()
        writer.writerows(found)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
async def test_twenty_pairs_by_sheet_and_one_by_one_are_the_same_rows(deps: Deps, tmp_path: Path, suffix: str) -> None:
    with_secret(deps.store, review_pairs(30))
    path = tmp_path / f"sheet{suffix}"
    out = await written(deps, path)
    assert (out.pairs, out.cut, out.standing.open) == (20, 0, 20)
    save(path, [filled(row) for row in cells_of(path)])
    into = await read_in(deps, path)
    assert (into.pairs, into.new, into.corrections, into.same, into.empty) == (20, 20, 0, 0, 0)
    assert into.standing.labelled == 20 and into.standing.open == 0
    assert {row["came_by"] for row in rows(deps.store, "SELECT came_by FROM gold_labels")} == {"sheet"}
    async with opened(tmp_path / "other.db") as other:
        with_secret(other.store, review_pairs(30))
        label_next(other.store, at_work(other.store, "ann"), 20)
        assert label_rows(other.store) == label_rows(deps.store)
        assert len(label_rows(other.store)) == 60


async def test_the_same_sheet_again_adds_nothing_and_another_answer_is_a_correction(deps: Deps, tmp_path: Path) -> None:
    with_secret(deps.store, review_pairs(6))
    path = tmp_path / "sheet.csv"
    await written(deps, path, pairs=6)
    full = [filled(row) for row in cells_of(path)]
    save(path, full)
    await read_in(deps, path)
    before = dump(deps.store)
    again = await read_in(deps, path)
    assert (again.same, again.new, again.corrections) == (6, 0, 0)
    assert dump(deps.store) == before
    save(path, [{**full[0], "pref": "tie" if full[0]["pref"] != "tie" else "A"}, *full[1:]])
    turned = await read_in(deps, path)
    assert (turned.corrections, turned.same) == (1, 5) and "this one counts" in str(turned.note)
    assert count(deps.store, "gold_labels") == 7


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
async def test_a_sheet_of_many_pairs_is_written_few_at_a_time(
    deps: Deps, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_secret(deps.store, review_pairs(50))
    read: list[int] = []

    def counted(store: Store, of: Session, some: Sequence[Review], hide: Hide) -> list[ReviewPair]:
        read.append(len(some))
        return blind_pairs(store, of, some, hide)

    monkeypatch.setattr("misjudge_tools.review.blind_pairs", counted)
    out = await written(deps, tmp_path / f"sheet{suffix}", pairs=50)
    given = {row["token"] for row in rows(deps.store, "SELECT token FROM reviews")}
    found = [row["pair"] for row in cells_of(tmp_path / f"sheet{suffix}")]
    assert out.pairs == len(found) == 50 and {*found} == given
    assert sum(read) == 50 and max(read) <= 20


async def test_a_sheet_of_one_stream_leaves_the_open_pairs_of_the_other_out(deps: Deps, tmp_path: Path) -> None:
    with_secret(deps.store, review_pairs(20))
    await written(deps, tmp_path / "both.csv", pairs=6)
    await written(deps, tmp_path / "random.csv", pairs=8, only="random")
    stream = {row["token"]: row["stream"] for row in rows(deps.store, "SELECT token, stream FROM reviews")}
    both, one = ([row["pair"] for row in cells_of(tmp_path / name)] for name in ("both.csv", "random.csv"))
    assert {stream[token] for token in both} == {"random", "chosen"}
    assert {stream[token] for token in one} == {"random"} and {*one} & {*both}


def capitals_turned(found: list[Cells]) -> list[Cells]:
    names = ("pref", "success_a", "success_b")
    return [{name: str(cell).swapcase() if name in names else cell for name, cell in row.items()} for row in found]


def with_empty_rows(found: list[Cells]) -> list[Cells]:
    empty, blank = dict.fromkeys(found[0], ""), dict.fromkeys(found[0], " ")
    return [empty, *found[:3], blank, *found[3:], empty, empty]


def without_texts(found: list[Cells]) -> list[Cells]:
    return [{"note": "x", **{name: cell for name, cell in row.items() if name not in TEXTS}} for row in found]


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (list, {"delimiter": ";"}),
        (list, {"delimiter": "\t", "encoding": "utf-8-sig", "end": "\n"}),
        (list, {"encoding": "utf-8-sig", "end": "\r"}),
        (capitals_turned, {}),
        (with_empty_rows, {"delimiter": ";"}),
        (without_texts, {}),
        (lambda found: found[::-1], {}),
        (lambda found: [{name.upper(): cell for name, cell in row.items()} for row in found], {}),
        (lambda found: [{name: f" {cell} " for name, cell in row.items()} for row in found], {}),
    ],
)
async def test_what_a_spreadsheet_turns_around_is_read_all_the_same(
    deps: Deps, tmp_path: Path, change: Callable[[list[Cells]], list[Cells]], how: dict[str, str]
) -> None:
    with_secret(deps.store, review_pairs(8))
    path = tmp_path / "sheet.csv"
    await written(deps, path, pairs=8)
    save(path, change([filled(row) for row in cells_of(path)]), **how)
    into = await read_in(deps, path)
    assert (into.pairs, into.new) == (8, 8)


async def test_a_sheet_is_blind_and_what_is_empty_stays_open(deps: Deps, tmp_path: Path) -> None:
    with_secret(deps.store, review_pairs(10))
    path = tmp_path / "sheet.csv"
    out = await written(deps, path, pairs=10)
    text = path.read_text(encoding="utf-8-sig") + out.model_dump_json().replace(str(tmp_path), "")
    assert not [word for word in (*HIDDEN, "random", "chosen") if word in text.lower()]
    found = cells_of(path)
    assert all(row["pref"] == row["success_a"] == row["success_b"] == "" for row in found)
    save(path, [filled(row) for row in found[:4]] + found[4:])
    into = await read_in(deps, path)
    assert (into.new, into.empty, into.standing.open) == (4, 6, 6)
    again = await written(deps, tmp_path / "again.jsonl", pairs=10)
    assert again.pairs == 6
    assert {row["pair"] for row in cells_of(tmp_path / "again.jsonl")} == {row["pair"] for row in found[4:]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pref": "left"}, 'line 2: pref must be A, B or tie, not "left"'),
        ({"pref": "Order 1 is cancelled."}, "line 2: pref must be A, B or tie: which"),
        ({"pref": "", "success_a": "yes"}, "line 2: pref must be A, B or tie"),
        ({"success_b": "Perhaps"}, 'line 2: success_b must be yes, no or unsure, or empty, not "Perhaps"'),
        ({"pair": ""}, "line 2: the cell pair is empty"),
        ({"pair": "rev_0123456789abcdef"}, 'line 2: no pair was given out under the token "rev_0123456789abcdef"'),
        ({"pair": "I am quuxbot."}, "line 2: no pair was given out under the token. Keep"),
    ],
)
async def test_one_wrong_row_leaves_all_out(deps: Deps, tmp_path: Path, change: Cells, said: str) -> None:
    with_secret(deps.store, review_pairs(3))
    path = tmp_path / "sheet.csv"
    await written(deps, path, pairs=3)
    full = [filled(row) for row in cells_of(path)]
    # One line a row, so that lines can be counted.
    flat = [{name: cell for name, cell in row.items() if name not in TEXTS} for row in full]
    save(path, [{**flat[0], **change}, *flat[1:]])
    before = dump(deps.store)
    with pytest.raises(InvalidInput, match=f"Nothing of sheet.csv was stored. {said}"):
        await read_in(deps, path)
    assert dump(deps.store) == before


async def test_rows_that_cannot_be_are_all_named(deps: Deps, tmp_path: Path) -> None:
    with_secret(deps.store, review_pairs(8))
    path = tmp_path / "sheet.csv"
    await written(deps, path, pairs=8)
    found = [{"pair": row["pair"], "pref": "=HYPERLINK()"} for row in cells_of(path)]
    save(path, [*found, {"pair": found[0]["pair"], "pref": "A"}, {"pair": found[0]["pair"], "pref": "B"}])
    with pytest.raises(InvalidInput) as refused:
        await read_in(deps, path)
    said = str(refused.value)
    assert said.startswith("Nothing of sheet.csv was stored. lines 2, 3, 4 and 5 more: pref must be")
    assert said.endswith("line 11: this pair is answered in line 10, too. Keep one of them.")
    assert said.count("pref") == 1 and "HYPERLINK" not in said
    words = ["left", "right", "left", "one", "two", "three", "four", "five"]
    save(path, [{**row, "pref": word} for row, word in zip(found, words, strict=True)])
    with pytest.raises(InvalidInput, match=r'lines 2 and 4: .*"left".* line 3: .*"right".*"three".*and 2 more$'):
        await read_in(deps, path)
    save(path, [{"pair": found[0]["pair"], "pref": "A"}, {"pair": found[0]["pair"], "pref": "A"}])
    with pytest.raises(InvalidInput, match="line 3: this pair is answered in line 2, too"):
        await read_in(deps, path)
    save(path, [{"pair": row["pair"], "better": "A"} for row in found])
    with pytest.raises(InvalidInput, match=r"lines 2, 3, 4 and 5 more: there is no column pref\. Keep [^;:]*$"):
        await read_in(deps, path)
    path.write_text("pair,pref\nrev_1\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="line 2: it has 1 cells"):
        await read_in(deps, path)


async def test_a_sheet_of_another_reviewer_is_refused(deps: Deps, tmp_path: Path) -> None:
    with_secret(deps.store, review_pairs(3))
    path = tmp_path / "sheet.jsonl"
    await written(deps, path, pairs=3)
    save(path, [filled(row) for row in cells_of(path)])
    with pytest.raises(InvalidInput, match=r"lines 1, 2 and 3: this pair was given to another reviewer\. Name the one"):
        await read_in(deps, path, "bob")
    assert count(deps.store, "gold_labels") == 0
    with pytest.raises(InvalidInput, match="needs the id of the person"):
        await read_in(deps, path, None)


async def test_a_sheet_of_another_audit_or_store_is_refused_and_says_so(deps: Deps, tmp_path: Path) -> None:
    with_secret(deps.store, review_pairs(3))
    with_secret(deps.store, review_pairs(3), "another secret", "b")
    path = tmp_path / "sheet.jsonl"
    await written(deps, path, pairs=3)
    save(path, [filled(row) for row in cells_of(path)])
    request = SheetInRequest(audit="b", reviewer="ann", path=str(path))
    with pytest.raises(InvalidInput, match=r"lines 1, 2 and 3: this pair is of another audit\. Read the sheet into"):
        await sheet_in(request, deps)
    async with opened(tmp_path / "other.db") as other:
        with_secret(other.store, review_pairs(3), "another secret")
        with pytest.raises(InvalidInput, match=r"line 1: no pair was given out under the token .* line 3: no pair"):
            await read_in(other, path)
        assert count(other.store, "gold_labels") == 0


def full_disk(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("failing", ["misjudge_tools.review.write_sheet", "misjudge_tools.exporting.writing._name"])
async def test_pairs_of_a_sheet_that_could_not_be_written_are_given_to_nobody(
    deps: Deps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    with_secret(deps.store, review_pairs(12))
    await written(deps, tmp_path / "first.csv", pairs=4)
    (tmp_path / "there.csv").write_text("mine", encoding="utf-8")
    before = rows(deps.store, "SELECT * FROM reviews")
    with pytest.raises(InvalidInput, match="is there already"):
        await written(deps, tmp_path / "there.csv", pairs=12)
    with monkeypatch.context() as broken:
        broken.setattr(failing, full_disk)
        with pytest.raises(InvalidInput, match="No space left on device"):
            await written(deps, tmp_path / "sheet.csv", pairs=12)
    assert rows(deps.store, "SELECT * FROM reviews") == before and len(before) == 4
    assert sorted(one.name for one in tmp_path.glob("*.csv")) == ["first.csv", "there.csv"]
    assert (await written(deps, tmp_path / "sheet.csv", pairs=12)).pairs == 12


async def test_formulas_are_no_formulas_in_a_sheet(deps: Deps, tmp_path: Path) -> None:
    hostile = ("=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\tx")
    sides = [episode(name, said=messages("hi", "ok")) for name in "xy"]
    with_secret(
        deps.store,
        [pair(f"p{n}", sides[0], sides[1], prompt=text, line=n + 1) for n, text in enumerate(hostile[:1])],
    )
    out = await written(deps, tmp_path / "sheet.csv", pairs=3)
    assert out.guarded == 1
    assert [row["task"] for row in cells_of(tmp_path / "sheet.csv")] == [f"'{hostile[0]}"]
    await written(deps, tmp_path / "sheet.jsonl", pairs=3)
    assert [row["task"] for row in cells_of(tmp_path / "sheet.jsonl")] == [hostile[0]]


async def test_what_no_cell_can_hold_is_cut_in_a_spreadsheet_and_whole_elsewhere(deps: Deps, tmp_path: Path) -> None:
    sides = [episode(name, said=messages("hi", f"start {'m' * n} end")) for name, n in (("x", 40_000), ("y", 5))]
    with_secret(deps.store, [pair("p", sides[0], sides[1])])
    out = await written(deps, tmp_path / "sheet.csv")
    assert out.cut == 1 and "the middle of a response is left out" in str(out.note)
    (row,) = cells_of(tmp_path / "sheet.csv")
    long = max(row["response_a"], row["response_b"], key=len)
    assert len(long) < 32_767 and "characters left out by misjudge" in long and long.endswith(" end")
    assert (await written(deps, tmp_path / "sheet.jsonl")).note is None
    (whole,) = cells_of(tmp_path / "sheet.jsonl")
    assert len(whole["response_a"]) + len(whole["response_b"]) > 40_000


async def test_one_stream_alone_can_be_written(deps: Deps, tmp_path: Path) -> None:
    with_secret(deps.store, review_pairs(12))
    out = await written(deps, tmp_path / "sheet.csv", only="random")
    streams = rows(deps.store, "SELECT stream, COUNT(*) AS n FROM reviews GROUP BY stream")
    assert streams == [{"stream": "random", "n": out.pairs}] and 0 < out.pairs < 12
    nothing = {"reviewer": "bob", "only": "random"}
    request = SheetOutRequest(audit="a", path=str(tmp_path / "other.csv"), **nothing)
    await sheet_out(request, deps)
    with pytest.raises(InvalidInput, match="Nothing is left of this stream"):
        await sheet_out(request.model_copy(update={"reviewer": "cyd", "path": str(tmp_path / "third.csv")}), deps)
    assert not (tmp_path / "third.csv").exists()


async def test_a_sheet_is_written_where_it_may_be_and_over_none(deps: Deps, tmp_path: Path) -> None:
    with_secret(deps.store, review_pairs(3))
    (tmp_path / "there.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInput, match="is there already"):
        await written(deps, tmp_path / "there.csv")
    with pytest.raises(InvalidInput, match=r"ends in \.csv or \.jsonl"):
        await written(deps, tmp_path / "sheet.xlsx")
    assert count(deps.store, "reviews") == 0
    await written(deps, tmp_path / "there.csv", force=True)
    async with opened(tmp_path / "misjudge.db", roots=(tmp_path / "in",)) as confined:
        with pytest.raises(InvalidInput, match="outside the folders"):
            await written(confined, tmp_path / "out.csv")
        with pytest.raises(InvalidInput, match="outside the folders"):
            await read_in(confined, tmp_path / "there.csv")


async def test_a_sheet_without_end_is_refused(deps: Deps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("misjudge_tools.labelling.sheets._MOST_ROWS", 3)
    with_secret(deps.store, review_pairs(5))
    path = tmp_path / "sheet.csv"
    await written(deps, path, pairs=5)
    with pytest.raises(InvalidInput, match="more than 3 rows"):
        await read_in(deps, path)
