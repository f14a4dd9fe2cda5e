"""Serve's requests of one group, slowest first; Enter leads to the trace of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.serve_groups import serve_groups
from spanview.display.serve_text import failure_text, other_text, request_text, seen_text, status_text, what_text
from spanview.display.units import count, duration, moment
from spanview.reports.table import Piece, Ranks, Table, TableColumn
from spanview.tui.keys import On
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.failing import NextFailure
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.paint import data_text, fixed
from spanview.tui.widgets.sorting import Sorting
from spanview.tui.widgets.table import TableList

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.serve import Request
    from spanview.analysis.serve_groups import RequestGroup
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.widgets.live import AnyLive

MOST_REQUESTS: Final = 10_000
"""So many are listed, the slowest."""
_TIME, _ID = 11, 38
_LEAST_BESIDE: Final = 16
"""Cells behind an id with which it is said where the request was seen."""
_SHORTEST_ID, _USUAL_ID = 8, 16


def _id_and_places(request: Request, cells: int) -> Iterator[Piece]:
    status = f" {seen_text(request)}" if cells >= _ID + _LEAST_BESIDE else ""
    yield Piece(data_text(request.request_id or "–", min(_ID, cells)))
    yield Piece(fixed(status, cells - _ID), "dim")


def _timed(
    head: str, ns_of: Callable[[Request], int | None], ranked_by: Callable[[Request], int | None] | None = None
) -> TableColumn[Request]:
    return TableColumn(
        head,
        _TIME,
        lambda request: duration(ns_of(request)),
        key=head.lower(),
        value=ranked_by or ns_of,
        ranks=Ranks.TIMES,
    )


def table_of(store: Store) -> Table[Request]:
    """Return the columns of requests: the total, and the parts that add up to it."""
    starts = store.spans.start_ns
    return Table(
        (
            _timed("TOTAL", lambda request: request.total_ns, lambda request: request.longest_ns),
            _timed("QUEUE", lambda request: request.queue_ns),
            _timed("HANDLING", lambda request: request.handling_ns),
            _timed("ROUTE", lambda request: request.route_ns),
            _timed("OTHER", lambda request: request.other_ns),
            TableColumn("", 10, failure_text, "error", gap=2, aligns_left=True),
            TableColumn(
                "START",
                14,
                lambda request: moment(starts[request.rows[0]], with_date=False, digits=3),
                "dim",
                aligns_left=True,
                key="start",
                value=lambda request: starts[request.rows[0]],
                ranks=Ranks.MOMENTS,
                goes=1,
            ),
            TableColumn(f"{'REQUEST ID':{_ID}} SEEN", parts=_id_and_places),
        ),
        "total",
        _USUAL_ID,
        floor=_SHORTEST_ID,
    )


class RequestLines(TableList["Request"]):
    """A line a request, of which more spans may be known from one answer to the next."""

    def __init__(self, store: Store) -> None:
        super().__init__(table_of(store))

    def is_same(self, item: Request, before: Request) -> bool:
        """Tell whether they share a span."""
        return not {*before.rows}.isdisjoint(item.rows)


class RequestsScreen(BaseScreen, on=On.SPANS):
    """The requests of one group.

    Args:
        counted: The count of all groups.
        group: The group.
    """

    NOTES = 1

    def __init__(self, store: Store, counted: AnyLive, group: RequestGroup) -> None:
        super().__init__()
        self.rows: RequestLines = RequestLines(store)
        self.sorting = Sorting(self, self.rows)
        self._store = store
        self._next_failure = NextFailure(
            self,
            self._failed_of_request,
            lambda: self.rows.move_on(lambda request: request.failure is not None),
            "no request here failed",
        )
        self._key = group.key
        self._requests: Sequence[Request] = group.requests
        self._known = group.requests, counted.chosen, counted.version
        self.live: Live[Sequence[Request]] = Live(self, counted.scope, self._find, self._take_requests)

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield self.rows.heads
        yield self.rows
        yield Static(Content(""), classes="heads", id="note")

    def show_frame(self) -> None:
        """Say of the selected request what its figures leave open."""
        super().show_frame()
        request = self.rows.selected
        self.query_one("#note", Static).update(Content("" if request is None else other_text(self._store, request)))

    on_line_list_moved = BaseScreen.refresh_frame
    """Say what is selected now."""

    def on_mount(self) -> None:
        """Take the keys, and show what is known."""
        self.set_focus(self.rows)
        self.live.begin_with(*self._known)

    def _find(self, traces: Sequence[int] | None, tell: Tell) -> Sequence[Request]:
        """Called in a thread: the group as it is now."""
        groups = serve_groups(self._store, traces, tell)
        return next((group.requests for group in groups if group.key == self._key), ())

    def _take_requests(self, requests: Sequence[Request]) -> None:
        self._requests = requests
        self.rows.show(requests[:MOST_REQUESTS], stay=True)
        self.refresh_frame()

    def title_text(self) -> str:
        """Return what is listed."""
        number = len(self._requests)
        most = f"the slowest {MOST_REQUESTS:,} of " if number > MOST_REQUESTS else ""
        what = f"{request_text(self._key)}  {status_text(self._key)}{self.live.as_of}"
        return f"‹ {what}   {most}{count(number, what_text(self._requests))}"

    async def action_open(self) -> None:
        """Show the request in its trace."""
        request = self.rows.selected
        if request is not None:
            await self.viewer.open_trace(self._store.spans.trace[request.rows[0]], at_row=request.rows[0])

    def _failed_of_request(self) -> Sequence[int]:
        request = self.rows.selected
        row = None if request is None else request.failed_row(self._store)
        return () if row is None else (row,)

    async def action_error(self, _by: int) -> None:
        """Open the selected request where it failed, or the next one that did."""
        await self._next_failure.open()

    def action_copy(self) -> None:
        """Copy the id of the request, by which its other spans and its log lines are found."""
        request = self.rows.selected
        if request is not None and request.request_id:
            self.viewer.copy(request.request_id, "request id")
        else:
            self.viewer.say("this request has no id")
