"""How a trace is shown, as it was chosen last: further columns, what colours stand for, folded runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.tui.legend import Legend
from spanview.tui.settings import chosen
from spanview.tui.trace_facets import EXTRAS, ColorBy, Facets
from spanview.tui.trace_search import SearchedTrace
from spanview.tui.waterfall import RulerLine

if TYPE_CHECKING:
    from spanview.index.store import Store
    from spanview.tui.trace_model import TraceModel

ROOM_FOR_DETAILS: Final = 30
"""Lines from which on the details, and what colours stand for, are shown below the waterfall."""


class FacetedTrace(SearchedTrace):
    """What a trace's screen does to show its facets.

    Args:
        store: The store.
        model: The trace.
    """

    def __init__(self, store: Store, model: TraceModel) -> None:
        super().__init__(store, model)
        self._facets = Facets(store, model)

    def take_settings(self) -> None:
        """Show the columns, colours and folds that were chosen last."""
        settings, node = self.viewer.settings, self.rows.node
        self._facets.shown = [number for number in settings.columns if number < len(EXTRAS)]
        self._facets.choose(chosen(ColorBy, settings.color_by))
        if settings.folds != self._model.folds:
            self._model.toggle_folds()
        self._refold(node)
        self.query_one(RulerLine).refresh()
        self.query_one(Legend).refresh()

    def _explain(self, *, shown: bool) -> None:
        """Show what the colours stand for, or don't."""
        legend = self.query_one(Legend)
        legend.display = self._facets.is_explained = shown
        legend.refresh()

    def action_column(self, number: int) -> None:
        """Show a further column, or leave it out."""
        shown = self._facets.toggle(number)
        self.viewer.keep(columns=tuple(self._facets.shown))
        self.viewer.say(f"{EXTRAS[number].head.lower()} {'shown' if shown else 'left out'}")
        self.rows.refresh()
        self.query_one(RulerLine).refresh()

    def action_color(self) -> None:
        """Let colours stand for the next thing, and say what they stand for."""
        color_by = self._facets.next_color().value
        self.viewer.keep(color_by=color_by)
        self.viewer.say(f"coloured by {color_by}")
        self.rows.refresh()
        self._explain(shown=self.size.height >= ROOM_FOR_DETAILS)

    def action_runs(self) -> None:
        """Fold runs of like siblings into a row each, or show each sibling."""
        node = self.rows.node
        folds = self._model.toggle_folds()
        self.viewer.keep(folds=folds)
        self._refold(node)
        self.viewer.say("like siblings are one row each; → shows them" if folds else "each sibling has its row")

    def _refold(self, node: int | None) -> None:
        cursor = 0 if node is None else self._model.row_of_key(self._model.key(node), 0)
        self.rows.rows_have_changed(len(self._model.rows), cursor)
        self.rows.reveal()
