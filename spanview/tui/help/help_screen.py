"""The keys, from the one table, and the pages of the manual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment

from spanview.analysis.ray.wait_causes import LETTERS
from spanview.display.cells import in_lines
from spanview.docs import PAGES, summary_of, text_of
from spanview.tui.keys import KEYS, Key, KeyGroup, On, keys_on, spelt
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.linelist import LineList

if TYPE_CHECKING:
    from textual import events

_SHOWN: Final = 15
"""Cells before what a key does."""
_CAUSES: Final = ", ".join(f"{letter} {cause.brief}" for cause, letter in LETTERS.items())
HelpLine: TypeAlias = "Key | Page | Sign | str"
"""What a line of the help is of."""


class WrappedLines(LineList):
    """Lines that are made anew where there is more or less room."""

    _width = 0
    """Cells that they were made for."""

    def on_mount(self) -> None:
        """Make the lines."""
        self.wrap()

    def on_resize(self, _event: events.Resize) -> None:
        """Make them for another width."""
        if self.line_width != self._width:
            self.wrap()

    def wrap(self) -> None:
        """Make them for the width that there is now."""
        raise NotImplementedError


class PageLines(WrappedLines):
    """The lines of a page, set anew for each width."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._text = text_of(page)
        self._lines: list[list[Segment]] = []
        self._has_old_colors = False

    def notify_style_update(self) -> None:
        """Set the page in the colours of another theme, which are known when it is painted."""
        super().notify_style_update()
        self._has_old_colors = True

    def wrap(self) -> None:
        """Set the page."""
        self._set_lines()
        self.rows_have_changed(len(self._lines))

    def _set_lines(self) -> None:
        from spanview.display.page_text import MAX_WIDTH, page_console, typeset

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


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the manual in the list."""

    shown: str
    """Its name."""
    text: str
    """What it is about."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Something that is drawn on a screen."""

    shown: str
    text: str
    """What it stands for."""


_SIGNS: Final = (
    (
        On.TRACES | On.TRACE,
        Sign("●", "still coming in: a span has just arrived, or a process that will write one is alive"),
    ),
    (On.TRACES, Sign("◌", "incomplete: a parent is in none of the files, a span has no end, or a call may still run")),
    (On.TRACES | On.TRACE, Sign("✖", "an error: a span whose status is ERROR")),
    (
        On.TRACES,
        Sign("!", "something failed without an error status: a status code of 400 or above, or a lost call or span"),
    ),
    (On.TRACES | On.TRACE, Sign("12 s…", "so far: one of its spans is running")),
    (On.TRACES | On.TRACE, Sign("≥ 12 s", "at least: one of its spans was lost or stopped, and may have ended later")),
    (On.TRACES, Sign("1 finding", "what Check concluded from all spans, one for each kind")),
    (On.TRACES, Sign("2 torn", "damaged records, mostly incomplete; each is also a problem under Check")),
    (On.TRACES, Sign("3 not read", "files and folders that were refused or can't be read; also problems under Check")),
    (On.CHECK, Sign("finding", "concluded from all spans, one for each kind; ×9 counts spans or files")),
    (On.CHECK, Sign("problem", "a file, or a part of it, that can't be read as spans; findings may count it, too")),
    (On.CHECK, Sign("likely", "the count is certain, the cause is not")),
    (On.TRACES, Sign("≡", "likely several runs with the same ids: different spans share them")),
    (
        On.TRACES,
        Sign("▂▅█", "in the plot: number of traces with this duration at this time; · is a trace of another group"),
    ),
    (On.TRACE, Sign("████", "the span itself runs")),
    (On.TRACE, Sign("████", "dim: something below it runs; without colours, ░░░░")),
    (On.TRACE, Sign("┈┈┈┈", "submitted, waiting to start")),
    (On.TRACE, Sign("a┈┈r┈", f"the same, if Ray's own events say what for: {_CAUSES}")),
    (On.TRACE, Sign("────", "being submitted")),
    (On.TRACE, Sign("╌╌╌╌", "not seen: a missing parent, or an end that was never written")),
    (On.TRACE, Sign("░▒▓█", "similar siblings in one row: how many of them are running")),
    (On.TRACE, Sign("◆", "an event")),
    (On.TRACE, Sign("•", "on the critical path, if c highlights it; everything else is dim")),
    (On.TRACE, Sign("‹ ›", "it runs before or after the visible time")),
    (On.TRACE, Sign("?", "a parent that is in none of the files, with a guess at what it is")),
    (On.TRACE, Sign("a b c", "letters before names, without colours: see the colour legend")),
)
"""What is drawn where."""


class KeyLines(WrappedLines):
    """A line a key, or more where what it does has no room on one."""

    def __init__(self, keys: list[HelpLine], *, spells: bool) -> None:
        super().__init__()
        self._keys = keys
        self._spells = spells
        self._lines: list[tuple[HelpLine, str, str]] = []
        """What each line is of, the key as it is shown, and what it does."""

    @property
    def selected(self) -> HelpLine | None:
        """What the cursor stands on; None before there are lines."""
        return self._lines[self.cursor][0] if self._lines else None

    def wrap(self) -> None:
        """Break what keys do into lines."""
        width, selected = self.line_width, self.selected
        self._width, self._lines = width, []
        for key in self._keys:
            if isinstance(key, str):
                self._lines += [(key, "", text) for text in in_lines(key, max(1, width - 1))]
                continue
            shown = f"   {spelt(key.shown) if self._spells else key.shown} "
            first, *more = in_lines(key.text, max(1, width - max(_SHOWN, cell_len(shown))))
            self._lines += [(key, shown, first), *((key, "", text) for text in more)]
        line_number = next((line_number for line_number, line in enumerate(self._lines) if line[0] is selected), 0)
        self.rows_have_changed(len(self._lines), line_number)

    def segments_of(self, row: int, width: int) -> list[Segment]:  # noqa: ARG002 - it is wrapped
        """Return one line."""
        key, shown, text = self._lines[row]
        if isinstance(key, str):
            return [Segment(f" {text}", self.paint_style("dim"))]
        padding = " " * max(0, _SHOWN - cell_len(shown))
        return [Segment(f"{shown}{padding}", self.paint_style("accent")), Segment(text)]


class HelpScreen(BaseScreen, on=On.HELP):
    """What the keys do; those of the screen below come first, and are done from here too."""

    def __init__(self, below: BaseScreen) -> None:
        super().__init__()
        self._below = below
        here, others = keys_on(below.ON), [key for key in KEYS if not key.on & below.ON]
        lines: list[HelpLine] = ["on this screen"]
        for group in KeyGroup:
            keys = [key for key in here if key.group is group]
            lines += ["", group.value, *keys] if keys else []
        signs = [sign for on, sign in _SIGNS if on & below.ON]
        lines += ["", "what is drawn", *signs] if signs else []
        lines += ["", "the mouse: click selects, a second click opens, the wheel scrolls; a column's head sorts"]
        lines += ["while typing: Tab takes what is proposed, ↑ ↓ mark another, a click takes one"]
        lines.append("a hint in the footer does what it says, and so do the lines above: ? and : have the rest")
        if others:
            lines += ["", "on the other screens", *others]
        lines += ["", "pages of the manual", *(Page(page, summary_of(page)) for page in PAGES)]
        self.rows: KeyLines = KeyLines(lines, spells=self.viewer.spells)

    def on_mount(self) -> None:
        """Take the keys."""
        self.set_focus(self.rows)
        self.refresh_frame()

    def title_text(self) -> str:
        """Return the header."""
        return "‹ keys"

    async def action_open(self) -> None:
        """Do what the cursor stands on, on the screen that this one was called from; open a page."""
        key = self.rows.selected
        if isinstance(key, Page):
            await self.app.push_screen(PageScreen(key.shown))
        if isinstance(key, Key) and key.on & self._below.ON:
            self.app.pop_screen()
            if key.action != "help":
                await self._below.run_action(key.action)

    action_help = BaseScreen.action_back
