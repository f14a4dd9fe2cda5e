"""A screen that lists the rows of one question: heads, list, a line about the selected row, and the keys of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from textual.content import Content
from textual.widgets import Static

from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.table import Sorting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Sequence

    from textual.app import ComposeResult

    from spanview.reports.table import RowOrder
    from spanview.tui.widgets.live import AnyLive
    from spanview.tui.widgets.scope import ChosenTraces
    from spanview.tui.widgets.table import TableList

Row = TypeVar("Row")


@dataclass(eq=False)
class NextFailure:
    """Opens what failed behind the selected row, one after the other; then that behind the next row with a failure.

    Where a view has no failure behind any row, it opens that of the traces that it is of: a silent one.
    """

    _screen: BaseScreen
    _failed: Callable[[], Sequence[int]]
    """Returns the spans that failed behind the selected row, by their rows, in the order of visits."""
    _move_on: Callable[[], bool]
    """Selects the next row behind which something failed; returns False where there is none."""
    _nothing: str
    """What to say where nothing failed at all."""
    is_whole: bool = False
    """Whether the rows are of all that the bar names."""
    _opened: int | None = None
    """The span that was opened last."""

    async def open(self) -> None:
        """Open the next failure, the newest of the selected row first."""
        failed = self._failed()
        number = failed.index(self._opened) + 1 if self._opened in failed else 0
        if number >= len(failed):
            failed, number = self._failed() if self._move_on() else (), 0
        viewer = self._screen.viewer
        if failed:
            self._opened = failed[number]
            await viewer.views.open_span(self._opened, at_error=True)
        elif not (self.is_whole and await viewer.views.open_newest_failure()):
            viewer.say(self._nothing)


@dataclass(frozen=True, slots=True)
class RowKeys(Generic[Row]):
    """What the keys of rows act on."""

    open: Callable[[Row], Awaitable[object]]
    copied: Callable[[Row], tuple[str, str] | str]
    """Returns the text that is copied of a row, and what it is; or why there is none."""
    failed: Callable[[Row], Sequence[int]]
    """Returns the spans that failed behind a row, by their rows in the span table, in the order of visits."""
    has_failed: Callable[[Row], bool]
    nothing_failed: str
    """What is said where nothing failed behind any row."""
    was_made_good: Callable[[Row], bool] = lambda _: False
    """Tells whether something failed behind a row that a retry made good: these come when nothing else failed."""
    is_whole: bool = False
    """Whether the rows are of all that the bar names."""


class ReportScreen(BaseScreen, Generic[Row]):
    """The rows of a question, kept up to date; what is special to the question is handed in, or overridden.

    Args:
        known: An answer to begin with, the traces that it is of, and their version.
    """

    rows: TableList[Row]
    live: AnyLive
    sorting: Sorting
    NOTES = 1

    def __init__(
        self,
        rows: TableList[Row],
        keys: RowKeys[Row],
        setting: str = "",
        sort: Callable[[RowOrder], object] | None = None,
        known: tuple[Any, ChosenTraces, Hashable] | None = None,
    ) -> None:
        super().__init__()
        self.rows = rows
        self.row_keys = keys
        self._begins_with = known
        self.sorting = Sorting(self, rows, setting, sort)
        self._next_failure = NextFailure(
            self,
            lambda: () if rows.selected is None else keys.failed(rows.selected),
            lambda: rows.move_on(keys.has_failed) or rows.move_on(keys.was_made_good),
            keys.nothing_failed,
            is_whole=keys.is_whole,
        )

    def body(self) -> ComposeResult:
        """Make what stands between bar and footer."""
        yield self.rows.heads
        yield self.rows
        if self.NOTES:
            yield Static(Content(""), classes="heads", id="note")

    def on_mount(self) -> None:
        """Take the keys, and begin."""
        self.set_focus(self.rows)
        self.take_settings()
        self.begin()

    def begin(self) -> None:
        """Begin to count, or show what is known."""
        if self._begins_with is None:
            self.live.begin()
        else:
            self.live.begin_with(*self._begins_with)

    def note_text(self, cells: int) -> str:  # noqa: ARG002 - for screens with a note
        """Return what is said of the selected row below the list, safe to print, in at most so many cells."""
        return ""

    def show_frame(self) -> None:
        """Say what is to be said of the selected row beside its figures."""
        super().show_frame()
        if self.NOTES:
            self.query_one("#note", Static).update(Content(self.note_text(self.size.width)), layout=False)

    on_line_list_moved = BaseScreen.refresh_frame
    """Say what is selected now."""

    async def action_open(self) -> None:
        """Open what is behind the selected row."""
        await self.live.wait_for_answer()
        if self.rows.selected is not None:
            await self.row_keys.open(self.rows.selected)

    async def action_error(self, _by: int) -> None:
        """Open the next failure behind the selected row, or behind the next one with a failure."""
        await self.live.wait_for_answer()
        await self._next_failure.open()

    def action_copy(self) -> None:
        """Copy what there is to copy of the selected row."""
        row = self.rows.selected
        copied: Any = "nothing to copy here" if row is None else self.row_keys.copied(row)
        if isinstance(copied, str):
            self.viewer.say(copied)
        else:
            self.viewer.copy(*copied)
