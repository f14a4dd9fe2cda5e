"""Large folders by the quick way, where that pays: a scan of their bytes, with as many processes as there are cores.

It pays only above some size, because numpy and the processes take time to start.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from spanview.quick.cores import process_count
from spanview.sources.details import open_file, reason_of
from spanview.sources.terms import WorkerStart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.quick.processes import BlockReport, ReadFile
    from spanview.sources.discover import FoundFile
    from spanview.sources.reading import Reading
    from spanview.sources.tail import FileTail


def share(files: Sequence[FoundFile], *, least: int) -> tuple[list[FoundFile], list[FoundFile]]:
    """Return which files are read quickly, and which as usual: all of them, where it doesn't pay."""
    # Where a file has holes, there is less to read than its size says.
    quick = [file for file in files if file.content == file.size]
    if sum(file.size for file in quick) < least or not hasattr(os, "preadv"):
        return [], [*files]
    return quick, [file for file in files if file.content != file.size]


def load_quickly(
    files: Sequence[FoundFile],
    reading: Reading,
    partly_read: FileTail | None,
    go_on: Callable[[FoundFile, int, ReadFile], Iterator[int]] | None,
) -> Iterator[int]:
    """Read files to their ends.

    Args:
        go_on: Reads a file on that was read to its end, given its number in the store; None if none grows.

    Yields:
        Bytes that were read.
    """
    from spanview.quick.files import ScanOptions
    from spanview.quick.processes import scan

    kind = reading.options.processes
    noted = _Noted(files, reading, partly_read)
    options = ScanOptions(reading.options.cap, reading.options.decodes_all, leaves_ends=go_on is not None)
    adopted: dict[int, Adopted] = {}
    opens = [partial(open_file, file.real, file.device, file.inode) for file in files]
    offsets = {} if partly_read is None else {0: partly_read.decoder.offset}
    processes = process_count(len(files)) if kind is not WorkerStart.NONE else 1
    for worker, rows, report in scan(
        opens, offsets, options=options, processes=processes, forks=kind is WorkerStart.FORKED
    ):
        # Not before other processes are at work.
        from spanview.quick.adopt import Adopted

        if worker not in adopted:
            adopted[worker] = Adopted(reading.store.intake, noted.source_of)
        # These say where the documents are that several rows share.
        for number, batch in report.batches:
            reading.store.add(noted.source_of(number), batch)
        adopted[worker].take_texts(report.names, report.services, report.processes)
        adopted[worker].take(rows)
        yield noted.count(report)
        if go_on is not None:
            for read in report.read:
                yield from go_on(files[read.file], noted.source_of(read.file), read)


class _Noted:
    """What the store knows of the files."""

    def __init__(self, files: Sequence[FoundFile], reading: Reading, partly_read: FileTail | None) -> None:
        self._files, self._reading = files, reading
        self._sources: dict[int, int] = {} if partly_read is None else {0: partly_read.source}
        self._counted: dict[int, int] = {} if partly_read is None else {0: partly_read.position}

    def source_of(self, number: int) -> int:
        """Return the number that a file has in the store; it is noted there when it is asked for first."""
        if number not in self._sources:
            self._sources[number] = self._reading.enter(self._files[number])
        return self._sources[number]

    def count(self, report: BlockReport) -> int:
        """Count the bytes that were read, and report which files could not be; return how many are new."""
        sizes = [(read.file, read.size) for read in report.read if read.failure is None or read.size]
        for read in report.read:
            if read.failure is not None:
                self._reading.report_unreadable(self._files[read.file].shown, reason_of(read.failure))
        total = 0
        for number, size in [*sizes, *([report.under_way] if report.under_way else [])]:
            counted = self._counted.get(number, 0)
            self._counted[number] = max(size, counted)
            self.source_of(number)
            self._reading.store.tallies.add_bytes(self._files[number].shown, self._counted[number] - counted)
            total += self._counted[number] - counted
        return total
