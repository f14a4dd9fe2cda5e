"""What takes longer than a key may take: in a thread, with how far it is, until it is done, ended or not wanted."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from textual.worker import get_current_worker

from spanview.display.units import moment
from spanview.tui.base_screen import BaseScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer
    from textual.worker import Worker

    from spanview.analysis.telling import Tell

_LOOK_S: Final = 0.2
_GROUP: Final = "work"
Answer = TypeVar("Answer")


class _EndedError(Exception):
    """Nobody waits for it any more."""


class WorkingScreen(BaseScreen):
    """A screen with at most one long work at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.share: float | None = None
        """What share of the work is done; None while there is none."""
        self._begun_ns = 0
        self._has_grown = False
        self._timer: Timer | None = None

    @property
    def share_text(self) -> str:
        """How far the work is, in words."""
        return f"{self.share or 0:.0%}"

    @property
    def as_of(self) -> str:
        """When what is shown was looked at, where spans have come since; it holds still."""
        return f" as of {moment(self._begun_ns, with_date=False, digits=0)}" if self._has_grown else ""

    def feed_has_news(self, changed: set[int]) -> None:
        """Say so if the store has grown."""
        self._has_grown = self._has_grown or bool(changed)
        self.refresh_frame()

    def work(self, ask: Callable[[Tell], Answer], take: Callable[[Answer], object]) -> None:
        """Find something out; what was being found out before ends.

        Args:
            ask: Called in a thread with what it tells how far it is, now and then; that ends it, too.
            take: Called with the answer, unless the screen has gone or the work was ended.
        """
        self.share, self._begun_ns, self._has_grown = 0.0, time.time_ns(), False
        self.refresh_frame()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_LOOK_S, self._look_on)
        self.run_worker(partial(self._ask, ask, take), thread=True, group=_GROUP, exclusive=True)

    def end_work(self) -> bool:
        """End the work; return False where there is none."""
        if self.share is None:
            return False
        self.workers.cancel_group(self, _GROUP)
        self.share = None
        self.refresh_frame()
        return True

    def _ask(self, ask: Callable[[Tell], Answer], take: Callable[[Answer], object]) -> None:
        """Called in the thread."""
        worker: Worker[None] = get_current_worker()

        def tell(share: float) -> None:
            if worker.is_cancelled:
                raise _EndedError
            self.share = share

        try:
            answer = ask(tell)
        except _EndedError:
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(self._take, worker, take, answer)

    def _take(self, worker: Worker[None], take: Callable[[Answer], object], answer: Answer) -> None:
        if not self.is_left and not worker.is_cancelled:
            self.share = None
            take(answer)
            self.refresh_frame()

    def _look_on(self) -> None:
        if self.share is not None and not self.is_left:
            self.refresh_frame()
            self._timer = self.set_timer(_LOOK_S, self._look_on)
