"""New bytes of a node's span files, found and compressed by a task that runs on the node.

A node has Ray and Python, but needn't have spanview. So this module is sent there by value, together with
`model/stretch.py`, and neither imports anything but the standard library. That is why files are followed here in a way
of its own, and not by `sources/tail.py`, which decodes what it reads.

Content decides whether a file is still the same: what was collected must be its beginning. If it isn't, because the
file was truncated, or rotated and made anew, the path's next *generation* begins at offset 0.

path      inode   content       collected as
--------  ------  ------------  -----------------------------------------
8.txt     1       AAAA          8.txt, generation 1, 4 bytes
8.txt     1       AAAABB        the same, 2 bytes more
8.txt.1   1       AAAABBB       the same, 1 byte more, wherever it is now
8.txt     2       CC            8.txt, generation 2, 2 bytes
"""

from __future__ import annotations

import glob
import os
import stat
import time
import zlib
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.model.stretch import Stretch

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

Known: TypeAlias = "tuple[str, int, int, int, int, bytes]"
"""What was collected of a file: its path, generation, device, inode, length in bytes, and their `digest_of`."""
Piece: TypeAlias = "tuple[str, int, int, int, int, int]"
"""New bytes of a file: its path, generation, device, inode, their offset, and their number."""
News: TypeAlias = "tuple[list[Piece], bytes, int, list[str]]"
"""Pieces, their bytes in the same order as zlib compresses them, bytes left to be read, and what can't be read."""

LOOK_S: Final = 0.5
"""Seconds between two looks at the files, where they are followed."""
MESSAGE_BYTES: Final = 1024 * 1024
"""Bytes of news, before they are compressed."""
_LEVEL: Final = 3
"""Of zlib: as quick as 1 and smaller; 1,000 bytes of Ray's spans become some 80. From 6 on it takes twice the time."""
_BLOCK_BYTES: Final = 1024 * 1024
_HEAD_BYTES: Final = 1024
"""Bytes at the front of a file that are compared whenever it is read."""
_LAST_BYTES: Final = 64 * 1024
"""At most so many of the last bytes read are compared, too: they have whole records in them, and so ids of spans."""
_OPEN: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_EVENTS: Final = "logs/export_events"
_OF_SESSION: Final = ("logs/spans", "logs/serve/spans", _EVENTS)
"""Folders of a session: of spans, and of Ray's own events."""


def default_places() -> list[str]:
    """Return where span files and Ray's events are on the node: folders, whether they exist or not."""
    places = ["/tmp/spans"]  # noqa: S108 - Ray's hooks write there
    if folder := os.environ.get("SPANVIEW_DIR"):
        places.append(folder)
    session = os.path.join(os.environ.get("RAY_TMPDIR") or "/tmp", "ray", "session_latest")  # noqa: S108
    with suppress(ImportError, AttributeError):
        # Another version of Ray may keep it elsewhere.
        session = import_module("ray._private.worker")._global_node.get_session_dir_path()  # noqa: SLF001
    return [*places, *(os.path.join(session, folder) for folder in _OF_SESSION)]


def new_bytes(places: list[str], known: list[Known], *, follow: bool) -> Generator[News, None, None]:
    """Yield what is new in the files of a node: nothing at first, which says that the node answers, then all there is.

    Args:
        places: Files, folders and globs, in which `~` and `$VARIABLE` are the node's; empty for the default places.
    """
    files = _NodeFiles(known)
    yield files.message(0, [])
    while True:
        yield from files.news(_found(places or default_places()))
        if not follow:
            return
        time.sleep(LOOK_S)


def digest_of(read: Iterable[bytes]) -> bytes:
    """Return the checksum of all the bytes of some blocks."""
    checksum = blake2b(digest_size=16)
    for block in read:
        checksum.update(block)
    return checksum.digest()


class _NodeFile:
    """A file in one of its generations, how far it was read, and by what it is recognised."""

    __slots__ = ("_digest", "_head", "_last", "_last_offset", "generation", "identity", "path", "position")

    def __init__(
        self, path: str, generation: int, identity: tuple[int, int], position: int = 0, digest: bytes = b""
    ) -> None:
        self.path, self.generation, self.identity, self.position = path, generation, identity, position
        self._digest = digest
        """Of what another task has read; empty once the file was found to begin with it."""
        self._head, self._last, self._last_offset = Stretch(0), Stretch(0), 0

    def begins(self, descriptor: int, size: int) -> bool:
        """Tell whether a file begins with what was read."""
        if size < self.position:
            return False
        if self._digest and digest_of(self._known_blocks(descriptor)) == self._digest:
            self._digest = b""
        return not self._digest and all(
            stretch.is_read_by(partial(os.pread, descriptor)) for stretch in (self._head, self._last)
        )

    def _known_blocks(self, descriptor: int) -> Iterator[bytes]:
        """Yield what another task has read, and get to know it."""
        known, self.position = self.position, 0
        self._head, self._last, self._last_offset = Stretch(0), Stretch(0), 0
        while self.position < known:
            block = os.pread(descriptor, min(_BLOCK_BYTES, known - self.position), self.position)
            if not block:
                break
            self.take(block)
            yield block
        self.position = known

    def take(self, data: bytes) -> None:
        """Go on after these bytes."""
        end = self.position + len(data)
        if end - self._last_offset > _LAST_BYTES:
            self._last_offset = max(self.position, end - _LAST_BYTES)
            self._last = Stretch(self._last_offset)
        self._head.extend(self.position, data, _HEAD_BYTES)
        self._last.extend(max(self.position, self._last_offset), data[-_LAST_BYTES:], _LAST_BYTES)
        self.position = end


class _NodeFiles:
    """The files of a node, read on at each look."""

    def __init__(self, known: list[Known]) -> None:
        self._by_identity: dict[tuple[int, int], _NodeFile] = {}
        self._latest: dict[str, _NodeFile] = {}
        """The latest generation of each path."""
        self._stamps: dict[tuple[int, int], tuple[int, int, int]] = {}
        """Size and times at which a file was read to its end."""
        self._reported: set[str] = set()
        self._own = _own_files()
        self._pieces: list[Piece] = []
        self._parts: list[bytes] = []
        self._size = 0
        for path, generation, device, inode, position, digest in sorted(known):
            file = _NodeFile(path, generation, (device, inode), position, digest)
            self._by_identity[file.identity] = self._latest[path] = file

    def news(self, found: Iterable[tuple[str, os.stat_result | str]]) -> Iterator[News]:
        """Yield what is new in what was found, read as far as it went at that time."""
        problems, files = [], []
        for path, status in found:
            if isinstance(status, str):
                problems.append(f"{path}: {status}")
            elif (status.st_dev, status.st_ino) not in self._own and self._is_changed(status):
                files.append((path, status))
        left = sum(map(self._left, (status for _, status in files)))
        for path, status in files:
            before = left - self._left(status)
            try:
                for rest in self._read(path, status):
                    yield self.message(before + rest, [])
            except OSError as error:
                problems.append(f"{path}: {error.strerror or error}")
            left = before
        problems = [problem for problem in problems if problem not in self._reported]
        self._reported.update(problems)
        if self._pieces or problems:
            yield self.message(0, problems)

    def _is_changed(self, status: os.stat_result) -> bool:
        return self._stamps.get((status.st_dev, status.st_ino)) != _stamp_of(status)

    def _left(self, status: os.stat_result) -> int:
        file = self._by_identity.get((status.st_dev, status.st_ino))
        return max(0, status.st_size - (0 if file is None else file.position))

    def message(self, left: int, problems: list[str]) -> News:
        """Return what was read and is not in a message yet."""
        message = self._pieces, zlib.compress(b"".join(self._parts), _LEVEL), left, problems
        self._pieces, self._parts, self._size = [], [], 0
        return message

    def _read(self, path: str, found: os.stat_result) -> Iterator[int]:
        """Read a file on; yield how many bytes of it are left, whenever a message is full."""
        try:
            descriptor = os.open(path, _OPEN)
        except FileNotFoundError:
            return
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return
            # What was appended since it was found is left to the next look: without following, that is the end.
            size = min(status.st_size, found.st_size)
            file = self._file_at(path, status, descriptor)
            if not size and not file.position and _EVENTS not in path:
                # An empty file is collected, too, but not those that each process of Ray makes for events.
                self._pieces.append((file.path, file.generation, *file.identity, 0, 0))
            while file.position < size:
                wanted = min(MESSAGE_BYTES - self._size, size - file.position)
                data = os.pread(descriptor, wanted, file.position)
                # Looked at afterwards: between a look and a read it could be cut and grow again beyond the position.
                status = os.fstat(descriptor)
                if not data or not file.begins(descriptor, status.st_size):
                    size = min(size, status.st_size)
                    file = self._file_at(path, status, descriptor)
                    continue
                self._pieces.append((file.path, file.generation, *file.identity, file.position, len(data)))
                self._parts.append(data)
                self._size += len(data)
                file.take(data)
                if self._size >= MESSAGE_BYTES:
                    yield size - file.position
            if file.position == found.st_size:
                self._stamps[file.identity] = _stamp_of(found)
        finally:
            os.close(descriptor)

    def _file_at(self, path: str, status: os.stat_result, descriptor: int) -> _NodeFile:
        """Return the file whose beginning is at a path, or else the path's next generation."""
        identity = status.st_dev, status.st_ino
        latest = self._latest.get(path)
        # A file may have been renamed. Or its path is the same and only the number of the device is another, as after
        # the node was started anew.
        for file in dict.fromkeys((self._by_identity.get(identity), latest)):
            if file is not None and file.begins(descriptor, status.st_size):
                if file.identity != identity:
                    self._by_identity.pop(file.identity, None)
                file.identity = identity
                self._by_identity[identity] = file
                return file
        file = _NodeFile(path, latest.generation + 1 if latest else 1, identity)
        self._by_identity[identity] = self._latest[path] = file
        return file


def _stamp_of(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _own_files() -> set[tuple[int, int]]:
    """Return the files that this process holds open: a hook opened one in this worker, which has no spans."""
    own: set[tuple[int, int]] = set()
    try:
        descriptors = os.listdir("/proc/self/fd")
    except OSError:
        return own
    for descriptor in descriptors:
        try:
            status = os.fstat(int(descriptor))
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            own.add((status.st_dev, status.st_ino))
    return own


def _found(places: Iterable[str]) -> Iterator[tuple[str, os.stat_result | str]]:
    """Yield the regular files of some places by their real paths, each once, or why one can't be looked at.

    Hidden files are left out. A place may be a symbolic link; one that is found in a folder is passed over.
    """
    listed = set()
    for place in places:
        expanded = os.path.expanduser(os.path.expandvars(place))
        for given in sorted(glob.glob(expanded, recursive=True)) if glob.has_magic(expanded) else [expanded]:
            for path, status in _below(os.path.realpath(given)):
                if path not in listed:
                    listed.add(path)
                    yield path, status


def _below(top: str) -> Iterator[tuple[str, os.stat_result | str]]:
    pending = [top]
    while pending:
        path = pending.pop()
        try:
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode):
                yield path, status
            elif stat.S_ISDIR(status.st_mode):
                names = sorted((name for name in os.listdir(path) if not name.startswith(".")), reverse=True)
                pending.extend(os.path.join(path, name) for name in names)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield path, error.strerror or str(error)
