"""The critical path of a trace, ready to be drawn: at which nodes it is, and when."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from spanview.analysis.consistent import NO_TIMES
from spanview.display.trace_words import path_text
from spanview.index.tree import ROOT
from spanview.tui.trace.stitched_trace import is_any_between

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanview.index.store import Store
    from spanview.tui.trace.stitched_trace import StitchedTrace

_LEAST_SUBMITTING: Final = 0.05
"""The share of the path from which calls are lit while they are submitted."""


class LitPath:
    """A critical path, ready to be drawn; made in a thread where the trace is long.

    Args:
        until: By row, until when spans without an end are known to have run, in nanoseconds since 1970.
    """

    def __init__(self, store: Store, stitched: StitchedTrace, until: Mapping[int, int] = NO_TIMES) -> None:
        from spanview.analysis.critical import paths_in
        from spanview.index.forest import Trees

        self.stitched = stitched
        paths = paths_in(Trees.alone(stitched.unjoined), store.names, until)
        columns = (column.tolist() for column in (paths.nodes, paths.starts_ns, paths.ends_ns, paths.are_waits))
        stretches = [*zip(*columns, strict=True)]
        # By node, then by time, in arrays: a path has stretches by the ten thousands.
        shown = {node: stitched.shown_node(node) for node, *_ in stretches} | _callers(stitched, stretches)
        in_order = sorted((shown[node], *times_and_kind) for node, *times_and_kind in stretches)
        self._nodes, self._starts, self._ends = (array("q", [one[column] for one in in_order]) for column in range(3))
        self._positions = sorted({stitched.position[node] for node in self._nodes})
        self.waiting, self.running = ({one[0] for one in in_order if one[3] is kind} for kind in (True, False))
        """The nodes whose wait is on the path, and those that run on it, or are submitted where they are calls."""
        self.text = path_text(paths.reasons[0], len({*shown.values()}))

    def is_at(self, node: int, start: int, end: int) -> bool:
        """Tell whether the path is at a node at some time of a stretch, in nanoseconds."""
        first, behind = bisect_left(self._nodes, node), bisect_right(self._nodes, node)
        number = bisect_right(self._ends, start, first, behind)
        return number < behind and self._starts[number] < end

    def of(self, node: int) -> list[tuple[int, int]]:
        """Return when the path is at a node, as starts and ends by time; none where it never is."""
        first, behind = bisect_left(self._nodes, node), bisect_right(self._nodes, node)
        return [*zip(self._starts[first:behind], self._ends[first:behind], strict=True)]

    def is_between(self, first: int, end: int) -> bool:
        """Tell whether a node between two positions is on the path."""
        return is_any_between(self._positions, first, end)


def _callers(stitched: StitchedTrace, stretches: Sequence[tuple[int, int, int, bool]]) -> dict[int, int]:
    """Return which node shows each submission of a call that is one node, where they take little of the path.

    They are lit at their caller, which submitted them: else each call that was submitted would be on the path.
    """
    rows, parents, submitted = stitched.unjoined.rows, stitched.unjoined.parents, {*stitched.submitted.values()}
    if not submitted:
        return {}
    chosen = [one for one in stretches if one[0] < len(rows) and rows[one[0]] in submitted]
    took, total = (sum(end - start for _, start, end, _ in several) for several in (chosen, stretches))
    if took >= _LEAST_SUBMITTING * total:
        return {}
    return {node: stitched.shown_node(parents[node]) for node, *_ in chosen if parents[node] != ROOT}
