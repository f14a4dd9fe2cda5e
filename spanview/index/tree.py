"""One trace's spans, stitched into trees by parent id; every span is in it exactly once, whatever the ids say.

Nodes are small integers: first the spans, in the order of their starts, then the placeholders of missing parents.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.index.table import SpanTable

ROOT: Final = -1
"""The parent of a root."""
SKEW_NS: Final = 2_000
"""The console exporter rounds times to microseconds through a float: a child may seem this much too early."""
_LAST: Final = 2**63
_NO_CHILDREN: Final[list[int]] = []


class TraceTree:
    """The trees of one trace.

    Args:
        spans: The span table.
        rows: The trace's rows.
        order: Returns by what two rows with the same ids are ordered: path, generation and offset.
    """

    __slots__ = ("_children", "_spans", "cut", "missing", "parents", "roots", "rows")

    def __init__(self, spans: SpanTable, rows: Sequence[int], order: Callable[[int], tuple[str, int, int]]) -> None:
        self._spans = spans
        starts, ids = spans.start_ns, spans.span_id
        self.rows = sorted(rows, key=lambda row: (_LAST if starts[row] == NO_TIME else starts[row], ids[row]))
        """The row of each node that is a span, by start, then span id."""
        self.missing: list[int] = []
        """The span id of each node that is a placeholder; the first of them is node `len(rows)`."""
        self.cut: frozenset[int] = frozenset()
        """The nodes above which a circle of parents was cut."""
        self.parents = self._find_parents(order)
        """The parent of each node, or `ROOT`."""
        self._cut_cycles()
        self._children: defaultdict[int, list[int]] = defaultdict(list)
        self.roots: list[int] = []
        """The nodes without a parent, by start, then span id."""
        self._hang()

    def _find_parents(self, order: Callable[[int], tuple[str, int, int]]) -> list[int]:
        """Now each node has a parent or is a root; circles are still in it."""
        ids, parent_ids, rows = self._spans.span_id, self._spans.parent_id, self.rows
        by_id: dict[int, int] = {}
        for node, row in enumerate(rows):
            first = by_id.setdefault(ids[row], node)
            if first != node and order(row) < order(rows[first]):
                by_id[ids[row]] = node
        by_id[0] = ROOT
        parents, missing = [], self.missing
        count = len(rows)
        for row in rows:
            parent_id = parent_ids[row]
            parent = by_id.get(parent_id)
            if parent is None:
                parent = by_id[parent_id] = count + len(missing)
                missing.append(parent_id)
            parents.append(parent)
        parents.extend([ROOT] * len(missing))
        return parents

    def _cut_cycles(self) -> None:
        """Now every chain of parents ends at a root: each circle is cut above its earliest span."""
        parents = self.parents
        if all(parent < node for node, parent in enumerate(parents)):
            return
        seen = [0] * len(parents)
        cut = []
        for start in range(len(parents)):
            node, mark = start, start + 1
            while node != ROOT and not seen[node]:
                seen[node] = mark
                node = parents[node]
            if node != ROOT and seen[node] == mark:
                # Nodes are numbered by start, so the least of the circle is its earliest.
                earliest, other = node, parents[node]
                while other != node:
                    earliest, other = min(earliest, other), parents[other]
                cut.append(earliest)
        for node in cut:
            parents[node] = ROOT
        self.cut = frozenset(cut)

    def _hang(self) -> None:
        """Now the children are in order: nodes come by start, and a placeholder starts with its earliest child."""
        children, roots, parents = self._children, self.roots, self.parents
        for node in range(len(self.rows)):
            parent = parents[node]
            if parent == ROOT:
                roots.append(node)
            else:
                children[parent].append(node)
        if self.missing:
            roots.extend(range(len(self.rows), len(parents)))
            roots.sort(key=self._place)

    def _place(self, node: int) -> tuple[int, int]:
        start = self.start_ns(node)
        return _LAST if start == NO_TIME else start, self.span_id(node)

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def complete(self) -> bool:
        """Whether there is a span without a parent, and neither a missing parent nor a circle."""
        return not self.missing and not self.cut and bool(self.roots)

    def is_missing(self, node: int) -> bool:
        """Tell whether a node is the placeholder of a parent that no file holds."""
        return node >= len(self.rows)

    def span_id(self, node: int) -> int:
        """Return the span id of a node as 64 bits."""
        count = len(self.rows)
        return self.missing[node - count] if node >= count else self._spans.span_id[self.rows[node]]

    def start_ns(self, node: int) -> int:
        """Return when a node starts; a placeholder starts with its earliest child."""
        if node >= len(self.rows):
            return self.start_ns(self._children[node][0])
        return self._spans.start_ns[self.rows[node]]

    def children(self, node: int) -> list[int]:
        """Return the children of a node by start, then span id; not to be changed."""
        return self._children.get(node, _NO_CHILDREN)

    def walk(self) -> Iterator[tuple[int, int]]:
        """Yield every node and its depth, parents before their children."""
        children = self._children
        pending = [(root, 0) for root in reversed(self.roots)]
        while pending:
            node, depth = pending.pop()
            yield node, depth
            if node in children:
                pending.extend([(child, depth + 1) for child in reversed(children[node])])

    def warnings(self, node: int) -> Warnings:
        """Return what only the tree tells about a node: cycles and clock skew."""
        warnings = Warnings.CYCLE if node in self.cut else Warnings(0)
        parent = self.parents[node]
        if parent == ROOT or self.is_missing(parent):
            return warnings
        start, parent_start = self.start_ns(node), self.start_ns(parent)
        if NO_TIME not in (start, parent_start) and start < parent_start - SKEW_NS:
            warnings |= Warnings.CLOCK_SKEW
        return warnings
