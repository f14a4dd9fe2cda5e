"""Serve's requests of one group, slowest first; Enter leads to the trace of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widgets import Static

from spanview.display.serve_text import failure_text, request_text, seen_text, status_text
from spanview.display.units import count, duration, moment
from spanview.tui.header import TwoSided
from spanview.tui.linelist import LineList
from spanview.tui.paint import data_text, fixed, line, right
from spanview.tui.spans_screen import SpansScreen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.segment import Segment
    from textual.app import ComposeResult

    from spanview.analysis.serve import Request
    from spanview.analysis.serve_groups import RequestGroup
    from spanview.index.store import Store

_TIME, _FAILED, _START, _ID = 10, 12, 14, 38
_WIDE: Final = 110


class RequestLines(LineList):
    """A line a request.

    Args:
        store: The store.
        requests: The requests.
    """

    def __init__(self, store: Store, requests: Sequence[Request]) -> None:
        super().__init__()
        self._store = store
        self.requests = requests

    def on_mount(self) -> None:
        """Show the first ones."""
        self.rows_have_changed(len(self.requests), 0)

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one request's line."""
        request = self.requests[row]
        times = [request.total_ns, request.queue_ns, request.handling_ns]
        start = moment(self._store.spans.start_ns[request.rows[0]], with_date=False, digits=3)
        seen = f" {seen_text(request)}" if width >= _WIDE else ""
        used = _TIME * len(times) + _FAILED + _START
        return line(
            [
                ("".join(right(duration(time), _TIME) for time in times), None),
                (fixed(f"  {failure_text(request)}", _FAILED), self.paint_style("error")),
                (fixed(start, _START), self.paint_style("dim")),
                (data_text(request.request_id or "–", min(_ID, max(8, width - used))), None),
                (fixed(seen, max(0, width - used - _ID)), self.paint_style("dim")),
            ]
        )


class RequestsScreen(SpansScreen):
    """The requests of one group.

    Args:
        store: The store.
        group: The group.
    """

    def __init__(self, store: Store, group: RequestGroup) -> None:
        self._requests = group.requests
        what = f"{request_text(group.key)}  {status_text(group.key)}"
        super().__init__(store, [request.rows[0] for request in self._requests], what)

    def compose(self) -> ComposeResult:
        """Make the screen."""
        heads = "".join(right(head, _TIME) for head in ("TOTAL", "QUEUE", "HANDLING"))
        yield TwoSided(classes="header")
        yield Static(Content(f"{heads}{' ' * _FAILED}{'START':{_START}}{'REQUEST ID':{_ID}} SEEN"), classes="heads")
        yield RequestLines(self._store, self._requests)
        yield self.footer()

    @property
    def rows(self) -> LineList:
        """The requests."""
        return self.query_one(RequestLines)

    def title_text(self) -> str:
        """Return what is listed."""
        return f"‹ {self._what}   {count(len(self._requests), 'request')}, slowest first"

    def action_copy(self) -> None:
        """Copy the id of the request, by which its other spans and its log lines are found."""
        if self._requests[self.rows.cursor].request_id:
            self.viewer.copy(self._requests[self.rows.cursor].request_id, "request id")
        else:
            self.viewer.say("this request has no id")
