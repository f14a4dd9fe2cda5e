"""A list of any length that paints only the rows in sight, by Textual's line API."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from spanview.tui.shims import SCROLLBAR
from spanview.tui.widgets.dragging import takes_mouse
from spanview.tui.widgets.paint import CURSOR, CURSOR_ELSEWHERE

if TYPE_CHECKING:
    from textual import events

    from spanview.tui.widgets.dragging import Drag, MouseNews


class LineList(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows with a cursor; what a row looks like is the subclass's business.

    Moving the cursor repaints two rows, whatever the length of the list.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "linelist--cursor",
        "linelist--dim",
        "linelist--unlit",
        "linelist--error",
        "linelist--accent",
        "linelist--better",
        "linelist--warning",
        "linelist--lit",
    }

    class Moved(Message, bubble=True):
        """The cursor stands on another row."""

        def __init__(self, sender: LineList) -> None:
            super().__init__()
            self.sender = sender

        def can_replace(self, message: Message) -> bool:
            """Only where the cursor is now counts."""
            return isinstance(message, LineList.Moved) and message.sender is self.sender

    class Chosen(Message, bubble=True):
        """A row was double-clicked, or clicked while it was selected."""

        def __init__(self, sender: LineList) -> None:
            super().__init__()
            self.sender = sender

    def __init__(self) -> None:
        super().__init__()
        self.cursor = 0
        self._count = 0
        self._painted_width = 0
        """Cells of the lines that were painted last."""
        self._paint_styles: dict[str, Style] = {}
        self.drag: Drag | None = None
        """What picks a stretch of time, where the rows show time."""
        self._lit_columns: tuple[int, int] | None = None
        """The first and the last column of what is being picked."""
        self._unlit: dict[tuple[int, int, bool], Strip] = {}
        """While that is so, lines as they are without it, by row, width, and whether the cursor is on it."""
        self.page = Style()
        """The colours that lines are painted in where they say nothing else."""

    # -- what subclasses say -----------------------------------------------------------------------------------------

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return what a row looks like when the cursor isn't on it."""
        raise NotImplementedError

    def rows_have_changed(self, count: int, cursor: int | None = None) -> None:
        """Take note that there are other rows now.

        Args:
            cursor: Where the cursor belongs now; where it was without one.
        """
        self._count = count
        self._unlit.clear()
        self.cursor = max(0, min(self.cursor if cursor is None else cursor, count - 1))
        if not SCROLLBAR.is_active:
            self.virtual_size = Size(0, count)
            self.refresh()
            return
        # No line is wider than the screen: a width of now would have the screen laid out once more with each other one.
        self.set_reactive(LineList.virtual_size, Size(0, count))
        if self.size:
            # Only a scrollbar that comes or goes needs another layout.
            self._scroll_update(self.virtual_size)
        elif count > self.app.size.height:
            # Else it would come after the first layout, and all would be laid out once more.
            self.set_reactive(LineList.show_vertical_scrollbar, True)
        self.refresh()

    # -- painting ----------------------------------------------------------------------------------------------------

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return self._count

    @property
    def line_width(self) -> int:
        """Cells of a line; the scrollbar's place stays free without one, so that nothing moves when it comes.

        A key may come before the list is shown: then those that it gets where it is as wide as the terminal.
        """
        width = (self.content_size or self.app.size).width
        return max(0, width - self.styles.scrollbar_size_vertical - self._gutter)

    @property
    def time_cells(self) -> int:
        """Cells at the end of each line that show time; 0 where rows show none."""
        return 0

    @property
    def _gutter(self) -> int:
        """Cells before each line, for the mark of the selected one where no colour tells it."""
        return len(CURSOR) if self.app.no_color else 0

    def paint_style(self, name: str) -> Style:
        """Return the style of a component class, without a background, so that the cursor's shows through."""
        style = self._paint_styles.get(name)
        if style is None:
            full = self.get_component_rich_style(f"linelist--{name}")
            style = Style(color=full.color, bold=full.bold, dim=full.dim)
            self._paint_styles[name] = style
        return style

    def notify_style_update(self) -> None:
        """Forget the styles of another theme."""
        super().notify_style_update()
        self._paint_styles.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint what has to be painted of what is in sight; the colours are found out once for all lines."""
        full = self.rich_style
        self.page = Style(color=full.color, bgcolor=full.bgcolor)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Paint one line of what is in sight."""
        width, self._painted_width = self.scrollable_content_region.width, self.line_width
        row = self.scroll_offset.y + y
        if row >= self._count:
            return Strip.blank(width, self.page)
        if self._lit_columns is None:
            return self._strip_of(row, width)
        key = row, width, row == self.cursor
        if key not in self._unlit:
            self._unlit[key] = self._strip_of(row, width)
        return self._lit(self._unlit[key], self._lit_columns)

    def _strip_of(self, row: int, width: int) -> Strip:
        mark = ""
        if self.app.no_color:
            has_keys = self.has_focus or not self.can_focus
            mark = " " * self._gutter if row != self.cursor else CURSOR if has_keys else CURSOR_ELSEWHERE
        strip = Strip([Segment(mark), *self.segments_of(row, self.line_width)]).adjust_cell_length(width)
        if row == self.cursor:
            name = "linelist--cursor"
            cursor = self.get_component_rich_style(name)
            selected = Style(bgcolor=cursor.bgcolor, bold=cursor.bold, reverse=cursor.reverse)
            return strip.apply_style(Style(color=self.page.color) + selected)
        return strip.apply_style(self.page)

    def _lit(self, strip: Strip, columns: tuple[int, int]) -> Strip:
        """Return a line with some columns set off."""
        first, end = columns[0], min(columns[1] + 1, strip.cell_length)
        cuts = (0, first), (first, end), (end, strip.cell_length)
        before, inside, behind = (strip.crop(*cut) for cut in cuts)
        full = self.get_component_rich_style("linelist--lit")
        style = Style(bgcolor=full.bgcolor, reverse=full.reverse)
        return Strip.join([before, Strip(Segment.apply_style(inside, post_style=style)), behind])

    def light_columns(self, columns: tuple[int, int] | None) -> None:
        """Set the columns from one to another off from all others, or none."""
        self._lit_columns = columns
        if columns is None:
            self._unlit.clear()
        self.refresh()

    def refresh_row(self, row: int) -> None:
        """Paint one row anew, if it is in sight."""
        y = row - self.scroll_offset.y
        if 0 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def on_resize(self, _event: events.Resize) -> None:
        """Keep the cursor in sight, and the bars as long as the screen is wide."""
        self.reveal()
        # The first painting can come before the first size is told, and needs no second one.
        if self._painted_width != self.line_width:
            self.refresh()

    # -- moving ------------------------------------------------------------------------------------------------------

    def move_to(self, row: int) -> None:
        """Put the cursor on a row and bring it into sight."""
        row = max(0, min(row, self._count - 1))
        if row != self.cursor:
            before, self.cursor = self.cursor, row
            self.refresh_row(before)
            self.refresh_row(row)
            self.reveal()
            self.post_message(self.Moved(self))

    def reveal(self) -> None:
        """Scroll as little as brings the cursor into sight."""
        height, top = self.scrollable_content_region.height, self.scroll_offset.y
        if self.cursor < top:
            self._scroll_to_row(self.cursor)
        elif height and self.cursor >= top + height:
            self._scroll_to_row(self.cursor - height + 1)

    def _scroll_to_row(self, row: int) -> None:
        self.scroll_to(y=row, animate=False, immediate=True)

    def take_rows(self, count: int, cursor: int | None) -> None:
        """Take note of other rows without moving what is looked at.

        Args:
            cursor: Where the row under the cursor is now; None where it is gone.
        """
        top, before = self.scroll_offset.y, self.cursor
        is_in_sight = top <= before < top + self.scrollable_content_region.height
        self.rows_have_changed(count, before if cursor is None else cursor)
        if not is_in_sight:
            return
        if top:
            self.keep_in_place(self.cursor - before)
        self.reveal()

    def keep_in_place(self, rows_before: int) -> None:
        """Scroll so that what is looked at stays where it is on the screen, though rows were put above it."""
        if rows_before:
            self._scroll_to_row(max(0, self.scroll_offset.y + rows_before))

    def action_move(self, by: int) -> None:
        """Move the cursor by rows."""
        self.move_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by pages, and what is in sight with it."""
        step = by * max(1, self.scrollable_content_region.height - 1)
        self._scroll_to_row(max(0, min(self.scroll_offset.y + step, self.max_scroll_y)))
        self.move_to(self.cursor + step)

    def action_edge(self, last: int) -> None:
        """Move the cursor to the first row, or to the last."""
        self.move_to(self._count - 1 if last else 0)

    def blur(self) -> Self:
        """Keep the keys: a list is hidden for a moment while there is nothing in it.

        Textual asks for it when the hiding comes to the list's turn, and gives the keys to a prompt, if there is one.
        """
        return self

    @takes_mouse
    def _pick_time(self, event: MouseNews) -> None:
        if self.drag is not None:
            self.drag.take(event)

    def on_click(self, event: events.Click) -> None:
        """Select the row that was clicked; open it when it was selected or at the second click."""
        if event.button > 1 or (self.drag is not None and not self.drag.is_click):
            return
        row = self.scroll_offset.y + event.y
        if not 0 <= row < self._count:
            return
        event.stop()
        self.focus()
        if self.clicked(row, event.x - self._gutter):
            return
        was_selected = row == self.cursor
        self.move_to(row)
        if event.chain > 1 or was_selected:
            self.post_message(self.Chosen(self))

    def clicked(self, row: int, x: int) -> bool:  # noqa: ARG002 - for subclasses
        """Take a click on a part of a row that means something by itself; return whether it did."""
        return False
