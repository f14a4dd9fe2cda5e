"""Queries against one small store.

trace 1 (whole)                        trace 2 (a parent is missing, and there is an error)
---------------                        ----------------------------------------------------
GET /cart        0-10000  SERVER         charge  0-3000  CLIENT  ERROR  child of nobody's span
  look up        10-2010  INTERNAL
    cache miss   20-?     INTERNAL
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import Builder, MemoryReader, file_of, store_of, store_of_files, trace_row
from spanview.analysis.query import parse_query

if TYPE_CHECKING:
    from spanview.index.store import Store

CART = ["GET /cart", "look up", "cache miss"]
ALL = [*CART, "charge"]

KEPT = [
    ("", ALL),
    ("cart", ["GET /cart"]),
    ("CART", ["GET /cart"]),
    ('"look up"', ["look up"]),
    ("look miss", []),
    ("a -cart", ["cache miss", "charge"]),
    ("-a", ["look up"]),
    ("cart OR look", ["GET /cart", "look up"]),
    ("cart OR look duration<5ms OR charge", ["GET /cart", "look up", "charge"]),
    ("(cart OR look) duration<5ms", ["look up"]),
    ("-(cart OR charge)", ["look up", "cache miss"]),
    ("-(cart a)", ["look up", "cache miss", "charge"]),
    ("http.status_code=500 OR cached=true", ["look up", "charge"]),
    ("(http.status_code=200 OR duration>=3ms) -status=ERROR", ["GET /cart"]),
    ("trace.errors>0 OR depth=0", ["GET /cart", "charge"]),
    ("trace.errors>0 OR trace.spans=3", ALL),
    ("(trace.errors=0 duration>2ms) OR name=charge", ["GET /cart", "charge"]),
    ("-(trace.errors>0 OR cart)", ["look up", "cache miss"]),
    ('name="look up"', ["look up"]),
    ("name=look", []),
    ("name!=charge", CART),
    ("name~^c", ["cache miss", "charge"]),
    ("name~^C", []),
    ("-name~^c", ["GET /cart", "look up"]),
    ("service=pay", ["charge"]),
    ('service=""', CART),
    ("kind=server", ["GET /cart"]),
    ("kind!=INTERNAL", ["GET /cart", "charge"]),
    ("kind~ER$", ["GET /cart"]),
    ("status=ERROR", ["charge"]),
    ("status=error", ["charge"]),
    ("duration>2ms", ["GET /cart", "charge"]),
    ("duration>=2ms", ["GET /cart", "look up", "charge"]),
    ("duration=2000us", ["look up"]),
    ("duration<0.01s duration!=3ms", ["look up"]),
    ("start>2023-11-14T22:13:20.000010Z", ["cache miss"]),
    ("start>=2023-11-14T23:13:20.00001+01:00", ["look up", "cache miss"]),
    ("start<2023-11-14", []),
    ("trace=0x0000000000000000000000000000000A", CART),
    ("trace=000000000000000000000000000000", ALL),
    ("trace!=0000000000000000000000000000000a", ["charge"]),
    ("span=0000000000000002", ["look up"]),
    ("span~3$", ["cache miss"]),
    ("pid=4582", ["GET /cart", "look up"]),
    ("pid>=77 pid<100", ["cache miss", "charge"]),
    ("file=77.txt", ["cache miss", "charge"]),
    ("file=spans/77.txt", ["cache miss", "charge"]),
    ("file=7.txt", []),
    ("file~4582", ["GET /cart", "look up"]),
    ("depth=0", ["GET /cart"]),
    ("depth>0", ["look up", "cache miss", "charge"]),
    ("depth=2", ["cache miss"]),
    ("http.status_code=500", ["charge"]),
    ("http.status_code=200", ["GET /cart"]),
    ("http.status_code>=200", ["GET /cart", "charge"]),
    ("http.status_code>200", ["charge"]),
    ("http.status_code!=200", ["charge"]),
    ("-http.status_code=200", ["look up", "cache miss", "charge"]),
    ("http.status_code~^[45]", ["charge"]),
    ("cached=true", ["look up"]),
    ("cached=false", []),
    ("cached>=0", []),
    ("ratio=0.50", ["look up"]),
    ("ratio<1", ["look up"]),
    ("odd=NaN", ["look up"]),
    ("odd>0", []),
    ("tags=b", ["look up"]),
    ("tags>3", ["look up"]),
    ("nothing=null", ["look up"]),
    ("exception.type=ValueError", ["charge"]),
    ("host.name~^node-", ALL),
    ('"key with spaces"=1', ["look up"]),
    ('"status"=mine', ["look up"]),
    ("big=1180591620717411303424", ["look up"]),
    ("big>1180591620717411303423", ["look up"]),
    ("trace.errors>0", ["charge"]),
    ("trace.errors=0 cart", ["GET /cart"]),
    ("trace.spans=3", CART),
    ("trace.duration>=10ms", CART),
    ('trace.root="GET /cart"', CART),
    ("trace.root~cart miss", ["cache miss"]),
    ("-trace.root~cart", ["charge"]),
    ("trace.complete=true", CART),
    ("trace.complete!=TRUE", ["charge"]),
    ("status=ERROR kind=CLIENT service=pay http.status_code=500", ["charge"]),
]
"""A query and the names of the spans that it keeps."""


def make_store(reader: MemoryReader | None = None) -> Store:
    """Return the store of the drawing."""
    builder = Builder()
    host = {"host.name": "node-1"}
    cart = builder.draw("GET /cart 0-10000\n  look up 10-2010\n    cache miss 20-?", trace=10, resource=host)
    cart[0] |= {"kind": "SpanKind.SERVER", "attributes": {"http.status_code": 200}}
    cart[1]["attributes"] = {
        "cached": True,
        "ratio": 0.5,
        "odd": float("nan"),
        "tags": ["b", 5],
        "nothing": None,
        "key with spaces": 1,
        "status": "mine",
        "big": 2**70,
    }
    cart[2]["attributes"] = {"ray.pid": "77"}
    charge = builder.span(
        "charge",
        trace=11,
        parent=99,
        start=0,
        duration=3000,
        kind="CLIENT",
        status="ERROR",
        service="pay",
        attributes={"http.status_code": "500"},
        resource=host,
        events=[{"name": "exception", "timestamp": None, "attributes": {"exception.type": "ValueError"}}],
    )
    files = {"spans/4582.json": file_of(cart[:2]), "spans/77.txt": file_of([cart[2], charge])}
    return store_of_files(files, reader=reader)


@pytest.mark.parametrize(("text", "names"), KEPT)
def test_kept_spans(text: str, names: list[str]) -> None:
    """A query keeps the spans for which all its terms hold."""
    store, query = make_store(), parse_query(text)
    kept = [row for row in store.rows_in_order() if query.keeps(store, row)]
    assert sorted(store.names.texts[store.spans.name[row]] for row in kept) == sorted(names)


@pytest.mark.parametrize(("text", "names"), KEPT)
def test_matching_traces(text: str, names: list[str]) -> None:
    """A trace matches exactly where one of its spans is kept."""
    store, query = make_store(), parse_query(text)
    expected = [not {*CART}.isdisjoint(names), "charge" in names]
    assert [query.matches_trace(store, trace_row(store, number)) for number in (10, 11)] == expected


def test_terms_hold_on_one_span() -> None:
    """A trace in which two spans hold a term each doesn't match."""
    store = make_store()
    assert not parse_query("cart duration=2ms").matches_trace(store, trace_row(store, 10))


def test_trace_terms_ask_nothing_of_a_span() -> None:
    """A query that speaks of traces only matches every span of any trace; what keeps spans asks both."""
    store, query = make_store(), parse_query("trace.errors>0")
    assert all(query.matches(store, row) for row in range(4))
    assert [query.keeps(store, row) for row in range(4)].count(True) == 1


def test_columns_decide_without_reading() -> None:
    """A span's record isn't read where a column decides, and once where none does."""
    reader = MemoryReader()
    store = make_store(reader)
    query = parse_query("http.status_code>1 http.status_code<600 name=charge host.name=node-1")
    reader.reads = 0
    assert [query.matches(store, row) for row in range(4)] == [False, False, False, True]
    assert reader.reads == 1


def test_details_that_are_gone() -> None:
    """A span whose record can't be read any more has no attributes, and still its columns."""
    reader = MemoryReader()
    store = make_store(reader)
    reader.files = [None, None]
    assert not any(parse_query("http.status_code>0").matches(store, row) for row in range(4))
    assert parse_query("name=charge pid=77").matches(store, 3)


def test_a_trace_that_grows() -> None:
    """What was found out about a trace's tree is found out again when there is more of it."""
    builder = Builder()
    documents = builder.draw("a 0-9\n  b 1-2")
    query = parse_query("trace.complete=true depth=1")
    partial = store_of(documents[1])
    assert not query.matches_trace(partial, 0)
    whole = store_of(*documents)
    assert query.matches_trace(whole, 0)
    reader = MemoryReader()
    growing = store_of_files({"b.json": file_of(documents[1:])}, reader=reader)
    assert not query.matches_trace(growing, 0)
    reader.files.append(file_of(documents[:1]))
    _feed(growing, reader)
    assert query.matches_trace(growing, 0)


def test_is_empty() -> None:
    """A query without terms is empty, and one with any isn't."""
    assert parse_query("  ").is_empty
    assert not parse_query("trace.errors>0").is_empty
    assert not parse_query("x").is_empty


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("name=x pid=3", False),
        ("depth=3", True),
        ("trace.errors>0", True),
        ("", False),
        ("name=x OR pid=3", False),
        ("pid=3 OR (x OR depth=3)", True),
        ("pid=3 OR trace.errors>0", True),
    ],
)
def test_needs_tree(text: str, *, needs: bool) -> None:
    """A query needs the whole trace where it asks for depth or for anything about the trace."""
    assert parse_query(text).needs_tree is needs


def test_equality_is_that_of_the_text() -> None:
    """Two queries are equal when their texts are."""
    assert parse_query("a=1") == parse_query("a=1") != parse_query("a=2")
    assert parse_query("a=1").text == "a=1"


def _feed(store: Store, reader: MemoryReader) -> None:
    from spanview.formats.decoder import Decoder

    source = store.add_source("a.json")
    data = reader.files[source]
    assert data is not None
    store.add(source, Decoder().feed(data))
