"""A trace state as the SDK writes it: the repr of a list of Python, `"['{key=a, value=1}', …]"`."""

from __future__ import annotations

import re
from typing import Final

# Values may have quotes, backslashes and braces in them. Without backtracking, lest a long text costs its square.
_SINGLE: Final = r"'(?:[^'\\]|\\.)*+'"
_DOUBLE: Final = r'"(?:[^"\\]|\\.)*+"'
_LITERAL: Final = re.compile(rf"{_SINGLE}|{_DOUBLE}", re.DOTALL)
_LIST: Final = re.compile(rf"\[(?:(?:{_SINGLE}|{_DOUBLE})(?:, |(?=\])))*+\]", re.DOTALL)
_ENTRY: Final = re.compile(r"\{key=([^,]*), value=(.*)\}", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def parse_trace_state(value: object) -> dict[str, str]:
    """Return the entries of a trace state that the SDK wrote; {} where it is none."""
    if not isinstance(value, str) or value == "[]" or not _LIST.fullmatch(value):
        return {}
    # The only escapes are those of quotes and backslashes: a value has nothing but printable ASCII.
    texts = [_ESCAPED.sub(r"\1", literal[1:-1]) for literal in _LITERAL.findall(value)]
    return {match[1]: match[2] for match in map(_ENTRY.fullmatch, texts) if match}
