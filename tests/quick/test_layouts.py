"""The layouts are those that the installed SDK writes."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanview.quick.layouts import INDENTED, ONE_LINE

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
