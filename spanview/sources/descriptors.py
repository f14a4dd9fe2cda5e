"""Descriptors of files: how many this process may hold open at once, which files it does, and reading by them."""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.sources.tail import FileTail

_MIN_HELD_FILES: Final = 4
"""Files that are held open, however few descriptors there are."""
_OTHERS_SHARE: Final = 4
"""One in so many of this process's descriptors is left for other files."""
_MAX_DESCRIPTORS: Final = 8192
"""Descriptors."""
_MAX_HELD_FILES: Final = 4096
"""Files that are held open."""
_MIN_OTHER_DESCRIPTORS: Final = 80
"""Descriptors that are left for everything else, if there are so many."""


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
    allowed = _allowed_descriptors()
    return most if allowed is None else min(most, max(_MIN_HELD_FILES, allowed // _OTHERS_SHARE))


def _allowed_descriptors() -> int | None:
    """Return how many descriptors this process may have; None where there is no limit."""
    if sys.platform == "win32":
        return _MIN_HELD_FILES
    import resource

    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if allowed == resource.RLIM_INFINITY else allowed


class HeldOpen:
    """The files that grew last are held open, a bounded number of them.

    While a file is open, its inode isn't given to another one, and it can be read after it was removed.
    """

    def __init__(self) -> None:
        self._tails: OrderedDict[int, FileTail] = OrderedDict()
        allowed = _allowed_descriptors()
        free = _MAX_HELD_FILES if allowed is None else allowed - max(allowed // _OTHERS_SHARE, _MIN_OTHER_DESCRIPTORS)
        self.max_files = min(_MAX_HELD_FILES, max(_MIN_HELD_FILES, free))
        """How many can be held."""

    def note(self, tail: FileTail, *, has_grown: bool = False) -> None:
        """Note that a file was opened; of too many it is closed, or takes another one's place if it has grown."""
        if has_grown or (tail.source not in self._tails and len(self._tails) < self.max_files):
            self._tails[tail.source] = tail
            self._tails.move_to_end(tail.source)
        elif tail.source not in self._tails:
            tail.close()
        if len(self._tails) > self.max_files:
            self.give_one_up()

    def limit_for(self, count: int) -> int | None:
        """Return the limit of descriptors with which so many files could be held; None where none would do."""
        return (
            max(count + _MIN_OTHER_DESCRIPTORS, -(-count * _OTHERS_SHARE // (_OTHERS_SHARE - 1)))
            if count <= _MAX_HELD_FILES
            else None
        )

    def give_one_up(self) -> bool:
        """Close the file that grew longest ago; return whether there was one."""
        if not self._tails:
            return False
        _, oldest = self._tails.popitem(last=False)
        oldest.close()
        return True

    def hold(self, tails: Iterable[FileTail]) -> None:
        """Hold those files that were written last, of more than can be held."""
        for tail in sorted(tails, key=lambda tail: tail.file.modified_ns)[-self.max_files :]:
            # One that is gone is seen by the next search.
            with suppress(OSError):
                tail.hold()
                self.note(tail, has_grown=True)

    def forget(self, tail: FileTail) -> None:
        """Take note that a file is closed."""
        self._tails.pop(tail.source, None)
