"""Documents to rows, and by way of whole spans: both come to the same, whatever is in them.

as its writer has it     a row, without a span
anything else            the row of the whole span that is made of it
"""

from __future__ import annotations

import json
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from any_spans import spans
from go_stubs import stub_of
from otlp_messages import DOCUMENTS
from records import jaeger_trace
from spanview.formats import foreign
from spanview.formats.decoder import kept_of, kept_of_each
from spanview.formats.framing.containers import is_element
from spanview.formats.otlp.write import OtlpLines
from spanview.formats.own.write import dumps_span, span_value
from spanview.formats.rows import PartRow, Row, Rows, ignore_part
from spanview.formats.usual import NOWHERE, row_of_span
from spanview.formats.zipkin import write as zipkin
from spanview.model.span import Event, Link, Resource, Scope, Span, Status

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
_ID: Final = "1" * 16
_ODD: Final[tuple[Any, ...]] = (
    *(None, True, 0, -1, 7, 2**63, 1.0, 1.5, "", "0", "7", "-7", " 7", "x", "\u0664", "0" * 16, _ID, "0" * 32),
    *(_ID * 2, _ID.upper().replace("1", "A"), "a b" * 10 + "ab", "9" * 19, "SPAN_KIND_SERVER", "CLIENT", "internal"),
    *([], [None], [7], [{}], [[]], {}, {"x": 7}, {"stringValue": 7}, {"intValue": "7.0"}, {"intValue": "9" * 19}),
    *({"doubleValue": "NaN"}, {"doubleValue": 7}, {"arrayValue": {"values": [{"intValue": True}]}}),
    *({"arrayValue": {"values": [{"stringValue": "a"}]}}, {"arrayValue": [{"stringValue": "a"}]}),
    *({"boolValue": True, "stringValue": "a"}, {"stringValue": None}, "logfire.span_type", "service.name"),
    *("pending_span", "ERROR", "2026-11-20T11:59:07.199831Z", "2026-11-20T11:59:07+01:00", ["bad_id"], ["orphan"]),
    *({"key": "error", "type": "bool", "value": True}, {"key": "span.kind", "type": "string", "value": "client"}),
    *({"error": "it broke"}, {"otel.status_code": "ok"}, {"serviceName": "a", "ipv4": "1.2.3.4", "port": True}),
)
_KEYS: Final = (
    *("traceId", "parent_span_id", "attributes", "batches", "spans", "resource_spans", "entityRefs", "more", "extra"),
    *("parentSpanID", "process", "warnings", "shared", "span.kind", "error", "otel.status_code", "context", "name"),
)


def line_of(span: Span) -> Any:
    """Return a span's object as a line of its own."""
    return json.loads(dumps_span({"trace_id": span.trace_id, **span_value(span, None)}))


def tree_of(some: list[Span]) -> Any:
    """Return a tree in which each span is below the one before it."""
    roots: list[Any] = []
    children = roots
    for span in some:
        node = json.loads(dumps_span(span_value(span, 7))) | {"children": []}
        children.append(node)
        children = node["children"]
    return {"schema": "spanview/trace-tree/v1", "traces": [{"trace_id": some[0].trace_id, "roots": roots}]}


_SPANS: Final = st.lists(spans(), min_size=1, max_size=3)
WRITTEN: Final = {
    "own": spans().map(line_of),
    "tree": _SPANS.map(tree_of),
    "otlp": DOCUMENTS,
    "jaeger": _SPANS.map(lambda some: {"data": [jaeger_trace(some)]}),
    "zipkin": _SPANS.map(lambda some: [*map(zipkin.value_of, some)]),
    "zipkin alone": spans().map(zipkin.value_of),
    "go": spans().map(stub_of),
}
"""Documents of each format, as they are written."""


_IDS: Final = f"{0xA1:032x}", f"{0xB1:016x}", f"{0xC1:016x}"
_RICH: Final = [
    Span(
        *(
            *_IDS,
            "a",
            2,
            1_000_000,
            2_000_000,
            Status(2, "broken"),
            {"t": "x", "n": 1, "f": 1.5, "b": True, "l": ["x"]},
        ),
        (Event("e", 1_500_000, {"k": "v", "n": 2}),),
        (Link(_IDS[0], f"{9:016x}", {}, {"k": "v"}),),
        {},
        Resource({"service.name": "web", "service.instance.id": "i", "process.pid": 7}),
        Scope("lib", "1.0"),
        {"dropped_links_count": 1},
        source=NOWHERE,
    ),
    Span(_IDS[0], _IDS[2], None, "b", None, 3_000_000, 4_000_000, resource=Resource({"service.name": "db"})),
]
RICH: Final = {
    "own": line_of(_RICH[0]),
    "tree": tree_of(_RICH),
    "otlp": json.loads(next(OtlpLines(ignore_part).of(_RICH[:1]))),
    "otlp of two": json.loads(next(OtlpLines(ignore_part).of(_RICH))),
    "jaeger": {"data": [jaeger_trace(_RICH)]},
    "zipkin": [*map(zipkin.value_of, _RICH)],
    "zipkin alone": zipkin.value_of(_RICH[0]),
    "go": stub_of(_RICH[0]),
}
"""Documents with something in every field."""


def expected(document: Any) -> tuple[list[Row], list[Any]]:
    """Return the rows of a document by way of whole spans, and the parts that are passed over."""
    passed: list[Any] = []
    format_ = foreign.format_of(document)
    return [] if format_ is None else [*map(row_of_span, format_.spans_of(document, NOWHERE, passed.append))], passed


def check(document: Any) -> None:
    """Compare what is kept of a document that isn't the SDK's with what spans say of it."""
    kept = kept_of(document)
    rows, passed = expected(document)
    if type(kept) is Row:
        assert ([kept], []) == (rows, passed)
    elif type(kept) is PartRow:
        assert ([kept], []) == (rows, passed)
        assert [*kept_of_each([RICH["zipkin alone"], document] * 3)] == [kept_of(RICH["zipkin alone"]), kept] * 3
    elif type(kept) is Rows:
        assert ([*kept], kept.passed) == (rows, len(passed))
        if is_element(document):
            assert [*kept_of_each([RICH["zipkin alone"], document] * 3)] == [kept_of(RICH["zipkin alone"]), kept] * 3
    else:
        assert kept is document
        assert isinstance(document, dict | list)
        assert not rows or "context" in document


@pytest.mark.parametrize("name", WRITTEN)
@settings(max_examples=1_000)
@given(data=st.data())
def test_any_documents(name: str, data: st.DataObject) -> None:
    """Whatever is replaced, left out or added somewhere."""
    document = data.draw(WRITTEN[name])
    check(document)
    for _ in range(data.draw(st.integers(1, 3))):
        holder = document
        while inner := [part for part in _parts(holder) if _parts(part)]:
            if data.draw(st.booleans()):
                break
            holder = data.draw(st.sampled_from(inner))
        places = [*(holder if isinstance(holder, dict) else range(len(holder)))]
        if isinstance(holder, dict) and data.draw(st.integers(0, 4)) == 0:
            holder[data.draw(st.sampled_from(_KEYS))] = deepcopy(data.draw(st.sampled_from(_ODD)))
        elif places:
            place = data.draw(st.sampled_from(places))
            change = data.draw(st.sampled_from(("drop", "any", "same type", "same type")))
            alike = [odd for odd in _ODD if change != "same type" or type(odd) is type(holder[place])]
            if change == "drop":
                del holder[place]
            else:
                holder[place] = deepcopy(data.draw(st.sampled_from(alike)))
    check(document)


@pytest.mark.parametrize("name", RICH)
def test_each_value_replaced(name: str) -> None:
    """Each place of a document takes odd values, none, and odd keys; those of its own type are the likely ones."""
    document, count = RICH[name], 0
    check(document)
    for holder in _holders(document):
        for place in [*(holder if isinstance(holder, dict) else range(len(holder)))]:
            before = holder[place]
            for odd in _ODD:
                count += 1
                if type(odd) is type(before) or count % 8 == 0:
                    holder[place] = odd
                    check(document)
            holder[place] = before
        for key in [*holder, *_KEYS] if isinstance(holder, dict) else []:
            before = dict(holder)
            holder[key] = _ODD[count % len(_ODD)]
            count += 1
            check(document)
            del holder[key]
            check(document)
            holder.clear()
            holder.update(before)


def _holders(value: Any) -> list[Any]:
    """Return all lists and objects in a value."""
    holders = [value] if isinstance(value, dict | list) else []
    return holders + [holder for part in _parts(value) for holder in _holders(part)]


def _parts(value: Any) -> list[Any]:
    return [*(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())]


@pytest.mark.parametrize("name", [name for name in WRITTEN if name != "go"])
def test_what_is_written_needs_no_spans(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the formats' writers make of usual spans goes to rows at once."""
    lines = (FIXTURES / "otlp-json" / "spans").rglob("*.jsonl")
    documents = [document for path in lines for document in map(json.loads, path.read_bytes().splitlines())]
    recorded = [span for document in documents for span in _spans_in(document)]
    made: list[Any] = []
    for module in ("own", "otlp", "jaeger", "zipkin"):
        monkeypatch.setattr(import_module(f"spanview.formats.{module}.rows"), "row_of_span", made.append)
    for document in RICH.values():
        kept_of(document)
    assert made == []
    of_format: dict[str, list[Any]] = {
        "own": [*map(line_of, recorded)],
        "tree": [tree_of([span]) for span in recorded],
        "otlp": [document for document in documents if "resourceSpans" in document],
        "jaeger": [{"data": [jaeger_trace([span])]} for span in recorded],
        "zipkin": [[zipkin.value_of(span)] for span in recorded],
        "zipkin alone": [zipkin.value_of(span) for span in recorded],
    }
    found = [kept for document in of_format[name] for kept in [kept_of(document)] if kept is not document]
    assert len(found) > 20
    assert len(made) < 0.3 * len(found)


def _spans_in(document: Any) -> list[Span]:
    format_ = foreign.format_of(document)
    return [] if format_ is None else format_.spans_of(document, NOWHERE)
