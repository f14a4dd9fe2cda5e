"""Whole JSON in which something stands that is none of what it should be: the rest is read, and it is told.

document                                          spans   told
--------                                          -----   ----
a list whose first element is none                the others, and how many are none
traces behind a key that nobody knows             all
a part without what it should have                the others, and how many are none
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from builders import Builder, store_of_files
from spanview.formats.decoder import Decoder
from spanview.model.problems import ProblemKind, Severity

_ID, _TRACE = "1" * 16, "1" * 32
_SDK: Final = Builder().span("a")
_LINE: Final[dict[str, Any]] = {
    "trace_id": _TRACE,
    "span_id": _ID,
    "parent_id": None,
    "name": "a",
    "status": {},
    "attributes": {},
}
_TREE: Final[dict[str, Any]] = {"trace_id": _TRACE, "roots": [{**_LINE, "children": []}]}
_JAEGER: Final[dict[str, Any]] = {"traceID": _TRACE, "spans": [{"spanID": _ID, "operationName": "a"}], "processes": {}}
_OTLP: Final = {"resource": {}, "scopeSpans": [{"spans": [{"traceId": _TRACE, "spanId": _ID, "name": "a"}]}]}
_ZIPKIN: Final = {"traceId": _TRACE, "id": _ID, "name": "a"}


@pytest.mark.parametrize(
    ("document", "spans", "passed"),
    [
        ([None, _SDK], 1, 1),
        ([5, _LINE, {"x": 1}], 1, 2),
        ([None, _ZIPKIN], 1, 1),
        ([{"trXceId": _TRACE, "id": _ID}, _ZIPKIN], 1, 1),
        ([[None, _ZIPKIN]], 1, 1),
        ({"trXces": [_TREE]}, 1, 0),
        ({"schema": None, "traces": [_TREE, None]}, 1, 1),
        ({"traces": [_TREE, {"trace_id": _TRACE, "rXots": []}]}, 1, 1),
        ({**_TREE, "roots": [{**_LINE, "children": [7]}, {"span_id": _ID}]}, 1, 2),
        ({**_TREE, "roots": [{**_LINE, "chXldren": [{**_LINE, "children": []}]}]}, 1, 1),
        ({**_TREE, "roots": [{"span_id": _ID, "missing": True, "children": [{**_LINE, "children": []}]}]}, 1, 0),
        ({"dXta": [_JAEGER]}, 1, 0),
        ({"data": [_JAEGER, {**_JAEGER, "spans": 5}]}, 1, 1),
        ({**_JAEGER, "spans": [*_JAEGER["spans"], "x"]}, 1, 1),
        ({"resourceSpXns": [_OTLP]}, 1, 0),
        ({"resourceSpans": [_OTLP, 5]}, 1, 1),
        ({"resourceSpans": [_OTLP, {"resource": {}, "scopeSpXns": []}]}, 1, 1),
        ({"resourceSpans": [_OTLP, {"scopeSpans": [{"spans": {}}]}]}, 1, 1),
        ({"resourceSpans": [_OTLP, {"scopeSpans": None}, {"resource": {}}]}, 1, 0),
    ],
)
def test_the_rest_is_read(document: Any, spans: int, passed: int) -> None:
    """What isn't damaged is read, once and again, and what is, is told with the document's place."""
    data = b"\n" + json.dumps(document).encode() + b"\n"
    store = store_of_files({"1.json": data})
    assert [store.span(row).name for row in store.rows_in_order()] == ["a"] * spans
    expected = [(ProblemKind.PARTIAL, 1, len(data) - 2, Severity.WARNING)] if passed else []
    assert [(each.kind, each.offset, each.length, each.severity) for each in store.problems()] == expected
    assert all(f" {passed} of its parts" in each.detail for each in store.problems())


@pytest.mark.parametrize("document", [{"x": [{"spans": [1]}]}, {"x": [{"roots": 5}]}, [1, [2]], {"x": [_SDK]}, [{}]])
def test_what_is_none(document: Any) -> None:
    """Other documents hold no spans, though something in them has a name that parts have."""
    batch = Decoder().feed(json.dumps(document).encode() + b"\n")
    assert (len(batch.columns), len(batch.skipped)) == (0, 1)
