"""The layouts are those that the installed SDK writes, and `spanview.ray`."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from spanview.quick.layouts import INDENTED, ONE_LINE, OTLP
from spanview.ray.lines import frame_of, line_of

if TYPE_CHECKING:
    from spanview.quick.layouts import Layout


@pytest.mark.parametrize(("layout", "indent"), [(ONE_LINE, None), (INDENTED, 4)])
def test_layout(layout: Layout, indent: int | None) -> None:
    """Each part stands in a span's text, one behind the other."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("layouts").start_as_current_span("outer"):
        provider.get_tracer("layouts").start_span("inner", attributes={"k": "v"}).end()
    for span in exporter.get_finished_spans():
        text, at = span.to_json(indent).encode(), 0
        for field in fields(layout):
            part = getattr(layout, field.name)
            assert text.count(part) == 1, field.name
            assert text.index(part) >= at, field.name
            at = text.index(part) + len(part)


def test_layout_of_otlp() -> None:
    """Each part stands in a line, one behind the other, but for what roots, open spans and usual ones haven't."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("layouts")
    with tracer.start_as_current_span("outer"):
        with tracer.start_as_current_span("inner", attributes={"k": "v"}) as inner:
            inner.set_status(Status(StatusCode.ERROR))
        begun = tracer.start_span("begun")
    left_out = {"inner": set[str](), "outer": {"parent_id", "code"}, "begun": {"end_time", "code"}}
    assert isinstance(begun, ReadableSpan)
    for span in (*exporter.get_finished_spans(), begun):
        text = line_of(span, frame_of({"service.name": "a"}, "", span.instrumentation_scope))
        position = text.index(OTLP.trace_id)
        for field in fields(OTLP):
            part = getattr(OTLP, field.name)
            assert text.count(part) == (field.name not in left_out[span.name]), field.name
            if part in text:
                assert text.index(part) >= position, field.name
                position = text.index(part) + len(part)
        assert text.endswith(b"]}]}]}]}\n")
