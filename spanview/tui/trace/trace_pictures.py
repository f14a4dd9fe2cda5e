"""What is shown of a trace, taken along: as a picture into a file, as text to the clipboard."""

from __future__ import annotations

import os
from itertools import count as counted
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from spanview.display.units import count
from spanview.model.ids import format_trace_id
from spanview.model.problems import ExportError
from spanview.tui.trace.trace_look import FacetedTrace

if TYPE_CHECKING:
    from spanview.display.picture import Picture
    from spanview.tui.trace.trace_facets import Facets
    from spanview.tui.trace.trace_model import TraceModel

_DIGITS: Final = 8
"""Of the trace's id, in a picture's name."""
_LONGEST_PATH: Final = 70
_MOST_COPIED: Final = 150
"""So many rows are copied as text."""
_MOST_BYTES: Final = 48_000
"""Terminals that take a text to the clipboard take some 64 KiB, in which it is encoded a third longer."""


class PicturedTrace(FacetedTrace):
    """What a trace's screen does to take along what it shows."""

    def action_picture(self) -> None:
        """Draw what is shown into a new file of the current folder."""
        model = self._model.snapshot()
        facets = self._facets.snapshot(model)
        # The viewer's, as a file that is written is told of on any screen.
        self.app.run_worker(lambda: self._draw(model, facets), thread=True)

    def _draw(self, model: TraceModel, facets: Facets) -> None:
        """Called in a thread: a trace can have a hundred thousand spans, and a disk be slow."""
        from spanview.display.picture_svg import svg_chunks
        from spanview.tui.trace.trace_picture import picture_of

        worker, viewer = get_current_worker(), self.viewer
        picture = picture_of(self._store, model, facets)
        try:
            path = _write_anew(self._stem, [*svg_chunks([picture])])
        except ExportError as error:
            said = str(error)
        else:
            said = f"wrote {_shown_path(path)}{_but(picture, len(model.rows))}"
        if not worker.is_cancelled:
            self.app.call_from_thread(viewer.say, said)

    @property
    def _stem(self) -> str:
        trace_id = self._store.trace_table.trace_id(self._model.trace)
        return f"trace-{format_trace_id(trace_id)[:_DIGITS]}" if trace_id else "trace-without-id"

    def action_copy_text(self) -> None:
        """Copy what is shown as text."""
        model = self._model.snapshot()
        facets = self._facets.snapshot(model)
        self.run_worker(lambda: self._copy_text(model, facets), thread=True, group="copy", exclusive=True)

    def _copy_text(self, model: TraceModel, facets: Facets) -> None:
        """Called in a thread, too."""
        from spanview.display.picture_text import picture_lines
        from spanview.tui.trace.trace_picture import picture_of

        worker, viewer, most = get_current_worker(), self.viewer, _MOST_COPIED
        while True:
            picture = picture_of(self._store, model, facets, most)
            text = "\n".join(picture_lines(picture)) + "\n"
            if len(text.encode()) <= _MOST_BYTES or most == 1:
                break
            most = max(1, most // 2)
        if not worker.is_cancelled:
            self.app.call_from_thread(viewer.copy, text, f"waterfall as text{_but(picture, len(model.rows))}")


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
