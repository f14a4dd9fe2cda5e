"""What the pytest plugin's fixture `spans` is: the spans that a test makes, in memory."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.api.spans import from_spans
from spanview.display.sanitise import sanitise
from spanview.display.units import count, duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

    from spanview.api.store import Store
    from spanview.api.trace import Trace
    from spanview.model.span import Span

__tracebackhide__ = True
"""Pytest shows the line of a test that asked, none of these."""
SpanKey: TypeAlias = tuple[int, int]
"""Trace id and span id."""
_MAX_NAMED: Final = 10
"""Spans that a failed assertion names."""
_MAX_NAME_LENGTH: Final = 80


class CapturedSpans:
    """The spans that a test has made so far, in all threads and tasks; those that run have no end.

    Args:
        spans: By trace id and span id, in the order in which they started; there may be more each time.
        watch: Lets the spans of a provider be captured.
    """

    def __init__(self, spans: dict[SpanKey, ReadableSpan], watch: Callable[[TracerProvider], None]) -> None:
        self._spans = spans
        self._watch = watch

    @property
    def store(self) -> Store:
        """What was captured so far, as a store."""
        return from_spans([*self._spans.values()])

    @property
    def traces(self) -> list[Trace]:
        """The traces captured so far, by start."""
        return self.store.traces

    def capture(self, provider: TracerProvider) -> None:
        """Take the spans of another provider, too, which isn't the one that is set up globally."""
        self._watch(provider)

    def clear(self) -> None:
        """Forget the spans captured so far."""
        self._spans.clear()

    def tree(self, *, times: bool = False) -> str:
        """Return all traces as text, by start, with an empty line between two; the same in each run without times."""
        return "\n\n".join(trace.tree(times=times) for trace in self.traces)

    def select(self, query: str) -> list[Span]:
        """Return the spans that match a query, trace by trace, by start.

        Raises:
            QueryError: There is a mistake in the query.
        """
        return [node.span for node in self.store.query(query) if node.span is not None]

    def count(self, query: str) -> int:
        """Return how many spans match a query."""
        return len(self.select(query))

    def durations_ns(self, query: str) -> list[int]:
        """Return the durations of those spans that match a query and have ended, in nanoseconds, by start."""
        return [span.duration_ns for span in self.select(query) if span.duration_ns is not None]

    def critical_path(self) -> list[str]:
        """Return the names of the spans that the end of the only trace waited for, by time; neighbors differ.

        Raises:
            AssertionError: There are several traces, or none.
        """
        traces = self.traces
        if len(traces) != 1:
            raise AssertionError(f"captured {count(len(traces), 'trace')}, expected one with a critical path")
        return [name for name, _ in groupby(section.node.name for section in traces[0].critical_path())]

    def assert_none(self, query: str) -> None:
        """Fail if a span matches a query, or if none could: a key is misspelt that no span has."""
        spans = self._matching(query)
        if not spans and (reasons := self._misses(query, only_misspelt=True)):
            raise AssertionError("; ".join([f"nothing to test for {query}", *reasons]))
        if spans:
            shown = ", ".join(map(_shown, spans[:_MAX_NAMED])) + (", …" if len(spans) > _MAX_NAMED else "")
            raise AssertionError(f"{count(len(spans), 'span')} matched {query}, expected none: {shown}")

    def assert_some(self, query: str) -> None:
        """Fail unless a span matches a query."""
        if not self._matching(query):
            raise AssertionError("; ".join([f"no span of {len(self):,} matched {query}", *self._misses(query)]))

    def _matching(self, query: str) -> list[Span]:
        """Return the spans that match; reasons why none does are an assertion's to say."""
        return [node.span for node in self.store._matching(query) if node.span is not None]  # noqa: SLF001 - as below

    def _misses(self, query: str, *, only_misspelt: bool = False) -> list[str]:
        """Return why no span matches a query, as far as that is known."""
        from spanview.analysis.query.misses import NoAttribute, misses_of
        from spanview.analysis.query.query import parse_query
        from spanview.display.miss_text import miss_lines

        misses = misses_of(self.store._store, parse_query(query))  # noqa: SLF001 - a part of the same
        return miss_lines(miss for miss in misses if not only_misspelt or (isinstance(miss, NoAttribute) and miss.near))

    def __len__(self) -> int:
        return len(self._spans)

    def __repr__(self) -> str:
        return f"<CapturedSpans {len(self):,}>"


def _shown(span: Span) -> str:
    name = sanitise(span.name, _MAX_NAME_LENGTH)
    return name if span.duration_ns is None else f"{name} ({duration(span.duration_ns)})"
