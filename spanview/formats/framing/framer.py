"""Bytes in pieces of any size become JSON documents, and damage costs no document but the damaged one.

A document begins with `{` or `[` at the start of a line or right after another document. One that breaks off is a gap;
the next document is then searched for wherever something looks like the beginning of a record, and accepted only if
it is a whole record, so that neither an event nor a link inside a torn span passes for a span.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spanview.formats.framing import marks
from spanview.formats.framing.frames import Frames
from spanview.formats.framing.run import FramingRun

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_CAP: Final = 16 * 1024 * 1024
"""Bytes of one document; a longer one is passed over."""


class Framer:
    """The framing of one file, from its first byte on.

    Args:
        keep: Returns what is kept of a decoded value.
        cap: Bytes of the longest document that is kept, at least 256; see `ELEMENT_CAP_FACTOR`.
        offset: Offset in the file of the first byte that `feed` will get.
    """

    def __init__(
        self, is_record: Callable[[Any], bool], keep: Callable[[Any], Any], *, cap: int = DEFAULT_CAP, offset: int = 0
    ) -> None:
        self._is_record = is_record
        self._run = FramingRun(is_record, keep, max(cap, marks.LOOKBACK_BYTES), offset)

    @property
    def offset(self) -> int:
        """Offset in the file of the first byte that waits for more."""
        return self._run.buffer.offset

    @property
    def unread(self) -> bytes:
        """The bytes from `offset` on that wait for more."""
        return self._run.buffer.data

    @property
    def waiting(self) -> bool:
        """Whether something has begun that isn't complete yet."""
        return bool(self.unread) or self._run.damage.is_open

    @property
    def is_clean(self) -> bool:
        """Whether what follows can't be a part of anything but the bytes that wait for more."""
        run = self._run
        return not (run.damage.is_open or run.is_nested or run.starts.is_in_text or run.starts.has_commas)

    @property
    def meets_prefix(self) -> bool:
        """Whether what waits begins with the name of its writer, and needs another kind of framing."""
        return self._run.starts.meets_prefix

    def feed(self, data: bytes) -> Frames:
        """Take the next bytes of the file and return what they complete."""
        self._run.buffer.append(data)
        return self._run.take(self._run.run(0, quiet=False)[1])

    def tail(self) -> Frames:
        """Return what is whole though no line end follows it; to be called when the file has become quiet."""
        if not self.unread:
            return Frames()
        run = self._run
        unfinished, position = run.run(0, quiet=True)
        if unfinished and not run.is_discarding and self._hides_record(position):
            run.give_up(position)
            position = run.run(position + 1, quiet=True)[1]
        return run.take(position)

    def _hides_record(self, position: int) -> bool:
        """Tell whether a whole record follows what seems unfinished: what breaks off at a quote swallows the next.

        Only framing it as torn shows that. It is tried on a copy, because what seems unfinished may still go on.
        """
        trial = self._run.trial(keep=lambda value: value)
        trial.give_up(position)
        end = trial.run(position + 1, quiet=True)[1]
        # Without a line end after it, it may be inside a record that is still being written.
        return any(
            self._is_record(value) and b"\n" in self.unread[offset - self.offset + size :]
            for offset, size, value in trial.take(end).documents
        )

    def close(self) -> Frames:
        """Return what is complete at the end of the file; whatever is unfinished becomes a gap."""
        run = self._run
        unfinished, position = run.run(0, quiet=True)
        while unfinished:
            after = position if run.is_discarding else run.enter(position, is_torn=True)
            if after == position:
                # Only the end of what is too large is at hand, and that may be a record.
                after = position if run.is_discarding else position + 1
                run.give_up(position)
            unfinished, position = run.run(after, quiet=True)
        end = position if self.meets_prefix else len(self.unread)
        run.close_gap(end)
        return run.take(end)

    def skip(self, size: int) -> Frames:
        """Pass over a hole of `size` bytes; nothing that began before it continues after it."""
        frames = self.close()
        self._run.buffer.skip(size)
        self._run.starts.is_in_text = False
        return frames
