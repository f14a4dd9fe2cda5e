"""Large folders by the quick way, where that pays: a scan of their bytes, with as many processes as there are cores.

It pays only above some size, because numpy and the processes take time to start.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Final

from spanview.quick.cores import process_count
from spanview.sources.details import open_file, reason_of
from spanview.sources.terms import WorkerStart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from spanview.quick.files import QuickFile
    from spanview.quick.processes import BlockReport, ReadFile
    from spanview.sources.discover import FoundFile
    from spanview.sources.reading import Reading
    from spanview.sources.tail import FileTail


_LESS: Final = 24
"""What is new is scanned from so many times fewer bytes on than a folder."""
_MAX_GROWN_BYTES: Final = 1 << 20
"""Bytes of one file that are scanned with others."""
_MAX_WAITING_BYTES: Final = 8 << 20
"""Bytes of all files that wait to be scanned."""


def share(files: Sequence[FoundFile], *, least: int) -> tuple[list[FoundFile], list[FoundFile]]:
    """Return which files are read quickly, and which as usual: all of them, where it doesn't pay."""
    # Where a file has holes, there is less to read than its size says.
    quick = [file for file in files if file.content == file.size]
    if sum(file.size for file in quick) < least or not hasattr(os, "preadv"):
        return [], [*files]
    return quick, [file for file in files if file.content != file.size]


def pays(tails: Iterable[FileTail], *, least: int) -> bool:
    """Tell whether so much is new in some files that it is scanned together.

    Args:
        least: Bytes of a folder from which on that is scanned; nothing needs to be started for this.
    """
    growths = [tail.growth for tail in tails]
    return bool(growths) and sum(growths) * _LESS >= least and hasattr(os, "preadv")


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
        adopted[worker].take_all(reading.store, rows, report)
        yield noted.count(report)
        if go_on is not None:
            for read in report.read:
                yield from go_on(files[read.file], noted.source_of(read.file), read)


class GrowingFiles:
    """Scans what is new in files that grow, of many at once, in this process."""

    def __init__(self, reading: Reading) -> None:
        from spanview.quick.adopt import Adopted
        from spanview.quick.files import ScanOptions
        from spanview.quick.processes import Scanning, new_rows

        options = reading.options
        self._reading, self._store = reading, reading.store
        self._scanning = Scanning(new_rows(), ScanOptions(options.cap, options.decodes_all, leaves_ends=True))
        self._adopted = Adopted(self._store.intake, int)
        self._read: dict[int, tuple[FileTail, bytes]] = {}
        self._files: list[QuickFile] = []

    def read(self, tails: Sequence[FileTail]) -> Iterator[tuple[int, bool]]:
        """Read files on that have grown, live; yield the bytes of each, and whether there may be more."""
        waiting = 0
        for tail in tails:
            data = self._reading.next_bytes(tail, live=True, is_first=True, most=_MAX_GROWN_BYTES)
            if not data:
                self._reading.flush(tail)
                continue
            if tail.can_be_scanned:
                self._add(tail, data)
                waiting += len(data)
            else:
                self._reading.decode(tail, data)
            if waiting >= _MAX_WAITING_BYTES:
                self._scan()
                waiting = 0
            if has_more := len(data) == _MAX_GROWN_BYTES:
                tail.look_again()
            yield len(data), has_more
        self._scan()

    def _add(self, tail: FileTail, data: bytes) -> None:
        """Have the bytes that were read last of a file scanned, behind what is unfinished in it."""
        from spanview.quick.files import ReadBytes

        unread = tail.decoder.unread
        self._read[tail.source] = tail, data
        self._files.append(ReadBytes(tail.source, unread + data, tail.position - len(data) - len(unread)))

    def _scan(self) -> None:
        """Put what is new into the store."""
        import numpy as np

        rows, lasts = self._scanning.pages.rows, dict[int, int]()
        for report in self._scanning.scan(iter(self._files)):
            sources, which = np.unique(rows["source"], return_inverse=True)
            latest = np.zeros(len(sources), np.uint64)
            np.maximum.at(latest, which, rows["offset"])
            places = [*zip(sources.tolist(), latest.tolist(), strict=True)]
            places += [(source, batch.offsets[-1]) for source, batch in report.batches if batch.offsets]
            for source, offset in places:
                lasts[source] = max(offset, lasts.get(source, 0))
            self._adopted.take_all(self._store, rows, report)
            rows.count = 0
            for read in report.read:
                tail, data = self._read.pop(read.file)
                tail.take_scanned(data, lasts.get(read.file), read.decoder)
        self._files.clear()


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
