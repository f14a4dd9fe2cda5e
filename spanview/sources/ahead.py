"""Decoding with more than one core: other processes turn files into batches while this one takes them in.

It pays only above some size: starting processes and shipping columns cost some 60 ms. Where processes can't be had
cheaply and safely, which is everywhere but on Linux, the caller decodes by itself.
"""

from __future__ import annotations

import os
import signal
import sys
from array import array
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from spanview.sources.details import reason_of
from spanview.sources.tail import ATTEMPTS, FileTail

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future, ProcessPoolExecutor

    from spanview.formats.rows import Batch
    from spanview.sources.discover import FoundFile

PAYS_FROM: Final = 32 * 1024 * 1024
"""Bytes of all files from which other processes are worth their start."""
_LARGEST: Final = 128 * 1024 * 1024
"""Bytes of a file that one process hands over as a whole; larger ones are read piece by piece here."""
_MOST_PROCESSES: Final = 8
_WAITING: Final = 2
"""Files for each process that are under way or wait to be taken in: memory stays bounded."""


@dataclass(slots=True)
class DecodedFile:
    """What another process made of a file, to its end."""

    bytes: int = 0
    batches: list[Batch] = field(default_factory=list)
    failure: str | None = None
    """Why it could not be read, or not further."""


def decode_ahead(files: Sequence[FoundFile], *, cap: int) -> Iterator[tuple[FoundFile, DecodedFile | None]]:
    """Yield files in their order, decoded by other processes where that pays.

    Args:
        files: Files that nobody writes to any more.
        cap: Bytes of the longest record that is kept.

    Yields:
        A file and what is in it; None where the caller is to read it.
    """
    processes = min(_cores(), _MOST_PROCESSES, len(files))
    pays = sum(found.content for found in files) >= PAYS_FROM
    if not pays or processes < 2 or not sys.platform.startswith("linux"):  # noqa: PLR2004 - one process is this one
        yield from ((found, None) for found in files)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Forked before any thread is started here; workers leave Ctrl+C to this process.
    pool = ProcessPoolExecutor(processes, get_context("fork"), signal.signal, (signal.SIGINT, signal.SIG_IGN))
    try:
        yield from _in_turn(pool, files, cap, processes * _WAITING)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _in_turn(
    pool: ProcessPoolExecutor, files: Sequence[FoundFile], cap: int, most: int
) -> Iterator[tuple[FoundFile, DecodedFile | None]]:
    from concurrent.futures.process import BrokenProcessPool

    under_way: dict[int, Future[DecodedFile]] = {}
    is_broken, following = False, 0
    for at, found in enumerate(files):
        decoded: DecodedFile | None = None
        try:
            while not is_broken and following < len(files) and following < at + most:
                if files[following].content <= _LARGEST:
                    under_way[following] = pool.submit(_decode, files[following], cap)
                following += 1
            if at in under_way and not is_broken:
                decoded = under_way.pop(at).result()
        except BrokenProcessPool:
            # A process was killed, for its memory perhaps: what is left is read here.
            is_broken = True
        yield found, decoded


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _decode(found: FoundFile, cap: int) -> DecodedFile:
    """Decode a whole file; runs in another process."""
    decoded = DecodedFile()
    try:
        tail = FileTail(found, cap=cap, attempts=ATTEMPTS)
    except OSError as error:
        decoded.failure = reason_of(error)
        return decoded
    try:
        while data := tail.read()[1]:
            decoded.bytes += len(data)
            decoded.batches.extend(map(_compact, tail.decode(data)))
    except OSError as error:
        decoded.failure = reason_of(error)
    decoded.batches.extend(map(_compact, tail.finish()))
    return decoded


def _compact(batch: Batch) -> Batch:
    """Return a batch that is quicker to ship: an array goes as it lies in memory, a list item by item."""
    return replace(batch, offsets=array("Q", batch.offsets), lengths=array("I", batch.lengths))
