"""Following without the viewer: one thread reads and prints until it is interrupted."""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from spanview.commands.piped import has_hung_up
from spanview.commands.standard_error import MAX_PROBLEM_NOTICES, say
from spanview.display.notices import NOTICED, notice_text
from spanview.sources.follow import Watcher, follow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from spanview.index.tallies import Tallies
    from spanview.sources.session import Session
    from spanview.sources.terms import Changes

_NO_MORE: Final = "no more such problems are printed; spanview check lists all of them"


@contextmanager
def until_interrupted() -> Iterator[threading.Event]:
    """Return an event that Ctrl+C and SIGTERM set, so that what is unfinished can be reported at the end."""
    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.signal(number, end) for number in numbers]
    try:
        yield stop
    finally:
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)


def updates(session: Session, tallies: Tallies, stop: threading.Event) -> Iterator[Changes]:
    """Yield what changes; say on standard error what is waited for and what can't be read, each once.

    Raises:
        BrokenPipeError: The reader of standard output is gone.
    """
    watcher = Watcher(tallies.add_problem)
    reported = noticed = 0
    waiting: set[str] = set()
    try:
        for changes in follow(session, watcher, stop, time.monotonic):
            for path in changes.missing:
                if path not in waiting:
                    waiting.add(path)
                    say(f"waiting for {path}")
            if changes.directories:
                waiting.intersection_update(changes.missing)
            problems = tallies.unsorted_problems(reported)
            reported += len(problems)
            for problem in problems:
                # After so many, only that there are more.
                if problem.kind in NOTICED and noticed <= MAX_PROBLEM_NOTICES:
                    noticed += 1
                    is_last = noticed > MAX_PROBLEM_NOTICES
                    say(_NO_MORE if is_last else notice_text(problem))
            yield changes
            # Otherwise only the next span to print would show that a pipe has lost its reader.
            if has_hung_up(sys.stdout.fileno()):
                raise BrokenPipeError
    finally:
        watcher.close()
