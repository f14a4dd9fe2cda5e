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

from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.analysis.ray.executions import are_executions
from spanview.analysis.ray.names import call_names
from spanview.index.arrays import copy_of, rows_within
from spanview.model.codes import CONSUMER, ERROR
from spanview.model.times import NO_TIME, ROUNDED_NS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from spanview.index.arrays import Places
    from spanview.index.store import Store

_MAX_RECORDS: Final = 60
"""Records that are read, of the newest failures: as many as a key may wait for. Times decide on all others."""
NOTHING_LOST: Final[Mapping[int, int]] = MappingProxyType({})
_OF_EXCEPTION: Final = ("exception.type", "exception.message", "exception.stacktrace")


def newest_failures(
    store: Store, traces: Iterable[int], made_good: Collection[int] = ()
) -> Mapping[int, tuple[bool, int]]:
    """Return of each trace whether an error in it lasted, and when the newest such span ended, in ns since 1970.

    Args:
        traces: Numbers of traces; those without an error, or whose failed spans have no times, are left out.
        made_good: As `errors_made_good` returns them; of a trace with no other errors, they count.
    """
    spans, errors, rows = store.spans, store.trace_table.error_count, failed_rows(store)
    of_traces, begun, ended = (copy_of(column)[rows] for column in (spans.trace, spans.start_ns, spans.end_ns))
    ended = np.where(ended == NO_TIME, begun, ended)
    lasts = ~np.isin(rows, [*made_good]) if made_good else np.ones(len(rows), np.bool_)
    latest, lasting = (np.full(len(store.trace_table), NO_TIME, np.int64) for _ in range(2))
    np.maximum.at(latest, of_traces, ended)
    np.maximum.at(lasting, of_traces[lasts], ended[lasts])
    numbers = np.fromiter({trace for trace in traces if errors[trace]}, np.int64)
    has_lasting, newest = (lasting != NO_TIME)[numbers], lasting[numbers]
    newest = np.where(has_lasting, newest, latest[numbers])
    ends = zip(numbers.tolist(), has_lasting.tolist(), newest.tolist(), strict=True)
    return {trace: (lasted, ns) for trace, lasted, ns in ends if ns != NO_TIME}


def failed_rows(store: Store, traces: Iterable[int] | None = None) -> Places:
    """Return the rows of spans with status ERROR."""
    have_failed = copy_of(store.spans.status)[: len(store.spans.next_row)] == ERROR
    return rows_within(store.spans, np.flatnonzero(have_failed), traces)


def failed_with(
    store: Store, column: Sequence[int], wanted: Collection[int], traces: Iterable[int] | None = None
) -> list[int]:
    """Return the rows of failed spans that have one of some numbers in a column; rows beyond it are left out."""
    numbers, rows = copy_of(column), failed_rows(store, traces)
    rows = rows[rows < len(numbers)]
    failed: list[int] = rows[np.isin(numbers[rows], [*wanted])].tolist()
    return failed


def in_order_of_visits(
    store: Store, rows: Iterable[int], made_good: Collection[int] = (), lost_ns: Mapping[int, int] = NOTHING_LOST
) -> list[int]:
    """Return failed spans of any traces, by their rows, the newest first; what a retry made good after what lasted.

    Args:
        made_good: As `errors_made_good` returns them.
        lost_ns: Until when those that are lost are known to have run, by row, in nanoseconds since 1970.
    """
    failed = np.fromiter(rows, np.int64)
    begun, ended = (copy_of(column)[failed] for column in (store.spans.start_ns, store.spans.end_ns))
    lost = np.fromiter((lost_ns.get(row, NO_TIME) for row in failed.tolist()), np.int64)
    ended = np.maximum(np.where(ended == NO_TIME, begun, ended), lost)
    # Their complements, because the least time has no negative.
    order = np.lexsort((failed, ~ended, np.isin(failed, [*made_good])))
    in_order: list[int] = failed[order].tolist()
    return in_order


def are_made_good(rows: Sequence[int], above: Sequence[int], retried: Collection[int]) -> list[bool]:
    """Return which failed spans are attempts that another one followed, or below one, as `newest_first` takes them."""
    is_retried = list[bool]()
    for row, outer in zip(rows, above, strict=True):
        is_retried.append(row in retried or (outer >= 0 and is_retried[outer]))
    return is_retried


def newest_first(store: Store, rows: Sequence[int], above: Sequence[int], retried: Collection[int] = ()) -> list[int]:
    """Return the indices of failed spans, the newest first, but an exception's spans from the innermost on.

    The arguments are those of `exceptions_in`.
    """
    return [index for chain in exceptions_in(store, rows, above, retried) for index in chain]


def exceptions_in(
    store: Store, rows: Sequence[int], above: Sequence[int], retried: Collection[int] = ()
) -> list[list[int]]:
    """Return the indices of failed spans by exception, the newest first; each from the innermost span on.

    Args:
        rows: The failed spans of a trace, parents before their children.
        above: Of each, the index of the nearest failed one above it; -1 for none.
        retried: The rows of attempts that another one followed, the last of which ended well: with what failed below
            them, they come last.
    """
    is_retried = are_made_good(rows, above, retried)
    ends = [*map(store.spans.last_ns, rows)]
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
    passed_on, chains = {*inner.values()}, list[list[int]]()
    for index in sorted(newest, key=is_retried.__getitem__):
        if index in passed_on:
            continue
        chain = [index]
        while (origin := inner.get(chain[-1])) is not None:
            chain.append(origin)
        chains.append(chain[::-1])
    return chains


def retried_attempts(store: Store, rows: Iterable[int]) -> set[int]:
    """Return which attempts of calls failed, or have no end, though the last one ended well; all of them are given."""
    spans, retried = store.spans, set[int]()
    runs, calls = call_names(store.names)[1], defaultdict[tuple[int, int], list[int]](list)
    for row in rows:
        if spans.kind[row] == CONSUMER and spans.name[row] in runs and (parent := spans.parent_id[row]):
            calls[spans.trace[row], parent].append(row)
    for attempts in calls.values():
        starts = ((spans.start_ns[row] == NO_TIME, spans.start_ns[row], spans.span_id[row], row) for row in attempts)
        last = max(starts)[-1]
        if spans.status[last] != ERROR and spans.end_ns[last] != NO_TIME:
            failed = {row for row in attempts if spans.status[row] == ERROR or spans.end_ns[row] == NO_TIME}
            if failed and not are_executions(store, min(failed), last):
                retried |= failed
    return retried


def errors_made_good(store: Store) -> Collection[int]:
    """Return the rows of failed and lost spans that a retry made good, with those below them; for a thread."""
    spans, runs = store.spans, [*call_names(store.names)[1]]
    count = len(spans.next_row)
    has_failed = copy_of(spans.status)[:count] == ERROR
    has_failed |= copy_of(spans.end_ns)[:count] == NO_TIME
    attempts = np.flatnonzero(copy_of(spans.kind)[:count] == CONSUMER)
    attempts = attempts[np.isin(copy_of(spans.name)[attempts], runs)]
    callers = copy_of(spans.parent_id)[attempts]
    of_failed = callers[has_failed[attempts]]
    retried = retried_attempts(store, attempts[np.isin(callers, of_failed)].tolist()) if len(of_failed) else ()
    if not retried:
        return ()
    from spanview.index.forest import forest_of

    forest = forest_of(store, sorted({spans.trace[row] for row in retried}))
    is_below = forest.sums_above(np.isin(forest.rows, [*retried])) > 0
    return frozenset(forest.rows[is_below & has_failed[forest.rows]].tolist())


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
        spans = self._store.spans
        return spans.last_ns(inner) <= spans.last_ns(outer) + ROUNDED_NS

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
