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

    from spanview.analysis.critical import Segment
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
        from spanview.analysis.critical import Blame, critical_path

        self.stitched = stitched
        path = critical_path(stitched.unjoined, store.names, until)
        # By node, then by time, in arrays: a path has stretches by the ten thousands.
        shown = {segment.node: stitched.shown_node(segment.node) for segment in path.segments}
        shown |= _callers(stitched, path.segments)
        segments = sorted(path.segments, key=lambda segment: (shown[segment.node], segment.start_ns))
        self._nodes = array("q", [shown[segment.node] for segment in segments])
        self._starts = array("q", [segment.start_ns for segment in segments])
        self._ends = array("q", [segment.end_ns for segment in segments])
        self._positions = sorted({stitched.position[node] for node in self._nodes})
        self._waiting, self._running = (
            {shown[one.node] for one in segments if one.kind is kind} for kind in (Blame.WAIT, Blame.SELF)
        )
        self.text = path_text(path.reason, len({*shown.values()}))

    def is_at(self, node: int, start: int, end: int) -> bool:
        """Tell whether the path is at a node at some time of a stretch, in nanoseconds."""
        first, behind = bisect_left(self._nodes, node), bisect_right(self._nodes, node)
        number = bisect_right(self._ends, start, first, behind)
        return number < behind and self._starts[number] < end

    def of(self, node: int) -> list[tuple[int, int]]:
        """Return when the path is at a node, as starts and ends by time; none where it never is."""
        first, behind = bisect_left(self._nodes, node), bisect_right(self._nodes, node)
        return [*zip(self._starts[first:behind], self._ends[first:behind], strict=True)]

    def waits_at(self, node: int) -> bool:
        """Tell whether the wait of a node is on the path."""
        return node in self._waiting

    def runs_at(self, node: int) -> bool:
        """Tell whether a node itself runs on the path, or is submitted where it is a call."""
        return node in self._running

    def is_between(self, first: int, end: int) -> bool:
        """Tell whether a node between two positions is on the path."""
        return is_any_between(self._positions, first, end)


def _callers(stitched: StitchedTrace, segments: Sequence[Segment]) -> dict[int, int]:
    """Return which node shows each submission of a call that is one node, where they take little of the path.

    They are lit at their caller, which submitted them: else each call that was submitted would be on the path.
    """
    rows, parents, submitted = stitched.unjoined.rows, stitched.unjoined.parents, {*stitched.submitted.values()}
    if not submitted:
        return {}
    chosen = [one for one in segments if one.node < len(rows) and rows[one.node] in submitted]
    total = sum(one.end_ns - one.start_ns for one in segments)
    if sum(one.end_ns - one.start_ns for one in chosen) >= _LEAST_SUBMITTING * total:
        return {}
    return {one.node: stitched.shown_node(parents[one.node]) for one in chosen if parents[one.node] != ROOT}
