"""What is said of a trace as a whole: its name where it has no root, and whether anything of it is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.units import count
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

COMPLETE: Final = "complete"
PARENT_NOT_SEEN: Final = "? parent not seen"


def name_without_root(store: Store, tree: TraceTree) -> str:
    """Return what a trace without a root is called; in a circle of parents by the span above which it was cut.

    Names are from files: to be sanitised.
    """
    if tree.missing or not tree.cut:
        return PARENT_NOT_SEEN
    return f"↻ {store.names.texts[store.spans.name[tree.rows[min(tree.cut)]]] or '(no name)'}"


STILL_COMING: Final = "still coming in"
"""What a trace is while more spans of it may come."""


def count_without_end(store: Store, tree: TraceTree) -> int:
    """Return how many spans of a trace have no end."""
    return sum(map(NO_TIME.__eq__, map(store.spans.end_ns.__getitem__, tree.rows)))


def last_known_ns(store: Store, tree: TraceTree) -> int:
    """Return when the last span of a trace began or ended, in nanoseconds since 1970; `NO_TIME` without any time."""
    return max(map(store.spans.last_ns, tree.rows), default=NO_TIME)


def completeness_text(*, is_complete: bool, without_end: int) -> str:
    """Return `complete`, `incomplete`, or how many spans have no end where nothing else is missing."""
    if not is_complete:
        return "incomplete"
    return f"{count(without_end, 'span')} without an end" if without_end else COMPLETE


def path_text(reason: str, spans: int) -> str:
    """Return how many spans a critical path leads through, and why it isn't sure; its times are the answer's."""
    doubts = f"; not sure: {reason}" if reason else ""
    return f"critical path: {count(spans, 'span')}{doubts}"
