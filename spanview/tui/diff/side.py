"""One of two that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MARK: Final = "◆ "
SideKey: TypeAlias = "int | tuple[str | None]"
"""The number of a trace; the root name of a group, in a tuple."""


class MarkedSide(NamedTuple):
    """One of two that are compared."""

    key: SideKey | None
    """What can be marked; None where there is nothing to mark."""
    what: str
    """In words, safe to print."""
    traces: Callable[[], Sequence[int]]
    """Returns their numbers; called in a thread."""


def mark_text(marked: MarkedSide | None, key: SideKey) -> str:
    """Return what stands before a root's name: a mark where it is marked."""
    return MARK if marked is not None and marked.key == key else ""
