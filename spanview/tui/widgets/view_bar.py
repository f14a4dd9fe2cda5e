"""The bar of views under the header: what one can look at, by which key, and of which traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from spanview.display.cells import fixed
from spanview.display.sanitise import sanitise
from spanview.tui.keys import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from textual import events

_MAX_SCOPE: Final = 48
_SHORTEST_SCOPE: Final = 14
"""Cells of a scope, before the names of views give way to it."""
_FOLDED_BELOW: Final = 70
"""Cells below which there is one word only: the view's name."""


class BarState(NamedTuple):
    """What the bar says."""

    view: View
    """The one that one is in."""
    missing: Mapping[View, str]
    """Why there is nothing to see in others."""
    scope: str = ""
    """What the views are narrowed to; empty for all traces. From files, so it is made harmless here."""


class _Piece(NamedTuple):
    text: str
    style: str
    action: str = ""
    """What a click does."""


class ViewBar(Widget):
    """One line, of which a click acts. A view that one is in is lit; one without data is dim.

    `Traces   Groups r   Calls A   …   Check !        in batch` gives way, where there is less room, to names that stand
    closer, then to keys alone from the right, but for the lit view, and on a very narrow screen to its name.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"viewbar--lit", "viewbar--key", "viewbar--dim", "viewbar--scope"}

    def __init__(self, act: Callable[[str], object]) -> None:
        super().__init__()
        self._act = act
        self._state = BarState(View.TRACES, {})

    def show(self, state: BarState) -> None:
        """Show another state."""
        if state != self._state:
            self._state = state
            self.refresh()

    # -- painting ----------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - there is one only
        """Paint the line."""
        segments = [Segment(piece.text, self._style(piece.style)) for piece in self._pieces()]
        strip = Strip(segments).adjust_cell_length(self.size.width)
        return strip.apply_style(Style(color=self.rich_style.color, bgcolor=self.rich_style.bgcolor))

    def _style(self, name: str) -> Style | None:
        if not name:
            return None
        full = self.get_component_rich_style(f"viewbar--{name}")
        return Style(color=full.color, bgcolor=full.bgcolor if name == "lit" else None, bold=full.bold, dim=full.dim)

    def _pieces(self) -> list[_Piece]:
        """Return what stands in the line, as much as there is room for."""
        width = self.size.width
        scope = f"in {sanitise(self._state.scope, _MAX_SCOPE)}" if self._state.scope else ""
        wanted = min(cell_len(scope), _SHORTEST_SCOPE) + 2 if scope else 0
        pieces = [_Piece(f" {self._state.view.label} ▾ ", "lit", "palette")]
        if width >= _FOLDED_BELOW:
            for gap, names in ((3, len(View)), (2, len(View)), *((1, names) for names in range(len(View), -1, -1))):
                pieces = [*self._of_views(gap, names)]
                if sum(cell_len(piece.text) for piece in pieces) + wanted <= width:
                    break
        room = width - sum(cell_len(piece.text) for piece in pieces) - 1
        if scope and room > 3:  # noqa: PLR2004 - a blank and a word
            shown = scope if cell_len(scope) < room else fixed(scope, room - 1).rstrip()
            pieces += [_Piece(" " * (room - cell_len(shown)), ""), _Piece(shown, "scope", "leave_scope")]
        return pieces

    def _of_views(self, gap: int, names: int) -> Iterator[_Piece]:
        """Yield the views so far apart, the first ones and the lit one with their names."""
        is_colorless = self.app.no_color
        for number, view in enumerate(View):
            is_lit, is_dim = view is self._state.view, view in self._state.missing
            if gap > 1:
                yield _Piece(" " * (gap - 2), "")
            # Without colours, brackets light a view, and one without data has no key.
            before, after = "[]" if is_lit and is_colorless else "  "
            key = "–" if is_dim and is_colorless else view.key
            style = "lit" if is_lit else "dim" if is_dim else ""
            yield _Piece(before, style if is_lit else "")
            if number < names or is_lit or not key:
                yield _Piece(view.label + (" " if key else ""), style, view.action)
            yield _Piece(key, style or "key", view.action)
            yield _Piece(after if gap > 1 or is_lit else "", style if is_lit else "")

    # -- the mouse -----------------------------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """Go where it says."""
        event.stop()
        end = 0
        for piece in self._pieces():
            end += cell_len(piece.text)
            if event.x < end:
                if piece.action:
                    self._act(piece.action)
                return
