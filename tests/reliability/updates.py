"""A program that follows as the viewer does, and prints what each look brought as a line of JSON.

Run as `python -m tests.reliability.updates [--deaf] PATH…`; with --deaf nothing is ever heard of changes.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import watchfiles

from spanview.index.store import Store
from spanview.sources.details import RecordReader
from spanview.sources.follow import Watcher, follow
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Counting(Watcher):
    """A watcher that counts of how many paths it heard."""

    heard = 0

    def wait(self, seconds: float) -> set[str]:
        """Wait for a hint as others do."""
        paths = super().wait(seconds)
        self.heard += len(paths)
        return paths


def _hear_nothing(*_folders: str, stop_event: threading.Event, **_options: Any) -> Iterator[set[Any]]:
    """Stand for the watch of a file system that never says a word."""
    while not stop_event.wait(1.0):
        yield set()


def main() -> None:
    """Follow until the end of standard output."""
    paths = [path for path in sys.argv[1:] if path != "--deaf"]
    if len(paths) < len(sys.argv[1:]):
        watchfiles.watch = _hear_nothing  # type: ignore[assignment]
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions(tuple(paths), follow=True), store, details)
    for _ in session.load():
        pass
    told, watcher = 0, _Counting(store.tallies.add_problem)
    for update in follow(session, watcher, threading.Event(), time.monotonic):
        rows = range(told, len(store.spans))
        told = rows.stop
        line = {
            "names": [store.names.texts[store.spans.name[row]] for row in rows],
            "polling": update.is_polling,
            "problems": [problem.kind for problem in store.tallies.unsorted_problems()],
            "heard": watcher.heard,
        }
        print(json.dumps(line), flush=True)  # noqa: T201 - it is a program


if __name__ == "__main__":
    main()
