"""What the keys do to take along what is shown of a trace: as a picture into a file, as text to the clipboard."""

from __future__ import annotations

import os
from itertools import count as counted
from typing import TYPE_CHECKING, Final, cast

from spanview.display.units import count
from spanview.model.ids import format_trace_id
from spanview.model.problems import ExportError
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from spanview.display.picture import Picture
    from spanview.tui.trace.appearance import Appearance
    from spanview.tui.trace.trace_model import TraceModel
    from spanview.tui.trace.waterfall import Waterfall
    from spanview.tui.widgets.base_screen import BaseScreen
    from spanview.tui.widgets.work import Owner

_DIGITS: Final = 8
"""Of the trace's id, in a picture's name."""
_LONGEST_PATH: Final = 70
_MOST_COPIED: Final = 150
"""So many rows are copied as text."""
_MOST_BYTES: Final = 48_000
"""Terminals that take a text to the clipboard take some 64 KiB, in which it is encoded a third longer."""


class PictureKeys:
    """Draws what is shown of a trace."""

    def __init__(self, screen: BaseScreen, rows: Waterfall) -> None:
        self._screen = screen
        self._store = rows.model.store
        self._rows = rows
        self._copying = Work(screen)

    def _snapshot(self) -> tuple[TraceModel, Appearance]:
        """Return what is shown, for another thread."""
        model = self._rows.model.snapshot()
        return model, self._rows.appearance.snapshot(model)

    def write(self) -> None:
        """Draw what is shown into a new file of the current folder."""
        model, appearance = self._snapshot()
        # The application's work, as a file that is written is told of on any screen; each file has its own.
        Work(cast("Owner", self._screen.app)).begin(lambda _: self._write(model, appearance), self._screen.viewer.say)

    def _write(self, model: TraceModel, appearance: Appearance) -> str:
        """Called in a thread, as a trace can be long and a disk slow; return in words what came of it."""
        from spanview.display.picture_svg import svg_chunks
        from spanview.tui.trace.trace_picture import picture_of

        picture = picture_of(self._store, model, appearance)
        try:
            path = _write_anew(self._stem, [*svg_chunks([picture])])
        except ExportError as error:
            return str(error)
        return f"wrote {_shown_path(path)}{_but(picture, len(model.rows))}"

    @property
    def _stem(self) -> str:
        trace_id = self._store.trace_table.trace_id(self._rows.model.trace)
        return f"trace-{format_trace_id(trace_id)[:_DIGITS]}" if trace_id else "trace-without-id"

    def copy_text(self) -> None:
        """Copy what is shown as text."""
        model, appearance = self._snapshot()
        self._copying.begin(lambda _: self._text_of(model, appearance), self._copy)

    def _text_of(self, model: TraceModel, appearance: Appearance) -> tuple[str, str]:
        """Called in a thread, too: return the text, and what it is in words."""
        from spanview.display.picture_text import picture_lines
        from spanview.tui.trace.trace_picture import picture_of

        most = _MOST_COPIED
        while True:
            picture = picture_of(self._store, model, appearance, most)
            text = "\n".join(picture_lines(picture)) + "\n"
            if len(text.encode()) <= _MOST_BYTES or most == 1:
                return text, f"waterfall as text{_but(picture, len(model.rows))}"
            most = max(1, most // 2)

    def _copy(self, made: tuple[str, str]) -> None:
        self._screen.viewer.copy(*made)


def _but(picture: Picture, rows: int) -> str:
    """Return what is left out, in words."""
    return f": the first {len(picture.rows):,} of {count(rows, 'row')}" if picture.left_out else ""


def _write_anew(stem: str, chunks: list[bytes]) -> str:
    """Write a file whose name is free, and return its path.

    Raises:
        ExportError: It can't be written.
    """
    from spanview.exports.files import write_atomically

    for number in counted(1):
        path = f"{stem}.svg" if number == 1 else f"{stem}-{number}.svg"
        try:
            write_atomically(path, chunks, force=False)
        except ExportError:
            if not os.path.lexists(path):
                raise
        else:
            return path
    raise AssertionError  # the numbers don't end


def _shown_path(path: str) -> str:
    """Return a path from the root on, as far as a footer has room for it."""
    try:
        whole = os.path.abspath(path)
    except OSError:
        return path
    return whole if len(whole) <= _LONGEST_PATH else f"…{whole[1 - _LONGEST_PATH :]}"
