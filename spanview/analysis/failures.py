"""Failed spans in the order in which somebody looks at them: those that lasted, the newest first, each where it began.

driver                        ✖      2   passed on what f raised, and ended last
  f ray.remote
    f ray.remote_worker    ✖         1   raised it
  g                     ✖            3   ended before, and its exception is in no other span

Spans belong to one exception where what the inner one recorded of it is in what the outer one recorded. Where one of
them recorded nothing, the inner one that ended last, and not after the outer one, counts. What failed in an attempt of
a Ray call whose last attempt ended well comes after what lasted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.ray_names import call_names
from spanview.index.arrays import copy_of
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, ERROR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

_NUMPY_FROM_SPANS: Final = 20_000
"""Spans from which on it pays to look at all of them with numpy."""
_MAX_RECORDS: Final = 60
"""Records that are read, of the newest failures: as many as a key may wait for. Times decide on all others."""
_ROUNDED_NS: Final = 2_000
"""The SDK's times are right to two microseconds."""
_OF_EXCEPTION: Final = ("exception.type", "exception.message", "exception.stacktrace")


def newest_failures(store: Store, traces: Iterable[int]) -> Mapping[int, int]:
    """Return when the failed span of each trace that ended last did, in nanoseconds since 1970.

    Args:
        traces: Numbers of traces; those without an error, or whose failed spans have no times, are left out.
    """
    spans, errors = store.spans, store.trace_table.error_count
    wanted = {trace for trace in traces if errors[trace]}
    if len(spans.next_row) < _NUMPY_FROM_SPANS:
        ends = {
            trace: max(_end(store, row) for row in store.rows_of_trace(trace) if spans.status[row] == ERROR)
            for trace in wanted
        }
    else:
        import numpy as np

        count = len(spans.next_row)
        rows = np.flatnonzero(copy_of(spans.status)[:count] == ERROR)
        of_rows = (copy_of(column)[rows] for column in (spans.trace, spans.start_ns, spans.end_ns))
        of_traces, begun, ended = of_rows
        latest = np.full(len(store.trace_table), NO_TIME, np.int64)
        np.maximum.at(latest, of_traces, np.where(ended == NO_TIME, begun, ended))
        ends = {trace: int(latest[trace]) for trace in wanted}
    return {trace: end for trace, end in ends.items() if end != NO_TIME}


def _end(store: Store, row: int) -> int:
    end = store.spans.end_ns[row]
    return store.spans.start_ns[row] if end == NO_TIME else end


def newest_first(store: Store, rows: Sequence[int], above: Sequence[int], retried: Collection[int] = ()) -> list[int]:
    """Return the indices of failed spans, the newest first, but an exception's spans from the innermost on.

    Args:
        rows: The failed spans of a trace, parents before their children.
        above: Of each, the index of the nearest failed one above it; -1 for none.
        retried: The rows of attempts that another one followed, the last of which ended well: with what failed below
            them, they come last.
    """
    is_retried = list[bool]()
    for row, outer in zip(rows, above, strict=True):
        is_retried.append(row in retried or (outer >= 0 and is_retried[outer]))
    ends = [_end(store, row) for row in rows]
    newest = sorted(range(len(rows)), key=lambda index: (-ends[index], index))
    below: dict[int, list[int]] = {}
    for index in newest:
        below.setdefault(above[index], []).append(index)
    records = _Records(store)
    inner: dict[int, int] = {}
    """Of a failed span, the one below it that the exception came from."""
    for outer in newest:
        origin = next((index for index in below.get(outer, ()) if records.is_passed_on(rows[index], rows[outer])), None)
        if origin is not None:
            inner[outer] = origin
    passed_on, order = {*inner.values()}, list[int]()
    for index in sorted(newest, key=is_retried.__getitem__):
        if index in passed_on:
            continue
        chain = [index]
        while (origin := inner.get(chain[-1])) is not None:
            chain.append(origin)
        order += reversed(chain)
    return order


def retried_attempts(store: Store, tree: TraceTree, nodes: Iterable[int]) -> set[int]:
    """Return the rows of those failed spans that are attempts of Ray calls whose last attempt ended well.

    Args:
        tree: Of their trace.
        nodes: Of the failed spans, in the tree.
    """
    spans, rows = store.spans, set[int]()
    runs = call_names(store)[1]
    for node in nodes:
        row, parent = tree.rows[node], tree.parents[node]
        if spans.kind[row] != CONSUMER or spans.name[row] not in runs or parent == ROOT:
            continue
        last = tree.rows[tree.children(parent)[-1]]
        is_attempt = spans.kind[last] == CONSUMER and spans.name[last] in runs
        if is_attempt and spans.status[last] != ERROR and spans.end_ns[last] != NO_TIME:
            rows.add(row)
    return rows


class _Records:
    """What failed spans recorded of their exceptions, as far as so many records may be read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, tuple[str, str]] = {}
        """By row: what names the exception, and all that was recorded; both empty where nothing was."""

    def is_passed_on(self, inner: int, outer: int) -> bool:
        """Return whether the exception of one span is that of another above it, given their rows."""
        needle, whole = self._of(inner)[0], self._of(outer)[1]
        if needle and whole:
            return needle in whole
        return _end(self._store, inner) <= _end(self._store, outer) + _ROUNDED_NS

    def _of(self, row: int) -> tuple[str, str]:
        if row not in self._known:
            if len(self._known) >= _MAX_RECORDS:
                return "", ""
            span = self._store.span(row)
            events = [event.attributes for event in span.events if event.is_exception]
            kind, message, _ = _texts(events[-1]) if events else ("", "", "")
            description = span.status.description or ""
            whole = "\n".join([description, *(text for event in events for text in _texts(event))]).strip()
            self._known[row] = (message or kind.rpartition(".")[2] or description).strip(), whole
        return self._known[row]


def _texts(attributes: Mapping[str, Any]) -> list[str]:
    """Return type, message and stack trace of an exception, empty where they are no texts."""
    values = map(attributes.get, _OF_EXCEPTION)
    return [value if isinstance(value, str) else "" for value in values]
