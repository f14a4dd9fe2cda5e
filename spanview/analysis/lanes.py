"""What each process did over time: a lane each.

spans of a process             its lane
------------------             --------
a  |=======|                   blocks  a, c, e: the parent is of another process, in no file, or there is none
  b    |==|                    busy    |=======|  |========|
c                 |====|       gap              ||
  d                  |====|    most at once  2: c and e
e                   |===|

A process is a file, or its generation, and a service: of files into which several write, each service has its lane.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.analysis.intervals import Covered, compact, most_at_once
from spanview.analysis.ray_names import RAN, SUBMITTED
from spanview.analysis.selftime import stitched
from spanview.analysis.telling import part, unheard
from spanview.index.table import NO_ROW, PAYS_FROM
from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

Key: TypeAlias = tuple[int, int]
"""The numbers of a source and of a service."""
_TOLD_EVERY: Final = 64


@dataclass(frozen=True, slots=True)
class Blocks:
    """The outermost spans of a lane: those whose parent is not in it. Those without a start are left out."""

    rows: Sequence[int]
    """In the span table, by start, then row."""
    names: Sequence[int]
    """The numbers of their names."""
    parents: Sequence[int]
    """The row of each one's parent, `NO_ROW` where it has none or no file holds it."""
    starts: Sequence[int]
    ends: Sequence[int]
    """A block that ends before it starts, or has no end, ends at its start."""
    reach: Sequence[int]
    """For each place the last one up to it whose end is the greatest so far."""
    failed: Sequence[int]
    """Places of those that have the status ERROR, or something with it inside of them."""
    failures: Sequence[int]
    """When they ended, sorted."""

    def has_failed(self, place: int) -> bool:
        """Tell whether a block, or something inside of it, has the status ERROR."""
        at = bisect_left(self.failed, place)
        return at < len(self.failed) and self.failed[at] == place

    def at(self, ns: int) -> int | None:
        """Return the place of the block that runs at a time, the one that started last; None where none does."""
        place = bisect_right(self.starts, ns) - 1
        if place < 0:
            return None
        return next((each for each in (place, self.reach[place]) if self.ends[each] >= ns), None)

    def place_of(self, row: int, start_ns: int) -> int | None:
        """Return the place of a span; None where it is no block of its own."""
        first, behind = bisect_left(self.starts, start_ns), bisect_right(self.starts, start_ns)
        return next((place for place in range(first, behind) if self.rows[place] == row), None)

    def nearest(self, ns: int) -> int | None:
        """Return the place of the block that runs at a time, else of the nearest one; None where there is none."""
        if (running := self.at(ns)) is not None or not self.rows:
            return running
        behind = bisect_right(self.starts, ns)
        if not behind:
            return 0
        before = self.reach[behind - 1]
        is_later = behind < len(self.rows) and self.starts[behind] - ns < ns - self.ends[before]
        return behind if is_later else before


@dataclass(frozen=True, slots=True)
class Lane:
    """What one process did."""

    source: int
    service: int
    first_row: int
    """Of all its spans the one that was read first."""
    spans: int
    errors: int
    """Spans with the status ERROR."""
    blocks: Blocks
    busy: Covered
    """When any of its spans runs, calls that it waits for included."""
    gap: tuple[int, int] | None
    """The longest time between two spans when none runs, the first of several; None where there is no such time."""
    most: int
    """The greatest number of blocks that run at once; one without length counts when it is."""

    @property
    def start_ns(self) -> int:
        """The first start, `NO_TIME` where there is none."""
        firsts = [*self.busy.starts[:1], *self.blocks.starts[:1]]
        return min(firsts, default=NO_TIME)

    @property
    def end_ns(self) -> int:
        """The last end, or start of what has none; `NO_TIME` where there is neither."""
        lasts = [*self.busy.ends[-1:], *self.blocks.starts[-1:]]
        return max(lasts, default=NO_TIME)

    @property
    def busy_ns(self) -> int:
        """How long it was busy."""
        return self.busy.sums[-1]

    @property
    def share(self) -> float | None:
        """What share of its own time, from the first start to the last end, it was busy; None where that is none."""
        length = self.end_ns - self.start_ns
        return self.busy_ns / length if length else None

    @property
    def longest_gap_ns(self) -> int:
        """How long the longest gap is, 0 without one."""
        return 0 if self.gap is None else self.gap[1] - self.gap[0]

    def gap_before(self, ns: int) -> int | None:
        """Return for how long nothing had run when a span started, 0 if something did; None for the first one."""
        at = bisect_left(self.busy.starts, ns)
        is_begin = at < len(self.busy.starts) and self.busy.starts[at] == ns
        if not at:
            return None
        return max(0, ns - self.busy.ends[at - 1]) if is_begin else 0


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of some traces."""

    lanes: Sequence[Lane]
    """By path, generation and service."""
    names: dict[int, int]
    """How many blocks have each name, by its number."""
    starts: Sequence[int]
    ends: Sequence[int]
    failures: Sequence[int]
    """Of all blocks, each sorted by itself."""


def lanes(store: Store, traces: Sequence[int] | None = None, tell: Tell = unheard) -> Lanes:
    """Return what each process did.

    Args:
        store: Where the spans are.
        traces: Numbers of the traces that count; None for all.
        tell: Told how far it is.
    """
    if _pays_at_once(store, traces):
        from spanview.analysis import bulk_lanes

        if bulk_lanes.is_for(store):
            return bulk_lanes.lanes(store, traces, tell)
    return _one_by_one(store, range(len(store.trace_table)) if traces is None else traces, tell)


def function_of(name: str) -> str:
    """Return what a span's name says was called: one function, where Ray names submission and attempt apart."""
    return name.removesuffix(RAN).removesuffix(SUBMITTED)


def in_order(store: Store, keys: Sequence[Key]) -> list[int]:
    """Return the places of some keys by path, generation and service."""
    sources, services = store.sources, store.services.texts

    def order(at: int) -> tuple[str, int, str]:
        source, service = keys[at]
        return sources[source].path, sources[source].generation, services[service]

    return sorted(range(len(keys)), key=order)


def _pays_at_once(store: Store, traces: Sequence[int] | None) -> bool:
    counts = store.trace_table.span_count
    number = len(store.spans) if traces is None else sum(map(counts.__getitem__, traces))
    return number >= PAYS_FROM


# -- one trace after the other -----------------------------------------------------------------------------------------


class _Gathered:
    """What a lane is made of."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.outermost: dict[int, int] = {}
        """The rows of parents by the rows of blocks."""
        self.failed: set[int] = set()
        """The rows of blocks with something in them that failed."""
        self.errors = 0


def _one_by_one(store: Store, traces: Sequence[int], tell: Tell) -> Lanes:
    gathered: dict[Key, _Gathered] = {}
    for tree in stitched(store, traces, part(tell, 0.0, 0.7)):
        _gather(store, tree, gathered)
    keys, told, found = [*gathered], part(tell, 0.7, 1.0), list[Lane]()
    for number, at in enumerate(in_order(store, keys)):
        if not number % _TOLD_EVERY:
            told(number / len(keys))
        found.append(_lane(store, keys[at], gathered[keys[at]]))
    names = Counter[int]()
    starts, ends, failures = list[int](), list[int](), list[int]()
    for lane in found:
        names.update(lane.blocks.names)
        starts += lane.blocks.starts
        ends += lane.blocks.ends
        failures += lane.blocks.failures
    return Lanes(found, names, compact(sorted(starts)), compact(sorted(ends)), compact(sorted(failures)))


def _gather(store: Store, tree: TraceTree, gathered: dict[Key, _Gathered]) -> None:
    spans, rows, parents = store.spans, tree.rows, tree.parents
    keys = [*zip(map(spans.source.__getitem__, rows), map(spans.service.__getitem__, rows), strict=True)]
    for node, outermost in enumerate(_outermost(tree, keys)):
        row = rows[node]
        lane = gathered.get(keys[node])
        if lane is None:
            lane = gathered[keys[node]] = _Gathered()
        lane.rows.append(row)
        if outermost == node:
            parent = parents[node]
            lane.outermost[row] = NO_ROW if parent < 0 or tree.is_missing(parent) else rows[parent]
        if spans.status[row] == ERROR:
            lane.errors += 1
            lane.failed.add(rows[outermost])


def _outermost(tree: TraceTree, keys: Sequence[Key]) -> list[int]:
    """Return for each span the topmost one that it can be reached from without leaving its lane; it may be itself."""
    parents = tree.parents
    # Placeholders, and what is above the roots, are in no lane.
    lane_of: list[Key | None] = [*keys, *[None] * (len(tree.missing) + 1)]
    outermost = [-1] * len(keys)
    pending: list[int] = []
    for first in range(len(keys)):
        node = first
        while outermost[node] < 0:
            pending.append(node)
            if lane_of[parents[node]] != keys[node]:
                outermost[node] = node
            else:
                node = parents[node]
        while pending:
            outermost[pending.pop()] = outermost[node]
    return outermost


def _lane(store: Store, key: Key, gathered: _Gathered) -> Lane:
    start_of, end_of = store.spans.start_ns, store.spans.end_ns
    rows = sorted(gathered.rows, key=lambda row: (start_of[row], row))
    timed = [row for row in rows if NO_TIME not in (start_of[row], end_of[row])]
    starts = [*map(start_of.__getitem__, timed)]
    busy = Covered.by(starts, [*map(max, starts, map(end_of.__getitem__, timed))])
    blocks = _blocks(store, [row for row in rows if row in gathered.outermost and start_of[row] != NO_TIME], gathered)
    return Lane(
        source=key[0],
        service=key[1],
        first_row=min(rows),
        spans=len(rows),
        errors=gathered.errors,
        blocks=blocks,
        busy=busy,
        gap=_longest_gap(busy),
        most=most_at_once(blocks.starts, blocks.ends),
    )


def _blocks(store: Store, rows: Sequence[int], gathered: _Gathered) -> Blocks:
    starts = [*map(store.spans.start_ns.__getitem__, rows)]
    # What has no end has the least of all numbers there.
    ends = [*map(max, starts, map(store.spans.end_ns.__getitem__, rows))]
    reach, last = list[int](), 0
    for place, end in enumerate(ends):
        last = place if end >= ends[last] else last
        reach.append(last)
    failed = [place for place, row in enumerate(rows) if row in gathered.failed]
    return Blocks(
        rows=array("I", rows),
        names=array("I", map(store.spans.name.__getitem__, rows)),
        parents=array("I", map(gathered.outermost.__getitem__, rows)),
        starts=compact(starts),
        ends=compact(ends),
        reach=array("I", reach),
        failed=array("I", failed),
        failures=compact(sorted(map(ends.__getitem__, failed))),
    )


def _longest_gap(busy: Covered) -> tuple[int, int] | None:
    """Return the first of the longest times between two intervals."""
    gaps = zip(busy.ends, busy.starts[1:], strict=False)
    return max(gaps, key=lambda gap: gap[1] - gap[0], default=None)
