"""Serve's requests: a line a route and status of each deployment; Enter lists the requests behind it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from spanview.analysis.failures import in_order_of_visits
from spanview.analysis.serve.groups import serve_groups
from spanview.display.cells import data_text, fitting
from spanview.display.serve_text import (
    counts_text,
    other_text,
    request_names,
    request_text,
    status_text,
    sums_texts,
    what_text,
)
from spanview.display.units import count
from spanview.reports.serve import requests_table, serve_table
from spanview.tui.keys import On, View
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
    from spanview.tui.widgets.scope import TraceScope

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


class ServeScreen(ReportScreen["RequestGroup"], on=On.SERVE, view=View.REQUESTS):
    """Serve's requests."""

    def __init__(self, store: Store, scope: TraceScope) -> None:
        keys: RowKeys[RequestGroup] = RowKeys(
            open=self._open_requests,
            copied=lambda group: (f"{group.key.method} {group.key.route}".strip(), "method and route"),
            failed=self._failed_of_group,
            has_failed=lambda group: bool(group.errors),
            nothing_failed="no request failed",
            is_whole=True,
        )
        super().__init__(TableList(serve_table({}), lambda group: group.key), keys, "serve_sort")
        self._store = store
        self.live: Live[list[RequestGroup]] = Live(self, scope, partial(serve_groups, store), self._take_groups)
        self._groups: list[RequestGroup] | None = None
        self._counts = ""

    def _take_groups(self, groups: list[RequestGroup]) -> None:
        self._groups = groups
        self._counts = counts_text(groups)
        has_models = any(group.model_calls.calls for group in groups)
        self.rows.table = serve_table(request_names([group.key for group in groups]), has_models=has_models)
        self.rows.show(groups, stay=True)
        self.refresh_frame()

    def note_text(self, cells: int) -> str:
        """Return what the time of the selected requests went to."""
        group = self.rows.selected
        return data_text(fitting([""] if group is None else sums_texts(group), cells), cells).rstrip()

    def title_text(self) -> str:
        """Return what is counted."""
        if self._groups is None:
            requests = f"reading them … {self.live.work.share_text}"
        elif not self._groups:
            requests = "no Ray Serve spans"
        else:
            requests = self._counts
        return f"‹ Serve requests of {self.live.chosen.what}{self.live.as_of}   {requests}"

    # -- keys --------------------------------------------------------------------------------------------------------

    async def _open_requests(self, group: RequestGroup) -> None:
        """List the requests of a group, slowest first."""
        await self.app.push_screen(RequestsScreen(self._store, self.live, group))

    def _failed_of_group(self, group: RequestGroup) -> Sequence[int]:
        """Return where the requests of a group failed, in the order of visits."""
        rows = (row for request in group.requests if (row := request.failed_row(self._store)) is not None)
        return in_order_of_visits(self._store, rows, self.viewer.made_good)
