"""How two sides differ: a line a call path, A to the left, B to the right, and between them what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from spanview.analysis.diff import PathDiff
from spanview.analysis.flame import located
from spanview.analysis.telling import part
from spanview.display.diff_text import figures_line, per_trace_text, side_lines
from spanview.display.units import count
from spanview.tui.app.settings import chosen
from spanview.tui.diff.diff_columns import sums_in, table_in
from spanview.tui.diff.diff_model import DiffModel, Order
from spanview.tui.keys import On, View
from spanview.tui.stats.spans_screen import MOST_SPANS, Spans, SpansScreen
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.header import TwoSided
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.paint import fixed
from spanview.tui.widgets.scope import ChosenTraces, TraceScope
from spanview.tui.widgets.table import TableColumn, TableList, following
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from textual import events
    from textual.app import ComposeResult

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.diff.side import ComparedSide

_STEP: Final = 2
"""Cells by which a path stands behind the one that calls it."""
_MOST_SPANS_AT_ONCE: Final = 50_000
"""Of a store, whose spans of a path are listed before the next key; those of a larger one are found in a thread."""
_LONGEST_PATH: Final = 1000
"""Cells of a path that is copied."""
_MAX_SIDE_LENGTH: Final = 60
"""Cells of a path in a title."""


class PathLines(TableList[PathDiff]):
    """A line a call path."""

    def __init__(self) -> None:
        self.model: DiffModel | None = None
        self.order = Order.CHANGE
        super().__init__(table_in(self.order, self._path_text, is_per_trace=False))

    def show_model(self, model: DiffModel, order: Order) -> None:
        """Show paths in an order; the cursor stays on its path, or begins at the first."""
        before, path = self.model, self.selected
        self.model, self.items = model, model.orders[order]
        self.put_in_order(order)
        same = None if before is None or path is None else model.same_path(before, path)
        row = next((row for row, item in enumerate(self.items) if item is same), 0)
        if before is None or before is model:
            self.rows_have_changed(len(self.items), row)
            self.reveal()
        else:
            self.take_rows(len(self.items), row if same is not None else None)

    def put_in_order(self, order: Order) -> None:
        """Let the columns be those of an order."""
        self.order = self.sorted_by = order
        is_per_trace = self.model is not None and self.model.diff.is_per_trace
        self.table = table_in(order, self._path_text, is_per_trace=is_per_trace)

    def _path_text(self, path: PathDiff, room: int) -> str:
        if self.model is None or self.order is not Order.TREE:
            return "" if self.model is None else self.model.labels.path(path, room)
        return " " * min(_STEP * path.depth, room // 2) + self.model.labels.name(path)[0]


class DiffHeads(Widget):
    """The line above the paths; a click on a column puts them in its order.

    Args:
        rows: The paths.
    """

    def __init__(self, rows: PathLines) -> None:
        super().__init__()
        self._rows = rows

    def _heads(self) -> Iterator[tuple[str, TableColumn[PathDiff]]]:
        return self._rows.fit(max(0, self.size.width - 1)).heads(self._rows.sorted_by)

    def render(self) -> Content:
        """Return the heads in their columns."""
        return Content("".join(text for text, _ in self._heads()))

    def on_click(self, event: events.Click) -> None:
        """Put the paths in another order."""
        x, end, order = event.get_content_offset_capture(self).x, 0, None
        for text, column in self._heads():
            end, order = end + len(text), column.key
            if x < end:
                break
        if order is not None and isinstance(self.screen, DiffScreen):
            self.screen.put_in_order(order)


class DiffScreen(BaseScreen, on=On.DIFF, view=View.COMPARE):
    """The comparison.

    Args:
        a: One side.
        b: The other one.
    """

    def __init__(self, store: Store, a: ComparedSide, b: ComparedSide) -> None:
        super().__init__()
        self.rows: PathLines = PathLines()
        self._store = store
        self._given = a, b
        scope = TraceScope(lambda: ChosenTraces(None, ""), self._version)
        self.live: Live[DiffModel] = Live(self, scope, self._merge, self._take_model)
        self._looking = Work(self)
        self._order = Order.CHANGE

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield Static(Content(""), classes="sides")
        yield TwoSided(classes="chosen")
        yield DiffHeads(self.rows)
        yield self.rows

    def on_mount(self) -> None:
        """Merge both sides."""
        self.set_focus(self.rows)
        self.take_settings()
        self.viewer.say(f"A is {self._given[0].what}")
        self.live.begin()

    def _version(self) -> Hashable:
        """Tell one state of the sides from another: two traces stay as they are while others grow."""
        counts = self._store.trace_table.span_count
        keys = [side.key for side in self._given]
        return tuple(counts[key] if isinstance(key, int) else len(self._store.spans) for key in keys)

    def _merge(self, _traces: Sequence[int] | None, tell: Tell) -> DiffModel:
        """Called in a thread: all spans are stitched."""
        a, b = self._given
        merged_a = located(self._store, a.traces(), part(tell, 0.0, 0.3))
        merged_b = located(self._store, b.traces(), part(tell, 0.3, 0.6))
        return DiffModel(self._store, (merged_a, merged_b), part(tell, 0.6, 1.0))

    def _spans_of(self, path: PathDiff, before: DiffModel, tell: Tell) -> Spans:
        """Called in a thread: return the spans of a path as it is now."""
        model = self._merge(None, tell)
        same = model.same_path(before, path)
        return Spans(()) if same is None else model.spans_of(same, MOST_SPANS)

    def _take_model(self, model: DiffModel) -> None:
        self.rows.show_model(model, self._order)
        self.query_one(DiffHeads).refresh()
        self._show_sides()

    def on_resize(self) -> None:
        """Show as much of the sides as there is room for."""
        self._show_sides()

    def _show_sides(self) -> None:
        model, width = self.rows.model, self.size.width
        words = [side.what for side in self._given]
        if model is None:
            lines = [f" {letter}  {text}" for letter, text in zip("AB", words, strict=True)]
        else:
            lines = [f" {text}" for text in side_lines(model.diff, words)]
        self.query_one(".sides", Static).update(Content("\n".join(fixed(text, width) for text in lines)))

    def title_text(self) -> str:
        """Return what is compared, and in what order."""
        model = self.rows.model
        if model is None:
            return f"‹ comparison   merging … {self.live.work.share_text}"
        paths = count(len(model.diff.paths), "call path")
        looking = f"   looking … {self._looking.share_text}" if self._looking.is_busy else ""
        return f"‹ comparison{self.live.as_of}{looking}   {paths}   by {model.name_of(self._order)}"

    def show_frame(self) -> None:
        """Say which path is selected, too: its line may have no room for all of it."""
        super().show_frame()
        model, path = self.rows.model, self.rows.selected
        room, unit = self.size.width - 2, ""
        if model is not None and model.diff.is_per_trace:
            unit = per_trace_text(sums_in(self.rows.fit(self.size.width - 1), self._order))
            room -= len(unit) + 2
        text = "" if model is None or path is None else model.labels.path(path, max(8, room))
        self.query_one(".chosen", TwoSided).say(text, unit)

    on_line_list_moved = BaseScreen.refresh_frame
    """Say which path is selected."""

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Put the paths in the next order."""
        self.put_in_order(following(Order, self._order))

    def put_in_order(self, order: Order) -> None:
        """Put the paths in an order, and keep it."""
        self.viewer.keep(comparison_order=order.value)
        self.take_settings()
        model = self.rows.model
        self.viewer.say(f"ordered by {order.value if model is None else model.name_of(order)}")

    def take_settings(self) -> None:
        """Put the paths in the order that was chosen last."""
        order = chosen(Order, self.viewer.settings.comparison_order) or Order.CHANGE
        self._order = order
        if self.rows.model is None:
            self.rows.put_in_order(order)
        else:
            self.rows.show_model(self.rows.model, order)
        self.query_one(DiffHeads).refresh()

    async def action_open(self) -> None:
        """List the spans of the path, of both sides."""
        await self.live.wait_for_answer()
        model, path = self.rows.model, self.rows.selected
        if model is None or path is None:
            return
        if path.name is None:
            self.viewer.say("these parents were not seen: there is nothing to open")
            return
        if len(self._store.spans) > _MOST_SPANS_AT_ONCE:
            self._looking.begin(
                lambda _: model.spans_of(path, MOST_SPANS), lambda spans: self._open_spans(model, path, spans)
            )
        elif (screen := self._spans_screen(model, path, model.spans_of(path, MOST_SPANS))) is not None:
            # At once: the next key is for the spans.
            await self.app.push_screen(screen)

    def _open_spans(self, model: DiffModel, path: PathDiff, spans: Spans) -> None:
        if self.is_in_front and (screen := self._spans_screen(model, path, spans)) is not None:
            self.app.push_screen(screen)

    def _spans_screen(self, model: DiffModel, path: PathDiff, spans: Spans) -> SpansScreen | None:
        if spans.rows:
            what = model.labels.path(path, _MAX_SIDE_LENGTH)
            return SpansScreen(self._store, spans, what, self.live, lambda _, tell: self._spans_of(path, model, tell))
        self.viewer.say("no span of this path has an end yet")
        return None

    def action_back(self) -> None:
        """End what is being looked for, then go back."""
        if not self._looking.end():
            self.app.pop_screen()

    def action_copy(self) -> None:
        """Copy the line of the path as a text."""
        model, path = self.rows.model, self.rows.selected
        if model is not None and path is not None:
            self.viewer.copy(f"{model.labels.path(path, _LONGEST_PATH)}: {figures_line(path)}", "line")
