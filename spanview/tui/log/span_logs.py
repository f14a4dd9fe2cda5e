"""The log of the span that is selected, looked for in a thread, and the way to it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from spanview.analysis.logs.lines import SpanLog, log_owner, owner_in
from spanview.display.sanitise import sanitise
from spanview.sources.details import reason_of
from spanview.sources.line_file import LineFile
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.widget import Widget

    from spanview.analysis.logs.lines import LogOwner, LogPlace
    from spanview.analysis.telling import Tell
    from spanview.display.span_in_tree import SpanInTree
    from spanview.index.store import Store
    from spanview.sources.logs import Logs
    from spanview.tui.widgets.base_screen import BaseScreen

_MOST_ASKED: Final = 32
"""Spans of a worker that are asked who it is."""


@dataclass(frozen=True, slots=True)
class LogSubject:
    """A span whose log is looked for."""

    row: int
    """Its row in the span table."""
    name: str
    """Safe to print."""
    start_ns: int | None
    end_ns: int | None
    owner: Callable[[], LogOwner]
    """Called in a thread: reads records again to find out whose log it is."""


def of_span(subject: SpanInTree) -> LogSubject:
    """Return a span of a trace, as one whose log is looked for."""
    span, store = subject.span, subject.store
    owner = partial(log_owner, store, subject.tree, subject.node)
    return LogSubject(subject.row, sanitise(span.name, 80), span.start_ns, span.end_ns, owner)


def of_row(store: Store, row: int) -> LogSubject:
    """Return a span of a call, which names its worker itself."""
    span = store.span(row)
    return LogSubject(
        row, sanitise(span.name, 80), span.start_ns, span.end_ns, lambda: owner_in(span, span.source.file)
    )


def of_worker(store: Store, row: int, others: Sequence[int]) -> LogSubject:
    """Return a span of a worker; where it doesn't name its worker itself, another one of the worker's spans does."""
    subject = of_row(store, row)

    def owner() -> LogOwner:
        found = (of_row(store, other).owner() for other in islice(others, _MOST_ASKED))
        own = subject.owner()
        return own if own.is_known else next((owner for owner in found if owner.worker_id), own)

    return replace(subject, owner=owner)


def _log_of(logs: Logs, subject: LogSubject, tell: Tell) -> SpanLog:
    """Called in a thread: return the lines of logs that belong to a span."""
    if subject.start_ns is None:
        return SpanLog(reason="the span has no start")
    return logs.lines_of(subject.owner(), subject.start_ns, subject.end_ns, tell)


class SpanLogs:
    """Looks for the logs of one span after the other."""

    def __init__(self, widget: Widget, show: Callable[[], object]) -> None:
        self._widget = widget
        self._show = show
        self._known: tuple[int, SpanLog] | None = None
        """The row of the span, and its log."""
        self._asked: int | None = None
        """The row of the span whose log is being looked for."""
        self._work: Work | None = None

    @property
    def _screen(self) -> BaseScreen:
        return cast("BaseScreen", self._widget.screen)

    def known(self, row: int) -> SpanLog | None:
        """Return the log of a span by its row, where it is known."""
        return self._known[1] if self._known is not None and self._known[0] == row else None

    def of(self, subject: LogSubject) -> SpanLog | None:
        """Return the log of a span; None while it is looked for."""
        known = self.known(subject.row)
        if known is None and self._asked != subject.row:
            self.look_again(subject)
        return known

    def look_again(self, subject: LogSubject) -> None:
        """Look for the log of a span, which may have grown."""
        self._look(subject, self._take)

    async def open(self, subject: LogSubject, place: LogPlace | None) -> None:
        """Show the log of a span in a pager, at a line or where the span's own lines begin."""
        known = self.known(subject.row)
        if known is not None:
            await self._open(subject, known, place)
        else:
            self._look(subject, lambda row, log: self._take_and_open(subject, row, log))

    def _look(self, subject: LogSubject, take: Callable[[int, SpanLog], object]) -> None:
        if self._work is None:
            self._work = Work(self._screen)
        self._asked, logs = subject.row, self._screen.viewer.logs
        self._work.begin(lambda tell: _log_of(logs, subject, tell), lambda log: take(subject.row, log))

    def _take(self, row: int, log: SpanLog) -> None:
        self._asked, self._known = None, (row, log)
        self._show()

    def _take_and_open(self, subject: LogSubject, row: int, log: SpanLog) -> None:
        self._take(row, log)
        if self._screen.is_in_front:
            # In its turn among the keys.
            self._screen.app.call_later(self._open, subject, log, None)

    async def _open(self, subject: LogSubject, log: SpanLog, place: LogPlace | None) -> None:
        viewer = self._screen.viewer
        place = place or log.start
        if place is None:
            viewer.say(f"no log: {log.reason or 'it is empty'}")
            return
        try:
            file = LineFile(place.path)
        except OSError as error:
            viewer.say(f"{os.path.basename(place.path)}: {reason_of(error)}")
            return
        await viewer.views.open_log(file, place.offset, log, subject.name)
