"""Work in a thread behind a screen: one piece at a time, with how far it is, until it is done or nobody wants it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from textual.worker import get_current_worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer

    from spanview.analysis.telling import Tell
    from spanview.tui.widgets.base_screen import BaseScreen

_LOOK_S: Final = 0.2
_REST_S: Final = 0.002
"""While a key acts, the work rests so long whenever it tells how far it is: one interpreter runs both."""
Answer = TypeVar("Answer")


class _EndedError(Exception):
    """Nobody waits for it any more."""


@dataclass(slots=True, eq=False)
class _Work:
    """One piece of work."""

    ask: Callable[[Tell], Any]
    take: Callable[[Any], object]
    is_ended: bool = False


class Background:
    """Does one piece of work at a time for a screen.

    Args:
        screen: Whose work it is; nothing is handed to it once it was left.
    """

    def __init__(self, screen: BaseScreen) -> None:
        self._screen = screen
        self.share: float | None = None
        """What share of the work is done; None while there is none."""
        self._work: _Work | None = None
        self._next: _Work | None = None
        self._timer: Timer | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is being done."""
        return self._work is not None

    @property
    def share_text(self) -> str:
        """How far the work is, in words."""
        return f"{self.share or 0:.0%}"

    def begin(self, ask: Callable[[Tell], Answer], take: Callable[[Answer], object]) -> None:
        """Find something out; what was being found out before ends.

        Args:
            ask: Called in a thread with what it tells how far it is, now and then; that ends it, too.
            take: Called in the screen's thread with the answer, unless the screen has gone or the work was ended.
        """
        self.end()
        self._start(_Work(ask, take))

    def queue(self, ask: Callable[[Tell], Answer], take: Callable[[Answer], object]) -> None:
        """Find something out as soon as what is being found out is known; of several that wait, only the last."""
        work = _Work(ask, take)
        if self.is_busy:
            self._next = work
        else:
            self._start(work)

    def end(self) -> bool:
        """End the work, and what waits for it; return False where there is none."""
        if self._work is None:
            return False
        self._work.is_ended = True
        self._work = self._next = self.share = None
        return True

    def _start(self, work: _Work) -> None:
        self._work, self.share = work, 0.0
        self._look_later()
        self._screen.run_worker(partial(self._run, work), thread=True, group=f"background {id(self)}")

    def _run(self, work: _Work) -> None:
        """Called in the thread."""
        worker = get_current_worker()

        def tell(share: float) -> None:
            if work.is_ended or worker.is_cancelled:
                raise _EndedError
            self.share = share
            if time.monotonic() < self._screen.viewer.acts_until:
                time.sleep(_REST_S)

        try:
            answer = work.ask(tell)
        except _EndedError:
            return
        if not (work.is_ended or worker.is_cancelled):
            self._screen.app.call_from_thread(self._done, work, answer)

    def _done(self, work: _Work, answer: object) -> None:
        if work.is_ended or self._screen.is_left:
            return
        self._work = self.share = None
        work.take(answer)
        if self._work is None and self._next is not None:
            following, self._next = self._next, None
            self._start(following)
        self._screen.refresh_frame()

    def _look_later(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._screen.set_timer(_LOOK_S, self._look_on)

    def _look_on(self) -> None:
        """Let the screen say how far it is."""
        if self.is_busy and not self._screen.is_left:
            self._screen.refresh_frame()
            self._look_later()
