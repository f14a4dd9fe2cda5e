"""Which files are held open."""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from spanview.sources.tail import FileTail

_FEWEST: Final = 4
_MOST: Final = 512
_SHARE: Final = 4
"""One of so many descriptors that this process may have is for files that are followed."""


class HeldOpen:
    """The files that were read last are held open, a bounded number of them.

    While a file is open, its inode isn't given to another one, and it can be read after it was removed.
    """

    def __init__(self) -> None:
        self._tails: OrderedDict[int, FileTail] = OrderedDict()
        self._most = share_of_descriptors(_MOST)

    def note(self, tail: FileTail) -> None:
        """Take note that a file was read just now; the one that was read longest ago may be closed for it."""
        self._tails[tail.source] = tail
        self._tails.move_to_end(tail.source)
        if len(self._tails) > self._most:
            _, oldest = self._tails.popitem(last=False)
            oldest.close()

    def forget(self, tail: FileTail) -> None:
        """Take note that a file is closed."""
        self._tails.pop(tail.source, None)


def share_of_descriptors(most: int) -> int:
    """Return how many files may be held open at once: so many, or fewer where this process may have few."""
    if sys.platform == "win32":
        return min(most, _FEWEST)
    import resource

    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if allowed == resource.RLIM_INFINITY else min(most, max(_FEWEST, allowed // _SHARE))
