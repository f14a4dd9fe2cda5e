"""Compressed files, known by their first bytes: read as they grow, and kept in the spool.

What is rewritten is read again from its start; spans that were there are then dropped as duplicates.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from spanview.model.stretch import Stretch
from spanview.sources.descriptors import read_at
from spanview.sources.details import opened, reason_of
from spanview.sources.unpacking import MAGIC_BYTES, Unpacker, is_packed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanview.sources.discover import FoundFile
    from spanview.sources.reading import Content, Reading

_PIECE_BYTES: Final = 16 * 1024
"""Bytes of a file that are read at once: progress is reported even where it unpacks to a thousand times its size."""
_RAY_SPAN_FILE: Final = re.compile(r"(?:^|[/\\])(?:[0-9]+\.(?:txt|json)|[^/\\]*_tracing\.json)$")
"""`/tmp/spans/4242.txt`, `proxy_1_tracing.json`: names under which nothing is ever compressed. Of a thousand such
files, none has to be opened for that."""


@dataclass(slots=True)
class _Packed:
    """A compressed file, and how far it was read."""

    shown: str
    identity: tuple[int, int]
    content: Content
    unpacker: Unpacker
    stamp: tuple[int, ...] = ()
    """What it was like when it was read last."""
    size: int = 0
    """Bytes that were read."""
    head: Stretch = field(default_factory=partial(Stretch, 0))
    last: Stretch = field(default_factory=partial(Stretch, 0))
    """The first of these, and the last, by which the file is recognised."""

    def note(self, data: bytes) -> None:
        """Take note of bytes that were read."""
        self.head.extend(self.size, data, _PIECE_BYTES)
        self.last = Stretch(self.size)
        self.last.extend(self.size, data, _PIECE_BYTES)
        self.size += len(data)

    def is_in(self, descriptor: int) -> bool:
        """Tell whether a file has what was read, and perhaps more."""
        return all(stretch.is_read_by(partial(read_at, descriptor)) for stretch in (self.head, self.last))


class PackedFiles:
    """The compressed files among those that are read."""

    def __init__(self, reading: Reading, *, follow: bool) -> None:
        self._reading = reading
        self._follow = follow
        self._read: dict[str, _Packed] = {}
        """By real path."""
        self._plain: set[tuple[int, int]] = set()
        """Files that are known not to be compressed."""

    @property
    def are_there(self) -> bool:
        """Whether there are any."""
        return bool(self._read)

    def among(self, files: Iterable[FoundFile]) -> tuple[list[FoundFile], list[FoundFile]]:
        """Return which files are compressed, and which are not."""
        pairs = [(file, self._is_packed(file)) for file in files]
        return [file for file, packed in pairs if packed], [file for file, packed in pairs if not packed]

    def _is_packed(self, file: FoundFile) -> bool:
        if _RAY_SPAN_FILE.search(file.real) or file.identity in self._plain:
            return False
        if file.real in self._read and self._read[file.real].identity == file.identity:
            return True
        try:
            with opened(file) as descriptor:
                head = os.read(descriptor, MAGIC_BYTES)
        except OSError:
            # Reading it will report why it can't be opened.
            return False
        if len(head) == MAGIC_BYTES and not is_packed(head):
            self._plain.add(file.identity)
        return is_packed(head)

    def read(self, files: Iterable[FoundFile]) -> Iterator[int]:
        """Read those that are new or have changed, as far as they can be unpacked; yield the bytes of each piece."""
        for file in files:
            known = self._read.get(file.real)
            if known is None or known.stamp != file.stamp:
                try:
                    with opened(file) as descriptor:
                        yield from self._read_on(file, descriptor)
                except OSError as error:
                    self._reading.report_unreadable(file.shown, reason_of(error))

    def _read_on(self, file: FoundFile, descriptor: int) -> Iterator[int]:
        packed = self._read.get(file.real)
        if packed is None or packed.identity != file.identity or not packed.is_in(descriptor):
            if packed is not None:
                packed.content.close()
            content = self._reading.open_content(file.shown)
            packed = _Packed(file.shown, file.identity, content, Unpacker(read_at(descriptor, MAGIC_BYTES, 0)))
            self._read[file.real] = packed
        packed.stamp = file.stamp
        while data := read_at(descriptor, _PIECE_BYTES, packed.size):
            packed.note(data)
            count = len(data)
            for piece in packed.unpacker.feed(data):
                packed.content.take(piece, count)
                yield count
                count = 0
        self._finish(packed, may_grow=self._follow)

    def _finish(self, packed: _Packed, *, may_grow: bool) -> None:
        unpacker = packed.unpacker
        if may_grow and not (unpacker.is_whole or unpacker.failure):
            packed.content.flush()
            return
        packed.content.close()
        self._reading.report_broken(packed.shown, packed.content, unpacker)

    def close(self) -> None:
        """Finish all files."""
        for packed in self._read.values():
            self._finish(packed, may_grow=False)
