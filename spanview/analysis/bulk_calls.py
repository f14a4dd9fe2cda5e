"""Ray calls of all spans at once, for large stores; the same as one trace at a time."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from spanview.analysis.calls import SUBMITTED, Function, calls_of_trace
from spanview.analysis.exits import exits_among
from spanview.analysis.serve_calls import numbers_of_serve, served_by
from spanview.analysis.telling import unheard
from spanview.index.bulk import copy_of, odd_traces, parent_rows_of
from spanview.model.codes import CONSUMER, ERROR, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.calls import Calls, Numbers
    from spanview.analysis.telling import Tell
    from spanview.index.bulk import Places
    from spanview.index.store import Store


def calls_of(
    store: Store, numbers: Numbers, traces: Sequence[int] | None, tell: Tell = unheard
) -> tuple[array[int], array[int], array[int]]:
    """Return the rows of the PRODUCERs, those of their attempts, and where those of each begin among them.

    Args:
        store: Where the spans are.
        numbers: Those of calls' names.
        traces: Numbers of the traces that count; None for all.
        tell: Told how far it is.
    """
    spans, (submits, runs) = store.spans, numbers
    parents = parent_rows_of(store)
    tell(0.5)
    size = len(parents)
    columns = (spans.kind, spans.name, spans.trace, spans.start_ns, spans.span_id)
    kinds, names, of_rows, starts, ids = (copy_of(column)[:size] for column in columns)
    every = max(len(store.trace_table), int(of_rows.max(initial=0)) + 1)
    odd = odd_traces(spans, parents, every, store.intake.unplaced)
    counts = np.ones(every, np.bool_)
    if traces is not None:
        counts[:] = False
        counts[[*traces]] = True
    submitting = (kinds == PRODUCER) & np.isin(names, [*submits]) & counts[of_rows]
    running = np.flatnonzero((kinds == CONSUMER) & np.isin(names, [*runs]) & (parents >= 0) & ~odd[of_rows])
    running = running[submitting[parents[running]]]
    # What never started comes last.
    never = starts[running] == NO_TIME
    running = running[np.lexsort((ids[running], starts[running], never, parents[running]))]
    producers = np.flatnonzero(submitting & ~odd[of_rows])
    of = parents[running]
    served = {call: [replica] for call, replica in served_of(store, np.setdiff1d(producers, of), parents).items()}
    if served:
        producers, running, of = _with(served, producers, running, of)
    strange = dict[int, list[int]]()
    for trace in np.flatnonzero(odd & counts).tolist():
        strange |= calls_of_trace(store, store.tree(trace), numbers)
    if strange:
        producers, running, of = _with(strange, producers, running, of)
    firsts = np.searchsorted(of, np.append(producers, 2**32))
    return _array(producers), _array(running), _array(firsts)


def served_of(store: Store, alone: Places, parents: Places) -> dict[int, int]:
    """Return the row of the replica's span that ran each of some calls, as `served_in` does for one trace.

    Args:
        store: Where the spans are.
        alone: The rows of calls without a CONSUMER.
        parents: The row of each span's parent, negative where it has none.
    """
    calls, replicas = numbers_of_serve(store)
    if not calls:
        return {}
    names = copy_of(store.spans.name)[: len(parents)]
    alone = alone[np.isin(names[alone], [*calls]) & (parents[alone] >= 0)]
    ran = np.flatnonzero(np.isin(names, [*replicas]) & (parents >= 0))
    ran = ran[np.isin(parents[ran], parents[alone])]
    pairs = [zip(parents[rows].tolist(), rows.tolist(), strict=True) for rows in (alone, ran)]
    return served_by(store, *pairs)


def _with(found: dict[int, list[int]], producers: Places, running: Places, of: Places) -> tuple[Places, ...]:
    """Return the same with calls that were looked at one by one, and their attempts."""
    more = [(row, attempt) for row, attempts in found.items() for attempt in attempts]
    of = np.append(of, np.array([row for row, _ in more], np.int64))
    running = np.append(running, np.array([attempt for _, attempt in more], np.int64))
    order = np.argsort(of, kind="stable")
    return np.union1d(producers, np.array([*found], np.int64)), running[order], of[order]


def _array(numbers: Places) -> array[int]:
    return array("I", numbers.astype(np.uint32).tobytes())


def functions_of(store: Store, calls: Calls) -> list[Function]:
    """Return what is to be said of each function, in any order.

    Args:
        store: Where the spans are.
        calls: The calls that count.
    """
    spans = store.spans
    producers, attempts, firsts = (np.frombuffer(column, np.uint32).astype(np.int64) for column in calls.columns)
    names, functions = np.unique(copy_of(spans.name)[producers], return_inverse=True)
    size, counts = len(names), np.diff(firsts)
    of_attempts = np.repeat(functions, counts)
    statuses, starts, ends = (copy_of(column) for column in (spans.status, spans.start_ns, spans.end_ns))
    has_failed, has_any = statuses[attempts] == ERROR, counts > 0
    has_failed &= ~np.isin(attempts, [*exits_among(store, attempts[has_failed].tolist())])
    is_refused = ~has_any & (statuses[producers] == ERROR)
    is_ok = has_any.copy()
    is_ok[has_any] = ~has_failed[firsts[1:][has_any] - 1]

    def number(chosen: Places) -> list[int]:
        found: list[int] = np.bincount(chosen, minlength=size).tolist()
        return found

    begun, ended = starts[attempts], ends[attempts]
    first_starts = np.where(begun == NO_TIME, np.iinfo(np.int64).max, begun)
    first_starts = np.minimum.reduceat(first_starts, firsts[:-1][has_any]) if len(attempts) else first_starts
    submitted = ends[producers][has_any]
    has_waited = (first_starts != np.iinfo(np.int64).max) & (submitted != NO_TIME)
    waits = np.maximum(0, first_starts - submitted)[has_waited]
    has_times = (begun != NO_TIME) & (ended != NO_TIME)
    runs, of_runs = (ended - begun)[has_times], of_attempts[has_times]
    columns = (
        number(functions),
        number(of_attempts),
        number(of_attempts[has_failed]),
        number(functions[is_refused]),
        number(functions[counts > 1]),
        number(functions[~has_any & ~is_refused]),
        number(functions[is_ok]),
        _sorted(waits, functions[has_any][has_waited], size),
        _sorted(runs, of_runs, size),
        _most_at_once(begun[has_times], ended[has_times], of_runs, size),
    )
    texts = [store.names.texts[name].removesuffix(SUBMITTED) for name in names.tolist()]
    return [Function(*values) for values in zip(texts, *columns, strict=True)]


def _sorted(values: Places, of: Places, size: int) -> list[array[int]]:
    """Return the values of each function, sorted."""
    order = np.lexsort((values, of))
    edges = np.searchsorted(of[order], np.arange(1, size))
    return [array("q", part.tobytes()) for part in np.split(values[order], edges)[:size]]


def _most_at_once(starts: Places, ends: Places, of: Places, size: int) -> list[int]:
    """Return what `calls.most_at_once` does, for the intervals of each function."""
    times = np.concatenate((starts, np.maximum(ends, starts + 1)))
    changes, functions = np.repeat((1, -1), len(starts)), np.concatenate((of, of))
    order = np.lexsort((times, functions))
    times, functions, now = times[order], functions[order], np.cumsum(changes[order])
    # Of what changes at one time, the last counts. What begins for a function, ends for it.
    is_last = np.append((np.diff(times) != 0) | (np.diff(functions) != 0), np.ones(min(1, len(times)), np.bool_))
    most = np.zeros(size, np.int64)
    np.maximum.at(most, functions[is_last], now[is_last])
    found: list[int] = most.tolist()
    return found
