"""Marking what is to be compared, on the screens that have traces: one side is marked, the next one compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.model.ids import format_trace_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.tui.app.app import SpanviewApp

MARK: Final = "◆ "
_DIGITS: Final = 8
_LONGEST: Final = 32
"""Characters of a name in a message."""
SideKey: TypeAlias = "int | tuple[str | None]"
"""The number of a trace; the root name of a group, in a tuple."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of two that are compared."""

    key: SideKey | None
    """What can be marked; None where there is nothing to mark."""
    what: str
    """In words, safe to print."""
    traces: Callable[[], Sequence[int]]
    """Returns their numbers; called in a thread."""


def mark_text(marked: Side | None, key: SideKey) -> str:
    """Return what stands before a root's name: a mark where it is marked."""
    return MARK if marked is not None and marked.key == key else ""


def side_of_trace(viewer: SpanviewApp, trace: int) -> Side:
    """Return one trace as a side."""
    trace_id = viewer.trace_id(trace)
    digits = format_trace_id(trace_id)[:_DIGITS] if trace_id else "without id"
    return Side(trace, f"trace {digits} {viewer.root_name(trace)[:_LONGEST]}", lambda: [trace])


async def mark_or_compare(viewer: SpanviewApp, side: Side | None) -> None:
    """Mark what is selected, take the mark off again, or compare with what is marked."""
    marked = viewer.marked
    if side is None:
        viewer.say("nothing is selected that could be marked")
    elif marked is None:
        viewer.mark(side)
        viewer.say(f"marked {side.what}; d on another one compares")
    elif marked.key == side.key:
        viewer.mark(None)
        viewer.say(f"{side.what} is no longer marked")
    else:
        await viewer.open_diff(marked, side)
