"""What keeps later keys quick: done while nobody waits."""

from __future__ import annotations

import gc
import time
from importlib import import_module
from typing import Final

_SCREENS: Final = (
    "spanview.analysis.query.query",
    "spanview.analysis.query.matches",
    "spanview.analysis.query.complete",
    "spanview.analysis.critical",
    "spanview.analysis.ray.running",
    "spanview.analysis.silent",
    "spanview.analysis.forest_selftime",
    "spanview.display.timing_text",
    "spanview.display.answer_text",
    "spanview.sources.logs",
    "spanview.tui.help.help_screen",
    "spanview.tui.app.palette",
    "spanview.tui.traces.matching",
    "spanview.tui.traces.completeness",
    "spanview.tui.traces.groups_model",
    "spanview.tui.trace.trace_screen",
    "spanview.tui.trace.trace_picture",
    "spanview.tui.span.span_screen",
    "spanview.tui.stats.stats_screen",
    "spanview.tui.flame.flame_screen",
    "spanview.tui.calls.calls_screen",
    "spanview.tui.log.log_screen",
    "spanview.tui.workers.workers_screen",
    "spanview.tui.serve.serve_screen",
    "spanview.tui.serve.requests_screen",
    "spanview.tui.check.check_screen",
    "spanview.tui.widgets.known",
    "spanview.tui.diff.other_side_screen",
    "spanview.tui.diff.diff_screen",
)
_FOR_MANY: Final = (
    "spanview.tui.traces.traces_bulk",
    "spanview.tui.workers.choosing_bulk",
)

TIDY_INTERVAL_S: Final = 1.0
"""So often it is looked for what to collect."""
_ACTS_S: Final = 0.25
"""So long after a key all else waits, for what it brings onto the screen."""
_AT_REST_S: Final = 5.0
"""So long after a key nobody is thought to wait for the next one."""
_NEVER: Final = 1_000_000
_WORTH_IT: Final = 2
"""Collections of what is young before what outlived them is looked at: some 15,000 objects by then."""
_MAX_COLLECTIONS: Final = 12
"""As many of them are looked at later only: a hundred thousand objects take a tenth of a second."""
_LARGE_S: Final = 0.02
"""What outlives a portion, and took so long to look at, in processor time, is looked at later only."""
_MAX_KEPT_AT_ONCE: Final = 10
"""So many of them, before all objects are looked at."""
_MOST_KEPT: Final = 600
"""After so many, whoever waits: four million objects were made, most of which are gone."""


def import_screens(*, has_many: bool) -> None:
    """Import what keys need, before they are pressed; for a thread.

    Args:
        has_many: Whether there are so many traces that numpy counts them.
    """
    for name in (*_SCREENS, *(_FOR_MANY if has_many else ())):
        import_module(name)


class Tidy:
    """Collects garbage in small portions, and all of it when nobody is thought to wait: all threads wait meanwhile.

    A portion is what was made since the viewer began. Where that has become much, what outlives it is kept: no later
    portion looks at it, only the whole.
    """

    def __init__(self) -> None:
        self.pressed_at = 0.0
        """When the last key came, by `time.monotonic`."""
        self._kept: int | None = None
        """Collections of what is young since the last whole; None before anything is put off."""

        self._was_screen_left = False
        """Whether one was since then: what was kept of it is garbage now, and hardly anything else that was kept."""

    def screen_was_left(self) -> None:
        """Take note that a screen has been closed."""
        self._was_screen_left = True

    def key_was_pressed(self) -> None:
        """Take note that somebody may press another key soon."""
        self.pressed_at = time.monotonic()

    @property
    def acts_until(self) -> float:
        """When the last key has acted, by the same clock."""
        return self.pressed_at + _ACTS_S

    def put_off(self) -> None:
        """Keep what is there by now, and let all else be collected only by `collect`."""
        gc.freeze()
        gc.enable()
        young, older, _ = gc.get_threshold()
        gc.set_threshold(young, older, _NEVER)
        self._kept = 0

    def collect(self) -> None:
        """Collect what is worth it by now, and that there is time for."""
        if self._kept is None:
            return
        now, collections = time.monotonic(), gc.get_count()[2]
        is_worth_it = self._was_screen_left and now - self.pressed_at > _AT_REST_S
        if self._kept >= (_MAX_KEPT_AT_ONCE if is_worth_it else _MOST_KEPT):
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            self._kept, self._was_screen_left = 0, False
        elif collections >= _MAX_COLLECTIONS:
            self._keep(collections)
        elif collections >= _WORTH_IT and now >= self.acts_until:
            began = time.thread_time()
            gc.collect()
            if time.thread_time() - began > _LARGE_S:
                self._keep(collections)

    def _keep(self, collections: int) -> None:
        gc.freeze()
        self._kept = (self._kept or 0) + collections
