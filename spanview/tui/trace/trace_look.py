"""How a trace is shown, as it was chosen last: further columns, what colours stand for, folded runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from spanview.tui.app.settings import chosen
from spanview.tui.trace.trace_facets import EXTRAS, SELF, ColorBy
from spanview.tui.trace.trace_search import SearchedTrace
from spanview.tui.trace.waterfall import RulerLine
from spanview.tui.widgets.legend import Legend

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.tui.trace.trace_facets import LitPath
    from spanview.tui.trace.trace_shape import Shape

ROOM_FOR_DETAILS: Final = 30
"""Lines from which on the details, and what colours stand for, are shown below the waterfall."""
_LEAST_PERCENT, _PERCENT_STEP, _MOST_PERCENT = 18, 6, 84
"""Of a line, for names."""
_FEW_NODES: Final = 32
"""Processes of which a record each is read within the time that a key may take."""


class FacetedTrace(SearchedTrace):
    """What a trace's screen does to show its facets."""

    def take_settings(self) -> None:
        """Show the columns, colours and folds that were chosen last."""
        settings = self.viewer.settings
        self.join(joins=settings.joins)
        # Nodes have other numbers by now.
        node = self.rows.node
        self._facets.shown = [number for number in settings.columns if number < len(EXTRAS)]
        self._facets.names_percent = settings.names_percent
        if settings.folds != self._model.folds:
            self._model.toggle_folds()
        self.refold(node)
        self.query_one(RulerLine).refresh()
        self._find_own_times()
        color_by = chosen(ColorBy, settings.color_by)
        self._with_nodes(color_by, partial(self._color_by, color_by))

    # -- columns -----------------------------------------------------------------------------------------------------

    def action_column(self, number: int) -> None:
        """Show a further column, or leave it out."""
        shown = self._facets.toggle(number)
        self.viewer.keep(columns=tuple(self._facets.shown))
        has_room = number in self._facets.shown_in(self.rows.line_width)
        said = "left out" if not shown else "shown" if has_room else "has no room here"
        self.viewer.say(f"{EXTRAS[number].head.lower()} {said}")
        self._find_own_times()
        self.rows.refresh()
        self.query_one(RulerLine).refresh()

    def action_names(self, by: int) -> None:
        """Give names more of each line, or less."""
        before, percent = self.rows.name_cells, self._facets.names_percent
        # On a small screen several steps may have the same room.
        while self.rows.name_cells == before and _LEAST_PERCENT <= percent + by * _PERCENT_STEP <= _MOST_PERCENT:
            percent += by * _PERCENT_STEP
            self._facets.names_percent = percent
        after = self.rows.name_cells
        self.viewer.keep(names_percent=percent)
        self.viewer.say(f"names have {after} cells" + (", all they can" if after == before else ""))
        self.rows.refresh()
        self.query_one(RulerLine).refresh()

    def _show(self, shape: Shape, lit: LitPath | None) -> None:
        super()._show(shape, lit)
        self._find_own_times()
        # What has come may be the first that is told apart.
        self.explain_colors(self.size.height)

    def _find_own_times(self) -> None:
        """Find out the self times of a long trace in a thread, where they are to be shown."""
        if SELF in self._facets.shown and not self._model.shape.is_own_known:
            # Behind the painting: one interpreter runs both.
            self.call_after_refresh(self.run_worker, self._find_own, thread=True, group="own", exclusive=True)

    def _find_own(self) -> None:
        """Called in a thread."""
        worker, shape = get_current_worker(), self._model.shape
        _ = shape.own
        if not worker.is_cancelled:
            self.app.call_from_thread(self._repaint)

    def _repaint(self) -> None:
        if not self.is_left:
            self.rows.refresh()

    # -- calls -------------------------------------------------------------------------------------------------------

    def action_join_calls(self) -> None:
        """Show each Ray call with one attempt as one row, or as its two spans."""
        self.viewer.keep(joins=not self.joins)
        self.join(joins=not self.joins)
        self.viewer.say("a row for each Ray call" if self.joins else "a row for each span")

    # -- colours -----------------------------------------------------------------------------------------------------

    def explain_colors(self, height: int) -> None:
        """Show what the colours stand for, where there are several and there is room."""
        self._explain(shown=height >= ROOM_FOR_DETAILS and len(self._facets.legend()) > 1)

    def _explain(self, *, shown: bool) -> None:
        legend = self.query_one(Legend)
        if self.app.no_color and shown != self._facets.is_explained:
            # Letters in the rows say what colours would.
            self.rows.refresh()
        legend.display = self._facets.is_explained = shown
        legend.refresh()

    def action_color(self) -> None:
        """Let colours stand for the next thing, and say what they stand for."""
        self._with_nodes(self._facets.coming_color, self._next_color)

    def _next_color(self) -> None:
        color_by = self._facets.next_color()
        self.viewer.keep(color_by=color_by.value)
        self.viewer.say(f"coloured by {color_by.value}")
        self.rows.refresh()
        self._explain(shown=self.size.height >= ROOM_FOR_DETAILS)

    def _color_by(self, color_by: ColorBy | None) -> None:
        self._facets.choose(color_by)
        self.rows.refresh()
        self.query_one(Legend).refresh()

    def _with_nodes(self, color_by: ColorBy | None, do: Callable[[], None]) -> None:
        """Do something when it is known where the processes run, if that is what colours are to stand for."""
        if color_by is ColorBy.NODE and len(unknown := self._facets.unknown_nodes()) > _FEW_NODES:
            self.run_worker(partial(self._learn_nodes, unknown, do), thread=True, group="nodes", exclusive=True)
        else:
            do()

    def _learn_nodes(self, rows: list[int], do: Callable[[], None]) -> None:
        """Called in a thread: a record of each process is read again."""
        worker = get_current_worker()
        self._facets.learn_nodes(rows)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._do, do)

    def _do(self, do: Callable[[], None]) -> None:
        if not self.is_left:
            do()

    # -- runs --------------------------------------------------------------------------------------------------------

    def action_runs(self) -> None:
        """Fold runs of like siblings into a row each, or show each sibling."""
        node = self.rows.node
        folds = self._model.toggle_folds()
        self.viewer.keep(folds=folds)
        self.refold(node)
        self.viewer.say("like siblings are one row each; → shows them" if folds else "each sibling has its row")
