"""Scanning with more than one core: forked processes fill memory that this one shares, and it adopts what they find.

file numbers   a pipe that all read from: who is done with some files takes the next ones
rows           blocks of shared memory, a few for each process, handed back and forth
everything else, texts, problems and what was decoded, comes through a pipe
"""

from __future__ import annotations

import gc
import os
import signal
import struct
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from mmap import mmap
from multiprocessing import get_context
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.quick.files import QuickFile
from spanview.quick.pages import Pages
from spanview.quick.rows import ROW_BYTES, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from multiprocessing.connection import Connection

    from spanview.formats.rows import Batch
    from spanview.quick.files import How

CAPACITY: Final = 32 * 1024
"""Rows of a block."""
_NUMBERS: Final = "=II"
"""The first and the end of some files."""
_MOST_NUMBERS: Final = 4096
"""So many of them fit into a pipe that nobody reads yet."""
_BLOCKS: Final = 3
"""Blocks of each process: one that is filled, one that is adopted, one that waits."""


@dataclass(slots=True)
class Found:
    """What was found besides the rows of a block."""

    names: list[str]
    """The texts that are new since the last block."""
    services: list[str]
    batches: list[tuple[int, Batch]]
    """What was decoded, each with the number of its file."""
    read: list[tuple[int, int, OSError | None]]
    """Files that were read: number, bytes, and why not further than that."""
    under_way: tuple[int, int] | None = None
    """A file of which all was told that begins before an offset."""


Block: TypeAlias = tuple[int, "Rows", Found]
"""Which process scanned, the rows, which are its own again when the next block is asked for, and what was found."""


def scan(opens: Sequence[Callable[[], int]], offsets: dict[int, int], *, how: How, processes: int) -> Iterator[Block]:
    """Scan files, each by one process.

    Args:
        opens: Returns a descriptor of each file.
        offsets: Where to begin in those of the files that are not to be read from their start: where a record does.
        how: How to scan.
        processes: How many to start; 1 for none but this one, which must be so where threads run.
    """
    left = {*range(len(opens))}
    offsets = {**offsets}
    if processes > 1:
        for block in _blocks([*_files(opens, offsets)], how, processes):
            yield block
            left.difference_update(number for number, _, _ in block[2].read)
            offsets.update([block[2].under_way] if block[2].under_way else [])
    # What is left when processes were killed, for their memory perhaps, is read here.
    if left:
        work = _Work(Rows(bytearray(CAPACITY * ROW_BYTES), CAPACITY), how)
        for found in work.scan(file for file in _files(opens, offsets) if file.source in left):
            yield processes, work.pages.rows, found
            work.pages.rows.count = 0


class _Work:
    """The scanning of files.

    Args:
        rows: Takes the spans that fit.
        how: How to scan.
    """

    def __init__(self, rows: Rows, how: How) -> None:
        self.pages = Pages(rows, how)
        self._told = [0, 0]

    def scan(self, files: Iterator[QuickFile]) -> Iterator[Found]:
        """Yield what was found when the rows are full, and at the end; other rows, or none, must be there then."""
        pages = self.pages
        read: list[QuickFile] = []
        for file, done in pages.read(files):
            read += done
            if pages.rows.count + pages.most_rows > pages.rows.capacity:
                yield self._found(read, (file.source, file.settled))
                read.clear()
        yield self._found(read)

    def _found(self, read: list[QuickFile], under_way: tuple[int, int] | None = None) -> Found:
        batches = self.pages.batches()
        batches += [(file.source, file.decoder.close()) for file in read if file.decoder is not None]
        texts = self.pages.scanner.names.numbers, self.pages.scanner.services.numbers
        names, services = ([*islice(new, told, None)] for new, told in zip(texts, self._told, strict=True))
        self._told = [*map(len, texts)]
        return Found(names, services, batches, [(file.source, file.bytes, file.failure) for file in read], under_way)


def _files(opens: Sequence[Callable[[], int]], offsets: Mapping[int, int]) -> Iterator[QuickFile]:
    return (QuickFile(number, each, offsets.get(number, 0)) for number, each in enumerate(opens))


def _blocks(files: Sequence[QuickFile], how: How, processes: int) -> Iterator[Block]:
    numbers = _numbers(len(files))
    workers: list[_Worker] = []
    for _ in range(processes):
        workers.append(_Worker(files, how, numbers, [worker.pipe for worker in workers]))
    os.close(numbers)
    busy = {*range(processes)}
    try:
        while busy:
            ready = wait([workers[number].pipe for number in busy])
            for number in [number for number in busy if workers[number].pipe in ready]:
                block = workers[number].receive()
                if block is None:
                    busy.discard(number)
                    continue
                yield number, *block
                workers[number].give_back()
    finally:
        for worker in workers:
            worker.stop()


def _numbers(count: int) -> int:
    """Return a descriptor from which numbers of files are read, each the first of a run; a lock could stay locked."""
    taken, given = os.pipe()
    step = -(-count // _MOST_NUMBERS)
    os.write(given, b"".join(struct.pack(_NUMBERS, at, min(at + step, count)) for at in range(0, count, step)))
    os.close(given)
    return taken


class _Worker:
    """Another process that scans.

    Args:
        files: All files.
        how: How to scan.
        numbers: A descriptor from which numbers of files are read.
        pipes: This process's ends of the pipes of those that were started before.
    """

    def __init__(self, files: Sequence[QuickFile], how: How, numbers: int, pipes: list[Connection]) -> None:
        context = get_context("fork")
        self._blocks = [Rows(memoryview(mmap(-1, CAPACITY * ROW_BYTES)), CAPACITY) for _ in range(_BLOCKS)]
        self.pipe, its_end = context.Pipe()
        arguments = (its_end, [*pipes, self.pipe], self._blocks, files, how, numbers)
        self._process = context.Process(target=_work, args=arguments, daemon=True)
        self._process.start()
        its_end.close()

    def receive(self) -> tuple[Rows, Found] | None:
        """Return the next block; None when it is done, or was killed."""
        try:
            number, count, found = self.pipe.recv()
        except (EOFError, ConnectionError):
            return None
        rows = self._blocks[number]
        rows.count = count
        return rows, found

    def give_back(self) -> None:
        """Have it fill the oldest block again."""
        with suppress(OSError):
            self.pipe.send(None)

    def stop(self) -> None:
        """End the process."""
        self.pipe.close()
        self._process.terminate()
        self._process.join()


def _work(  # noqa: PLR0913, PLR0917 - all that a process is given
    pipe: Connection,
    inherited: list[Connection],
    blocks: list[Rows],
    files: Sequence[QuickFile],
    how: How,
    numbers: int,
) -> None:
    """Scan in a process of its own."""
    # Ctrl+C is for the process that started this one, which ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Or nobody would see that the process at the other end was killed.
    for each in inherited:
        each.close()
    gc.disable()

    def taken() -> Iterator[QuickFile]:
        while run := os.read(numbers, struct.calcsize(_NUMBERS)):
            yield from files[slice(*struct.unpack(_NUMBERS, run))]

    work = _Work(blocks[0], how)
    with suppress(EOFError, ConnectionError):
        for sent, found in enumerate(work.scan(taken()), 1):
            pipe.send(((sent - 1) % _BLOCKS, work.pages.rows.count, found))
            if sent >= _BLOCKS:
                pipe.recv()
            work.pages.rows = blocks[sent % _BLOCKS]
            work.pages.rows.count = 0
