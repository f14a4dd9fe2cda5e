"""A trace state as the SDK writes it: the repr of a list of Python, `"['{key=a, value=1}', …]"`."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

# Values may have quotes, backslashes and braces in them. Without backtracking, lest a long text costs its square.
_SINGLE: Final = r"'(?:[^'\\]|\\.)*+'"
_DOUBLE: Final = r'"(?:[^"\\]|\\.)*+"'
_LITERAL: Final = rf"{_SINGLE}|{_DOUBLE}"
_LIST: Final = rf"\[(?:(?:{_LITERAL})(?:, |(?=\])))*+\]"
_ENTRY: Final = r"\{key=([^,]*), value=(.*)\}"
_ESCAPED: Final = r"\\(.)"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled when it is needed first: that takes longer than reading most folders does."""
    return re.compile(pattern, re.DOTALL)


def parse_trace_state(value: object) -> dict[str, str]:
    """Return the entries of a trace state that the SDK wrote; {} where it is none."""
    if not isinstance(value, str) or value == "[]" or not _compiled(_LIST).fullmatch(value):
        return {}
    # The only escapes are those of quotes and backslashes: a value has nothing but printable ASCII.
    texts = [_compiled(_ESCAPED).sub(r"\1", literal[1:-1]) for literal in _compiled(_LITERAL).findall(value)]
    return {match[1]: match[2] for match in map(_compiled(_ENTRY).fullmatch, texts) if match}
