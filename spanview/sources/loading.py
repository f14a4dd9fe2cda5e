"""The short way from PATHs to a store."""

from __future__ import annotations

from os import PathLike, fspath
from threading import active_count
from typing import TYPE_CHECKING

from spanview.formats.framing import DEFAULT_CAP
from spanview.index.store import Store
from spanview.sources.details import Details
from spanview.sources.session import Session
from spanview.sources.terms import Processes, ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterable


def load(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]], *, cap: int = DEFAULT_CAP, use_cache: bool = False
) -> Store:
    """Read span files and return all their traces.

    Args:
        paths: A file, a folder (searched deeper too; hidden files left out) or a glob, or several of them.
        cap: Bytes of the longest record that is kept; a longer one is a problem `too_large`.
        use_cache: Whether the index of a large folder is kept in the platform's cache folder, and taken from there.

    Returns:
        A store with `traces`, `problems()` and `summary()`; spans read their attributes, events and links again from
        the files when those are asked for.

    Raises:
        NoSuchPathError: A path doesn't exist.
    """
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    details = Details()
    store = Store(details)
    # A process that has threads isn't forked.
    names = tuple(fspath(path) for path in given)
    processes = Processes.FORKED if active_count() == 1 else Processes.NONE
    options = ReadOptions(names, cap=cap, processes=processes, use_cache=use_cache)
    session = Session(options, store, details)
    for _ in session.load():
        pass
    session.keep()
    store.give_up_room()
    return store
