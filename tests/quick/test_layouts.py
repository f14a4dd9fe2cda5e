"""The layouts are those that the installed SDK writes, and `spanview.ray` writes what is quickest to read."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from spanview.quick.layouts import INDENTED, ONE_LINE
from spanview.quick.objects import ObjectScanner
from spanview.ray.lines import frame_of, line_of

from .test_same import load

if TYPE_CHECKING:
    from pathlib import Path

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
