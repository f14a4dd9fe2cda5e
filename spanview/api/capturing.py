"""Capturing the spans of this process for a while, whatever OpenTelemetry was set up to do.

a provider is set up        it gets a processor, once, which takes nothing between tests
none is, or no SDK's        while a test captures there is one, the same for all tests: tracers remember theirs
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.util._once import Once

from spanview.api.captured import CapturedSpans, SpanKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Span

_OWN: Final = "spanview"
"""The name of the tracer of spanview, which looks at spans while a test captures."""


class _Collector(SpanProcessor):
    """Remembers spans that start while a test captures, as they are when they have ended."""

    def __init__(self) -> None:
        self.spans: dict[SpanKey, ReadableSpan] | None = None
        """In the order in which they started; None between tests."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's signature
        spans, scope = self.spans, span.instrumentation_scope
        if spans is not None and (scope is None or scope.name != _OWN):
            spans[_key_of(span)] = span

    def on_end(self, span: ReadableSpan) -> None:
        spans = self.spans
        if spans is not None and _key_of(span) in spans:
            spans[_key_of(span)] = span


def _key_of(span: ReadableSpan) -> SpanKey:
    context = span.context
    return (0, 0) if context is None else (context.trace_id, context.span_id)


_COLLECTOR: Final = _Collector()
_watched: list[object] = []
"""The providers that have the collector."""
_own_provider: list[TracerProvider] = []
"""The provider of tests where none is set up, once there was such a test."""


@contextmanager
def capturing() -> Iterator[CapturedSpans]:
    """Capture spans, and leave the global provider as it was afterwards."""
    before = trace._TRACER_PROVIDER, trace._TRACER_PROVIDER_SET_ONCE  # noqa: SLF001 - there is no other way back
    if not hasattr(trace.get_tracer_provider(), "add_span_processor"):
        if not _own_provider:
            _own_provider.append(TracerProvider(sampler=ALWAYS_ON))
        is_set = Once()
        is_set.do_once(lambda: None)
        trace._TRACER_PROVIDER, trace._TRACER_PROVIDER_SET_ONCE = _own_provider[0], is_set  # noqa: SLF001
    for provider in (*_own_provider, trace.get_tracer_provider()):
        _watch(provider)
    outer, spans = _COLLECTOR.spans, dict[SpanKey, ReadableSpan]()
    _COLLECTOR.spans = spans
    try:
        yield CapturedSpans(spans, _watch)
    finally:
        _COLLECTOR.spans = outer
        if trace._TRACER_PROVIDER in _own_provider:  # noqa: SLF001
            trace._TRACER_PROVIDER, trace._TRACER_PROVIDER_SET_ONCE = before  # noqa: SLF001


def _watch(provider: object) -> None:
    """Let spans of a provider go to the collector; the SDK takes no processor away again."""
    if not any(known is provider for known in _watched):
        provider.add_span_processor(_COLLECTOR)  # type: ignore[attr-defined]
        _watched.append(provider)
