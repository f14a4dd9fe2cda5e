"""Which traces have just grown, or may still grow as far as their processes tell."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanview.tui.widgets.base_screen import BaseScreen


class TraceGrowth:
    """Remembers when traces have grown, and asks which of them live.

    Args:
        screen: Shows it.
        has_changed: Called when others may still grow.
    """

    def __init__(self, screen: BaseScreen, has_changed: Callable[[], object]) -> None:
        self._screen = screen
        self._has_changed = has_changed
        self._grown_at: dict[int, float] = {}
        self._alive: set[int] = set()
        self._work = Work(screen)

    @property
    def traces(self) -> set[int]:
        """Those that grow."""
        return {*self._grown_at, *self._alive}

    def note(self, traces: Iterable[int]) -> None:
        """Take note that traces have grown now."""
        now = time.monotonic()
        for trace in traces:
            self._grown_at[trace] = now

    def calm_down(self, seconds: float) -> bool:
        """Forget what has not grown for so long; return whether that was something."""
        limit = time.monotonic() - seconds
        calm = [trace for trace, grown_at in self._grown_at.items() if grown_at < limit]
        for trace in calm:
            del self._grown_at[trace]
        return bool(calm)

    def ask(self) -> None:
        """Ask in a thread which traces may still grow: processes come and go."""
        living = self._screen.viewer.running.growing
        self._work.queue(lambda _: living(), self._take)

    def _take(self, traces: set[int]) -> None:
        if traces != self._alive and not self._screen.viewer.paused:
            self._alive = traces
            self._has_changed()
