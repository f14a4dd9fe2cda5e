"""What a screen may ask of the viewer that shows it; `app.app` answers, and is the only one that knows the screens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from spanview.tui.widgets.work import Owner

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Sequence

    from spanview.analysis.logs.lines import SpanLog
    from spanview.analysis.ray.running import Running
    from spanview.sources.line_file import LineFile
    from spanview.sources.logs import Logs
    from spanview.tui.app.feed import FeedState
    from spanview.tui.app.settings import Settings
    from spanview.tui.diff.side import ComparedSide
    from spanview.tui.keys import View
    from spanview.tui.widgets.known import Known
    from spanview.tui.widgets.view_bar import BarState


class Ways(Protocol):
    """The ways from screen to screen. Whoever awaits an `open_…` lets no key come before the screen is there."""

    def bar(self) -> BarState:
        """Return what the bar of views says."""

    def show(self, view: View) -> Awaitable[None]:
        """Show a view of what the bar names, or say why there is nothing to see; the view that is shown: leave it."""

    def leave_scope(self) -> Awaitable[None]:
        """Show what the views are narrowed to; there, narrow them no longer."""

    # -- the other screens -------------------------------------------------------------------------------------------

    async def open_next_failure(self, trace: int, by: int) -> bool:
        """Show the next trace with a failure in place of one; return False where there is none.

        Args:
            by: Below 0 for the one before.
        """

    def open_trace(self, trace: int, *, at_error: bool = False, at_row: int | None = None) -> Awaitable[None]:
        """Show one trace, by its row in the trace table; begin at its newest failure, or at a span's row, or at both.

        Args:
            at_error: Whether to begin at its newest failure, or at the span of `at_row`, which failed.
            at_row: The span to begin at, by its row in the span table.
        """

    def open_span(self, row: int, *, at_error: bool = False) -> Awaitable[None]:
        """Show a span in its trace, by its row in the span table; or what it says of its failure."""

    async def open_newest_failure(self) -> bool:
        """Show the newest failure, with an error or without, of what the bar names; False where there is none."""

    def open_log(self, file: LineFile, offset: int, log: SpanLog, name: str) -> Awaitable[None]:
        """Show a log at a line, with those that belong to the span of a name, which is safe to print."""

    def open_running(self) -> Awaitable[None]:
        """Show what runs and waits of what the bar names; where that is shown, leave it."""

    def open_other_side(self, side: ComparedSide | None) -> Awaitable[None]:
        """Ask what a side is compared with; None for all traces, which a query divides in two."""

    def open_diff(self, a: ComparedSide, b: ComparedSide) -> Awaitable[None]:
        """Show how two sides differ."""

    def open_explanation(self) -> Awaitable[None]:
        """Say what took the time in the traces that the bar names, what failed, and what is missing."""

    def open_palette(self) -> Awaitable[None]:
        """Offer all actions of the screen in sight."""

    def open_help(self) -> Awaitable[None]:
        """Show the keys, those of the screen in sight first."""


class Viewer(Protocol):
    """The viewer, as its screens see it."""

    @property
    def views(self) -> Ways:
        """The ways to other views and screens."""

    # -- what is read ------------------------------------------------------------------------------------------------

    @property
    def paths(self) -> Sequence[str]:
        """The PATHs, as given."""

    @property
    def feed_state(self) -> FeedState:
        """How the reading stands."""

    @property
    def notices(self) -> int:
        """How many files were refused, could not be read, or are not watched."""

    @property
    def findings(self) -> int | None:
        """How many things the check finds; None where that isn't known."""

    @property
    def known(self) -> Known:
        """What can be proposed to whoever types a query."""

    @property
    def running(self) -> Running:
        """What is probably still running."""

    @property
    def logs(self) -> Logs:
        """What finds the logs beside the spans."""

    @property
    def follows(self) -> bool:
        """Whether what comes is shown as it comes."""

    @property
    def paused(self) -> bool:
        """Whether what is shown holds still."""

    def toggle_pause(self) -> None:
        """Hold what is shown still, or go on; where nothing is followed, begin to."""

    def trace_id(self, trace: int) -> int:
        """Return the id of a trace as 128 bits; 0 where it has none that is usable."""

    def root_name(self, trace: int) -> str:
        """Return the name of a trace's root, safe to print."""

    def is_growing(self, trace: int) -> bool:
        """Tell whether a trace has just grown, or may still grow, as the list of traces says it."""

    def something_is_lost(self) -> None:
        """Count findings anew: what is lost in traces is no longer what it was."""

    def growth_has_changed(self) -> None:
        """Let the screens say which traces grow now."""

    # -- what is shown -----------------------------------------------------------------------------------------------

    @property
    def acts_until(self) -> float:
        """When the last key has acted, by `time.monotonic`; until then it has the processor to itself."""

    @property
    def spells(self) -> bool:
        """Whether signs are spelt out, since the terminal's encoding lacks them."""

    @property
    def settings(self) -> Settings:
        """What is set."""

    def keep(self, **changes: Any) -> None:
        """Set something, by the names of `Settings`, for the next time too."""

    def forget_settings(self) -> None:
        """Bring the defaults back, on each screen that is there."""

    def next_theme(self) -> None:
        """Show the next theme."""

    def show_theme(self, name: str) -> None:
        """Show a theme, and keep it."""

    def say(self, text: str) -> None:
        """Show for a while, above the footer, what a key did."""

    def said_on(self, screen: object) -> str:
        """Return what the last key did, for the screen on which it was pressed."""

    def copy(self, text: str, what: str) -> None:
        """Put a text on the terminal's clipboard, and say what it is."""

    def may_write(self) -> bool:
        """Tell whether files may be written; where they may not, say so."""

    def export(self, name: str) -> None:
        """Write the traces that the bar names to a new file of the current folder, in a format."""

    # -- what is compared --------------------------------------------------------------------------------------------

    @property
    def marked(self) -> ComparedSide | None:
        """What is to be compared with the next that is chosen."""

    def mark(self, side: ComparedSide | None) -> None:
        """Mark something else to be compared, or nothing."""

    @property
    def made_good(self) -> Collection[int]:
        """The rows of the errors that a retry made good, as far as that is known."""


class ShownScreen(Owner, Protocol):
    """A screen, as its parts see it."""

    @property
    def viewer(self) -> Viewer:
        """What shows it."""
