"""The short way from PATHs to a store."""

from __future__ import annotations

from os import PathLike, fspath
from threading import active_count
from typing import IO, TYPE_CHECKING

from spanview.formats.framing.framer import DEFAULT_CAP
from spanview.index.store import Store
from spanview.sources.details import RecordReader
from spanview.sources.places import events_beside
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions, WorkerStart
from spanview.sources.unended import let_ask

if TYPE_CHECKING:
    from collections.abc import Iterable


def load_store(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    cap: int = DEFAULT_CAP,
    use_cache: bool = False,
    standard_input: IO[bytes] | None = None,
) -> Store:
    """Read everything that is there, and return the store.

    Raises:
        NoSuchPathError: A path doesn't exist.
    """
    details = RecordReader()
    store = Store(details)
    let_ask(store)
    # A process that has threads isn't forked.
    processes = WorkerStart.FORKED if active_count() == 1 else WorkerStart.NONE
    names = (fspath(paths),) if isinstance(paths, str | PathLike) else tuple(fspath(path) for path in paths)
    beside = events_beside(names)
    options = ReadOptions(names, cap=cap, processes=processes, use_cache=use_cache, events=beside)
    session = Session(options, store, details, standard_input)
    for _ in session.load():
        pass
    session.keep()
    store.give_up_room()
    return store
