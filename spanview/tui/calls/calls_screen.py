"""Ray's calls: a line a function or actor method, with what its calls waited, how long they ran, and how they went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.calls import calls_of, functions_of
from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray_names import SUBMITTED
from spanview.analysis.stats import nearest_rank
from spanview.display.histogram import HISTOGRAM, SCALE, histogram_text
from spanview.display.units import count, duration
from spanview.tui.calls.function_calls_screen import FunctionCallsScreen
from spanview.tui.keys import On
from spanview.tui.widgets.base_screen import BaseScreen, bindings_of
from spanview.tui.widgets.header import TwoSided
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.paint import data_text, line, right

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.segment import Segment
    from textual.app import ComposeResult

    from spanview.analysis.calls import Calls, Function
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.widgets.scope import TraceScope

_WIDE, _WIDEST = 100, 140
"""Cells from which on there is room for the longest times and the calls that went well, and for histograms."""
_TIME: Final = 9
_SHORTEST_NAME: Final = 14
_GENERATORS: Final = {
    Certainty.CERTAIN: "a generator: its runs aren't known",
    Certainty.LIKELY: "likely a generator: its runs aren't known",
}


def _unranked(_: Function) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class _Column:
    """What is said of a function."""

    head: str
    width: int
    text: Callable[[Function], str]
    rank: Callable[[Function], int] = _unranked
    """What it is sorted by, greatest first."""
    sort: str = ""
    """What sorting by it is called; empty for what nobody sorts by."""
    from_width: int = 0
    """Cells of a screen from which on there is room for it."""
    is_error: bool = False


def _some(number: int) -> str:
    return f"{number:,}" if number else ""


def _time_of(values: Sequence[int], percent: int) -> str:
    return duration(nearest_rank(values, percent))


def _p95(values: Sequence[int]) -> int:
    return nearest_rank(values, 95) or 0


_COLUMNS: Final = (
    _Column("CALLS", 8, lambda each: _some(each.calls), lambda each: each.calls, "calls"),
    _Column("ENDED", 8, lambda each: "" if each.generator else _some(each.ended), from_width=_WIDE),
    _Column("ERR", 7, lambda each: _some(each.failures), lambda each: each.failures, "errors", is_error=True),
    _Column("RETRY", 8, lambda each: _some(each.retried), lambda each: each.retried, "retried"),
    _Column("NONE", 7, lambda each: _some(each.no_attempt), lambda each: each.no_attempt, "no attempt"),
    _Column("WAIT p50", _TIME, lambda each: _time_of(each.waits_ns, 50)),
    _Column("p95", _TIME, lambda each: _time_of(each.waits_ns, 95), lambda each: _p95(each.waits_ns), "wait"),
    _Column("max", _TIME, lambda each: _time_of(each.waits_ns, 100), from_width=_WIDE),
    _Column(f"  {SCALE}", HISTOGRAM + 2, lambda each: f"  {histogram_text(each.wait_histogram)}", from_width=_WIDEST),
    _Column("RUN p50", _TIME, lambda each: "unknown" if each.generator else _time_of(each.runs_ns, 50)),
    _Column("p95", _TIME, lambda each: _time_of(each.known_runs_ns, 95), lambda each: _p95(each.known_runs_ns), "run"),
    _Column("max", _TIME, lambda each: _time_of(each.known_runs_ns, 100), from_width=_WIDE),
    _Column(f"  {SCALE}", HISTOGRAM + 2, lambda each: f"  {histogram_text(each.run_histogram)}", from_width=_WIDEST),
    _Column("AT ONCE", 8, lambda each: "" if each.generator else _some(each.max_concurrency), from_width=_WIDE),
)
_SORTS: Final = tuple(column for column in _COLUMNS if column.sort)


def columns_in(width: int) -> list[_Column]:
    """Return the figures that are shown on a screen `width` cells wide, so that names have room, too."""
    columns = [column for column in _COLUMNS if column.from_width <= width]
    while len(columns) > 1 and sum(column.width for column in columns) + 2 + _SHORTEST_NAME > width:
        columns.pop()
    return columns


def _note(function: Function) -> str:
    """Return what is said of a function beside its figures."""
    notes = [] if function.generator is None else [_GENERATORS[function.generator]]
    notes += [f"{function.untraced:,} likely ran untraced"] if function.untraced else []
    notes += [f"{function.existing:,} existed already, no calls"] if function.existing else []
    cold = function.cold_starts
    notes += [f"{count(cold, 'cold start')} waited {duration(function.cold_wait_ns)}"] if cold else []
    return "   ".join(notes)


class FunctionLines(LineList):
    """A line a function."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: list[Function] = []

    def show(self, functions: list[Function]) -> None:
        """Show functions in another order, from the first on."""
        self.functions = functions
        self.rows_have_changed(len(functions), 0)
        self.reveal()

    def update(self, functions: list[Function]) -> None:
        """Show other figures; the cursor stays on its function."""
        here = self.functions[self.cursor].function if self.cursor < len(self.functions) else None
        self.functions = functions
        row = next((row for row, function in enumerate(functions) if function.function == here), None)
        self.take_rows(len(functions), row)

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one function's line."""
        function, columns = self.functions[row], columns_in(width)
        error = self.paint_style("error")
        parts = [(right(column.text(function), column.width), error if column.is_error else None) for column in columns]
        used = sum(column.width for column in columns)
        return line([*parts, ("  " + data_text(function.function or "(no name)", max(8, width - used - 2)), None)])


class CallsScreen(BaseScreen):
    """Ray's calls by function.

    Args:
        store: The store.
        scope: The traces that count.
    """

    ON: ClassVar[On] = On.CALLS
    BINDINGS = bindings_of(On.CALLS)

    def __init__(self, store: Store, scope: TraceScope) -> None:
        super().__init__()
        self._store = store
        self.live: Live[tuple[Calls, list[Function]]] = Live(self, scope, self._count, self._take_functions)
        self._calls: Calls | None = None
        self._functions: list[Function] | None = None
        self._sort = 0

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        yield Static(Content(""), classes="heads", id="heads")
        yield FunctionLines()
        yield Static(Content(""), classes="heads", id="note")
        yield self.footer()

    @property
    def rows(self) -> FunctionLines:
        """The functions."""
        return self.query_one(FunctionLines)

    def on_mount(self) -> None:
        """Begin to count."""
        self.set_focus(self.rows)
        self.take_settings()
        self.live.begin()

    def _count(self, traces: Sequence[int] | None, tell: Tell) -> tuple[Calls, list[Function]]:
        """Called in a thread."""
        calls = calls_of(self._store, traces, tell)
        return calls, functions_of(self._store, calls)

    def _take_functions(self, answer: tuple[Calls, list[Function]]) -> None:
        is_first = self._functions is None
        self._calls, self._functions = answer
        self._show(stay=not is_first)
        if is_first and not self._functions:
            self.viewer.say(f"no Ray calls here: none of the spans submits one (PRODUCER, {SUBMITTED.strip()})")

    def show_frame(self) -> None:
        """Say what is to be said of the selected function beside its figures."""
        super().show_frame()
        rows = self.rows
        function = rows.functions[rows.cursor] if rows.cursor < len(rows.functions) else None
        self.query_one("#note", Static).update(Content("" if function is None else _note(function)))

    def on_line_list_moved(self, event: FunctionLines.Moved) -> None:
        """Say what is selected now."""
        if event.sender is self.rows:
            self.refresh_frame()

    def title_text(self) -> str:
        """Return what is counted."""
        head = f"‹ Ray calls of {self.live.what}{self.live.as_of}"
        if self._functions is None:
            return f"{head}   counting … {self.live.share_text}; Esc ends it"
        if not self._functions:
            return f"{head}   none: no span submits one"
        calls = count(sum(each.calls for each in self._functions), "call")
        text = f"{head}   {calls} of {count(len(self._functions), 'function')}"
        cold = sum(each.cold_starts for each in self._functions)
        waited = duration(sum(each.cold_wait_ns for each in self._functions))
        return f"{text}, {count(cold, 'cold start')} {waited}" if cold else text

    def on_resize(self) -> None:
        """Show as many columns as there is room for."""
        self._show(stay=True)

    def take_settings(self) -> None:
        """Sort as was sorted last."""
        names = [column.sort for column in _SORTS]
        wanted = self.viewer.settings.calls_sort
        self._sort = names.index(wanted) if wanted in names else 0
        self._show()

    def _show(self, *, stay: bool = False) -> None:
        if self._functions is None:
            return
        by = _SORTS[self._sort]
        functions = sorted(self._functions, key=by.rank, reverse=True)
        if stay:
            self.rows.update(functions)
        else:
            self.rows.show(functions)
        columns = columns_in(self.rows.line_width)
        heads = "".join(right(column.head + (" ▾" if column is by else ""), column.width) for column in columns)
        self.query_one("#heads", Static).update(Content(f"{heads}  FUNCTION"))
        self.refresh_frame()

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort = (self._sort + 1) % len(_SORTS)
        name = _SORTS[self._sort].sort
        self.viewer.keep(calls_sort=name)
        self.viewer.say(f"sorted by {name}")
        self._show()

    def action_back(self) -> None:
        """Go back; where it is being counted, that ends."""
        self.live.end()
        self.app.pop_screen()

    async def action_open(self) -> None:
        """List the calls of the function."""
        rows = self.rows
        if self._calls is not None and rows.cursor < len(rows.functions):
            function = rows.functions[rows.cursor].function
            await self.app.push_screen(FunctionCallsScreen(self._store, self.live, self._calls, function))

    def action_error(self, _: int) -> None:
        """Go to the next function some of whose calls failed, or left no attempt."""
        functions, at = self.rows.functions, self.rows.cursor
        for row in (*range(at + 1, len(functions)), *range(min(at + 1, len(functions)))):
            each = functions[row]
            if each.failures or each.no_attempt:
                self.rows.move_to(row)
                return
        self.viewer.say("no call failed or went missing")

    def action_copy(self) -> None:
        """Copy the name of the function."""
        if self.rows.cursor < len(self.rows.functions):
            self.viewer.copy(self.rows.functions[self.rows.cursor].function, "function")
