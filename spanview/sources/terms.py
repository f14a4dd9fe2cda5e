"""What a session is given, and what it tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from spanview.formats.framing import DEFAULT_CAP

if TYPE_CHECKING:
    from spanview.formats.rows import Batch
    from spanview.index.tallies import Tallies


class Sink(Protocol):
    """Takes what was read: a store, or what prints it at once."""

    tallies: Tallies

    def add_source(self, path: str, generation: int = 0) -> int:
        """Take note of a file, or of its next generation, and return its number."""

    def add(self, source: int, batch: Batch) -> None:
        """Take the spans and the problems that one piece of a file has."""

    def expect(self, spans: int) -> None:
        """Make room for about so many spans."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read."""

    paths: tuple[str, ...]
    """Files, folders, globs, or `-`."""
    cap: int = DEFAULT_CAP
    """Bytes of the longest record that is kept."""
    follow: bool = False
    """Whether the ends of files are still being written."""
    newest_first: bool = False
    """Whether the files that changed last are read first."""
    processes: bool = False
    """Whether other processes may be started to decode large folders; not where threads run already."""
    keep_details: bool = True
    """Whether what is read while following can be read again."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the first reading is."""

    bytes_read: int
    bytes_total: int
    """As the files were when they were found; 0 for a stream."""


@dataclass(slots=True)
class Changes:
    """What one look at the PATHs brought."""

    spans: int = 0
    bytes: int = 0
    bytes_left_behind: int = 0
    """Those of files that are no longer among the PATHs."""
    has_more: bool = False
    """Whether a file has more than one look takes; another look is due at once."""
    missing: list[str] = field(default_factory=list)
    """PATHs that don't exist yet, or no more."""
    directories: list[str] = field(default_factory=list)
    """Real paths of the folders in which something may change."""
