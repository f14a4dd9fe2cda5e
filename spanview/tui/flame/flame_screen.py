"""Where the time of some traces goes, as blocks: a row a level of calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from spanview.analysis.failures import failed_with, in_order_of_visits
from spanview.analysis.flame import Flame, located
from spanview.display.cells import data_text, fitting, name_text
from spanview.display.units import count, duration
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.tui.app.settings import chosen
from spanview.tui.flame.flame_model import By, FlameModel
from spanview.tui.keys import On, View
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.header import TwoSided
from spanview.tui.widgets.legend import color_of
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.paint import CURSOR
from spanview.tui.widgets.report_screen import NextFailure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.flame.flame_model import FlameBlock
    from spanview.tui.widgets.scope import TraceScope

_ROOM_FOR_MARK: Final = 18
"""Cells of a block from which on it says that something in it failed."""
_SHORTEST_NAME: Final = 20
"""Cells of the selected path's name, however narrow the line is."""
_MARGINS: Final = 4
_PAINTED_S: Final = 0.3
"""So long after a screen was left, what the key brings is painted."""
_WIDTH: Final = {By.TOTAL: "total time, or that of all below", By.SELF: "self time in it and below"}
_OWN: Final = {By.TOTAL: "total", By.SELF: "self"}
"""Which of a block's own figures makes it wide, where nothing below does."""


class FlameBlocks(Widget, can_focus=True, inherit_bindings=False):
    """The blocks, one of them selected."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"blocks--selected"}

    def __init__(self) -> None:
        super().__init__()
        self.let_go()

    def let_go(self) -> None:
        """Show nothing."""
        self.model = FlameModel(Flame((), (), (), ()))
        self._tops: list[int] = []
        self.selected = ROOT
        self._drawn: tuple[tuple[object, ...], list[list[FlameBlock]]] | None = None

    def on_unmount(self) -> None:
        """Let go of what was shown, which is collected as garbage else, long after it was left.

        Of many paths that takes as long as half of what a key may take, and the one that was pressed isn't painted yet.
        """
        asyncio.get_running_loop().call_later(_PAINTED_S, [self.model].clear)
        self.let_go()

    @property
    def top(self) -> int:
        """The path that takes the whole width; `ROOT` for all roots side by side."""
        return self._tops[-1] if self._tops else ROOT

    def come_closer(self, path: int) -> None:
        """Let a path take the whole width."""
        self._tops.append(path)
        self.refresh()

    def step_back(self) -> bool:
        """Show what was shown before; return False where that was everything."""
        if not self._tops:
            return False
        self._tops.pop()
        self.refresh()
        return True

    def show(self, model: FlameModel) -> None:
        """Show call paths; the one that is selected, and those that take the whole width, stay."""
        before, self.model = self.model, model
        if self.selected == ROOT:
            self.selected = model.widest_below(ROOT)
        else:
            tops = [model.tree.path_of(before.tree.names(top)) for top in self._tops]
            self._tops = [top for top in tops if top != ROOT]
            selected = model.tree.path_of(before.tree.names(self.selected))
            self.selected = selected if selected != ROOT else model.widest_below(self.top)
        self.refresh()

    def rows(self) -> list[list[FlameBlock]]:
        """Return the blocks that are drawn; made anew when something of them changes."""
        key = (self.model, self.model.by, self.top, self.size)
        if self._drawn is None or self._drawn[0] != key:
            self._drawn = key, self.model.rows(self.top, self.size.width, self.size.height)
        return self._drawn[1]

    def render_line(self, y: int) -> Strip:
        """Paint one level."""
        rows, width = self.rows(), self.size.width
        if y >= len(rows):
            return Strip.blank(width, self.rich_style)
        segments: list[Segment] = []
        cell = 0
        chosen, page = self.get_component_rich_style("blocks--selected"), Style(bgcolor=self.rich_style.bgcolor)
        for block in rows[y]:
            segments.append(Segment(" " * (block.left - cell), page))
            path = self.model.flame.paths[block.path]
            cells = block.right - block.left
            mark = "✖ " if path.errors and cells >= _ROOM_FOR_MARK else ""
            edge = CURSOR[0] if self.app.no_color and block.path == self.selected else "▏"
            lead = edge + mark
            room = cells - len(lead)
            text = lead + name_text(fitting(self.model.labels(block.path), room), room)
            color = color_of(_number_of(path.name or ""))
            style = Style(color=color.color, bgcolor=self.rich_style.bgcolor, reverse=True)
            if block.path == self.selected:
                style = Style(bgcolor=chosen.bgcolor, color=chosen.color, bold=True)
            segments.append(Segment(data_text(text, cells), style))
            cell = block.right
        return Strip(segments).adjust_cell_length(width).apply_style(Style(bgcolor=self.rich_style.bgcolor))

    def select(self, path: int) -> None:
        """Select another path."""
        if path != self.selected:
            self.selected = path
            self.refresh()
            if isinstance(self.screen, FlameScreen):
                self.screen.refresh_frame()

    def on_click(self, event: events.Click) -> None:
        """Select the block that was clicked; at the second click it takes the whole width."""
        rows = self.rows()
        if event.y >= len(rows):
            return
        block = next((block for block in rows[event.y] if block.left <= event.x < block.right), None)
        if block is None:
            return
        self.select(block.path)
        if event.chain > 1:
            self.come_closer(block.path)


def _number_of(name: str) -> int:
    """Return the number of a name's colour, the same in every run."""
    return sum(name.encode("utf-8", "replace"))


class FlameScreen(BaseScreen, on=On.FLAME, view=View.FLAME):
    """The flame view."""

    def __init__(self, store: Store, scope: TraceScope) -> None:
        super().__init__()
        self._store = store
        self.blocks = FlameBlocks()
        self.live: Live[FlameModel] = Live(self, scope, self._merge, self._take_model)
        self._next_failure = NextFailure(
            self,
            self._failed_of_block,
            self._move_on,
            "no block here has an error",
            is_whole=True,
        )

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield TwoSided(classes="chosen")
        yield self.blocks

    def on_mount(self) -> None:
        """Merge the traces, in a thread."""
        self.set_focus(self.blocks)
        self.live.begin()

    def _merge(self, traces: Sequence[int] | None, tell: Tell) -> FlameModel:
        """Called in a thread."""
        merged = located(self._store, traces, tell)
        return FlameModel(merged.flame, merged.column)

    def _take_model(self, model: FlameModel) -> None:
        self.blocks.show(model)
        self.take_settings()

    def take_settings(self) -> None:
        """Let what made blocks wide last make them wide."""
        self.blocks.model.by = chosen(By, self.viewer.settings.blocks_by) or By.TOTAL
        self.blocks.refresh()
        self.refresh_frame()

    def title_text(self) -> str:
        """Return what is merged."""
        model = self.blocks.model
        if not self.live.has_answer:
            return f"‹ flame graph of {self.live.chosen.what}   merging … {self.live.work.share_text}"
        paths = count(len(model.flame.paths), "call path")
        head = f"‹ flame graph of {self.live.chosen.what}{self.live.as_of}"
        return f"{head}   {paths}   width: {_WIDTH[model.by]}"

    def show_frame(self) -> None:
        """Show the frame, and say what is selected."""
        super().show_frame()
        model, selected = self.blocks.model, self.blocks.selected
        if selected == ROOT:
            self.query_one(".chosen", TwoSided).say("", "")
            return
        path = model.flame.paths[selected]
        errors = f"   ✖ {path.errors:,}" if path.errors else ""
        figures = {"total": path.total_ns, "self": path.self_ns, "p50": path.p50_ns, "p95": path.p95_ns}
        if no_end := path.no_end:
            errors += f"   {no_end:,} no end"
        times = "   ".join(f"{name} {duration(ns)}" for name, ns in figures.items() if no_end < path.count)
        width_ns, part = model.width_ns(selected), model.share(selected)
        # A Ray call is as wide as what ran below it, which its own figures don't show.
        below = "" if width_ns == figures[_OWN[model.by]] else f"{duration(width_ns)} with what is below, "
        share = "" if part is None else f"{below}{part:.1%} of all"
        rest = f"   ×{path.count:,}{errors}   {times}"
        room = max(_SHORTEST_NAME, self.size.width - len(rest) - len(share) - _MARGINS)
        name = name_text(fitting(model.labels(selected), room), room).rstrip()
        self.query_one(".chosen", TwoSided).say(f"{name}{rest}", share)

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Go down to the widest path below, or up to the one above."""
        blocks = self.blocks
        if blocks.selected == ROOT:
            return
        if by > 0:
            blocks.select(blocks.model.widest_below(blocks.selected))
        elif (parent := blocks.model.above(blocks.selected, blocks.top)) != ROOT:
            blocks.select(parent)

    def action_page(self, by: int) -> None:
        """Go on by a level, as a page is one screen already."""
        self.action_move(by)

    def action_edge(self, last: int) -> None:
        """Go to what takes the whole width, or down the widest paths as far as they go."""
        blocks = self.blocks
        if blocks.selected == ROOT:
            return
        # One selection, however many levels there are: each paints all blocks.
        blocks.select(blocks.model.end_of(blocks.selected, blocks.top, last=bool(last)))

    def action_sibling(self, by: int) -> None:
        """Go to the next path beside, or to the one before."""
        blocks = self.blocks
        if blocks.selected in {ROOT, blocks.top}:
            return
        drawn = {block.path for row in blocks.rows() for block in row}
        beside = blocks.model.tree.children[blocks.model.flame.paths[blocks.selected].parent]
        siblings = [path for path in beside if path in drawn or path == blocks.selected]
        position = siblings.index(blocks.selected) + by
        if 0 <= position < len(siblings):
            blocks.select(siblings[position])

    async def action_error(self, _by: int) -> None:
        """Open the next failure of the selected block, or of the next one with a failed span."""
        await self.live.wait_for_answer()
        await self._next_failure.open()

    def _failed_of_block(self) -> Sequence[int]:
        """Return the failed spans of the selected path, in the order of visits."""
        column = self.blocks.model.path_of_row
        failed = failed_with(self._store, column, {self.blocks.selected})
        return in_order_of_visits(self._store, failed, self.viewer.made_good)

    def _move_on(self) -> bool:
        """Select the next block with a failed span, level after level; return False where there is none."""
        blocks = self.blocks
        drawn = [block.path for row in blocks.rows() for block in row]
        behind = drawn.index(blocks.selected) + 1 if blocks.selected in drawn else 0
        paths = blocks.model.flame.paths
        failed = next((path for path in drawn[behind:] + drawn[:behind] if paths[path].errors), None)
        if failed is not None:
            blocks.select(failed)
        return failed is not None

    async def action_open(self) -> None:
        """Let the selected path take the whole width; where it does, open the trace of its first span."""
        await self.live.wait_for_answer()
        blocks = self.blocks
        if blocks.selected == ROOT:
            return
        if blocks.top != blocks.selected:
            blocks.come_closer(blocks.selected)
            self.viewer.say("Enter again: first span; Esc: zoom out")
            return
        row = blocks.model.flame.paths[blocks.selected].first_row
        if row != NO_ROW:
            await self.viewer.views.open_span(row)

    def action_sort(self) -> None:
        """Let the other time make blocks wide."""
        if self.live.has_answer:
            model = self.blocks.model
            self.viewer.keep(blocks_by=(By.SELF if model.by is By.TOTAL else By.TOTAL).value)
            self.take_settings()
            self.viewer.say(f"width: {_WIDTH[model.by]}")

    def action_back(self) -> None:
        """Show what is above again, then go back."""
        if not self.blocks.step_back():
            self.app.pop_screen()

    def action_copy(self) -> None:
        """Copy the selected path."""
        model, path_number = self.blocks.model, self.blocks.selected
        names: list[str] = []
        while path_number != ROOT:
            names.append(model.labels(path_number)[0])
            path_number = model.flame.paths[path_number].parent
        if names:
            self.viewer.copy(" › ".join(reversed(names)), "call path")
