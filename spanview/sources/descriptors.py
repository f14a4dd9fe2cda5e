"""Descriptors of files: how many this process may have, and reading by them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final

MIN_HELD_FILES: Final = 4
"""Files that are held open, however few descriptors there are."""
OTHERS_SHARE: Final = 4
"""One in so many of this process's descriptors is left for other files."""
_MAX_DESCRIPTORS: Final = 8192
"""Descriptors."""


def raise_limit() -> None:
    """Raise this process's limit of open files as far as it may; child processes inherit it."""
    if sys.platform == "win32":
        return
    import resource

    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_DESCRIPTORS if most == resource.RLIM_INFINITY else min(most, _MAX_DESCRIPTORS)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def read_at(descriptor: int, length: int, offset: int) -> bytes:
    """Return the bytes at an offset, fewer at the end of the file."""
    if hasattr(os, "pread"):
        # Processes that were forked from this one have the file's position in common with it.
        return os.pread(descriptor, length, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, length)


def share_of_descriptors(most: int) -> int:
    """Return how many files may be held open at once: `most`, or fewer where the limit is low."""
    allowed = allowed_descriptors()
    return most if allowed is None else min(most, max(MIN_HELD_FILES, allowed // OTHERS_SHARE))


def allowed_descriptors() -> int | None:
    """Return how many descriptors this process may have; None where there is no limit."""
    if sys.platform == "win32":
        return MIN_HELD_FILES
    import resource

    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if allowed == resource.RLIM_INFINITY else allowed


def is_in_use(descriptor: int) -> bool:
    """Lock an open file for this process alone, unless another one has done so; return whether one has."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
