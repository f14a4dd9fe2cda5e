"""The flat export: a span a line, by path and offset; and what of it a terminal may see.

{"trace_id": …, "span_id": …, …, "warnings": []}
{"trace_id": …, "span_id": …, …, "warnings": ["clock_skew"]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, file_of, store_of, store_of_files
from spanview.exports.jsonl import escape_for_terminal, jsonl_chunks, line_of
from spanview.model.problems import Warnings

if TYPE_CHECKING:
    from spanview.index.store import Store

KEYS = (
    "trace_id span_id parent_id name kind start_time end_time duration_ns self_time_ns status attributes events links "
    "trace_state resource scope source warnings on_critical_path"
)


def read(store: Store) -> list[dict[str, Any]]:
    """Return the export of all spans, line by line."""
    return [orjson.loads(line) for line in b"".join(jsonl_chunks(store, store.rows_in_order())).splitlines()]


def test_keys_and_order() -> None:
    """A line is the span object with its trace first and without children."""
    (value,) = read(store_of(Builder().span("a", trace=5)))
    assert " ".join(value) == KEYS
    assert value["trace_id"] == f"{5:032x}"


def test_order_of_lines() -> None:
    """Lines come by path, then offset, whatever was read first."""
    builder = Builder()
    files = {"b": file_of([builder.span("3"), builder.span("4")]), "a": file_of([builder.span("1"), builder.span("2")])}
    assert [value["name"] for value in read(store_of_files(files))] == ["1", "2", "3", "4"]


def test_only_some_rows() -> None:
    """Rows that weren't asked for aren't written, but their times count in the self time of the others."""
    store = store_of(*Builder().draw("a 0-10\n  b 2-5"))
    (line,) = b"".join(jsonl_chunks(store, [0])).splitlines()
    assert orjson.loads(line)["self_time_ns"] == 7_000


def test_no_rows() -> None:
    """Without spans there is no line."""
    assert b"".join(jsonl_chunks(store_of(), [])) == b""


def test_a_line_of_its_own() -> None:
    """A span that is printed before its trace is whole has no self time, and the warnings that it is given."""
    store = store_of(Builder().span("a"))
    line = line_of(store.span(0), Warnings.DUPLICATE_ID)
    assert line.endswith(b"\n")
    value = orjson.loads(line)
    assert (value["self_time_ns"], value["warnings"]) == (None, ["duplicate_id"])


def test_the_longest_duration() -> None:
    """A span from the first to the last moment there is has all of it as self time."""
    span = Builder().span(start_time="1677-09-22T00:00:00.000000Z", end_time="2262-04-11T00:00:00.000000Z")
    (value,) = read(store_of(span))
    assert value["self_time_ns"] == value["duration_ns"] > 2**63


ACTED_ON = (
    "\x00\x07\t\n\r\x1b\x7f\x80\x9b\xad\u061c\u200b\u200d\u200f\u2028\u2029\u202a\u202e\u2060\u2066\u2069\ufeff\ufff9"
    "\U000e0041"
)


@pytest.mark.parametrize("character", ACTED_ON)
def test_what_a_terminal_acts_on(character: str) -> None:
    """A character that a terminal acts on, or doesn't show, becomes an escape that means the same."""
    store = store_of(Builder().span(f"a{character}b"))
    line = b"".join(jsonl_chunks(store, [0]))
    escaped = escape_for_terminal(line)
    assert character not in escaped.decode()[:-1]
    assert orjson.loads(escaped) == orjson.loads(line)
    assert orjson.loads(escaped)["name"] == f"a{character}b"


def test_what_a_terminal_shows() -> None:
    """Letters of all scripts stay, and so do the line feeds between lines."""
    text = '{"a":"é ü 漢字 🙂 ~"}\n{"b":"\\n"}\n'.encode()
    assert escape_for_terminal(text) == text


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.text()))
def test_escapes_mean_the_same(texts: list[str]) -> None:
    """Any text is the same after escaping, and nothing below a blank is left but line feeds."""
    data = b"".join(orjson.dumps(text) + b"\n" for text in texts)
    escaped = escape_for_terminal(data)
    assert [orjson.loads(line) for line in escaped.split(b"\n")[:-1]] == texts
    assert all(byte >= ord(" ") or byte == ord("\n") for byte in escaped)
