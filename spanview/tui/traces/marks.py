"""What the list marks beside errors, found out in a thread, and anew where traces grow.

Silent failures, calls that may still run, runs that share their ids; and which errors a retry made good.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.silent import SilentTraces
    from spanview.analysis.telling import Tell
    from spanview.analysis.trace_lists import FailedSilently
    from spanview.index.store import Store
    from spanview.reports.traces_model import TracesModel
    from spanview.tui.widgets.base_screen import BaseScreen

_LEAST_REST_S: Final = 1.0
_REST_PER_WORK: Final = 19.0
"""Marks aren't looked for again for so many times as long as it took: a twentieth of a core is busy with them."""


class _Found(NamedTuple):
    silent: Mapping[int, FailedSilently]
    open_calls: Mapping[int, int]
    merged: Collection[int]
    made_good: Collection[int]


class TraceMarks:
    """Finds out what marks traces, and tells the model."""

    def __init__(self, screen: BaseScreen, store: Store, model: TracesModel, show: Callable[[], object]) -> None:
        self._screen = screen
        self._store = store
        self._model = model
        self._show = show
        self._work = Work(screen)
        self._finder: SilentTraces | None = None
        self._silent: Mapping[int, FailedSilently] = {}
        """Traces in which something failed without an error, and how."""
        self._lost: tuple[Mapping[int, str], Mapping[int, Unended]] = {}, {}
        """Traces in which something was lost with its process, and the spans that were."""
        self._asked_of, self._known_of = 0, -1
        """Of which version of the store this was asked last, and of which it is known."""
        self._due = 0.0
        """When it may be found out again, by `time.monotonic`."""

    @property
    def are_known(self) -> bool:
        """Whether they are known of all that was read."""
        return self._known_of == self._store.version

    @property
    def are_awaited(self) -> bool:
        """Whether none is known yet, though there are spans."""
        return self._known_of < 0 and bool(len(self._store.spans))

    def find(self) -> None:
        """Find out in a thread what marks traces, where that can have changed."""
        version, begun = self._store.version, time.monotonic()
        is_old = version != self._asked_of or bool(self._model.open_calls)
        if self._screen.viewer.feed_state.loading or self._work.is_busy or not is_old or begun < self._due:
            return
        self._asked_of = version
        self._work.begin(self._ask, lambda found: self._take(found, version, begun))

    def _ask(self, tell: Tell) -> _Found:
        """Called in a thread, which numpy comes with."""
        from spanview.analysis.failures import errors_made_good
        from spanview.analysis.reused_ids import traces_with_reused_ids

        if self._finder is None:
            from spanview.analysis.silent import SilentTraces

            viewer = self._screen.viewer
            self._finder = SilentTraces(self._store, viewer.running.is_open)
        return _Found(*self._finder.look(tell), traces_with_reused_ids(self._store), errors_made_good(self._store))

    def _take(self, found: _Found, version: int, begun: float) -> None:
        now = time.monotonic()
        self._due = now + max(_LEAST_REST_S, _REST_PER_WORK * (now - begun))
        self._known_of = version
        self._silent, model = found.silent, self._model
        model.open_calls, model.merged, model.made_good = found.open_calls, found.merged, found.made_good
        self.take_lost(*self._lost)

    def take_lost(self, lost: Mapping[int, str], spans: Mapping[int, Unended]) -> None:
        """Mark traces in which something was lost with its process: how, by trace, and which spans, by row."""
        self._lost = lost, spans
        self._model.mark_silent(self._silent, lost, spans)
        self._show()
