"""Keeping what a person sets: soon after it was set, in a thread, and saying so where that can't be done."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from spanview.display.sanitise import sanitise
from spanview.tui.app.settings import KeptSettings
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.tui.widgets.work import Owner

_WRITING_DELAY_S: Final = 0.5
"""So long after a change it is written: several keys make one file."""
NOT_KEPT: Final = "unsaved"
_MAX_NAME_LENGTH: Final = 80


class Keeping:
    """What is set, and the file that keeps it."""

    def __init__(self, app: Owner, say: Callable[[str], object], path: str | None) -> None:
        self._app = app
        self._say = say
        self.kept = KeptSettings(path)
        self._writing = Work(app)
        self._has_told_unkept = self._has_told_aside = False

    def change(self, changes: dict[str, Any]) -> None:
        """Set something, by the names of `Settings`, and keep it soon."""
        if self.kept.change(changes):
            write = partial(self._writing.queue, lambda _: self.kept.write(), self._tell)
            self._app.set_timer(_WRITING_DELAY_S, write)

    def _tell(self, is_written: bool) -> None:  # noqa: FBT001 - an answer
        if not is_written and not self._has_told_unkept:
            self._has_told_unkept = True
            self._say(NOT_KEPT)
        elif is_written and self.kept.aside and not self._has_told_aside:
            self._has_told_aside = True
            self._say(f"the damaged settings are kept as {sanitise(self.kept.aside, _MAX_NAME_LENGTH)}")
