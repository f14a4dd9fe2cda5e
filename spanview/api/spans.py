"""Spans of this process, from the SDK's exporter in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.api.store import Store
from spanview.formats.decoder import Decoder
from spanview.index.documents import HeldRecords
from spanview.index.store import Store as SpanStore
from spanview.ray.lines import frame_of, line_of
from spanview.sources.unended import let_ask

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.sdk.trace import ReadableSpan

    from spanview.ray.lines import Frame

_SOURCE: Final = "memory"
"""What stands for the file of spans that are in none."""


def from_spans(spans: Iterable[ReadableSpan]) -> Store:
    """Return a store of spans that are in memory, such as `InMemorySpanExporter().get_finished_spans()`.

    Args:
        spans: Of OpenTelemetry's SDK; those that haven't ended have no end.
    """
    frames: dict[tuple[object, object], Frame] = {}
    lines = []
    for span in spans:
        if not hasattr(span, "instrumentation_scope"):
            raise TypeError(f"a ReadableSpan of OpenTelemetry's SDK is wanted, not {type(span).__name__}")
        scope, resource = span.instrumentation_scope, span.resource
        key = id(resource), id(scope)
        if key not in frames:
            frames[key] = frame_of(resource.attributes, resource.schema_url, scope)
        lines.append(line_of(span, frames[key]))
    data, decoder = b"".join(lines), Decoder(cap=max(map(len, lines), default=1))
    store = SpanStore(HeldRecords([(0, 0, data)]))
    let_ask(store)
    source = store.add_source(_SOURCE)
    store.tallies.add_bytes(_SOURCE, len(data))
    for batch in (decoder.feed(data), decoder.close()):
        store.add(source, batch)
    return Store(store)
