"""The lines of a log as rows of a list: the span's own have a bar before them, what was searched for is reversed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from spanview.display.cells import fixed
from spanview.display.log_text import line_text
from spanview.display.sanitise import MAX_LENGTH, sanitise
from spanview.tui.widgets.linelist import LineList

if TYPE_CHECKING:
    from spanview.tui.log.log_window import LogWindow

_MARGIN: Final = 250
"""The window grows as soon as so few of its lines are left."""
_OWN: Final = "▌"
_LEVEL: Final = re.compile(
    r"\b(?P<error>ERROR|CRITICAL|FATAL)\b|\b(?P<warning>WARN(?:ING)?)\b|^(?:(?P<e>[EF])|(?P<w>W))\d{4} "
)
"""`ERROR 2026-05-28 18:05:04,864 …`, and glog's `E0528 18:05:04.864 …`."""
_LEVEL_LENGTH: Final = 80
"""A level stands within so many characters."""
_FOUND: Final = Style(reverse=True)
_PAN_STEP: Final = 3
"""One of so many parts of the screen is what the text moves by."""


class LogRows(LineList):
    """The lines of a file around the cursor."""

    def __init__(self, window: LogWindow, own: frozenset[int]) -> None:
        super().__init__()
        self.window = window
        self.own = own
        """Where the span's own lines begin."""
        self.found: re.Pattern[str] | None = None
        """What was searched for."""
        self._left = 0
        """Characters of each line that are out of sight on its left."""

    def show_window(self, row: int) -> None:
        """Show other lines of the file, with the cursor on one of them, in the middle where there is room."""
        self.rows_have_changed(len(self.window.starts), row)
        height = self.scrollable_content_region.height or self.app.size.height
        self._scroll_to_row(max(0, row - height // 2))

    @property
    def offset_under_cursor(self) -> int:
        """Where the line under the cursor begins."""
        starts = self.window.starts
        return starts[self.cursor] if self.cursor < len(starts) else 0

    @property
    def is_at_end(self) -> bool:
        """Whether the cursor is on the last line of the file."""
        return self.cursor >= self.row_count - 1 and self.window.is_at_end

    # -- the window --------------------------------------------------------------------------------------------------

    def move_to(self, row: int) -> None:
        """Put the cursor on a row, and know more lines where it comes near the last that are known."""
        super().move_to(row)
        if self.cursor < _MARGIN:
            self._grow(-1)
        elif self.cursor >= self.row_count - _MARGIN:
            self._grow(1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Know more lines where the wheel or the bar has come near the last that are known."""
        super().watch_scroll_y(old_value, new_value)
        if self.is_mounted and new_value != old_value:
            self.call_next(self._grow_in_sight)

    def _grow_in_sight(self) -> None:
        # Asked when it is its turn: of many turns of the wheel, the first has added what the others need.
        if self.scroll_offset.y < _MARGIN:
            self._grow(-1)
        elif self.scroll_offset.y > self.max_scroll_y - _MARGIN:
            self._grow(1)

    def _grow(self, by: int) -> None:
        """Know more lines before or behind the others; what is in sight stays where it is."""
        if self.window.is_at_start if by < 0 else self.window.is_at_end:
            return
        shift = self.window.grow_before() if by < 0 else -self.window.grow_after()
        top = self.scroll_offset.y
        self.rows_have_changed(len(self.window.starts), self.cursor + shift)
        self._scroll_to_row(max(0, top + shift))

    def go_to(self, offset: int) -> None:
        """Put the cursor on the line that a byte is in, which may be anywhere in the file."""
        row = self.window.row_of(offset)
        if row is None:
            self.show_window(self.window.jump(offset))
            self.post_message(self.Moved(self))
        else:
            self.move_to(row)

    def action_edge(self, last: int) -> None:
        """Move the cursor to the first line of the file, or to the last."""
        self.go_to(self.window.file.size - 1 if last else 0)

    def has_grown(self, *, stays_at_end: bool) -> None:
        """Take in what was appended to the file; the cursor goes on to the new last line where it stays at the end."""
        # The last line may have gone on.
        self.refresh()
        self._grow(1)
        if stays_at_end:
            self.action_edge(1)

    # -- painting ----------------------------------------------------------------------------------------------------

    def pan(self, by: int) -> None:
        """Show the text further to the right, as far as a line in sight goes, or to the left."""
        step, width, top = max(1, self.line_width // _PAN_STEP), self.line_width, self.scroll_offset.y
        in_sight = range(top, min(self.row_count, top + self.size.height))
        end = self._left + width - 1
        if by < 0 or any(len(self.text_of(row, end + step)) > end for row in in_sight):
            self._left = max(0, self._left + by * step)
            self.refresh()

    def text_of(self, row: int, longest: int = MAX_LENGTH) -> str:
        """Return a line as it may be printed, no more than so many characters of it."""
        # Most of a line of many kilobytes isn't in sight.
        return sanitise(line_text(self.window.line(row), longest), longest)

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one line."""
        room = max(0, width - 1)
        text = self.text_of(row, self._left + 2 * room + 1)
        level = _LEVEL.search(text, 0, _LEVEL_LENGTH)
        name = "" if level is None else "error" if level["error"] or level["e"] else "warning"
        style = self.paint_style(name) if name else None
        is_own = self.window.starts[row] in self.own
        shown = fixed(text[self._left : self._left + room + 1], room)
        return [Segment(_OWN if is_own else " ", self.paint_style("accent")), *self._with_found(shown, style)]

    def _with_found(self, text: str, style: Style | None) -> list[Segment]:
        if self.found is None:
            return [Segment(text, style)]
        segments, end = list[Segment](), 0
        for match in self.found.finditer(text):
            segments += [Segment(text[end : match.start()], style), Segment(match[0], (style or Style()) + _FOUND)]
            end = match.end()
        return [segment for segment in (*segments, Segment(text[end:], style)) if cell_len(segment.text)]
