"""What `e` does on screens that count: it opens the trace of what failed behind a row, at the span that did.

Where a view has no failure behind any row, it opens that of the traces that it is of: a silent one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.tui.widgets.base_screen import BaseScreen


@dataclass(eq=False)
class NextFailure:
    """Opens what failed behind the selected row, one after the other; then that behind the next row with a failure."""

    _screen: BaseScreen
    _failed: Callable[[], Sequence[int]]
    """Returns the spans that failed behind the selected row, by their rows, in the order of visits."""
    _move_on: Callable[[], bool]
    """Selects the next row behind which something failed; returns False where there is none."""
    _nothing: str
    """What to say where nothing failed at all."""
    is_whole: bool = False
    """Whether the rows are of all that the bar names."""
    _opened: int | None = None
    """The span that was opened last."""

    async def open(self) -> None:
        """Open the next failure, the newest of the selected row first."""
        failed = self._failed()
        number = failed.index(self._opened) + 1 if self._opened in failed else 0
        if number >= len(failed):
            failed, number = self._failed() if self._move_on() else (), 0
        viewer = self._screen.viewer
        if failed:
            self._opened = failed[number]
            await viewer.views.open_span(self._opened, at_error=True)
        elif not (self.is_whole and await viewer.views.open_newest_failure()):
            viewer.say(self._nothing)
