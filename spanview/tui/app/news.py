"""What the reading thread tells, and when the screens hear of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer

    from spanview.tui.app.feed import FeedState
    from spanview.tui.widgets.work import Owner

_MIN_INTERVAL_S: Final = 0.2
"""News of many traces are passed on so often, at the most."""
_MAX_WAIT_S: Final = 1.0
"""So long news wait for keys to have acted, at the most."""
_MAX_PAINT_WAIT_S: Final = 2.0
"""So long news wait for a key to be painted, at the most: in turn with it they would make it late."""
_PAINTED_BEFORE_S: Final = 0.15
"""So long before it is taken to have acted, a key is painted."""


class FeedNews(Message):
    """The reading thread has come further."""

    def __init__(self, state: FeedState) -> None:
        super().__init__()
        self.state = state

    def can_replace(self, message: Message) -> bool:
        """Only the newest state counts."""
        return isinstance(message, FeedNews)


class PassingOn:
    """Passes news on, but not so often that a long list, which is put in order each time, keeps keys waiting."""

    def __init__(self, app: Owner, is_held: Callable[[], bool], pass_on: Callable[[], object]) -> None:
        self._app = app
        self._is_held = is_held
        self._pass_on = pass_on
        self._timer: Timer | None = None
        self._passed_on_at = 0.0

    def at_once(self) -> None:
        """Pass on what is new."""
        self._pass_on()
        self._passed_on_at = time.monotonic()

    def in_turn(self) -> None:
        """Pass on in a while; not while a key acts, unless these come so quickly that nothing would be passed on."""
        if self._timer is None:
            last = self._passed_on_at
            acts_until = self._app.acts_until
            painted = min(acts_until - _PAINTED_BEFORE_S, last + _MAX_PAINT_WAIT_S)
            due = min(acts_until, max(last + _MAX_WAIT_S, painted))
            left = max(last + _MIN_INTERVAL_S, due) - time.monotonic()
            if left <= 0:
                self.at_once()
            else:
                self._timer = self._app.set_timer(left, self._when_due)

    def _when_due(self) -> None:
        self._timer = None
        if not self._is_held():
            self.in_turn()
