"""Spans as they are written, for programs that act on them."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING

from spanview.api.store import names_of, refuse_misspelt, selection_of
from spanview.index.store import Store
from spanview.sources.details import RecordReader
from spanview.sources.follow import Watcher
from spanview.sources.follow import follow as updates
from spanview.sources.loading import load_store
from spanview.sources.new_spans import NewSpans, settled
from spanview.sources.places import events_beside
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from os import PathLike

    from spanview.analysis.query.selection import Selection
    from spanview.model.span import Span


async def follow(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]], *, query: str = "", since: str = ""
) -> AsyncIterator[Span]:
    """Yield spans as they are written, as `spanview spans -f` prints them: first those that are there already.

    A span that is written when it starts comes then, without an end, and again when it has ended. Reading waits while
    nobody asks for the next span. It ends with the loop: leaving that, or cancelling its task, closes everything.

    Args:
        paths: A file, a folder, a glob, or several of them; what doesn't exist yet is waited for.
        query: Keep spans that match; nothing that depends on more than a span.
        since: Keep spans of traces that ended after it, as `load` takes it.

    Raises:
        QueryError: The query or the time has a mistake, or can't be told of one span alone; or, once all that is there
            is read, a key is misspelt, as `Store.query` says.
    """
    names = names_of(paths)
    chosen = selection_of(query, since)
    selection = await asyncio.to_thread(settled, chosen, lambda: load_store(names).spans)
    reading = _Reading(names, selection)
    # What traces spanview itself enters its spans in one thread, and leaves them in another.
    loop, context = asyncio.get_running_loop(), copy_context()
    step = partial(loop.run_in_executor, None, context.run, reading.next_spans)
    waiting = step()
    try:
        while (spans := await asyncio.shield(waiting)) is not None:
            for span in spans:
                yield span
            waiting = step()
    finally:
        reading.stop()
        while await waiting is not None:
            waiting = step()


class _Reading:
    """Reads in whatever thread asks for more; one at a time does."""

    def __init__(self, names: tuple[str, ...], selection: Selection) -> None:
        self._details = RecordReader()
        store = Store(self._details, notes_changes=True)
        self._new, self._store, self._query = NewSpans(store, selection), store, " ".join(selection.queries)
        self._has_matched = False
        options = ReadOptions(names, follow=True, quick_from=sys.maxsize, events=events_beside(names))
        self._session = Session(options, store, self._details)
        self._watcher = Watcher(store.tallies.add_problem)
        self._stop = threading.Event()
        self._steps = self._read()

    def _read(self) -> Iterator[None]:
        try:
            for _ in self._session.load():
                yield
            if not self._has_matched and self._query:
                refuse_misspelt(self._store, self._query)
            for _ in updates(self._session, self._watcher, self._stop, time.monotonic):
                yield
        finally:
            self._watcher.close()
            self._session.close()
            self._details.close()

    def next_spans(self) -> list[Span] | None:
        """Return the next spans, some at a time, once there are any; None when it has been stopped."""
        for _ in self._steps:
            if not self._stop.is_set() and (spans := [*self._new.take()]):
                self._has_matched = True
                return spans
        return None

    def stop(self) -> None:
        """End it soon, whoever waits."""
        self._stop.set()
        self._watcher.wake()
