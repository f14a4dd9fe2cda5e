"""Following without the viewer: one thread reads and prints until it is interrupted."""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spanview.display.sanitise import sanitise
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
    """Yield what changes, and say on standard error once for each PATH that it is waited for."""
    watcher = Watcher(tallies.add_problem)
    waiting: set[str] = set()
    try:
        for update in follow(session, watcher, stop, time.monotonic):
            for path in update.changes.missing:
                if path not in waiting:
                    waiting.add(path)
                    sys.stderr.write(f"spanview: waiting for {sanitise(path)}\n")
            if update.changes.directories:
                waiting.intersection_update(update.changes.missing)
            yield update
    finally:
        watcher.close()
