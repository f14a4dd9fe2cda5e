"""Going from view to view: which one is shown, of what, and why others have nothing to show."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.ray.names import SUBMITTED, call_names
from spanview.display.units import count
from spanview.tui.keys import View
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.view_bar import BarState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from textual.app import App
    from textual.widget import AwaitMount

    from spanview.analysis.logs.lines import SpanLog
    from spanview.index.store import Store
    from spanview.sources.line_file import LineFile
    from spanview.tui.diff.side import MarkedSide
    from spanview.tui.traces.traces_screen import TracesScreen
    from spanview.tui.viewer import Viewer
    from spanview.tui.widgets.scope import TraceScope, ViewScope

_MAX_SPANS_ASKED: Final = 20_000
"""Of traces with more spans it isn't asked whether they have calls or requests: that would hold a key."""
_MAX_TRACES_ASKED: Final = 1_000
"""Of more traces it isn't asked either."""
_OF_LISTED: Final = frozenset(View) - {View.TRACES, View.GROUPS, View.CHECK}
"""The views of the traces that are listed."""
_OF_TRACES: Final = {
    View.CALLS: ("calls.calls_screen", "CallsScreen"),
    View.REQUESTS: ("serve.serve_screen", "ServeScreen"),
    View.WORKERS: ("workers.workers_screen", "WorkersScreen"),
    View.STATS: ("stats.stats_screen", "StatsScreen"),
    View.FLAME: ("flame.flame_screen", "FlameScreen"),
}
"""The screens of some traces, each imported when it is wanted."""


class Views:
    """The views of one viewer.

    Each is one screen above what it is of: the list of traces, or a trace. Another view takes its place.

    Args:
        session: The folder of Ray's session that advice names where the files' paths don't tell it.
    """

    def __init__(
        self, app: App[Any], viewer: Viewer, first_screen: Callable[[], TracesScreen], store: Store, session: str
    ) -> None:
        self._app = app
        self._viewer = viewer
        self._first_screen = first_screen
        self._store = store
        self._session = session
        self._of_traces: tuple[Sequence[int], int, AbstractSet[int]] | None = None
        """Traces, how many spans there were in all, and the numbers of the names of theirs."""

    # -- the bar -------------------------------------------------------------------------------------------------------

    def bar(self) -> BarState:
        """Return what the bar says."""
        shown = (screen.view for screen in reversed(self._screens()) if screen.view is not None)
        view, scope = next(shown, View.TRACES), self._scope()[1]
        # The check is of everything that was read.
        return BarState(view, self._missing(scope), "" if view is View.CHECK else scope.text())

    def _screens(self) -> list[BaseScreen]:
        return [screen for screen in self._app.screen_stack if isinstance(screen, BaseScreen)]

    def _scope(self) -> tuple[BaseScreen, ViewScope]:
        """Return the list of traces, or the trace, that views are opened from, and what they are of."""
        return next((screen, screen.scope) for screen in reversed(self._screens()) if screen.scope is not None)

    def _missing(self, scope: ViewScope) -> Mapping[View, str]:
        """Return why there is nothing to see in some views."""
        if self._viewer.feed_state.loading:
            return {}
        store, missing = self._store, dict[View, str]()
        if not len(store.spans):
            return dict.fromkeys(_OF_LISTED | {View.GROUPS}, "no spans yet")
        traces = None if not scope.text() else scope.traces().choose().traces
        if traces is not None and not len(traces):
            return dict.fromkeys(_OF_LISTED, "no traces listed: Esc clears the filter")
        names = self._names_in(traces)
        where = "in this trace" if scope.trace is not None else "here" if traces is None else "in the listed traces"
        if names.isdisjoint(call_names(store.names)[0]):
            missing[View.CALLS] = f"no Ray calls {where}: no span's name ends in `{SUBMITTED.strip()}`"
        if names.isdisjoint(self._of_requests()):
            missing[View.REQUESTS] = f"no Ray Serve requests {where}"
        if len(store.trace_table) == 1:
            missing[View.COMPARE] = "only one trace: nothing to compare it with"
        return missing

    def _names_in(self, traces: Sequence[int] | None) -> AbstractSet[int]:
        """Return the numbers of the names that some traces have; without traces, of calls and requests."""
        whole = call_names(self._store.names)[0] | self._of_requests()
        if traces is None or len(traces) > _MAX_TRACES_ASKED:
            return whole
        size, traces = len(self._store.spans), [*traces]
        if self._of_traces is None or self._of_traces[:2] != (traces, size):
            counts, numbers = self._store.trace_table.span_count, self._store.spans.name
            is_small = sum(counts[trace] for trace in traces) <= _MAX_SPANS_ASKED
            rows = (row for trace in traces for row in self._store.rows_of_trace(trace))
            self._of_traces = traces, size, {numbers[row] for row in rows} if is_small else whole
        return self._of_traces[2]

    def _of_requests(self) -> AbstractSet[int]:
        """Return the numbers of the names that spans of Ray Serve have."""
        from spanview.analysis.serve.requests import Part, numbers_of

        return {number for part in Part for number in numbers_of(self._store.names, part)}

    # -- going ---------------------------------------------------------------------------------------------------------

    async def show(self, view: View) -> None:
        """Show a view of what the bar names, or say why there is nothing to see; the view that is shown is left."""
        base, scope = self._scope()
        shown, is_above = self.bar().view, self._app.screen is not base
        if (why := self._missing(scope).get(view)) is not None:
            self._viewer.say(why)
        elif view is shown and is_above:
            self._go_down_to(base)
        elif view in {View.TRACES, View.GROUPS}:
            first = self._first_screen()
            self._go_down_to(first)
            first.show_groups(on=view is View.GROUPS and shown is not View.GROUPS)
            if base is not first:
                of = self._scope()[1].text() or f"all {count(len(self._store.trace_table), 'trace')}"
                self._viewer.say(f"the trace was left: {'groups of ' if first.grouped else ''}{of}")
        else:
            self._go_down_to(base)
            await (scope.compare() if view is View.COMPARE else self._app.push_screen(self._screen(view, scope)))

    async def leave_scope(self) -> None:
        """Show what the views are narrowed to; there, narrow them no longer."""
        base = self._scope()[0]
        if self._app.screen is base:
            await base.run_action("back")
        self._go_down_to(base)

    def traces(self) -> Sequence[int] | None:
        """Return the traces that the bar names; None for all."""
        return self._scope()[1].traces().choose().traces

    # -- the other screens ---------------------------------------------------------------------------------------------

    def open_trace(self, trace: int, *, at_error: bool = False, at_row: int | None = None) -> AwaitMount:
        """Show one trace, by its row in the trace table.

        Args:
            at_error: Whether to begin at its newest failure, or at the span of `at_row`, which failed.
            at_row: The span to begin at, by its row in the span table.
        """
        from spanview.tui.trace.trace_screen import TraceScreen

        return self._app.push_screen(TraceScreen(self._store, trace, at_failure=int(at_error), at_row=at_row))

    def open_span(self, row: int, *, at_error: bool = False) -> AwaitMount:
        """Show a span in its trace, by its row in the span table; or what it says of its failure."""
        return self.open_trace(self._store.spans.trace[row], at_error=at_error, at_row=row)

    async def open_newest_failure(self) -> bool:
        """Show the newest failure, with an error or without, of what the bar names; False where there is none."""
        trace = self._first_screen().newest_failure(self._scope()[1].trace)
        if trace is not None:
            await self.open_trace(trace, at_error=True)
        return trace is not None

    async def open_next_failure(self, trace: int, by: int) -> bool:
        """Show the next trace with a failure, below 0 the one before, in place of one; return whether there is one."""
        from spanview.tui.trace.trace_screen import TraceScreen

        other = self._first_screen().go_to_failure_after(trace, by)
        if other is not None:
            # Not `switch_screen`, which waits until the one that is left has been taken apart.
            self._app.pop_screen()
            await self._app.push_screen(TraceScreen(self._store, other, at_failure=by))
        return other is not None

    def open_log(self, file: LineFile, offset: int, log: SpanLog, name: str) -> AwaitMount:
        """Show a log at a line, with those that belong to the span of a name, which is safe to print."""
        from spanview.tui.log.log_screen import LogScreen

        return self._app.push_screen(LogScreen(file, offset, log, name))

    async def open_running(self) -> None:
        """Show what runs and waits of what the bar names; where that is shown, leave it."""
        from spanview.tui.running.running_screen import RunningScreen

        base, scope = self._scope()
        is_shown = isinstance(self._app.screen, RunningScreen)
        self._go_down_to(base)
        if not is_shown:
            await self._app.push_screen(RunningScreen(self._store, scope.traces()))

    def open_other_side(self, side: MarkedSide | None) -> AwaitMount:
        """Ask what a side is compared with; None for all traces, which a query divides in two."""
        from spanview.tui.diff.other_side_screen import OtherSideScreen

        return self._app.push_screen(OtherSideScreen(self._store, side))

    def open_explanation(self) -> AwaitMount:
        """Say what took the time in the traces that the bar names, what failed, and what is missing."""
        from spanview.tui.explanation.explanation_screen import ExplanationScreen

        return self._app.push_screen(ExplanationScreen(self._store, self._scope()[1].traces(), self._session))

    def open_palette(self) -> AwaitMount:
        """Offer all actions of the screen in sight."""
        from spanview.tui.app.palette import PaletteScreen

        return self._app.push_screen(PaletteScreen(self._screens()[-1]))

    def open_help(self) -> AwaitMount:
        """Show the keys, those of the screen in sight first."""
        from spanview.tui.help.help_screen import HelpScreen

        return self._app.push_screen(HelpScreen(self._screens()[-1]))

    def open_diff(self, a: MarkedSide, b: MarkedSide) -> AwaitMount:
        """Show how two sides differ."""
        from spanview.tui.diff.diff_screen import DiffScreen

        return self._app.push_screen(DiffScreen(self._store, a, b))

    def _go_down_to(self, base: BaseScreen) -> None:
        while self._app.screen is not base and base in self._app.screen_stack:
            self._app.pop_screen()

    def _screen(self, view: View, scope: ViewScope) -> BaseScreen:
        """Make the screen of a view."""
        if view is View.CHECK:
            from spanview.tui.check.check_screen import CheckScreen

            return CheckScreen(self._store, self._session)
        module, name = _OF_TRACES[view]
        kind: Callable[[Store, TraceScope], BaseScreen] = getattr(import_module(f"spanview.tui.{module}"), name)
        return kind(self._store, scope.traces())
