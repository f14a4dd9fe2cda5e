"""Finding a text in a log, in a thread: the file may be long."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spanview.analysis.telling import part
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from spanview.analysis.telling import Tell
    from spanview.sources.line_file import LineFile
    from spanview.tui.log.log_rows import LogRows
    from spanview.tui.widgets.base_screen import BaseScreen
    from spanview.tui.widgets.prompt import Prompt


class LogSearch:
    """Goes to lines that have a text in them; capital letters match themselves only, others both."""

    def __init__(self, screen: BaseScreen, rows: LogRows, prompt: Prompt) -> None:
        self._screen = screen
        self._rows = rows
        self._prompt = prompt
        self._text = ""
        self._work = Work(screen)

    @property
    def state_text(self) -> str:
        """How far it is; empty where nothing is searched for."""
        return f"searching {self._work.share_text}" if self._work.is_busy else ""

    def type(self, text: str, *, done: bool) -> None:
        """Mark what matches in sight; where `done`, after Enter, go to the first line that does."""
        self._text = text
        folds_case = text == text.lower()
        self._rows.found = re.compile(re.escape(text), re.IGNORECASE if folds_case else 0) if text else None
        self._rows.refresh()
        self._prompt.say("")
        if not done:
            return
        self._screen.set_focus(self._rows)
        if text:
            self._begin(1, begins_here=True)
        else:
            self._prompt.clear()

    def go(self, by: int) -> None:
        """Go to the next line that matches, or the one before; round the end if need be."""
        if self._text:
            self._begin(by, begins_here=False)
        else:
            self._screen.viewer.say("nothing to repeat: / starts a search")

    def _begin(self, by: int, *, begins_here: bool) -> None:
        file, start, text = self._rows.window.file, self._rows.offset_under_cursor, self._text
        if by > 0 and not begins_here:
            start = file.line_end(start)
        self._work.begin(lambda tell: _find(file, text, start, by, tell), lambda found: self._take(file, *found))

    def _take(self, file: LineFile, offset: int | None, is_round: bool) -> None:  # noqa: FBT001 - as it was found
        if file is not self._rows.window.file:
            return
        if offset is None:
            self._prompt.say("no match")
            return
        self._prompt.say("wrapped around, n N" if is_round else "n N")
        self._rows.go_to(offset)

    def end(self) -> bool:
        """End the search that goes on; return False where none does."""
        return self._work.end()

    def drop(self) -> bool:
        """Forget what was searched for; return False where nothing was."""
        if not self._prompt.display:
            return False
        self._work.end()
        self._prompt.clear()
        self._text, self._rows.found = "", None
        self._rows.refresh()
        self._screen.set_focus(self._rows)
        return True


def _find(file: LineFile, text: str, start: int, by: int, tell: Tell) -> tuple[int | None, bool]:
    """Called in a thread: return the line, and whether the search went round the end of the file."""
    needle, folds_case = text.encode("utf-8", "replace"), text == text.lower()
    offset = file.find(needle, start, by, part(tell, 0.0, 0.5), folds_case=folds_case)
    if offset is not None:
        return offset, False
    edge = 0 if by > 0 else file.size
    return file.find(needle, edge, by, part(tell, 0.5, 1.0), folds_case=folds_case), True
