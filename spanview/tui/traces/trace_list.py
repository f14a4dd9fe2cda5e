"""The list of the first screen, a line a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

from spanview.display.bars import bar
from spanview.display.trace_words import STILL_COMING
from spanview.display.units import count, duration, lasted, moment
from spanview.index.lives import OpenEnd
from spanview.model.times import NO_TIME
from spanview.reports.table import Piece, Ranks, RowOrder, Table, TableColumn
from spanview.tui.diff.side import mark_text
from spanview.tui.traces.columns import TraceColumn
from spanview.tui.traces.traces_model import has_services
from spanview.tui.widgets.paint import data_text, fixed, name_text
from spanview.tui.widgets.table import TableList

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator

    from spanview.index.store import Store
    from spanview.reports.table import Fit
    from spanview.tui.diff.side import ComparedSide
    from spanview.tui.traces.traces_model import TracesModel

_WIDE = 100
"""From this width on there is room for the bars."""
_VERY_WIDE: Final = 118
"""From this width on there is room for services."""
_LONGEST_SERVICE: Final = 26
_LEAST_ROOT: Final = 20
"""Cells that columns leave to a root's name, which is the last to go."""
_BAR: Final = 8
_GROWING, _LOADING, _INCOMPLETE = ("●", STILL_COMING), ("·", "loading"), ("◌", "incomplete")
_RUNNING: Final = ("●", "running")
_MADE_GOOD: Final = (" ", "retried")
_MERGED: Final = ("≡", "several runs, likely")
"""States: a mark before the name, and a word behind it where nothing else in the line says so."""
_STYLES: Final = {"●": "accent", "✖": "error"}


class TraceList(TableList[int]):
    """A line a trace."""

    def __init__(self, store: Store, model: TracesModel, **arguments: Any) -> None:
        self._store = store
        self.model = model
        self._made_for = False, 0
        super().__init__(self._table(), **arguments)
        self.order = RowOrder(model.sort, model.descending)
        self.growing: set[int] = set()
        """Traces that have grown lately, or may still grow."""
        self.is_loading = True
        self.marked: ComparedSide | None = None
        """What is to be compared."""

    def fit(self, width: int) -> Fit[int]:
        """Return the columns of a line: those of services only where there is room for them, and several."""
        services = min(_LONGEST_SERVICE, width // 6) if width >= _VERY_WIDE and has_services(self._store) else 0
        if self._made_for != (self.model.spans_days, services):
            self._made_for = self.model.spans_days, services
            self.table = self._table()
        return super().fit(width)

    def _table(self) -> Table[int]:
        spans, (with_date, services) = self._store.trace_table.span_count, self._made_for
        start = 23 if with_date else 12
        columns: list[TableColumn[int]] = [
            TableColumn(
                "START",
                start,
                self._start_text,
                "dim",
                aligns_left=True,
                key=TraceColumn.START,
                ranks=Ranks.MOMENTS,
                goes=5,
            ),
            TableColumn(
                "DURATION", 10, self._duration_text, key=TraceColumn.DURATION, ranks=Ranks.TIMES, behind=1, goes=6
            ),
            TableColumn("", _BAR, self._bar, "accent", from_width=_WIDE),
            TableColumn("SPANS", 8, lambda trace: f"{spans[trace]:,}", key=TraceColumn.SPANS, goes=4),
            TableColumn("ERR", 6, self._errors_text, "error", key=TraceColumn.ERRORS, goes=3),
            TableColumn("PROCS", 7, self._processes_text, "dim", goes=2),
            TableColumn("  TRACE", parts=self._root, gap=2, key=TraceColumn.ROOT, ranks=Ranks.NAMES),
        ]
        if services:
            columns.insert(-1, TableColumn("SERVICE", services, self._service_text, gap=2, aligns_left=True, goes=1))
        return Table(columns, TraceColumn.START, _LEAST_ROOT)

    def put_in_order(self, order: RowOrder) -> None:
        """Sort by a column."""
        if order != self.order:
            self.order = order
            self.model.sort, self.model.descending = TraceColumn(order.key), order.descending
            self.refresh_rows(reveal=True)

    def refresh_rows(self, *, reveal: bool = False) -> None:
        """Take in what is new; the cursor stays on its trace, and on its place on the screen.

        Args:
            reveal: Whether the place on the screen may change.
        """
        selected, before = self.selected, self.cursor
        at_top = self.scroll_offset.y == 0 and self.cursor == 0
        self.model.refresh()
        order = self.model.order
        self.take(order)
        cursor = 0
        if selected is not None and not at_top:
            cursor = before if before < len(order) and order[before] == selected else _find(order, selected, before)
        self.rows_have_changed(len(order), cursor)
        if reveal:
            self.reveal()
        else:
            self.keep_in_place(cursor - before)

    def go_to(self, trace: int) -> None:
        """Put the cursor on a trace that is listed."""
        self.move_to(_find(self.model.order, trace, self.cursor))

    def _start_text(self, trace: int) -> str:
        return moment(self._store.trace_table.start_ns[trace], with_date=self._made_for[0], digits=3)

    def _errors_text(self, trace: int) -> str:
        errors = self._store.trace_table.error_count[trace]
        return f"{errors:,}" if errors else ""

    def _duration_text(self, trace: int) -> str:
        end, facts, table = self.model.open_end(trace), self.model.facts(trace), self._store.trace_table
        if end is not None:
            return lasted(self.model.duration_ns(trace), end)
        if facts is not None and facts.without_end and trace not in self.model.known_until:
            # Nobody has asked yet what has become of a span without an end.
            seen_ns = facts.last_ns - table.start_ns[trace]
            is_known = seen_ns > 0 and table.start_ns[trace] != NO_TIME
            return lasted(seen_ns if is_known else None, OpenEnd.EARLIEST)
        return duration(table.duration_ns(trace))

    def _bar(self, trace: int) -> str:
        return bar(max(0, self.model.duration_ns(trace)) / max(1, self.model.longest_ns), _BAR)

    def _processes_text(self, trace: int) -> str:
        facts = self.model.facts(trace)
        return f"{facts.processes:,}" if facts else "…"

    def _service_text(self, trace: int) -> str:
        facts = self.model.facts(trace)
        if facts is None:
            return "…"
        more = f" +{facts.services - 1:,}" if facts.services > 1 else ""
        return f"{self._store.services.texts[facts.service] or '(none)'}{more}"

    def _root(self, trace: int, cells: int) -> Iterator[Piece]:
        mark, name, style = mark_text(self.marked, trace), self.model.root_name(trace), ""
        state, word = self._state(trace)
        word = word or self.model.requested(trace)
        room = max(0, cells - 2 - len(mark))
        if name is None:
            facts = self.model.facts(trace)
            missing = f" ({facts.missing[:8]})" if facts and facts.missing else ""
            shown, style = data_text(f"{self.model.name_without_root(trace)}{missing}", room), "dim"
        else:
            shown = name_text(name or "(no name)", room)
        yield Piece(fixed(f"{state} ", min(2, cells)), _STYLES.get(state, "warning"))
        yield Piece(mark, "accent")
        if word and cell_len(shown.rstrip()) + len(word) + 2 <= room:
            yield Piece(f"{shown.rstrip()}  ", style)
            yield Piece(data_text(word, room - cell_len(shown.rstrip()) - 2), "warning" if state == "!" else "dim")
        else:
            yield Piece(shown, style)

    def _state(self, trace: int) -> tuple[str, str]:
        silent = None if self.is_loading else self.model.silent.get(trace)
        label = "" if silent is None or not silent.lasted else silent.label
        if trace in self.growing and not self.is_loading:
            runs = self.model.open_ends.get(trace) is OpenEnd.RUNS
            mark, word = _RUNNING if runs else _GROWING
            return mark, f"{word}, {label}" if label else word
        if self.model.has_lasting_errors(trace):
            return "✖", _MERGED[1] if trace in self.model.merged else label
        if label:
            return "!", label
        if (open_calls := self.model.open_calls.get(trace)) and not self.is_loading:
            # What the first rows need not is imported late.
            from spanview.display.call_text import without_attempt_text

            return "◌", without_attempt_text(open_calls, open_calls)
        if trace in self.model.merged:
            return _MERGED
        facts = self.model.facts(trace)
        if facts is None or (facts.complete and not facts.without_end):
            return _MADE_GOOD if self.model.is_visited(trace) and not self.is_loading else (" ", "")
        if self.is_loading:
            return _LOADING
        return _INCOMPLETE if not facts.complete else ("◌", f"{count(facts.without_end, 'span')} without an end")


def _find(order: array[int], trace: int, near: int) -> int:
    try:
        return order.index(trace, max(0, near - 64))
    except ValueError:
        return order.index(trace) if trace in order else min(near, len(order) - 1)
