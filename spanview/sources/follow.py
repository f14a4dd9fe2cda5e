"""Following: a hint when something changes, and a look at everything all the same, as often as that costs little."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from spanview.model.problems import Problem, ProblemKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spanview.sources.session import Session
    from spanview.sources.terms import Changes

SEARCH_INTERVAL_S: Final = 0.7
"""Seconds between two searches, if not more."""
_MAX_SEARCH_PAUSE_S: Final = 3.0
_SEARCH_TIME_SHARE: Final = 0.004
"""What share of the time searches may take where hints come, until they are so far apart."""
_POLLING_TIME_SHARE: Final = 0.1
"""What share of the time searches may take where hints come, and nothing is found without them."""
_STEP_MS: Final = 10
"""A hint comes one to two of these after the change: each look for one costs some 0.03 ms."""
_DEBOUNCE_MS: Final = 0
"""Where several processes write all the time, a hint doesn't wait for the next ones."""
_MANY_BYTES: Final = 1 << 20
"""A look that finds so many is followed by the next one after a while: what comes in a few large pieces costs half."""
_REST_S: Final = 0.12
_MAX_WATCHED_FOLDERS: Final = 256
_MAX_HINTED_PATHS: Final = 1024
_FIRST_RETRY_S: Final = 0.5
_MAX_RETRY_S: Final = 30.0


class Watcher:
    """A thread that hears of changes in folders; it may miss some, and nothing relies on it."""

    def __init__(self, on_problem: Callable[[Problem], None]) -> None:
        self._on_problem = on_problem
        self._changed = threading.Event()
        self._paths: set[str] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._folders: frozenset[tuple[str, int]] = frozenset()
        """Folders that are watched, with their inodes."""
        self._has_reported = False
        self.failed = False
        self.is_deaf = False
        """Whether searching found news twice, and nothing was heard of them."""
        self._heard_nothing_of_news = False

    def watch(self, folders: frozenset[str]) -> None:
        """Watch these folders, not what is below them, in place of those before.

        One that was removed and made again is another folder: of it, the old watch would hear nothing.
        """
        existing = _with_inodes(folders)
        if existing == self._folders:
            return
        self.close()
        self._folders, self._stop = existing, threading.Event()
        if existing:
            arguments = (sorted(path for path, _ in existing)[:_MAX_WATCHED_FOLDERS], self._stop)
            self._thread = threading.Thread(target=self._run, args=arguments, name="spanview-watch", daemon=True)
            self._thread.start()

    def _run(self, folders: list[str], stop: threading.Event) -> None:
        pause = _FIRST_RETRY_S
        while not stop.is_set():
            try:
                self._listen(folders, stop)
            except FileNotFoundError:
                # A folder was removed just now; the next search says which to watch.
                self._folders = frozenset()
                return
            except Exception as error:  # noqa: BLE001 - the top of a thread; searching goes on without it
                self.failed = True
                if not self._has_reported:
                    self._has_reported = True
                    detail = f"watching failed ({error}); changes are found by searching"
                    self._on_problem(Problem(ProblemKind.WATCHER, os.path.commonpath(folders), 0, 0, detail))
                stop.wait(pause)
                pause = min(pause * 2, _MAX_RETRY_S)
            else:
                return

    def _listen(self, folders: list[str], stop: threading.Event) -> None:
        from watchfiles import Change, watch

        for changes in watch(
            *folders,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=stop,
            rust_timeout=1000,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=False,
        ):
            self.failed = False
            gone = {path for change, path in changes if change is Change.deleted}.intersection(folders)
            if gone:
                # Its watch went with it, also where another folder has its name, and even its inode, by now.
                self._folders = frozenset()
            if changes:
                with self._lock:
                    self._paths.update(path for _, path in changes)
                self._changed.set()
            if gone:
                return

    def wait(self, seconds: float) -> set[str]:
        """Wait for a hint, at most so long; return the paths that seem to have changed."""
        self._changed.wait(seconds)
        with self._lock:
            self._changed.clear()
            paths, self._paths = self._paths, set()
        if paths:
            self.is_deaf = self._heard_nothing_of_news = False
        return paths

    def note_news(self) -> None:
        """Take note that searching found news, of which a hint should have come by now, or should come soon."""
        if self._heard_nothing_of_news and not self.is_deaf:
            self.is_deaf = True
            # Some file systems lose a watch without a word; a new one may hear again.
            self._folders = frozenset()
        self._heard_nothing_of_news = True

    def wake(self) -> None:
        """End the wait."""
        self._changed.set()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2)
            self._thread = None
        self._folders = frozenset()


def _with_inodes(folders: Iterable[str]) -> frozenset[tuple[str, int]]:
    pairs = []
    for folder in folders:
        # What can't be watched is left to searching.
        with suppress(OSError, UnicodeEncodeError):
            folder.encode()
            pairs.append((folder, os.stat(folder).st_ino))
    return frozenset(pairs)


def follow(session: Session, watcher: Watcher, stop: threading.Event, clock: Callable[[], float]) -> Iterator[Changes]:
    """Yield what changes in a session's PATHs until `stop` is set."""
    due, pause = clock(), SEARCH_INTERVAL_S
    hints: set[str] = set()
    while session.can_change and not stop.is_set():
        if clock() >= due or len(hints) > _MAX_HINTED_PATHS:
            began = clock()
            changes = session.look()
            taken = clock() - began
            if changes.bytes > changes.bytes_left_behind:
                watcher.note_news()
            watcher.watch(frozenset(changes.directories))
            if not changes.bytes:
                # Of a search that finds something to read, most is the reading.
                share = _POLLING_TIME_SHARE if watcher.failed or watcher.is_deaf else _SEARCH_TIME_SHARE
                pause = max(SEARCH_INTERVAL_S, min(taken / share, _MAX_SEARCH_PAUSE_S))
            due = clock() + pause
        else:
            changes = session.look(hints)
            if changes.directories:
                watcher.watch(frozenset(changes.directories))
        if changes.has_more:
            due = clock()
        changes.is_polling = watcher.failed or watcher.is_deaf
        yield changes
        if changes.bytes >= _MANY_BYTES and not changes.has_more:
            stop.wait(_REST_S)
        hints = set()
        while not hints and not stop.is_set() and clock() < due:
            hints = watcher.wait(max(0.0, due - clock()))
