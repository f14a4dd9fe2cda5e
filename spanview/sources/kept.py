"""The index of a large folder, kept in the platform's cache folder, so that the second opening reads no spans.

a file      magic, length and seal of the header, header, columns
header      JSON: what was read, the texts, the counts, and length and checksum of each column; spaces up to a word
columns     as they are in memory, one after the other, those with the largest items first: each begins at a word of its
            own

On a disk of this machine it is mapped: ten million spans have a gigabyte of columns, of which fewer are looked at. What
is changed in them stays in this process.

It is taken only where every file is as it was: path, device, inode, size, times, and the checksum of its front and its
end. None is made while a file is so new that a change could leave its times as they are. It must be this user's, and no
one else may write to it; its seal is of this very file, so that a copy of another one is none. What it says must go
together. Whatever else is wrong, the folder is read instead: an index is a help, and no error is ever made of one.

Of Ray's own events it has only how many there are: they are read again.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import stat
import struct
import sys
import tempfile
import time
import zlib
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import IO, TYPE_CHECKING, Any, Final, cast

from spanview.index.state import columns_of, is_sound, state_of, take_state
from spanview.model.problems import ProblemKind
from spanview.sources.descriptors import read_at
from spanview.sources.details import open_regular, opened
from spanview.sources.discover import stamp_of
from spanview.sources.places import cache_folder
from spanview.version import __version__

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence
    from io import BufferedReader
    from typing import Literal

    from spanview.index.intake import Intake
    from spanview.sources.discover import FoundFile
    from spanview.sources.reading import Reading
    from spanview.sources.terms import ReadOptions

MAX_KEPT_BYTES: Final = 2 * 1024**3
"""Bytes of all indexes together; those that were used longest ago go first."""
_MAGIC: Final = b"spanview index 9\n"
_SEAL_BYTES: Final = 16
_LENGTHS: Final = struct.Struct(f"<Q{_SEAL_BYTES}s")
"""Bytes and seal of the header."""
_WORD_BYTES: Final = 8
_COMPARED_BYTES: Final = 4096
"""Bytes at the front and at the end of a file that are compared."""
_WORD: Final = 2**64 - 1
_OTHERS_MAY_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_UNSOUND: Final = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""What comes of JSON in which anything may be."""
_SUFFIX: Final = ".index"
_UNFINISHED_PREFIX: Final = ".half-"
_MAX_WRITING_S: Final = 3600.0
"""Longer than writing an index takes."""
_RACY_NS: Final = 2_000_000_000
"""A file that changed so shortly before it was looked at can change again and keep its times: some file systems count
whole seconds."""
_FOUND_AGAIN_KINDS: Final = frozenset((ProblemKind.REFUSED,))
"""Problems that each search finds again."""
_KEPT_KINDS: Final = frozenset((ProblemKind.TORN, ProblemKind.TOO_LARGE, ProblemKind.PARTIAL))
"""Problems that records have; with any other one, not everything was read."""


class KeptIndex:
    """The index of some files, which may be kept already."""

    def __init__(self, options: ReadOptions, files: Sequence[FoundFile]) -> None:
        self._files = files
        self._are_quiet = all(max(file.modified_ns, file.changed_ns) + _RACY_NS < time.time_ns() for file in files)
        """Whether what changes from now on has other times."""
        self._wanted = {
            "paths": options.paths,
            "folder": _current_folder(),
            "cap": options.cap,
            "made_by": [__version__, sys.implementation.cache_tag, sys.byteorder],
        }
        self.is_proven = False
        """Whether each record was decoded."""

    @cached_property
    def _path(self) -> str | None:
        """The file of the index; None where there is no folder for it."""
        folder = cache_folder()
        name = blake2b(json.dumps(self._wanted).encode(), digest_size=16).hexdigest()
        return None if folder is None else os.path.join(folder, name + _SUFFIX)

    def take(self, intake: Intake, reading: Reading) -> bool:
        """Fill an empty index with what was kept, or leave it empty; return which."""
        if self._path is None:
            return False
        try:
            with _opened(self._path) as index:
                whole = _whole(index)
                header, place = _header(index, whole)
                if not self._is_current(header):
                    return False
                files = {file.shown: file for file in self._files}
                sources = [files.pop(shown) for shown in header["sources"]]
                columns = columns_of(intake)
                for number in _in_file(columns):
                    columns[number] = _column(whole[place:], columns[number].typecode, *header["columns"][number])
                    place += memoryview(columns[number]).nbytes
            sizes = {file.shown: file.size for file in sources}
            if header["proven"] not in (True, False) or files or not is_sound(header["state"], columns, sizes):
                return False
            os.utime(self._path)
        except (OSError, *_UNSOUND):
            return False
        for file in sources:
            reading.enter(file)
        self.is_proven = header["proven"]
        take_state(intake, header["state"], columns)
        return True

    def write(self, intake: Intake, *, is_proven: bool) -> None:
        """Keep an index, if everything was read and the files are still as they were found."""
        if self._path is None or not self._are_quiet:
            return
        if intake.details.are_there:
            # Of documents with several spans the columns do not say enough.
            return
        columns = columns_of(intake)
        kinds = {problem.kind for problem in intake.tallies.unsorted_problems()}
        # Together, the indexes may not be larger than is allowed; a single one may be no half of it.
        if (
            kinds - _KEPT_KINDS - _FOUND_AGAIN_KINDS
            or sum(memoryview(column).nbytes for column in columns) * 2 > MAX_KEPT_BYTES
        ):
            return
        with suppress(OSError, ValueError):
            header = {
                **self._wanted,
                "files": [[file.shown, *file.stamp, _checksum(file)] for file in self._files],
                "sources": [source.path for source in intake.sources],
                "proven": is_proven,
                "state": state_of(intake, _KEPT_KINDS),
                "columns": [[len(column), zlib.crc32(column)] for column in columns],
            }
            # Of a status the stamp begins with the mode.
            if any(stamp_of(os.lstat(file.real))[1:] != file.stamp for file in self._files):
                return
            _write(self._path, header, columns)
            _make_room(os.path.dirname(self._path))

    def _is_current(self, header: dict[str, Any]) -> bool:
        wanted = json.loads(json.dumps(self._wanted))
        if {name: header.get(name) for name in wanted} != wanted or len(header["files"]) != len(self._files):
            return False
        return all(
            kept[:-1] == [file.shown, *file.stamp] and kept[-1] == _checksum(file)
            for kept, file in zip(header["files"], self._files, strict=True)
        )


def _current_folder() -> str:
    """Return the folder that relative PATHs start from; nothing where it was removed, and none of them is found."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _checksum(file: FoundFile) -> str:
    """Return a checksum of a file's front and its end.

    Raises:
        OSError: It can't be read.
    """
    with opened(file) as descriptor:
        front, end = (
            read_at(descriptor, _COMPARED_BYTES, offset) for offset in (0, max(0, file.size - _COMPARED_BYTES))
        )
    return blake2b(front + end, digest_size=16).hexdigest()


def _opened(path: str) -> BufferedReader:
    """Open an index; what is no regular file, and would let us wait, is none, nor is what others may have written.

    Raises:
        OSError: It can't be opened, or is no index of this user's.
    """
    descriptor, status = open_regular(path)
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & _OTHERS_MAY_WRITE):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no index of this user's", path)
    return open(descriptor, "rb")


def _seal(file: IO[bytes], header: bytes) -> bytes:
    """Return the checksum of a header in this file and no other one."""
    status = os.fstat(file.fileno())
    of_file = struct.pack("<QQ", status.st_dev & _WORD, status.st_ino & _WORD)
    return blake2b(of_file + header, digest_size=_SEAL_BYTES).digest()


def _whole(file: BufferedReader) -> memoryview:
    """Return all of a file; what is written there stays here.

    Raises:
        OSError, ValueError: It can't be read, or is empty.
    """
    status = os.fstat(file.fileno())
    # Linux numbers what is no disk of its own from 0 on: of a file system on another host, pages that can't be read any
    # more would end the process.
    if sys.platform == "linux" and os.major(status.st_dev):
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    whole = memoryview(mmap.mmap(-1, status.st_size))
    return whole[: file.readinto(whole)]


def _header(file: IO[bytes], whole: memoryview) -> tuple[dict[str, Any], int]:
    """Return the header of an index, and where its columns begin.

    Raises:
        ValueError: It is none, or is damaged.
    """
    begin = len(_MAGIC) + _LENGTHS.size
    if bytes(whole[: len(_MAGIC)]) != _MAGIC or len(whole) < begin:
        raise ValueError("no index")
    length, seal = _LENGTHS.unpack(whole[len(_MAGIC) : begin])
    text = bytes(whole[begin : begin + length])
    if _seal(file, text) != seal:
        raise ValueError("damaged header")
    return json.loads(text), begin + length


def _column(rest: memoryview, typecode: str, length: int, checksum: int) -> array[int]:
    """Return the column at the beginning of what is left of an index: a view, to which nothing can be added.

    Raises:
        ValueError: It is damaged.
    """
    size = length * struct.calcsize(typecode)
    if not 0 <= size <= len(rest):
        raise ValueError("short column")
    if zlib.crc32(rest[:size]) != checksum:
        raise ValueError("damaged column")
    return cast("array[int]", rest[:size].cast(cast("Literal['Q']", typecode)))


def _in_file(columns: Sequence[array[int]]) -> list[int]:
    """Return the indexes of columns in the order in which a file has them."""
    return sorted(range(len(columns)), key=lambda index: -columns[index].itemsize)


def _write(path: str, header: dict[str, Any], columns: Sequence[array[int]]) -> None:
    """Write an index, so that its path has either what it had before or all of it."""
    folder = os.path.dirname(path)
    if not os.path.isdir(os.path.dirname(os.path.dirname(folder))):
        # Nobody's home.
        return
    os.makedirs(folder, mode=0o700, exist_ok=True)
    text = json.dumps(header).encode()
    text += b" " * (-(len(_MAGIC) + _LENGTHS.size + len(text)) % _WORD_BYTES)
    # Only this user may read the file.
    descriptor, temporary = tempfile.mkstemp(prefix=_UNFINISHED_PREFIX, dir=folder)
    try:
        with open(descriptor, "wb") as file:
            in_order = map(columns.__getitem__, _in_file(columns))
            file.writelines((_MAGIC, _LENGTHS.pack(len(text), _seal(file, text)), text, *in_order))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _make_room(folder: str) -> None:
    """Remove the indexes that were used longest ago until there is room, and unfinished ones."""
    with os.scandir(folder) as entries:
        status = {entry.path: entry.stat(follow_symlinks=False) for entry in entries if entry.is_file()}
    newest = max(info.st_mtime for info in status.values())
    total = 0
    for path, info in sorted(status.items(), key=lambda item: -item[1].st_mtime):
        is_unfinished = os.path.basename(path).startswith(_UNFINISHED_PREFIX)
        total += 0 if is_unfinished else info.st_size
        if (
            info.st_mtime < newest - _MAX_WRITING_S
            if is_unfinished
            else path.endswith(_SUFFIX) and total > MAX_KEPT_BYTES
        ):
            os.unlink(path)
