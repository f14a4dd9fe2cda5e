"""Where the next document may begin: among blanks, in text, or in what is left of a torn one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.formats.framing import marks
from spanview.formats.framing.prefix import find_prefix

if TYPE_CHECKING:
    from spanview.formats.framing.buffer import Buffer
    from spanview.formats.framing.containers import Nesting
    from spanview.formats.framing.damage import Damage
    from spanview.formats.framing.frames import Frames

_CLOSE_BRACKET: Final = ord("]")


class Starts:
    """The search for beginnings.

    Args:
        damage: What is passed over; a gap begins with text among the elements of a document.
    """

    def __init__(self, buffer: Buffer, damage: Damage, nesting: Nesting) -> None:
        self._buffer, self._damage, self._nesting = buffer, damage, nesting
        self.is_in_text = False
        """Whether the front of the buffer is in a line that no document begins."""
        self.has_commas = False
        """Whether there are commas between documents, as in a list."""
        self.meets_prefix = False
        """Whether what waits begins with the name of its writer, and needs another kind of framing."""
        self._has_text = False
        self._logs = marks.LogMarks()

    def find(self, position: int) -> tuple[bool, int]:
        """Return whether a document may begin from `position` on, and where; else what has to wait for more bytes."""
        data, byte_before = self._buffer.data, self._buffer.byte_before(position)
        if self._damage.is_open:
            return self._from(marks.find_in_gap(data, position, byte_before), position)
        if not self.is_in_text:
            self.has_commas |= data[position : position + 1] == b"," and byte_before in b"}]"
            position = marks.skip_separators(data, position)
            if position >= len(data) or marks.is_partial_mark(data, position):
                return False, position
            if marks.may_begin(data, position):
                return True, position
            if self._nesting.is_inside and data[position] != _CLOSE_BRACKET:
                self._damage.open(self._buffer.offset + position)
                return self.find(position)
            self._nesting.leave()
            self._has_text = True
        is_found, after = self._from(marks.find_in_text(data, position), position)
        self._logs.count(data, position, after, goes_on=not is_found)
        return is_found, after

    def _from(self, start: int, position: int) -> tuple[bool, int]:
        """Go on at `start`, or at the last bytes from `position` on that more bytes may turn into a beginning."""
        data = self._buffer.data
        line_start, self.meets_prefix = find_prefix(data, position, start, is_line=self._buffer.is_line_start(position))
        if line_start != marks.NOWHERE:
            self.is_in_text = False
            return False, line_start
        self.is_in_text = start == marks.NOWHERE and not self._damage.is_open
        if start != marks.NOWHERE:
            return True, start
        start, self.is_in_text = marks.find_partial(data, position, in_text=self.is_in_text)
        return False, start

    def report(self, frames: Frames) -> None:
        """Say what the text held that was passed over since the last call."""
        frames.has_text, self._has_text = frames.has_text or self._has_text, False
        frames.repeated, frames.fragments, frames.inspected = self._logs.take()
