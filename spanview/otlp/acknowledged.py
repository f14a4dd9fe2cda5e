"""Which spans an endpoint has accepted, in a file, so that sending can go on where it ended.

{"spanview": "push", "endpoint": "http://localhost:4318/v1/traces", "shift_ns": 0}
5f1c09aa 8e0d51f3a70e2c44 1b7c…      a batch: a checksum, and a key of 64 bits for each span

A line is written once its batch has been accepted. What a kill has left of a line doesn't count, and its batch is sent
again. Keys are made of ids and times, wherever the spans lie: files may be moved, compressed or collected meanwhile.
Two spans have the same key by chance once in 2⁶⁴ pairs.
"""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import suppress
from hashlib import blake2b
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Self
from zlib import crc32

from spanview.model.problems import PushError, Warnings
from spanview.sources.descriptors import is_in_use

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.store import Store

_OPEN: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FACTS: Final = Struct("<QQQqq").pack
_KEY_SIZE: Final = 8
_DIGITS: Final = re.compile(rb"(?:[0-9a-f]{16})*")
_DUPLICATE: Final = Warnings.DUPLICATE_ID.value


class Acknowledged:
    """What has been accepted, in a file that nobody else writes to meanwhile; a context that ends it.

    Raises:
        PushError: It can't be read or written, is another kind of file, is of another endpoint, or in use.
    """

    def __init__(self, path: str, url: str) -> None:
        self._path = path
        self._url = url
        self.shift_ns: int | None = None
        """What was added to all times; None where nothing was sent yet."""
        self._keys = frozenset[bytes]()
        try:
            self._descriptor = os.open(path, _OPEN, 0o666)
        except OSError as error:
            raise _unusable(path, error) from None
        try:
            self._begin()
        except OSError as error:
            os.close(self._descriptor)
            raise _unusable(path, error) from None
        except PushError:
            os.close(self._descriptor)
            raise

    def _begin(self) -> None:
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise self._foreign()
        if is_in_use(self._descriptor):
            raise PushError(f"{self._path}: another spanview push is using it; give another --state")
        with open(self._path, "rb") as file:
            self._take(file.read())

    def _take(self, content: bytes) -> None:
        """Take what earlier calls have written, and cut off what a kill has left of a line."""
        lines = content.split(b"\n")
        if len(lines) == 1:
            # Nothing, or what is left of the first line: then nothing was accepted.
            if content and not b'{"spanview": "push"'.startswith(content[:19]):
                raise self._foreign()
            os.ftruncate(self._descriptor, 0)
            return
        head: Any = None
        with suppress(ValueError):
            head = json.loads(lines[0])
        if not isinstance(head, dict) or head.get("spanview") != "push" or not isinstance(head.get("shift_ns"), int):
            raise self._foreign()
        if head.get("endpoint") != self._url:
            raise PushError(f"{self._path} belongs to another endpoint, {head.get('endpoint')}: give another --state")
        self.shift_ns = head["shift_ns"]
        keys = list[bytes]()
        for line in lines[1:-1]:
            checksum, _, digits = line.partition(b" ")
            if checksum == _checksum(digits) and _DIGITS.fullmatch(digits):
                every = bytes.fromhex(digits.decode())
                keys += (every[first : first + _KEY_SIZE] for first in range(0, len(every), _KEY_SIZE))
        self._keys = frozenset(keys)
        os.ftruncate(self._descriptor, len(content) - len(lines[-1]))

    def _foreign(self) -> PushError:
        return PushError(f"{self._path} is no state of spanview push: give another --state")

    @property
    def is_new(self) -> bool:
        """Whether nothing was sent yet."""
        return self.shift_ns is None

    def begin(self, shift_ns: int) -> None:
        """Write what holds for all spans, where that isn't there yet.

        Raises:
            PushError: The file can't be written.
        """
        if self.is_new:
            self.shift_ns = shift_ns
            head = {"spanview": "push", "endpoint": self._url, "shift_ns": shift_ns}
            self._write(json.dumps(head).encode() + b"\n")

    def among(self, store: Store, rows: Sequence[int]) -> Iterator[bool]:
        """Yield for each row whether its span was accepted in an earlier call."""
        return (key in self._keys for key in _keys_of(store, rows)) if self._keys else (False for _ in rows)

    def add(self, store: Store, rows: Sequence[int]) -> None:
        """Take note of rows that were accepted.

        Raises:
            PushError: The file can't be written.
        """
        digits = b"".join(_keys_of(store, rows)).hex().encode()
        self._write(_checksum(digits) + b" " + digits + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            os.lseek(self._descriptor, 0, os.SEEK_END)
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError as error:
            raise _unusable(self._path, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # This also lets go of the lock.
        os.close(self._descriptor)


def _keys_of(store: Store, rows: Sequence[int]) -> Iterator[bytes]:
    spans, table = store.spans, store.trace_table
    for row in rows:
        trace = spans.trace[row]
        facts = _FACTS(
            table.id_high[trace], table.id_low[trace], spans.span_id[row], spans.start_ns[row], spans.end_ns[row]
        )
        if spans.warnings[row] & _DUPLICATE:
            # Of several spans with these ids; the place of a record is no help, because files may have moved.
            facts += repr(_said(store, row)).encode(errors="surrogatepass")
        yield blake2b(facts, digest_size=_KEY_SIZE).digest()


def _said(store: Store, row: int) -> tuple[object, ...]:
    span = store.span(row)
    return tuple(getattr(span, name) for name in span.__slots__ if name not in {"source", "warnings"})


def _checksum(content: bytes) -> bytes:
    return b"%08x" % crc32(content)


def _unusable(path: str, error: OSError) -> PushError:
    return PushError(f"{path}: can't be used as --state: {error.strerror or error}")
