"""Ray calls of all spans at once, for large stores; the same as one trace at a time."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from spanview.analysis.calls import calls_of_trace
from spanview.analysis.telling import unheard
from spanview.index.bulk import copy_of, odd_traces, parent_rows_of
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.calls import Numbers
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
    strange = dict[int, list[int]]()
    for trace in np.flatnonzero(odd & counts).tolist():
        strange |= calls_of_trace(store, store.tree(trace), numbers)
    if strange:
        producers, running, of = _with(strange, producers, running, of)
    firsts = np.searchsorted(of, np.append(producers, 2**32))
    return _array(producers), _array(running), _array(firsts)


def _with(strange: dict[int, list[int]], producers: Places, running: Places, of: Places) -> tuple[Places, ...]:
    """Return the same with the calls of traces that were looked at one by one."""
    more = [(row, attempt) for row, attempts in strange.items() for attempt in attempts]
    of = np.append(of, np.array([row for row, _ in more], np.int64))
    running = np.append(running, np.array([attempt for _, attempt in more], np.int64))
    order = np.argsort(of, kind="stable")
    return np.sort(np.append(producers, np.array([*strange], np.int64))), running[order], of[order]


def _array(numbers: Places) -> array[int]:
    return array("I", numbers.astype(np.uint32).tobytes())
