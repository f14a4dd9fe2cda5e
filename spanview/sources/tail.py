"""One file, read once or while it grows; it notices when it is another file. And those that are held open."""

from __future__ import annotations

import errno
import os
import stat
import time
from array import array
from collections import OrderedDict
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias
from zlib import crc32

from spanview.formats.decoder import Decoder
from spanview.model.stretch import Stretch
from spanview.sources.descriptors import MIN_HELD_FILES, OTHERS_SHARE, allowed_descriptors, read_at
from spanview.sources.details import open_file
from spanview.sources.discover import STAT_BLOCK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.formats.rows import Batch
    from spanview.sources.discover import FoundFile

BLOCK_BYTES: Final = 192 * 1024
"""Bytes that are read at once."""
_MAX_BLOCKS_COMPARED: Final = 48
"""Blocks that one look compares with what was read before."""
MAX_ATTEMPTS: Final = 3
"""Attempts at a failing read where the file isn't read again later."""
_HEAD_BYTES: Final = 1024
"""Bytes at the front of a file by which it is recognised."""
_CLOCK_TICK_S: Final = 0.02
"""Longer than a file system's clock takes from one tick to the next."""
_COARSE_CLOCK_TICK_S: Final = 2.0
"""Longer than one tick of a file system's clock that counts whole seconds."""
_NS_PER_SECOND: Final = 1_000_000_000
_RETRY_PAUSE_S: Final = 0.02
"""Seconds before a read that failed is tried again."""

_MAX_HELD_FILES: Final = 4096
"""Files that are held open."""
_MIN_OTHER_DESCRIPTORS: Final = 80
"""Descriptors that are left for everything else, if there are so many."""

_Stamp: TypeAlias = tuple[int, int, int]
"""Size, and when the content and when anything was changed last, in nanoseconds since 1970."""


class FileTail:
    """A file, how far it was read, and by what it is recognised.

    Args:
        descriptor: The file, open already; it is closed by this tail.

    Raises:
        OSError: It can't be opened, or isn't the file any more that the search found.
    """

    def __init__(self, file: FoundFile, *, cap: int, attempts: int = 1, descriptor: int | None = None) -> None:
        self.file = file
        self.source = -1
        """Its number in the store, set by whoever opened it."""
        self.decoder = Decoder(cap=cap)
        self.position = 0
        """Where the next byte is read."""
        self.quiet_since: float | None = None
        """Since when it hasn't grown, in monotonic seconds, if no PATH leads to it any more; else None."""
        self._cap, self._attempts = cap, attempts
        self._descriptor = descriptor
        self._head = Stretch(0)
        self._checked = Stretch(0)
        self._blocks = _Blocks()
        self._known_stamp: _Stamp = (file.size, file.modified_ns, file.changed_ns)
        """As it was seen last, whatever was read since."""
        self._uncompared = range(0)
        """Blocks to be compared with what was read, because the file has other times and the same size."""
        self._passed: list[Batch] = []
        """What holes before the bytes that were read last have completed."""
        self._stamp: _Stamp | None = None
        self._stamped_at = 0.0
        self._is_trusted = False
        self._is_flushed = True
        self._flushed_at = -1
        """The decoder's offset when the file was quiet last."""
        self.is_live = False
        """Whether what is read of it is kept in the spool."""
        self.hold()

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode."""
        return self.file.identity

    @property
    def is_open(self) -> bool:
        """Whether a descriptor is held."""
        return self._descriptor is not None

    @property
    def is_in_place(self) -> bool:
        """Whether its path still leads to it."""
        try:
            status = os.lstat(self.file.real)
        except OSError:
            return False
        return stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) == self.identity

    def hold(self) -> int:
        """Hold a descriptor, and return it.

        Raises:
            OSError: The file can't be opened any more.
        """
        if self._descriptor is None:
            self._descriptor = open_file(self.file.real, *self.identity)
        return self._descriptor

    def go_on(self, position: int, decoder: Decoder | None, head: bytes, last: bytes) -> None:
        """Go on after what another reader has read.

        Args:
            decoder: What was fed with what was read, and waits for more; None for nothing.
            head: The first bytes of the file, as they were read; empty where they are no longer known.
        """
        self.position = position
        if decoder is None:
            self.decoder.move_to(position)
        else:
            self.decoder = decoder
        self._is_flushed = not self.decoder.waiting
        with suppress(OSError):
            self._head.extend(0, head or read_at(self.hold(), min(_HEAD_BYTES, position), 0), _HEAD_BYTES)
        self._checked = Stretch(position - len(last))
        self._checked.extend(position - len(last), last, BLOCK_BYTES)

    def renew(self) -> FileTail:
        """Return this file, read from its start; the descriptor is handed on, whatever its path leads to now."""
        descriptor, self._descriptor = self.hold(), None
        return FileTail(self.file, cap=self._cap, attempts=self._attempts, descriptor=descriptor)

    def move(self, file: FoundFile) -> bool:
        """Go on where the file is now, shown as before; return whether it is still this file.

        An inode alone doesn't say so: that of a removed file is given to the next one.
        """
        previous, self.file = self.file, file._replace(shown=self.file.shown)
        try:
            is_same = not self.was_rewritten()
        except OSError:
            is_same = False
        if not is_same:
            self.file = previous
        return is_same

    def close(self) -> None:
        """Close the descriptor; the next read opens the file again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def has_news(self, file: FoundFile | None = None) -> bool:
        """Tell whether the file's size or time has changed since it was read last.

        Args:
            file: The file as it was found just now; without, it is looked at.

        Raises:
            OSError: The file can't be opened again.
        """
        if file is None:
            status = os.fstat(self.hold())
            stamp = status.st_size, status.st_mtime_ns, status.st_ctime_ns
        else:
            stamp = file.size, file.modified_ns, file.changed_ns
        now = time.monotonic()
        if stamp != self._known_stamp:
            if stamp[0] == self._known_stamp[0] == self.position:
                self._uncompared = range(len(self._blocks))
            self._known_stamp = stamp
        if stamp != self._stamp:
            self._stamp, self._stamped_at, self._is_trusted = stamp, now, False
            return True
        if self._is_trusted:
            return False
        # Within one tick of the file system's clock a file can change again and keep its times. So it is looked at
        # once more when the tick is over; the clock of this machine may be another one.
        self._is_trusted = now > self._stamped_at + (
            _CLOCK_TICK_S if stamp[1] % _NS_PER_SECOND else _COARSE_CLOCK_TICK_S
        )
        return True

    @property
    def is_at_rest(self) -> bool:
        """Whether there is nothing to do until its size or its times change."""
        is_flushed = self._is_flushed or not self.decoder.waiting
        return self._stamp is not None and self._is_trusted and is_flushed and not self.is_suspect

    def look_again(self) -> None:
        """Read the file again next time, whatever its size and time."""
        self._stamp = None

    def was_rewritten(self) -> bool:
        """Tell whether what was read is no longer there: the file was truncated, or truncated and rewritten.

        Records of one width grow again to the same boundaries, so the front of the file and the whole last record
        are compared, not the size alone.
        """
        descriptor = self.hold()
        return os.fstat(descriptor).st_size < self.position or not all(
            stretch.is_read_by(partial(read_at, descriptor)) for stretch in (self._head, self._checked)
        )

    @property
    def is_suspect(self) -> bool:
        """Whether `was_changed_inside` has something to look at."""
        return bool(self._uncompared)

    def was_changed_inside(self) -> bool:
        """Tell whether what was read has changed, though the file's size is the same.

        That is looked for where its times have changed, a bounded number of bytes each time; what another reader has
        read before it `go_on` isn't compared.

        Raises:
            OSError: The file can't be read.
        """
        compared, self._uncompared = self._uncompared[:_MAX_BLOCKS_COMPARED], self._uncompared[_MAX_BLOCKS_COMPARED:]
        return not self._blocks.are_in(self.hold(), compared)

    @property
    def growth(self) -> int:
        """How many bytes weren't read yet when it was asked last whether it `has_news`."""
        return self._known_stamp[0] - self.position

    @property
    def can_be_scanned(self) -> bool:
        """Whether what begins at the decoder's offset is decoded as if nothing had come before it."""
        # What was waiting when the file was quiet isn't cut as if all came at once.
        was_waiting = self.decoder.waiting and self.decoder.offset == self._flushed_at
        return self.decoder.is_clean and not was_waiting and not self._passed

    def read(self, most: int = BLOCK_BYTES) -> tuple[int, bytes]:
        """Return the next bytes, so many at most, and where they begin; holes are passed over.

        No bytes come at the end of the file, and where it was rewritten just now.

        Raises:
            OSError: The file can't be read.
        """
        stamp, self._stamp = self._stamp, None
        for left in reversed(range(self._attempts)):
            try:
                data = self._read_block(most)
                # Looked at afterwards: between a look and a read it could be cut and grow again beyond the position.
                if data and self.was_rewritten():
                    data = b""
                    stamp = None
                break
            except OSError:
                if not left:
                    raise
                time.sleep(_RETRY_PAUSE_S)
        offset = self.position
        self._head.extend(offset, data, _HEAD_BYTES)
        self._blocks.extend(offset, data)
        self._stamp = stamp
        self.position += len(data)
        self._is_flushed = self._is_flushed and not data
        return offset, data

    def _read_block(self, most: int) -> bytes:
        descriptor = self.hold()
        data = read_at(descriptor, most, self.position)
        # Holes are asked for only where there may be one: on some file systems that is slow.
        while data[-1:] == b"\0" and _has_holes(descriptor):
            content = data.rstrip(b"\0")
            if content:
                # Whether the rest is a hole, and may still be filled, is seen when the next bytes are read.
                return content
            try:
                hole = os.lseek(descriptor, self.position, os.SEEK_HOLE)
                data_start = os.lseek(descriptor, hole, os.SEEK_DATA)
            except OSError as error:
                # Either only a hole is left, or this file system doesn't report holes.
                return b"" if error.errno == errno.ENXIO else data
            # Meanwhile the hole may have been written to.
            reread = read_at(descriptor, min(most, max(1, hole - self.position)), self.position)
            if hole > self.position + len(data) or reread.strip(b"\0"):
                return reread
            self._passed.append(self.decoder.skip(data_start - self.position))
            self.position = data_start
            data = read_at(descriptor, most, data_start)
        return data

    def decode(self, data: bytes) -> list[Batch]:
        """Return the spans that the bytes just read complete."""
        start, decoded, unread = self.position - len(data), self.decoder.offset, self.decoder.unread_parts
        batch = self.decoder.feed(data)
        last = batch.offsets[-1] if batch.offsets else None
        if last is not None and last < start:
            start, data = decoded, b"".join([*unread, data])
        self._note_last(last, start, data)
        return self._with_passed(batch)

    def _note_last(self, last: int | None, start: int, data: bytes) -> None:
        """Note what is compared, of bytes from an offset on, and where the last record among them begins."""
        if last is not None:
            self._checked = Stretch(last)
            self._checked.extend(last, data[last - start :], BLOCK_BYTES)
        else:
            self._checked.extend(start, data, BLOCK_BYTES)

    def take_scanned(self, data: bytes, last: int | None, decoder: Decoder | None) -> None:
        """Go on after the bytes just read were scanned, behind what was unfinished before them.

        Args:
            last: Where the last record begins that they complete; None for none.
            decoder: What has what is unfinished now; None for nothing.
        """
        start = self.position - len(data)
        if last is not None and last < start:
            start, data = self.decoder.offset, self.decoder.unread + data
        self._note_last(last, start, data)
        self.decoder = decoder or Decoder(cap=self._cap, offset=self.position)

    def _with_passed(self, batch: Batch) -> list[Batch]:
        batches, self._passed = [*self._passed, batch], []
        return batches

    def finish(self) -> list[Batch]:
        """Return what is left at the end of the file, and close the descriptor."""
        self.close()
        return self._with_passed(self.decoder.close())

    def flush(self) -> Batch | None:
        """Return the spans that are whole though no line end follows, once after each growth."""
        if self._is_flushed or not self.decoder.waiting:
            return None
        self._is_flushed = True
        batch = self.decoder.tail()
        self._flushed_at = self.decoder.offset
        return batch


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

    def has_room_for(self, tails: Iterable[FileTail]) -> bool:
        """Tell whether some files can be held beside those that are."""
        return len(self._tails) + sum(tail.source not in self._tails for tail in tails) <= self.max_files

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


class _Blocks:
    """All bytes that were read, known by a checksum for each block of them."""

    __slots__ = ("_checksums", "_lengths", "_offsets")

    def __init__(self) -> None:
        self._offsets, self._lengths, self._checksums = array("Q"), array("I"), array("I")

    def __len__(self) -> int:
        return len(self._offsets)

    def extend(self, offset: int, data: bytes) -> None:
        """Take in the bytes at an offset, which is not before what was taken in already."""
        if not data:
            return
        lengths = self._lengths
        if lengths and lengths[-1] + len(data) <= BLOCK_BYTES and self._offsets[-1] + lengths[-1] == offset:
            # Files grow by single records; those share a block.
            lengths[-1] += len(data)
            self._checksums[-1] = crc32(data, self._checksums[-1])
        else:
            self._offsets.append(offset)
            lengths.append(len(data))
            self._checksums.append(crc32(data))

    def are_in(self, descriptor: int, numbers: range) -> bool:
        """Tell whether a file has the bytes of some blocks."""
        return all(
            crc32(read_at(descriptor, self._lengths[number], self._offsets[number])) == self._checksums[number]
            for number in numbers
        )


def _has_holes(descriptor: int) -> bool:
    if not hasattr(os, "SEEK_HOLE"):
        return False
    status = os.fstat(descriptor)
    return status.st_blocks * STAT_BLOCK_BYTES < status.st_size
