"""Serve's requests: a line a route and status of each deployment; Enter lists the requests behind it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.serve_groups import serve_groups
from spanview.display.histogram import HISTOGRAM, SCALE, histogram_text
from spanview.display.serve_text import failures_text, request_text, status_text
from spanview.display.units import count, duration
from spanview.tui.keys import On, View
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.paint import data_text
from spanview.tui.widgets.table import Piece, Table, TableColumn, TableList, following

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from textual.app import ComposeResult

    from spanview.analysis.serve_groups import RequestGroup
    from spanview.index.store import Store
    from spanview.tui.widgets.scope import TraceScope

_WIDE, _WIDEST = 110, 140
"""Cells from which on there is room for more times, and for all of them and the histogram."""
_TIME: Final = 9
_SHORTEST_NAME: Final = 8


def _style(group: RequestGroup) -> str:
    return "error" if group.errors else ""


def _request(group: RequestGroup, cells: int) -> Iterator[Piece]:
    yield Piece(data_text(request_text(group.key), cells))


TABLE: Final[Table[RequestGroup]] = Table(
    (
        TableColumn("COUNT", 7, lambda group: f"{group.count:,}", key="count"),
        TableColumn("ERRORS", 11, failures_text, _style, key="errors"),
        TableColumn("P50", _TIME, lambda group: duration(group.total.p50), from_width=_WIDE),
        TableColumn("P95", _TIME, lambda group: duration(group.total.p95), key="p95"),
        TableColumn("P99", _TIME, lambda group: duration(group.total.p99), from_width=_WIDEST),
        TableColumn("MAX", _TIME, lambda group: duration(group.total.max), from_width=_WIDE),
        TableColumn("QUEUE P50", 10, lambda group: duration(group.queue.p50), from_width=_WIDEST),
        TableColumn("QUEUE P95", 12, lambda group: duration(group.queue.p95), key="queue"),
        TableColumn("HANDL P50", 10, lambda group: duration(group.handling.p50), from_width=_WIDEST),
        TableColumn("HANDL P95", 12, lambda group: duration(group.handling.p95), key="handling", from_width=_WIDE),
        TableColumn(
            SCALE, HISTOGRAM, lambda group: histogram_text(group.histogram), "accent", gap=2, from_width=_WIDEST
        ),
        TableColumn("STATUS", 10, lambda group: status_text(group.key), _style),
        TableColumn("REQUEST", parts=_request, gap=2, aligns_left=True, key="route"),
    ),
    floor=_SHORTEST_NAME,
)


def _longest_first(time_of: Callable[[RequestGroup], int | None]) -> Callable[[RequestGroup], Any]:
    return lambda group: -(time_of(group) or 0)


_SORTS: Final[dict[str, Callable[[RequestGroup], Any]]] = {
    "route": lambda _: 0,
    "count": lambda group: -group.count,
    "errors": lambda group: -group.errors,
    "p95": _longest_first(lambda group: group.total.p95),
    "queue": _longest_first(lambda group: group.queue.p95),
    "handling": _longest_first(lambda group: group.handling.p95),
}
"""What comes first; like ones stay in the order of their keys, as they come."""


class ServeScreen(BaseScreen, on=On.SERVE, view=View.REQUESTS):
    """Serve's requests.

    Args:
        scope: The traces that count.
    """

    def __init__(self, store: Store, scope: TraceScope) -> None:
        super().__init__()
        self.rows: TableList[RequestGroup] = TableList(TABLE, lambda group: group.key)
        self._store = store
        self.live: Live[list[RequestGroup]] = Live(self, scope, partial(serve_groups, store), self._take_groups)
        self._groups: list[RequestGroup] | None = None
        self._sort = next(iter(_SORTS))

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield Static(Content(""), classes="heads")
        yield self.rows

    def on_mount(self) -> None:
        """Begin to count."""
        self.set_focus(self.rows)
        self.take_settings()
        self.live.begin()

    def _take_groups(self, groups: list[RequestGroup]) -> None:
        self._groups = groups
        self._show(stay=True)

    def title_text(self) -> str:
        """Return what is counted."""
        if self._groups is None:
            requests = f"reading them … {self.live.work.share_text}"
        elif not self._groups:
            requests = "no Ray Serve spans"
        else:
            errors = sum(group.errors for group in self._groups)
            requests = count(sum(group.count for group in self._groups), "request")
            requests += f", {errors:,} failed" if errors else ""
        return f"‹ Serve requests of {self.live.chosen.what}{self.live.as_of}   {requests}"

    def on_resize(self) -> None:
        """Show as many columns as there is room for."""
        self._show_heads()

    def _show(self, *, stay: bool = False) -> None:
        self.rows.sorted_by = self._sort
        if self._groups is not None:
            self.rows.show(sorted(self._groups, key=_SORTS[self._sort]), stay=stay)
        self._show_heads()

    def _show_heads(self) -> None:
        self.query_one(".heads", Static).update(Content(self.rows.heads))
        self.refresh_frame()

    def take_settings(self) -> None:
        """Sort as was sorted last."""
        wanted = self.viewer.settings.serve_sort
        self._sort = wanted if wanted in _SORTS else next(iter(_SORTS))
        self._show()

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next column."""
        self.viewer.keep(serve_sort=following(_SORTS, self._sort))
        self.take_settings()
        self.viewer.say(f"sorted by {self._sort}")

    async def action_open(self) -> None:
        """List the requests of the group, slowest first."""
        from spanview.tui.serve.requests_screen import RequestsScreen

        await self.live.wait_for_answer()
        group = self.rows.selected
        if group is not None:
            await self.app.push_screen(RequestsScreen(self._store, self.live, group))

    def action_copy(self) -> None:
        """Copy what was asked for."""
        group = self.rows.selected
        if group is None:
            self.viewer.say("there is nothing to copy here")
        else:
            self.viewer.copy(f"{group.key.method} {group.key.route}".strip(), "method and route")
