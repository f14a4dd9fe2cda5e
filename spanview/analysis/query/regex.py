r"""The regular expressions of a query, matched by RE2, in time that is linear in the length of the text.

name~"(a+)+$"       Python's own engine tries every way to split a run of a's, twice as many for each a
name~"a(?=b)"       what RE2 can't do is a mistake, with its position: lookahead, lookbehind, references to groups

RE2 lets other threads run while it matches, so the viewer keeps answering keys.
Its syntax: https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.query.parse import fail
from spanview.formats.jsontext import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanview.analysis.query.parse import RawTerm

_REASONS: Final = {
    "(?=": "lookahead isn't supported",
    "(?!": "lookahead isn't supported",
    "(?<=": "lookbehind isn't supported",
    "(?<!": "lookbehind isn't supported",
    "(?>": "atomic groups aren't supported",
    "(?(": "conditions aren't supported",
    "(?P=": "references to groups aren't supported",
    r"\Z": r"the end of the text is written $ or \z",
    **{rf"\{digit}": "references to groups aren't supported" for digit in range(1, 10)},
    **{f"{operator}+": "possessive repetition isn't supported" for operator in "*+?"},
}
"""What Python's engine can do and RE2 can't, by how it begins."""
_EXTRA_CHARACTERS: Final = len("=a")
_MAX_TRIES: Final = 50
"""Occurrences that are tried to locate a mistake."""


def regex_search(raw: RawTerm) -> Callable[[str], bool]:
    """Return a test that tells whether a term's regular expression matches anywhere in a text.

    Invalid Unicode in the text counts as U+FFFD.

    Raises:
        QueryError: The value isn't a regular expression that RE2 can match; with the position of the mistake.
    """
    # It takes 3 ms, and most runs have no regular expression.
    import re2

    options = re2.Options()
    # Mistakes would be written to standard error, and groups aren't used.
    options.log_errors, options.never_capture = False, True
    pattern = valid_text(raw.value)

    def mistake_in(text: str) -> str | None:
        try:
            re2.compile(text.encode(), options)
        except re2.error as error:
            return bytes(error.args[0]).decode(errors="replace")
        return None

    mistake = mistake_in(pattern)
    if mistake is not None:
        index, reason = _located(pattern, mistake, mistake_in)
        fail(raw.position_in_value(index), f"expected a regular expression: {reason}")
    search = re2.compile(pattern.encode(), options).search
    return lambda text: search(valid_text(text).encode()) is not None


def _located(pattern: str, mistake: str, mistake_in: Callable[[str], str | None]) -> tuple[int, str]:
    """Return the index of a mistake in a pattern, and what is wrong there.

    RE2 names the part that is wrong, but not its position: the pattern up to it has the same mistake.
    Two more characters distinguish `(?P=a)` from `(?P<a>`.
    """
    kind, _, part = mistake.partition(": ")
    index = pattern.find(part) if part else -1
    for _ in range(_MAX_TRIES):
        if index < 0 or mistake_in(pattern[: index + len(part) + _EXTRA_CHARACTERS]) == mistake:
            break
        index = pattern.find(part, index + 1)
    index = max(index, 0)
    known = (reason for begin, reason in _REASONS.items() if part and pattern.startswith(begin, index))
    return index, next(known, f"{kind} {part}".rstrip())
