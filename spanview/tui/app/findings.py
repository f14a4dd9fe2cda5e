"""How many findings there are, for the header: counted beside the screen, and again while spans come, now and then.

What is missing only because a call or a trace still runs isn't counted.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from spanview.analysis.diagnosis.finding import Finding
    from spanview.analysis.ray.running import Running
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.viewer import Viewer
    from spanview.tui.widgets.work import Owner

_MAX_SPANS: Final = 2_000_000
"""More are looked at when somebody opens the check: these take half a second of a core for each million."""
_MIN_INTERVAL_S: Final = 5.0
_REST_PER_WORK: Final = 19.0
"""So many times as long as the last count took nothing is counted: a twentieth of a core is busy with it."""


class FindingsCount:
    """Counts what the check finds."""

    def __init__(self, app: Owner, viewer: Viewer, store: Store) -> None:
        self.count: int | None = None
        """None before anything was counted."""
        self._app = app
        self._viewer = viewer
        self._store = store
        self._work = Work(app)
        self._version = -1
        """The store's, when it was counted last."""
        self._begun_at = 0.0
        self._rest_until = 0.0
        self._waits = False

    def look_anew(self) -> None:
        """Count again, though nothing was read: a process has ended."""
        self._version = -1
        self.look()

    def look(self) -> None:
        """Count, if there is something new, and it is time; else when it is."""
        spans, version, now = len(self._store.spans), self._store.version, time.monotonic()
        is_held = self._viewer.paused or self._viewer.feed_state.loading or self._app.is_left
        if is_held or self._work.is_busy or self._waits or version == self._version or not 0 < spans <= _MAX_SPANS:
            return
        if now < self._rest_until:
            self._waits = True
            self._app.set_timer(self._rest_until - now, self._look_when_due)
            return
        self._version, self._begun_at = version, now
        self._work.begin(self._diagnose, self._take)

    def _look_when_due(self) -> None:
        self._waits = False
        self.look()

    def _diagnose(self, tell: Tell) -> tuple[int, int]:
        """Called in a thread; return how many findings there are, and how much may come or go."""
        from spanview.analysis.diagnosis.report import diagnose

        running = self._viewer.running
        report = diagnose(self._store, tell, unended=running.unended())
        passing = sum(_may_pass(finding, running) for finding in report.findings)
        return len(report.findings) - passing, passing + len(report.open_calls)

    def _take(self, found: tuple[int, int]) -> None:
        (count, passing), now = found, time.monotonic()
        self._rest_until = now + max(_MIN_INTERVAL_S, _REST_PER_WORK * (now - self._begun_at))
        if count != self.count:
            self.count = count
            self._app.refresh_frame()
        if passing:
            # They may stay although nothing comes any more.
            self.look_anew()


def _may_pass(finding: Finding, running: Running) -> bool:
    """Return whether all that a finding counts may be missing because something still runs, as processes show it."""
    from spanview.analysis.diagnosis.finding import Kind

    if finding.kind in {Kind.MISSING_ROOTS, Kind.MISSING_PARENTS}:
        growing = running.growing()
        return all(place.trace in growing for place in finding.evidence)
    return False
