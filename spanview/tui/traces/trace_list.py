"""The list of the first screen, a line a trace, and the heads of the columns, of groups too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from spanview.display.bars import bar
from spanview.display.units import count, duration, moment
from spanview.tui.diff.side import mark_text
from spanview.tui.traces.columns import TraceColumn
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.paint import data_text, fixed, line, right

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

    from rich.segment import Segment
    from rich.style import Style
    from textual import events

    from spanview.index.store import Store
    from spanview.tui.diff.side import Side
    from spanview.tui.traces.columns import GroupColumn
    from spanview.tui.traces.group_list import GroupList
    from spanview.tui.traces.traces_model import Facts, TracesModel

_WIDE = 100
"""From this width on there is room for the bars."""
_VERY_WIDE: Final = 118
"""From this width on there is room for services."""
_LONGEST_SERVICE: Final = 26
_LEAST_ROOT: Final = 20
"""Cells that columns leave to a root's name, which is the last to go."""
_MARK: Final = 2
"""Cells of a state that is a mark only."""
_GIVING_WAY: Final = (
    ("service", 0),
    ("processes", 0),
    ("state", _MARK),
    ("errors", 0),
    ("spans", 0),
    ("start", 0),
    ("duration", 0),
)
"""What gives way to the name, the first first, and what is left of it; of a state it is the mark."""


@dataclass(frozen=True, slots=True)
class Widths:
    """The columns of the list at one width; those without room have no cells."""

    start: int
    bar: int
    root: int = 0
    duration: int = 10
    spans: int = 7
    errors: int = 5
    processes: int = 5
    state: int = 13
    service: int = 0

    @classmethod
    def of(cls, width: int, model: TracesModel) -> Widths:
        """Return the columns for a screen `width` cells wide."""
        services = min(_LONGEST_SERVICE, width // 6) if width >= _VERY_WIDE and model.has_services else 0
        widths = cls(23 if model.spans_days else 12, 8 if width >= _WIDE else 0, service=services)
        for name, left in _GIVING_WAY:
            if width - widths.before_root >= _LEAST_ROOT:
                break
            widths = replace(widths, **{name: left})
        return replace(widths, root=max(1, width - widths.before_root))

    @property
    def before_root(self) -> int:
        """Cells of all but the root's name."""
        bars = self.bar + (self.bar > 0)
        figures = self.duration + self.spans + self.errors + self.processes
        return self.start + bars + figures + 2 + self.service + (self.service > 0) + self.state + 1


class TraceList(LineList):
    """A line a trace."""

    def __init__(self, store: Store, model: TracesModel, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._store = store
        self.model = model
        self.growing: set[int] = set()
        """Traces that have grown lately."""
        self.is_loading = True
        self.marked: Side | None = None
        """What is to be compared."""

    @property
    def selected(self) -> int | None:
        """The trace under the cursor."""
        order = self.model.order
        return order[self.cursor] if self.cursor < len(order) else None

    def refresh_rows(self, *, anew: bool = False, reveal: bool = False) -> None:
        """Take in what is new; the cursor stays on its trace, and on its place on the screen.

        Args:
            anew: Whether the choice of traces has changed.
            reveal: Whether the place on the screen may change.
        """
        selected, before = self.selected, self.cursor
        at_top = self.scroll_offset.y == 0 and self.cursor == 0
        self.model.refresh(anew=anew)
        order = self.model.order
        cursor = 0
        if selected is not None and not at_top:
            cursor = before if before < len(order) and order[before] == selected else _find(order, selected, before)
        self.rows_have_changed(len(order), cursor)
        if anew or reveal:
            self.reveal()
        else:
            self.keep_in_place(cursor - before)

    def go_to(self, trace: int) -> None:
        """Put the cursor on a trace that is listed."""
        self.move_to(_find(self.model.order, trace, self.cursor))

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one trace's line."""
        trace = self.model.order[row]
        table = self._store.trace_table
        widths = Widths.of(width, self.model)
        ns, errors = self.model.duration_ns(trace), table.error_count[trace]
        facts = self.model.facts(trace)
        plain, dim, error, accent = (None, *(self.paint_style(name) for name in ("dim", "error", "accent")))
        start = moment(table.start_ns[trace], with_date=self.model.spans_days, digits=3)
        service = "…" if facts is None else self.model.service_text(facts)
        root, mark = self._root(trace, facts), mark_text(self.marked, trace)
        parts: list[tuple[str, Style | None]] = [
            (fixed(start, widths.start), dim),
            (right(duration(ns if ns >= 0 else None), widths.duration), plain),
        ]
        if widths.bar:
            parts.append((" " + bar(max(0, ns) / max(1, self.model.longest_ns), widths.bar), accent))
        parts += [
            (right(f"{table.span_count[trace]:,}", widths.spans), plain),
            (right(f"{errors:,}" if errors else "", widths.errors), error),
            (right(f"{facts.processes:,}" if facts else "…", widths.processes), dim),
            ("  " + (data_text(service, widths.service) + " " if widths.service else ""), plain),
            (mark, accent),
            (data_text(root[0], widths.root - len(mark)) + " ", root[1]),
            self._state(trace, errors, facts, widths.state),
        ]
        return line(parts)

    def _root(self, trace: int, facts: Facts | None) -> tuple[str, Style | None]:
        name = self.model.root_name(trace)
        if name is not None:
            return name or "(no name)", None
        missing = f" ({facts.missing[:8]})" if facts and facts.missing else ""
        return f"? parent not seen{missing}", self.paint_style("dim")

    def _state(self, trace: int, errors: int, facts: Facts | None, width: int) -> tuple[str, Style | None]:
        if trace in self.growing and not self.is_loading:
            text, style = "● growing", self.paint_style("accent")
        elif errors:
            text, style = f"✖ {count(errors, 'error')}", self.paint_style("error")
        elif facts is None or facts.complete:
            return " " * width, None
        else:
            text, style = "· loading" if self.is_loading else "◌ incomplete", self.paint_style("warning")
        return fixed(text if width > _MARK else text[0], width), style


def _find(order: array[int], trace: int, near: int) -> int:
    try:
        return order.index(trace, max(0, near - 64))
    except ValueError:
        return order.index(trace) if trace in order else min(near, len(order) - 1)


class ColumnHeads(Widget):
    """The line above a list; a click on a column sorts by it."""

    class Clicked(Message):
        """A column was clicked."""

        def __init__(self, column: TraceColumn | GroupColumn) -> None:
            super().__init__()
            self.column = column

    def __init__(self, model: TracesModel, groups: GroupList, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._model = model
        self._groups = groups
        self.grouped = False
        self._ends: list[tuple[int, TraceColumn | GroupColumn | None]] = []

    def render(self) -> Content:
        """Return the heads in their columns, with an arrow at the one that is sorted by."""
        # The scrollbar's place stays free.
        width = self.size.width - 1
        texts = self._groups.heads(width) if self.grouped else self._heads(width)
        self._ends, end = [], 0
        for text, column in texts:
            end += len(text)
            self._ends.append((end, column))
        return Content("".join(text for text, _ in texts))

    def _heads(self, width: int) -> Sequence[tuple[str, TraceColumn | None]]:
        widths = Widths.of(width, self._model)
        return [
            (fixed(self._head(TraceColumn.START), widths.start), TraceColumn.START),
            (
                right(self._head(TraceColumn.DURATION), widths.duration) + " " * (widths.bar + (widths.bar > 0)),
                TraceColumn.DURATION,
            ),
            # Columns of figures that fill their heads: there is no blank before the arrow.
            (right(self._head(TraceColumn.SPANS, ""), widths.spans), TraceColumn.SPANS),
            (right(self._head(TraceColumn.ERRORS, ""), widths.errors), TraceColumn.ERRORS),
            (right("PROC", widths.processes) + "  ", None),
            (fixed("SERVICE", widths.service) + " " * (widths.service > 0), None),
            (fixed(self._head(TraceColumn.ROOT), widths.root + 1), TraceColumn.ROOT),
            ("STATE" if widths.state > _MARK else "", None),
        ]

    def _head(self, column: TraceColumn, between: str = " ") -> str:
        arrow = "▾" if self._model.descending else "▴"
        return f"{column.value}{between}{arrow}" if column is self._model.sort else column.value

    def on_click(self, event: events.Click) -> None:
        """Ask for another order; figures that aren't sorted by ask for none."""
        column = next((column for end, column in self._ends if event.x < end), None)
        if column is not None:
            self.post_message(self.Clicked(column))
