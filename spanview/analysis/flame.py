"""The call paths of some traces: spans with the same names above them are one path, in however many traces.

spans                      paths               count
-----                      -----               -----
a  a                       a                       2
   b                         b                     1
     b                         b                   1      recursion goes on downwards
   c  c                      c                     3
c                          c                       1
   ? (no file holds it)    ? parent not seen       1
     c                       c                     1

What makes a path is the path above, the span's name and its service: `GET` of the cart is not `GET` of the catalogue.
The kind makes none; Ray's attempts stay under the call that they were submitted by, however late they ran.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanview.analysis.intervals import compact
from spanview.analysis.percentiles import nearest_rank
from spanview.analysis.telling import part, unheard
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from spanview.analysis.telling import Tell
    from spanview.index.forest import Forest
    from spanview.index.store import Store

NO_NAME = -1
"""The number that stands for the name of a parent that no file holds."""
NOWHERE: Final = 2**32 - 1
"""The number of no path: of what is in other traces, or has come since."""
_MOST_LEVELS: Final = 64
"""Of so many levels each is one step: a step costs as much as some fifty spans, and deeper ones are few."""


@dataclass(frozen=True, slots=True)
class CallPath:
    """All spans with one call path."""

    parent: int
    """Number of the path above, or `ROOT`."""
    depth: int
    """0 for a root."""
    name: str | None
    """None for the parents that no file holds: all of a place in one path, for nobody knows their names."""
    service: str
    count: int
    """Spans without an end included, which are left out of all durations; of missing parents how many there are."""
    errors: int
    """Spans with status ERROR."""
    total_ns: int
    """Sum of the durations."""
    self_ns: int
    """Sum of the self times."""
    durations: Sequence[int]
    """Nanoseconds, sorted."""
    first_row: int
    """The span that started first, and of several the one that was read first; `NO_ROW` for missing parents."""

    @property
    def p50_ns(self) -> int | None:
        """The median of the durations; None where no span has one."""
        return nearest_rank(self.durations, 50)

    @property
    def p95_ns(self) -> int | None:
        """The 95th percentile of the durations; None where no span has one."""
        return nearest_rank(self.durations, 95)


@dataclass(frozen=True, slots=True)
class Flame:
    """Some traces, merged by call path."""

    paths: Sequence[CallPath]
    """By their numbers: each followed by what is below it, siblings by total, the greatest first, then by name."""
    traces: int
    """How many; the spans without a usable trace id are no trace."""
    durations: Sequence[int]
    """Nanoseconds from start to end of each trace that has both, sorted."""


@dataclass(frozen=True, slots=True)
class Located:
    """Some traces, merged by call path, and where each of their spans went."""

    flame: Flame
    column: Sequence[int]
    """The number of the path of each row that there was, or `NOWHERE`."""


def flame(store: Store, traces: Iterable[int] | None = None, tell: Tell = unheard) -> Flame:
    """Merge traces by call path.

    Args:
        traces: Numbers of the traces that count; None for all.
    """
    return _merged(store, None if traces is None else [*traces], tell)[0]


def located(store: Store, traces: Iterable[int] | None = None, tell: Tell = unheard) -> Located:
    """Merge traces by call path, and say where each span went.

    Args:
        traces: Numbers of the traces that count; None for all.
    """
    import numpy as np

    merged, forest, numbers = _merged(store, None if traces is None else [*traces], tell)
    column = np.full(forest.size, NOWHERE, np.uint32)
    column[forest.rows] = numbers
    return Located(merged, array("I", column.tobytes()))


def _merged(store: Store, numbers: Sequence[int] | None, tell: Tell) -> tuple[Flame, Forest, NDArray[np.int64]]:
    """Return the paths, the spans that they are of, and the number of the path of each."""
    import numpy as np

    from spanview.analysis.stats import grouped
    from spanview.index.forest import forest_of

    forest = forest_of(store, numbers)
    keys, places = _places(forest)
    tell(0.5)
    missing = len(forest.missing())
    figures: list[tuple[int, int, Sequence[int], int]] = [(missing, 0, (), 0)] * len(keys)
    for place, count, errors, durations, self_ns in grouped(forest, places, part(tell, 0.5, 1.0)):
        figures[place] = count, errors, compact(durations), self_ns
    table = store.trace_table
    counted = [trace for trace in (range(len(table)) if numbers is None else numbers) if table.trace_id(trace)]
    lengths = sorted(
        table.end_ns[trace] - table.start_ns[trace]
        for trace in counted
        if NO_TIME not in (table.start_ns[trace], table.end_ns[trace])
    )
    paths, order = _in_order(store, keys, figures, _firsts(forest, places, len(keys)))
    return Flame(paths, len(counted), lengths), forest, np.array(order, np.int64)[places]


def _in_order(
    store: Store,
    keys: Sequence[tuple[int, int, int]],
    figures: Sequence[tuple[int, int, Sequence[int], int]],
    firsts: Sequence[int],
) -> tuple[list[CallPath], list[int]]:
    """Return the paths by their numbers, and the number of the path of each place."""
    names, services = store.names.texts, store.services.texts
    totals = [sum(durations) for _, _, durations, _ in figures]
    below: defaultdict[int, list[int]] = defaultdict(list)
    for path, (parent, _, _) in enumerate(keys):
        below[parent].append(path)

    def rank(path: int) -> tuple[int, bool, str, str]:
        _, name, service = keys[path]
        is_missing = name == NO_NAME
        return -totals[path], is_missing, "" if is_missing else names[name], "" if is_missing else services[service]

    paths: list[CallPath] = []
    order = [0] * len(keys)
    # The last comes first from the stack.
    pending = [(path, ROOT, 0) for path in sorted(below[ROOT], key=rank, reverse=True)]
    while pending:
        path, parent, depth = pending.pop()
        _, name, service = keys[path]
        count, errors, durations, self_ns = figures[path]
        order[path] = len(paths)
        pending += [(child, len(paths), depth + 1) for child in sorted(below.pop(path, ()), key=rank, reverse=True)]
        paths.append(
            CallPath(
                parent=parent,
                depth=depth,
                name=None if name == NO_NAME else names[name],
                service="" if name == NO_NAME else services[service],
                count=count,
                errors=errors,
                total_ns=totals[path],
                self_ns=self_ns,
                durations=durations,
                first_row=firsts[path],
            )
        )
    return paths, order


def _places(forest: Forest) -> tuple[list[tuple[int, int, int]], NDArray[np.int64]]:
    """Return call paths as they are found, parents before their children, and the place of each span's among them.

    Roots make the first paths; the paths of parents, with the names and services of their children, make the next, and
    so on downwards. Of the first levels each is one step; below them, where spans are few, each span is one.

    Returns:
        The place of the path above, the name and the service of each path; the places of spans by position.
    """
    import numpy as np

    from spanview.index.forest import MISSING

    numbers: dict[tuple[int, int, int], int] = {}
    name, service = forest.of("name").astype(np.int64), forest.of("service").astype(np.int64)
    services = int(service.max(initial=0)) + 1
    kinds, of_kind = np.unique(name * services + service, return_inverse=True)
    named = [divmod(kind, services) for kind in kinds.tolist()]
    places = np.full(len(forest), ROOT, np.int64)
    waiting = np.arange(len(forest))
    is_ready = forest.parents < 0
    above = np.full(int(is_ready.sum()), ROOT, np.int64)
    if (is_orphan := forest.parents[is_ready] == MISSING).any():
        above[is_orphan] = numbers.setdefault((ROOT, NO_NAME, 0), 0)
    for _ in range(_MOST_LEVELS):
        some, waiting = waiting[is_ready], waiting[~is_ready]
        steps, which = np.unique((above + 1) * len(named) + of_kind[some], return_inverse=True)
        new = [divmod(step, len(named)) for step in steps.tolist()]
        found = [numbers.setdefault((parent - 1, *named[kind]), len(numbers)) for parent, kind in new]
        places[some] = np.array(found, np.int64)[which]
        if not len(waiting):
            break
        above = places[forest.parents[waiting]]
        is_ready = above != ROOT
        above = above[is_ready]
    if len(waiting):
        below = waiting[np.argsort(forest.depths()[waiting], kind="stable")]
        for position, parent, kind in zip(
            below.tolist(), forest.parents[below].tolist(), of_kind[below].tolist(), strict=True
        ):
            places[position] = numbers.setdefault((int(places[parent]), *named[kind]), len(numbers))
    return [*numbers], places


def _firsts(forest: Forest, places: NDArray[np.int64], count: int) -> list[int]:
    """Return the row of each path that starts first, of those that start together the first."""
    import numpy as np

    starts = forest.of("start_ns")
    # What never started comes last. Of what is written to one place, the last stays there.
    order = np.argsort(np.where(starts == NO_TIME, np.iinfo(np.int64).max, starts), kind="stable")[::-1]
    firsts = np.full(count, NO_ROW, np.int64)
    firsts[places[order]] = forest.rows[order]
    rows: list[int] = firsts.tolist()
    return rows
