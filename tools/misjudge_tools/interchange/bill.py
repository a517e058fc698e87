"""A provider's bill: what each model cost by those who send the invoice. Hostile text, of which only sums are kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, RecordError
from misjudge_tools.interchange.confinement import refuse_outside
from misjudge_tools.interchange.fields import Fields, text, whole
from misjudge_tools.interchange.files import Row, read_rows

MOST_MODELS = 500
MOST_USD = 10**9
MOST_NAME_CHARS = 200

_MODEL = ("model", "model_name", "model_id", "model_version", "model_permaslug", "snapshot_id", "line_item", "模型")
_COST = (
    *("cost_usd", "amount_usd", "usd", "total_cost_usd", "total_usd", "cost_in_usd", "cost", "amount", "amount_value"),
    *("total_cost", "cost_total", "spend", "charge", "费用", "金额"),
)
_CURRENCY = ("currency", "amount_currency", "cost_currency", "currency_code", "币种")
_CALLS = ("requests", "calls", "request_count", "num_requests", "num_model_requests", "n_requests", "api_requests")
_INPUT = ("input_tokens", "prompt_tokens", "tokens_prompt", "n_context_tokens_total")
_OUTPUT = ("output_tokens", "completion_tokens", "tokens_completion", "n_generated_tokens_total")
_DAY = ("date", "day", "usage_date", "usage_date_utc", "created_at", "start_time", "start_date", "timestamp", "日期")

_AMOUNT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
_AROUND = re.compile(r"^(US)?\$\s*|\s*USD$", re.IGNORECASE)
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DOLLARS = {"USD", "US$", "$"}


class BilledModel(NamedTuple):
    """All rows of one model: USD, and where the bill states them calls and tokens."""

    model: str
    usd: float
    calls: int | None
    input_tokens: int | None
    output_tokens: int | None


class Bill(NamedTuple):
    """A bill by model, the dearest first. `left_out` of its `rows` name no model or no cost; days as YYYY-MM-DD."""

    models: Sequence[BilledModel]
    rows: int
    left_out: int
    first_day: str | None
    last_day: str | None


def read_bill(given: str, roots: Sequence[Path] | None) -> Bill:
    """The bill in a file (CSV, JSONL, JSON or Parquet), which lies under `roots` where they are given.

    Raises InvalidInput where it cannot be read, has no model or cost, or is not in USD.
    """
    path = Path(given)
    if roots is not None:
        refuse_outside(path, roots)
    return _added(path, read_rows(path))


class _Columns(NamedTuple):
    """The names of the columns as the file writes them, None where it has none."""

    model: str
    cost: str
    currency: str | None
    calls: str | None
    input_tokens: str | None
    output_tokens: str | None
    day: str | None


class _Line(NamedTuple):
    """What one row says of a model, or several together."""

    usd: Decimal
    calls: int | None
    input_tokens: int | None
    output_tokens: int | None


def _added(path: Path, rows: Iterable[Row | BadRecord]) -> Bill:
    by_model: dict[str, _Line] = {}
    days: set[str] = set()
    columns: _Columns | None = None
    read = left_out = 0
    for row in rows:
        if isinstance(row, BadRecord):
            raise InvalidInput(f"{path}, line {row.line}: {row.problem}. Correct the line, or remove it.")
        fields = _flat(row.fields)
        columns = columns or _columns(path, fields)
        try:
            model, line = _model(fields, columns.model), _line(fields, columns)
        except RecordError as error:
            raise InvalidInput(f"{path}, line {row.line}: {error}. Correct the line, or remove it.") from None
        read += 1
        if model is None or line is None:
            left_out += 1
            continue
        by_model[model] = _plus(by_model.get(model), line)
        days.update(_DATED.findall(str(fields.get(columns.day or "", ""))[:10]))
        days = {min(days), max(days)} if days else days
        if len(by_model) > MOST_MODELS:
            raise InvalidInput(f"{path} names more than {MOST_MODELS} models. Call the column with the model 'model'.")
    if not by_model:
        raise InvalidInput(f"{path} has no row with a model and a cost.")
    billed = [BilledModel(model, float(line.usd), *line[1:]) for model, line in by_model.items()]
    billed.sort(key=lambda one: (-one.usd, one.model))
    return Bill(billed, read, left_out, min(days, default=None), max(days, default=None))


def _flat(fields: Fields) -> dict[str, Any]:
    """The fields with those of nested objects, as amount.value, beside each other."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            found.update({f"{name}.{inner}": each for inner, each in value.items()})
        else:
            found[name] = value
    return found


def _columns(path: Path, fields: Fields) -> _Columns:
    written: dict[str, str] = {}
    for name in fields:
        written.setdefault(re.sub(r"\W+", "_", name.casefold()).strip("_"), name)
    model, cost, *others = (
        next((written[name] for name in names if name in written), None)
        for names in (_MODEL, _COST, _CURRENCY, _CALLS, _INPUT, _OUTPUT, _DAY)
    )
    if model is None or cost is None:
        missing = " and ".join(name for name, found in (("model", model), ("cost", cost)) if found is None)
        raise InvalidInput(
            f"{path} has no column {missing}. A bill needs a column model and one of cost, amount or usd."
        )
    return _Columns(model, cost, *others)


def _model(fields: Fields, column: str) -> str | None:
    name = text(fields, column)
    if name is None:
        return None
    if len(name) > MOST_NAME_CHARS or _CONTROL.search(name):
        raise RecordError(f"the model must be a name of at most {MOST_NAME_CHARS} plain characters")
    # As "gpt-4o-mini, input": what was bought of a model.
    return name.partition(",")[0].strip() or None


def _line(fields: Fields, columns: _Columns) -> _Line | None:
    usd = _usd(text(fields, columns.cost))
    if usd is None:
        return None
    currency = text(fields, columns.currency) if columns.currency else None
    if currency is not None and currency.upper() not in _DOLLARS:
        raise RecordError("the currency must be USD, since costs here are in USD")
    counts = (columns.calls, columns.input_tokens, columns.output_tokens)
    return _Line(usd, *(whole(fields, column) if column else None for column in counts))


def _usd(written: str | None) -> Decimal | None:
    """An amount, below 0 for a credit."""
    if written is None:
        return None
    bare = _AROUND.sub("", written).strip()
    if _THOUSANDS.fullmatch(bare):
        bare = bare.replace(",", "")
    if not _AMOUNT.fullmatch(bare):
        raise RecordError("the cost must be a number of USD such as 12.34")
    usd = Decimal(bare)
    if abs(usd) > MOST_USD:
        raise RecordError(f"the cost must be at most {MOST_USD:,} USD")
    return usd


def _plus(before: _Line | None, line: _Line) -> _Line:
    if before is None:
        return line
    pairs = zip(before[1:], line[1:], strict=True)
    return _Line(before.usd + line.usd, *(_both(a, b) for a, b in pairs))


def _both(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b
