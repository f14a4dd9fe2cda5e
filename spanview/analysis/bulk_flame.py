"""The call paths of all spans at once, for large stores; the same as one trace at a time.

roots            their names and services make the first paths
their children   the paths of their parents, with their own names and services, make the next, and so on downwards
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np

from spanview.analysis.flame import NOWHERE, place
from spanview.index.bulk import MISSING, ROOT, copy_of, odd_traces, parent_rows
from spanview.index.table import NO_ROW
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanview.analysis.flame import Places
    from spanview.index.store import Store

_MOST_LEVELS: Final = 64
"""Of so many levels each is one step; traces that are deeper are looked at one by one."""
_LAST: Final = 2**63 - 1
Numbers: TypeAlias = "NDArray[np.int64]"


def paths_of_rows(store: Store, traces: Sequence[int] | None, places: Places) -> tuple[Sequence[int], Sequence[int]]:
    """Return the path of each row, 0 for those of other traces, and the first row of each path.

    Args:
        store: Where the spans are.
        traces: Numbers of the traces that count; None for all.
        places: Takes the paths, and how many parents are missing.
    """
    spans, intake = store.spans, store.intake
    parents = parent_rows(spans, intake.span_slots)
    odd = odd_traces(spans, parents, len(store.trace_table), intake.unplaced)
    is_chosen = np.full(len(odd), traces is None)
    if traces is not None:
        is_chosen[[*traces]] = True
    of_rows = np.asarray(spans.trace)
    rows = np.flatnonzero((is_chosen & ~odd)[of_rows])
    orphans = rows[parents[rows] == MISSING]
    column = np.full(len(spans), ROOT, np.int64)
    deep = _descend(store, rows, parents, places, column)
    trees = [store.tree(trace) for trace in np.flatnonzero(is_chosen & odd).tolist()]
    places.missing += sum(len(tree.missing) for tree in trees)
    pairs = zip(of_rows[orphans].tolist(), np.asarray(spans.parent_id)[orphans].tolist(), strict=True)
    places.missing += len({*pairs})
    for tree in [*trees, *map(store.tree, np.unique(of_rows[deep]).tolist())]:
        placed = dict.fromkeys(tree.rows, ROOT)
        place(store, tree, places, placed)
        column[[*placed]] = [*placed.values()]
    chosen = np.flatnonzero(is_chosen[of_rows])
    return cast("Sequence[int]", np.maximum(column, 0)), _firsts(store, chosen, column, len(places))


def renumbered(
    store: Store, column: Sequence[int], order: Sequence[int], traces: Sequence[int] | None
) -> Sequence[int]:
    """Return the number of the path of each row, `NOWHERE` for those of other traces.

    Args:
        store: Where the spans are.
        column: The place of each row.
        order: The number of the path of each place.
        traces: Numbers of the traces that count; None for all.
    """
    numbers = np.array(order, np.uint32)[np.asarray(column)] if len(order) else np.full(len(column), NOWHERE, np.uint32)
    if traces is not None:
        is_chosen = np.zeros(len(store.trace_table), np.bool_)
        is_chosen[[*traces]] = True
        numbers[~is_chosen[copy_of(store.spans.trace)[: len(column)]]] = NOWHERE
    return array("I", numbers.tobytes())


def _descend(store: Store, rows: Numbers, parents: Numbers, places: Places, column: Numbers) -> Numbers:
    """Write the paths of some rows into a column of all rows, a level at a time, and return the rows that are left."""
    spans = store.spans
    services = max(1, len(store.services.texts))
    pairs, keys = np.unique(
        np.asarray(spans.name).astype(np.int64) * services + np.asarray(spans.service), return_inverse=True
    )
    names: list[int] = pairs.tolist()
    above = parents[rows]
    ready = above < 0
    reached = np.full(int(ready.sum()), ROOT, np.int64)
    if MISSING in above:
        reached[above[ready] == MISSING] = places.orphans()
    for _ in range(_MOST_LEVELS):
        some, rows = rows[ready], rows[~ready]
        steps, which = np.unique((reached + 1) * len(names) + keys[some], return_inverse=True)
        new = [divmod(step, len(names)) for step in steps.tolist()]
        numbers = [places.number(parent - 1, *divmod(names[key], services)) for parent, key in new]
        column[some] = np.array(numbers, np.int64)[which]
        if not len(rows):
            break
        reached = column[parents[rows]]
        ready = reached != ROOT
        reached = reached[ready]
    return rows


def _firsts(store: Store, rows: Numbers, column: Numbers, count: int) -> list[int]:
    """Return the row of each path that starts first, of those that start together the first."""
    starts = np.asarray(store.spans.start_ns)[rows]
    # Of what is written to one place, the last stays there.
    order = rows[np.argsort(np.where(starts == NO_TIME, _LAST, starts), kind="stable")][::-1]
    firsts = np.full(count, NO_ROW, np.int64)
    firsts[column[order]] = order
    numbers: list[int] = firsts.tolist()
    return numbers
