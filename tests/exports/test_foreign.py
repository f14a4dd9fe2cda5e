"""Whole stores in the formats of others: every span once, in pieces, the same bytes for the same input.

a 0-10                jaeger  {"data": [{"spans": [a, b], …}]}
  b 2-5         ->    zipkin  [a, b]
                      chrome  {"traceEvents": [a, b, …]}
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from any_spans import SOURCE
from builders import Builder, file_of, span_id, store_of, store_of_files, trace_id
from records import jaeger_trace
from spanview.exports.chrome import chrome_chunks
from spanview.exports.jaeger import jaeger_chunks
from spanview.exports.losses import CIRCLES, Losses
from spanview.exports.walks import Above, spans_in_place
from spanview.exports.zipkin import zipkin_chunks
from spanview.formats.jaeger import read as jaeger
from spanview.formats.jaeger.write import TAKEN_FOR_PARENT
from spanview.formats.zipkin import read as zipkin
from spanview.model.span import Span

if TYPE_CHECKING:
    from spanview.index.store import Store

FORMATS: Final = {"jaeger": jaeger_chunks, "zipkin": zipkin_chunks, "chrome": chrome_chunks}
EVERY: Final = pytest.mark.parametrize("form", FORMATS)


def exported(store: Store, form: str, losses: Losses | None = None) -> bytes:
    """Return the export of all traces."""
    return b"".join(FORMATS[form](store, store.traces_in_order(), losses or Losses(form)))


def names(form: str, value: Any) -> list[str]:
    """Return the names of all spans of an export."""
    if form == "jaeger":
        return [span["operationName"] for trace in value["data"] for span in trace["spans"]]
    if form == "zipkin":
        return [span["name"] for span in value]
    return [event["name"] for event in value["traceEvents"] if event["ph"] in "XB"]


@EVERY
def test_every_span_once(form: str) -> None:
    """All traces with all their spans are there, orphans and circles too."""
    builder = Builder()
    store = store_of(
        *builder.draw("a 0-10\n  b 2-5\n  c 3-9\n    d 4-?"),
        builder.span("orphan", trace=2, parent=99),
        builder.span("circle", trace=3, span=50, parent=50),
        builder.span("odd", trace=2, attributes={"nan": float("nan"), "list": [1, {"a": None}], "lone": "\ud800"}),
    )
    value = json.loads(exported(store, form))
    assert sorted(names(form, value)) == ["a", "b", "c", "circle", "d", "odd", "orphan"]


@EVERY
def test_nothing(form: str) -> None:
    """An empty store is a whole document too."""
    assert names(form, json.loads(exported(store_of(), form))) == []


@EVERY
def test_the_same_input_gives_the_same_bytes(form: str) -> None:
    """The order in which files are read doesn't show."""
    builder = Builder()
    files = {"b": file_of(builder.draw("a 0-9\n  b 1-2\n  c 1-3")), "a": file_of([builder.span("b2", span=2, start=1)])}
    backwards = dict(reversed(files.items()))
    assert exported(store_of_files(files), form) == exported(store_of_files(backwards), form)


@EVERY
def test_memory_is_bounded_by_chunks(form: str) -> None:
    """The text comes in pieces, none of which is much larger than a span and a chunk."""
    builder = Builder()
    store = store_of(*[builder.span(parent=number or None, attributes={"x": "y" * 1000}) for number in range(1000)])
    sizes = [len(chunk) for chunk in FORMATS[form](store, store.traces_in_order(), Losses(form))]
    assert len(sizes) > 3
    assert max(sizes) < 300_000


@EVERY
def test_spans_without_usable_ids(form: str) -> None:
    """They are left out where the format can't be without, and that is said."""
    builder = Builder()
    losses = Losses(form)
    store = store_of(builder.span("lost", trace=0), builder.span("found", start=50))
    found = names(form, json.loads(exported(store, form, losses)))
    assert sorted(found) == (["found", "lost"] if form == "chrome" else ["found"])
    expected = [] if form == "chrome" else [f"{form}: dropped 1 span without usable ids"]
    assert losses.lines() == expected


def test_an_export_is_read_again() -> None:
    """Jaeger's and Zipkin's exports are documents of theirs, with the same ids, parents and times."""
    builder = Builder()
    documents = builder.draw("a 0-10\n  b 2-5\n  c 3-9", service="web")
    store = store_of(*documents, *builder.draw("d 5-7", trace=2**100))
    expected = [
        (span.trace_id, span.span_id, span.parent_id, span.name, span.start_ns, span.end_ns, span.service)
        for _, span, _ in spans_in_place(store, store.traces_in_order())
    ]
    for form, module in (("jaeger", jaeger), ("zipkin", zipkin)):
        value = json.loads(exported(store, form))
        assert module.is_document(value)
        read = [
            (span.trace_id, span.span_id, span.parent_id, span.name, span.start_ns, span.end_ns, span.service)
            for span in module.spans_of(value, SOURCE)
        ]
        assert read == expected


def test_warnings_of_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Jaeger had warned of in a trace stands behind its spans again."""
    span = Span(f"{1:032x}", f"{1:016x}", None, "a", 0, 1000, 2000, extra={"jaeger": {"traceWarnings": ["large"]}})
    monkeypatch.setattr("spanview.exports.jaeger.spans_in_place", lambda *_: iter([(0, span, Above.NOTHING)]))
    (trace,) = json.loads(exported(store_of(Builder().span()), "jaeger"))["data"]
    assert trace["warnings"] == ["large"]
    assert trace == jaeger_trace([span])


def test_spans_of_one_id() -> None:
    """Zipkin shows different spans with one id as one, which is said."""
    builder = Builder()
    losses = Losses("zipkin")
    exported(store_of(builder.span("a", span=5), builder.span("b", span=5)), "zipkin", losses)
    assert losses.lines() == ["zipkin: wrote 1 span with the id of another span, which Zipkin shows as one"]


def test_circles_are_cut() -> None:
    """Readers show what they reach from spans without a parent, so a circle is cut where the tree cuts it."""
    builder = Builder()
    store = store_of(
        builder.span("a", span=1, start=1, parent=3),
        builder.span("b", span=2, start=2, parent=1),
        builder.span("c", span=3, start=3, parent=2),
        builder.span("own", trace=2, span=4, parent=4),
    )
    shown = {"a": None, "b": f"{1:016x}", "c": f"{2:016x}", "own": None}
    for form, module in (("jaeger", jaeger), ("zipkin", zipkin)):
        losses = Losses(form)
        read = module.spans_of(json.loads(exported(store, form, losses)), SOURCE)
        assert {span.name: span.parent_id for span in read} == shown
        assert losses.lines() == [f"{form}: {CIRCLES.replace('{parent link}', '2 parent links')}"]


def test_a_link_is_not_taken_for_a_missing_parent() -> None:
    """Jaeger's user interface takes the first reference that it finds for the parent, even behind a missing one."""
    builder = Builder()
    here, other = (
        {"context": {"trace_id": trace_id(trace), "span_id": span_id(1), "trace_state": "[]"}, "attributes": {}}
        for trace in (7, 8)
    )
    store = store_of(
        builder.span("a", trace=7, span=1),
        builder.span("child", trace=7, span=2, parent=1, links=[here]),
        builder.span("orphan", trace=7, span=3, parent=99, links=[here, other]),
    )
    losses = Losses("jaeger")
    (trace,) = json.loads(exported(store, "jaeger", losses))["data"]
    found = {span["operationName"]: [each["spanID"] for each in span["references"]] for span in trace["spans"]}
    assert found == {"a": [], "child": [f"{1:016x}"] * 2, "orphan": [f"{99:016x}", f"{1:016x}"]}
    assert losses.lines() == [f"jaeger: {TAKEN_FOR_PARENT.replace('{link}', '1 link')}"]
