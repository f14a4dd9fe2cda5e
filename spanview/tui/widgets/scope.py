"""Which traces a screen is about, at the moment and whenever it is asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Sequence


class ChosenTraces(NamedTuple):
    """Some traces."""

    traces: Sequence[int] | None
    """Their numbers; None for all."""
    what: str
    """What they are, in words that are safe to print."""


class TraceScope(NamedTuple):
    """Traces that others may come to belong to."""

    choose: Callable[[], ChosenTraces]
    """Returns the traces that belong to it now; called in a thread."""
    version: Callable[[], Hashable]
    """Another value means that there is something new in the traces."""


class ViewScope(NamedTuple):
    """What views are of that are opened from a screen."""

    traces: Callable[[], TraceScope]
    text: Callable[[], str]
    """What they are narrowed to, in words from files; empty where they are of everything."""
    compare: Callable[[], Awaitable[None]]
    """Asks with what these traces, or what is marked, are to be compared."""
    trace: int | None = None
    """The trace, by its row in the trace table, where it is one."""
