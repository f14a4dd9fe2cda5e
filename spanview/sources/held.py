"""The files that are held open while they are followed."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from spanview.sources.descriptors import MIN_HELD_FILES, OTHERS_SHARE, allowed_descriptors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.sources.tail import FileTail

_MAX_HELD_FILES: Final = 4096
"""Files that are held open."""
_MIN_OTHER_DESCRIPTORS: Final = 80
"""Descriptors that are left for everything else, if there are so many."""


class HeldOpen:
    """The files that grew last are held open, a bounded number of them.

    While a file is open, its inode isn't given to another one, and it can be read after it was removed.
    """

    def __init__(self) -> None:
        self._tails: OrderedDict[int, FileTail] = OrderedDict()
        allowed = allowed_descriptors()
        free = _MAX_HELD_FILES if allowed is None else allowed - max(allowed // OTHERS_SHARE, _MIN_OTHER_DESCRIPTORS)
        self.max_files = min(_MAX_HELD_FILES, max(MIN_HELD_FILES, free))
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
            max(count + _MIN_OTHER_DESCRIPTORS, -(-count * OTHERS_SHARE // (OTHERS_SHARE - 1)))
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
