"""Serve's requests: a line a route and status of each deployment; Enter lists the requests behind it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from spanview.analysis.failures import in_order_of_visits
from spanview.analysis.serve_groups import serve_groups
from spanview.display.cells import data_text, fitting, name_text
from spanview.display.histogram import HISTOGRAM, SCALE, histogram_text
from spanview.display.serve_text import counts_text, failures_text, others_text, request_names, status_text, sums_texts
from spanview.display.units import duration
from spanview.reports.table import Piece, Ranks, Table, TableColumn
from spanview.tui.keys import On, View
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.failing import NextFailure
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.sorting import Sorting
from spanview.tui.widgets.table import TableList

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.serve import RequestKey
    from spanview.analysis.serve_groups import RequestGroup, Spread
    from spanview.index.store import Store
    from spanview.tui.widgets.scope import TraceScope

_TIME: Final = 9
_LEAST_NAME, _USUAL_NAME = 19, 30
"""Cells of names for which figures go, and with which further ones come."""


def _style(group: RequestGroup) -> str:
    return "error" if group.errors else ""


def _timed(
    family: str, head: str, spread_of: Callable[[RequestGroup], Spread], **more: Any
) -> TableColumn[RequestGroup]:
    def value(group: RequestGroup) -> int | None:
        ns: int | None = getattr(spread_of(group), head.lower())
        return ns

    def rank(group: RequestGroup) -> int | None:
        """Take replicas whose callers were not seen by their handling, as far as totals go."""
        ns = value(group)
        return getattr(group.handling, head.lower()) if ns is None and family == "TOTAL" else ns

    return TableColumn(
        head,
        max(_TIME, len(family) + len("  P50 ▾") if more.pop("begins", False) else 0),
        lambda group: duration(value(group)),
        family=family,
        key=f"{family.lower()} {head.lower()}",
        value=rank,
        ranks=Ranks.TIMES,
        **more,
    )


def table_of(names: Mapping[RequestKey, Sequence[str]]) -> Table[RequestGroup]:
    """Return the columns: the P95 of queue and handling have room on any screen.

    Args:
        names: What requests are called, the longest first.
    """

    def name(group: RequestGroup, cells: int) -> Iterator[Piece]:
        yield Piece(name_text(fitting(names[group.key], cells), cells), _style(group))

    return Table(
        (
            TableColumn(
                "REQUEST",
                parts=name,
                wants=lambda group: cell_len(names[group.key][0]),
                key="request",
                value=lambda group: names[group.key][0],
                ranks=Ranks.NAMES,
            ),
            TableColumn("STATUS", 9, lambda group: status_text(group.key), _style, gap=1, goes=5),
            TableColumn(
                "COUNT", 7, lambda group: f"{group.count:,}", key="count", value=lambda group: group.count, goes=3
            ),
            TableColumn("ERRORS", 11, failures_text, _style, key="errors", value=lambda group: group.errors, goes=1),
            _timed("TOTAL", "P50", lambda group: group.total, goes=2, begins=True),
            _timed("TOTAL", "P95", lambda group: group.total, goes=2, begins=True),
            _timed("TOTAL", "P99", lambda group: group.total, comes=2),
            _timed("TOTAL", "MAX", lambda group: group.total, comes=1),
            TableColumn(SCALE, HISTOGRAM, lambda group: histogram_text(group.histogram), "accent", gap=2, comes=4),
            _timed("QUEUE", "P50", lambda group: group.queue, goes=4, begins=True),
            _timed("QUEUE", "P95", lambda group: group.queue, begins=True),
            _timed("HANDLING", "P50", lambda group: group.handling, begins=True),
            _timed("HANDLING", "P95", lambda group: group.handling),
            _timed("ROUTE", "P95", lambda group: group.route, comes=5, begins=True),
            _timed("OTHER", "P95", lambda group: group.other, comes=3, begins=True),
        ),
        "total p95",
        _LEAST_NAME,
        _USUAL_NAME,
        least_beside=_LEAST_NAME,
    )


class ServeScreen(BaseScreen, on=On.SERVE, view=View.REQUESTS):
    """Serve's requests.

    Args:
        scope: The traces that count.
    """

    NOTES = 1

    def __init__(self, store: Store, scope: TraceScope) -> None:
        super().__init__()
        self.rows: TableList[RequestGroup] = TableList(table_of({}), lambda group: group.key)
        self._store = store
        self._next_failure = NextFailure(
            self,
            self._failed_of_group,
            lambda: self.rows.move_on(lambda group: bool(group.errors)),
            "no request failed",
            is_whole=True,
        )
        self.live: Live[list[RequestGroup]] = Live(self, scope, partial(serve_groups, store), self._take_groups)
        self._groups: list[RequestGroup] | None = None
        self._counts = ""
        self.sorting = Sorting(self, self.rows, "serve_sort")

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield self.rows.heads
        yield self.rows
        yield Static(Content(""), classes="heads", id="note")

    def on_mount(self) -> None:
        """Begin to count."""
        self.set_focus(self.rows)
        self.take_settings()
        self.live.begin()

    def _take_groups(self, groups: list[RequestGroup]) -> None:
        self._groups = groups
        self._counts = counts_text(groups)
        self.rows.table = table_of(request_names([group.key for group in groups]))
        self.rows.show(groups, stay=True)
        self.refresh_frame()

    def show_frame(self) -> None:
        """Say what the time of the selected requests went to."""
        super().show_frame()
        group = self.rows.selected
        texts = [""]
        if group is not None:
            sums = sums_texts(group)
            texts = ["   ".join(filter(None, (sums[0], others_text(group)))), *sums]
        note = data_text(fitting(texts, self.size.width), self.size.width).rstrip()
        self.query_one("#note", Static).update(Content(note), layout=False)

    on_line_list_moved = BaseScreen.refresh_frame
    """Say what is selected now."""

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

    async def action_open(self) -> None:
        """List the requests of the group, slowest first."""
        from spanview.tui.serve.requests_screen import RequestsScreen

        await self.live.wait_for_answer()
        group = self.rows.selected
        if group is not None:
            await self.app.push_screen(RequestsScreen(self._store, self.live, group))

    def _failed_of_group(self) -> Sequence[int]:
        """Return where the selected requests failed, in the order of visits."""
        requests = () if self.rows.selected is None else self.rows.selected.requests
        rows = (row for request in requests if (row := request.failed_row(self._store)) is not None)
        return in_order_of_visits(self._store, rows, self.viewer.made_good)

    async def action_error(self, _by: int) -> None:
        """Open the next failure of the selected requests, or of the next ones some of which failed."""
        await self.live.wait_for_answer()
        await self._next_failure.open()

    def action_copy(self) -> None:
        """Copy what was asked for."""
        group = self.rows.selected
        if group is None:
            self.viewer.say("nothing to copy here")
        else:
            self.viewer.copy(f"{group.key.method} {group.key.route}".strip(), "method and route")
