"""One line for a person: which file, and why."""

from __future__ import annotations

import pytest

from spanview.display.notices import notice_text
from spanview.model.problems import Problem, ProblemKind


@pytest.mark.parametrize(
    ("path", "detail", "longest", "expected"),
    [
        ("spans/odd", "a FIFO is not opened", 40, "spans/odd: a FIFO is not opened"),
        ("", "watching failed", 40, "watching failed"),
        ("a\x1b[2J\n/b", "can't be read: \u202e", 40, "a␛[2J␊/b: can't be read: \\u202e"),
        ("x" * 30 + "/end", "why", 10, "…xxxxx/end: why"),
        ("\x9b" * 3, "why", 8, "…x9b\\x9b: why"),
    ],
)
def test_notices(path: str, detail: str, longest: int, expected: str) -> None:
    """A path is cut at its beginning; nothing in either can act."""
    assert notice_text(Problem(ProblemKind.REFUSED, path, 0, 0, detail), longest) == expected
