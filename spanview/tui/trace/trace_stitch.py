"""The stitching behind a trace's screen: at once where the trace is short, else in a thread, while keys go on."""

from __future__ import annotations

import time
from inspect import isawaitable
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from spanview.index.table import NO_ROW
from spanview.index.tree import TraceTree
from spanview.tui.trace.trace_facets import Facets, LitPath
from spanview.tui.trace.trace_model import TraceModel
from spanview.tui.trace.trace_shape import AT_ONCE, Shape
from spanview.tui.trace.waterfall import RulerLine, Waterfall
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.legend import Legend
from spanview.tui.widgets.minimap import Minimap

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.worker import Worker

    from spanview.index.store import Store

_REST: Final = 2.0
"""A trace that grows is left alone for so many times as long as its stitching took."""
_AT_LEAST_S: Final = 0.1
_OF_ROWS: Final = frozenset(
    (
        *("move", "page", "edge", "open", "copy", "copy_json", "raw", "next_pane"),
        *("collapse", "expand", "collapse_all", "expand_all", "runs"),
        *("match", "only_matches", "parent", "same_name", "error"),
        *("zoom", "pan", "fit", "critical", "picture", "copy_text"),
    )
)
"""Actions for which all rows must be there."""


class StitchedTrace(BaseScreen):
    """What a trace's screen knows of its trace.

    A long trace is shown by its root alone until it has been stitched; keys that need its rows wait for them.

    Args:
        store: The store.
        trace: The trace's row in the trace table.
    """

    def __init__(self, store: Store, trace: int) -> None:
        super().__init__()
        self._store = store
        self.is_stitched = store.trace_table.span_count[trace] <= AT_ONCE
        """Whether all rows have been there once."""
        self._model = TraceModel(store, trace, None if self.is_stitched else _root_of(store, trace))
        self._facets = Facets(store, self._model)
        self._waiting: list[Callable[[], object]] = []
        """What is to be done when all rows are there."""
        self._is_stitching = False
        self._has_grown = False
        self.joins = False
        """Whether calls with one attempt are one row each."""

    @property
    def trace(self) -> int:
        """The trace's row in the trace table."""
        return self._model.trace

    @property
    def chosen_trace(self) -> int:
        """The trace."""
        return self.trace

    @property
    def rows(self) -> Waterfall:
        """The tree and the waterfall."""
        return self.query_one(Waterfall)

    def refold(self, node: int | None) -> None:
        """Take in that other rows are in sight; the cursor stays on a node, or on what hides it."""
        cursor = 0 if node is None else self._model.row_of(node)
        self.rows.rows_have_changed(len(self._model.rows), cursor)
        self.rows.reveal()

    # -- keys that came before the rows ------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let what needs rows wait for them."""
        if not self.is_stitched and self.is_mounted and action in _OF_ROWS:
            self.when_stitched(lambda: self.app.run_action(("screen", action, parameters), self))
            return False
        return super().check_action(action, parameters)

    def when_stitched(self, do: Callable[[], object]) -> None:
        """Do something when all rows are there."""
        if self.is_stitched:
            do()
        else:
            self._waiting.append(do)

    async def _do_what_waits(self) -> None:
        waiting, self._waiting = self._waiting, []
        for do in waiting:
            done = do()
            if isawaitable(done):
                await done

    # -- stitching ---------------------------------------------------------------------------------------------------

    def feed_has_news(self, changed: set[int]) -> None:
        """Stitch the trace anew when it has grown."""
        if self.trace not in changed:
            self.refresh_frame()
        elif self._is_stitching or not self.is_stitched:
            self._has_grown = True
            self.refresh_frame()
        elif self._store.trace_table.span_count[self.trace] <= AT_ONCE:
            shape = self._shape_of(self._store.tree(self.trace))
            self._show(shape, None if self._facets.lit is None else self._lit(shape))
        else:
            self.stitch()
            self.refresh_frame()

    def stitch(self) -> None:
        """Stitch the trace as it is now, in a thread."""
        if self.is_left:
            return
        self._is_stitching = True
        if self.is_stitched and self.viewer.paused:
            # What is shown is to hold still.
            self.set_timer(_AT_LEAST_S, self.stitch)
            return
        self._has_grown = False
        self.run_worker(self._stitch_behind, thread=True, group="stitch")

    def _stitch_behind(self) -> None:
        """Called in a thread: the shape of the trace, and what its first painting needs."""
        worker, began = get_current_worker(), time.monotonic()
        shape, lit = self._made_ready(self._store.tree(self.trace))
        if not worker.is_cancelled:
            self.app.call_from_thread(self._take, worker, shape, lit, time.monotonic() - began)

    def _made_ready(self, tree: TraceTree) -> tuple[Shape, LitPath | None]:
        """Called in a thread: return a shape, with what its first painting needs."""
        shape = self._shape_of(tree)
        self._facets.find_beforehand(shape)
        return shape, None if self._facets.lit is None else self._lit(shape)

    def _shape_of(self, tree: TraceTree) -> Shape:
        return Shape(self._store, self.trace, tree, joins=self.joins)

    def join(self, *, joins: bool) -> None:
        """Show each call with one attempt as one row, or as the two spans that it is."""
        if joins == self.joins:
            return
        self.joins = joins
        if self.is_stitched:
            self._join()

    def _join(self) -> None:
        """Lay out what is shown, and nothing that has come since."""
        tree = self._model.shape.stitched
        if len(tree) <= AT_ONCE:
            shape = self._shape_of(tree)
            self._show(shape, None if self._facets.lit is None else self._lit(shape))
        else:
            self.run_worker(lambda: self._join_behind(tree), thread=True, group="join", exclusive=True)

    def _join_behind(self, tree: TraceTree) -> None:
        """Called in a thread."""
        worker, (shape, lit) = get_current_worker(), self._made_ready(tree)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._take_joined, worker, shape, lit)

    def _take_joined(self, worker: Worker[None], shape: Shape, lit: LitPath | None) -> None:
        if self.is_left or worker.is_cancelled:
            return
        if shape.stitched is self._model.shape.stitched:
            self._show(shape, lit)
        else:
            # It has been stitched anew meanwhile, perhaps as it was shown before.
            self._join()

    def _take(self, worker: Worker[None], shape: Shape, lit: LitPath | None, took_s: float) -> None:
        if self.is_left or worker.is_cancelled:
            return
        if self.is_stitched and self.viewer.paused:
            self._has_grown = True
        else:
            self._show(shape, lit)
            self.is_stitched = True
            if shape.joins != self.joins:
                self._join()
            self.refresh_frame()
            self.call_later(self._do_what_waits)
        if self._has_grown:
            self.set_timer(max(_AT_LEAST_S, _REST * took_s), self.stitch)
        else:
            self._is_stitching = False

    def _show(self, shape: Shape, lit: LitPath | None) -> None:
        node = self.rows.node
        key = None if node is None else self._model.key(node)
        self._model.take(shape, key)
        if (was := self._facets.lit) is not None:
            self._facets.lit = lit
            if lit is not None and lit.text != was.text:
                self.viewer.say(lit.text)
        self.rows.refresh_rows(key)
        self.refresh_time()
        self.query_one(Legend).refresh()
        self.refresh_frame()

    def refresh_time(self) -> None:
        """Paint anew what says which time is shown."""
        self.query_one(RulerLine).refresh()
        self.query_one(Minimap).refresh()

    def _lit(self, shape: Shape) -> LitPath:
        from spanview.analysis.critical import critical_path

        return LitPath(shape, critical_path(shape.stitched, self._store.spans, self._store.names.texts))


def _root_of(store: Store, trace: int) -> Shape:
    """Return a trace of which only the root is known yet, or its first span."""
    row = store.trace_table.root_row[trace]
    rows = [store.trace_table.first_row[trace] if row == NO_ROW else row]
    return Shape(store, trace, TraceTree(store.spans, rows, store.intake.order))
