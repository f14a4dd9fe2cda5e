"""Why a query matches nothing, a sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.query.misses import Misspelled, NoAttribute, NoneTogether, OrSign, SmallOr
from spanview.display.sanitise import sanitise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.analysis.query.misses import Miss

_MAX_LENGTH: Final = 80


def miss_lines(misses: Iterable[Miss], whose: str = "no span") -> list[str]:
    """Return the reasons, each safe to print."""
    return [_line(miss, whose) for miss in misses]


def _line(miss: Miss, whose: str) -> str:
    if isinstance(miss, NoAttribute):
        near = f" (did you mean {sanitise(miss.near, _MAX_LENGTH)}?)" if miss.near else ""
        return f"{whose} has {sanitise(miss.key, _MAX_LENGTH)}{near}"
    if isinstance(miss, Misspelled):
        return f"did you mean {sanitise(miss.instead, _MAX_LENGTH)}?"
    if isinstance(miss, SmallOr):
        return "or is searched for as a word: to join terms it is written in capitals, as in a OR b"
    if isinstance(miss, OrSign):
        terms, pattern = (sanitise(text, _MAX_LENGTH) for text in (miss.terms, miss.pattern))
        return f"| is searched for as a character: {terms} finds either, and so does {pattern}"
    if isinstance(miss, NoneTogether):
        if miss.is_lineage:
            return "each term matches some span, but never one below the other"
        return f"each term matches some span, but {whose} matches all of them (A >> B asks for a descendant)"
    instead = sanitise(miss.instead, _MAX_LENGTH)
    if miss.operator == "~":
        return f"~ is case-sensitive, {instead} isn't"
    return f"= is exact, {instead} looks inside{' and ignores case' if '(?i)' in miss.instead else ''}"
