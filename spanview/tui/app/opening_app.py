"""What the application opens: the screens of traces, statistics, calls, requests, lanes, blocks, comparisons."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from spanview.analysis.diagnosis.finding import SESSION
from spanview.display.sanitise import sanitise
from spanview.index.table import NO_ROW
from spanview.model.ids import format_trace_id
from spanview.sources.discover import STANDARD_INPUT
from spanview.tui.app.themed_app import ThemedApp
from spanview.tui.app.themes import NAMES
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.widgets.base_screen import BaseScreen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.widget import AwaitMount

    from spanview.analysis.running import Running
    from spanview.index.store import Store
    from spanview.tui.diff.side import Side
    from spanview.tui.widgets.known import Known
    from spanview.tui.widgets.scope import TraceScope


@dataclass(frozen=True, slots=True)
class Opening:
    """What the viewer begins with."""

    places: Sequence[str]
    """The PATHs, as given."""
    query: str = ""
    trace: str | None = None
    """The id of a trace to open, or its beginning."""
    follow: bool = False
    nothing: Sequence[str] = ()
    """Lines to show while there is nothing to show."""
    choose: Callable[[Store], set[int] | None] | None = None
    """Which traces are shown at all, asked when everything was read; None for all."""
    session: str = SESSION
    """The folder of Ray's latest session."""
    settings: str | None = None
    """The file that keeps what a person has set; None where nothing is kept."""
    theme: str = NAMES[0]
    """What goes with the terminal, for a person who has set no theme."""
    colorless: bool = False
    """Whether the terminal is sent no colours."""


class OpeningApp(ThemedApp):
    """An application with a store, whose screens open one another.

    Args:
        store: What is shown.
        opening: What to begin with.
    """

    def __init__(self, store: Store, opening: Opening) -> None:
        super().__init__(opening.settings, opening.theme, colorless=opening.colorless)
        self._store = store
        self._opening = opening
        self.again: Opening | None = None
        """What to begin with again, where that is asked for."""
        self.marked: Side | None = None
        """What is to be compared with the next that is chosen."""

    @property
    def first_screen(self) -> TracesScreen:
        """The list of traces."""
        return next(screen for screen in self.screens() if isinstance(screen, TracesScreen))

    def follow_from_now(self) -> None:
        """End, for whoever began this to begin again at what is looked at now, and to go on from there."""
        if STANDARD_INPUT in self._opening.places:
            self.say("standard input was read to its end: it can't be followed")
        elif gone := [path for path in self._opening.places if not (glob.has_magic(path) or os.path.exists(path))]:
            self.say(f"{sanitise(gone[0], 80)} is gone: what was read of it stays")
        else:
            first, screen = self.first_screen, self.screen
            trace = screen.chosen_trace if isinstance(screen, BaseScreen) and screen is not first else None
            trace_id = 0 if trace is None else self.trace_id(trace)
            shown = format_trace_id(trace_id) if trace_id else None
            self.again = replace(self._opening, follow=True, query=first.filter_text, trace=shown)
            self.exit()

    @cached_property
    def known(self) -> Known:
        """What can be proposed to whoever types a query."""
        from spanview.tui.widgets.known import Known

        return Known(self._store)

    @cached_property
    def running(self) -> Running:
        """What is probably still running."""
        from spanview.analysis.running import Running
        from spanview.sources.processes import Processes

        return Running(self._store, Processes())

    def growth_has_changed(self) -> None:
        """Let the screens say which traces grow now."""
        for screen in self.screens():
            screen.growth_has_changed()

    def is_growing(self, trace: int) -> bool:
        """Tell whether a trace has just grown, or may still grow, as the list of traces says it."""
        return trace in self.first_screen.traces.growing

    def trace_id(self, trace: int) -> int:
        """Return the id of a trace as 128 bits; 0 where it has none that is usable."""
        return self._store.trace_table.trace_id(trace)

    def root_name(self, trace: int) -> str:
        """Return the name of a trace's root, safe to print."""
        row = self._store.trace_table.root_row[trace]
        if row == NO_ROW:
            return "? parent not seen"
        return sanitise(self._store.names.texts[self._store.spans.name[row]], 80) or "(no name)"

    def open_trace(self, trace: int, *, at_error: bool = False, at_row: int | None = None) -> AwaitMount:
        """Show one trace; whoever waits for it lets no key come before its screen is there.

        Args:
            trace: Its row in the trace table.
            at_error: Whether to begin at its first error.
            at_row: The span to begin at, by its row in the span table.
        """
        from spanview.tui.trace.trace_screen import TraceScreen

        return self.push_screen(TraceScreen(self._store, trace, at_error=at_error, at_row=at_row))

    def open_flame(self, scope: TraceScope) -> AwaitMount:
        """Show where the time of some traces goes, None for all."""
        from spanview.tui.flame.flame_screen import FlameScreen

        return self.push_screen(FlameScreen(self._store, scope))

    def open_lanes(self, scope: TraceScope) -> AwaitMount:
        """Show what each worker did in some traces."""
        from spanview.tui.lanes.lanes_screen import LanesScreen

        return self.push_screen(LanesScreen(self._store, scope))

    def open_statistics(self, scope: TraceScope) -> AwaitMount:
        """Show statistics of some traces."""
        from spanview.tui.stats.stats_screen import StatsScreen

        return self.push_screen(StatsScreen(self._store, scope))

    def open_calls(self, scope: TraceScope) -> AwaitMount:
        """Show Ray's calls of some traces."""
        from spanview.tui.calls.calls_screen import CallsScreen

        return self.push_screen(CallsScreen(self._store, scope))

    def open_serve(self, scope: TraceScope) -> AwaitMount:
        """Show Serve's requests in some traces."""
        from spanview.tui.serve.serve_screen import ServeScreen

        return self.push_screen(ServeScreen(self._store, scope))

    def open_check(self) -> AwaitMount:
        """Show what is odd about everything that was read."""
        from spanview.tui.check.check_screen import CheckScreen

        return self.push_screen(CheckScreen(self._store, self._opening.session))

    def mark(self, side: Side | None) -> None:
        """Mark something else to be compared, or nothing."""
        self.marked = side
        for screen in self.screens():
            screen.mark_has_changed()

    def open_other_side(self, side: Side | None) -> AwaitMount:
        """Ask what a side is compared with; None for all traces, which a query divides in two."""
        from spanview.tui.diff.other_side_screen import OtherSideScreen

        return self.push_screen(OtherSideScreen(self._store, side))

    def open_palette(self) -> AwaitMount:
        """Offer all actions of the screen in sight."""
        from spanview.tui.app.palette import PaletteScreen

        return self.push_screen(PaletteScreen(self.screens()[-1]))

    def open_help(self) -> AwaitMount:
        """Show the keys, those of the screen in sight first."""
        from spanview.tui.help.help_screen import HelpScreen

        return self.push_screen(HelpScreen(self.screens()[-1]))

    def open_diff(self, a: Side, b: Side) -> AwaitMount:
        """Show how two sides differ."""
        from spanview.tui.diff.diff_screen import DiffScreen

        return self.push_screen(DiffScreen(self._store, a, b))
