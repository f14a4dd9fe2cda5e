"""What a session is given, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from spanview.formats.framing.framer import DEFAULT_CAP

SCAN_FROM_BYTES: Final = 24 * 1024 * 1024
"""Bytes from which numpy and other processes are worth their start."""


class WorkerStart(Enum):
    """How other processes that share the work are started."""

    NONE = "none"
    FORKED = "forked"
    """At once; not where threads run already."""
    STARTED = "started"
    """As new programs, which takes a moment."""


class ReadOptions(NamedTuple):
    """How to read."""

    paths: tuple[str, ...]
    """Files, folders, globs, or `-`."""
    cap: int = DEFAULT_CAP
    """Bytes of the longest record that is kept."""
    follow: bool = False
    """Whether the ends of files are still being written."""
    newest_first: bool = False
    """Whether the files that changed last are read first."""
    processes: WorkerStart = WorkerStart.NONE
    """What other processes may be used for large folders."""
    quick_from: int = SCAN_FROM_BYTES
    """Bytes of all files from which on they are scanned the quick way."""
    decodes_all: bool = False
    """Whether records that were scanned are decoded as well: damage among attributes isn't seen otherwise."""
    use_cache: bool = False
    """Whether the index of a large folder is kept for the next time, and taken if it was."""
    events: tuple[str, ...] = ()
    """Folders of Ray's own events, which are read beside the PATHs where they are there."""


class Progress(NamedTuple):
    """How far the first reading is."""

    bytes_read: int
    bytes_total: int
    """As the files were when they were found; 0 for a stream."""


@dataclass(slots=True)
class Changes:
    """What one look at the PATHs found."""

    is_polling: bool = False
    """Whether changes are found by searching alone, because watching fails or hears nothing of them."""
    spans: int = 0
    bytes: int = 0
    bytes_left_behind: int = 0
    """Bytes of files that are no longer among the PATHs."""
    has_more: bool = False
    """Whether a file has more than one look takes; another look is due at once."""
    missing: list[str] = field(default_factory=list)
    """PATHs that don't exist yet, or no more."""
    directories: list[str] = field(default_factory=list)
    """Real paths of the folders in which something may change."""
