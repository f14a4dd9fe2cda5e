"""Ray's calls: a line a function or actor method, with what its calls waited, how long they ran, and how they went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.calls import calls_of, functions_of
from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.percentiles import nearest_rank
from spanview.analysis.ray_names import SUBMITTED
from spanview.display.histogram import HISTOGRAM, SCALE, histogram_text
from spanview.display.units import count, count_or_blank, duration
from spanview.tui.calls.function_calls_screen import FunctionCallsScreen
from spanview.tui.keys import On, View
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.sorting import Sorting
from spanview.tui.widgets.table import Ranks, Table, TableColumn, TableList, name_column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.calls import Calls, Function
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.widgets.scope import TraceScope

_COUNT, _TIME = 8, 10
"""Cells of a count, and of a time."""
_LEAST_NAME, _USUAL_NAME = 18, 24
"""Cells of names for which figures go, and with which further ones come."""
_SHORTEST_NAME: Final = 8
_GENERATORS: Final = {
    Certainty.CERTAIN: "a generator: its runs aren't known",
    Certainty.LIKELY: "likely a generator: its runs aren't known",
}


def _counted(
    head: str, count_of: Callable[[Function], int], *, key: str, width: int = _COUNT, style: str = "", **more: Any
) -> TableColumn[Function]:
    return TableColumn(
        head, width, lambda function: count_or_blank(count_of(function)), style, key=key, value=count_of, **more
    )


def _timed(
    family: str, head: str, values_of: Callable[[Function], Sequence[int]], percent: int, **more: Any
) -> TableColumn[Function]:
    def value(function: Function) -> int | None:
        return nearest_rank(values_of(function), percent)

    def text(function: Function) -> str:
        return "unknown" if family == "RUN" and function.generator else duration(value(function))

    return TableColumn(
        head,
        len(family) + len(" p50 ▾") + 1 if head == "p50" else _TIME,
        text,
        family=family,
        key=f"{family.lower()} {head}",
        value=value,
        ranks=Ranks.TIMES,
        **more,
    )


def _waits(function: Function) -> Sequence[int]:
    return function.waits_ns


def _runs(function: Function) -> Sequence[int]:
    return function.known_runs_ns


TABLE: Final[Table[Function]] = Table(
    (
        name_column("FUNCTION", lambda function: function.function or "(no name)", key="function"),
        _counted("CALLS", lambda function: function.calls, key="calls", goes=6),
        _counted("ENDED", lambda function: 0 if function.generator else function.ended, key="ended", comes=4),
        _counted("ERR", lambda function: function.failures, key="errors", style="error", width=7, goes=3),
        _counted("RETRY", lambda function: function.retried, key="retries", comes=2),
        _counted("NO ATTEMPT", lambda function: function.no_attempt, key="no attempt", width=13, goes=1),
        TableColumn(
            "TOTAL WAIT",
            13,
            lambda function: duration(function.total_wait_ns) if function.waits_ns else "–",
            key="total wait",
            value=lambda function: function.total_wait_ns if function.waits_ns else None,
            ranks=Ranks.TIMES,
            goes=5,
        ),
        _counted("COLD", lambda function: function.cold_starts, key="cold starts", comes=5),
        _timed("WAIT", "p50", _waits, 50, comes=1),
        _timed("WAIT", "p95", _waits, 95, goes=4),
        _timed("WAIT", "max", _waits, 100, comes=3),
        TableColumn(SCALE, HISTOGRAM, lambda function: histogram_text(function.wait_histogram), gap=2, comes=6),
        _timed("RUN", "p50", _runs, 50, comes=1),
        _timed("RUN", "p95", _runs, 95, goes=2),
        _timed("RUN", "max", _runs, 100, comes=3),
        TableColumn(SCALE, HISTOGRAM, lambda function: histogram_text(function.run_histogram), gap=2, comes=6),
        _counted(
            "AT ONCE",
            lambda function: 0 if function.generator else function.max_concurrency,
            key="at once",
            width=10,
            comes=7,
        ),
    ),
    "total wait",
    _LEAST_NAME,
    _USUAL_NAME,
    least_beside=_SHORTEST_NAME,
    floor=_SHORTEST_NAME,
)


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
        self.sorting = Sorting(self, self.rows, "calls_sort")

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield self.rows.heads
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
        self.rows.show(self._functions, stay=not is_first)
        self.refresh_frame()
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

    # -- keys --------------------------------------------------------------------------------------------------------

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
