"""Files that every node of a cluster can read: on a file system that all of them have, or behind a URI.

A file behind a URI is copied to a temporary file of the node before it is read.
"""

from __future__ import annotations

import os
import shutil
import socket
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanview.index.documents import DetailReader
from spanview.model.problems import CollectError, NoSuchPathError
from spanview.sources.details import RecordReader, reason_of
from spanview.sources.discover import FoundFile, discover, file_of
from spanview.sources.unpacking import MAGIC_BYTES, Unpacker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spanview.model.problems import Problem

_SCHEME: Final = "://"
_PIECE_BYTES: Final = 1024 * 1024


class SharedFile(NamedTuple):
    """A file below a PATH, as every node knows it."""

    shown: str
    """The PATH as given, joined with the file's path below it."""
    real: str
    """The path without symbolic links, or the path in the file system of a URI."""
    content: int
    """About so many bytes are there to be read."""
    uri: str = ""
    """The PATH, if it is a URI."""

    def found(self, folder: str) -> FoundFile:
        """Return the file as a search on this node finds it; one behind a URI is copied into a folder.

        Raises:
            CollectError: This node can't see it.
        """
        real = self.real
        try:
            if self.uri:
                # Its name says what it is, and others may have the same.
                real = os.path.join(folder, str(len(os.listdir(folder))), os.path.basename(self.real))
                os.mkdir(os.path.dirname(real))
                system, _ = file_system_of(self.uri)
                with system.open_input_stream(self.real, compression=None) as stream, open(real, "wb") as copy:
                    shutil.copyfileobj(stream, copy, _PIECE_BYTES)
            # Nodes give different numbers to one file system.
            return file_of(self.shown, real, os.stat(real))
        except OSError as error:
            raise CollectError(
                f"{self.shown}: can't be read on {socket.gethostname()}, but every node must be able to: "
                f"{reason_of(error)}"
            ) from None


def is_uri(path: str) -> bool:
    """Return whether a PATH is a URI."""
    return _SCHEME in path


def search(paths: Sequence[str]) -> tuple[list[SharedFile], list[Problem]]:
    """Return the files below PATHs by their shown paths, and what was refused.

    Raises:
        NoSuchPathError: There is no such file or folder.
        CollectError: A URI can't be read.
    """
    listing = discover([path for path in paths if not is_uri(path)])
    listing.require_all()
    files = [SharedFile(file.shown, file.real, file.content) for file in listing.files]
    for uri in paths:
        if is_uri(uri):
            files += _search_uri(uri)
    return sorted({file.shown: file for file in files}.values(), key=attrgetter("shown")), listing.problems


def _search_uri(uri: str) -> Iterator[SharedFile]:
    fs = _file_systems()
    try:
        system, top = file_system_of(uri)
        given = system.get_file_info(top)
        is_folder = given.type is fs.FileType.Directory
        below = system.get_file_info(fs.FileSelector(top, recursive=True)) if is_folder else [given]
    except OSError as error:
        raise CollectError(f"{uri}: {arrow_reason(error)}") from None
    if given.type is fs.FileType.NotFound:
        raise NoSuchPathError(f"{uri}: no such file or folder")
    for info in below:
        path = info.path[len(top) :].strip("/")
        if info.type is fs.FileType.File and not any(part.startswith(".") for part in path.split("/")):
            # s3://bucket/spans?region=eu-west-1
            base, mark, settings = uri.partition("?")
            shown = f"{base.rstrip('/')}/{path}{mark}{settings}" if path else uri
            yield SharedFile(shown, info.path, info.size, uri)


def arrow_reason(error: Exception) -> str:
    """Return what Arrow says of an error, without advice on calling Arrow."""
    return str(error).partition("\n")[0].partition(". To create buckets")[0]


def file_system_of(uri: str) -> tuple[Any, str]:
    """Return the file system behind a URI, and the path there: Arrow's own, or one that fsspec has.

    Raises:
        OSError: Neither knows it, as all that Arrow says.
    """
    fs = _file_systems()
    try:
        system, path = fs.FileSystem.from_uri(uri)
    except ValueError as error:
        try:
            system, path = import_module("fsspec.core").url_to_fs(uri)
        except (ImportError, ValueError):
            system = None
        if system is None:
            raise OSError(str(error)) from None
        system = fs.PyFileSystem(fs.FSSpecHandler(system))
    return system, path


def _file_systems() -> Any:
    try:
        return import_module("pyarrow.fs")
    except ImportError:
        raise CollectError("URIs need pyarrow, on every node: pip install 'spanview[parquet]'") from None


class SharedReader:
    """Reads records of shared files again on any node: behind a URI only what is asked for, unless it is compressed."""

    def __init__(self, files: Sequence[SharedFile], folder: str) -> None:
        self.files = files
        self._folder = folder
        self._reader = RecordReader()
        self._known = set[int]()
        self._streams = dict[int, Any]()
        self._packed = set[int]()

    def note_packed(self, numbers: Iterable[int]) -> None:
        """Take note of files that are compressed."""
        self._packed.update(numbers)

    def read(self, number: int, offset: int, length: int) -> bytes | None:
        """Return the bytes at a place of a file, or None where they are gone."""
        if number not in self._known:
            self._known.add(number)
            self._take_up(number)
        if number in self._streams:
            try:
                data: bytes = self._streams[number].read_at(length, offset)
            except OSError:
                return None
            return data if len(data) == length else None
        return self._reader.read(number, offset, length)

    def close(self) -> None:
        """Release what it holds."""
        for stream in self._streams.values():
            stream.close()
        self._reader.close()

    def _take_up(self, number: int) -> None:
        file = self.files[number]
        if file.uri and number not in self._packed:
            system, _ = file_system_of(file.uri)
            self._streams[number] = system.open_input_file(file.real)
            return
        found = file.found(self._folder)
        if number not in self._packed:
            self._reader.register(number, found.real, *found.identity)
            return
        with open(found.real, "rb") as stream:
            unpacker = Unpacker(stream.read(MAGIC_BYTES))
            stream.seek(0)
            offset = 0
            while data := stream.read(_PIECE_BYTES):
                for piece in unpacker.feed(data):
                    self._reader.spool.write(number, offset, piece)
                    offset += len(piece)


class SharedSources(DetailReader):
    """The reader of a store whose files are some of those that are shared, by the number that each has everywhere."""

    def __init__(self, reader: SharedReader, numbers: Sequence[int]) -> None:
        self._reader, self._numbers = reader, numbers

    def read(self, source: int, offset: int, length: int) -> bytes | None:
        """Return the bytes at a place of a source, or None where they are gone."""
        return self._reader.read(self._numbers[source], offset, length)
