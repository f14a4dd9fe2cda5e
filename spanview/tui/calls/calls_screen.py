"""Ray's calls: a line a function or actor method, with what its calls waited, how long they ran, and how they went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.calls import calls_of, functions_of
from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.percentiles import nearest_rank
from spanview.analysis.ray_names import SUBMITTED
from spanview.display.histogram import HISTOGRAM, SCALE, histogram_text
from spanview.display.units import count, duration
from spanview.tui.calls.function_calls_screen import FunctionCallsScreen
from spanview.tui.keys import On, View
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.paint import data_text
from spanview.tui.widgets.table import Piece, Table, TableColumn, TableList, following

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.calls import Calls, Function
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.widgets.scope import TraceScope

_WIDE, _WIDEST = 100, 140
"""Cells from which on there is room for the longest times and the calls that went well, and for histograms."""
_TIME: Final = 9
_LEAST_NAME: Final = 11
"""Cells for which figures go, the last first."""
_SHORTEST_NAME: Final = 8
_GENERATORS: Final = {
    Certainty.CERTAIN: "a generator: its runs aren't known",
    Certainty.LIKELY: "likely a generator: its runs aren't known",
}


def _count_text(number: int) -> str:
    return f"{number:,}" if number else ""


def _time_of(values: Sequence[int], percent: int) -> str:
    return duration(nearest_rank(values, percent))


def _p95(values: Sequence[int]) -> int:
    return nearest_rank(values, 95) or 0


def _name(function: Function, cells: int) -> Iterator[Piece]:
    yield Piece(data_text(function.function or "(no name)", cells))


_COLUMNS: Final[Sequence[TableColumn[Function]]] = (
    TableColumn("CALLS", 8, lambda function: _count_text(function.calls), key="calls"),
    TableColumn(
        "ENDED",
        8,
        lambda function: "" if function.generator else _count_text(function.ended),
        from_width=_WIDE,
        goes=13,
    ),
    TableColumn("ERR", 7, lambda function: _count_text(function.failures), "error", key="errors", goes=12),
    TableColumn("RETRY", 8, lambda function: _count_text(function.retried), key="retried", goes=11),
    TableColumn("NO ATTEMPT", 11, lambda function: _count_text(function.no_attempt), key="no attempt", goes=10),
    TableColumn("WAIT p50", _TIME, lambda function: _time_of(function.waits_ns, 50), goes=9),
    TableColumn("p95", _TIME, lambda function: _time_of(function.waits_ns, 95), key="wait", goes=8),
    TableColumn("max", _TIME, lambda function: _time_of(function.waits_ns, 100), from_width=_WIDE, goes=7),
    TableColumn(
        SCALE, HISTOGRAM, lambda function: histogram_text(function.wait_histogram), gap=2, from_width=_WIDEST, goes=6
    ),
    TableColumn(
        "RUN p50", _TIME, lambda function: "unknown" if function.generator else _time_of(function.runs_ns, 50), goes=5
    ),
    TableColumn("p95", _TIME, lambda function: _time_of(function.known_runs_ns, 95), key="run", goes=4),
    TableColumn("max", _TIME, lambda function: _time_of(function.known_runs_ns, 100), from_width=_WIDE, goes=3),
    TableColumn(
        SCALE, HISTOGRAM, lambda function: histogram_text(function.run_histogram), gap=2, from_width=_WIDEST, goes=2
    ),
    TableColumn(
        "AT ONCE",
        8,
        lambda function: "" if function.generator else _count_text(function.max_concurrency),
        from_width=_WIDE,
        goes=1,
    ),
    TableColumn("FUNCTION", parts=_name, gap=2, aligns_left=True),
)
TABLE: Final = Table(_COLUMNS, _LEAST_NAME, floor=_SHORTEST_NAME)
_SORTS: Final[dict[str, Callable[[Function], int]]] = {
    "calls": lambda function: function.calls,
    "errors": lambda function: function.failures,
    "retried": lambda function: function.retried,
    "no attempt": lambda function: function.no_attempt,
    "wait": lambda function: _p95(function.waits_ns),
    "run": lambda function: _p95(function.known_runs_ns),
}
"""What can be sorted by, the greatest first."""


def _note(function: Function) -> str:
    """Return what is said of a function beside its figures."""
    notes = [] if function.generator is None else [_GENERATORS[function.generator]]
    notes += [f"{function.untraced:,} likely ran untraced"] if function.untraced else []
    notes += [f"{function.existing:,} existed already, no calls"] if function.existing else []
    cold = function.cold_starts
    notes += [f"{count(cold, 'cold start')} waited {duration(function.cold_wait_ns)}"] if cold else []
    return "   ".join(notes)


class CallsScreen(BaseScreen, on=On.CALLS, view=View.CALLS):
    """Ray's calls by function.

    Args:
        scope: The traces that count.
    """

    def __init__(self, store: Store, scope: TraceScope) -> None:
        super().__init__()
        self.rows: TableList[Function] = TableList(TABLE, lambda function: function.function)
        self._store = store
        self.live: Live[tuple[Calls, list[Function]]] = Live(self, scope, self._count, self._take_functions)
        self._calls: Calls | None = None
        self._functions: list[Function] | None = None
        self._sort = next(iter(_SORTS))

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield Static(Content(""), classes="heads", id="heads")
        yield self.rows
        yield Static(Content(""), classes="heads", id="note")

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
        function = self.rows.selected
        self.query_one("#note", Static).update(Content("" if function is None else _note(function)))

    on_line_list_moved = BaseScreen.refresh_frame
    """Say what is selected now."""

    def title_text(self) -> str:
        """Return what is counted."""
        head = f"‹ Ray calls of {self.live.chosen.what}{self.live.as_of}"
        if self._functions is None:
            return f"{head}   counting … {self.live.work.share_text}; Esc ends it"
        if not self._functions:
            return f"{head}   no Ray calls"
        calls = count(sum(function.calls for function in self._functions), "call")
        text = f"{head}   {calls} of {count(len(self._functions), 'function')}"
        cold = sum(function.cold_starts for function in self._functions)
        waited = duration(sum(function.cold_wait_ns for function in self._functions))
        return f"{text}, {count(cold, 'cold start')} {waited}" if cold else text

    def on_resize(self) -> None:
        """Show as many columns as there is room for."""
        self._show(stay=True)

    def take_settings(self) -> None:
        """Sort as was sorted last."""
        wanted = self.viewer.settings.calls_sort
        self._sort = wanted if wanted in _SORTS else next(iter(_SORTS))
        self._show()

    def _show(self, *, stay: bool = False) -> None:
        if self._functions is None:
            return
        self.rows.sorted_by = self._sort
        self.rows.show(sorted(self._functions, key=_SORTS[self._sort], reverse=True), stay=stay)
        self.query_one("#heads", Static).update(Content(self.rows.heads))
        self.refresh_frame()

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next column."""
        self.viewer.keep(calls_sort=following(_SORTS, self._sort))
        self.take_settings()
        self.viewer.say(f"sorted by {self._sort}")

    async def action_open(self) -> None:
        """List the calls of the function."""
        await self.live.wait_for_answer()
        chosen = self.rows.selected
        if chosen is not None and self._calls is not None:
            await self.app.push_screen(FunctionCallsScreen(self._store, self.live, self._calls, chosen.function))

    def action_log(self) -> None:
        """Say where logs are."""
        self.viewer.say("Enter lists the calls of this function: v opens the log of one")

    def action_error(self, _: int) -> None:
        """Go to the next function some of whose calls failed, or left no attempt."""
        if not self.rows.move_on(lambda function: bool(function.failures or function.no_attempt)):
            self.viewer.say("no call failed or went missing")

    def action_copy(self) -> None:
        """Copy the name of the function."""
        if self.rows.selected is not None:
            self.viewer.copy(self.rows.selected.function, "function")
