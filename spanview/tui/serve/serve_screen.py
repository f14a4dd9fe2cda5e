"""Serve's requests: a line a route and status of each deployment; Enter lists the requests behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.serve_groups import serve_groups
from spanview.display.histogram import HISTOGRAM, SCALE, histogram_text
from spanview.display.serve_text import failures_text, request_text, status_text
from spanview.display.units import count, duration
from spanview.tui.keys import On
from spanview.tui.widgets.base_screen import BaseScreen, bindings_of
from spanview.tui.widgets.header import TwoSided
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.paint import data_text, line, right

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from rich.segment import Segment
    from textual.app import ComposeResult

    from spanview.analysis.serve_groups import RequestGroup
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.widgets.scope import TraceScope

_COUNT, _ERRORS, _STATUS = 7, 11, 10


class _Time(NamedTuple):
    """A column of times."""

    head: str
    cells: int
    shown_from: int
    """Cells of a screen from which on there is room for it."""
    of: Callable[[RequestGroup], int | None]


_TIMES: Final = (
    _Time("P50", 9, 110, lambda group: group.total.p50),
    _Time("P95", 9, 0, lambda group: group.total.p95),
    _Time("P99", 9, 140, lambda group: group.total.p99),
    _Time("MAX", 9, 110, lambda group: group.total.max),
    _Time("QUEUE50", 10, 140, lambda group: group.queue.p50),
    _Time("QUEUE95", 10, 0, lambda group: group.queue.p95),
    _Time("HANDL50", 10, 140, lambda group: group.handling.p50),
    _Time("HANDL95", 10, 110, lambda group: group.handling.p95),
)
_HISTOGRAM_FROM: Final = 140


def _longest_first(time_of: Callable[[RequestGroup], int | None]) -> Callable[[RequestGroup], Any]:
    return lambda group: -(time_of(group) or 0)


_SORTS: Final[tuple[tuple[str, str, Callable[[RequestGroup], Any]], ...]] = (
    ("route", "REQUEST", lambda _: 0),
    ("count", "COUNT", lambda group: -group.count),
    ("errors", "ERRORS", lambda group: -group.errors),
    ("p95", "P95", _longest_first(lambda group: group.total.p95)),
    ("queue", "QUEUE95", _longest_first(lambda group: group.queue.p95)),
    ("handling", "HANDL95", _longest_first(lambda group: group.handling.p95)),
)
"""Name, the head of the column, and what comes first; like ones stay in the order of their keys, as they come."""


class RequestGroupLines(LineList):
    """A line a group."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[RequestGroup] = []

    @property
    def selected(self) -> RequestGroup | None:
        """The group under the cursor."""
        return self.groups[self.cursor] if self.cursor < len(self.groups) else None

    def show(self, groups: list[RequestGroup]) -> None:
        """Show groups in another order, from the first on."""
        self.groups = groups
        self.rows_have_changed(len(groups), 0)
        self.reveal()

    def update(self, groups: list[RequestGroup]) -> None:
        """Show other figures; the cursor stays on its group."""
        before = self.selected
        self.groups = groups
        here = (row for row, group in enumerate(groups) if before is not None and group.key == before.key)
        self.take_rows(len(groups), next(here, None))

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one group's line."""
        group, times = self.groups[row], times_in(width)
        texts = [right(duration(time.of(group)), time.cells) for time in times]
        histogram = f"  {histogram_text(group.histogram)}" if width >= _HISTOGRAM_FROM else ""
        failed = self.paint_style("error") if group.errors else None
        used = _COUNT + _ERRORS + sum(time.cells for time in times) + len(histogram) + _STATUS + 2
        return line(
            [
                (right(f"{group.count:,}", _COUNT), None),
                (right(failures_text(group), _ERRORS), failed),
                ("".join(texts), None),
                (histogram, self.paint_style("accent")),
                (right(status_text(group.key), _STATUS), failed),
                ("  " + data_text(request_text(group.key), max(8, width - used)), None),
            ]
        )


def times_in(width: int) -> list[_Time]:
    """Return the times that are shown on a screen `width` cells wide."""
    return [each for each in _TIMES if width >= each.shown_from]


class ServeScreen(BaseScreen):
    """Serve's requests.

    Args:
        store: The store.
        scope: The traces that count.
    """

    ON: ClassVar[On] = On.SERVE
    BINDINGS = bindings_of(On.SERVE)

    def __init__(self, store: Store, scope: TraceScope) -> None:
        super().__init__()
        self._store = store
        self.live: Live[list[RequestGroup]] = Live(self, scope, self._read, self._take_groups)
        self._groups: list[RequestGroup] | None = None
        self._sort = 0

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield Static(Content(""), classes="heads")
        yield RequestGroupLines()
        yield self.footer()

    @property
    def rows(self) -> RequestGroupLines:
        """The groups."""
        return self.query_one(RequestGroupLines)

    def on_mount(self) -> None:
        """Begin to count."""
        self.set_focus(self.rows)
        self.take_settings()
        self.live.begin()

    def _read(self, traces: Sequence[int] | None, tell: Tell) -> list[RequestGroup]:
        """Called in a thread."""
        return serve_groups(self._store, traces, tell)

    def _take_groups(self, groups: list[RequestGroup]) -> None:
        self._groups = groups
        self._show(stay=True)

    def title_text(self) -> str:
        """Return what is counted."""
        if self._groups is None:
            found = f"reading them … {self.live.share_text}"
        elif not self._groups:
            found = "no span of Serve's is here"
        else:
            errors = sum(group.errors for group in self._groups)
            found = count(sum(group.count for group in self._groups), "request")
            found += f", {errors:,} failed" if errors else ""
        return f"‹ Serve requests of {self.live.what}{self.live.as_of}   {found}"

    def on_resize(self) -> None:
        """Show as many columns as there is room for."""
        self._show_heads()

    def _show(self, *, stay: bool = False) -> None:
        if self._groups is not None:
            groups = sorted(self._groups, key=_SORTS[self._sort][2])
            if stay:
                self.rows.update(groups)
            else:
                self.rows.show(groups)
        self._show_heads()

    def _show_heads(self) -> None:
        width, sorted_by = self.rows.line_width, _SORTS[self._sort][1]
        times = [(time.head, time.cells) for time in times_in(width)]
        heads = [
            right(head + (" ▾" if head == sorted_by else ""), cells)
            for head, cells in (("COUNT", _COUNT), ("ERRORS", _ERRORS), *times)
        ]
        scale = "  " + SCALE.ljust(HISTOGRAM) if width >= _HISTOGRAM_FROM else ""
        last = "REQUEST" + (" ▾" if sorted_by == "REQUEST" else "")
        self.query_one(".heads", Static).update(Content(f"{''.join(heads)}{scale}{right('STATUS', _STATUS)}  {last}"))
        self.refresh_frame()

    def take_settings(self) -> None:
        """Sort as was sorted last."""
        names = [name for name, _, _ in _SORTS]
        wanted = self.viewer.settings.serve_sort
        self._sort = names.index(wanted) if wanted in names else 0
        self._show()

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort = (self._sort + 1) % len(_SORTS)
        name = _SORTS[self._sort][0]
        self.viewer.keep(serve_sort=name)
        self.viewer.say(f"sorted by {name}")
        self._show()

    async def action_open(self) -> None:
        """List the requests of the group, slowest first."""
        from spanview.tui.serve.requests_screen import RequestsScreen

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
