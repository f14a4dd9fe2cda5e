"""The reading thread behind the viewer: it fills the store and says now and then how far it is.

It may begin before there is anything to show it: what it reads first is there when the screen is.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.model.problems import Problem, ProblemKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.index.store import Store
    from spanview.sources.session import Session

_UPDATE_INTERVAL_S: Final = 0.1
_FIRST_ROWS_S: Final = 1.0
"""So long the reading waits at most until its first rows are on the screen."""
_AT_REST_S: Final = 0.5
"""So long what was read last has the processor to itself, until it is on the screen."""
_MANY_SPANS: Final = 10_000
"""Where so many come each second, what was scanned of them isn't decoded: first of all they are shown."""
_SWITCH_S: Final = 0.001
"""How long the reading thread may keep the interpreter to itself: keys stay quick while a gigabyte loads."""


class FeedState(NamedTuple):
    """How the reading stands; one immutable snapshot a message."""

    loading: bool = True
    bytes_read: int = 0
    bytes_total: int = 0
    following: bool = False
    polling: bool = False
    waiting_for: tuple[str, ...] = ()
    """The PATHs, as long as none of them is there."""
    spans_per_second: float = 0.0
    to_check: float = 0.0
    """What share of the records was scanned only, and is still to be decoded."""
    failure: str = ""
    """What ended the reading before its time; empty where nothing did."""


class Feed:
    """Reads a session in a thread of its own, where it is opened, too: that imports, and looks at the disk."""

    def __init__(self, store: Store, open_session: Callable[[], Session], *, follow: bool) -> None:
        self.store = store
        self._open_session = open_session
        self._follow = follow
        self.state = FeedState(following=follow)
        """How the reading stands, whether it was told or not."""
        self._listener: Callable[[FeedState], object] | None = None
        self._is_heard = threading.Event()
        self._stop = threading.Event()
        self._proven = 0
        """What was scanned below this row was decoded."""
        self._shown = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spanview-feed", daemon=True)

    def start(self) -> None:
        """Begin to read; the first state waits for somebody who listens."""
        sys.setswitchinterval(_SWITCH_S)
        self._thread.start()

    def listen(self, listener: Callable[[FeedState], object]) -> None:
        """Let each new state be told, from the thread; begin to read, where that was not begun."""
        self._listener = listener
        self._is_heard.set()
        if self._thread.ident is None:
            self.start()

    def stop(self) -> None:
        """End the reading."""
        self._stop.set()
        self._shown.set()
        self._is_heard.set()

    @property
    def is_running(self) -> bool:
        """Whether it hasn't ended."""
        return self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Give what was told to stop some time to leave nothing behind."""
        if self.is_running:
            self._thread.join(seconds)

    def go_on(self) -> None:
        """Go on behind the first news: what they brought is on the screen."""
        self._shown.set()

    def _tell(self, state: FeedState) -> None:
        self.state = state
        self._is_heard.wait()
        if self._listener is not None:
            self._listener(state)

    def _run(self) -> None:
        try:
            self._read()
        except Exception as error:  # noqa: BLE001 - the top of a thread: it says what it caught
            self._tell(FeedState(loading=False, failure=str(error) or type(error).__name__))

    def _read(self) -> None:
        self.store.is_growing = True
        session = self._open_session()
        told_at = 0.0
        for progress in session.load():
            if self._stop.is_set():
                return
            now = time.monotonic()
            # Where all of it comes at once, there is nothing to tell before it is all there.
            is_all = 0 < progress.bytes_total <= progress.bytes_read
            if now - told_at >= _UPDATE_INTERVAL_S and not is_all:
                told_at = now
                self._tell(FeedState(True, progress.bytes_read, progress.bytes_total, self._follow))
                # One interpreter runs both threads: reading on at once would keep the first rows from the screen.
                self._shown.wait(_FIRST_ROWS_S)
        if self._follow:
            self._tell(FeedState(loading=False, following=True))
            # What is new goes first.
            threading.Thread(target=self._check_beside, args=(session,), name="spanview-check", daemon=True).start()
            self._keep_reading(session)
            return
        session.close()
        self.store.is_growing = False
        self._tell(FeedState(loading=False))
        session.keep()
        self._check(session)

    def _check_beside(self, session: Session) -> None:
        """Decode what was scanned at first, and then what is scanned of what comes, when less of it comes."""
        try:
            self._check(session)
            while not self._stop.wait(_AT_REST_S):
                if self.state.spans_per_second < _MANY_SPANS:
                    self._prove()
        except Exception as error:  # noqa: BLE001 - the top of a thread; the following goes on
            detail = f"the checking of what was scanned ended: {error}"
            self.store.tallies.add_problem(Problem(ProblemKind.WATCHER, "", 0, 0, detail))

    def _check(self, session: Session) -> None:
        """Decode what was scanned only, while everything is on the screen already."""
        if session.is_proven or not (self.store.intake.scanned or self.store.intake.moved):
            return
        if self._stop.wait(_AT_REST_S) or not self._prove() or self._follow:
            return
        self._tell(FeedState(loading=False))
        session.keep(is_proven=True)

    def _prove(self) -> bool:
        """Decode what was scanned since the last time; tell whether all of it was decoded."""
        scanned, count, told_at = self.store.intake.scanned, len(self.store.spans), time.monotonic()
        # Rows are noted when they are all there: what is noted meanwhile has its turn the next time.
        end = scanned[-1].stop if scanned else 0
        if end <= self._proven:
            return True
        from spanview.quick.proof import prove

        for left in prove(self.store, self._proven):
            if self._stop.is_set():
                return False
            if not self._follow and time.monotonic() - told_at >= _UPDATE_INTERVAL_S:
                told_at = time.monotonic()
                self._tell(FeedState(loading=False, to_check=left / count))
        self._proven = end
        return True

    def _keep_reading(self, session: Session) -> None:
        from spanview.sources.follow import Watcher, follow

        watcher = Watcher(self.store.tallies.add_problem)
        rate, counted, since = 0.0, 0, time.monotonic()
        missing: tuple[str, ...] = ()
        reported: FeedState | None = None
        try:
            for changes in follow(session, watcher, self._stop, time.monotonic):
                counted += changes.spans
                now = time.monotonic()
                if now - since >= 1.0:
                    rate, counted, since = counted / (now - since), 0, now
                if changes.directories or changes.missing:
                    # Where some PATH is there, what is followed isn't what is waited for.
                    missing = () if changes.directories else tuple(changes.missing)
                state = FeedState(False, 0, 0, True, changes.is_polling, missing, rate)
                if changes.spans or changes.bytes or state != reported:
                    reported = state
                    self._tell(state)
        finally:
            watcher.close()
