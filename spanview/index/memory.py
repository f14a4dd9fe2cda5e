"""What the C library does with freed memory, to return or to keep it, and what Python's collector does meanwhile."""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of options, from malloc.h of the GNU C library."""
_KEPT_BYTES: Final = 1 << 30
_MAX_MMAP_THRESHOLD: Final = 1 << 25
"""The greatest that it takes."""


def keep_freed() -> None:
    """Keep what is freed from now on: of statistics, new pages are a tenth of the processor time."""
    if set_option := _function("mallopt"):
        set_option(_TRIM_THRESHOLD, _KEPT_BYTES)
        set_option(_MMAP_THRESHOLD, _MAX_MMAP_THRESHOLD)


def release_freed() -> None:
    """Return what is free between the columns to the system, which isn't done unless asked for."""
    if trim := _function("malloc_trim"):
        trim(0)


@contextmanager
def without_collector() -> Iterator[None]:
    """Keep the garbage collector from walking through what lives for a moment only, or is no garbage yet."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _function(name: str) -> Callable[[*tuple[int, ...]], int] | None:
    """Return a function of the GNU C library; None where there is another one."""
    if sys.platform != "linux":
        return None
    import ctypes

    return getattr(ctypes.CDLL(None), name, None)
