"""Where what nodes export goes: a folder that all of them see, or one behind a URI.

            while it is written      when all of it is there       if it fails
            -------------------      -----------------------       -----------
a folder    under hidden names       all parts get their names     the old parts stay, the new ones go
a URI       under its name, which    the old parts go that aren't  the new parts go
            it has once it is whole  replaced
"""

from __future__ import annotations

import glob
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeAlias

from spanview.cluster.shared_files import arrow_reason, file_system_of, is_uri
from spanview.exports.by_name import ENDINGS
from spanview.exports.files import write_atomically
from spanview.model.problems import ExportError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def part_folder(path: str) -> PartFolder | None:
    """Return the folder of parts that an `-o` means, or None if it means a file.

    Args:
        path: A folder, whether it is there or not, ends in `/`.

    Raises:
        ExportError: It can't be looked at.
    """
    if is_uri(path):
        is_folder = path.partition("?")[0].endswith("/") or _type_of(path).name == "Directory"
        return _RemoteFolder(path) if is_folder else None
    if path.endswith("/") or os.path.isdir(path):
        # Where the nodes work, the name that is given here may mean another folder.
        return _SharedFolder(os.path.abspath(path), f".spanview-{token_hex(8)}-")
    return None


def part_name(number: int, form: str) -> str:
    """Return the name of a part, such as `part-00000.jsonl`."""
    return f"part-{number:05}.{ENDINGS[form]}"


def write_behind(uri: str, chunks: Iterable[bytes]) -> None:
    """Write a file behind a URI; if it fails, there is none.

    Raises:
        ExportError: It can't be written.
    """
    folder, name = _divided(uri)
    try:
        folder.write(name, chunks)
    except BaseException:
        folder.give_up([name])
        raise


def check_behind(uri: str, *, force: bool) -> None:
    """Complain before anything is read; make the folder of a file where it isn't there.

    Raises:
        ExportError: There is such a file, or its folder can't be made.
    """
    if _type_of(uri).name == "File" and not force:
        raise ExportError(f"{uri} already exists: give --force to replace it, or another file")
    folder, _ = _divided(uri)
    folder.make()


@dataclass(frozen=True, slots=True)
class _SharedFolder:
    """A folder that all nodes see; what can't be done there is an `ExportError`."""

    path: str
    hidden: str
    """How names begin meanwhile; hidden from all that reads the folder, this program included."""

    def parts(self, form: str) -> list[str]:
        """Return the names of the parts that it has of exports in a format."""
        return glob.glob(f"part-*.{ENDINGS[form]}", root_dir=self.path)

    def make(self) -> None:
        """Make the folder where it isn't there."""
        with _writing(self.path):
            os.makedirs(self.path, exist_ok=True)

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a part, on any node."""
        write_atomically(os.path.join(self.path, self.hidden + name), chunks, force=False)

    def finish(self, names: Sequence[str]) -> None:
        """Let parts be there, which all are written."""
        try:
            for name in names:
                os.replace(os.path.join(self.path, self.hidden + name), os.path.join(self.path, name))
        except FileNotFoundError:
            raise ExportError(
                f"can't write {self.path}: a node wrote to another folder; all nodes must share it"
            ) from None

    def give_up(self, names: Sequence[str]) -> None:
        """Remove what was written of some parts."""
        for name in names:
            with suppress(OSError):
                os.unlink(os.path.join(self.path, self.hidden + name))

    def remove(self, name: str) -> None:
        """Remove a part."""
        with _writing(self.path):
            os.unlink(os.path.join(self.path, name))


@dataclass(frozen=True, slots=True)
class _RemoteFolder:
    """A folder behind a URI, with the same methods."""

    uri: str

    def parts(self, form: str) -> list[str]:
        from pyarrow.fs import FileSelector

        with _writing(self.uri):
            system, top = file_system_of(self.uri)
            found = system.get_file_info(FileSelector(top, allow_not_found=True))
        names = (info.base_name for info in found if info.is_file)
        return [name for name in names if name.startswith("part-") and name.endswith(f".{ENDINGS[form]}")]

    def make(self) -> None:
        if _type_of(self.uri).name == "Directory":
            return
        with _writing(self.uri):
            system, top = file_system_of(self.uri)
            system.create_dir(top, recursive=True)

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        with _writing(self.uri):
            system, path = self._at(name)
            with system.open_output_stream(path) as stream:
                for chunk in chunks:
                    stream.write(chunk)

    def finish(self, names: Sequence[str]) -> None:
        """They are there."""

    def give_up(self, names: Sequence[str]) -> None:
        for name in names:
            with suppress(ExportError):
                self.remove(name)

    def remove(self, name: str) -> None:
        with _writing(self.uri):
            system, path = self._at(name)
            system.delete_file(path)

    def _at(self, name: str) -> tuple[Any, str]:
        system, top = file_system_of(self.uri)
        return system, f"{top.rstrip('/')}/{name}"


PartFolder: TypeAlias = _SharedFolder | _RemoteFolder
"""A folder of parts, as tasks get to know it."""


def _divided(uri: str) -> tuple[_RemoteFolder, str]:
    """Return the folder of a file, and its name there."""
    # s3://bucket/spans.jsonl?region=eu-west-1
    path, mark, settings = uri.partition("?")
    folder, _, name = path.rpartition("/")
    return _RemoteFolder(folder + mark + settings), name


def _type_of(uri: str) -> Any:
    with _writing(uri):
        system, path = file_system_of(uri)
        return system.get_file_info(path).type


@contextmanager
def _writing(where: str) -> Iterator[None]:
    """Say of what can't be done that it is writing there that can't.

    Raises:
        ExportError: It can't.
    """
    try:
        yield
    except OSError as error:
        reason = arrow_reason(error) if is_uri(where) else error.strerror or error
        raise ExportError(f"can't write {where}: {reason}") from None
