"""The lines at the top and the bottom of every screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from spanview.display.cells import fixed, in_lines, name_text
from spanview.display.sanitise import sanitise
from spanview.display.units import count, size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events

    from spanview.index.store import Store
    from spanview.tui.app.feed import FeedState

_BAR = 12
_GAP = "   "
_SHORTEST_NAME = 24
"""Cells that a title's name keeps, where it is longer; else facts behind it go."""
_SHORTEST_ID = len(_GAP) + 8
"""Cells of an id, with what is before it, that still name it."""
_SHORTEST_PATH = 8
"""Cells of a path that still says something."""
_LOOKING: Final = ("looking for silent failures …", "looking …", "…")
BACK: Final = "‹"
"""What the header begins with on screens that one came to from another one."""
_BACK_CELLS: Final = 3
"""Cells of the header that go back."""
_SHARE_OF_SCREEN = 4
"""What the last key did takes so little of the lines at the most: one of four."""


class Wrong(NamedTuple):
    """How much isn't as it should be."""

    errors: int
    """Spans with an error."""
    lost: int
    """Spans that were lost with their processes."""
    unread: int
    """Files that were refused or could not be read."""
    findings: int | None
    """Things that the check finds; None where that isn't known."""
    is_looking: bool = False
    """Whether it is still being found out what failed without an error."""


def totals_text(store: Store, places: Sequence[str], wrong: Wrong, room: int) -> str:
    """Return what was read, in one line.

    Args:
        places: The PATHs; several for which there is no room are counted, and what doesn't fit of one is left out in
            its middle, or all of it.
    """
    table, tallies = store.trace_table, store.tallies
    failed = [count(wrong.errors, "error")] if wrong.errors else []
    failed += [f"{wrong.lost:,} lost"] if wrong.lost else []
    marks = [f"✖ {', '.join(failed)}"] if failed else []
    marks += [f"! {count(wrong.findings, 'finding')}"] if wrong.findings else []
    marks += [f"{tallies.torn:,} torn"] if tallies.torn else []
    marks += [f"{wrong.unread:,} not read"] if wrong.unread else []
    totals = f"{count(len(table), 'trace')} · {count(len(store.spans), 'span')}"
    place = sanitise("  ".join(places), 1000)
    if wrong.is_looking:
        # It goes before long: no path that has room gives way for it.
        taken = cell_len(_GAP.join([f"spanview  {place}", totals, *marks]))
        taken -= cell_len(f"  {place}") if taken > room else 0
        fits = (text for text in _LOOKING if taken + len(_GAP) + cell_len(text) <= room)
        marks.append(next(fits, _LOOKING[-1]))
    whole = _GAP.join(["spanview", totals, *marks])
    left = room - cell_len(whole) - len(_GAP)
    if left >= _SHORTEST_PATH:
        several = count(len(places), "place") if len(places) > 1 else name_text(place, left)
        shown = place if cell_len(place) <= left else several
        return _GAP.join([f"spanview  {shown}" if cell_len(shown) < left else shown, totals, *marks])
    # What is wrong is read first.
    return whole if cell_len(whole) <= room else _GAP.join([*marks, totals])


def state_text(state: FeedState, *, paused: bool) -> str:
    """Return what is going on, in words."""
    if state.failure:
        return f"✖ reading ended: {sanitise(state.failure, 80)}"
    if state.loading:
        if not state.bytes_total:
            return f"reading {size(state.bytes_read)}" if state.bytes_read else "reading"
        done = min(1.0, state.bytes_read / state.bytes_total)
        filled = round(done * _BAR)
        return f"reading {'━' * filled}{'─' * (_BAR - filled)} {done:4.0%}"
    if paused:
        return "‖ paused"
    if state.to_check:
        return f"checking {1 - state.to_check:4.0%}"
    if state.waiting_for:
        more = f" and {len(state.waiting_for) - 1} more" if len(state.waiting_for) > 1 else ""
        return f"○ waiting for {sanitise(state.waiting_for[0], 40)}{more}"
    if state.following:
        word = "● following by polling" if state.polling else "● following"
        return f"{word}   {state.spans_per_second:,.0f} spans/s" if state.spans_per_second >= 0.5 else word  # noqa: PLR2004
    return ""


def title_in(title: str, room: int) -> str:
    """Return a title in so many cells: a long name loses its middle, what stands behind it is cut between two facts.

    Of an id at its end the first digits stay, which name it as well.
    """
    if cell_len(title) <= room:
        return fixed(title, room)
    name, *facts = title.split(_GAP)
    rest = "".join(f"{_GAP}{fact}" for fact in facts)
    if cell_len(name) > room // 2 and cell_len(rest) <= room - _SHORTEST_NAME:
        return fixed(name_text(name, room - cell_len(rest)) + rest, room)
    end = max(title.rfind(between, 0, room - 2 + len(between)) for between in (_GAP, ", ", "; "))
    is_id = " " not in title[end:].strip() and room - end >= _SHORTEST_ID
    return fixed(title if end < len(name) or is_id else f"{title[:end].rstrip()} …", room)


class TwoSided(Widget):
    """One line with a text at each end; the right one is whole, the left one gives way."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._left = self._right = ""

    def say(self, left: str, right: str) -> None:
        """Show other texts; both are safe to print already."""
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self.refresh()

    def render(self) -> Content:
        """Return the line."""
        room = self.size.width - 2
        if self._right:
            room = max(room - cell_len(self._right) - 2, 10)
        text = f" {title_in(self._left, room)}" + (f"  {self._right}" if self._right else "")
        return Content(fixed(text, self.size.width))


class Header(TwoSided):
    """The line at the top; `‹` at its beginning is a button."""

    def __init__(self, go_back: Callable[[], object], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._go_back = go_back

    def on_click(self, event: events.Click) -> None:
        """Go back where `‹`, or a cell beside it, was clicked."""
        if event.x < _BACK_CELLS and self._left.startswith(BACK):
            event.stop()
            self._go_back()


class Footer(TwoSided):
    """The hints, each of which can be clicked: `act` is given the key that it begins with."""

    def __init__(self, act: Callable[[str], object], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._act = act

    @property
    def _hints(self) -> str:
        """The hints that there is room for as a whole."""
        hints = self._left
        while hints and cell_len(hints) > self.size.width - 2:
            hints = hints.rpartition("  ")[0]
        return hints

    def render(self) -> Content:
        """Return the line."""
        return Content(fixed(f" {self._hints}", self.size.width))

    def on_click(self, event: events.Click) -> None:
        """Do what the hint that was clicked says."""
        event.stop()
        end = 1
        for hint in filter(None, self._hints.split("  ")):
            start, end = end, end + cell_len(hint)
            if start <= event.x < end:
                self._act(hint.split()[0])
                return
            end += 2


class Said(Widget):
    """What the last key did, for a while: at the right end, over so many free lines above the footer."""

    def __init__(self, free: int, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._free = free
        self._shown: tuple[str, Size] = "", Size(0, 0)
        self._lines: list[str] = []
        self.display = False

    def say(self, text: str, screen: Size) -> None:
        """Show another text, safe to print already, as much of it as a quarter of the screen takes."""
        if (text, screen) == self._shown:
            return
        self._shown = text, screen
        self.display = bool(text)
        if text:
            lines = in_lines(text, max(1, screen.width - 4))[: max(1, screen.height // _SHARE_OF_SCREEN)]
            width = max(map(cell_len, lines)) + 2
            self._lines = [fixed(f" {line}", width) for line in lines]
            self.styles.width, self.styles.height = width, len(lines)
            self.styles.offset = screen.width - width, -1 - self._free
            self.refresh()

    def render(self) -> Content:
        """Return its lines."""
        return Content("\n".join(self._lines))

    def on_click(self, event: events.Click) -> None:
        """Let a click do nothing to what is below."""
        event.stop()
