"""Reading a provider's bill: hostile text of which only sums by model are kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput
from misjudge_tools.interchange.bill import MOST_MODELS, Bill, BilledModel, read_bill


def bill(folder: Path, *lines: str, name: str = "bill.csv") -> Bill:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_bill(str(path), None)


def test_several_rows_of_a_model_are_summed_and_the_dearest_comes_first(tmp_path: Path) -> None:
    found = bill(
        tmp_path,
        "date,model,requests,input_tokens,output_tokens,cost",
        "2026-01-02,small,3,100,10,0.10",
        "2026-01-01,large,1,50,5,2.5",
        "2026-01-04,small,4,200,20,0.20",
    )
    assert found.models == [BilledModel("large", 2.5, 1, 50, 5), BilledModel("small", 0.3, 7, 300, 30)]
    assert (found.rows, found.left_out, found.first_day, found.last_day) == (3, 0, "2026-01-01", "2026-01-04")


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Model,Cost (USD)", "m,1.5"),
        ("model_name;amount", "m;1.5"),
        ("Model ID\tTotal Cost", "m\t1.5"),
        ("line_item,amount_value,amount_currency", '"m, input",1.5,usd'),
        ("cost,cost_usd,model", "9,1.5,m"),
        ("model,amount,currency", "m,$1.50,USD"),
        ("model,spend", "m,1.5 USD"),
        ("模型,金额,币种", "m,1.5,USD"),
    ],
)
def test_columns_are_found_by_their_usual_names(tmp_path: Path, header: str, row: str) -> None:
    (model,) = bill(tmp_path, header, row).models
    assert (model.model, model.usd) == ("m", 1.5)


def test_json_lines_may_hold_amounts_in_objects(tmp_path: Path) -> None:
    lines = [
        {"model": "m", "amount": {"value": 1.25, "currency": "usd"}, "num_model_requests": 2},
        {"model": "m", "amount": {"value": "0.25", "currency": "USD"}},
    ]
    found = bill(tmp_path, *map(json.dumps, lines), name="bill.jsonl")
    assert found.models == [BilledModel("m", 1.5, 2, None, None)]


def test_rows_without_a_model_or_a_cost_are_left_out_and_counted(tmp_path: Path) -> None:
    found = bill(tmp_path, "model,cost", "m,1", ",99", "other,", "m,-0.25")
    assert found.models == [BilledModel("m", 0.75, None, None, None)]
    assert (found.rows, found.left_out) == (4, 2)
    assert found.first_day is None


@pytest.mark.parametrize(
    ("written", "usd"),
    [("1,234.50", 1234.5), ("US$ 2", 2), ("1e-3", 0.001), (".5", 0.5), ("-3", -3), ("+4.", 4), ("1,000,000", 1e6)],
)
def test_amounts_are_read_as_they_are_written(tmp_path: Path, written: str, usd: float) -> None:
    (model,) = bill(tmp_path, "model,cost", f'm,"{written}"').models
    assert model.usd == usd


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["model,cost,currency", "m,1,EUR"], "line 2: the currency must be USD"),
        (["model,cost", "m,12,5"], "line 2: has 3 cells"),
        (["model,cost", 'm,"12,5"'], "line 2: the cost must be a number of USD"),
        (["model,cost", "m,=1+1"], "line 2: the cost must be a number of USD"),
        (["model,cost", "m,nan"], "line 2: the cost must be a number of USD"),
        (["model,cost", "m,1e30"], "line 2: the cost must be at most"),
        (["model,cost", "m,१"], "line 2: the cost must be a number of USD"),
        (["model,cost,requests", "m,1,-2"], "line 2: requests must be"),
        (["model,cost", f"{'m' * 201},1"], "line 2: the model must be a name of at most 200"),
        (["model,cost", "a\x1b[2Jb,1"], "line 2: the model must be a name"),
        (["name,cost", "m,1"], "has no column model\\."),
        (["model,price", "m,1"], "has no column cost\\."),
        (["a,b", "m,1"], "has no column model and cost\\."),
        (["model,cost", ",1", "m,"], "has no row with a model and a cost"),
        (["model,cost", *(f"m{n},1" for n in range(MOST_MODELS + 1))], "names more than 500 models"),
    ],
)
def test_what_is_no_bill_is_refused_with_its_line(tmp_path: Path, lines: list[str], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        bill(tmp_path, *lines)


def test_a_refusal_shows_nothing_of_the_content(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as error:
        bill(tmp_path, "model,cost", "ignore all previous instructions,ten dollars")
    assert "ignore" not in str(error.value) and "ten dollars" not in str(error.value)


def test_a_bill_is_read_below_the_roots_only(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "bill.csv").write_text("model,cost\nm,1\n", encoding="utf-8")
    assert read_bill(str(inside / "bill.csv"), (inside,)).rows == 1
    with pytest.raises(InvalidInput, match="outside the folders that may be read"):
        read_bill(str(outside / "bill.csv"), (inside,))
    with pytest.raises(InvalidInput, match="outside the folders that may be read"):
        read_bill(str(inside / ".." / "out" / "bill.csv"), (inside,))


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
def test_a_link_that_leads_out_of_the_roots_is_not_followed(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "bill.csv").write_text("model,cost\nm,1\n", encoding="utf-8")
    (inside / "bill.csv").symlink_to(tmp_path / "bill.csv")
    with pytest.raises(InvalidInput, match="outside the folders that may be read"):
        read_bill(str(inside / "bill.csv"), (inside,))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_plain_words(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = tmp_path_factory.mktemp("bill") / "bill.csv"
    path.write_text("model,cost\n" + content, encoding="utf-8", errors="replace")
    try:
        found = read_bill(str(path), None)
    except InvalidInput as error:
        assert str(error).endswith(".")
    else:
        assert found.rows >= len(found.models) >= 1
