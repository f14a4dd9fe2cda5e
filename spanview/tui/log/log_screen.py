"""A log in a pager, at the lines of a span; what is appended to it comes in sight as it does with `tail -f`."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from spanview.analysis.logs.lines import Coverage
from spanview.display.cells import name_text
from spanview.display.log_text import line_text
from spanview.display.units import count, size
from spanview.sources.details import reason_of
from spanview.sources.line_file import LineFile
from spanview.tui.keys import On
from spanview.tui.log.log_rows import LogRows
from spanview.tui.log.log_search import LogSearch
from spanview.tui.log.log_window import LogWindow
from spanview.tui.widgets.base_screen import BaseScreen, done_by
from spanview.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from spanview.analysis.logs.lines import SpanLog

_LOOK_INTERVAL_S: Final = 0.5
"""So often it is looked whether the file has grown."""
_MAX_NAME: Final = 34
"""Cells of a file's name; the middle of a longer one is left out."""


class LogScreen(BaseScreen, on=On.LOG):
    """One of the logs of a span, from the line at an offset on."""

    def __init__(self, file: LineFile, offset: int, log: SpanLog, name: str) -> None:
        super().__init__()
        self._log = log
        self._offset = offset
        self._name = name
        self._replaced = set[str]()
        """The paths of logs that aren't those any more of which the span's lines are known."""
        self._prompt = Prompt("a text")
        self.rows: LogRows = LogRows(LogWindow(file, offset), log.sure_of(file.path))
        self._search = LogSearch(self, self.rows, self._prompt)

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield self._prompt
        yield self.rows

    def on_mount(self) -> None:
        """Begin at the line."""
        self.set_focus(self.rows)
        self._show(self.rows.window, self._offset)
        self.set_interval(_LOOK_INTERVAL_S, self._look)

    def on_unmount(self) -> None:
        """Let go of the file."""
        self._search.end()
        self.rows.window.file.close()

    def _show(self, window: LogWindow, offset: int) -> None:
        """Show a file, or what has become of it, at a line."""
        rows = self.rows
        if window is not rows.window:
            rows.window.file.close()
        path = window.file.path
        rows.window, rows.own = window, frozenset() if path in self._replaced else self._log.sure_of(path)
        rows.show_window(window.jump(offset))
        self.refresh_frame()

    def title_text(self) -> str:
        """Return which file it is, how far the cursor is in it, and how many of its lines are the span's."""
        file, rows = self.rows.window.file, self.rows
        end = rows.offset_under_cursor if not rows.is_at_end else file.size
        parts = [f"‹ {name_text(os.path.basename(file.path), _MAX_NAME).rstrip()}", size(file.size)]
        parts += [f"{end / file.size:.0%}"] if file.size else []
        parts += [self._search.state_text] if self._search.state_text else []
        if rows.own:
            parts.append(f"▌ {count(len(rows.own), 'line')} of {self._name}")
        elif any(part.path == file.path and part.coverage is Coverage.PROCESS for part in self._log.parts):
            parts.append("its lines have no times")
        return "   ".join(parts)

    on_line_list_moved = BaseScreen.refresh_frame
    """Say where the cursor is now."""

    # -- a file that changes -----------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Take in what was appended, or that another file is there now."""
        file = self.rows.window.file
        if self.viewer.paused or not self.is_in_front:
            return
        size_before, was_at_end = file.size, self.rows.is_at_end
        if not file.look():
            try:
                window = LogWindow(LineFile(file.path))
            except OSError:
                # Not there yet: what was open can still be read.
                return
            self._replaced.add(file.path)
            self._show(window, window.file.size if was_at_end else 0)
            self.viewer.say("the log was replaced or truncated; showing its new content")
        elif file.size != size_before:
            self.rows.has_grown(stays_at_end=was_at_end)
            self.refresh_frame()

    # -- keys --------------------------------------------------------------------------------------------------------

    action_search, action_match = done_by("_prompt.open"), done_by("_search.go")
    action_pan_text = done_by("rows.pan")

    async def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Mark what is typed; go there at Enter."""
        self._search.type(event.text, done=event.done)

    def action_back(self) -> None:
        """End the search that goes on, then forget it, then go back."""
        if not (self._search.end() or self._search.drop()):
            self.app.pop_screen()

    def action_own_lines(self, by: int) -> None:
        """Go to where the next lines of the span begin, or those before."""
        file, own, here = self.rows.window.file, sorted(self.rows.own), self.rows.offset_under_cursor
        others = own[bisect_right(own, here) :] if by > 0 else own[: bisect_left(own, here)][::-1]
        known = self.rows.own
        begin = next((offset for offset in others if not offset or file.line_start(offset - 1) not in known), None)
        if begin is not None:
            self.rows.go_to(begin)
        else:
            self.viewer.say("no more lines of the span here" if own else "the span's lines aren't known here")

    def action_next_log(self) -> None:
        """Show the next log of the process, or of the request, at the lines of the span."""
        parts = self._log.parts
        paths = [part.path for part in parts]
        path = self.rows.window.file.path
        index = (paths.index(path) + 1) % len(paths) if path in paths else 0
        if not parts or paths[index] == path:
            self.viewer.say("no other log")
            return
        try:
            file = LineFile(paths[index])
        except OSError as error:
            self.viewer.say(f"{os.path.basename(paths[index])}: {reason_of(error)}")
            return
        lines = parts[index].lines
        is_known = lines and paths[index] not in self._replaced
        self._show(LogWindow(file), lines[0].offset if is_known else 0)

    def action_copy(self) -> None:
        """Copy the line."""
        if self.rows.row_count:
            self.viewer.copy(line_text(self.rows.window.line(self.rows.cursor)), "line")
