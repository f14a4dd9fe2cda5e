"""A stitched trace as its rows need it: nodes in the order of the screen, what hangs below each, runs of like siblings.

node     tree             place   end    what hangs below a node stands between its place and its end
a        a                  0      6
b        ├ leaf             1      2  │
c        ├ leaf             2      4  │  a run: siblings of one name and kind, one after the other
e        │ └ work           3      4  │
d        └ leaf             4      6  │
f          └ work           5      6

Made once for each stitch, in a thread where the trace is long, and never changed: whoever asks for a row, for the next
match or for what is hidden looks it up.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, compress, groupby, repeat
from operator import add, eq, gt, sub
from typing import TYPE_CHECKING, Final

from spanview.analysis.selftime import self_times
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME
from spanview.tui.runs import FEWEST_IN_RUN, Run, Timed, known_times
from spanview.tui.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

AT_ONCE: Final = 4_000
"""A trace of up to so many spans is stitched within the time that a key may take."""
_MANY: Final = 2_000
"""From so many children or like siblings on, what their painting needs is found out with the rest."""


@dataclass(frozen=True, slots=True)
class Covered:
    """When something runs: intervals that don't touch, in order, in nanoseconds."""

    starts: Sequence[int]
    ends: Sequence[int]
    sums: Sequence[int]
    """The lengths of all intervals before each one, and of all."""

    def between(self, start: int, end: int) -> int:
        """Return how many nanoseconds of a stretch are covered."""
        return self._until(end) - self._until(start)

    def _until(self, ns: int) -> int:
        number = bisect_left(self.starts, ns)
        return self.sums[number] - (max(0, self.ends[number - 1] - ns) if number else 0)


class Shape:
    """What one stitch of a trace comes to.

    Args:
        store: The store.
        trace: The trace's row in the trace table.
        tree: The stitched trace; of a part of its spans, where there was no time for all.
    """

    def __init__(self, store: Store, trace: int, tree: TraceTree) -> None:
        self._spans = store.spans
        self.tree = tree
        self.whole = _whole(store, trace)
        """The time of the whole trace."""
        # Arrays, because the garbage collector looks at each item of a list again and again.
        self.order = array("q", tree.in_order())
        """All nodes, parents before their children: the rows, where nothing is hidden."""
        self.place = array("q", bytes(8 * len(tree)))
        """Of each node, in the order."""
        for place, node in enumerate(self.order):
            self.place[node] = place
        self.depths, self.ends = self._find_depths(), self._find_ends()
        """By place: how deep, and the first place behind all that hangs below."""
        self.node_of = dict(zip(tree.rows, range(len(tree.rows)), strict=True))
        """Each node by its key: a span's row, or what `key` makes of a placeholder's span id."""
        self.node_of |= {-1 - span_id: node for node, span_id in enumerate(tree.missing, len(tree.rows))}
        rows = [*tree.rows, *[NO_ROW] * len(tree.missing)]
        self.rows = array("q", map(rows.__getitem__, self.order))
        """The span of each place; of placeholders `NO_ROW`."""
        self.parents = array("q", [place for place, end in enumerate(self.ends) if end > place + 1])
        """The places that have something below them."""
        status = self._spans.status
        self.failed = sorted(
            compress(self.place, map(ERROR.__eq__, map(status.__getitem__, tree.rows)))
            if store.trace_table.error_count[trace]
            else ()
        )
        """The places of spans with the status ERROR."""
        self._tallies: dict[str, tuple[Counter[int], dict[int, int]]] = {}
        self._intervals: dict[int, tuple[int, int] | None] = {}
        self._covered: dict[int, Covered] = {}
        self.runs = self._find_runs()
        """All runs, by place."""
        self.run_of = {node: run for run in self.runs for node in run.members}
        """The run that a node belongs to."""
        self.timed = Timed.of(self._spans, tree.rows)
        """When how many spans run."""
        self.failures = Timed.ended(self._spans, map(self.rows.__getitem__, self.failed))
        """When spans failed."""
        self._find_out_beforehand()

    def _find_depths(self) -> array[int]:
        # The last number is that of no node, and what is above the roots.
        parents, depths = self.tree.parents, [0] * len(self.order) + [-1]
        for node in self.order:
            depths[node] = depths[parents[node]] + 1
        return array("q", map(depths.__getitem__, self.order))

    def _find_ends(self) -> array[int]:
        # The last number is that of no node, and takes what roots have.
        sizes, parents = [1] * len(self.order) + [0], self.tree.parents
        for node in reversed(self.order):
            sizes[parents[node]] += sizes[node]
        return array("q", map(add, range(len(self.order)), map(sizes.__getitem__, self.order)))

    def _find_runs(self) -> list[Run]:
        tree, runs = self.tree, list[Run]()
        names, kinds, rows, count = self._spans.name, self._spans.kind, self.tree.rows, len(self.tree.rows)

        def likeness(node: int) -> tuple[int, int] | None:
            return (names[rows[node]], kinds[rows[node]]) if node < count else None

        for siblings in (tree.roots, *map(tree.children, tree.with_children(FEWEST_IN_RUN))):
            if len(siblings) < FEWEST_IN_RUN:
                continue
            for like, alike in groupby(siblings, likeness):
                members = [*alike]
                if like is not None and len(members) >= FEWEST_IN_RUN:
                    places = self.place[members[0]], self.ends[self.place[members[-1]]]
                    runs.append(Run(self._spans, self.rows, members, places, [*map(rows.__getitem__, members)]))
        return sorted(runs, key=lambda run: run.first)

    def _find_out_beforehand(self) -> None:
        """Now what would hold a key, where it were found out when it is painted."""
        for run in self.runs:
            if run.end - run.first >= _MANY:
                _ = run.figures, run.timed, run.failures
        for node in self.tree.with_children(_MANY):
            self.covered(node)

    # -- one node ----------------------------------------------------------------------------------------------------

    def key(self, node: int) -> int:
        """Return what a node is known by when the tree is stitched anew."""
        return -1 - self.tree.span_id(node) if self.tree.is_missing(node) else self.tree.rows[node]

    def with_those_above(self, node: int) -> Iterator[int]:
        """Yield a node, its parent, and so on up to a root."""
        while node != ROOT:
            yield node
            node = self.tree.parents[node]

    def interval(self, node: int) -> tuple[int, int] | None:
        """Return when a node starts and ends; a placeholder as its children tell; None where that isn't known."""
        tree, ends = self.tree, self._spans.end_ns
        if not tree.is_missing(node):
            row = tree.rows[node]
            return _ordered(self._spans.start_ns[row], ends[row])
        if node not in self._intervals:
            end = max((ends[tree.rows[child]] for child in tree.children(node)), default=NO_TIME)
            self._intervals[node] = _ordered(tree.start_ns(node), end)
        return self._intervals[node]

    def covered(self, node: int) -> Covered:
        """Return when children of a node run."""
        known = self._covered.get(node)
        if known is None:
            rows = [*map(self.tree.rows.__getitem__, self.tree.children(node))]
            starts, ends = known_times(self._spans, rows)
            reached = [*accumulate(map(max, starts, ends), max)]
            # An interval ends where the next child starts behind all that came before it.
            gaps = [*map(gt, starts[1:], reached)]
            begins, stops = starts[:1], [*compress(reached, gaps), *reached[-1:]]
            begins += compress(starts[1:], gaps)
            sums = accumulate(map(sub, stops, begins), initial=0)
            known = self._covered[node] = Covered(array("q", begins), array("q", stops), array("q", sums))
        return known

    # -- all nodes -------------------------------------------------------------------------------------------------

    @cached_property
    def own(self) -> list[int | None]:
        """The self time of each node."""
        return self_times(self.tree, self._spans)

    @property
    def is_own_known(self) -> bool:
        """Whether self times have been found out, or take no time to speak of."""
        return "own" in self.__dict__ or len(self.tree) <= AT_ONCE

    def tally(self, column: str) -> tuple[Counter[int], dict[int, int]]:
        """Return how many spans have each value of a column of the span table, and the row of the first that does."""
        if column not in self._tallies:
            rows = self.tree.rows
            values = [*map(getattr(self._spans, column).__getitem__, rows)]
            self._tallies[column] = Counter(values), dict(zip(reversed(values), reversed(rows), strict=True))
        return self._tallies[column]

    # -- many nodes --------------------------------------------------------------------------------------------------

    def failed_between(self, first: int, end: int) -> int:
        """Return how many spans between two places have the status ERROR."""
        return bisect_left(self.failed, end) - bisect_left(self.failed, first)

    def places_of_rows(self, rows: set[int]) -> list[int]:
        """Return the places of some spans, by their rows, in order."""
        return [*compress(range(len(self.rows)), map(rows.__contains__, self.rows))]

    def places_of_name(self, name: int) -> list[int]:
        """Return the places of the spans with a name, in order."""
        names = [*map(self._spans.name.__getitem__, self.tree.rows), *[-1] * len(self.tree.missing)]
        return [*compress(range(len(self.order)), map(eq, map(names.__getitem__, self.order), repeat(name)))]

    def with_all_above(self, places: Sequence[int]) -> list[int]:
        """Return places and those of all that stand above them, in order."""
        wanted = [0] * len(self.order)
        for place in places:
            wanted[place] = 1
        before = [*accumulate(wanted, initial=0)]
        return [*compress(range(len(self.order)), map(gt, map(before.__getitem__, self.ends), before))]


def _whole(store: Store, trace: int) -> Window:
    table = store.trace_table
    start, end = table.start_ns[trace], table.end_ns[trace]
    if start == NO_TIME:
        start = end if end != NO_TIME else 0
    return Window(start, max(start + 1, end))


def _ordered(start: int, end: int) -> tuple[int, int] | None:
    return None if NO_TIME in (start, end) else (start, max(start, end))
