"""Stitches the trace behind a screen: at once where it is short, else in a thread, while keys go on.

ROOT_ONLY ──▶ IDLE ──▶ STITCHING ──▶ IDLE, where nothing has come meanwhile
                           ▲ └─────▶ RESTING, where something has
                           └────────────┘
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum, auto
from inspect import isawaitable
from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.index.table import NO_ROW
from spanview.index.tree import TraceTree
from spanview.tui.trace.stitched_trace import AT_ONCE, StitchedTrace
from spanview.tui.trace.trace_model import TraceModel
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.index.store import Store
    from spanview.tui.trace.appearance import Appearance
    from spanview.tui.trace.lit_path import LitPath
    from spanview.tui.widgets.base_screen import BaseScreen

_REST_PER_WORK: Final = 2.0
"""A trace that grows is left alone for so many times as long as its stitching took."""
_MIN_REST_S: Final = 0.1


class StitchState(Enum):
    """How far the stitching is."""

    ROOT_ONLY = auto()
    """The root alone is shown: a long trace is stitched for the first time, and what needs its rows waits."""
    IDLE = auto()
    """All rows are shown, and nothing is being done."""
    STITCHING = auto()
    """All rows are shown, and they are stitched anew."""
    RESTING = auto()
    """All rows are shown, and will be stitched anew once the rest is over and what is shown need not hold still."""


class _Made(NamedTuple):
    """What a thread has made."""

    stitched: StitchedTrace
    path: LitPath | None
    """The trace's critical path, where one is lit."""
    took_s: float


@dataclass(eq=False)
class Stitcher:
    """Keeps what is shown of a trace in line with what has come of it: `show` is called in the screen's thread."""

    _screen: BaseScreen
    _model: TraceModel
    _appearance: Appearance
    _show: Callable[[StitchedTrace, LitPath | None], object]
    joins_calls: bool = False
    """Whether each call with one attempt is to be one row."""
    _waiting: list[Callable[[], object]] = field(default_factory=list)
    """What is to be done when all rows are there."""

    def __post_init__(self) -> None:
        self._store = self._model.store
        self.state = StitchState.ROOT_ONLY if self._is_behind else StitchState.IDLE
        self._stitching, self._joining = Work(self._screen), Work(self._screen)

    @property
    def _is_behind(self) -> bool:
        """Whether the trace has spans that aren't shown, or are shown without an end that is known by now."""
        table, trace, stitched = self._store.trace_table, self._model.trace, self._model.stitched
        return table.span_count[trace] > len(stitched.unjoined.rows) or table.replaced[trace] > stitched.replaced

    # -- what needs the rows -----------------------------------------------------------------------------------------

    @property
    def has_rows(self) -> bool:
        """Whether all rows have been there once."""
        return self.state is not StitchState.ROOT_ONLY

    def when_stitched(self, do: Callable[[], object]) -> None:
        """Do something when all rows are there."""
        if self.has_rows:
            do()
        else:
            self._waiting.append(do)

    async def _do_what_waits(self) -> None:
        waiting, self._waiting = self._waiting, []
        for do in () if self._screen.is_left else waiting:
            done = do()
            if isawaitable(done):
                await done

    # -- stitching ---------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Stitch the trace, once its root is painted, where no more is shown of it."""
        if not self.has_rows:
            self._screen.call_after_refresh(self.stitch)

    def trace_has_grown(self) -> None:
        """Stitch the trace anew; where that is being done, what has come is found to be missing when it is."""
        if self.state is not StitchState.IDLE:
            return
        if self._store.trace_table.span_count[self._model.trace] <= AT_ONCE:
            self._show_at_once(self._store.tree(self._model.trace))
        else:
            self.stitch()

    def _show_at_once(self, tree: TraceTree) -> None:
        stitched = self._stitched(tree)
        self._show(stitched, self._appearance.lit_path_of(stitched))

    def stitch(self) -> None:
        """Stitch the trace as it is now, in a thread, unless what is shown is to hold still."""
        if self._screen.is_left:
            return
        if self.has_rows:
            if self._screen.viewer.paused:
                self._rest(_MIN_REST_S)
                return
            self.state = StitchState.STITCHING
        self._stitching.begin(lambda _: self._make(self._store.tree(self._model.trace)), self._take)

    def _rest(self, seconds: float) -> None:
        self.state = StitchState.RESTING
        self._screen.set_timer(seconds, self.stitch)

    def _make(self, tree: TraceTree) -> _Made:
        """Called in a thread: lay a trace out, with what its first painting needs."""
        began, stitched = time.monotonic(), self._stitched(tree)
        self._appearance.find_beforehand(stitched)
        return _Made(stitched, self._appearance.lit_path_of(stitched), time.monotonic() - began)

    def _stitched(self, tree: TraceTree) -> StitchedTrace:
        return StitchedTrace(self._store, self._model.trace, tree, joins=self.joins_calls)

    def _take(self, made: _Made) -> None:
        if not (self.has_rows and self._screen.viewer.paused):
            # What is shown asks whether all rows are there.
            self.state = StitchState.IDLE
            self._show(made.stitched, made.path)
            if made.stitched.joins != self.joins_calls:
                self._lay_out_anew()
            self._screen.refresh_frame()
            self._screen.call_later(self._do_what_waits)
        if self._is_behind:
            self._rest(max(_MIN_REST_S, _REST_PER_WORK * made.took_s))
        else:
            self.state = StitchState.IDLE

    # -- calls as rows -----------------------------------------------------------------------------------------------

    def join_calls(self, *, joins: bool) -> None:
        """Show each call with one attempt as one row, or as the two spans that it is."""
        if joins != self.joins_calls:
            self.joins_calls = joins
            if self.has_rows:
                self._lay_out_anew()

    def _lay_out_anew(self) -> None:
        """Lay out what is shown, and nothing that has come since."""
        tree = self._model.stitched.unjoined
        if len(tree) <= AT_ONCE:
            self._show_at_once(tree)
        else:
            self._joining.begin(lambda _: self._make(tree), self._take_joined)

    def _take_joined(self, made: _Made) -> None:
        if made.stitched.unjoined is self._model.stitched.unjoined:
            self._show(made.stitched, made.path)
        else:
            # It has been stitched anew meanwhile, perhaps as it was shown before.
            self._lay_out_anew()


def first_model(store: Store, trace: int) -> TraceModel:
    """Return a trace to begin with: all of it where it is short, else its root alone, or its first span."""
    table = store.trace_table
    if table.span_count[trace] <= AT_ONCE:
        return TraceModel(store, trace)
    row = table.root_row[trace]
    tree = TraceTree(store.spans, [table.first_row[trace] if row == NO_ROW else row], store.intake.order)
    return TraceModel(store, trace, StitchedTrace(store, trace, tree))
