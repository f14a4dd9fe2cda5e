"""What is reported at once, in one line: what was refused, can't be read, or can't be watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.sanitise import MAX_LENGTH, sanitise
from spanview.model.problems import ProblemKind

if TYPE_CHECKING:
    from spanview.model.problems import Problem

NOTICED: Final = frozenset((ProblemKind.UNREADABLE, ProblemKind.REFUSED, ProblemKind.WATCHER))
"""Kinds that are named one by one; all others are counted, and `spanview check` lists them."""


def notice_text(problem: Problem, longest_path: int = MAX_LENGTH) -> str:
    """Return a problem as one line that is safe to print, with so many characters of its path's end."""
    path, detail = sanitise(problem.file), sanitise(problem.detail)
    if len(path) > longest_path:
        path = "…" + path[1 - longest_path :]
    return f"{path}: {detail}" if path else detail
