"""Large folders by the quick way, where that pays: a scan of their bytes, with as many processes as there are cores.

It pays only above some size, because numpy and the processes take a moment to come.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from spanview.sources.details import open_file, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.intake import Intake
    from spanview.sources.discover import FoundFile
    from spanview.sources.reading import Reading
    from spanview.sources.terms import Sink

_MOST_PROCESSES: Final = 8


def share(files: Sequence[FoundFile], *, least: int) -> tuple[list[FoundFile], list[FoundFile]]:
    """Return which files are read quickly, and which as usual: all of them, where it doesn't pay.

    Args:
        files: Files that nobody writes to any more.
        least: Bytes of all files from which on it pays.
    """
    # Where a file has holes, there is less to read than its size says.
    quick = [found for found in files if found.content == found.size]
    if sum(found.size for found in quick) < least or not hasattr(os, "preadv"):
        return [], [*files]
    from spanview.index.bulk import is_known_hash

    if not is_known_hash():
        return [], [*files]
    return quick, [found for found in files if found.content != found.size]


def load_quickly(
    files: Sequence[FoundFile], reading: Reading, sink: Sink, intake: Intake, *, processes: bool
) -> Iterator[int]:
    """Read files to their ends.

    Args:
        files: Files that nobody writes to any more.
        reading: Takes note of them.
        sink: Takes what is in them.
        intake: The index behind it.
        processes: Whether other processes may be started.

    Yields:
        Bytes that were read.
    """
    from spanview.quick.adopt import Adopted
    from spanview.quick.processes import scan

    count = min(_cores(), _MOST_PROCESSES, len(files)) if processes and sys.platform.startswith("linux") else 1
    sources: dict[int, int] = {}

    def source_of(number: int) -> int:
        if number not in sources:
            sources[number] = reading.enter(files[number])
        return sources[number]

    adopted: dict[int, Adopted] = {}
    done: dict[int, int] = {}
    total = 0
    opens = [partial(open_file, found.real, found.device, found.inode) for found in files]
    for worker, rows, found in scan(opens, cap=reading.options.cap, processes=count):
        if worker not in adopted:
            adopted[worker] = Adopted(intake, source_of)
        adopted[worker].take_texts(found.names, found.services)
        adopted[worker].take(rows)
        for number, batch in found.batches:
            sink.add(source_of(number), batch)
        for number, size, failure in found.read:
            if failure is not None:
                reading.report_unreadable(files[number].shown, reason_of(failure))
            if failure is None or size:
                source_of(number)
                sink.tallies.add_bytes(files[number].shown, size)
        done.update((number, size) for number, size, _ in found.read)
        done.update([found.under_way] if found.under_way else [])
        before, total = total, sum(done.values())
        yield total - before


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
