"""Scanning with more than one core: other processes fill memory that this one shares, and it adopts what they find.

forked         at once, with all that is imported; not where threads run
started        as new programs, which takes them a moment

file numbers   a pipe that all read from: a process that is done takes the next ones
rows           blocks of shared memory, a few for each process, handed back and forth
everything else, texts, problems and what was decoded, comes through a pipe
"""

from __future__ import annotations

import gc
import os
import signal
import struct
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from mmap import mmap
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from subprocess import DEVNULL, Popen
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.index.memory import keep_freed
from spanview.quick.files import QuickFile
from spanview.quick.pages import Pages
from spanview.quick.rows import ROW_BYTES, ScannedRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from multiprocessing.process import BaseProcess

    from spanview.formats.decoder import Decoder
    from spanview.formats.rows import Batch
    from spanview.quick.files import ScanOptions

BLOCK_ROWS: Final = 24 * 1024
"""Rows of a block."""
_RANGE_FORMAT: Final = "=II"
"""The first number of some files, and their end."""
_MAX_RANGES: Final = 4096
"""Ranges that fit into a pipe that isn't read yet."""
_NICENESS: Final = 5
_BLOCKS_PER_PROCESS: Final = 3
"""Blocks of each process: one that is filled, one that is adopted, one that waits."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read to its end, or as far as that was possible."""

    file: int
    """Its number."""
    size: int
    """How far, in bytes."""
    failure: OSError | None
    """Why it was not read further."""
    decoder: Decoder | None = None
    """Of a file that is read on: what is unfinished there; None for nothing."""
    head: bytes = b""
    last: bytes = b""
    """Its first bytes and its last ones, of a file that is read on."""


@dataclass(slots=True)
class BlockReport:
    """What was found in addition to the rows of a block."""

    names: list[str]
    """The texts that are new since the last block."""
    services: list[str]
    processes: list[str]
    batches: list[tuple[int, Batch]]
    """What was decoded, each with the number of its file."""
    read: list[ReadFile]
    under_way: tuple[int, int] | None = None
    """A file, and the offset before which all was sent."""


Job: TypeAlias = "tuple[Sequence[QuickFile], ScanOptions]"
"""All files, and how to scan them."""
Start: TypeAlias = "Callable[[Job, Connection, _Shared, list[Connection]], BaseProcess | Popen[bytes]]"
"""Makes a process, which is given its end of a pipe; it may inherit ends that are this process's own."""
Block: TypeAlias = tuple[int, "ScannedRows", BlockReport]
"""Which process scanned; the rows, until the next block is asked for; and what else was found."""


def scan(
    openers: Sequence[Callable[[], int]],
    offsets: dict[int, int],
    *,
    options: ScanOptions,
    processes: int,
    forks: bool = True,
) -> Iterator[Block]:
    """Scan files, each by one process.

    Args:
        openers: Returns a descriptor of each file.
        offsets: Where to begin in those of the files that are not to be read from their start: where a record does.
        processes: How many to use; 1 for none but this one.
        forks: Whether they are forked, and not started; must not be where threads run.
    """
    remaining = {*range(len(openers))}
    offsets = {**offsets}
    if processes > 1:
        for block in _blocks(([*_files(openers, offsets)], options), processes, _forked if forks else _started):
            yield block
            remaining.difference_update(read.file for read in block[2].read)
            offsets.update([block[2].under_way] if block[2].under_way else [])
    # What is left if processes were killed, perhaps for their memory, is read here.
    if remaining:
        work = Scanning(new_rows(), options)
        for report in work.scan(file for file in _files(openers, offsets) if file.source in remaining):
            yield processes, work.pages.rows, report
            work.pages.rows.count = 0


def new_rows() -> ScannedRows:
    """Return a block of this process's own."""
    return ScannedRows(bytearray(BLOCK_ROWS * ROW_BYTES), BLOCK_ROWS)


class Scanning:
    """The scanning of files."""

    def __init__(self, rows: ScannedRows, options: ScanOptions) -> None:
        self.pages = Pages(rows, options)
        self._leaves_ends = options.leaves_ends
        self._sent_counts = [0, 0, 0]

    def scan(self, files: Iterator[QuickFile]) -> Iterator[BlockReport]:
        """Yield what was found when the rows are full, and at the end; other rows, or none, must be there then."""
        pages = self.pages
        read: list[QuickFile] = []
        for file, finished in pages.read(files):
            read += finished
            if pages.is_full:
                yield self._report(read, (file.source, file.reported_until))
                read.clear()
        yield self._report(read)

    def _report(self, read: list[QuickFile], under_way: tuple[int, int] | None = None) -> BlockReport:
        batches = self.pages.batches()
        ends: list[ReadFile] = []
        for file in read:
            decoder = file.decoder
            if decoder is not None and not self._leaves_ends:
                batches.append((file.source, decoder.close()))
            if decoder is None or not self._leaves_ends or (decoder.is_clean and not decoder.waiting):
                decoder = None
            ends.append(ReadFile(file.source, file.offset, file.failure, decoder, file.head, file.last))
        pages = self.pages
        texts = pages.names.numbers.numbers, pages.services.numbers, pages.processes.numbers
        names, services, processes = (
            [*islice(known, sent, None)] for known, sent in zip(texts, self._sent_counts, strict=True)
        )
        self._sent_counts = [*map(len, texts)]
        return BlockReport(names, services, processes, batches, ends, under_way)


def _files(openers: Sequence[Callable[[], int]], offsets: Mapping[int, int]) -> Iterator[QuickFile]:
    return (QuickFile(number, opener, offsets.get(number, 0)) for number, opener in enumerate(openers))


def _blocks(job: Job, processes: int, start: Start) -> Iterator[Block]:
    numbers = _numbers(len(job[0]))
    workers: list[_Worker] = []
    try:
        # If memory, descriptors or processes are scarce, there are fewer; what none of them scans is left to this one.
        with suppress(OSError):
            for _ in range(processes):
                workers.append(_Worker(start, job, numbers, [worker.pipe for worker in workers]))
        os.close(numbers)
        busy = {*range(len(workers))}
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
    read_end, write_end = os.pipe()
    step = -(-count // _MAX_RANGES)
    os.write(
        write_end,
        b"".join(struct.pack(_RANGE_FORMAT, first, min(first + step, count)) for first in range(0, count, step)),
    )
    os.close(write_end)
    return read_end


@dataclass(frozen=True, slots=True)
class _Shared:
    """Descriptors that another process is given."""

    numbers: int
    """Numbers of files are read from it."""
    memory: int
    """What it finds goes there."""

    def blocks(self) -> list[ScannedRows]:
        """Return the blocks that lie in the memory."""
        view = memoryview(mmap(self.memory, 0))
        size = len(view) // _BLOCKS_PER_PROCESS
        return [
            ScannedRows(view[index * size : (index + 1) * size], size // ROW_BYTES)
            for index in range(_BLOCKS_PER_PROCESS)
        ]


class _Worker:
    """Another process that scans.

    Args:
        numbers: A descriptor from which numbers of files are read.
        pipes: This process's ends of the pipes of those that were started before.
    """

    def __init__(self, start: Start, job: Job, numbers: int, pipes: list[Connection]) -> None:
        with ExitStack() as cleanup:
            memory = os.memfd_create("spanview")
            cleanup.callback(os.close, memory)
            os.ftruncate(memory, _BLOCKS_PER_PROCESS * BLOCK_ROWS * ROW_BYTES)
            shared = _Shared(numbers, memory)
            self._blocks = shared.blocks()
            self.pipe, worker_end = Pipe()
            cleanup.callback(worker_end.close)
            self._process = start(job, worker_end, shared, [*pipes, self.pipe])
        if isinstance(self._process, Popen):
            with suppress(OSError):
                self.pipe.send(job)

    def receive(self) -> tuple[ScannedRows, BlockReport] | None:
        """Return the next block; None when it is done, or was killed."""
        try:
            number, count, report = self.pipe.recv()
        except (EOFError, ConnectionError):
            return None
        rows = self._blocks[number]
        rows.count = count
        return rows, report

    def give_back(self) -> None:
        """Have it fill the oldest block again."""
        with suppress(OSError):
            self.pipe.send(None)

    def stop(self) -> None:
        """End the process."""
        self.pipe.close()
        self._process.terminate()
        if isinstance(self._process, Popen):
            self._process.wait()
        else:
            self._process.join()


def _forked(job: Job, pipe: Connection, shared: _Shared, inherited: list[Connection]) -> BaseProcess:
    """Start a process with all that this one has, ends of pipes among it."""
    process = get_context("fork").Process(target=_work, args=(job, pipe, shared, inherited), daemon=True)
    process.start()
    return process


def _started(_: Job, pipe: Connection, shared: _Shared, __: list[Connection]) -> Popen[bytes]:
    """Start a process as a program of its own, which gets its job by its pipe.

    Its priority is lower than that of the process on screen.
    """
    descriptors = (pipe.fileno(), shared.numbers, shared.memory)
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    return Popen(  # noqa: S603 - this Python and this package
        [sys.executable, "-P", "-c", _PROGRAM, *map(str, descriptors)],
        pass_fds=descriptors,
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )


_PROGRAM: Final = "from spanview.quick.processes import run; run()"


def run() -> None:
    """Scan, as the program that `_started` starts."""
    end, numbers, memory = map(int, sys.argv[1:])
    os.nice(_NICENESS)
    pipe = Connection(end)
    with suppress(EOFError, ConnectionError):
        _work(pipe.recv(), pipe, _Shared(numbers, memory), [])


def _work(job: Job, pipe: Connection, shared: _Shared, inherited: list[Connection]) -> None:
    """Scan in a process of its own."""
    # Ctrl+C is for the process that started this one, which ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Or it would go unnoticed that the process at the other end was killed.
    for connection in inherited:
        connection.close()
    gc.disable()
    keep_freed()
    files, options = job

    def taken() -> Iterator[QuickFile]:
        while run := os.read(shared.numbers, struct.calcsize(_RANGE_FORMAT)):
            yield from files[slice(*struct.unpack(_RANGE_FORMAT, run))]

    blocks = shared.blocks()
    work = Scanning(blocks[0], options)
    with suppress(EOFError, ConnectionError):
        for sent, report in enumerate(work.scan(taken()), 1):
            pipe.send(((sent - 1) % _BLOCKS_PER_PROCESS, work.pages.rows.count, report))
            if sent >= _BLOCKS_PER_PROCESS:
                pipe.recv()
            work.pages.rows = blocks[sent % _BLOCKS_PER_PROCESS]
            work.pages.rows.count = 0
