"""From PATHs to regular files: folders are searched, hidden names left out, and only regular files are opened."""

from __future__ import annotations

import glob
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from spanview.model.problems import NoSuchPathError, Problem, ProblemKind

if TYPE_CHECKING:
    from collections.abc import Mapping

STANDARD_INPUT: Final = "-"
STAT_BLOCK_BYTES: Final = 512
"""Bytes of the blocks in which `st_blocks` counts."""
_SMALL_FILE_BYTES: Final = 4096

Stamp: TypeAlias = tuple[int, ...]
"""Differs once anything about an entry of a folder has changed."""


class FoundFile(NamedTuple):
    """A regular file below a PATH."""

    shown: str
    """The PATH as given, joined with the file's path below it."""
    real: str
    """The path without symbolic links, by which the file is opened."""
    device: int
    inode: int
    size: int
    """Bytes."""
    modified_ns: int
    """Nanoseconds since 1970."""
    changed_ns: int
    """When anything about it changed, its times included, in nanoseconds since 1970."""
    stored: int
    """Bytes that it takes on its disk: fewer than its size where it has holes."""

    @property
    def content(self) -> int:
        """About so many bytes are there to be read; a small file may be stored without a block of its own."""
        return min(self.size, max(self.stored, _SMALL_FILE_BYTES))

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode."""
        return self.device, self.inode

    @property
    def stamp(self) -> Stamp:
        """Differs once the file has changed or was replaced."""
        return self.device, self.inode, self.size, self.modified_ns, self.changed_ns


@dataclass(slots=True)
class Listing:
    """What a search found."""

    files: list[FoundFile] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    """Real paths of the folders that were searched, or that hold a file which was given."""
    searched: dict[str, str] = field(default_factory=dict)
    """Shown paths of the folders that were searched, by their real paths."""
    missing: list[str] = field(default_factory=list)
    """PATHs that don't exist."""
    unsure: list[str] = field(default_factory=list)
    """Real paths of what could not be looked at: it may still be there."""
    problems: list[Problem] = field(default_factory=list)
    """What was refused or could not be looked at."""
    given: list[tuple[str, str, Stamp]] = field(default_factory=list)
    """What the PATHs refer to: the shown path, the real one, and its stamp."""
    entries: dict[str, dict[str, Stamp]] = field(default_factory=dict)
    """What isn't hidden in the searched folders, by their real paths, then name."""

    def require_all(self) -> None:
        """Complain about a PATH that doesn't exist.

        Raises:
            NoSuchPathError: There is one.
        """
        if self.missing:
            # A line end in a PATH, or an empty PATH, is hard to see.
            missing = path if (path := self.missing[0]) and path.isprintable() else repr(path)
            raise NoSuchPathError(f"{missing}: no such file or folder")


def discover(paths: list[str]) -> Listing:
    """Search PATHs for regular files, each listed once, in the order of their shown paths within a PATH.

    A PATH may itself be a symbolic link; one that is found while searching is refused.

    Args:
        paths: Files, folders and globs; `-` is left to the caller.
    """
    listing, listed = Listing(), set[str]()
    for path in paths:
        if path != STANDARD_INPUT:
            for given in _expand(path):
                _add_given(given, listing, listed)
    return listing


def is_there(path: str) -> bool:
    """Tell whether a PATH refers to something: standard input, a file, a folder, or a glob that matches."""
    return path == STANDARD_INPUT or any(map(os.path.lexists, _expand(path)))


def _expand(path: str) -> list[str]:
    if glob.has_magic(path) and not os.path.lexists(path):
        return sorted(glob.glob(path, recursive=True)) or [path]
    return [path]


def _add_given(given: str, listing: Listing, listed: set[str]) -> None:
    real = given
    try:
        # Where the current folder was removed, it fails as if there were no such file: there isn't.
        real = os.path.abspath(given)
        real = os.path.realpath(given)
        # Of nothing, realpath makes the current folder.
        status = os.stat(real if given and not _is_pipe(given) else given)
    except (FileNotFoundError, NotADirectoryError):
        listing.missing.append(given)
        return
    except (OSError, ValueError) as error:
        listing.unsure.append(real)
        listing.problems.append(_unreadable(given, error))
        return
    listing.given.append((given, real, stamp_of(status)))
    if stat.S_ISDIR(status.st_mode):
        _search(given, real, listing, listed)
    elif stat.S_ISREG(status.st_mode):
        listing.directories.append(os.path.dirname(real))
        _add(given, real, status, listing, listed)
    else:
        listing.problems.append(_refused(given, f"{_kind(status.st_mode)}; to read a stream, pipe it in and give -"))


def _is_pipe(given: str) -> bool:
    """Tell whether a PATH is a pipe; one that has no name, as a shell gives it, has a real path that isn't there."""
    try:
        return stat.S_ISFIFO(os.stat(given).st_mode)
    except (OSError, ValueError):
        return False


def _search(given: str, real: str, listing: Listing, listed: set[str]) -> None:
    pending = [(given, real)]
    while pending:
        shown, folder = pending.pop()
        listing.directories.append(folder)
        listing.searched.setdefault(folder, shown)
        try:
            with os.scandir(folder) as entries:
                visible = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda e: e.name)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                listing.unsure.append(folder)
                listing.problems.append(_unreadable(shown, error))
            continue
        folders = []
        known = listing.entries[folder] = {}
        for entry in visible:
            entry_shown = os.path.join(shown, entry.name)
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError as error:
                listing.unsure.append(entry.path)
                listing.problems.append(_unreadable(entry_shown, error))
                continue
            known[entry.name] = stamp_of(status)
            if stat.S_ISREG(status.st_mode):
                _add(entry_shown, entry.path, status, listing, listed)
            elif stat.S_ISDIR(status.st_mode):
                folders.append((entry_shown, entry.path))
            else:
                listing.problems.append(_refused(entry_shown, _kind(status.st_mode)))
        pending.extend(reversed(folders))


def _add(shown: str, real: str, status: os.stat_result, listing: Listing, listed: set[str]) -> None:
    if real not in listed:
        listed.add(real)
        listing.files.append(file_of(shown, real, status))


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp of what has this status."""
    identity = status.st_mode, status.st_dev, status.st_ino
    return *identity, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_as_listed(paths: list[str], listing: Listing) -> bool:
    """Tell whether a search would find the same as a previous one; it only compares."""
    expanded = [given for path in paths if path != STANDARD_INPUT for given in _expand(path)]
    try:
        return [
            (given, real := os.path.realpath(given), stamp_of(os.stat(real))) for given in expanded
        ] == listing.given and all(_has_same_entries(folder, known) for folder, known in listing.entries.items())
    except (OSError, ValueError):
        return False


def _has_same_entries(folder: str, known: dict[str, Stamp]) -> bool:
    count = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith("."):
                if known.get(entry.name) != stamp_of(entry.stat(follow_symlinks=False)):
                    return False
                count += 1
    return count == len(known)


def find_one(path: str, searched: Mapping[str, str]) -> FoundFile | None:
    """Return the regular file at a path as a search would; None where there is none, or only a search can say.

    Args:
        searched: Shown paths of the folders that were searched, by their real paths.
    """
    folder, name = os.path.split(path)
    shown = searched.get(folder)
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if shown is None or not stat.S_ISREG(status.st_mode):
        return None
    return file_of(os.path.join(shown, name), path, status)


def file_of(shown: str, real: str, status: os.stat_result) -> FoundFile:
    """Return a regular file as a search finds it."""
    stored = getattr(status, "st_blocks", status.st_size) * STAT_BLOCK_BYTES
    times = status.st_mtime_ns, status.st_ctime_ns
    return FoundFile(shown, real, status.st_dev, status.st_ino, status.st_size, *times, stored)


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link in a folder is not followed; give its target as a PATH"
    kinds = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return f"{kinds.get(stat.S_IFMT(mode), 'no regular file')} is not opened"


def _refused(shown: str, detail: str) -> Problem:
    return Problem(ProblemKind.REFUSED, shown, 0, 0, detail)


def _unreadable(shown: str, error: Exception) -> Problem:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Problem(ProblemKind.UNREADABLE, shown, 0, 0, f"can't be read: {reason}")
