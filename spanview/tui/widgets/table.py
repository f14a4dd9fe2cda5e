"""A list of rows in the columns of a table, below the line of their heads, and the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.content import Content
from textual.widget import Widget

from spanview.reports.table import RowOrder
from spanview.tui.app.settings import Settings
from spanview.tui.widgets.linelist import LineList

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from textual import events

    from spanview.reports.table import Fit, Table, TableColumn
    from spanview.tui.viewer import ShownScreen

Row = TypeVar("Row")
_MEASURED: Final = 5_000
"""Rows whose names are measured, the first ones."""
_REVERSED: Final = ", reversed"


def following(names: Iterable[Row], name: Row) -> Row:
    """Return the name behind another of some, the first one behind the last."""
    known = [*names]
    return known[(known.index(name) + 1) % len(known)]


class TableList(LineList, Generic[Row]):
    """A line a row, in the columns of a table; the line above has their heads.

    Args:
        identity: Tells rows of one answer from those of the next: the cursor stays on the same.
    """

    def __init__(self, table: Table[Row], identity: Callable[[Row], Hashable] = lambda row: row) -> None:
        super().__init__()
        self.table = table
        self.order = RowOrder("")
        """What is sorted by; where the table has no such column, by what it is sorted by at first."""
        self.items: Sequence[Row] = ()
        self.heads = TableHeads(self)
        self._given: Sequence[Row] = ()
        """The rows in the order in which they came."""
        self._identity = identity
        self._fitted: tuple[Table[Row], Sequence[Row], int, str, int | None, Fit[Row]] | None = None
        self._measured: tuple[Table[Row], Sequence[Row], int] | None = None

    def fit(self, width: int) -> Fit[Row]:
        """Return the columns of a line so many cells wide."""
        wanted, key, known = self._wanted(), self.shown_order.key, self._fitted
        is_known = known is not None and known[0] is self.table and known[1] is self._given
        if known is None or not is_known or known[2:5] != (width, key, wanted):
            fit = self.table.fit(width, key, wanted, islice(self._given, _MEASURED))
            known = self._fitted = self.table, self._given, width, key, wanted, fit
        return known[5]

    def _wanted(self) -> int | None:
        """Return the cells of the longest name; None where the table has no column of names."""
        wants = next((column.wants for column in self.table.columns if column.wants is not None), None)
        if wants is None:
            return None
        known = self._measured
        if known is None or known[0] is not self.table or known[1] is not self._given:
            longest = max(map(wants, islice(self._given, _MEASURED)), default=0)
            known = self._measured = self.table, self._given, longest
        return known[2]

    @property
    def selected(self) -> Row | None:
        """The row under the cursor."""
        return self.items[self.cursor] if self.cursor < len(self.items) else None

    # -- order -------------------------------------------------------------------------------------------------------

    @property
    def shown_order(self) -> RowOrder:
        """What is sorted by."""
        return self.table.first_order if self.table.column(self.order.key) is None else self.order

    def in_order(self, items: Sequence[Row]) -> Sequence[Row]:
        """Return rows in their order; those that compare equal stay as they are."""
        return self.table.in_order(items, self.shown_order)

    def put_in_order(self, order: RowOrder) -> None:
        """Sort by a column; who is at the top stays there, else the cursor stays on its row."""
        before = self.selected if self.cursor else None
        self.order = order
        self.items = self.in_order(self._given)
        row = next((row for row, item in enumerate(self.items) if item is before), 0) if before is not None else 0
        self.rows_have_changed(len(self.items), row)
        self.reveal()

    # -- rows --------------------------------------------------------------------------------------------------------

    def rows_have_changed(self, count: int, cursor: int | None = None) -> None:
        """Take note of other rows; names may need another room now."""
        super().rows_have_changed(count, cursor)
        self.heads.refresh()

    def on_unmount(self) -> None:
        """Let go of the rows: what holds the list is a circle, and is collected as garbage long after it was left."""
        self.take(())
        self.rows_have_changed(0)

    def take(self, items: Sequence[Row]) -> None:
        """Hold other rows, in their order."""
        self._given, self.items = items, self.in_order(items)

    def show(self, items: Sequence[Row], *, stay: bool = False) -> None:
        """Show other rows, from the first on, or with the cursor where it is, on its row.

        Args:
            items: Those that come first among equal ones first.
            stay: Whether they are those that were there, with other figures.
        """
        before = self.selected
        self.take(items)
        if stay:
            same = (row for row, item in enumerate(self.items) if before is not None and self.is_same(item, before))
            self.take_rows(len(items), next(same, None))
        else:
            self.rows_have_changed(len(items), 0)
            self.reveal()

    def move_on(self, fits: Callable[[Row], bool]) -> bool:
        """Put the cursor on the next row that fits, round the end if need be; return whether there is one."""
        behind = self.cursor + 1
        places = (*range(behind, len(self.items)), *range(min(behind, len(self.items))))
        place = next((place for place in places if fits(self.items[place])), None)
        if place is not None:
            self.move_to(place)
        return place is not None

    def is_same(self, item: Row, before: Row) -> bool:
        """Tell whether a row is one of the answer before."""
        return self._identity(item) == self._identity(before)

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one row's line."""
        parts = self.fit(width).parts_of(self.items[row])
        return [Segment(text, self.paint_style(style) if style else None) for text, style in parts if text]


class TableHeads(Widget):
    """The line above a table: the heads in their columns, with an arrow at the one that is sorted by."""

    def __init__(self, rows: TableList[Any]) -> None:
        super().__init__()
        self._rows = rows
        self.clicked: Callable[[str], object] | None = None
        """Called with what a column that was clicked sorts by."""

    def _heads(self) -> Iterator[tuple[str, TableColumn[Any]]]:
        rows = self._rows
        order = rows.shown_order
        return rows.fit(rows.line_width).heads(order.key, "▾" if order.descending else "▴")

    def render(self) -> Content:
        """Return the heads."""
        return Content("".join(text for text, _ in self._heads()))

    def on_click(self, event: events.Click) -> None:
        """Ask for another order; figures that aren't sorted by ask for none."""
        offset, end = event.get_content_offset(self), 0
        for text, column in self._heads():
            end += cell_len(text)
            if offset is not None and offset.x < end:
                if column.key and self.clicked is not None:
                    self.clicked(column.key)
                return


@dataclass(eq=False)
class Sorting:
    """What the keys of order, and clicks on heads, act on."""

    _screen: ShownScreen
    _rows: TableList[Any]
    _setting: str = ""
    """What keeps the order, by its name in `Settings`; empty where nothing does."""
    _sort_otherwise: Callable[[RowOrder], object] | None = None
    """Puts the rows in order, where the table can't do so itself."""

    def __post_init__(self) -> None:
        self._sort = self._sort_otherwise or self._rows.put_in_order
        self._rows.heads.clicked = self.by

    def take_setting(self) -> None:
        """Sort as was sorted last."""
        if self._setting:
            for settings in (self._screen.viewer.settings, Settings()):
                kept = getattr(settings, self._setting)
                column = self._rows.table.column(kept.removesuffix(_REVERSED))
                if column is not None:
                    self._sort(RowOrder(column.key, column.order.descending is not kept.endswith(_REVERSED)))
                    return

    def by_next(self) -> None:
        """Sort by the next column that is shown."""
        keys, shown = self._rows.fit(self._rows.line_width).keys, self._rows.shown_order.key
        if keys:
            self.by(following(keys, shown) if shown in keys else keys[0], turns=False)

    def turn(self) -> None:
        """Reverse the order."""
        self.by(self._rows.shown_order.key)

    def by(self, key: str, *, turns: bool = True) -> None:
        """Sort by a column; by the one that is sorted by already, the other way round."""
        column, before, viewer = self._rows.table.column(key), self._rows.shown_order, self._screen.viewer
        is_turned = turns and key == before.key
        if column is None or (is_turned and column.ranks is None):
            viewer.say("this order can't be reversed")
            return
        order = RowOrder(key, not before.descending) if is_turned else column.order
        if self._setting:
            viewer.keep(**{self._setting: key if order == column.order else f"{key}{_REVERSED}"})
        self._sort(order)
        words = f", {column.ranks.value[not order.descending]}" if is_turned and column.ranks is not None else ""
        viewer.say(f"sorted by {key}{words}")
