"""A line in which a query or a key is typed, and what it may be going to be: the rest behind the cursor, all below."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

from rich.cells import cell_len
from textual.actions import SkipAction
from textual.binding import Binding
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input

from spanview.display.cells import fixed
from spanview.display.sanitise import meant, sanitise, typed
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.binding import BindingType

    from spanview.analysis.query.complete import Candidate, Completion
    from spanview.tui.widgets.known import Known
    from spanview.tui.widgets.work import Owner

_INDENT: Final = 2
_WIDEST: Final = 40
"""Cells of one text; also characters of the rest behind the cursor."""
_LONGEST_QUERY: Final = 4096
Offered: TypeAlias = "Callable[[Completion | None, int, bool], object]"
"""Takes what can be taken now, which one of it is chosen, and whether taking it makes a query of what is none yet."""


class CompletingLine(Input):
    """A line that knows how what is typed may go on, where somebody has told it what there is.

    Finding that never comes before what is typed is shown: it has its turn behind the key.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "take", show=False),
        Binding("up", "choose(-1)", show=False),
        Binding("down", "choose(1)", show=False),
    ]

    known: Known | None = None
    """What there is to ask for; None where nothing is proposed."""
    begins_below: bool = False
    """Whether the arrows are for what stands below, and nothing is proposed, while nothing is typed."""

    def __init__(self, text: str, hint: str, offered: Offered, *, is_key: bool) -> None:
        super().__init__(text, placeholder=hint, select_on_focus=False)
        self._offered = offered
        self._is_key = is_key
        self._completion: Completion | None = None
        self._found_for: tuple[object, ...] = ()
        self._chosen = 0
        self._has_chosen = False
        self._is_offering = False

    def watch_value(self) -> None:
        """Take note that something else is typed."""
        self._offer_later()

    def watch_selection(self) -> None:
        """Take note that the cursor stands elsewhere."""
        self._offer_later()

    def _offer_later(self) -> None:
        if self.known is not None and self.is_mounted and not self._is_offering:
            self._is_offering = True
            self.call_next(self.offer)

    def offer(self) -> None:
        """Show what can be taken now."""
        self._is_offering = False
        if not self.is_mounted or self.app.focused is not self:
            return
        completion = self._find()
        self._suggestion = ""
        mends = False
        if completion is not None and completion.candidates:
            candidate = completion.candidates[self._chosen]
            mends = self._is_mended()
            if self.cursor_at_end and candidate.rest and (completion.is_started or self._has_chosen):
                self._suggestion = f"{self.value}{sanitise(candidate.rest, _WIDEST)}"
        self._offered(completion, self._chosen, mends)

    def _find(self) -> Completion | None:
        """Return what can be taken with what is typed right now."""
        if self.known is None or (self.begins_below and not self.value):
            return None
        self._gather()
        vocabulary = self.known.vocabulary()
        state = self.value, *self.selection, vocabulary
        if state != self._found_for:
            from spanview.analysis.query.complete import complete, complete_key

            self._found_for = state
            self._chosen, self._has_chosen, self._completion = 0, False, None
            before, query = meant(self.value[: self.cursor_position]), meant(self.value)
            # The cursor may stand within what is shown for one character.
            if self.selection.is_empty and query.startswith(before) and len(query) <= _LONGEST_QUERY:
                find = complete_key if self._is_key else complete
                self._completion = find(query, len(before), vocabulary)
        return self._completion

    def _gather(self) -> None:
        """Let a thread look for attributes, where that was not done yet."""
        if self.known is not None and self.known.begin_gathering():
            # The application's: what is found is of use to the next line, too.
            Work(cast("Owner", self.app)).begin(self.known.gather, lambda _: self.offer())

    def _taken(self) -> tuple[str, int, int] | None:
        """Return what is written when the chosen one is taken, and the places in the line that it takes."""
        completion = self._find()
        if completion is None or not completion.candidates:
            return None
        query = meant(self.value)
        start, end = (len(typed(query[:position])) for position in (completion.start, completion.end))
        return typed(completion.candidates[self._chosen].text), start, end

    def _is_mended(self) -> bool:
        from spanview.analysis.query.query import parse_query
        from spanview.model.problems import QueryError

        taken = self._taken()
        if taken is None or self._is_key:
            return False
        text, start, end = taken
        try:
            parse_query(meant(f"{self.value[:start]}{text}{self.value[end:]}"))
        except QueryError:
            return False
        return True

    def action_take(self) -> None:
        """Take what is offered, if anything is; the line keeps the keys."""
        taken = self._taken()
        if taken is not None:
            self.replace(*taken)

    def action_choose(self, by: int) -> None:
        """Offer the next of what can be taken, or the one before."""
        completion = self._find()
        if completion is None or not completion.candidates or (completion.is_started and completion.total == 1):
            # Where there is nothing to choose from, they move in what stands below.
            raise SkipAction
        self._chosen = (self._chosen + by) % len(completion.candidates)
        self._has_chosen = True
        self.offer()

    def take(self, number: int) -> None:
        """Take one of what is offered, by its place."""
        completion = self._find()
        if completion is not None and number < len(completion.candidates):
            self._chosen = number
            self.action_take()

    def action_cursor_right(self, select: bool = False) -> None:  # noqa: FBT001, FBT002 - as Textual has it
        """Go right; at the end of the line, take what stands behind the cursor."""
        self.offer()
        if not select and self.cursor_at_end and self._suggestion:
            self.action_take()
        else:
            super().action_cursor_right(select)


def _shown(candidate: Candidate) -> str:
    text = sanitise(candidate.shown, _WIDEST)
    text = fixed(text, min(cell_len(text), _WIDEST))
    return text if candidate.spans is None else f"{text} ×{candidate.spans:,}"


class Offers(Widget):
    """One line with what can be taken; the chosen one is marked, and a click takes one."""

    def __init__(self, take: Callable[[int], object]) -> None:
        super().__init__()
        self._take = take
        self._texts: Sequence[str] = ()
        self._chosen = self._total = 0

    def show(self, completion: Completion | None, chosen: int) -> None:
        """Show what can be taken."""
        shown = () if completion is None else tuple(map(_shown, completion.candidates))
        total = 0 if completion is None else completion.total
        if (shown, chosen, total) != (self._texts, self._chosen, self._total):
            self._texts, self._chosen, self._total = shown, chosen, total
            self.refresh()

    def _says(self) -> str:
        return f"{self._chosen + 1} of {self._total:,}  ↑↓  Tab takes it " if self._texts else ""

    def _places(self) -> list[tuple[int, int, int, str]]:
        """Return number, first cell, cells and text of those in sight, the chosen one among them."""
        room = self.size.width - _INDENT - cell_len(self._says()) - 1
        places: list[tuple[int, int, int, str]] = []
        used = 0
        for number, candidate in enumerate(self._texts):
            text = fixed(candidate, min(cell_len(candidate), max(room - 2, 1)))
            cells = cell_len(text) + 2
            if used + cells > room and places:
                if number > self._chosen:
                    break
                places, used = [], 0
            places.append((number, _INDENT + used, cells, text))
            used += cells
        return places

    def render(self) -> Content:
        """Return the line."""
        parts: list[tuple[str, str]] = [(" " * _INDENT, "")]
        end = _INDENT
        for number, _, cells, text in self._places():
            is_chosen = number == self._chosen
            parts.append((f"{'›' if is_chosen else ' '}{text} ", "bold $foreground" if is_chosen else ""))
            end += cells
        says = self._says()
        parts.append((" " * max(0, self.size.width - end - cell_len(says)) + says, ""))
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        """Take what was clicked."""
        event.stop()
        for number, start, cells, _ in self._places():
            if start <= event.x < start + cells:
                self._take(number)
