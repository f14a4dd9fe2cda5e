"""The progress of a long computation, for whoever waits for it and may end it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Tell: TypeAlias = Callable[[float], None]
"""Takes the share that is done, from 0 to 1; what it raises ends the work."""


def unheard(_share: float) -> None:
    """Ignore the progress."""


def part(tell: Tell, first: float, last: float) -> Tell:
    """Return the progress callback of a part of a longer work, from one share of it to another."""
    return lambda share: tell(first + (last - first) * share)
