"""The critical path as its module describes it, one microsecond after the other, by searching: slow and independent.

Moments are what lies between the microseconds. At a moment the path goes from span to span until none of the rules
applies; then one microsecond is blamed on where it is.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.model.codes import CLIENT, CONSUMER, ERROR, PRODUCER, SERVER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from one_path import Blame, CriticalPath
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

_MADE: Final = "__init__ ray.remote_worker"
_LATE: Final = 100_000
Ticks: TypeAlias = list[tuple[int, int, str]]
"""A microsecond's start, the node to blame and what for: `self` or `wait`."""


class SlowPath:
    """One trace, whose times are whole microseconds."""

    def __init__(self, store: Store, tree: TraceTree) -> None:
        self._tree = tree
        self._store = store
        self._spans = store.spans
        nodes = range(len(tree))
        self._parents = [*map(self._parent_of, nodes)]
        self._given = [(self._given_start(node), self._given_end(node)) for node in nodes]
        starts, ends = [*map(self._start_of, nodes)], [*map(self._end_of, nodes)]
        self._has_times = any(end is not None for end in ends)
        # In a tree without any times nothing is ever looked at.
        self._starts = [NO_TIME if start is None else start for start in starts]
        self._ends = [NO_TIME if end is None else end for end in ends]
        last = max(self._ends)
        root = self._outlived(self._ends.index(last), last)
        until_root = [self._until_given_up(node, last + 1, root) for node in nodes]
        self._ends = [self._until_given_up(node, last) for node in nodes]
        self._until_root = until_root
        self._left: set[int] = set()

    def ticks(self) -> Ticks:
        """Return the microseconds of the path, the earliest first; none where no span has a time."""
        ticks: Ticks = []
        if not self._has_times:
            return ticks
        moment = max(self._ends)
        at = before = self._ends.index(moment)
        queued: dict[int, int] = {}
        root = self._outlived(at, moment)
        while True:
            if root is not None and moment == self._ends[root]:
                # From here on the path is the root's own.
                at = before = root
                self._ends, self._left, queued, root = self._until_root, set(), {}, None
            while (step := self._step(at, moment)) is not None:
                if step == self._parents[at] and self._is_queued(at, step):
                    queued[step] = at
                before, at = at, step
            if moment == self._starts[at]:
                return ticks[::-1]
            moment -= 1
            is_running = moment < self._ends[at]
            runs = (moment, queued[at], "wait") if at in queued else (moment, at, "self")
            ticks.append(runs if is_running else (moment, before, "wait"))

    def _outlived(self, node: int, moment: int) -> int | None:
        """Return the root above a node, or its last attempt, where it has an end, and ended before a moment."""
        root = [node, *self._above(node)][-1]
        if self._kind(root) == PRODUCER:
            attempts = [other for other in self._below(root) if self._parents[other] == root]
            attempts = [other for other in attempts if self._kind(other) == CONSUMER]
            if not attempts or any(self._read(other)[1] is None for other in attempts):
                return None
            root = min((*attempts, root), key=lambda other: (-self._ends[other], other == root, other))
        if self._tree.is_missing(root) or self._read(root)[1] is None:
            return None
        return root if self._ends[root] < moment else None

    def _until_given_up(self, node: int, last: int, root: int | None = None) -> int:
        """Return when a node ends, or until when a client or a root waited for it, or for what is above it."""
        until = [
            self._ends[caller]
            for called in (node, *self._above(node))
            for caller in self._callers(called, root)
            if self._starts[called] < self._ends[caller] < self._ends[called] < last
        ]
        limit, end = min(until, default=last), self._ends[node]
        return limit if self._starts[node] < limit < end < last else end

    def _callers(self, called: int, root: int | None) -> list[int]:
        """Return whoever waited for a node until it gave up, or until the node had answered."""
        above = self._above(called)
        callers = above[:1] if above and (self._kind(above[0]), self._kind(called)) == (CLIENT, SERVER) else []
        if root is not None and above and self._is_queued(called, above[0]):
            caller = above[0] if above[0] == root else above[1] if above[1:] else None
            if caller is not None and (caller == root or self._ends[called] - self._ends[root] <= _LATE):
                callers = [*callers, caller]
        return callers

    def _kind(self, node: int) -> int | None:
        return None if self._tree.is_missing(node) else self._spans.kind[self._tree.rows[node]]

    def _is_queued(self, node: int, above: int) -> bool:
        """Return whether a node is a replica of Ray Serve, and the one above it its routing."""
        if self._tree.is_missing(node) or self._tree.is_missing(above) or node in self._tree.roots:
            return False
        own, others = (self._store.names.texts[self._spans.name[self._tree.rows[each]]] for each in (node, above))
        return own.startswith("replica_handle_request") and others.startswith("route_to_replica")

    def _step(self, at: int, moment: int) -> int | None:
        """Return where the path goes at a moment, None where it stays."""
        if moment == self._starts[at]:
            self._left.add(at)
            return self._parents[at]
        ended = [node for node in self._below(at) if self._may_go(at, node) and node not in self._left]
        ended = [node for node in ended if not self._is_made_again(node)]
        ended = [node for node in ended if moment <= self._ends[node] <= moment + self._late(node)]
        return min(ended, key=lambda node: (-self._ends[node], node), default=None)

    def _is_made_again(self, node: int) -> bool:
        """Return whether a node is the constructor of an actor that was made before, and lived."""
        if self._tree.is_missing(node) or node in self._tree.roots or self._kind(node) != CONSUMER:
            return False
        name = self._spans.name[self._tree.rows[node]]
        alike = [
            other
            for other in range(len(self._tree.rows))
            if other not in self._tree.roots
            and self._tree.parents[other] == self._tree.parents[node]
            and self._kind(other) == CONSUMER
            and self._store.names.texts[self._spans.name[self._tree.rows[other]]].endswith(_MADE)
        ]
        alike.sort(key=lambda other: (self._spans.start_ns[self._tree.rows[other]], other))
        if node not in alike or node == alike[0] or not self._store.names.texts[name].endswith(_MADE):
            return False
        before = self._tree.rows[alike[alike.index(node) - 1]]
        return self._spans.end_ns[before] != NO_TIME and self._spans.status[before] != ERROR

    def _late(self, node: int) -> int:
        """Return how long before its end a replica of Ray Serve, or its routing, may have answered."""
        above, below = self._parents[node], [other for other in self._below(node) if self._parents[other] == node]
        pairs = [(other, node) for other in below] + ([] if above is None else [(node, above)])
        is_of_serve = any(self._is_queued(*pair) for pair in pairs)
        return min(_LATE, (self._ends[node] - self._starts[node]) // 10) * is_of_serve

    def _may_go(self, at: int, node: int) -> bool:
        between = self._above(node)
        between = between[: between.index(at)]
        if self._ends[node] > self._ends[at]:
            return not between
        return all(self._ends[other] < self._ends[node] for other in between)

    def _parent_of(self, node: int) -> int | None:
        """Return what a node hangs from."""
        tree = self._tree
        if node not in tree.roots:
            return tree.parents[node]
        spans = [root for root in tree.roots if root < len(tree.rows) and root not in tree.cut]
        return spans[0] if len(spans) == 1 and spans != [node] else None

    def _above(self, node: int) -> list[int]:
        above = self._parents[node]
        return [] if above is None else [above, *self._above(above)]

    def _below(self, node: int) -> list[int]:
        return [other for other in range(len(self._tree)) if node in self._above(other)]

    def _read(self, node: int) -> tuple[int | None, int | None]:
        """Return the times in the file, in microseconds."""
        if self._tree.is_missing(node):
            return None, None
        row = self._tree.rows[node]
        start, end = self._spans.start_ns[row], self._spans.end_ns[row]
        return None if start == NO_TIME else start // 1000, None if end == NO_TIME else end // 1000

    def _given_start(self, node: int) -> int | None:
        """Return when a node starts, whatever its parent does."""
        start, end = self._read(node)
        if start is not None:
            return start if end is None else min(start, end)
        children = [other for other in range(len(self._tree)) if self._parents[other] == node]
        return _least(end, *map(self._given_start, children))

    def _given_end(self, node: int) -> int | None:
        """Return when a node ends, whatever its parent does."""
        end = self._read(node)[1]
        if end is not None:
            return end
        return _greatest(self._given_start(node), *map(self._given_end, self._below(node)))

    def _start_of(self, node: int) -> int | None:
        return _greatest(*(self._given[other][0] for other in (node, *self._above(node))))

    def _end_of(self, node: int) -> int | None:
        return _greatest(self._given[node][1], self._start_of(node))


def _least(*times: int | None) -> int | None:
    return min((time for time in times if time is not None), default=None)


def _greatest(*times: int | None) -> int | None:
    return max((time for time in times if time is not None), default=None)


def sums_of(path: CriticalPath, kind: Blame) -> dict[int, int]:
    """Return the nanoseconds of a path that each node is blamed for, of those that are."""
    sums = Counter[int]()
    for segment in path.segments:
        if segment.kind is kind:
            sums[segment.node] += segment.end_ns - segment.start_ns
    return dict(sums)


def nodes_of(path: CriticalPath) -> set[int]:
    """Return the nodes that a path has a segment of."""
    return {segment.node for segment in path.segments}


def length_of(path: CriticalPath) -> int:
    """Return the nanoseconds of a path, which has no gaps."""
    return path.segments[-1].end_ns - path.segments[0].start_ns if path.segments else 0
