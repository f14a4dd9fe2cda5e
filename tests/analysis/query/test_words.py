"""What a store has that can be asked for, found in some of its records.

span          attributes of it, of its event, of its resource
----          -----------------------------------------------
GET /cart     http.method GET, http.tags [a, b]        deployment eu
charge        error.code 7, a nested object            exception.type on its event
"""

from __future__ import annotations

import json
from unittest.mock import patch

from builders import Builder, MemoryReader, file_of, own_line, store_of, store_of_files
from spanview.analysis.query import words
from spanview.analysis.query.complete import MAX_CHARACTERS, Vocabulary
from spanview.analysis.query.words import gather

BOUND_S = 30.0


def test_what_is_found() -> None:
    """Keys of spans, events and resources, the most frequent first; values as they are searched for."""
    build = Builder()
    event = {"name": "exception", "timestamp": "2023-11-14T22:13:20Z", "attributes": {"exception.type": "Odd"}}
    cart = build.span(
        "GET /cart", attributes={"http.method": "GET", "http.tags": ["a", "b"]}, resource={"deployment": "eu"}
    )
    charge = build.span(
        "charge", parent=1, attributes={"error.code": 7, "whole": True, "deep": {"x": 1}}, events=[event]
    )
    again = build.span("charge", parent=1, attributes={"http.method": "POST", "empty": "", "none": None})
    last = build.span("last", parent=1, attributes={"http.method": "POST"})
    spans, found = gather(store_of(cart, charge, again, last), BOUND_S)
    assert (spans, found.roots) == (4, ["GET /cart"])
    assert next(iter(found.attributes)) == "http.method"
    assert found.attributes == {
        "http.method": ["POST", "GET"],
        "http.tags": ["a", "b"],
        "deployment": ["eu"],
        "error.code": ["7"],
        "whole": ["true"],
        "deep": [],
        "exception.type": ["Odd"],
        "empty": [],
        "none": [],
    } | {key: found.attributes[key] for key in found.attributes if key.startswith("service")}
    assert (found.events, found.scopes) == (("exception",), ())


def test_what_is_the_same_everywhere_comes_last() -> None:
    """Attributes that have one value in all spans tell none from another, however frequent they are."""
    build = Builder()
    same = {"sdk.name": "opentelemetry"}
    spans = [
        build.span("a", resource=same, attributes={"n": number, "some": 1} if number else {}) for number in range(3)
    ]
    _, found = gather(store_of(*spans), BOUND_S)
    assert [key for key in found.attributes if not key.startswith("service")] == ["n", "some", "sdk.name"]


def test_how_many_spans_have_a_value() -> None:
    """Names, services, kinds and states are counted in all spans; attributes only where all records were read."""
    build = Builder()
    event = {"name": "e", "timestamp": None, "attributes": {"k": ["x", "y"]}}
    spans = [build.span("a", attributes={"k": "x"}, events=[event], status="ERROR"), build.span("b", service="shop")]
    _, found = gather(store_of(*spans, build.span("b")), BOUND_S)
    assert found.counts["name"] == {"a": 1, "b": 2}
    assert found.counts["service"]["shop"] == 1
    assert found.counts["status"] == {"UNSET": 2, "OK": 0, "ERROR": 1}
    assert {kind for kind, count in found.counts["kind"].items() if count} == {"INTERNAL"}
    assert found.attribute_counts["k"] == {"x": 1, "y": 1}
    _, found = gather(store_of(*spans), BOUND_S, lambda: False)
    assert (found.counts["name"], found.attribute_counts) == ({"a": 1, "b": 1}, {})


def test_scopes() -> None:
    """The scope's name is one of those, where a span has one."""
    line = own_line("a")
    _, found = gather(store_of(line, line | {"span_id": "3" * 16, "scope": {"name": "my.scope"}}), BOUND_S)
    assert found.scopes == ("my.scope",)


def test_what_nobody_would_type() -> None:
    """Keys and values that are too long, and records that are too large, are passed over."""
    build = Builder()
    long = "x" * (MAX_CHARACTERS + 1)
    store = store_of(
        build.span("a", attributes={long: 1, "key": long, "": 2}),
        build.span("b" + long, attributes={"large": "y" * 100_000, "beside": 1}),
    )
    assert gather(store, BOUND_S) == (2, Vocabulary(roots=["a"], attributes={"key": []}))


def test_a_sample_is_enough() -> None:
    """Of many records some are read: the last of each name and status, and some from all over."""
    build = Builder()
    spans = [build.span("usual", trace=number, attributes={"n": number}) for number in range(1, 3000)]
    spans.insert(1500, build.span("usual", trace=7, status="ERROR", attributes={"only.failed": 1}))
    spans.insert(1501, build.span("rare", trace=5000, attributes={"only.rare": 1}))
    reader = MemoryReader()
    store = store_of_files({"1.json": file_of(spans)}, reader=reader)
    before = reader.reads
    with patch.object(words, "_ROWS_PER_TURN", 700):
        _, found = gather(store, BOUND_S)
    assert reader.reads - before < 610
    assert {"n", "only.failed", "only.rare"} <= {*found.attributes}
    assert len(found.attributes["n"]) == 200
    assert found.roots == ["rare", "usual"]


def test_it_ends_when_nobody_waits() -> None:
    """Without time, or when nobody wants it any more, no further record is read; the columns are looked at."""
    build, reader = Builder(), MemoryReader()
    data = file_of(build.span("a", trace=number, attributes={"k": 1}) for number in range(1, 50))
    store = store_of_files({"1.json": data}, reader=reader)
    before = reader.reads
    wanted = iter([True] * 3)
    assert gather(store, -1.0) == gather(store, BOUND_S, lambda: False) == (49, Vocabulary(roots=["a"]))
    assert reader.reads == before
    assert gather(store, BOUND_S, lambda: next(wanted, False))[1].attributes == {"k": ["1"]}
    assert reader.reads == before + 3


def test_records_that_are_gone() -> None:
    """What can't be read any more has no attributes, and nothing else comes of it."""
    reader = MemoryReader()
    store = store_of_files({"1.json": file_of([Builder().span("a", attributes={"k": json.dumps({})})])}, reader=reader)
    reader.files[0] = None
    assert "k" not in gather(store, BOUND_S)[1].attributes
