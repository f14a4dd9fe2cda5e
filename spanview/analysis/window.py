"""The part of a trace's time that the waterfall shows, and what the time keys make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_ZOOM: Final = 0.6
_PAN: Final = 0.25
_SHORTEST_NS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time, in nanoseconds since 1970."""

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """Nanoseconds, at least 1."""
        return max(1, self.end_ns - self.start_ns)

    def place(self, ns: int, width: int) -> float:
        """Return where a time lies, in cells from the left edge of `width` cells."""
        return (ns - self.start_ns) / self.length_ns * width

    def within(self, start_ns: float, end_ns: float) -> Window:
        """Return another stretch, as far as it lies in this one; this one where nothing would be left."""
        start, end = max(self.start_ns, round(start_ns)), min(self.end_ns, round(end_ns))
        return Window(start, end) if end > start else self

    def of_cells(self, first: int, last: int, width: int) -> Window:
        """Return the time of some cells of `width` that show this one, and at least the shortest that is shown."""
        start = self.start_ns + self.length_ns * first // width
        end = self.start_ns + self.length_ns * (last + 1) // width
        return self.within(start, max(end, start + _SHORTEST_NS))

    def zoomed(self, shown: Window, interval: tuple[int, int] | None, by: int) -> Window:
        """Return less of this time than is shown, or more where `by` is below 0.

        Args:
            interval: Start and end of the span around whose middle to zoom; None for the middle of what is shown.
        """
        first, last = shown.start_ns, shown.end_ns
        if interval is not None and interval[1] > first and interval[0] < last:
            first, last = max(interval[0], first), min(interval[1], last)
        # From the first start on: of all nanoseconds since 1970 a float has hundreds only.
        middle, begin = (first + last - 2 * self.start_ns) / 2, shown.start_ns - self.start_ns
        share = (middle - begin) / shown.length_ns
        length = min(self.length_ns, round(max(_SHORTEST_NS, shown.length_ns * (_ZOOM if by > 0 else 1 / _ZOOM))))
        # At an edge of all time, what is shown goes on at its other side.
        start = self.start_ns + max(0, min(round(middle - length * share), self.length_ns - length))
        return self.within(start, start + length)

    def panned(self, shown: Window, by: int) -> Window:
        """Return earlier time than is shown, or later where `by` is above 0, of the same length."""
        return self.moved(shown, round(by * shown.length_ns * _PAN))

    def moved(self, shown: Window, by_ns: int) -> Window:
        """Return time so much later than what is shown, or earlier, as far as there is any."""
        step = max(self.start_ns - shown.start_ns, min(self.end_ns - shown.end_ns, by_ns))
        return self.within(shown.start_ns + step, shown.end_ns + step)

    def centred(self, shown: Window, start_ns: int, end_ns: int) -> Window:
        """Return as much time as is shown, with the middle of a stretch in its middle, as far as there is any."""
        return self.moved(shown, (start_ns + end_ns - shown.length_ns) // 2 - shown.start_ns)

    def fitted(self, interval: tuple[int, int]) -> Window:
        """Return just the time of a span, with a little margin."""
        margin = max(_SHORTEST_NS, (interval[1] - interval[0]) // 20)
        return self.within(interval[0] - margin, interval[1] + margin)
