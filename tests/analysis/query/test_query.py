"""Queries against one small store.

trace 1 (whole)                        trace 2 (a parent is missing, and there is an error)
---------------                        ----------------------------------------------------
GET /cart        0-10000  SERVER         charge  0-3000  CLIENT  ERROR  child of nobody's span
  look up        10-2010  INTERNAL
    cache miss   20-?     INTERNAL
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, MemoryReader, file_of, own_line, store_of, store_of_files, trace_row
from one_by_one import matches_trace
from span_graphs import graphs
from spanview.analysis.query.matches import rows_that_match
from spanview.analysis.query.query import parse_query
from spanview.analysis.query.written import anywhere, quoted

if TYPE_CHECKING:
    from builders import Document
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
    ("self=8ms", ["GET /cart"]),
    ("self<=2ms", ["look up"]),
    ("self>2ms OR pid=77", ["GET /cart", "cache miss", "charge"]),
    ("self>2ms -cart trace.errors>0", ["charge"]),
    ("event=exception", ["charge"]),
    ("event!=exception", []),
    ("event!=other", ["charge"]),
    ("-event=exception", CART),
    ("event~^exc", ["charge"]),
    ('"event"=mine', ["look up"]),
    ('description="card refused"', ["charge"]),
    ("description=card", []),
    ("description~refused", ["charge"]),
    ('description=""', CART),
    ('description!=""', ["charge"]),
    ('scope=""', ALL),
    ("scope~.", []),
    ("any~cart", ["GET /cart"]),
    ("any~CART", []),
    ("any=pay", ["charge"]),
    ("any=pa", []),
    ("any!=pay", CART),
    ("-any!=pay", ["charge"]),
    ("any=node-1", ALL),
    ("-any~^node", []),
    ("any=exception", ["charge"]),
    ("any~^Value", ["charge"]),
    ("any~refused", ["charge"]),
    ("any=5", ["look up"]),
    ('any="Nested Value"', ["cache miss"]),
    ('any~"^Nested V"', ["cache miss"]),
    ("any=7.0", ["cache miss"]),
    ("any=inner", []),
    ('any="{\\"inner\\":[\\"Nested Value\\",7]}"', ["cache miss"]),
    ("any=linked", ["cache miss"]),
    ("any=0.50", ["look up"]),
    ("any=200", ["GET /cart"]),
    ("any~NaN", ["look up"]),
    ("any=null", ["look up"]),
    ("any=0x0000000000000000000000000000000A", CART),
    ("any=0000", ALL),
    ("any=000", []),
    ("any!=0000", []),
    # That of the parent, too.
    ("any=0000000000000002", ["cache miss", "look up"]),
    ("any~0A$", CART),
    ("any~^0+2$", ["cache miss", "look up"]),
    ('any=""', []),
    ("any~pay any~ValueError status=ERROR", ["charge"]),
    ("any~refused OR any~Nested", ["cache miss", "charge"]),
    ("trace.errors=0 any~node", CART),
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
    ("Status = error KIND!=server", ["charge"]),
    ("Duration > 2ms Trace.Spans = 3", ["GET /cart"]),
    ('"Status"=mine', []),
    ("http.status_code > 499", ["charge"]),
    ("http.status_code >=200 name ~ cart", ["GET /cart"]),
    ("cart > look", ["GET /cart"]),
    ("cart > miss", []),
    ("cart >> miss", ["GET /cart"]),
    ("-look >> miss", ["GET /cart"]),
    ("cart > look > miss", ["GET /cart"]),
    ("-(a > (look OR miss))", ["look up", "cache miss", "charge"]),
    ("k > cached=true OR look > pid=77", ["look up"]),
    ("duration>1ms >> -duration>=0", ["GET /cart", "look up"]),
    ("duration>1ms > trace.spans=3 status=UNSET", ["GET /cart", "look up"]),
    ("trace.errors=0 >> depth=2", ["GET /cart", "look up"]),
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
        "event": "mine",
    }
    cart[2]["attributes"] = {"ray.pid": "77", "deep": {"inner": ["Nested Value", 7]}}
    cart[2]["links"] = [{"context": cart[0]["context"], "attributes": {"why": "linked"}}]
    charge = builder.span(
        "charge",
        trace=11,
        parent=99,
        start=0,
        duration=3000,
        kind="CLIENT",
        status="ERROR",
        description="card refused",
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
    assert [matches_trace(query, store, trace_row(store, number)) for number in (10, 11)] == expected


@settings(max_examples=150, deadline=None)
@given(graphs(), st.sampled_from([">", ">>"]))
def test_what_is_below(documents: list[Document], arrow: str) -> None:
    """It is found by climbing from each span, whatever the ids say, row by row as by columns."""
    store = store_of(*documents)
    query, upper, lower = (
        parse_query(text) for text in (f"name~[0-6]$ {arrow} duration>4us", "name~[0-6]$", "duration>4us")
    )
    expected = set()
    for trace in range(len(store.trace_table)):
        tree = store.tree(trace)
        for node, row in enumerate(tree.rows):
            above = tree.parents[node]
            while lower.keeps(store, row) and 0 <= above < len(tree.rows):
                expected |= {tree.rows[above]} if upper.keeps(store, tree.rows[above]) else set()
                above = tree.parents[above] if arrow == ">>" else -1
    rows = store.rows_in_order()
    assert {row for row in rows if query.keeps(store, row)} == {*rows_that_match(store, query, rows)} == expected


def test_a_time_of_day_is_one_of_the_data() -> None:
    """It is on the latest day on which spans start before and after it, or else on the last day."""
    builder, hour = Builder(), 3_600_000_000
    # From 22:13:20 to 02:13:20 of the next day, in UTC.
    store = store_of(*(builder.span(f"{count} h", trace=1, start=count * hour) for count in range(5)))
    zone = datetime.fromtimestamp(EPOCH_NS // 10**9, UTC).astimezone().utcoffset() or timedelta()

    def kept(operator: str, clock: str) -> int:
        local = (datetime.fromisoformat(f"2023-11-14T{clock}") + zone).strftime("%H:%M:%S.%f")
        query = parse_query(f"start{operator}{local}")
        rows = [row for row in range(5) if query.keeps(store, row)]
        assert rows_that_match(store, query, range(5)) == rows
        return len(rows)

    assert [kept(">", clock) for clock in ("23:00:00", "23:13:20", "00:30:00", "02:13:20", "02:14:00")] == [
        4,
        3,
        2,
        0,
        0,
    ]
    assert kept("=", "01:13:20") == 1
    assert kept("<", "02:14:00") == kept("<", "12:00:00") == 5


def test_terms_hold_on_one_span() -> None:
    """A trace in which two spans hold a term each doesn't match."""
    store = make_store()
    assert not matches_trace(parse_query("cart duration=2ms"), store, trace_row(store, 10))


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


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "key", ["name", "service", "any", "event", "description", "scope", "key", "trace.root", "file"]
)
def test_regular_expressions_end(key: str) -> None:
    """A pattern that backtracks for years in Python's engine is answered, whatever it is asked of."""
    text = "a" * 4_000 + "!"
    document = own_line(text) | {
        "attributes": {"key": text},
        "resource": {"attributes": {"service.name": text}, "schema_url": ""},
        "status": {"code": "ERROR", "description": text},
        "events": [{"name": text, "timestamp": None, "attributes": {}}],
        "scope": {"name": text, "attributes": {}},
    }
    store = store_of(document, path=text)
    assert not parse_query(f'{key}~"(a+)+$"').keeps(store, 0)
    assert parse_query(f'{key}~"(a+)+!$"').keeps(store, 0)


def test_text_without_meaning_in_unicode() -> None:
    """A lone surrogate, which the SDK writes, counts as U+FFFD: it neither stops a search nor hides the rest."""
    store = store_of(Builder().span("a", attributes={"key": "x\udcffy"}))
    assert parse_query(r'key~"^x\x{FFFD}y$"').matches(store, 0)
    assert parse_query("key~y").matches(store, 0)


def test_details_that_are_gone() -> None:
    """A span whose record can't be read any more has no attributes, and still its columns."""
    reader = MemoryReader()
    store = make_store(reader)
    reader.files = [None, None]
    assert not any(parse_query("http.status_code>0 OR any~refused").matches(store, row) for row in range(4))
    assert parse_query("any=pay").matches(store, 3)
    assert parse_query("name=charge pid=77").matches(store, 3)


def test_a_trace_that_grows() -> None:
    """What was found out about a trace's tree is found out again when there is more of it."""
    builder = Builder()
    documents = builder.draw("a 0-9\n  b 1-2")
    query = parse_query("trace.complete=true depth=1")
    partial = store_of(documents[1])
    assert not matches_trace(query, partial, 0)
    whole = store_of(*documents)
    assert matches_trace(query, whole, 0)
    reader = MemoryReader()
    growing = store_of_files({"b.json": file_of(documents[1:])}, reader=reader)
    assert not matches_trace(query, growing, 0)
    reader.files.append(file_of(documents[:1]))
    _feed(growing, reader)
    assert matches_trace(query, growing, 0)


def test_self_time_of_a_trace_that_grows() -> None:
    """What a child takes of its parent is taken once it is there, and a span without an end has no self time."""
    documents = Builder().draw("a 0-9\n  b 1-5\n  c 2-?")
    reader = MemoryReader()
    growing = store_of_files({"b.json": file_of(documents[:1])}, reader=reader)
    whole, less, shorter = (parse_query(f"self{size}") for size in (">=9us", "=5us", "<1h"))
    assert whole.keeps(growing, 0)
    assert not less.keeps(growing, 0)
    reader.files.append(file_of(documents[1:]))
    _feed(growing, reader)
    assert not whole.keeps(growing, 0)
    assert less.keeps(growing, 0)
    assert [shorter.keeps(growing, row) for row in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a -b name=c", ("a",)),
        ('"a b" OR (c (d OR -e) -(f OR g))', ("a b", "c", "d")),
        ("-(-h)", ("h",)),
        ("i >> (j > -k)", ("i", "j")),
        ("any~x status=OK", ()),
        ("", ()),
    ],
)
def test_words(text: str, words: tuple[str, ...]) -> None:
    """A query knows what it looks for in names."""
    assert parse_query(text).words == words


def test_scope() -> None:
    """The scope's name stands in what spanview itself writes, and in OTLP; any looks there, too."""
    line = own_line("a")
    store = store_of(line | {"scope": {"name": "my.scope", "attributes": {"why": "not asked"}}})
    kept = {
        text
        for text in ("scope=my.scope", "scope!=other", "scope~^my", "any=my.scope", "scope=my", "any~asked")
        if parse_query(text).keeps(store, 0)
    }
    assert kept == {"scope=my.scope", "scope!=other", "scope~^my", "any=my.scope"}


LEAVES = st.one_of(st.text(min_size=1), st.text('ab \\"/\n.*(', min_size=1), st.integers(), st.booleans(), st.none())
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
)


@settings(max_examples=200, deadline=None)
@given(VALUES, st.sampled_from(["attributes", "resource", "events", "links"]))
def test_whatever_stands_in_an_attribute_is_found_by_any(value: Any, where: str) -> None:
    """Each text, number and word, however deep it nests."""
    held: Document = {"attributes": {"k": value}}
    holder = {"attributes": held["attributes"], "resource": held, "events": [held], "links": [held]}[where]
    store = store_of(Builder().span("n") | {where: holder})
    for leaf in _leaves(value):
        text = leaf if isinstance(leaf, str) else json.dumps(leaf)
        assert parse_query(f"any={quoted(text)}").keeps(store, 0)
        assert parse_query(anywhere(text)).keeps(store, 0)
        assert not parse_query(f"any!={quoted(text)}").keeps(store, 0)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list | dict):
        return [leaf for part in (value.values() if isinstance(value, dict) else value) for leaf in _leaves(part)]
    return [value]


def test_is_empty() -> None:
    """A query without terms is empty, and one with any isn't."""
    assert parse_query("  ").is_empty
    assert not parse_query("trace.errors>0").is_empty
    assert not parse_query("x").is_empty


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("self>1s", True),
        ("pid=3 OR -self>1s", True),
        ("any~x event=x description~x scope=x", False),
        ("name=x pid=3", False),
        ("depth=3", True),
        ("trace.errors>0", True),
        ("", False),
        ("name=x OR pid=3", False),
        ("pid=3 OR (x OR depth=3)", True),
        ("pid=3 OR trace.errors>0", True),
        ("x > k=v", True),
        ("start>11:57", True),
        ("start>2024-05-28", False),
        ("status=lost", True),
        ("status=ERROR", False),
    ],
)
def test_needs_tree(text: str, *, needs: bool) -> None:
    """A query needs more than a span where it asks for what is above, below or around it, or for a time of day."""
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
