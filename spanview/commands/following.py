"""Following without the viewer: one thread reads and prints until it is interrupted."""

from __future__ import annotations

import select
import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from spanview.commands.standard_error import MOST_PROBLEM_NOTICES, say, say_problem
from spanview.display.notices import NOTICED
from spanview.sources.follow import Watcher, follow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from spanview.index.tallies import Tallies
    from spanview.sources.follow import Update
    from spanview.sources.session import Session


@contextmanager
def until_interrupted() -> Iterator[threading.Event]:
    """Return an event that Ctrl+C and SIGTERM set, so that what is unfinished can be told at the end."""
    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, end) for number in numbers]
    try:
        yield stop
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def updates(session: Session, tallies: Tallies, stop: threading.Event) -> Iterator[Update]:
    """Yield what changes; say on standard error what is waited for and what can't be read, each once.

    Raises:
        BrokenPipeError: Whoever read standard output is gone.
    """
    watcher = Watcher(tallies.add_problem)
    notices = _Notices(tallies)
    waiting: set[str] = set()
    try:
        for update in follow(session, watcher, stop, time.monotonic):
            for path in update.changes.missing:
                if path not in waiting:
                    waiting.add(path)
                    say(f"waiting for {path}")
            if update.changes.directories:
                waiting.intersection_update(update.changes.missing)
            notices.look()
            yield update
            if _is_unread(sys.stdout):
                raise BrokenPipeError
    finally:
        watcher.close()


class _Notices:
    """Says what can't be read as it turns up; after so many only that there are more."""

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies
        self._seen = 0
        self._said = 0

    def look(self) -> None:
        """Say what is new."""
        problems = self._tallies.told(self._seen)
        self._seen += len(problems)
        for problem in problems:
            if problem.kind in NOTICED and self._said <= MOST_PROBLEM_NOTICES:
                self._said += 1
                if self._said <= MOST_PROBLEM_NOTICES:
                    say_problem(problem)
                else:
                    say("no more such notices are printed; spanview check lists all of them")


def _is_unread(stream: TextIO) -> bool:
    """Tell whether a pipe has lost its reader; without a look, only the next span to print would tell."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(stream.fileno(), 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))
