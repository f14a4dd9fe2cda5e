"""Waiting before a span ran: a Ray call between its submission and its start, and a Serve request in its queue.

A call's wait holds the wait for arguments, for a worker, for a worker's start and, between two attempts, for a retry.
What can be told of that is in `waited_for`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.analysis.intervals import time_between
from spanview.analysis.ray.executions import are_executions
from spanview.analysis.ray.names import is_constructor, started_attempts
from spanview.analysis.serve.requests import Part, numbers_of, part_of_name, queue_between
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, ERROR, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.analysis.forest_selftime import Times
    from spanview.analysis.intervals import Levels
    from spanview.analysis.ray.calls import Calls
    from spanview.index.arrays import Flags, Places
    from spanview.index.forest import Forest
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree


def wait_of(store: Store, tree: TraceTree, node: int) -> int | None:
    """Return the nanoseconds that a span waited before it ran, as in `wait_between`; 0 for every other node.

    An attempt that another one preceded has waited since that one ended. None where no file says since when it waited,
    or nobody waited for it: an actor lived until it was restarted, or a compiled graph until it was executed again.
    """
    parent = tree.parents[node]
    if parent == ROOT or tree.is_missing(parent):
        return 0
    row = tree.rows[node]
    wait = wait_between(store, tree.rows[parent], row)
    previous = tree.previous_sibling(node) if wait and store.spans.kind[row] == CONSUMER else None
    return wait if previous is None else _wait_after(store, tree.rows[previous], row, wait)


def waits_in(forest: Forest) -> Times:
    """Return what `wait_of` does for each span of a forest; `NO_TIME` for None."""
    import numpy as np

    from spanview.analysis.forest_selftime import exact

    store, parents, kinds, names = forest.store, forest.parents, forest.of("kind"), forest.of("name")
    children = np.flatnonzero(parents >= 0)
    above = parents[children]
    are_attempts = (kinds[children] == CONSUMER) & (kinds[above] == PRODUCER)
    replicas, routes = ([*numbers_of(store.names, part)] for part in (Part.REPLICA, Part.ROUTE))
    have_waited = are_attempts | (np.isin(names[children], replicas) & np.isin(names[above], routes))
    children, above, are_attempts = children[have_waited], above[have_waited], are_attempts[have_waited]
    starts, ends = forest.of("start_ns"), forest.of("end_ns")
    begins, ends, are_known = exact(np.where(are_attempts, ends[above], starts[above]), starts[children])
    waits = np.zeros(len(forest), begins.dtype)
    waits[children] = np.where(are_known, np.maximum(ends - begins, 0), 0)
    below, _ = forest.children()
    follow = np.flatnonzero(parents[below[1:]] == parents[below[:-1]]) + 1
    follow = follow[(kinds[below[follow]] == CONSUMER) & (waits[below[follow]] > 0)]
    for previous, position in zip(below[follow - 1].tolist(), below[follow].tolist(), strict=True):
        rows = int(forest.rows[previous]), int(forest.rows[position])
        wait = _wait_after(store, *rows, int(waits[position]))
        waits[position] = NO_TIME if wait is None else wait
    return waits


def have_waited(forest: Forest, waits: Times) -> Flags:
    """Return which spans of a forest could wait, however short it was: attempts of calls, and replicas that waited.

    Args:
        waits: As `waits_in` returns them.
    """
    import numpy as np

    parents, kinds = forest.parents, forest.of("kind")
    are_attempts = (parents >= 0) & (kinds == CONSUMER) & (kinds[np.maximum(parents, 0)] == PRODUCER)
    flags: Flags = ((waits > 0) | are_attempts) & (waits != NO_TIME)
    return flags


def wait_in(calls: Calls, parent_row: int, row: int) -> int | None:
    """Return what `wait_of` does, where the calls are known and no tree is.

    Args:
        parent_row: The row of the span's parent; it needn't be a call.
    """
    wait, attempts = wait_between(calls.store, parent_row, row), calls.attempts_of(parent_row)
    index = attempts.index(row) if row in attempts else 0
    return _wait_after(calls.store, attempts[index - 1], row, wait) if wait and index else wait


def _wait_after(store: Store, previous: int, row: int, wait: int) -> int | None:
    """Return how long an attempt waited after the span before it, which has the same parent; None as in `wait_of`.

    Args:
        previous: The row of that span.
        wait: How long it was since the parent had ended.
    """
    spans = store.spans
    if spans.kind[previous] != CONSUMER:
        return wait
    if not _has_waited_since(store, previous, row):
        return None
    return max(0, min(wait, spans.start_ns[row] - spans.end_ns[previous]))


def has_waited(store: Store, tree: TraceTree, node: int) -> bool:
    """Return whether a node waited from the end of the attempt before it, if there is one, as `wait_of` has it."""
    rows, kinds, previous = tree.rows, store.spans.kind, tree.previous_sibling(node)
    if previous is None or not kinds[rows[node]] == kinds[rows[previous]] == CONSUMER:
        return True
    return _has_waited_since(store, rows[previous], rows[node])


def _has_waited_since(store: Store, previous: int, row: int) -> bool:
    return store.spans.end_ns[previous] != NO_TIME and not lived_between(store, previous, row)


def lived_between(store: Store, previous: int, row: int) -> bool:
    """Return whether an actor lived between two attempts of one call, so that nobody waited for the second.

    Its constructor runs again when the actor is restarted; a compiled graph executes its methods again.
    """
    spans = store.spans
    is_made = is_constructor(store.names.texts[spans.name[previous]])
    is_made = is_made and spans.end_ns[previous] != NO_TIME and spans.status[previous] != ERROR
    return is_made or are_executions(store, previous, row)


def wait_between(store: Store, parent_row: int, row: int) -> int:
    """Return the nanoseconds that a span waited before it ran; 0 for any other span.

    A CONSUMER waits from the end of its PRODUCER. A replica of Ray Serve waits from the start of its routing: that time
    is the queue, as `spanview.analysis.serve.requests` defines it.
    """
    spans = store.spans
    if spans.kind[row] == CONSUMER and spans.kind[parent_row] == PRODUCER:
        return max(0, time_between(spans.end_ns[parent_row], spans.start_ns[row]) or 0)
    texts, names = store.names.texts, spans.name
    is_replica = part_of_name(texts[names[row]]) is Part.REPLICA
    is_queued = is_replica and part_of_name(texts[names[parent_row]]) is Part.ROUTE
    return queue_between(spans, parent_row, row) or 0 if is_queued else 0


def wait_word(store: Store, row: int) -> str:
    """Return the word for the wait of a span: `queued` in Ray Serve, else `waited`."""
    return "waited" if store.spans.kind[row] == CONSUMER else "queued"


def cold_starts_of(store: Store, calls: Calls) -> dict[int, int]:
    """Return the calls whose first attempt is the first one of its worker process, and how long each waited.

    Some of these waits include the start of the process; not for a worker that was started ahead.

    Returns:
        Nanoseconds from the PRODUCER's end to the first attempt's start, by the PRODUCER's row.
    """
    import numpy as np

    from spanview.index.arrays import copy_of

    spans, first_starts = store.spans, _first_starts(store)
    has_any = np.flatnonzero(calls.counts)
    first = calls.attempts[calls.firsts[has_any]]
    processes, starts = copy_of(spans.process)[first], copy_of(spans.start_ns)[first]
    chosen = (starts != NO_TIME) & (first_starts[processes] == starts)
    return {
        row: wait_between(store, row, attempt)
        for row, attempt in zip(calls.rows[has_any[chosen]].tolist(), first[chosen].tolist(), strict=True)
    }


def waiting_in(store: Store, calls: Calls, *, without: Iterable[int] = ()) -> Levels:
    """Return how many calls waited when, until their first attempt.

    Calls without an attempt are left out: no file says how long they wait.

    Args:
        without: Numbers of names; calls that have one of them are left out.
    """
    import numpy as np

    from spanview.analysis.intervals import Levels
    from spanview.index.arrays import copy_of

    spans, chosen = store.spans, np.flatnonzero(calls.counts)
    chosen = chosen[~np.isin(copy_of(spans.name)[calls.rows[chosen]], [*without])]
    # The attempts of a call are in order of their starts.
    firsts = calls.attempts[calls.firsts[chosen]]
    begins, ends = copy_of(spans.end_ns)[calls.rows[chosen]], copy_of(spans.start_ns)[firsts]
    waited = (begins != NO_TIME) & (ends != NO_TIME) & (ends > begins)
    return Levels.of(begins[waited], ends[waited])


def _first_starts(store: Store) -> Places:
    """Return when the first attempt of each process starts, by its number; the greatest integer if none."""
    import numpy as np

    from spanview.index.arrays import copy_of

    rows, first = started_attempts(store), np.full(len(store.processes), np.iinfo(np.int64).max)
    np.minimum.at(first, copy_of(store.spans.process)[rows], copy_of(store.spans.start_ns)[rows])
    return first
