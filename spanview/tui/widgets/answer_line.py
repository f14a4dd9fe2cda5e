"""The line that says where the time went, for as long as a screen shows it: of one trace, or of many."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from spanview.display.cells import fixed, in_lines
from spanview.tui.widgets.live import Live

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.timer import Timer

    from spanview.analysis.answer import TypicalAnswers
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.widgets.base_screen import BaseScreen
    from spanview.tui.widgets.scope import TraceScope

_BETWEEN: Final = "   "
_MOST_LINES: Final = 2
CURSOR_RESTS_S: Final = 0.08
"""Who walks on within this time passes by."""


class AnswerLine(Widget):
    """One line, or two where one has no room for all; it has its place before anything is known."""

    class Resized(Message):
        """The answer has other lines than before: what shares the screen with it has others, too."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: Sequence[str] = ()
        self._hint = ""
        self._line_count = 1

    def say(self, texts: Sequence[str], hint: str = "") -> None:
        """Show something else; all is safe to print already.

        Args:
            texts: The longest one first, then ever shorter ones; the first for which there is room is shown.
        """
        if (texts, hint) != (self._texts, self._hint):
            self._texts, self._hint = texts, hint
            self._take_room()
            self.refresh()

    def on_resize(self) -> None:
        """Take as many lines as are needed now."""
        self._take_room()
        self.post_message(self.Resized())

    def _take_room(self) -> None:
        # Before it is mounted there is no size, and one line is its height. Another one has the screen laid out anew.
        if self.size.width and (count := len(self._lines())) != self._line_count:
            self.styles.height = self._line_count = count

    def _lines(self) -> list[str]:
        """Return the first text that one line, or else two have room for; in two, what stands apart begins the second.

        A hint has room in what is left of the last line.
        """
        room = self.size.width - 2
        lines = next(filter(None, (_in_two(text, room) for text in self._texts)), None)
        if lines is None:
            lines = [self._texts[-1] if self._texts else "…"]
        if self._hint and self._texts and cell_len(lines[-1]) + len(_BETWEEN) + cell_len(self._hint) <= room:
            lines[-1] += _BETWEEN + self._hint
        return lines

    def render(self) -> Content:
        """Return the lines."""
        return Content("\n".join(fixed(f" {line}", self.size.width) for line in self._lines()))


def _in_two(text: str, room: int) -> list[str] | None:
    """Return a text in one line, or in two, parted between its parts if it can be; None if these have no room."""
    if cell_len(text) <= room:
        return [text]
    for mark, lead in ((_BETWEEN, ""), (" + ", "+ ")):
        places = [match.start() for match in re.finditer(re.escape(mark), text)]
        parted = ([text[:place], lead + text[place + len(mark) :]] for place in reversed(places))
        if lines := next((lines for lines in parted if max(map(cell_len, lines)) <= room), None):
            return lines
    lines = in_lines(text, room)
    return lines if len(lines) <= _MOST_LINES else None


class TypicalLine(AnswerLine):
    """Where the time of the median trace and of the slowest one went, of the traces that a screen is about."""

    def __init__(self, screen: BaseScreen, store: Store, scope: TraceScope) -> None:
        super().__init__()
        self._screen = screen
        self._store = store
        self._timer: Timer | None = None
        self._followed: object = None
        """What `follow` was told last."""
        self.live: Live[TypicalAnswers | None] = Live(screen, scope, self._find, self._take)

    def follow(self, selected: object) -> None:
        """Say it of other traces when the cursor rests on what the scope chooses them by."""
        if selected == self._followed:
            return
        self._followed = selected
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._screen.set_timer(CURSOR_RESTS_S, self._begin)

    def _begin(self) -> None:
        if self.display and not self._screen.is_left and self.live.scope.version() != self.live.version:
            self.live.begin()

    def _find(self, traces: Sequence[int] | None, tell: Tell) -> TypicalAnswers | None:
        """Called in a thread."""
        from spanview.analysis.answer import typical_answers

        return typical_answers(self._store, traces, tell)

    def _take(self, answers: TypicalAnswers | None) -> None:
        from spanview.display.answer_text import typical_texts

        chosen = self.live.chosen
        what = f"all {chosen.what}" if chosen.traces is None and len(self._store.trace_table) > 1 else chosen.what
        self.say(typical_texts(answers, of=what) if answers is not None else [f"{what}: no trace has ended"])
