"""From Jaeger to Zipkin and back: what both can say survives.

both                              only one of them
----                              ----------------
ids, parents, name, kind          Jaeger: types of attributes, a process's tags apart from the span's
times in whole microseconds       Zipkin: endpoints, which are attributes for Jaeger
status, scope, trace state
texts as attributes, service
events, links
"""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from any_spans import SOURCE, TEXTS, keys_but, spans
from records import jaeger_trace, whole
from spanview.formats.jaeger import read as jaeger
from spanview.formats.jsontext import dumps_strict
from spanview.formats.zipkin import read as zipkin
from spanview.model.span import Resource, Span

TAKEN = (
    *("span.kind", "error", "otel.status_code", "otel.status_description", "w3c.tracestate", "service.name"),
    *("otel.scope.name", "otel.scope.version", "otel.library.name", "otel.library.version", "event"),
)
BOTH = spans(values=TEXTS, keys=keys_but(*TAKEN), unit=1000)


def by_jaeger(span: Span) -> Span:
    """Return a span as it is after it was written as Jaeger and read again."""
    (again,) = jaeger.spans_of(json.loads(dumps_strict(jaeger_trace([span]))), SOURCE)
    return again


def by_zipkin(span: Span) -> Span:
    """Return a span as it is after it was written as Zipkin and read again."""
    (again,) = zipkin.spans_of([json.loads(dumps_strict(zipkin.value_of(span)))], SOURCE)
    return again


@settings(deadline=None)
@given(BOTH)
def test_what_both_can_say_survives(span: Span) -> None:
    """Either way round, a span of what both can say is what it was."""
    assume(span.parent_id != span.span_id)
    assume(span.parent_id is not None or all(link.trace_id != span.trace_id for link in span.links))
    span = replace(span, resource=Resource({"service.name": "web"}), events=span.events[:1])
    for again in (by_zipkin(by_jaeger(span)), by_jaeger(by_zipkin(span))):
        extra = {key: value for key, value in again.extra.items() if key in span.extra}
        assert whole(again) | {"extra": extra} == whole(span)


@settings(deadline=None)
@given(st.lists(BOTH, min_size=1, max_size=3, unique_by=lambda span: span.span_id))
def test_what_one_keeps_does_not_get_into_the_other(some: list[Span]) -> None:
    """What a span has kept of one format changes nothing in what is written in the other."""
    for span in some:
        plain = replace(span, extra={})
        marked = replace(span, extra={"zipkin": {"id": "f" * 16, "tags": {"x": "y"}}})
        assert jaeger_trace([marked]) == jaeger_trace([plain])
        other = replace(span, extra={"jaeger": {"flags": 1, "more": [{"key": "x", "type": "string", "value": "y"}]}})
        assert zipkin.value_of(other) == zipkin.value_of(plain)
