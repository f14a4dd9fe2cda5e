"""The layouts are those that the installed SDK writes, and `spanview.ray` writes what is quickest to read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)

from spanview.quick.layouts import INDENTED, ONE_LINE
from spanview.quick.objects import ObjectScanner
from spanview.quick.pages import _Walk
from spanview.ray.lines import frame_of, line_of

from .test_same import contents, load

if TYPE_CHECKING:
    from pathlib import Path

    from spanview.quick.layouts import Layout


@pytest.mark.parametrize(("layout", "indent"), [(ONE_LINE, None), (INDENTED, 4)])
def test_layout(layout: Layout, indent: int | None) -> None:
    """Each part stands in a span's text, one behind the other."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("layouts").start_as_current_span("outer") as outer:
        inner = provider.get_tracer("layouts").start_span("inner", attributes={"k": "v"})
        for each in (inner, outer):
            each.set_status(Status(StatusCode.ERROR, "why"))
        inner.end()
    for span in exporter.get_finished_spans():
        text, at = span.to_json(indent).encode(), 0
        for field in fields(layout):
            part = getattr(layout, field.name)
            assert text.count(part) == 1, field.name
            assert text.index(part) >= at, field.name
            at = text.index(part) + len(part)


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize("name", ["f", "", "n" * 63, "n" * 64, "n" * 127, "n" * 128, 'of "x"\\', "ü\t漢字", "ü" * 30])
def test_nothing_is_decoded(name: str, indent: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a span is called, with trace states, and where it failed with an error and says so."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("layouts")
    far = SpanContext(7, 7, True, TraceFlags(TraceFlags.SAMPLED), TraceState([("key", 'of "x"'), ("b", "c")]))
    with suppress(ValueError), tracer.start_as_current_span(name, set_span_in_context(NonRecordingSpan(far))) as outer:
        outer.add_event("}", {"}": '], "links": [], "resource": {'})
        with tracer.start_as_current_span(name, attributes={"k": '"}, "events": ['}):
            raise ValueError('}, "events": [')
    texts = [span.to_json(indent) + "\n" for span in exporter.get_finished_spans()]
    (tmp_path / "a.json").write_text("".join(texts))
    expected = contents(load(tmp_path, quick_from=1 << 60))
    monkeypatch.delattr(_Walk, "_decode")
    assert contents(load(tmp_path, quick_from=0)) == expected
    assert len(expected["spans"]) == "".join(texts).count('"description"') == 2


def test_layout_of_the_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing behind the status has to be found in a line that the hook writes, of whichever span."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("layouts")
    with tracer.start_as_current_span("outer"):
        with tracer.start_as_current_span("inner", attributes={"k": "v"}) as inner:
            inner.set_status(Status(StatusCode.ERROR))
        begun = tracer.start_span("begun")
    assert isinstance(begun, ReadableSpan)
    spans = (*exporter.get_finished_spans(), begun)
    lines = [line_of(span, frame_of({"service.name": "a"}, "", span.instrumentation_scope)) for span in spans]
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines))
    monkeypatch.delattr(ObjectScanner, "take")
    assert len(load(tmp_path, quick_from=0).spans) == 3
