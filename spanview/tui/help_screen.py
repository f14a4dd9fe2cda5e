"""The keys, from the one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment

from spanview.tui.base_screen import BaseScreen, bindings_of
from spanview.tui.header import TwoSided
from spanview.tui.keys import KEYS, Key, On, spelt
from spanview.tui.linelist import LineList

if TYPE_CHECKING:
    from textual.app import ComposeResult


class KeyLines(LineList):
    """A line a key."""

    def __init__(self, keys: list[Key | str], *, spells: bool, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._keys = keys
        self._spells = spells

    def on_mount(self) -> None:
        """Show the keys."""
        self.rows_have_changed(len(self._keys), 0)

    def segments_of(self, row: int, width: int) -> list[Segment]:  # noqa: ARG002 - a line of any width
        """Return one line."""
        key = self._keys[row]
        if isinstance(key, str):
            return [Segment(f" {key}", self.paint_style("dim"))]
        shown = spelt(key.shown) if self._spells else key.shown
        padding = " " * max(1, 12 - cell_len(shown))
        return [Segment(f"   {shown}{padding}", self.paint_style("accent")), Segment(key.text)]


class HelpScreen(BaseScreen):
    """What the keys do; those of the screen it was called from come first, and are done from here too.

    Args:
        below: The screen it was called from.
    """

    ON: ClassVar[On] = On.HELP
    BINDINGS = bindings_of(On.HELP)

    def __init__(self, below: BaseScreen) -> None:
        super().__init__()
        self._below = below
        here = [key for key in KEYS if key.on & below.ON]
        others = [key for key in KEYS if not key.on & below.ON]
        self._lines: list[Key | str] = ["on this screen", *here]
        if others:
            self._lines += ["", "on the other screens", *others]
        self._lines += ["", "the mouse: click selects, a second click opens, the wheel scrolls; a column's head sorts"]
        self._lines += ["while typing: Tab takes what is proposed, ↑ ↓ mark another, a click takes one"]
        self._lines.append("a hint in the footer does what it says, and so do the lines above: ? and : have the rest")

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield KeyLines(self._lines, spells=self.viewer.spells)
        yield self.footer()

    @property
    def rows(self) -> LineList:
        """The lines."""
        return self.query_one(KeyLines)

    def on_mount(self) -> None:
        """Take the keys."""
        self.set_focus(self.rows)
        self.refresh_frame()

    def title_text(self) -> str:
        """Return the header."""
        return "‹ keys"

    async def action_open(self) -> None:
        """Do what the cursor stands on, on the screen that this one was called from."""
        key = self._lines[self.rows.cursor]
        if isinstance(key, Key) and key.on & self._below.ON:
            self.app.pop_screen()
            if key.action != "help":
                await self._below.run_action(key.action)

    async def action_help(self) -> None:
        """Go back."""
        self.app.pop_screen()

    def action_copy(self) -> None:
        """Say that there is nothing to copy."""
        self.viewer.say("there is nothing to copy here")
