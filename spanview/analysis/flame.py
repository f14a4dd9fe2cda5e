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
from spanview.analysis.selftime import stitched
from spanview.analysis.stats import grouped, nearest_rank, pays_at_once
from spanview.analysis.telling import part, unheard
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableSequence, Sequence

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

NO_NAME = -1
"""The number that stands for the name of a parent that no file holds."""
NOWHERE: Final = 2**32 - 1
"""The number of no path: of what is in other traces, or has come since."""


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


class Places:
    """Call paths while they are found: numbers, parents before their children."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int, int], int] = {}
        self.missing = 0
        """How many parents no file holds."""

    def number(self, parent: int, name: int, service: int) -> int:
        """Return the number of the path that goes on from another one, or from `ROOT`, with a name and a service."""
        return self._numbers.setdefault((parent, name, service), len(self._numbers))

    def orphans(self) -> int:
        """Return the number of the path of parents that no file holds."""
        return self.number(ROOT, NO_NAME, 0)

    def keys(self) -> list[tuple[int, int, int]]:
        """Return the parent, the name and the service of each path, by number."""
        return [*self._numbers]

    def __len__(self) -> int:
        return len(self._numbers)


def flame(store: Store, traces: Iterable[int] | None = None, tell: Tell = unheard) -> Flame:
    """Merge traces by call path.

    Args:
        store: Where the spans are.
        traces: Numbers of the traces that count; None for all.
        tell: Told how far it is.
    """
    return _merged(store, None if traces is None else [*traces], tell)[0]


def located(store: Store, traces: Iterable[int] | None = None, tell: Tell = unheard) -> Located:
    """Merge traces by call path, and say where each span went.

    Args:
        store: Where the spans are.
        traces: Numbers of the traces that count; None for all.
        tell: Told how far it is.
    """
    numbers = None if traces is None else [*traces]
    merged, column, order = _merged(store, numbers, tell)
    if not isinstance(column, dict):
        from spanview.analysis import bulk_flame

        return Located(merged, bulk_flame.renumbered(store, column, order, numbers))
    known = array("I", [NOWHERE]) * (max(column, default=-1) + 1)
    for row, path in column.items():
        known[row] = order[path]
    return Located(merged, known)


def _merged(
    store: Store, numbers: Sequence[int] | None, tell: Tell
) -> tuple[Flame, Sequence[int] | dict[int, int], Sequence[int]]:
    """Return the paths, the place of each row, and the number of the path of each place."""
    places = Places()
    column: Sequence[int] | dict[int, int]
    at_once = pays_at_once(store)
    if at_once:
        from spanview.analysis import bulk_flame

        column, firsts = bulk_flame.paths_of_rows(store, numbers, places)
    else:
        column, firsts = _paths_of_rows(store, numbers, places, part(tell, 0.0, 0.5))
    keys = places.keys()
    tell(0.5)
    figures: list[tuple[int, int, Sequence[int], int]] = [(places.missing, 0, (), 0)] * len(keys)
    for path, count, errors, durations, self_ns in grouped(
        store, column, numbers, at_once=at_once, tell=part(tell, 0.5, 1.0)
    ):
        if path != ROOT:
            figures[path] = count, errors, compact(durations), self_ns
    table = store.trace_table
    counted = [trace for trace in (range(len(table)) if numbers is None else numbers) if table.trace_id(trace)]
    lengths = sorted(
        table.end_ns[trace] - table.start_ns[trace]
        for trace in counted
        if NO_TIME not in (table.start_ns[trace], table.end_ns[trace])
    )
    paths, order = _in_order(store, keys, figures, firsts)
    return Flame(paths, len(counted), lengths), column, order


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


class _PathOf(dict[int, int]):
    """Paths by row; `ROOT` for what has come since."""

    def __missing__(self, row: int) -> int:
        return ROOT


def _paths_of_rows(
    store: Store, traces: Sequence[int] | None, places: Places, tell: Tell
) -> tuple[dict[int, int], Sequence[int]]:
    """Return the path of each row of the traces, and the first row of each path."""
    spans = store.spans
    column = _PathOf()
    missing: set[tuple[int, int]] = set()
    every: list[int] = []
    for tree in stitched(store, range(len(store.trace_table)) if traces is None else traces, tell):
        place(store, tree, places, column)
        every += tree.rows
        if tree.missing:
            orphans = [row for row, parent in zip(tree.rows, tree.parents, strict=False) if tree.is_missing(parent)]
            missing.update((spans.trace[row], spans.parent_id[row]) for row in orphans)
    places.missing += len(missing)
    firsts = [NO_ROW] * len(places)
    # What never started comes last, so that what comes before it is written over it.
    every.sort(key=lambda row: (spans.start_ns[row] != NO_TIME, -spans.start_ns[row], -row))
    for row in every:
        firsts[column[row]] = row
    return column, firsts


def place(store: Store, tree: TraceTree, places: Places, column: MutableSequence[int] | dict[int, int]) -> None:
    """Write the path of each span of a tree into a column of all rows."""
    spans, rows, parents = store.spans, tree.rows, tree.parents
    known = [ROOT] * len(rows) + ([places.orphans()] * len(tree.missing) if tree.missing else [])
    pending: list[int] = []
    for start in range(len(rows)):
        # Upwards to what has a path already, and down again.
        node = start
        while node != ROOT and known[node] == ROOT:
            pending.append(node)
            node = parents[node]
        path = ROOT if node == ROOT else known[node]
        while pending:
            node = pending.pop()
            row = rows[node]
            path = known[node] = column[row] = places.number(path, spans.name[row], spans.service[row])
