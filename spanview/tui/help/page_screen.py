"""One page of the manual."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spanview.display.page_text import MAX_WIDTH, page_console, typeset
from spanview.docs import text_of
from spanview.tui.keys import On
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.linelist import LineList

if TYPE_CHECKING:
    from rich.segment import Segment
    from textual import events


class PageLines(LineList):
    """The lines of a page, set anew for each width."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._text = text_of(page)
        self._lines: list[list[Segment]] = []
        self._width = 0
        """Cells that they were set for."""
        self._has_old_colors = False

    def on_mount(self) -> None:
        """Set the page."""
        self._typeset()

    def on_resize(self, _event: events.Resize) -> None:
        """Set the page anew where there is more or less room."""
        if self.line_width != self._width:
            self._typeset()

    def notify_style_update(self) -> None:
        """Set the page in the colours of another theme, which are known when it is painted."""
        super().notify_style_update()
        self._has_old_colors = True

    def _typeset(self) -> None:
        self._set_lines()
        self.rows_have_changed(len(self._lines))

    def _set_lines(self) -> None:
        self._width, self._has_old_colors = self.line_width, False
        console = page_console(self.paint_style("accent"), width=max(20, min(self._width, MAX_WIDTH)))
        self._lines = console.render_lines(typeset(self._text), pad=False)

    def segments_of(self, row: int, width: int) -> list[Segment]:  # noqa: ARG002 - it is set for the width
        """Return one line."""
        if self._has_old_colors:
            self._set_lines()
        return self._lines[row]


class PageScreen(BaseScreen, on=On.HELP):
    """A page of the manual, one of `docs.PAGES`."""

    HINTS: ClassVar[str] = "? keys  Esc back"

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: PageLines = PageLines(page)
        self._page = page

    def on_mount(self) -> None:
        """Take the keys."""
        self.set_focus(self.rows)
        self.refresh_frame()

    def title_text(self) -> str:
        """Return the header."""
        return f"‹ {self._page}"

    action_help = BaseScreen.action_back
