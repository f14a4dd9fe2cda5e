"""Serve's requests of one group, slowest first; Enter leads to the trace of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.serve.groups import serve_groups
from spanview.display.serve_text import other_text, request_text, status_text, what_text
from spanview.display.units import count
from spanview.reports.serve import requests_table
from spanview.tui.keys import On
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.report_screen import ReportScreen, RowKeys
from spanview.tui.widgets.table import TableList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.serve.groups import RequestGroup
    from spanview.analysis.serve.requests import Request
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.widgets.live import AnyLive

MOST_REQUESTS: Final = 10_000
"""So many are listed, the slowest."""


class RequestLines(TableList["Request"]):
    """A line a request, of which more spans may be known from one answer to the next."""

    def __init__(self, store: Store, requests: Sequence[Request]) -> None:
        super().__init__(requests_table(store, has_models=any(request.model_call.calls for request in requests)))

    def is_same(self, item: Request, before: Request) -> bool:
        """Tell whether they share a span."""
        return not {*before.rows}.isdisjoint(item.rows)


class RequestsScreen(ReportScreen["Request"], on=On.SPANS):
    """The requests of one group."""

    def __init__(self, store: Store, counted: AnyLive, group: RequestGroup) -> None:
        keys: RowKeys[Request] = RowKeys(
            open=lambda request: self.viewer.views.open_span(request.rows[0]),
            # By it its other spans and its log lines are found.
            copied=lambda request: (
                (request.request_id, "request id") if request.request_id else "this request has no id"
            ),
            failed=lambda request: [] if (row := request.failed_row(store)) is None else [row],
            has_failed=lambda request: request.failure is not None,
            nothing_failed="no request here failed",
        )
        known = group.requests, counted.chosen, counted.version
        super().__init__(RequestLines(store, group.requests), keys, known=known)
        self._store = store
        self._key = group.key
        self._requests: Sequence[Request] = group.requests
        self.live: Live[Sequence[Request]] = Live(self, counted.scope, self._find, self._take_requests)

    def note_text(self, cells: int) -> str:  # noqa: ARG002 - it is short
        """Return what the figures of the selected request leave open."""
        request = self.rows.selected
        return "" if request is None else other_text(self._store, request)

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
