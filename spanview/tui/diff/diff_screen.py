"""How two sides differ: a line a call path, A to the left, B to the right, and between them what has changed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.diff import PathDiff
from spanview.analysis.diff_groups import DiffBy, groups_of_side
from spanview.analysis.failures import in_order_of_visits
from spanview.analysis.flame import located
from spanview.analysis.ray.names import SUBMITTED, call_names
from spanview.analysis.telling import part
from spanview.display.cells import fixed, name_text
from spanview.display.diff_text import figures_line, per_trace_text, side_lines
from spanview.reports.comparison import Order, comparison_table, sums_in
from spanview.tui.diff.diff_model import DiffModel
from spanview.tui.keys import On, View
from spanview.tui.stats.spans_screen import MOST_SPANS, Spans, SpansScreen
from spanview.tui.widgets.header import TwoSided
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.report_screen import ReportScreen, RowKeys
from spanview.tui.widgets.scope import ChosenTraces, TraceScope
from spanview.tui.widgets.table import TableList, following
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.reports.table import RowOrder
    from spanview.tui.diff.side import MarkedSide

_STEP: Final = 2
"""Cells by which a path stands behind the one that calls it."""
_MOST_SPANS_AT_ONCE: Final = 50_000
"""Of a store, whose spans of a path are listed before the next key; those of a larger one are found in a thread."""
_BY: Final = {DiffBy.PATH: "call path", DiffBy.NAME: "name", DiffBy.RAY: "Ray function: its runs, and their waits"}
_LONGEST_PATH: Final = 1000
"""Cells of a path that is copied."""
_MAX_SIDE_LENGTH: Final = 60
"""Cells of a path in a title."""


class PathLines(TableList[PathDiff]):
    """A line a call path."""

    def __init__(self) -> None:
        self.model: DiffModel | None = None
        self.by = Order.CHANGE
        super().__init__(comparison_table(self.by, DiffBy.PATH, self._path_text))

    def on_unmount(self) -> None:
        """Let go of the comparison when the screen is left."""
        self.model = None

    def show_model(self, model: DiffModel) -> None:
        """Show the paths of a comparison; the cursor stays on its path, or begins at the first."""
        before, path, self.model = self.model, self.selected, model
        self._arrange()
        same = None if before is None or path is None else model.same_path(before, path)
        if before is None:
            self.rows_have_changed(len(self.items), 0)
            self.reveal()
        else:
            self.take_rows(len(self.items), next((row for row, item in enumerate(self.items) if item is same), None))

    def put_in_order(self, order: RowOrder) -> None:
        """Show the paths in another order, with the columns that go with it."""
        before, self.order, self.by = self.selected, order, Order(order.key)
        self._arrange()
        self.rows_have_changed(len(self.items), next((row for row, item in enumerate(self.items) if item is before), 0))
        self.reveal()

    def _arrange(self) -> None:
        model = self.model
        is_per_trace = model is not None and model.diff.is_per_trace
        compared = DiffBy.PATH if model is None else model.by
        has_errors = model is not None and model.has_errors
        self.table = comparison_table(
            self.by, compared, self._path_text, is_per_trace=is_per_trace, has_errors=has_errors
        )
        paths = () if model is None else model.orders[self.by]
        self.take(paths if self.shown_order.descending else paths[::-1])

    def line_text(self, path: PathDiff) -> str:
        """Return a path with its figures, as a text."""
        label = "" if self.model is None else self.model.labels.path(path, _LONGEST_PATH)
        return f"{label}: {figures_line(path)}"

    def _path_text(self, path: PathDiff, room: int) -> str:
        if self.model is None:
            return ""
        if self.model.by is DiffBy.RAY and self.by is Order.P50:
            # Its function is what tells a wait from others.
            return name_text(self.model.short_labels.path(path, _LONGEST_PATH), room)
        if self.by is not Order.TREE and self.model.by is not DiffBy.RAY:
            return self.model.short_labels.path(path, room)
        step = min(_STEP * path.depth, room // 2)
        return " " * step + name_text(self.model.short_labels.name(path)[0], room - step)


class DiffScreen(ReportScreen[PathDiff], on=On.DIFF, view=View.COMPARE):
    """The comparison."""

    rows: PathLines
    NOTES = 0

    def __init__(self, store: Store, a: MarkedSide, b: MarkedSide) -> None:
        rows = PathLines()
        keys: RowKeys[PathDiff] = RowKeys(
            open=self._open_path,
            copied=lambda path: (rows.line_text(path), "line"),
            failed=self._failed_of_path,
            has_failed=lambda path: any(side and side.errors for side in (path.a, path.b)),
            nothing_failed="no span here has an error",
        )
        super().__init__(rows, keys, "comparison_order")
        self._store = store
        self._given = a, b
        scope = TraceScope(lambda: ChosenTraces(None, ""), self._version)
        self._by: DiffBy | None = None
        """What is compared, or was asked for; None for what goes with the sides."""
        self.live: Live[DiffModel] = Live(self, scope, partial(self._merge, self._by), self._take_model)
        self._looking = Work(self)

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield Static(Content(""), classes="sides")
        yield TwoSided(classes="chosen")
        yield from super().body()

    def begin(self) -> None:
        """Merge both sides."""
        self.viewer.say(f"A is {self._given[0].what}")
        super().begin()

    def _version(self) -> Hashable:
        """Tell one state of the sides from another: two traces stay as they are while others grow."""
        version = self._store.trace_table.version
        keys = [side.key for side in self._given]
        return tuple(version(key) if isinstance(key, int) else self._store.version for key in keys)

    def _merge(self, by: DiffBy | None, _traces: Sequence[int] | None, tell: Tell) -> DiffModel:
        """Called in a thread: all spans are stitched.

        Args:
            by: What is compared; None for what was at first: the functions, whose waits are told apart, where Ray has
                called some by then.
        """
        (a, b), store, groups = self._given, self._store, None
        of_a, of_b = a.traces(), b.traces()
        sides = located(store, of_a, part(tell, 0.0, 0.3)), located(store, of_b, part(tell, 0.3, 0.6))
        by = by or self._by
        if by is None:
            names = (path.name or "" for side in sides for path in side.flame.paths)
            by = DiffBy.RAY if any(name.endswith(SUBMITTED) for name in names) else DiffBy.PATH
        if by is not DiffBy.PATH:
            flames = sides[0].flame, sides[1].flame
            groups = groups_of_side(store, by, flames[0], of_a), groups_of_side(store, by, flames[1], of_b)
        are_traces = isinstance(a.key, int) and isinstance(b.key, int)
        return DiffModel(store, sides, part(tell, 0.6, 1.0), groups=groups, by=by, are_traces=are_traces)

    def _spans_of(self, path: PathDiff, before: DiffModel, tell: Tell) -> Spans:
        """Called in a thread: return the spans of a path as it is now."""
        model = self._merge(before.by, None, tell)
        same = model.same_path(before, path)
        return Spans(()) if same is None else model.spans_of(same, MOST_SPANS)

    def _take_model(self, model: DiffModel) -> None:
        self._by = model.by
        self.rows.show_model(model)
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
        self.query_one(".sides", Static).update(Content("\n".join(fixed(text, width) for text in lines)), layout=False)

    def title_text(self) -> str:
        """Return what is compared, and in what order."""
        model = self.rows.model
        if model is None:
            return f"‹ comparison   merging … {self.live.work.share_text}"
        looking = f"   looking … {self._looking.share_text}" if self._looking.is_busy else ""
        if self.live.is_asked:
            return f"‹ comparison   merging … {self.live.work.share_text}; Esc ends it"
        return f"‹ comparison{self.live.as_of}{looking}   {model.count_text}   by {model.name_of(self.rows.by)}"

    def show_frame(self) -> None:
        """Say which path is selected, too: its line may have no room for all of it."""
        super().show_frame()
        model, path = self.rows.model, self.rows.selected
        room, unit = self.size.width - 2, ""
        if model is not None and model.diff.is_per_trace:
            unit = per_trace_text(sums_in(self.rows.fit(self.size.width - 1).heads_text()))
            room -= len(unit) + 2
        text = "" if model is None or path is None else model.labels.path(path, max(8, room))
        self.query_one(".chosen", TwoSided).say(text, unit)

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Put the paths in the next order; its columns need not be in sight before."""
        self.sorting.by(following(Order, self.rows.by), turns=False)

    def action_group(self) -> None:
        """Compare the next thing: call paths, names, or Ray functions where there are any."""
        self._by = following(DiffBy, self._by or DiffBy.PATH)
        if self._by is DiffBy.RAY and not call_names(self._store.names)[0]:
            self._by = following(DiffBy, self._by)
        self.live.begin(partial(self._merge, self._by))
        self.viewer.say(f"by {_BY[self._by]}")

    async def _open_path(self, path: PathDiff) -> None:
        """List the spans of a path, of both sides."""
        model = self.rows.model
        if model is None:
            return
        if path.name is None:
            self.viewer.say("these parents were not seen: nothing to open")
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
            what = model.short_labels.path(path, _MAX_SIDE_LENGTH)
            return SpansScreen(self._store, spans, what, self.live, lambda _, tell: self._spans_of(path, model, tell))
        self.viewer.say("no span of this path has an end yet")
        return None

    def action_back(self) -> None:
        """End what is being looked for or merged, then go back."""
        if self.rows.model is not None and self.live.is_asked:
            self._by = self.rows.model.by
            self.live.end(partial(self._merge, self._by))
            self.live.catch_up()
            self.viewer.say("comparing was stopped")
        elif not self._looking.end():
            self.app.pop_screen()

    def _failed_of_path(self, path: PathDiff) -> Sequence[int]:
        """Return the failed spans of a path, of both sides, in the order of visits."""
        failed = () if self.rows.model is None else self.rows.model.failed_of(path)
        return in_order_of_visits(self._store, failed, self.viewer.made_good)
