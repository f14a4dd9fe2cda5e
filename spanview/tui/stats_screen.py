"""Statistics of some spans: a line a name, a service or a kind; and the spans behind a line, slowest first."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, ClassVar, Final

from textual.content import Content
from textual.widgets import Static
from textual.worker import get_current_worker

from spanview.analysis.stats import GROUPINGS, Group, spans_of, statistics
from spanview.display.sanitise import sanitise
from spanview.display.units import count, duration, moment
from spanview.index.table import NO_ROW
from spanview.model.span import ERROR
from spanview.tui.base_screen import BaseScreen, bindings_of
from spanview.tui.header import TwoSided
from spanview.tui.keys import On
from spanview.tui.linelist import LineList
from spanview.tui.paint import data_text, fixed, line, right

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.segment import Segment
    from rich.style import Style
    from textual.app import ComposeResult

    from spanview.index.store import Store

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_FIRST_POWER, _LAST_POWER = 3, 11
"""Of the histogram: from microseconds to what takes minutes, and more."""
HISTOGRAM: Final = _LAST_POWER - _FIRST_POWER
_SORTS: Final[tuple[tuple[str, Callable[[Group], int]], ...]] = (
    ("total", lambda group: group.total_ns),
    ("self", lambda group: group.self_ns),
    ("count", lambda group: group.count),
    ("errors", lambda group: group.errors),
    ("p95", lambda group: group.p95_ns or 0),
    ("max", lambda group: group.max_ns or 0),
)
_COUNT, _ERRORS, _TIME = 9, 9, 9
_WIDE: Final = 100
_TIMES: Final[tuple[tuple[str, Callable[[Group], int | None]], ...]] = (
    ("TOTAL", lambda group: group.total_ns),
    ("SELF", lambda group: group.self_ns),
    ("P50", lambda group: group.p50_ns),
    ("P95", lambda group: group.p95_ns),
    ("MAX", lambda group: group.max_ns),
)
_FOR_WIDE: Final = frozenset(("SELF", "P50"))
_MOST_SPANS: Final = 10_000
"""So many of a group's spans are listed, the slowest."""


def histogram_text(counts: Sequence[int]) -> str:
    """Return counts by power of ten as blocks, a cell each, as high as the logarithm of the count."""
    quickest, slowest = sum(counts[: _FIRST_POWER + 1]), sum(counts[_LAST_POWER - 1 :])
    inner = [quickest, *counts[_FIRST_POWER + 1 : _LAST_POWER - 1], slowest]
    most = max(inner)
    return "".join(
        " " if not number else _BLOCKS[round(log(number) / log(most) * (len(_BLOCKS) - 1)) if most > 1 else 0]
        for number in inner
    )


class GroupLines(LineList):
    """A line a group."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[Group] = []

    def show(self, groups: list[Group]) -> None:
        """Show other groups, from the first on."""
        self.groups = groups
        self.rows_have_changed(len(groups), 0)
        self.reveal()

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one group's line."""
        group, columns = self.groups[row], columns_in(width)
        parts: list[tuple[str, Style | None]] = [
            (right(f"{group.count:,}", _COUNT), None),
            (right(f"{group.errors:,}" if group.errors else "", _ERRORS), self.paint_style("error")),
            ("".join(right(duration(time_of(group)), _TIME) for _, time_of in columns), None),
        ]
        used = _COUNT + _ERRORS + _TIME * len(columns) + 2
        if has_histogram(width):
            parts.append((f"  {histogram_text(group.histogram)}", self.paint_style("accent")))
            used += HISTOGRAM + 2
        parts.append(("  " + data_text(group.key or "–", max(8, width - used)), None))
        return line(parts)


def columns_in(width: int) -> tuple[tuple[str, Callable[[Group], int | None]], ...]:
    """Return the times that are shown on a screen `width` cells wide."""
    return _TIMES if width >= _WIDE else tuple(each for each in _TIMES if each[0] not in _FOR_WIDE)


def has_histogram(width: int) -> bool:
    """Tell whether there is room for histograms."""
    return width >= _WIDE


class StatsScreen(BaseScreen):
    """Statistics.

    Args:
        store: The store.
        traces: Those that count; None for all.
        what: What these are, in words.
    """

    ON: ClassVar[On] = On.STATS
    BINDINGS = bindings_of(On.STATS)

    def __init__(self, store: Store, traces: Sequence[int] | None, what: str) -> None:
        super().__init__()
        self._store = store
        self._traces = traces
        self._what = what
        self._groups: list[Group] = []
        self._by = GROUPINGS[0]
        self._sort = 0
        self._is_counting = True

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield Static(Content(""), classes="heads")
        yield GroupLines()
        yield self.footer()

    @property
    def rows(self) -> GroupLines:
        """The groups."""
        return self.query_one(GroupLines)

    def on_mount(self) -> None:
        """Begin with the names."""
        self.set_focus(self.rows)
        self.take_settings()
        self._count()

    def title_text(self) -> str:
        """Return what is counted."""
        number = "counting …" if self._is_counting else count(len(self._groups), "row")
        return f"‹ statistics of {self._what}   by {self._by}   {number}"

    def on_resize(self) -> None:
        """Show as many columns as there is room for."""
        if not self._is_counting:
            self._show()

    def _count(self) -> None:
        self._is_counting = True
        self.refresh_frame()
        self.run_worker(self._find_out, thread=True, exclusive=True)

    def _find_out(self) -> None:
        """Called in a thread: all spans are stitched."""
        worker, by = get_current_worker(), self._by
        groups = statistics(self._store, by, self._traces)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._take, groups, by)

    def _take(self, groups: list[Group], by: str) -> None:
        if self.is_left or by != self._by:
            return
        self._groups, self._is_counting = groups, False
        self._show()

    def _show(self) -> None:
        name, key = _SORTS[self._sort]
        self.rows.show(sorted(self._groups, key=key, reverse=True))
        width = self.rows.line_width
        columns = [("COUNT", _COUNT), ("ERRORS", _ERRORS), *((head, _TIME) for head, _ in columns_in(width))]
        heads = "".join(right(head + (" ▾" if head.lower() == name else ""), cells) for head, cells in columns)
        scale = "  " + fixed("µs ms s", HISTOGRAM) if has_histogram(width) else ""
        self.query_one(".heads", Static).update(Content(f"{heads}{scale}  {self._by.upper()}"))
        self.refresh_frame()

    def take_settings(self) -> None:
        """Sort as was sorted last."""
        names = [name for name, _ in _SORTS]
        wanted = self.viewer.settings.statistics_sort
        self._sort = names.index(wanted) if wanted in names else 0
        if not self._is_counting:
            self._show()

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort = (self._sort + 1) % len(_SORTS)
        name = _SORTS[self._sort][0]
        self.viewer.keep(statistics_sort=name)
        self.viewer.say(f"sorted by {name}")
        if not self._is_counting:
            self._show()

    def action_group(self) -> None:
        """Group by the next thing."""
        self._by = GROUPINGS[(GROUPINGS.index(self._by) + 1) % len(GROUPINGS)]
        self.viewer.say(f"by {self._by}")
        self._count()

    async def action_open(self) -> None:
        """List the spans of the group, slowest first."""
        rows = self.rows
        if rows.cursor < len(rows.groups):
            key = rows.groups[rows.cursor].key
            found = spans_of(self._store, self._by, key, self._traces, _MOST_SPANS)
            await self.app.push_screen(SpansScreen(self._store, found, f"{self._by} {sanitise(key, 60) or '–'}"))

    def action_copy(self) -> None:
        """Copy the name of the group."""
        rows = self.rows
        if rows.cursor < len(rows.groups):
            self.viewer.copy(rows.groups[rows.cursor].key, self._by)


class SpanLines(LineList):
    """A line a span.

    Args:
        store: The store.
        spans: Their rows in the span table.
    """

    def __init__(self, store: Store, spans: list[int]) -> None:
        super().__init__()
        self._store = store
        self.spans = spans

    def on_mount(self) -> None:
        """Show the first ones."""
        self.rows_have_changed(len(self.spans), 0)

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one span's line."""
        spans, at = self._store.spans, self.spans[row]
        root = self._store.trace_table.root_row[spans.trace[at]]
        failed = "✖" if spans.status[at] == ERROR else " "
        names = self._store.names.texts
        above = "in " + names[spans.name[root]] if root != NO_ROW else ""
        room = max(8, (width - 10 - 2 - 2 - 25) // 2)
        return line(
            [
                (right(duration(spans.end_ns[at] - spans.start_ns[at]), 10), None),
                (f" {failed} ", self.paint_style("error")),
                (fixed(moment(spans.start_ns[at], digits=3), 25), self.paint_style("dim")),
                (data_text(names[spans.name[at]] or "(no name)", room), None),
                (" " + data_text(above, room), self.paint_style("dim")),
            ]
        )


class SpansScreen(BaseScreen):
    """Spans of several traces.

    Args:
        store: The store.
        spans: Their rows in the span table.
        what: What they have in common, in words.
    """

    ON: ClassVar[On] = On.SPANS
    BINDINGS = bindings_of(On.SPANS)

    def __init__(self, store: Store, spans: list[int], what: str) -> None:
        super().__init__()
        self._store = store
        self._spans = spans
        self._what = what

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield SpanLines(self._store, self._spans)
        yield self.footer()

    @property
    def rows(self) -> SpanLines:
        """The spans."""
        return self.query_one(SpanLines)

    def on_mount(self) -> None:
        """Take the keys."""
        self.set_focus(self.rows)
        self.refresh_frame()

    def title_text(self) -> str:
        """Return what is listed."""
        most = "the slowest " if len(self._spans) == _MOST_SPANS else ""
        return f"‹ {self._what}   {most}{count(len(self._spans), 'span')}, slowest first"

    async def action_open(self) -> None:
        """Show the span in its trace."""
        if self.rows.cursor < len(self._spans):
            row = self._spans[self.rows.cursor]
            await self.viewer.open_trace(self._store.spans.trace[row], at_row=row)

    def action_copy(self) -> None:
        """Copy the span id."""
        if self.rows.cursor < len(self._spans):
            self.viewer.copy(f"{self._store.spans.span_id[self._spans[self.rows.cursor]]:016x}", "span id")
