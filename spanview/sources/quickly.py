"""Large folders by the quick way, where that pays: a scan of their bytes, with as many processes as there are cores.

It pays only above some size, because numpy and the processes take a moment to come.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from spanview.index.slots import IS_KNOWN_HASH
from spanview.sources.details import open_file, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.index.intake import Intake
    from spanview.sources.discover import FoundFile
    from spanview.sources.reading import Reading

_MOST_PROCESSES: Final = 8


def share(files: Sequence[FoundFile], *, least: int) -> tuple[list[FoundFile], list[FoundFile]]:
    """Return which files are read quickly, and which as usual: all of them, where it doesn't pay.

    Args:
        files: Files that nobody writes to any more.
        least: Bytes of all files from which on it pays.
    """
    # Where a file has holes, there is less to read than its size says.
    quick = [found for found in files if found.content == found.size]
    if sum(found.size for found in quick) < least or not (IS_KNOWN_HASH and hasattr(os, "preadv")):
        return [], [*files]
    return quick, [found for found in files if found.content != found.size]


@dataclass(frozen=True, slots=True)
class Begun:
    """A file of which some was read already."""

    source: int
    """Its number in the sink."""
    offset: int
    """Where the first record begins that was not told."""
    position: int
    """So many bytes were counted."""


def load_quickly(files: Sequence[FoundFile], reading: Reading, intake: Intake, begun: Begun | None) -> Iterator[int]:
    """Read files to their ends.

    Args:
        files: Files that nobody writes to any more.
        reading: Takes note of them, and what is in them.
        intake: The index behind it.
        begun: What is known of the first one.

    Yields:
        Bytes that were read.
    """
    from spanview.quick.files import How
    from spanview.quick.processes import scan

    forks = reading.options.processes and sys.platform.startswith("linux")
    sources: dict[int, int] = {} if begun is None else {0: begun.source}
    counted: dict[int, int] = {} if begun is None else {0: begun.position}
    offsets: dict[int, int] = {} if begun is None else {0: begun.offset}

    def source_of(number: int) -> int:
        if number not in sources:
            sources[number] = reading.enter(files[number])
        return sources[number]

    def count(number: int, size: int) -> int:
        more = max(0, size - counted.get(number, 0))
        counted[number] = max(size, counted.get(number, 0))
        source_of(number)
        reading.count(files[number], more)
        return more

    how = How(reading.options.cap, reading.options.decodes_all)
    adopted: dict[int, Adopted] = {}
    opens = [partial(open_file, found.real, found.device, found.inode) for found in files]
    processes = min(_cores(), _MOST_PROCESSES, len(files)) if forks else 1
    for worker, rows, found in scan(opens, offsets, how=how, processes=processes):
        # Not before other processes are at work.
        from spanview.quick.adopt import Adopted

        if worker not in adopted:
            adopted[worker] = Adopted(intake, source_of)
        adopted[worker].take_texts(found.names, found.services)
        adopted[worker].take(rows)
        for number, batch in found.batches:
            reading.take(source_of(number), batch)
        for number, _, failure in found.read:
            if failure is not None:
                reading.report_unreadable(files[number].shown, reason_of(failure))
        told = [(number, size) for number, size, failure in found.read if failure is None or size]
        yield sum(count(number, size) for number, size in [*told, *([found.under_way] if found.under_way else [])])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
