"""The spans of a store that grows, one by one, as they are read.

A span that is written when it starts is handed on then, without an end, and again when it has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.analysis.query.since import end_before_latest, runs_of_spans
from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.analysis.query.selection import Selection
    from spanview.index.store import Store
    from spanview.index.table import SpanTable
    from spanview.model.span import Span


def settled(selection: Selection, read: Callable[[], SpanTable]) -> Selection:
    """Return what is asked for, as it can be told of one span after the other.

    Args:
        read: Reads all spans that are there already; called where the newest run is asked for.

    Raises:
        QueryError: It depends on more than a span.
    """
    if selection.query.needs_tree:
        raise QueryError(
            "with --follow, a span is printed before its trace is complete: leave out depth, self, trace.… "
            "terms, status=running and the like, > and >>, and give start a date"
        )
    return selection.settled(end_before_latest(runs_of_spans(read()))) if selection.needs_newest_run else selection


class NewSpans:
    """Those that have come since it was asked last, and match; of a store whose changes nobody else takes."""

    def __init__(self, store: Store, selection: Selection) -> None:
        self._store, self._selection = store, selection
        self._rows = self._replaced = 0

    def take(self) -> Iterator[Span]:
        """Yield them by path and offset; of one span only what counts by now."""
        store, selection, replaced = self._store, self._selection, self._store.intake.replaced
        rows = sorted({*range(self._rows, len(store.spans)), *replaced[self._replaced :]}, key=store.intake.order)
        self._rows, self._replaced = len(store.spans), len(replaced)
        changed = store.take_changed()
        chosen = changed if selection.is_everything else {*selection.traces(store, changed)}
        for row in rows:
            if store.spans.trace[row] in chosen and selection.query.keeps(store, row):
                yield store.span(row)
