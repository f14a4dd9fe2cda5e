"""One trace as rows: which nodes are in sight, how deep, and what hangs below them. Pure, a function of the tree."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from copy import copy
from typing import TYPE_CHECKING

from spanview.analysis.ray.unended import RanUntil
from spanview.analysis.window import Window
from spanview.index.tree import ROOT
from spanview.tui.trace.stitched_trace import StitchedTrace, is_any_between

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.lives import OpenEnd
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.tui.trace.runs import Run


class TraceRows:
    """Node and depth of each row, from the top; positions are those of the nodes in sight, in order."""

    def __init__(self, stitched: StitchedTrace, positions: list[int]) -> None:
        self._stitched = stitched
        self._positions = positions

    def __getitem__(self, row: int) -> tuple[int, int]:
        position = self._positions[row]
        return self._stitched.order[position], self._stitched.depths[position]

    def __len__(self) -> int:
        return len(self._positions)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return map(self.__getitem__, range(len(self)))


class TraceModel:
    """A trace that is looked at.

    Nodes get other numbers when the trace grows, so what a person did is kept by key: a span's row, or a placeholder's
    span id.
    """

    def __init__(self, store: Store, trace: int, stitched: StitchedTrace | None = None) -> None:
        self.store = store
        self.trace = trace
        self.folds = True
        """Whether runs of like siblings are one row each."""
        self.window: Window | None = None
        """What was zoomed to; None for the whole trace."""
        self.ran_until = RanUntil()
        """Until when spans without an end are known to have run in it, as processes were asked."""
        self.wanted: set[int] | None = None
        """Keys of the nodes that are shown, with those above them; None for all."""
        self._are_collapsed = False
        """Whether the children of all nodes are hidden but for `_others`, or shown but for them."""
        self._others: set[int] = set()
        """Keys."""
        self._unfolded: set[int] = set()
        """Keys of members of runs that are shown one by one all the same."""
        self._came: dict[int, int] = {}
        """Keys of placeholders, and of the spans that took their place."""
        self.stitched = stitched or StitchedTrace(store, trace, store.tree(trace))
        self._lay_out()

    @property
    def profiled(self) -> StitchedTrace:
        """What the minimap shows."""
        return self.stitched

    @property
    def tree(self) -> TraceTree:
        """The stitched trace, as it is shown."""
        return self.stitched.tree

    def snapshot(self) -> TraceModel:
        """Return what is shown now, for another thread: it stays as it is while this one changes."""
        taken = copy(self)
        for name in ("_others", "_unfolded", "_came", "_behind", "folded", "_hiding", "_positions"):
            setattr(taken, name, copy(getattr(self, name)))
        return taken

    def take(self, stitched: StitchedTrace, key: int | None = None) -> None:
        """Show the trace as it was stitched anew.

        Args:
            key: Of the node under the cursor. Where its like siblings have become enough to be folded, they are not.
        """
        before, self.stitched = self.stitched, stitched
        stays = key in before.node_of and not self._is_out_of_sight(before, key)
        if came := {*before.tree.missing}.difference(stitched.tree.missing):
            ids = self.store.spans.span_id
            self._came |= {-1 - ids[row]: row for row in stitched.tree.rows if ids[row] in came}
            self._others = {self._came.get(other, other) for other in self._others}
        # Where calls have been joined, or no longer are, a node can have another key.
        node_of = stitched.node_of
        self._others = {stitched.key(node_of[key]) if key in node_of else key for key in self._others}
        if stays and (node := self._node_of(key)) is not None:
            self._unfold_round(node)
        self._lay_out()

    def _is_out_of_sight(self, stitched: StitchedTrace, key: int | None) -> bool:
        """Tell whether a node was not in sight, or stood for its like siblings."""
        position = stitched.position[stitched.node_of[key]] if key is not None else -1
        return not is_any_between(self._positions, position, position + 1) or position in self.folded

    # -- which nodes are in sight --------------------------------------------------------------------------------------

    @property
    def rows(self) -> TraceRows:
        """Node and depth of each row, from the top."""
        return TraceRows(self.stitched, self._positions)

    def _lay_out(self) -> None:
        stitched, node_of = self.stitched, self.stitched.node_of
        self._kept = None if self.wanted is None else stitched.with_all_above(stitched.positions_of_rows(self.wanted))
        closed: Sequence[int]
        others = {stitched.position[node_of[key]] for key in self._others if key in node_of}
        if self._are_collapsed:
            closed = (
                [position for position in stitched.parents if position not in others] if others else stitched.parents
            )
        else:
            closed = sorted(position for position in others if stitched.ends[position] > position + 1)
        self._behind = dict(zip(closed, map(stitched.ends.__getitem__, closed), strict=True))
        """The positions of what hides something, and the first position behind what is hidden."""
        self.folded: dict[int, Run] = {}
        """The runs that are one row each, by position."""
        if self.folds and self._kept is None:
            run_of = stitched.run_of
            unfolded = {run_of[node_of[key]].first for key in self._unfolded if node_of.get(key) in run_of}
            self.folded = {run.first: run for run in stitched.runs if run.first not in unfolded}
            self._behind |= {run.first: run.end for run in self.folded.values()}
        self._hiding = sorted(self._behind)
        self._positions = self._in_sight(0, len(stitched.order))
        """Of the nodes in sight, in order."""

    def _in_sight(self, first: int, end: int) -> list[int]:
        """Return which positions of a stretch are in sight; looks at nothing that is hidden."""
        sight, begin, number = list[int](), first, bisect_left(self._hiding, first)
        while number < len(self._hiding) and self._hiding[number] < end:
            hiding = self._hiding[number]
            sight += self._stretch(begin, hiding + 1)
            begin = self._behind[hiding]
            number = bisect_left(self._hiding, begin, number + 1)
        sight += self._stretch(begin, end)
        return sight

    def _stretch(self, first: int, end: int) -> Sequence[int]:
        if self._kept is None:
            return range(first, end)
        return self._kept[bisect_left(self._kept, first) : bisect_left(self._kept, end)]

    def run(self, node: int) -> Run | None:
        """Return the like siblings that a row stands for; None where it stands for itself."""
        return self.folded.get(self.stitched.position[node])

    def toggle_folds(self) -> bool:
        """Fold runs of like siblings, or show each; return which."""
        self.folds = not self.folds
        self._unfolded.clear()
        self._lay_out()
        return self.folds

    def show_only(self, rows: set[int] | None) -> None:
        """Show the spans of these rows and what stands above them, and no others; None for all."""
        self.wanted = rows
        self._lay_out()

    # -- rows, nodes and keys ----------------------------------------------------------------------------------------

    def _node_of(self, key: int | None) -> int | None:
        return None if key is None else self.stitched.node_of.get(self._came.get(key, key))

    def row_of(self, node: int) -> int:
        """Return the row of a node, or of what hides it."""
        return max(0, bisect_right(self._positions, self.stitched.position[node]) - 1)

    def row_of_key(self, key: int | None, otherwise: int) -> int:
        """Return the row of a node that was known by a key, or of what hides it."""
        node = self._node_of(key)
        return otherwise if node is None else self.row_of(node)

    def parent_row(self, row: int) -> int | None:
        """Return the row of a row's parent."""
        parent = self.tree.parents[self.rows[row][0]]
        return None if parent == ROOT else self.row_of(parent)

    def is_collapsed(self, node: int) -> bool:
        """Whether a node's children, or its like siblings, are hidden."""
        return self.stitched.position[node] in self._behind

    def hidden_positions(self, node: int) -> range:
        """Return the positions that a row hides, those of all like siblings that it stands for included."""
        position = self.stitched.position[node]
        return range(position + (position not in self.folded), self._behind.get(position, position))

    def below(self, node: int) -> int:
        """Return how many spans and missing parents hang below a node."""
        position = self.stitched.position[node]
        return self.stitched.spans_between(position + 1, self.stitched.ends[position])

    def errors_below(self, node: int) -> int:
        """Return how many spans below a node have the status ERROR."""
        position = self.stitched.position[node]
        return self.stitched.failed_between(position + 1, self.stitched.ends[position])

    def reach(self, node: int) -> tuple[int, int]:
        """Return the positions that a node's row stands for: itself, and what it hides."""
        position = self.stitched.position[node]
        return position, self._behind.get(position, position + 1)

    # -- folding -----------------------------------------------------------------------------------------------------

    def collapse(self, row: int) -> bool:
        """Hide what is below a row; return False where there is nothing to hide."""
        position = self._positions[row]
        end = self.stitched.ends[position]
        if position in self._behind or end == position + 1:
            return False
        self._others ^= {self.stitched.key(self.stitched.order[position])}
        self._behind[position] = end
        self._hiding.insert(bisect_left(self._hiding, position), position)
        del self._positions[row + 1 : bisect_left(self._positions, end)]
        return True

    def expand(self, row: int) -> bool:
        """Show what is below a row; return False where nothing was hidden."""
        position = self._positions[row]
        end = self._behind.get(position)
        if end is None:
            return False
        key = self.stitched.key(self.stitched.order[position])
        if run := self.folded.pop(position, None):
            self._unfold(run)
            is_closed = self.stitched.ends[position] > position + 1 and (key in self._others) != self._are_collapsed
        else:
            self._others ^= {key}
            is_closed = False
        if is_closed:
            self._behind[position] = self.stitched.ends[position]
        else:
            del self._behind[position]
            del self._hiding[bisect_left(self._hiding, position)]
        self._positions[row : row + 1] = self._in_sight(position, end)
        return True

    def _unfold(self, run: Run) -> None:
        # Where others come between them, either part is known by one of its ends.
        self._unfolded |= {self.stitched.key(run.members[0]), self.stitched.key(run.members[-1])}

    def _unfold_round(self, node: int) -> bool:
        """Show the like siblings round a node, and round those above it, one by one; tell whether some were folded."""
        runs = [run for above in self.stitched.with_those_above(node) if (run := self.stitched.run_of.get(above))]
        for run in runs:
            self._unfold(run)
        return any(run.first in self.folded for run in runs)

    def collapse_all(self) -> None:
        """Hide everything but the roots."""
        self._are_collapsed = True
        self._others.clear()
        self._lay_out()

    def expand_all(self) -> None:
        """Show what hangs below every node; runs stay one row each."""
        self._are_collapsed = False
        self._others.clear()
        self._lay_out()

    def reveal(self, node: int) -> int:
        """Expand and unfold what hides a node, and return its row."""
        stitched, was_hidden = self.stitched, False
        position = stitched.position[node]
        if self._kept is not None and not is_any_between(self._kept, position, position + 1):
            self.wanted, was_hidden = None, True
        above = [*stitched.with_those_above(node)]
        if self.folds and self.wanted is None:
            was_hidden |= self._unfold_round(node)
        closed = [
            key for parent in above[1:] if ((key := self.stitched.key(parent)) in self._others) != self._are_collapsed
        ]
        self._others ^= {*closed}
        if was_hidden or closed:
            self._lay_out()
        return self.row_of(node)

    # -- time --------------------------------------------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        """Until when something in it has been running, in nanoseconds since 1970; 0 where nothing runs.

        It is the end of the trace as it is shown: the title, rows and bars of what runs all go as far as that.
        """
        asked_ns = self.ran_until.now_ns
        return asked_ns and max(asked_ns, self.stitched.whole.end_ns)

    @property
    def open_end(self) -> OpenEnd | None:
        """What is known of its end, where something runs, or was lost or stopped, and may have gone on longer."""
        # A window is never empty: where nothing but a start is known, nothing is known of an end.
        return self.ran_until.end_at(self.whole.end_ns) if self.whole.length_ns > 1 else None

    @property
    def whole(self) -> Window:
        """The time of the whole trace."""
        whole = self.stitched.whole
        end_ns = max(self.now_ns, self.ran_until.ended_ns)
        return Window(whole.start_ns, end_ns) if end_ns > whole.end_ns else whole

    @property
    def shown(self) -> Window:
        """The time that the waterfall shows."""
        return self.window or self.whole
