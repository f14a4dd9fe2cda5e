"""What keeps later keys quick: done while nobody waits."""

from __future__ import annotations

import gc
import time
from importlib import import_module
from typing import Final

_SCREENS: Final = (
    "spanview.analysis.query",
    "spanview.tui.help_screen",
    "spanview.tui.palette",
    "spanview.tui.matching",
    "spanview.tui.completeness",
    "spanview.tui.groups_model",
    "spanview.tui.trace_screen",
    "spanview.tui.span_screen",
    "spanview.tui.stats_screen",
    "spanview.tui.flame_screen",
    "spanview.tui.calls_screen",
    "spanview.tui.lanes_screen",
    "spanview.tui.serve_screen",
    "spanview.tui.requests_screen",
    "spanview.tui.check_screen",
)
_FOR_MANY: Final = (
    "spanview.tui.groups_bulk",
    "spanview.analysis.bulk_query",
    "spanview.analysis.bulk",
    "spanview.analysis.bulk_lanes",
)

AT_REST_S: Final = 3.0
"""So long after a key nobody is thought to wait for the next one."""
_LONGEST_S: Final = 60.0
"""Garbage is collected after so long, whoever waits."""
_NEVER: Final = 1_000_000
_WORTH_IT: Final = 10
"""Collections of what is young that come before a whole one, as Python has it."""


def import_screens(*, has_many: bool) -> None:
    """Import what keys need, before they are pressed; for a thread.

    Args:
        has_many: Whether there are so many traces that numpy counts them.
    """
    for name in (*_SCREENS, *(_FOR_MANY if has_many else ())):
        import_module(name)


class Tidy:
    """Puts the collection of garbage off until nobody is thought to wait: all threads wait for a whole one.

    That takes a tenth of a second where much is there.
    """

    def __init__(self) -> None:
        self._pressed_at = 0.0
        self._collected_at = time.monotonic()

    def key_was_pressed(self) -> None:
        """Take note that somebody may press another key soon."""
        self._pressed_at = time.monotonic()

    def put_off(self) -> None:
        """Let what is there by now never be looked at for garbage, and all else only by `collect`."""
        gc.freeze()
        gc.enable()
        young, older, _ = gc.get_threshold()
        gc.set_threshold(young, older, _NEVER)

    def collect(self) -> None:
        """Collect what was put off, if it is worth it, and the time for it."""
        now = time.monotonic()
        if now - self._pressed_at > AT_REST_S or now - self._collected_at > _LONGEST_S:
            self._collected_at = now
            if gc.get_count()[2] >= _WORTH_IT:
                gc.collect()
