"""Exports into files: the whole new file or the old one as it was, never something in between."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Final

from spanview.model.problems import ExportError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_NO_LINKS: Final = frozenset((errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK))
"""What a file system without hard links answers to one."""

_WRITE: Final = os.O_WRONLY | getattr(os, "O_CLOEXEC", 0)
_UNNAMED: Final = getattr(os, "O_TMPFILE", 0)
_OPEN_FILE: Final = "/proc/self/fd/{}"
"""What an open file can be linked to a name by."""

_CAUSES: Final = {
    errno.ENOENT: "its folder doesn't exist: create it first, or give another file",
    errno.ENOTDIR: "what should be its folder is a file: give another file",
    errno.EACCES: "no permission: give a file in a folder that you may write to",
    errno.EPERM: "no permission: give a file in a folder that you may write to",
    errno.EROFS: "the file system is read-only: give a file elsewhere",
    errno.ENOSPC: "the disk is full: free some space, or give a file elsewhere",
    errno.EDQUOT: "the disk quota is used up: free some space, or give a file elsewhere",
    errno.EFBIG: "the file would be larger than is allowed there: give a file elsewhere",
    errno.ENAMETOOLONG: "the name is too long: give a shorter one",
    errno.ELOOP: "its symbolic links run in a circle: give another file",
}


_MAX_PATH_LENGTH: Final = 70


def write_anew(stem: str, ending: str, content: Callable[[], Iterable[bytes]]) -> str:
    """Write a file of the current folder whose name is free, such as `stem-2.json`, and return its path.

    Args:
        content: Makes the content anew whenever it is called.

    Raises:
        ExportError: It can't be written.
    """
    for number in count(1):
        path = f"{stem}.{ending}" if number == 1 else f"{stem}-{number}.{ending}"
        if os.path.lexists(path):
            continue
        try:
            write_atomically(path, content(), force=False)
        except ExportError:
            # Somebody else may just have taken the name.
            if not os.path.lexists(path):
                raise
        else:
            return path
    raise AssertionError  # the numbers don't end


def shown_path(path: str) -> str:
    """Return a path from the root on, as far as a footer has room for it."""
    try:
        whole = os.path.abspath(path)
    except OSError:
        return path
    return whole if len(whole) <= _MAX_PATH_LENGTH else f"…{whole[1 - _MAX_PATH_LENGTH :]}"


def write_atomically(path: str, chunks: Iterable[bytes], *, force: bool) -> None:
    """Write a file so that at every moment the path has either what it had before or the whole new content.

    The content goes to a new file in the same folder, is synced to the disk and then takes the path. That file has no
    name before, where the system knows such files: whatever ends the export, even a kill, leaves nothing behind.
    Elsewhere it has a hidden one, and only a kill leaves it there. A symbolic link is followed, and stays.

    Raises:
        ExportError: The target exists and `force` isn't given, it is no regular file, or it can't be written.
    """
    target, mode = check_target(path, force=force)
    with _explained(path):
        folder = os.path.dirname(target) or "."
        temporary = os.path.join(folder, f".spanview-{secrets.token_hex(8)}.tmp")
        unnamed = _open_unnamed(folder)
        descriptor = os.open(temporary, _WRITE | os.O_CREAT | os.O_EXCL, 0o666) if unnamed is None else unnamed
    try:
        try:
            with _explained(path):
                if mode is not None:
                    os.chmod(temporary if unnamed is None else unnamed, mode)
            _fill(path, descriptor, chunks)
            if unnamed is not None:
                with _explained(path):
                    _name(unnamed, target, temporary, force=force)
        finally:
            os.close(descriptor)
        if unnamed is None:
            with _explained(path):
                if force:
                    os.replace(temporary, target)
                else:
                    _take_free_path(temporary, target)
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    _sync_folder(folder)


def check_target(path: str, *, force: bool) -> tuple[str, int | None]:
    """Return where the content goes, and the permissions of what is replaced; None where nothing is.

    Raises:
        ExportError: As there, as far as it can be told before there is any content.
    """
    with _explained(path):
        target = os.path.realpath(path) if os.path.islink(path) and force else path
        return target, _mode_of_old(path, target, force=force)


def _open_unnamed(folder: str) -> int | None:
    """Open a file that has no name yet, or return None where the system doesn't know such files."""
    if not _UNNAMED:
        return None
    try:
        descriptor = os.open(folder, _UNNAMED | _WRITE, 0o666)
    except OSError:
        # Whatever else the reason may be, a file with a name will meet it too.
        return None
    if os.path.exists(_OPEN_FILE.format(descriptor)):
        return descriptor
    os.close(descriptor)
    return None


def _name(unnamed: int, target: str, temporary: str, *, force: bool) -> None:
    """Give the file that has no name yet the target's; linking never replaces, and only then a second name is needed.

    Raises:
        FileExistsError: The path is taken, and `force` isn't given.
    """
    try:
        _link(unnamed, target)
    except FileExistsError:
        if not force:
            raise
        _link(unnamed, temporary)
        os.replace(temporary, target)


def _link(unnamed: int, path: str) -> None:
    # Python follows the link in /proc only where a descriptor is given, though beside an absolute path it says nothing.
    os.link(_OPEN_FILE.format(unnamed), path, src_dir_fd=unnamed, follow_symlinks=True)


def _mode_of_old(path: str, target: str, *, force: bool) -> int | None:
    """Return the permissions of the file that is to be replaced, None where there is none; refuse what is no file."""
    try:
        mode = os.stat(target).st_mode if force else os.lstat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise ExportError(f"can't write {path}: it is a folder; give the name of a file in it")
    if not force:
        raise _exists(path)
    if not stat.S_ISREG(mode):
        raise ExportError(f"can't write {path}: it isn't a regular file; give - and redirect the output with >")
    return mode & 0o777


def _exists(path: str) -> ExportError:
    return ExportError(f"{path} already exists: give --force to replace it, or another file")


def _fill(path: str, descriptor: int, chunks: Iterable[bytes]) -> None:
    for chunk in chunks:
        rest = memoryview(chunk)
        with _explained(path):
            while rest:
                rest = rest[os.write(descriptor, rest) :]
    with _explained(path):
        os.fsync(descriptor)


def _take_free_path(temporary: str, path: str) -> None:
    """Give the temporary file its name, unless another has it; between check and rename that can't be excluded."""
    try:
        if os.name == "nt":
            os.rename(temporary, path)  # which never replaces there
        else:
            os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _take_free_path_without_links(temporary, path)


def _take_free_path_without_links(temporary: str, path: str) -> None:
    """Hold the path with an empty file of our own, and replace that."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(path)
        raise


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn what the system says into one line with what to do about it."""
    try:
        yield
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        cause = _CAUSES.get(error.errno or 0, f"{error.strerror or error}: give another file")
        raise ExportError(f"can't write {path}: {cause}") from error
    except ValueError as error:
        raise ExportError(f"can't write {path!r}: {error}; give another file") from error


def _sync_folder(folder: str) -> None:
    """Bring the new name to the disk too, where the system lets a folder be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
