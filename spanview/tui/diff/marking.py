"""Marking what is to be compared: one side is marked, the next one compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.cells import name_text
from spanview.tui.diff.side import MarkedSide

if TYPE_CHECKING:
    from spanview.index.store import Store
    from spanview.tui.viewer import Viewer

_DIGITS: Final = 8
"""Of a trace's id."""
_MAX_NAME_LENGTH: Final = 32
"""Characters of a name in a message."""


def side_of_trace(viewer: Viewer, store: Store, trace: int) -> MarkedSide:
    """Return one trace as a side."""
    trace_id = store.trace_table.hex_id(trace)
    name = viewer.root_name(trace)
    short = name if len(name) <= _MAX_NAME_LENGTH else name_text(name, _MAX_NAME_LENGTH).rstrip()
    return MarkedSide(trace, f"trace {trace_id[:_DIGITS] if trace_id else 'without id'} {short}", lambda: [trace])


async def mark_or_compare(viewer: Viewer, side: MarkedSide | None) -> None:
    """Mark what is selected, take the mark off again, or compare with what is marked."""
    marked = viewer.marked
    if side is None:
        viewer.say("nothing selected to mark")
    elif marked is None:
        viewer.mark(side)
        viewer.say(f"marked {side.what}; press d on another to compare")
    elif marked.key == side.key:
        viewer.mark(None)
        viewer.say(f"{side.what} is no longer marked")
    else:
        await viewer.views.open_diff(marked, side)
