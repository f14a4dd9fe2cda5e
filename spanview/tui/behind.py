"""Work in a thread behind a screen, one run at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from textual.worker import get_current_worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.tui.base_screen import BaseScreen

_T = TypeVar("_T")


class Behind(Generic[_T]):
    """Does what is asked for last; what is asked while it is busy comes when that is done, and only the last of it.

    Args:
        screen: Whose work it is; nothing is handed to it when it was left.
        take: Called in the screen's thread with each result.
    """

    def __init__(self, screen: BaseScreen, take: Callable[[_T], None]) -> None:
        self._screen = screen
        self._take = take
        self._waiting: Callable[[], _T] | None = None
        self.is_busy = False

    def ask(self, work: Callable[[], _T]) -> None:
        """Let some work be done."""
        self._waiting = work
        if not self.is_busy:
            self._begin()

    def _begin(self) -> None:
        work, self._waiting = self._waiting, None
        if work is not None:
            self.is_busy = True
            self._screen.run_worker(lambda: self._run(work), thread=True, group=f"behind {id(self)}")

    def _run(self, work: Callable[[], _T]) -> None:
        """Called in the thread."""
        worker, result = get_current_worker(), work()
        if not worker.is_cancelled:
            self._screen.app.call_from_thread(self._done, result)

    def _done(self, result: _T) -> None:
        self.is_busy = False
        if not self._screen.is_left:
            self._take(result)
            self._begin()
