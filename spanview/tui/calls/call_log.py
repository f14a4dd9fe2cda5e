"""The line that names the log of the selected call, where it lies beside the spans."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.widget import Widget

from spanview.analysis.logs.lines import Coverage
from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.tui.log.span_logs import SpanLogs, of_row
from spanview.tui.widgets.paint import fixed

if TYPE_CHECKING:
    from spanview.analysis.logs.lines import SpanLog
    from spanview.index.store import Store


class CallLog(Widget):
    """Names the log of a call; out of sight until a call has one."""

    def __init__(self, store: Store, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._store = store
        self._logs = SpanLogs(self, self._has_news)
        self._row: int | None = None
        self.display = False

    def show(self, row: int | None) -> None:
        """Name the log of another attempt, by its row in the span table; None for a call without one."""
        if row != self._row:
            self._row = row
            if row is not None:
                self._logs.of(of_row(self._store, row))
            self.refresh()

    async def open(self) -> None:
        """Show the log in a pager."""
        if self._row is not None:
            await self._logs.open(of_row(self._store, self._row), None)

    def _has_news(self) -> None:
        if self._log is not None and self._log.parts:
            self.display = True
        self.refresh()

    @property
    def _log(self) -> SpanLog | None:
        return None if self._row is None else self._logs.known(self._row)

    def render(self) -> Content:
        """Return the line."""
        log = self._log
        return Content("" if log is None else fixed(_text(log, self.size.width - 1), self.size.width))


def _text(log: SpanLog, room: int) -> str:
    """Return which files a log is in, as much of their path as there is room for."""
    if not log.parts:
        return f" log: {sanitise(log.reason)}"
    start = log.start or log.parts[0]
    lines = sum(len(part.lines) for part in log.parts if part.coverage is not Coverage.PROCESS)
    said = f"   {count(lines, 'line')} of this call" if lines else ""
    others = len(log.parts) - 1
    said += f", {others} more {'log' if others == 1 else 'logs'}" if others else ""
    said += "   v opens it"
    folder, name = os.path.split(sanitise(start.path, 400))
    path = os.path.join(folder, name)
    most = room - len(said) - len(" log: ")
    return f" log: {path if len(path) <= most else '…' + path[1 - most :]}{said}"
