"""Trace states: as the SDK writes them, the repr of a list of Python, `"['{key=a, value=1}', …]"`; and as W3C does."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def parse_trace_state_header(text: str) -> dict[str, str] | None:
    """Return the entries of a trace state as W3C Trace Context writes it, `a=1,b=2`; None where it is none."""
    entries: dict[str, str] = {}
    for member in filter(None, (part.strip(" \t") for part in text.split(","))):
        key, equals, value = member.partition("=")
        if not key or not equals or key in entries:
            return None
        entries[key] = value
    return entries


def format_trace_state_header(entries: Mapping[str, str]) -> str | None:
    """Return a trace state as W3C Trace Context writes it; None where that can't hold the entries."""
    text = ",".join(f"{key}={value}" for key, value in entries.items())
    again = parse_trace_state_header(text)
    return text if again is not None and [*again.items()] == [*entries.items()] else None
