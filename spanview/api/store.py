"""What was read, and its traces."""

from __future__ import annotations

import sys
from os import PathLike, fsdecode
from typing import IO, TYPE_CHECKING

from spanview.api.trace import Trace, traces_of
from spanview.formats.framing.framer import DEFAULT_CAP
from spanview.model.problems import NoSuchPathError
from spanview.sources.discover import STANDARD_INPUT
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.index.store import Store as SpanStore
    from spanview.model.problems import Problem, Summary


class Store:
    """The traces, counts and problems of everything that was read; made by `load`."""

    __slots__ = ("_store",)

    def __init__(self, store: SpanStore) -> None:
        self._store = store

    @property
    def traces(self) -> list[Trace]:
        """All traces by start, then id; spans without a usable trace id are a trace of their own, the last."""
        return traces_of(self._store)

    def trace(self, trace_id: str) -> Trace:
        """Return one trace.

        Args:
            trace_id: Its id, or the first of its 32 hex digits, in either case, with or without `0x`.

        Raises:
            TraceNotFoundError: No trace's id begins like that, or several do; these are listed.
        """
        from spanview.analysis.query.select import find_trace

        if not isinstance(trace_id, str):
            raise TypeError(f"a trace id is a text of hex digits, not {trace_id!r}; traces without one are in `traces`")
        return Trace(self._store, find_trace(self._store, trace_id))

    def summary(self) -> Summary:
        """Count files, bytes, spans, traces and what is wrong with them, as the export's `summary` does."""
        from spanview.index.summary import summary_of

        return summary_of(self._store)

    def problems(self) -> list[Problem]:
        """Return what could not be read, by path and offset."""
        return self._store.problems()

    def __repr__(self) -> str:
        return f"<Store spans={len(self._store.spans)} traces={len(self._store.trace_table)}>"


def load(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]], *, cap: int = DEFAULT_CAP, use_cache: bool = False
) -> Store:
    """Read span files and return all their traces.

    Args:
        paths: A file, a folder (searched deeper too; hidden files left out), a glob, or `-` for standard input, or
            several of them.
        cap: Bytes of the longest record that is kept, at least 1; a longer one is a problem `too_large`.
        use_cache: Whether the index of a large folder is kept in the platform's cache folder, and taken from there.

    Returns:
        A store with `traces`, `trace(id)`, `problems()` and `summary()`; spans read their attributes, events and links
        again from the files when those are asked for.

    Raises:
        NoSuchPathError: A path doesn't exist, or standard input is closed or a terminal.
        TypeError: An open file, or something else that is no path, was given, or `cap` is no int.
        ValueError: `cap` is less than 1.
    """
    if not isinstance(cap, int) or isinstance(cap, bool):
        raise TypeError(f"cap is a number of bytes, an int such as 16 * 1024**2, not {cap!r}")
    if cap < 1:
        raise ValueError(f"cap is at least 1 byte, not {cap!r}")
    names = _names(paths)
    for name in names:
        if "\0" in name:
            raise NoSuchPathError(f"{name!r}: no such file or folder; no path has a NUL in it")
    return Store(load_store(names, cap=cap, use_cache=use_cache, standard_input=_standard_input(names)))


def _names(paths: object) -> tuple[str, ...]:
    if isinstance(paths, str | PathLike):
        return (fsdecode(paths),)
    # Open files can be iterated over, too, and their lines are no paths.
    if isinstance(paths, bytes | bytearray) or hasattr(paths, "read") or not hasattr(paths, "__iter__"):
        raise TypeError(_no_path(paths))
    names = []
    for path in paths:
        if not isinstance(path, str | PathLike):
            raise TypeError(_no_path(path))
        names.append(fsdecode(path))
    return tuple(names)


def _no_path(value: object) -> str:
    hint = "give the file's name, or - for standard input" if hasattr(value, "read") else "a path is text or a Path"
    return f"spanview.load takes paths, not an object of type {type(value).__name__}: {hint}"


def _standard_input(names: tuple[str, ...]) -> IO[bytes] | None:
    """Return standard input where a path is `-`.

    Raises:
        NoSuchPathError: Nothing can come from it.
    """
    if STANDARD_INPUT not in names:
        return None
    stream: IO[bytes] | None = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.closed or stream.isatty():
        raise NoSuchPathError("-: standard input is closed, or a terminal: pipe spans in, or give a path")
    return stream
