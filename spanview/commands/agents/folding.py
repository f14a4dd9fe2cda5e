"""The tree of a trace in few lines: levels that are left out, and siblings of one name that stand for the others.

587cb0…  train
8a01ff…  ├─ load
3c9d21…  ├─ leaf                     the longest and the failed ones of a thousand
         │  … 994 more leaf
"""

from __future__ import annotations

from collections import defaultdict
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.model.codes import ERROR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

FEWEST_FOLDED: Final = 10
"""From so many siblings of one name on, some stand for all."""
_KEPT: Final = 3
"""As many of the longest ones, and of those that failed."""


class ShownNode(NamedTuple):
    """A line of a folded tree."""

    node: int
    """What it is about; of folded siblings, the first one."""
    depth: int
    below: int = 0
    """How many spans below it are left out; of folded siblings, themselves included."""
    folded: int = 0
    """How many siblings are left out; 0 for a line of its own."""


class FoldedTree:
    """A tree whose nodes can be left out.

    Args:
        top: The node from which on it is shown; None for all.
    """

    def __init__(self, store: Store, tree: TraceTree, top: int | None = None) -> None:
        self._tree = tree
        self._spans = store.spans
        walk = [*tree.walk()]
        self._ends = tree.ends_in([node for node, _ in walk])
        """By position, that of the next node that isn't below it."""
        self._position = {node: position for position, (node, _) in enumerate(walk)}
        begin = 0 if top is None else self._position[top]
        end = len(walk) if top is None else self._ends[begin]
        self._top_depth = walk[begin][1] if walk else 0
        self._walk, self._begin, self._end, self._top = walk, begin, end, top
        self._latest = self._latest_ends()

    def shown(self, levels: int | None, *, folds: bool) -> Iterator[ShownNode]:
        """Yield what is shown, parents before their children.

        Args:
            levels: How many levels below the first one; None for all.
            folds: Whether many siblings of one name are one line.
        """
        left_out, pending = set[int](), list[tuple[int, ShownNode]]()
        if folds and self._top is None:
            pending += self._fold(self._tree.roots, 0, self._end, left_out)
        position = self._begin
        while position < self._end:
            while pending and pending[-1][0] <= position:
                yield pending.pop()[1]
            node, depth = self._walk[position]
            end, depth = self._ends[position], depth - self._top_depth
            if node in left_out:
                position = end
            elif levels is not None and depth >= levels:
                yield ShownNode(node, depth, end - position - 1)
                position = end
            else:
                yield ShownNode(node, depth)
                if folds:
                    pending += self._fold(self._tree.children(node), depth + 1, end, left_out)
                position += 1
        yield from (line for _, line in reversed(pending))

    def _fold(self, siblings: list[int], depth: int, end: int, left_out: set[int]) -> Iterator[tuple[int, ShownNode]]:
        """Yield the lines that stand for siblings, and the position before which each comes."""
        if len(siblings) < FEWEST_FOLDED:
            return
        by_name = defaultdict[int, list[int]](list)
        for node in siblings:
            if not self._tree.is_missing(node):
                by_name[self._spans.name[self._tree.rows[node]]].append(node)
        for nodes in by_name.values():
            if len(nodes) >= FEWEST_FOLDED:
                failed = (node for node in nodes if self._spans.status[self._tree.rows[node]] == ERROR)
                kept = {*nlargest(_KEPT, nodes, key=self._length), *islice(failed, _KEPT)}
                folded = [node for node in nodes if node not in kept]
                left_out.update(folded)
                below = sum(self._ends[place] - place for place in map(self._position.__getitem__, folded))
                yield end, ShownNode(folded[0], depth, below, len(folded))

    def _length(self, node: int) -> int:
        start = self._tree.start_ns(node)
        return 0 if start == NO_TIME else self._latest[self._position[node]] - start

    def _latest_ends(self) -> list[int]:
        """Return by position when the last of a node, and of what is below it, ended."""
        latest, parents = [NO_TIME] * len(self._walk), self._tree.parents
        for position in range(len(self._walk) - 1, -1, -1):
            node = self._walk[position][0]
            if not self._tree.is_missing(node):
                latest[position] = max(latest[position], self._spans.end_ns[self._tree.rows[node]])
            if (parent := parents[node]) in self._position:
                above = self._position[parent]
                latest[above] = max(latest[above], latest[position])
        return latest
