"""What framing hands over: documents, and the gaps between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from spanview.model.problems import ProblemKind

Document: TypeAlias = tuple[int, int, Any]
"""Offset in the file, length in bytes, what is kept of the decoded value; a plain tuple because there are millions."""


class Mixed:
    """What is kept of a document whose lines are after a name, or among those of others."""

    __slots__ = ("kept",)

    def __init__(self, kept: Any) -> None:
        self.kept = kept


class Gap(NamedTuple):
    """A stretch of a file that holds no whole document."""

    kind: ProblemKind
    """TORN or TOO_LARGE."""
    offset: int
    length: int


@dataclass(slots=True)
class Frames:
    """What one piece of a file completed, in the order of the file."""

    documents: list[Document] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    has_text: bool = False
    """Whether there was something that is neither blank nor part of a document or gap."""
    repeated: int = 0
    """Marks in text of a console log for lines that Ray left out."""
    fragments: int = 0
    """Beginnings of spans in text."""
    inspected: int = 0
    """Spans that JavaScript has printed, which isn't JSON."""
    pids: set[int] = field(default_factory=set)
    """Of the processes that a log names before lines of spans."""

    def add(self, more: Frames) -> None:
        """Take what the next piece completed."""
        self.documents += more.documents
        self.gaps += more.gaps
        self.has_text = self.has_text or more.has_text
        self.repeated += more.repeated
        self.fragments += more.fragments
        self.inspected += more.inspected
        self.pids |= more.pids
