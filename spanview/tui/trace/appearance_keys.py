"""What the keys do to the looks of a trace: further columns, room for names, colours, the critical path.

What columns, names and colours were chosen last is kept in the settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.tui.app.settings import chosen
from spanview.tui.trace.appearance import EXTRAS, SELF, ColorBy
from spanview.tui.trace.lit_path import LitPath
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.tui.app.settings import Settings
    from spanview.tui.trace.waterfall import RulerLine, Waterfall
    from spanview.tui.widgets.base_screen import BaseScreen
    from spanview.tui.widgets.legend import Legend

ROOM_FOR_DETAILS: Final = 30
"""Lines from which on the details, and what colours stand for, are shown below the waterfall."""
_LEAST_PERCENT, _PERCENT_STEP, _MOST_PERCENT = 18, 6, 84
"""Of a line, for names."""
_FEW_PROCESSES: Final = 32
"""Processes of which a record each is read within the time that a key may take."""


class AppearanceKeys:
    """Changes what a trace's lines show, and how."""

    def __init__(self, screen: BaseScreen, rows: Waterfall, ruler: RulerLine, legend: Legend) -> None:
        self._screen = screen
        self._model = rows.model
        self._appearance = rows.appearance
        self._rows = rows
        self._ruler = ruler
        self._legend = legend
        self._own_times, self._nodes, self._path = Work(screen), Work(screen), Work(screen)

    def take_settings(self, settings: Settings) -> None:
        """Show the columns and colours that were chosen last."""
        self._appearance.columns = [number for number in settings.columns if number < len(EXTRAS)]
        self._appearance.names_percent = settings.names_percent
        self._ruler.refresh()
        self.find_own_times()
        color_by = chosen(ColorBy, settings.color_by)
        self._with_nodes(color_by, lambda: self._color_by(color_by))

    # -- columns -----------------------------------------------------------------------------------------------------

    def toggle_column(self, number: int) -> None:
        """Show a further column, or leave it out."""
        appearance, viewer = self._appearance, self._screen.viewer
        is_shown = appearance.toggle_column(number)
        viewer.keep(columns=tuple(appearance.columns))
        has_room = number in appearance.columns_in(self._rows.line_width)
        what = "left out" if not is_shown else "shown" if has_room else "has no room here"
        viewer.say(f"{EXTRAS[number].head.lower()} {what}")
        self.find_own_times()
        self._rows.refresh()
        self._ruler.refresh()

    def resize_names(self, by: int) -> None:
        """Give names more of each line, or less."""
        rows, percent = self._rows, self._appearance.names_percent
        before = rows.name_cells
        # On a small screen several steps may have the same room.
        while rows.name_cells == before and _LEAST_PERCENT <= percent + by * _PERCENT_STEP <= _MOST_PERCENT:
            percent += by * _PERCENT_STEP
            self._appearance.names_percent = percent
        after = rows.name_cells
        self._screen.viewer.keep(names_percent=percent)
        self._screen.viewer.say(f"names have {after} cells" + (", all they can" if after == before else ""))
        rows.refresh()
        self._ruler.refresh()

    def find_own_times(self) -> None:
        """Find out the self times of a long trace in a thread, where they are to be shown."""
        if SELF in self._appearance.columns and not self._model.stitched.is_own_known:
            # Behind the painting: one interpreter runs both.
            self._screen.call_after_refresh(
                self._own_times.begin, lambda _: self._model.stitched.own, lambda _: self._rows.refresh()
            )

    # -- colours -----------------------------------------------------------------------------------------------------

    def explain_colors(self) -> None:
        """Show what the colours stand for, where there are several and there is room."""
        self._explain(shown=self._has_room and len(self._appearance.legend()) > 1)

    @property
    def _has_room(self) -> bool:
        return self._screen.size.height >= ROOM_FOR_DETAILS

    def _explain(self, *, shown: bool) -> None:
        if self._screen.app.no_color and shown != self._appearance.is_explained:
            # Letters in the rows say what colours would.
            self._rows.refresh()
        self._legend.display = self._appearance.is_explained = shown
        self._legend.refresh()

    def next_color(self) -> None:
        """Let colours stand for the next thing, and say what they stand for."""
        self._with_nodes(self._appearance.coming_color, self._take_next_color)

    def _take_next_color(self) -> None:
        color_by = self._appearance.next_color()
        self._screen.viewer.keep(color_by=color_by.value)
        self._screen.viewer.say(f"coloured by {color_by.value}")
        self._rows.refresh()
        self._explain(shown=self._has_room)

    def _color_by(self, color_by: ColorBy | None) -> None:
        self._appearance.choose_color(color_by)
        self._rows.refresh()
        self._legend.refresh()

    def _with_nodes(self, color_by: ColorBy | None, do: Callable[[], object]) -> None:
        """Do something when it is known where the processes run, if that is what colours are to stand for."""
        if color_by is ColorBy.NODE and len(unknown := self._appearance.unknown_nodes()) > _FEW_PROCESSES:
            # A record of each process is read again.
            self._nodes.begin(lambda _: self._appearance.learn_nodes(unknown), lambda _: do())
        else:
            do()

    # -- the critical path -------------------------------------------------------------------------------------------

    def toggle_path(self) -> None:
        """Light the critical path up, or let it be."""
        if self._appearance.lit_path is not None:
            self._appearance.lit_path = None
            self._screen.viewer.say("critical path no longer lit")
            self._rows.refresh()
        else:
            self._screen.viewer.say("critical path: looking for it …")
            # Behind the painting: one interpreter runs both.
            model = self._model
            self._screen.call_after_refresh(
                self._path.begin, lambda _: LitPath(model.store, model.stitched), self._light
            )

    def _light(self, path: LitPath) -> None:
        if path.stitched is not self._model.stitched:
            # The trace has grown meanwhile.
            self.toggle_path()
            return
        self._appearance.lit_path = path
        self._screen.viewer.say(path.text)
        self._rows.refresh()

    def trace_was_stitched(self, path: LitPath | None) -> None:
        """Take in that the trace was stitched anew.

        Args:
            path: Its critical path, where one was lit.
        """
        before = self._appearance.lit_path
        if before is None:
            return
        self._appearance.lit_path = path
        if path is not None and path.text != before.text:
            self._screen.viewer.say(path.text)
