"""A stitched trace as its rows need it: nodes in the order of the screen, what hangs below each, runs of like siblings.

node     tree             position    end  what hangs below a node stands between its position and its end
a        a                    0        6
b        ├ leaf               1        2  │
c        ├ leaf               2        4  │  a run: siblings of one name and kind, no other between
e        │ └ work             3        4  │
d        └ leaf               4        6  │
f          └ work             5        6

Made once for each stitch, in a thread where the trace is long, and never changed: whoever asks for a row, for the next
match or for what is hidden looks it up.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from functools import cached_property
from heapq import nsmallest
from itertools import accumulate, compress, groupby, product
from typing import TYPE_CHECKING, Final

from spanview.analysis.failures import are_made_good, newest_first, retried_attempts
from spanview.analysis.intervals import Covered, Timed
from spanview.analysis.ray.joined import joined
from spanview.analysis.ray.names import call_names, short_names
from spanview.analysis.ray.waits import wait_between, wait_of
from spanview.analysis.ray.workers import count_processes
from spanview.analysis.selftime import own_stretches, self_times
from spanview.analysis.serve.calls import numbers_of_serve
from spanview.analysis.serve.requests import Part, numbers_of
from spanview.analysis.window import Window
from spanview.display.trace_words import count_without_end
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, ERROR
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME
from spanview.tui.trace.runs import FEWEST_IN_RUN, Run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

PROCESS: Final = "process"
"""The column with the number of each span's process."""
_SHARES_IDS: Final = int(Warnings.DUPLICATE_ID)
AT_ONCE: Final = 4_000
"""A trace of up to so many spans is stitched within the time that a key may take."""
_FEWEST_COUNTED_AHEAD: Final = 2_000
"""From so many spans in and below a run on, what its painting needs is found out with the rest."""

_MOST_WAITS: Final = 1_000
"""Waits that a key goes through."""


class StitchedTrace:
    """What one stitch of a trace comes to.

    Args:
        tree: The stitched trace; of a part of its spans, where there was no time for all.
        joins: Whether each Ray call with one attempt is one node.
    """

    def __init__(self, store: Store, trace: int, tree: TraceTree, *, joins: bool = False) -> None:
        self._store = store
        self._spans = store.spans
        self._trace = trace
        self.replaced = store.trace_table.replaced[trace]
        """How many of the trace's records had been replaced: what follows is at least as new."""
        self.joins = joins
        self.unjoined = tree
        """The trace as it is; its nodes have other numbers where calls are joined."""
        self.tree, self.submitted = joined(store, tree) if joins else (tree, dict[int, int]())
        """The trace as it is shown, and the rows of the PRODUCERs that attempts stand for, by the attempts' rows."""
        tree = self.tree
        self.whole = _whole(store, trace, self.unjoined if self.without_end else None)
        """The time of the whole trace."""
        # Arrays, because the garbage collector looks at each item of a list again and again.
        self.order = array("q", tree.in_order())
        """All nodes, parents before their children: the rows, where nothing is hidden."""
        self.position = array("q", bytes(8 * len(tree)))
        """Of each node, in the order."""
        for position, node in enumerate(self.order):
            self.position[node] = position
        self.depths, self.ends = self._find_depths(), array("q", tree.ends_in(self.order))
        """By position: how deep, and the first position behind all that hangs below."""
        self.node_of = dict(zip(tree.rows, range(len(tree.rows)), strict=True))
        """Each node by its key: a span's row, or what `key` makes of a placeholder's span id."""
        self.node_of |= {-1 - span_id: node for node, span_id in enumerate(tree.missing, len(tree.rows))}
        self.node_of |= {submitted: self.node_of[row] for row, submitted in self.submitted.items()}
        rows = [*tree.rows, *[NO_ROW] * len(tree.missing)]
        self.rows = array("q", map(rows.__getitem__, self.order))
        """The span of each position; of placeholders `NO_ROW`."""
        self.parents = array("q", [position for position, end in enumerate(self.ends) if end > position + 1])
        """The positions that have something below them."""
        self._joined = [*accumulate((row in self.submitted for row in self.rows), initial=0)] if self.submitted else []
        """How many calls are joined before each position, and in all."""
        status = self._spans.status
        has_errors = store.trace_table.error_count[trace]
        failed = (
            {*compress(self.position, map(ERROR.__eq__, map(status.__getitem__, tree.rows)))} if has_errors else set()
        )
        failed |= {self.position[self.node_of[row]] for row in self.submitted.values() if status[row] == ERROR}
        self.failed = sorted(failed)
        """The positions of spans with the status ERROR."""
        self._tallies: dict[str, tuple[Counter[int], dict[int, int]]] = {}
        self._intervals: dict[int, tuple[int, int] | None] = {}
        self._own_times: dict[int, Covered] = {}
        self._waiting: dict[int, Timed] = {}
        self.runs = self._find_runs()
        """All runs, by position."""
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
                    positions = self.position[members[0]], self.ends[self.position[members[-1]]]
                    own = {rows[node]: self.submitted.get(rows[node], NO_ROW) for node in members}
                    run = Run(self._spans, self.rows, members, positions, own)
                    run.hidden = self.spans_between(*positions) - len(own) - sum(row in self.submitted for row in own)
                    runs.append(run)
        return sorted(runs, key=lambda run: run.first)

    def _find_out_beforehand(self) -> None:
        """Now what would hold a key, where it were found out when it is painted."""
        for run in self.runs:
            if run.end - run.first >= _FEWEST_COUNTED_AHEAD:
                _ = run.figures, run.waits, run.most_at_once, run.timed, run.failures, self.waiting(run)
        if len(self.tree) > AT_ONCE:
            import numpy as np  # noqa: F401 - the import alone takes longer than a key may

            _ = self._own_stretches, self.newest_failed, self.without_end, self.merges_runs, self.longest_waits

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
            self._intervals[node] = _ordered(self._start_of_missing(node), end)
        return self._intervals[node]

    def _start_of_missing(self, node: int) -> int:
        if not self.submitted:
            return self.tree.start_ns(node)
        rows = [self.tree.rows[child] for child in self.tree.children(node)]
        starts = [self._spans.start_ns[self.submitted.get(row, row)] for row in rows]
        return min((start for start in starts if start != NO_TIME), default=NO_TIME)

    def own_times(self, node: int) -> Covered:
        """Return when a node runs and nothing below it does; that of a placeholder is not known."""
        known = self._own_times.get(node)
        if known is None:
            nodes, starts, ends = self._own_stretches
            unjoined = self.unjoined_node(node)
            first, end = bisect_left(nodes, unjoined), bisect_right(nodes, unjoined)
            known = self._own_times[node] = Covered.by(starts[first:end], ends[first:end])
        return known

    @cached_property
    def _own_stretches(self) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """Nodes of the trace as it is, in order, with the starts and the ends of the stretches of each, by time."""
        if len(self.tree) > AT_ONCE:
            from spanview.analysis.forest_selftime import stretches_of

            columns = stretches_of(self.unjoined, self._spans)
            if columns is not None:
                nodes, starts, ends = (array("q", column.tobytes()) for column in columns)
                return nodes, starts, ends
        # Arrays, because a trace has as many stretches as spans, and more.
        nodes, starts, ends = array("q"), array("q"), array("q")
        for node, start, end in own_stretches(self.unjoined, self._spans):
            nodes.append(node)
            starts.append(start)
            ends.append(end)
        order = sorted(range(len(nodes)), key=nodes.__getitem__)
        in_order = [array("q", map(column.__getitem__, order)) for column in (nodes, starts, ends)]
        return in_order[0], in_order[1], in_order[2]

    def submission(self, node: int) -> tuple[int, int] | None:
        """Return when a call that is one node was being submitted; None for all other nodes."""
        row = None if self.tree.is_missing(node) else self.submitted.get(self.tree.rows[node])
        return None if row is None else _ordered(self._spans.start_ns[row], self._spans.end_ns[row])

    def wait(self, node: int) -> int | None:
        """Return the nanoseconds that a node waited before it ran, as `wait_of` has them."""
        if self.tree.is_missing(node):
            return 0
        submitted = self.submitted.get(self.tree.rows[node])
        if submitted is None:
            return wait_of(self._store, self.tree, node)
        return wait_between(self._store, submitted, self.tree.rows[node])

    def waiting(self, run: Run) -> Timed:
        """Return when how many of like siblings, and of what hangs below them, wait before they run."""
        known = self._waiting.get(run.first)
        if known is None:
            nodes = self.order[run.first : run.end]
            waits = [(self.tree.start_ns(node), wait) for node in nodes if (wait := self.wait(node))]
            starts = array("q", sorted(start - wait for start, wait in waits))
            known = self._waiting[run.first] = Timed(starts, array("q", sorted(start for start, _ in waits)))
        return known

    def unjoined_node(self, node: int) -> int:
        """Return the node that a node that is shown has in the trace as it is."""
        if not self.submitted:
            return node
        if self.tree.is_missing(node):
            return node + len(self.unjoined.rows) - len(self.tree.rows)
        return self._unjoined_nodes[self.tree.rows[node]]

    @cached_property
    def _unjoined_nodes(self) -> dict[int, int]:
        return dict(zip(self.unjoined.rows, range(len(self.unjoined.rows)), strict=True))

    def shown_node(self, node: int) -> int:
        """Return the node that shows a node of the trace as it is."""
        if not self.submitted:
            return node
        count = len(self.unjoined.rows)
        return node - count + len(self.tree.rows) if node >= count else self.node_of[self.unjoined.rows[node]]

    # -- all nodes -------------------------------------------------------------------------------------------------

    @cached_property
    def has_calls(self) -> bool:
        """Whether there are Ray calls, and each is to be one node."""
        submits, runs = call_names(self._store.names) if self.joins else (set[int](), set[int]())
        return not (submits | runs).isdisjoint(self.tally("name")[0])

    @cached_property
    def short_names(self) -> Mapping[str, str]:
        """What Ray's functions are called in this trace, by the names of their spans."""
        return short_names(map(self._store.names.texts.__getitem__, self.tally("name")[0]))

    @cached_property
    def served(self) -> Collection[int]:
        """The rows of calls that a replica of Ray Serve ran, whose span stands beside the call."""
        if not numbers_of_serve(self._store)[0]:
            return ()
        from spanview.analysis.ray.calls import calls_of

        calls = calls_of(self._store, [self._trace])
        return {*calls.rows[calls.counts > 0].tolist()}

    @cached_property
    def own(self) -> list[int | None]:
        """The self time of each node."""
        times = self_times(self.unjoined, self._spans)
        if not self.submitted:
            return times
        own = dict(zip(self.unjoined.rows, times, strict=False))
        return [*map(own.__getitem__, self.tree.rows), *[None] * len(self.tree.missing)]

    @property
    def is_own_known(self) -> bool:
        """Whether self times have been found out, or take no time to speak of."""
        return "own" in self.__dict__ or len(self.tree) <= AT_ONCE

    @cached_property
    def longest_waits(self) -> list[int]:
        """The nodes that waited before they ran, longest first; no more than anybody would go through."""
        kinds, rows = self._spans.kind, self.tree.rows
        replicas = numbers_of(self._store.names, Part.REPLICA)
        waits = {
            node: wait
            for node, row in enumerate(rows)
            if (kinds[row] == CONSUMER or self._spans.name[row] in replicas) and (wait := self.wait(node))
        }
        return nsmallest(_MOST_WAITS, waits, key=lambda node: (-waits[node], self.position[node]))

    @cached_property
    def without_end(self) -> int:
        """How many spans have no end."""
        return count_without_end(self._store, self.unjoined)

    @cached_property
    def merges_runs(self) -> bool:
        """Whether different spans have the same ids: likely several runs with one seed."""
        if not any(map(_SHARES_IDS.__and__, map(self._store.spans.warnings.__getitem__, self.unjoined.rows))):
            return False
        from spanview.analysis.reused_ids import reused_ids
        from spanview.index.forest import forest_of

        return bool(reused_ids(forest_of(self._store, [self._trace])))

    @cached_property
    def processes(self) -> int:
        """How many processes wrote the trace: of a document that was gathered from several, a service is one."""
        processes, services = (self.tally(column)[0] for column in (PROCESS, "service"))
        pairs: Iterable[tuple[int, int]] = product(processes, services)
        if len(processes) > 1 and len(services) > 1:
            rows = self.unjoined.rows
            pairs = zip(self._values(PROCESS, rows), self._values("service", rows), strict=True)
        return count_processes(self._store.processes, pairs)

    def _values(self, column: str, rows: Sequence[int]) -> list[int]:
        return [*map(getattr(self._spans, column).__getitem__, rows)]

    def tally(self, column: str) -> tuple[Counter[int], dict[int, int]]:
        """Return how many spans have each value of a column or of `PROCESS`, and the row of the first that does."""
        if column not in self._tallies:
            rows = self.unjoined.rows
            values = self._values(column, rows)
            self._tallies[column] = Counter(values), dict(zip(reversed(values), reversed(rows), strict=True))
        return self._tallies[column]

    @cached_property
    def newest_failed(self) -> tuple[Sequence[int], int]:
        """Positions of failed spans as somebody looks at them, and how many precede those that a retry made good."""
        above, open_ones = list[int](), list[int]()
        for index, position in enumerate(self.failed):
            while open_ones and self.ends[self.failed[open_ones[-1]]] <= position:
                open_ones.pop()
            above.append(open_ones[-1] if open_ones else -1)
            open_ones.append(index)
        tree = self.tree
        callers = {tree.parents[self.order[position]] for position in self.failed} - {ROOT}
        siblings = (tree.rows[child] for caller in callers for child in tree.children(caller))
        retried = retried_attempts(self._store, siblings)
        rows = [self.rows[position] for position in self.failed]
        order = newest_first(self._store, rows, above, retried)
        return [*map(self.failed.__getitem__, order)], are_made_good(rows, above, retried).count(False)

    # -- many nodes --------------------------------------------------------------------------------------------------

    def failed_between(self, first: int, end: int) -> int:
        """Return how many spans between two positions have the status ERROR."""
        return bisect_left(self.failed, end) - bisect_left(self.failed, first)

    def spans_between(self, first: int, end: int) -> int:
        """Return how many spans and missing parents stand between two positions."""
        return end - first + (self._joined[end] - self._joined[first] if self._joined else 0)

    # With numpy, which was imported by the time that keys ask: 200,000 nodes take less than a millisecond. These arrays
    # never change; those of the store grow, and are copied.

    def positions_of_rows(self, rows: set[int]) -> list[int]:
        """Return the positions of some spans, by their rows, in order."""
        import numpy as np

        wanted = rows | {row for row, submitted in self.submitted.items() if submitted in rows}
        found = np.isin(np.asarray(self.rows), np.fromiter(wanted, np.int64, len(wanted)))
        in_order: list[int] = np.flatnonzero(found).tolist()
        return in_order

    def positions_of_name(self, name: int) -> list[int]:
        """Return the positions of the spans with a name, in order."""
        import numpy as np

        from spanview.index.arrays import copy_of

        rows = np.asarray(self.rows)
        positions = np.flatnonzero(rows != NO_ROW)
        in_order: list[int] = positions[copy_of(self._spans.name)[rows[positions]] == name].tolist()
        return in_order

    def with_all_above(self, positions: Sequence[int]) -> list[int]:
        """Return positions and those of all that stand above them, in order."""
        import numpy as np

        before = np.zeros(len(self.order) + 1, np.int64)
        before[np.asarray(positions, np.int64) + 1] = 1
        before = np.cumsum(before)
        in_order: list[int] = np.flatnonzero(before[np.asarray(self.ends)] > before[:-1]).tolist()
        return in_order


def is_any_between(positions: Sequence[int], first: int, end: int) -> bool:
    """Tell whether some of sorted positions are from a first one on, and before an end."""
    return bisect_left(positions, first) < bisect_left(positions, end)


def _whole(store: Store, trace: int, unended: TraceTree | None) -> Window:
    table = store.trace_table
    start, end = table.start_ns[trace], table.end_ns[trace]
    if unended is not None:
        # What has no end may be what started last.
        end = max(end, *map(store.spans.start_ns.__getitem__, unended.rows[-1:]), start)
    if start == NO_TIME:
        start = end if end != NO_TIME else 0
    return Window(start, max(start, end))


def _ordered(start: int, end: int) -> tuple[int, int] | None:
    return None if NO_TIME in (start, end) else (start, max(start, end))
