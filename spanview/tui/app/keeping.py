"""Keeping what a person sets: soon after it was set, in a thread, and saying so where that can't be done."""

from __future__ import annotations

from typing import Any, Final, Protocol

from spanview.display.sanitise import sanitise
from spanview.tui.app.settings import KeptSettings
from spanview.tui.widgets.work import Owner, Work

_WRITING_DELAY_S: Final = 0.5
"""So long after a change it is written: several keys make one file."""
NOT_KEPT: Final = "unsaved"
_MAX_NAME_LENGTH: Final = 80


class Speaker(Owner, Protocol):
    """An application that says what was done."""

    said: str
    """What the last key did."""

    def say(self, text: str) -> None:
        """Say something else for a while."""


class Keeping:
    """What is set, and the file that keeps it."""

    def __init__(self, app: Speaker, path: str | None) -> None:
        self._app = app
        self.kept = KeptSettings(path)
        self._writing = Work(app)
        self._has_told_unkept = self._has_told_aside = False

    def change(self, changes: dict[str, Any]) -> None:
        """Set something, by the names of `Settings`, and keep it soon."""
        if self.kept.change(changes):
            self._app.set_timer(_WRITING_DELAY_S, self._write_soon)

    def _write_soon(self) -> None:
        self._writing.queue(lambda _: self.kept.write(), lambda is_written: self._tell(is_written=is_written))

    def _tell(self, *, is_written: bool) -> None:
        if not is_written and not self._has_told_unkept:
            self._has_told_unkept = True
            self._say(NOT_KEPT)
        elif is_written and self.kept.aside and not self._has_told_aside:
            self._has_told_aside = True
            self._say(f"the damaged settings are kept as {sanitise(self.kept.aside, _MAX_NAME_LENGTH)}")

    def _say(self, text: str) -> None:
        self._app.say(f"{self._app.said} · {text}" if self._app.said else text)
