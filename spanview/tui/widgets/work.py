"""Work beside a screen, in a thread: the latest wins, and it ends when the screen is left or nobody wants it any more.

What is found out is handed over without waiting for the screen: a thread that waited for it would keep a viewer alive
whose terminal has gone.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from textual.worker import get_current_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.timer import Timer

    from spanview.analysis.telling import Tell

_SHARE_SHOWN_S: Final = 0.2
"""From one time that the screen says how far the work is to the next."""
_REST_S: Final = 0.002
"""While a key acts, the work rests so long now and then when it tells how far it is: one interpreter runs both."""
_WORK_BETWEEN_RESTS_S: Final = 0.005
"""From one rest to the next, however often it tells."""
_PIECES_S: Final = 0.15
"""From one time that pieces are handed over to the next: a long list is put in order each time."""
_THREAD: Final = "spanview-work"
Answer = TypeVar("Answer")
Piece = TypeVar("Piece")


class Threads(ThreadPoolExecutor):
    """The threads of an event loop, which takes no other class: one for each call, none waited for at its end."""

    def submit(self, call: Callable[..., Answer], /, *args: Any, **kwargs: Any) -> Future[Answer]:
        """Call something in a thread."""
        future = Future[Answer]()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(call(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - whoever waits for the answer is told
                future.set_exception(error)

        threading.Thread(target=run, name=_THREAD, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as it is there
        """Leave them."""

    @staticmethod
    def are_busy() -> bool:
        """Tell whether any call hasn't returned."""
        return any(thread.name == _THREAD for thread in threading.enumerate())


class Owner(Protocol):
    """A screen that has work done, or the application."""

    @property
    def is_left(self) -> bool:
        """Whether nothing is to be shown there any more."""

    @property
    def acts_until(self) -> float:
        """When the last key has acted, by `time.monotonic`."""

    def refresh_frame(self) -> None:
        """Say how far the work is."""

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call something later."""

    def call_later(self, callback: Callable[..., Any], *args: Any) -> bool:
        """Call something in its turn among the messages."""

    def run_worker(self, work: Callable[[], Any], *, group: str, thread: bool) -> object:
        """Run something in a thread, which is told when the owner goes."""


class _EndedError(Exception):
    """Nobody waits for it any more."""


@dataclass(slots=True, eq=False)
class _Task:
    """One piece of work."""

    ask: Callable[[Tell], Any]
    take: Callable[[Any], object]
    is_in_pieces: bool = False
    pieces: deque[Any] = field(default_factory=deque)
    """What was found and not taken yet."""
    is_told: bool = False
    """Whether the owner is going to take them."""
    is_ended: bool = False


def _is_asked(_: Tell) -> None:
    """Stand for what was asked."""


class Work:
    """Does one task at a time for a screen, or for the application; hands nothing to an owner that was left."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self.share: float | None = None
        """What share of the task is done; None while there is none."""
        self._task: _Task | None = None
        self._next: _Task | None = None
        self._timer: Timer | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is being done."""
        return self._task is not None

    @property
    def share_text(self) -> str:
        """How far it is, in words."""
        return f"{self.share or 0:.0%}"

    def begin(self, ask: Callable[[Tell], Answer], take: Callable[[Answer], object]) -> None:
        """Find something out; what was being found out before ends.

        Args:
            ask: Called in a thread with what it tells how far it is, now and then; that ends it, too.
            take: Called in the owner's thread with the answer, unless the owner has gone or the task was ended.
        """
        self._begin(_Task(ask, take))

    def queue(self, ask: Callable[[Tell], Answer], take: Callable[[Answer], object]) -> None:
        """Find something out as soon as what is being found out is known; of several that wait, only the last."""
        self._queue(_Task(ask, take))

    def begin_pieces(self, ask: Callable[[Tell], Iterable[Piece]], take: Callable[[list[Piece]], object]) -> None:
        """Find something out piece by piece; what was being found out before ends.

        Args:
            ask: Called in a thread; yields pieces, and tells how far it is.
            take: Called in the owner's thread with those that have come since it was called last. The last time, with
                those that are left, nothing is being done any more.
        """
        self._begin(_Task(ask, take, is_in_pieces=True))

    def queue_pieces(self, ask: Callable[[Tell], Iterable[Piece]], take: Callable[[list[Piece]], object]) -> None:
        """Find something out piece by piece, as soon as what is being found out is known."""
        self._queue(_Task(ask, take, is_in_pieces=True))

    def end(self) -> bool:
        """End the task, and what waits for it; return False where there is none."""
        if self._task is None:
            return False
        self._task.is_ended = True
        self._task = self._next = self.share = None
        return True

    def _begin(self, task: _Task) -> None:
        self.end()
        self._start(task)

    def _queue(self, task: _Task) -> None:
        if self.is_busy:
            self._next = task
        else:
            self._start(task)

    def _start(self, task: _Task) -> None:
        self._task, self.share = task, 0.0
        self._show_share_later()
        run = partial(self._run, task, asyncio.get_running_loop())
        self._owner.run_worker(run, group=f"work {id(self)}", thread=True)

    # -- in the thread -----------------------------------------------------------------------------------------------

    def _run(self, task: _Task, loop: asyncio.AbstractEventLoop) -> None:
        worker = get_current_worker()
        rested_at = float("-inf")

        def tell(share: float) -> None:
            nonlocal rested_at
            if task.is_ended or worker.is_cancelled:
                raise _EndedError
            self.share = share
            now = time.monotonic()
            if now < self._owner.acts_until and now - rested_at >= _WORK_BETWEEN_RESTS_S:
                time.sleep(_REST_S)
                rested_at = time.monotonic()

        def hand_over(take: Callable[..., object], *args: object) -> None:
            # Where the viewer has ended, its loop is closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._owner.call_later, take, task, *args)

        # Textual's worker is garbage that waits to be collected, and would keep what it was asked of, such as a list of
        # all traces, that long.
        ask, task.ask = task.ask, _is_asked
        try:
            answer = ask(tell)
            told_at = time.monotonic()
            for piece in answer if task.is_in_pieces else ():
                task.pieces.append(piece)
                if not task.is_told and time.monotonic() - told_at >= _PIECES_S:
                    task.is_told, told_at = True, time.monotonic()
                    hand_over(self._take_pieces)
        except _EndedError:
            return
        hand_over(self._done, answer)

    # -- in the owner's thread ---------------------------------------------------------------------------------------

    def _take_pieces(self, task: _Task) -> None:
        if task.is_ended or self._owner.is_left:
            return
        # In this order: a piece that comes meanwhile is told of anew.
        task.is_told = False
        pieces = [task.pieces.popleft() for _ in range(len(task.pieces))]
        task.take(pieces)

    def _done(self, task: _Task, answer: object) -> None:
        if task.is_ended or self._owner.is_left:
            return
        self._task = self.share = None
        if task.is_in_pieces:
            self._take_pieces(task)
        else:
            task.take(answer)
        if self._task is None and self._next is not None:
            following, self._next = self._next, None
            self._start(following)
        self._owner.refresh_frame()

    def _show_share_later(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._owner.set_timer(_SHARE_SHOWN_S, self._show_share)

    def _show_share(self) -> None:
        if self.is_busy and not self._owner.is_left:
            self._owner.refresh_frame()
            self._show_share_later()
