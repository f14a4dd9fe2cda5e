"""One trace as rows: which nodes are in sight, how deep, and what hangs below them. Pure, a function of the tree."""

from __future__ import annotations

from copy import copy
from itertools import groupby
from typing import TYPE_CHECKING, Final

from spanview.index.tree import ROOT
from spanview.model.span import ERROR
from spanview.model.times import NO_TIME
from spanview.tui.window import Window

if TYPE_CHECKING:
    from spanview.index.store import Store


_FEWEST_IN_RUN: Final = 5
"""So many like siblings are worth folding."""


class TraceModel:
    """A trace that is looked at.

    Nodes get other numbers when the trace grows, so what a person did is kept by key: a span's row, or a placeholder's
    span id.

    Args:
        store: The store.
        trace: The trace's row in the trace table.
    """

    def __init__(self, store: Store, trace: int) -> None:
        self._store = store
        self.trace = trace
        self.collapsed: set[int] = set()
        """Keys of the nodes whose children are hidden."""
        self.only: set[int] | None = None
        """Keys of the nodes that are shown, and those above them; None for all."""
        self.folds = False
        """Whether runs of like siblings are one row each."""
        self._unfolded: set[int] = set()
        """Keys of the first members of runs that are shown one by one all the same."""
        self._runs: dict[int, list[int]] = {}
        self.window: Window | None = None
        """What was zoomed to; None for the whole trace."""
        self._came: dict[int, int] = {}
        """Keys of placeholders, and of the spans that took their places."""
        self.tree = store.tree(trace)
        self._take_in()

    def snapshot(self) -> TraceModel:
        """Return what is shown now, for another thread: it stays as it is while this one changes."""
        taken = copy(self)
        taken.collapsed, taken.rows = {*self.collapsed}, [*self.rows]
        taken._runs, taken._covered = {**self._runs}, {}  # noqa: SLF001 - our own kind
        return taken

    def refresh(self) -> None:
        """Stitch the trace as it is now."""
        missing = self.tree.missing
        self.tree = self._store.tree(self.trace)
        came = {*missing}.difference(self.tree.missing)
        if came:
            ids = self._store.spans.span_id
            self._came |= {-1 - ids[row]: row for row in self.tree.rows if ids[row] in came}
            self.collapsed = {self._came.get(key, key) for key in self.collapsed}
        self._take_in()

    def _take_in(self) -> None:
        walked = [*self.tree.walk()]
        self._count_below(walked)
        services = {self._store.spans.service[row] for row in self.tree.rows}
        self.has_services = len(services) > 1
        """Whether the spans come from more than one service."""
        self._covered: dict[int, list[tuple[int, int]]] = {}
        self.rows = walked
        """Node and depth of each row, from the top."""
        self._runs = {}
        if self.collapsed or self.only is not None or self.folds:
            self._lay_out()

    def _count_below(self, walked: list[tuple[int, int]]) -> None:
        tree, parents, status = self.tree, self.tree.parents, self._store.spans.status
        self.below = below = [0] * len(tree)
        """How many nodes hang below each node."""
        self.errors_below = [0] * len(tree)
        """How many spans below each node have the status ERROR."""
        for node, _ in reversed(walked):
            if parents[node] != ROOT:
                below[parents[node]] += below[node] + 1
        if not self._store.trace_table.error_count[self.trace]:
            return
        for node, _ in reversed(walked):
            if parents[node] != ROOT:
                is_error = not tree.is_missing(node) and status[tree.rows[node]] == ERROR
                self.errors_below[parents[node]] += self.errors_below[node] + is_error

    def _lay_out(self) -> None:
        self.rows, self._runs = [], {}
        for root in self._folded([root for root in self.tree.roots if self._is_shown(root)]):
            self.rows.extend(self._subtree(root, 0))

    def _folded(self, siblings: list[int]) -> list[int]:
        """Return siblings, of runs that are folded the first one only."""
        if not self.folds or len(siblings) < _FEWEST_IN_RUN:
            return siblings
        names, kept = self._store.spans.name, list[int]()
        for name, run in groupby(
            siblings, lambda node: None if self.tree.is_missing(node) else names[self.tree.rows[node]]
        ):
            members = [*run]
            if name is None or len(members) < _FEWEST_IN_RUN or self.key(members[0]) in self._unfolded:
                kept += members
            else:
                self._runs[members[0]] = members
                kept.append(members[0])
        return kept

    def run(self, node: int) -> list[int]:
        """Return the like siblings that a row stands for; none where it stands for itself."""
        return self._runs.get(node, [])

    def toggle_folds(self) -> bool:
        """Fold runs of like siblings, or show each; return which."""
        self.folds = not self.folds
        self._unfolded.clear()
        self._lay_out()
        return self.folds

    def show_only(self, keys: set[int] | None) -> None:
        """Show these nodes and those above them, and no others; None for all."""
        if keys is not None:
            wanted = [node for node in range(len(self.tree)) if self.key(node) in keys]
            parents, kept = self.tree.parents, set[int]()
            for node in wanted:
                while node != ROOT and node not in kept:
                    kept.add(node)
                    node = parents[node]  # noqa: PLW2901 - the way up
            keys = {self.key(node) for node in kept}
        self.only = keys
        self._lay_out()

    def _is_shown(self, node: int) -> bool:
        return self.only is None or self.key(node) in self.only

    def _subtree(self, node: int, depth: int) -> list[tuple[int, int]]:
        """Return a node and what is in sight below it."""
        tree, collapsed = self.tree, self.collapsed
        rows, pending = [], [(node, depth)]
        while pending:
            node, depth = pending.pop()
            rows.append((node, depth))
            children = [] if node in self._runs else tree.children(node)
            if children and (not collapsed or self.key(node) not in collapsed):
                shown = children if self.only is None else [child for child in children if self._is_shown(child)]
                pending.extend([(child, depth + 1) for child in reversed(self._folded(shown))])
        return rows

    def key(self, node: int) -> int:
        """Return what a node is known by when the tree is stitched anew."""
        return -1 - self.tree.span_id(node) if self.tree.is_missing(node) else self.tree.rows[node]

    def row_of_key(self, key: int | None, otherwise: int) -> int:
        """Return the row of a node that was known by a key."""
        if key is not None:
            key = self._came.get(key, key)
        return next((at for at, (node, _) in enumerate(self.rows) if self.key(node) == key), otherwise)

    def is_collapsed(self, node: int) -> bool:
        """Whether a node's children, or its like siblings, are hidden."""
        return node in self._runs or self.key(node) in self.collapsed

    # -- folding -----------------------------------------------------------------------------------------------------

    def collapse(self, row: int) -> bool:
        """Hide what is below a row; return False where there is nothing to hide."""
        node, depth = self.rows[row]
        if not self.tree.children(node) or self.is_collapsed(node):
            return False
        self.collapsed.add(self.key(node))
        end = row + 1
        while end < len(self.rows) and self.rows[end][1] > depth:
            end += 1
        del self.rows[row + 1 : end]
        return True

    def expand(self, row: int) -> bool:
        """Show what is below a row; return False where nothing was hidden."""
        node, depth = self.rows[row]
        if node in self._runs:
            self._unfolded.add(self.key(node))
            self._lay_out()
            return True
        if not self.is_collapsed(node):
            return False
        self.collapsed.discard(self.key(node))
        self.rows[row : row + 1] = self._subtree(node, depth)
        return True

    def collapse_all(self) -> None:
        """Hide everything but the roots."""
        self.collapsed = {self.key(node) for node in range(len(self.tree)) if self.tree.children(node)}
        self._lay_out()

    def expand_all(self) -> None:
        """Show everything."""
        self.collapsed.clear()
        self._lay_out()

    def parent_row(self, row: int) -> int | None:
        """Return the row of a row's parent."""
        depth = self.rows[row][1]
        return next((at for at in range(row - 1, -1, -1) if self.rows[at][1] < depth), None)

    def reveal(self, node: int) -> int:
        """Expand what hides a node and return its row."""
        parent, was_hidden = self.tree.parents[node], not self._is_shown(node)
        if was_hidden:
            self.only = None
        while parent != ROOT:
            if self.is_collapsed(parent):
                self.collapsed.discard(self.key(parent))
                was_hidden = True
            parent = self.tree.parents[parent]
        if was_hidden:
            self._lay_out()
        if self.folds and all(other != node for other, _ in self.rows):
            self.toggle_folds()
        return next(at for at, (other, _) in enumerate(self.rows) if other == node)

    # -- time --------------------------------------------------------------------------------------------------------

    @property
    def whole(self) -> Window:
        """The time of the whole trace."""
        table = self._store.trace_table
        start, end = table.start_ns[self.trace], table.end_ns[self.trace]
        if start == NO_TIME:
            start = end if end != NO_TIME else 0
        return Window(start, max(start + 1, end))

    @property
    def shown(self) -> Window:
        """The time that the waterfall shows."""
        return self.window or self.whole

    def interval(self, node: int) -> tuple[int, int] | None:
        """Return when a node starts and ends; a placeholder as its children tell; None where that isn't known."""
        tree, spans = self.tree, self._store.spans
        start = tree.start_ns(node)
        if tree.is_missing(node):
            end = max((spans.end_ns[tree.rows[child]] for child in tree.children(node)), default=NO_TIME)
        else:
            end = spans.end_ns[tree.rows[node]]
        return None if NO_TIME in (start, end) else (start, max(start, end))

    def covered(self, node: int) -> list[tuple[int, int]]:
        """Return when children of a node run: intervals that don't overlap, in order."""
        known = self._covered.get(node)
        if known is None:
            known = []
            for child in self.tree.children(node):
                interval = self.interval(child)
                if interval is None:
                    continue
                if known and interval[0] <= known[-1][1]:
                    known[-1] = known[-1][0], max(known[-1][1], interval[1])
                else:
                    known.append(interval)
            self._covered[node] = known
        return known
