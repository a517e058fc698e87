from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import JsonValue

from misjudge_server.clients.documents import value_at
from misjudge_server.setup import formats
from misjudge_server.setup.backups import record_of, undone
from misjudge_server.setup.changes import FileFormat, Setting, merged, missing_tables, wanted
from misjudge_server.setup.hunks import hunks, restored
from misjudge_storage.errors import InvalidInput

ENTRY: dict[str, JsonValue] = {
    "command": 'C:\\Program Files\\misjudge\\"new"\\misjudge.exe',
    "args": ["serve"],
    "tools": {"a": {"b": True}},
}
SERVER = Setting(("servers", "misjudge"), ENTRY)
COMMAND = Setting(("servers", "misjudge", "command"), "/usr/bin/misjudge")
TOOL = Setting(("servers", "misjudge", "tools", "a", "mode"), "approve")
MODEL = Setting(("model",), "big")
INNER = Setting(("env", "A.b c"), 'é "\\')

words = st.text(st.sampled_from('abAB01 _-.#"\\=é林\U0001f600\t'), max_size=8)
keys = st.sampled_from(["model", "servers", "misjudge", "env", "a", "b c", "é", ""])
scalars = st.one_of(
    st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False), words
)
values = st.recursive(
    scalars | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(keys, values, max_size=5)
settings = st.lists(st.sampled_from([SERVER, MODEL, INNER]), min_size=1, max_size=3, unique_by=lambda one: one.path)


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """An object as people and programs write it."""
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")])) if indent is None else None
    text = json.dumps(draw(documents), indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    end = draw(st.sampled_from(["", "\n", " \n\n"]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return draw(st.sampled_from(["", "\ufeff"])) + (text + end).replace("\n", newline)


BLOCKS = [
    "# a comment\n",
    "\n",
    "   \n",
    "[other]  # inline\nnumber = 1_000\nwhen = 2026-11-30T10:00:00Z\n",
    "[servers.docs]\ncommand = 'npx' # why\nargs = [ 'a',\n  'b', # second\n]\n",
    '[servers.docs.env]\nTOKEN = "x"\n',
    "[servers]\n",
    "[servers]\ndocs2 = { command = 'c' }\n",
    "[servers]\ndocs3.command = 'c'\n",
    "[servers.misjudge]\ncommand = 'misjudge'\n",
    "[servers.misjudge]\ncommand = 'misjudge'\n[servers.misjudge.tools.b]\nx = 1\n",
    "[env]\n\"A.b c\" = 'old' # stays\n",
    "[[list]]\na = inf\n",
    "[[list]]\nb = '''\n[servers]\n'''\n",
    '[ \'quoted key\' . inner ]\nd = """two\nlines"""\n',
]
ROOTS = [
    "model = \"old\" # the model\n",
    "top = nan\n",
    "dotted.key = [1, 2]\n",
    "servers = { docs = { command = 'npx' } } # inline\n",
    "servers.docs4.command = 'c'\n",
    "servers.misjudge = { command = 'misjudge', env = { A = '1' } }\n",
    "env = {}\n",
]  # fmt: skip


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """A valid document of the ways that people write one."""
    parts = draw(st.lists(st.sampled_from(ROOTS), max_size=3, unique=True))
    parts += draw(st.lists(st.sampled_from(BLOCKS), max_size=5))
    text = "".join(parts)
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return draw(st.sampled_from(["", "\ufeff"])) + (text[:-1].rstrip("\r") if draw(st.booleans()) else text)


def read(text: str, kind: FileFormat) -> dict[str, Any]:
    return formats.parse(text, kind, "the file")


def comparable(table: object) -> str:
    """Equal for equal tables, whatever the order and nan."""
    return json.dumps(table, sort_keys=True, default=str)


def without_nothing(table: dict[str, Any]) -> dict[str, Any]:
    """The table without a null in the place of a table, which only the way to the byte brings back."""
    return {key: value for key, value in table.items() if value is not None or key not in {"servers", "env"}}


def check_change(text: str, asked: list[Setting], kind: FileFormat) -> None:
    """Changing a text changes what was asked for and nothing else, and can be undone to the byte."""
    before = read(text, kind)
    if value_at(before, *SERVER.path) is not None:  # what is there is changed value by value
        asked = [one for one in asked if one is not SERVER] + [COMMAND, TOOL]
    try:
        needed = wanted(before, asked, "the file")
    except InvalidInput:
        assume(False)
    after = formats.with_settings(text, needed, kind, "the file")
    expected: dict[str, Any] = before
    for setting in asked:
        expected = merged(expected, setting.path, setting.value)
    found = read(after, kind)
    assert comparable(found) == comparable(expected)
    assert wanted(found, asked, "the file") == ()
    assert ("\r\n" in text) <= ("\n" not in after.replace("\r\n", ""))
    record = record_of(text, after, needed, before, kind)
    assert undone(after, record, "the file") == (text, True, (), ())
    spoilt = record.model_copy(update={"after": "another"})
    taken_out = undone(after, spoilt, "the file").text
    assert taken_out is not None
    assert comparable(without_nothing(read(taken_out, kind))) == comparable(without_nothing(before))


@given(json_texts(), settings)
def test_a_change_of_json_keeps_everything_else_and_can_be_undone(text: str, asked: list[Setting]) -> None:
    check_change(text, asked, "json")


@given(json_texts(), st.sampled_from([SERVER, MODEL, INNER]))
def test_a_change_of_json_leaves_every_other_line_as_it_is(text: str, asked: Setting) -> None:
    assume(value_at(read(text, "json"), *asked.path) is None)
    try:
        needed = wanted(read(text, "json"), [asked], "the file")
    except InvalidInput:
        assume(False)
    after = formats.with_settings(text, needed, "json", "the file")
    kept = sum(len(hunk.was) for hunk in hunks(text, after))
    assert kept <= len("null") + len("\r\n")  # what stood for nothing, or the space within empty braces


@given(toml_texts(), settings)
def test_a_change_of_toml_keeps_everything_else_and_can_be_undone(text: str, asked: list[Setting]) -> None:
    check_change(text, asked, "toml")


@given(toml_texts(), st.sampled_from([SERVER, MODEL]))
def test_a_change_of_toml_keeps_every_comment(text: str, asked: Setting) -> None:
    if value_at(read(text, "toml"), *SERVER.path) is not None:
        asked = COMMAND if asked is SERVER else asked
    after = formats.with_settings(text, [asked], "toml", "the file")
    for comment in ("# a comment", "# inline", "# why", "# second", "# the model", "# stays"):
        assert after.count(comment) == text.count(comment)


@given(st.text(st.sampled_from("ab\n \t{}="), max_size=40), st.text(st.sampled_from("ab\n \t{}="), max_size=40))
def test_hunks_lead_back_from_the_later_text_to_the_earlier_one(before: str, after: str) -> None:
    assert restored(after, hunks(before, after)) == before


def test_hunks_hold_no_neighbour_of_what_changed() -> None:
    before = 'x = { command = "a", env = { KEY = "sk-1" }, b = 1 }\n' * 3
    after = before.replace('"a"', '"/usr/bin/a", args = ["serve"]').replace("b = 1", "b = 1, c = 2")
    found = hunks(before, after)
    assert len(found) > 3 and "sk-1" not in repr(found)


def test_hunks_of_a_long_line_take_no_long_time() -> None:
    before, after = "ab " * 5000, "cd " * 5000
    assert restored(after, hunks(before, after)) == before


def test_hunks_of_another_text_lead_nowhere() -> None:
    assert restored("something else", hunks("a b c", "a x c")) is None


@pytest.mark.parametrize("kind", ["json", "toml"])
def test_an_empty_file_becomes_one_with_the_entry(kind: FileFormat) -> None:
    after = formats.with_settings("", [SERVER], kind, "the file")
    assert read(after, kind) == {"servers": {"misjudge": ENTRY}} and after.endswith("\n")


def test_indentation_and_line_ends_of_a_file_are_taken_over() -> None:
    text = '{\r\n\t"servers": {\r\n\t\t"docs": {"command": "x"}\r\n\t}\r\n}\r\n'
    after = formats.with_settings(text, [Setting(("servers", "m"), {"a": 1})], "json", "the file")
    assert after == text.replace('"x"}', '"x"},\r\n\t\t"m": {\r\n\t\t\t"a": 1\r\n\t\t}')


def test_of_equal_names_the_last_one_is_changed_as_it_is_the_one_that_counts() -> None:
    after = formats.with_settings('{"model": 1, "model": 2}', [MODEL], "json", "the file")
    assert after == '{"model": 1, "model": "big"}'


def test_a_change_of_a_value_keeps_the_comment_behind_it() -> None:
    after = formats.with_settings('model = "old" # mine\n', [MODEL], "toml", "the file")
    assert after == 'model = "big" # mine\n'


def test_toml_that_no_way_can_change_safely_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tomlkit.dumps", lambda _: "broken = ")
    with pytest.raises(InvalidInput, match="nothing was"):
        formats.with_settings("model = 1\n", [MODEL], "toml", "the file")


def test_tables_that_have_to_be_made_are_named_outer_ones_first() -> None:
    assert missing_tables({"a": {}}, [Setting(("a", "b", "c", "d"), 1)]) == (("a", "b"), ("a", "b", "c"))
