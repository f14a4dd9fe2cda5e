"""The order of a table: by the next column, by the one that was clicked, or the other way round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from spanview.reports.table import RowOrder
from spanview.tui.app.settings import Settings
from spanview.tui.widgets.table import following

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.tui.viewer import ShownScreen
    from spanview.tui.widgets.table import TableList

_REVERSED: Final = ", reversed"


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
        """Sort by a column; by the one that is sorted by already, the other way round.

        Args:
            turns: Whether the column that is sorted by already is turned round.
        """
        column, before, viewer = self._rows.table.column(key), self._rows.shown_order, self._screen.viewer
        is_turned = turns and key == before.key
        if column is None or (is_turned and column.ranks is None):
            viewer.say("this order can't be reversed")
            return
        order = RowOrder(key, not before.descending) if is_turned else column.order
        if self._setting:
            viewer.keep(**{self._setting: key if order == column.order else f"{key}{_REVERSED}"})
        self._sort(order)
        self._screen.refresh_frame()
        words = f", {column.ranks.value[not order.descending]}" if is_turned and column.ranks is not None else ""
        viewer.say(f"sorted by {key}{words}")
