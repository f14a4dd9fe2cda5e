"""The lanes of all spans at once, for large stores; the same as one trace after the other.

parents          the row of each span's parent; of odd traces, as their trees have it
outermost        up and up again, twice as far at each step, as long as the lane is the same
lanes            rows sorted by lane and start, cut where the lane changes
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from spanview.analysis.intervals import Covered
from spanview.analysis.lanes import Blocks, Lane, Lanes, in_order
from spanview.index.bulk import ROOT, copy_of, odd_traces, parent_rows_by_order
from spanview.index.table import NO_ROW
from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanview.analysis.telling import Tell
    from spanview.index.bulk import Flags, Places
    from spanview.index.store import Store

_TOLD_EVERY: Final = 64
_MOST_NS: Final = 2**62


def is_for(store: Store) -> bool:
    """Tell whether all lengths of time in a store fit into 64 bits."""
    times = [copy_of(each) for each in (store.spans.start_ns, store.spans.end_ns)]
    known = [each[each != NO_TIME] for each in times]
    least, greatest = ([int(edge(each)) for each in known if len(each)] or [0] for edge in (np.min, np.max))
    return max(greatest) - min(least) < _MOST_NS


class _Columns(NamedTuple):
    """What there was of the columns when all of this began."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    names: NDArray[np.uint32]
    failed: Flags
    parents: Places
    outermost: Places
    """The topmost row from which each is reached without leaving its lane."""
    fails: Flags
    """Whether something within a block failed."""


def lanes(store: Store, traces: Sequence[int] | None, tell: Tell) -> Lanes:
    """Return what each process did, as `spanview.analysis.lanes.lanes` does.

    Args:
        store: Where the spans are; it may grow.
        traces: Numbers of the traces that count; None for all.
        tell: Told how far it is.
    """
    spans = store.spans
    parents = _parents(store)
    tell(0.3)
    count = len(parents)
    sources, services, of_trace = (copy_of(each)[:count] for each in (spans.source, spans.service, spans.trace))
    wide = len(store.services.texts) + 1
    numbers, lane = np.unique(sources.astype(np.int64) * wide + services, return_inverse=True)
    outermost = _outermost(parents, lane)
    tell(0.5)
    starts, ends = (copy_of(each)[:count] for each in (spans.start_ns, spans.end_ns))
    named, status = (copy_of(each)[:count] for each in (spans.name, spans.status))
    failed, fails = status == ERROR, np.zeros(count, np.bool_)
    fails[outermost[failed]] = True
    columns = _Columns(starts, ends, named, failed, parents, outermost, fails)
    rows = np.arange(count)
    if traces is not None:
        chosen = np.zeros(int(of_trace.max(initial=0)) + 1, np.bool_)
        known = np.asarray(traces, np.int64)
        chosen[known[known < len(chosen)]] = True
        rows = np.flatnonzero(chosen[of_trace])
    rows = rows[np.lexsort((starts[rows], lane[rows]))]
    tell(0.7)
    cuts = np.flatnonzero(np.diff(lane[rows])) + 1
    parts = np.split(rows, cuts) if len(rows) else []
    keys = [divmod(int(numbers[lane[part[0]]]), wide) for part in parts]
    found = []
    for number, at in enumerate(in_order(store, keys)):
        if not number % _TOLD_EVERY:
            tell(0.7 + 0.25 * number / len(keys))
        found.append(_lane(keys[at], parts[at], columns))
    blocks = rows[(outermost[rows] == rows) & (starts[rows] != NO_TIME)]
    names, counts = np.unique(named[blocks], return_counts=True)
    begins, stops = starts[blocks], np.maximum(starts[blocks], ends[blocks])
    return Lanes(
        found,
        dict(zip(names.tolist(), counts.tolist(), strict=True)),
        _packed("q", np.sort(begins)),
        _packed("q", np.sort(stops)),
        _packed("q", np.sort(stops[fails[blocks]])),
    )


def _packed(typecode: str, values: NDArray[Any]) -> array[int]:
    column = array(typecode)
    column.frombytes(values.astype(typecode).tobytes())
    return column


def _parents(store: Store) -> Places:
    """Return the row of each span's parent, below 0 for none; circles are cut as in the trees."""
    spans = store.spans
    parents = parent_rows_by_order(spans, len(spans.next_row))
    count = len(parents)
    traces = copy_of(spans.trace)[:count]
    every = max(len(store.trace_table), int(traces.max(initial=0)) + 1)
    for trace in np.flatnonzero(odd_traces(spans, parents, every, store.intake.unplaced)).tolist():
        tree = store.tree(trace)
        # The last two are those of placeholders and of nothing.
        of_node = np.array([*tree.rows, *[ROOT] * (len(tree.missing) + 1)])
        above = of_node[tree.parents[: len(tree.rows)]]
        rows, known = of_node[: len(tree.rows)], (of_node[: len(tree.rows)] < count) & (above < count)
        parents[rows[known]] = above[known]
    return parents


def _outermost(parents: Places, lane: Places) -> Places:
    rows = np.arange(len(parents))
    inside = parents >= 0
    inside[inside] = lane[parents[inside]] == lane[inside]
    outermost = np.where(inside, parents, rows)
    while True:
        further = outermost[outermost]
        if np.array_equal(further, outermost):
            return further
        outermost = further


def _lane(key: tuple[int, int], rows: Places, columns: _Columns) -> Lane:
    starts, ends = columns.starts[rows], columns.ends[rows]
    timed = (starts != NO_TIME) & (ends != NO_TIME)
    busy = _covered(starts[timed], np.maximum(starts, ends)[timed])
    blocks = _blocks(rows[(columns.outermost[rows] == rows) & (starts != NO_TIME)], columns)
    return Lane(
        source=key[0],
        service=key[1],
        first_row=int(rows.min()),
        spans=len(rows),
        errors=int(columns.failed[rows].sum()),
        blocks=blocks,
        busy=busy,
        gap=_longest_gap(busy),
        most=_most_at_once(np.asarray(blocks.starts), np.asarray(blocks.ends)),
    )


def _covered(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Covered:
    reached = np.maximum.accumulate(ends)
    gaps = starts[1:] > reached[:-1]
    begins, stops = np.append(starts[:1], starts[1:][gaps]), np.append(reached[:-1][gaps], reached[-1:])
    sums = np.append(0, np.cumsum(stops - begins))
    return Covered(_packed("q", begins), _packed("q", stops), _packed("q", sums))


def _blocks(rows: Places, columns: _Columns) -> Blocks:
    starts = columns.starts[rows]
    ends = np.maximum(starts, columns.ends[rows])
    places = np.arange(len(rows))
    reach = np.maximum.accumulate(np.where(ends >= np.maximum.accumulate(ends), places, 0))
    parents = columns.parents[rows]
    failed = np.flatnonzero(columns.fails[rows])
    return Blocks(
        rows=_packed("I", rows),
        names=_packed("I", columns.names[rows]),
        parents=_packed("I", np.where(parents < 0, NO_ROW, parents)),
        starts=_packed("q", starts),
        ends=_packed("q", ends),
        reach=_packed("I", reach),
        failed=_packed("I", failed),
        failures=_packed("q", np.sort(ends[failed])),
    )


def _longest_gap(busy: Covered) -> tuple[int, int] | None:
    begins, stops = np.asarray(busy.starts), np.asarray(busy.ends)
    if len(begins) < 2:  # noqa: PLR2004 - between two of them
        return None
    at = int(np.argmax(begins[1:] - stops[:-1]))
    return int(stops[at]), int(begins[at + 1])


def _most_at_once(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> int:
    if not len(starts):
        return 0
    is_long = ends > starts
    begins, stops, points = starts[is_long], np.sort(ends[is_long]), starts[~is_long]
    running = np.searchsorted(begins, starts, "right") - np.searchsorted(stops, starts, "right")
    here = np.searchsorted(points, starts, "right") - np.searchsorted(points, starts, "left")
    return int((running + here).max())
