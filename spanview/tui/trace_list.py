"""The lists of the first screen: a line a trace, or a line a root name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from spanview.display.bars import bar
from spanview.display.units import count, duration, moment
from spanview.tui.linelist import LineList
from spanview.tui.paint import data_text, fixed, line, right
from spanview.tui.traces_model import Column, Facts, GroupRow, TracesModel

if TYPE_CHECKING:
    from array import array

    from rich.segment import Segment
    from rich.style import Style
    from textual import events

    from spanview.index.store import Store

_WIDE = 100
"""From this width on there is room for the bars."""
_STATE = 13


@dataclass(frozen=True, slots=True)
class Widths:
    """The columns of the list at one width."""

    start: int
    bar: int
    root: int

    @classmethod
    def of(cls, width: int, *, with_date: bool) -> Widths:
        """Return the columns for a screen `width` cells wide."""
        start, bars = (23 if with_date else 12), (8 if width >= _WIDE else 0)
        return cls(start, bars, max(8, width - start - bars - (bars > 0) - 10 - 7 - 5 - 5 - 2 - _STATE - 1))


class TraceList(LineList):
    """A line a trace."""

    def __init__(self, store: Store, model: TracesModel, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._store = store
        self.model = model
        self.growing: set[int] = set()
        """Traces that have grown lately."""
        self.is_loading = True

    @property
    def selected(self) -> int | None:
        """The trace under the cursor."""
        order = self.model.order
        return order[self.cursor] if self.cursor < len(order) else None

    def refresh_rows(self, *, anew: bool = False) -> None:
        """Take in what is new; the cursor stays on its trace, and on its place on the screen."""
        selected, before = self.selected, self.cursor
        at_top = self.scroll_offset.y == 0 and self.cursor == 0
        self.model.refresh(anew=anew)
        order = self.model.order
        cursor = 0
        if selected is not None and not at_top:
            cursor = before if before < len(order) and order[before] == selected else _find(order, selected, before)
        self.rows_have_changed(len(order), cursor)
        self.keep_in_place(cursor - before if not anew else 0)
        if anew:
            self.reveal()

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one trace's line."""
        trace = self.model.order[row]
        table = self._store.trace_table
        widths = Widths.of(width, with_date=self.model.spans_days)
        ns, errors = self.model.duration_ns(trace), table.error_count[trace]
        facts = self.model.facts(trace)
        plain, dim, error, accent = (None, *(self.paint_style(name) for name in ("dim", "error", "accent")))
        start = moment(table.start_ns[trace], with_date=self.model.spans_days, digits=3)
        root = self._root(trace, facts)
        parts: list[tuple[str, Style | None]] = [
            (fixed(start, widths.start), dim),
            (right(duration(ns if ns >= 0 else None), 10), plain),
        ]
        if widths.bar:
            parts.append((" " + bar(max(0, ns) / max(1, self.model.longest_ns), widths.bar), accent))
        parts += [
            (right(f"{table.span_count[trace]:,}", 7), plain),
            (right(f"{errors:,}" if errors else "", 5), error),
            (right(f"{facts.processes:,}" if facts else "…", 5), dim),
            ("  " + data_text(root[0], widths.root) + " ", root[1]),
            self._state(trace, errors, facts),
        ]
        return line(parts)

    def _root(self, trace: int, facts: Facts | None) -> tuple[str, Style | None]:
        name = self.model.root_name(trace)
        if name is not None:
            return name or "(no name)", None
        missing = f" ({facts.missing[:8]})" if facts and facts.missing else ""
        return f"? parent not seen{missing}", self.paint_style("dim")

    def _state(self, trace: int, errors: int, facts: Facts | None) -> tuple[str, Style | None]:
        if trace in self.growing and not self.is_loading:
            return fixed("● growing", _STATE), self.paint_style("accent")
        if errors:
            return fixed(f"✖ {count(errors, 'error')}", _STATE), self.paint_style("error")
        if facts is None or facts.complete:
            return " " * _STATE, None
        return fixed("· loading" if self.is_loading else "◌ incomplete", _STATE), self.paint_style("warning")


def _find(order: array[int], trace: int, near: int) -> int:
    try:
        return order.index(trace, max(0, near - 64))
    except ValueError:
        return order.index(trace) if trace in order else min(near, len(order) - 1)


class GroupList(LineList):
    """A line a root name."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.groups: list[GroupRow] = []

    @property
    def selected(self) -> GroupRow | None:
        """The group under the cursor."""
        return self.groups[self.cursor] if self.cursor < len(self.groups) else None

    def show(self, groups: list[GroupRow]) -> None:
        """Take in other groups; the cursor stays on its name."""
        before = self.selected
        self.groups = groups
        cursor = next((at for at, group in enumerate(groups) if before and group.name == before.name), 0)
        self.rows_have_changed(len(groups), cursor)

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one group's line."""
        group = self.groups[row]
        figures = [right(duration(ns if ns >= 0 else None), 10) for ns in (group.p50_ns, group.p95_ns, group.max_ns)]
        return line(
            [
                (right(f"{group.traces:,}", 8), None),
                (right(f"{group.errors:,}" if group.errors else "", 8), self.paint_style("error")),
                ("".join(figures), None),
                ("  " + fixed(moment(group.newest_ns, digits=3), 23), self.paint_style("dim")),
                ("  " + data_text("? parent not seen" if group.name is None else group.name, max(8, width - 73)), None),
            ]
        )


class ColumnHeads(Widget):
    """The line above a list; a click on a column sorts by it."""

    class Clicked(Message):
        """A column was clicked."""

        def __init__(self, column: Column) -> None:
            super().__init__()
            self.column = column

    def __init__(self, model: TracesModel, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._model = model
        self.grouped = False
        self._ends: list[tuple[int, Column]] = []

    def render(self) -> Content:
        """Return the heads in their columns, with an arrow at the one that is sorted by."""
        if self.grouped:
            return Content("  TRACES  ERRORS       P50       P95       MAX  NEWEST                   ROOT")
        width = self.size.width - 1
        widths = Widths.of(width, with_date=self._model.spans_days)
        texts = [
            (fixed(self._head(Column.START), widths.start), Column.START),
            (right(self._head(Column.DURATION), 10) + " " * (widths.bar + (widths.bar > 0)), Column.DURATION),
            (right(self._head(Column.SPANS), 7), Column.SPANS),
            (right(self._head(Column.ERRORS), 5), Column.ERRORS),
            (right("PROC", 5) + "  ", Column.ROOT),
            (fixed(self._head(Column.ROOT), widths.root + 1) + "STATE", Column.ROOT),
        ]
        self._ends, end = [], 0
        for text, column in texts:
            end += len(text)
            self._ends.append((end, column))
        return Content("".join(text for text, _ in texts))

    def _head(self, column: Column) -> str:
        arrow = "▾" if self._model.descending else "▴"
        return f"{column.value} {arrow}" if column is self._model.sort else column.value

    def on_click(self, event: events.Click) -> None:
        """Ask for another order."""
        if not self.grouped:
            at = event.x - self.gutter.left
            for end, column in self._ends:
                if at < end:
                    self.post_message(self.Clicked(column))
                    return
