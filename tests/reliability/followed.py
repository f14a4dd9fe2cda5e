"""What is shown while it is written: by spanview as a program, or by a thread of this process as the viewer has."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

import orjson

from builders import Builder
from programs import SPANVIEW, Following
from spanview.index.store import Store
from spanview.sources.details import RecordReader
from spanview.sources.follow import Watcher, follow
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

from .shown import spans_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from spanview.model.problems import Problem
    from spanview.sources.terms import Changes

PATIENCE_S: Final = 15.0
"""What isn't shown after so long is lost; nothing waits for it to pass."""


class Program(Following):
    """`spanview spans --follow`, and the names of the spans that it printed.

    Args:
        paths: What is followed.
        program: What runs, in place of `python -m spanview`.
    """

    def __init__(self, *paths: str | Path, program: Sequence[str] = SPANVIEW) -> None:
        super().__init__("spans", "--follow", *paths, program=program)
        self._names: list[str] = []
        self.odd: list[str] = []
        """Spans that have a warning, or not the attributes that `Records` gives."""

    @property
    def names(self) -> list[str]:
        """The names of the spans that were printed, in order."""
        for line in self.lines[len(self._names) :]:
            span = orjson.loads(line)
            if span["warnings"] or span["attributes"].get("of") != span["name"]:
                self.odd.append(line)
            self._names.append(span["name"])
        return self._names

    def wait_for_names(self, names: Iterable[str], seconds: float = PATIENCE_S) -> bool:
        """Wait until spans of these names were printed; tell whether they were."""
        return self.is_soon(all_of(names, lambda: self.names), seconds)

    def seconds_until(self, name: str, since_ns: int) -> float:
        """Return how long after a time, in nanoseconds since 1970, a span was printed."""
        return (self.times_ns[self.names.index(name)] - since_ns) / 1e9


class InProcess:
    """A session that a thread of this process follows; a context that ends it.

    Args:
        paths: What is followed.
        watcher: Makes what gives hints.
    """

    def __init__(self, *paths: str | Path, watcher: Callable[[Callable[[Problem], None]], Watcher] = Watcher) -> None:
        self.details = RecordReader()
        self.store = Store(self.details)
        self.names: list[str] = []
        """The names of the spans that were read, in order, doubles included."""
        self.updates: list[Changes] = []
        self.session = Session(ReadOptions(tuple(map(str, paths)), follow=True), self.store, self.details)
        self.watcher = watcher(self.store.tallies.add_problem)
        self._changed = threading.Condition()
        self._stop = threading.Event()
        for _ in self.session.load():
            pass
        self._note()
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    def _follow(self) -> None:
        for update in follow(self.session, self.watcher, self._stop, time.monotonic):
            self.updates.append(update)
            self._note()

    def _note(self) -> None:
        with self._changed:
            texts, spans = self.store.names.texts, self.store.spans
            self.names += [texts[spans.name[row]] for row in range(len(self.names), len(spans))]
            self._changed.notify_all()

    def wait_for_names(self, names: Iterable[str], seconds: float = PATIENCE_S) -> bool:
        """Wait until spans of these names were read; tell whether they were."""
        return self.wait_for(all_of(names, lambda: self.names), seconds)

    def wait_for(self, condition: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
        """Wait until something is so; tell whether it is."""
        with self._changed:
            return self._changed.wait_for(condition, seconds)

    def stop(self) -> None:
        """End the following; what was read stays."""
        self._stop.set()
        self.watcher.wake()
        self._thread.join()
        self.watcher.close()
        self.session.close()
        self._note()

    @property
    def odd(self) -> list[str]:
        """Spans whose attributes aren't those that `Records` gave them."""
        return [span.name for span in spans_of(self.store) if span.attributes.get("of") != span.name]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread.is_alive():
            self.stop()
        self.details.close()


@contextmanager
def session_on(folder: Path, *, follow: bool = True) -> Iterator[tuple[Session, Store]]:
    """Read a folder into a store, look again when asked to, and give everything back in the end."""
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions((str(folder),), follow=follow), store, details)
    for _ in session.load():
        pass
    try:
        yield session, store
    finally:
        session.close()
        details.close()


def all_of(names: Iterable[str], shown: Callable[[], list[str]]) -> Callable[[], bool]:
    """Return what tells whether spans of all these names were shown.

    Args:
        names: Of the spans.
        shown: Returns the names that were shown so far; the list only grows.
    """
    missing, seen = set(names), 0

    def are_there() -> bool:
        nonlocal seen
        found = shown()
        missing.difference_update(found[seen:])
        seen = len(found)
        return not missing

    return are_there


class Records:
    """Makes spans that are known by their names, which never come twice."""

    def __init__(self) -> None:
        self._build = Builder()
        self._count = 0

    def make(self, *, padding: int = 0) -> tuple[str, bytes]:
        """Return the name of a span and its record, a line; without padding all records are equally wide."""
        name, self._count = f"{self._count:07}", self._count + 1
        attributes = {"of": name} | ({"padding": "x" * padding} if padding else {})
        document = self._build.span(name, trace=1 + self._count % 50, attributes=attributes)
        # Equally wide whatever its time is: the SDK's times have six digits too.
        return name, json.dumps(document).encode() + b"\n"


def append(path: str | Path, data: bytes) -> None:
    """Append to a file in one piece."""
    with open(path, "ab", buffering=0) as file:
        file.write(data)


def play(events: Iterable[tuple[float, Callable[[], object]]]) -> None:
    """Do things, each so many seconds after the beginning."""
    began = time.monotonic()
    for at, do in sorted(events, key=lambda event: event[0]):
        time.sleep(max(0.0, began + at - time.monotonic()))
        do()
