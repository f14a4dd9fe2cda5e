"""The part of a file whose lines are known: rows for a list, of a file that nobody has read as a whole.

 file     ..........|========================================|.............................
 window             | starts[0]    …    row    …   starts[-1] |
                    ^ begins where a line does                ^ more lines are added as the cursor comes near

What was added at one end is taken away at the other where there is too much of it: then all rows have other numbers,
and whoever shows them moves by as many.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from spanview.sources.line_file import LineFile

_STEP: Final = 500
"""Lines that are added at a time."""
_MOST: Final = 20_000


class LogWindow:
    """The lines that are known, by where they begin; at first those around an offset."""

    def __init__(self, file: LineFile, offset: int = 0) -> None:
        self.file = file
        self.starts: list[int] = []
        self.jump(offset)

    def jump(self, offset: int) -> int:
        """Know the lines around an offset instead, and return the row of the one that it is in."""
        file = self.file
        start = file.line_start(offset)
        if start >= file.size:
            # Behind the last line's end: the last line itself.
            start = file.line_start(max(0, file.size - 1))
        before = file.starts_before(start, _STEP)
        self.starts = before + file.starts_from(start, _STEP)
        return min(len(before), max(0, len(self.starts) - 1))

    @property
    def is_at_start(self) -> bool:
        """Whether the first line is known."""
        return not self.starts or self.starts[0] == 0

    @property
    def is_at_end(self) -> bool:
        """Whether the last line is known, as far as the file was looked at."""
        return (not self.starts and not self.file.size) or (
            bool(self.starts) and self.file.line_end(self.starts[-1]) >= self.file.size
        )

    def grow_before(self) -> int:
        """Know more lines before those that are known; return how many rows there are more at the front."""
        if self.is_at_start:
            return 0
        before = self.file.starts_before(self.starts[0], _STEP)
        self.starts[:0] = before
        del self.starts[_MOST:]
        return len(before)

    def grow_after(self) -> int:
        """Know more lines behind those that are known; return how many rows there are less at the front."""
        if not self.starts:
            self.jump(0)
            return 0
        self.starts += self.file.starts_from(self.file.line_end(self.starts[-1]), _STEP)
        surplus = max(0, len(self.starts) - _MOST)
        del self.starts[:surplus]
        return surplus

    def row_of(self, offset: int) -> int | None:
        """Return the row of the line that a byte is in; None where it isn't known."""
        if not self.starts or not self.starts[0] <= offset < self.file.line_end(self.starts[-1]):
            return None
        return bisect_right(self.starts, offset) - 1

    def line(self, row: int) -> bytes:
        """Return what a line says."""
        return self.file.line(self.starts[row])
