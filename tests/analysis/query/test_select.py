"""Traces by id, and by query and time in the order of the exports.

ids in the store: 0…0a, 0…0b, ab0…0, and a group without an id
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import EPOCH_NS, Builder, file_of, store_of, store_of_files, trace_row
from spanview.analysis.query.query import parse_query
from spanview.analysis.query.select import find_trace, selected_rows, selected_traces
from spanview.model.problems import TraceNotFoundError

if TYPE_CHECKING:
    from spanview.index.store import Store

HIGH = 0xAB << 120


@pytest.fixture(name="store")
def make_store() -> Store:
    """Return a store with the traces of the drawing, the latest first."""
    builder = Builder()
    return store_of(
        builder.span("late", trace=10, start=50),
        builder.span("early", trace=11, start=0),
        builder.span("middle", trace=HIGH, start=20),
        builder.span("late too", trace=10, start=60),
        builder.span("lost", trace=0, start=70),
    )


@pytest.mark.parametrize(
    ("prefix", "trace"),
    [
        ("0" * 31 + "a", 10),
        ("0" * 31 + "B", 11),
        ("0x" + "0" * 31 + "b", 11),
        ("a", HIGH),
        ("0XAB", HIGH),
        (" ab0 ", HIGH),
    ],
)
def test_a_unique_prefix(store: Store, prefix: str, trace: int) -> None:
    """The first digits of an id are enough, in either case, with or without 0x."""
    assert find_trace(store, prefix) == trace_row(store, trace)


@pytest.mark.parametrize("prefix", ["", "0x", "xyz", "0" * 33, "a b"])
def test_no_id(store: Store, prefix: str) -> None:
    """What can't begin an id is answered as such."""
    with pytest.raises(TraceNotFoundError, match="isn't a trace id: give a prefix of its 32 hex digits"):
        find_trace(store, prefix)


def test_the_id_of_a_request(store: Store) -> None:
    """A UUID is answered with the query that finds a request of Serve by it."""
    request = "091db297-50b6-4e67-9b8c-de8794178aeb"
    with pytest.raises(TraceNotFoundError, match=f"; a request of Serve is found by -q request_id={request}$"):
        find_trace(store, request)


@pytest.mark.parametrize("prefix", ["f", "0" * 32])
def test_no_trace(store: Store, prefix: str) -> None:
    """A prefix that no id has says so; the group without an id is no trace."""
    with pytest.raises(TraceNotFoundError, match=f"no trace id begins with {prefix}"):
        find_trace(store, prefix)


def test_several_traces(store: Store) -> None:
    """A prefix that several ids have lists them."""
    with pytest.raises(TraceNotFoundError, match=r"^2 trace ids begin with 0; give more digits: 0+a, 0+b$"):
        find_trace(store, "0")


def test_many_traces() -> None:
    """Of more than ten that fit, ten are listed and the others counted."""
    builder = Builder()
    store = store_of(*[builder.span(trace=number) for number in range(1, 14)])
    with pytest.raises(TraceNotFoundError) as caught:
        find_trace(store, "0")
    assert str(caught.value).count(", 0") == 9
    assert str(caught.value).endswith("a and 3 more")
    assert "\n" not in str(caught.value)


def test_selected_traces(store: Store) -> None:
    """Traces come by start, and all that was asked for must hold."""
    early, middle, late, lost = (trace_row(store, number) for number in (11, HIGH, 10, 0))
    assert selected_traces(store) == [early, middle, late, lost]
    assert selected_traces(store, query=parse_query("late")) == [late]
    assert selected_traces(store, query=parse_query("")) == [early, middle, late, lost]
    assert selected_traces(store, traces=[middle]) == [middle]
    assert selected_traces(store, traces=[middle], query=parse_query("late")) == []
    assert selected_traces(store, since_cutoff=EPOCH_NS + 30_000, query=parse_query("-lost")) == [late]


def test_selected_rows(store: Store) -> None:
    """Spans come by path and offset; a query keeps the matching ones only, the rest keeps whole traces."""
    late = trace_row(store, 10)
    assert _names(store, selected_rows(store)) == ["late", "early", "middle", "late too", "lost"]
    assert _names(store, selected_rows(store, traces=[late])) == ["late", "late too"]
    assert _names(store, selected_rows(store, traces=[late], query=parse_query("too"))) == ["late too"]
    assert _names(store, selected_rows(store, query=parse_query("trace.spans>1"))) == ["late", "late too"]
    assert _names(store, selected_rows(store, since_cutoff=EPOCH_NS + 60_000)) == ["late", "late too", "lost"]


def test_selected_rows_of_several_files() -> None:
    """The order of the paths decides, whatever was read first."""
    builder = Builder()
    store = store_of_files({"b.json": file_of([builder.span("b")]), "a.json": file_of([builder.span("a")])})
    assert _names(store, selected_rows(store)) == ["a", "b"]


def _names(store: Store, rows: list[int]) -> list[str]:
    return [store.names.texts[store.spans.name[row]] for row in rows]
