"""Serve's requests of one group, slowest first; Enter leads to the trace of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.serve_groups import serve_groups
from spanview.display.serve_text import failure_text, request_text, seen_text, status_text
from spanview.display.units import count, duration, moment
from spanview.tui.keys import On
from spanview.tui.widgets.base_screen import BaseScreen, bindings_of
from spanview.tui.widgets.header import TwoSided
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.paint import data_text, fixed, line, right

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.segment import Segment
    from textual.app import ComposeResult

    from spanview.analysis.serve import Request
    from spanview.analysis.serve_groups import RequestGroup
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.widgets.live import AnyLive

_TIME, _FAILED, _START, _ID = 10, 12, 14, 38
_WIDE: Final = 110


class RequestLines(LineList):
    """A line a request.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self.requests: Sequence[Request] = ()

    @property
    def selected(self) -> Request | None:
        """The request under the cursor."""
        return self.requests[self.cursor] if self.cursor < len(self.requests) else None

    def show(self, requests: Sequence[Request]) -> None:
        """Show other requests; the cursor stays on its request, of which more spans may be known by now."""
        before = self.selected
        self.requests = requests
        here = set() if before is None else {*before.rows}
        self.take_rows(len(requests), next((row for row, each in enumerate(requests) if here & {*each.rows}), None))

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


class RequestsScreen(BaseScreen):
    """The requests of one group.

    Args:
        store: The store.
        counted: The count of all groups.
        group: The group.
    """

    ON: ClassVar[On] = On.SPANS
    BINDINGS = bindings_of(On.SPANS)

    def __init__(self, store: Store, counted: AnyLive, group: RequestGroup) -> None:
        super().__init__()
        self._store = store
        self._key = group.key
        self._known = group.requests, counted.chosen, counted.version
        self.live: Live[Sequence[Request]] = Live(self, counted.scope, self._find, self._take_requests)

    def compose(self) -> ComposeResult:
        """Make the screen."""
        heads = "".join(right(head, _TIME) for head in ("TOTAL", "QUEUE", "HANDLING"))
        yield TwoSided(classes="header")
        yield Static(Content(f"{heads}{' ' * _FAILED}{'START':{_START}}{'REQUEST ID':{_ID}} SEEN"), classes="heads")
        yield RequestLines(self._store)
        yield self.footer()

    @property
    def rows(self) -> RequestLines:
        """The requests."""
        return self.query_one(RequestLines)

    def on_mount(self) -> None:
        """Take the keys, and show what is known."""
        self.set_focus(self.rows)
        self.live.begin_with(*self._known)
        self.live.look()

    def _find(self, traces: Sequence[int] | None, tell: Tell) -> Sequence[Request]:
        """Called in a thread: the group as it is now."""
        groups = serve_groups(self._store, traces, tell)
        return next((group.requests for group in groups if group.key == self._key), ())

    def _take_requests(self, requests: Sequence[Request]) -> None:
        self.rows.show(requests)
        self.refresh_frame()

    def title_text(self) -> str:
        """Return what is listed."""
        what = f"{request_text(self._key)}  {status_text(self._key)}{self.live.as_of}"
        return f"‹ {what}   {count(self.rows.row_count, 'request')}, slowest first"

    async def action_open(self) -> None:
        """Show the request in its trace."""
        request = self.rows.selected
        if request is not None:
            await self.viewer.open_trace(self._store.spans.trace[request.rows[0]], at_row=request.rows[0])

    def action_copy(self) -> None:
        """Copy the id of the request, by which its other spans and its log lines are found."""
        request = self.rows.selected
        if request is not None and request.request_id:
            self.viewer.copy(request.request_id, "request id")
        else:
            self.viewer.say("this request has no id")
