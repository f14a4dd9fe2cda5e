"""What is said of a query that is mistaken, or matches nothing: why, a sentence each, and where the mistake is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from spanview.analysis.query.keys import OWN_KEYS
from spanview.analysis.query.misses import Misspelled, NoAttribute, NoneTogether, OrSign, SmallOr
from spanview.display.sanitise import sanitise
from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spanview.analysis.query.misses import Miss

_MAX_LENGTH: Final = 80
_MAX_WORD_LENGTH: Final = 60
_BEFORE, _AFTER = 60, 40
"""Characters that are shown on both sides of a mistake."""
_INDENT: Final = "    "


def miss_lines(misses: Iterable[Miss], whose: str = "no span") -> list[str]:
    """Return the reasons, each safe to print."""
    return [_line(miss, whose) for miss in misses]


def misspelt_attributes(misses: Iterable[Miss]) -> list[str]:
    """Return what is said of keys that no span has, and which are spelled nearly as an attribute that some have.

    Raises:
        QueryError: One of the language's own keys was probably meant.
    """
    said = list[str]()
    for miss in misses:
        if isinstance(miss, NoAttribute) and miss.near is not None:
            said += miss_lines([miss])
            # What has a dot is an attribute of some namespace, mostly.
            if miss.near in OWN_KEYS and ("." not in miss.key or "." in miss.near):
                raise QueryError(f'{said[-1]}; for an attribute of that name, write "{miss.key}" with the quotes')
    return said


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


class Unnamed:
    """The bare words and phrases of a query that are in none of the names that were seen so far."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [*words]
        self._searched_count = 0
        """How many names were looked at."""

    def says(self, names: Sequence[str]) -> list[str]:
        """Return where else to look for one of them, in one line; nothing where all are in the names so far."""
        if self._words and len(names) > self._searched_count:
            # One long text is looked through much quicker than many. Few words have a line end in them: for one that
            # is in two names, nothing is said.
            new = "\n".join(names[self._searched_count :]).casefold()
            self._words = [word for word in self._words if word.casefold() not in new]
            self._searched_count = len(names)
        if not self._words:
            return []
        from spanview.analysis.query.written import anywhere

        word, term = (sanitise(text, _MAX_WORD_LENGTH) for text in (self._words[0], anywhere(self._words[0])))
        return [f'no span has "{word}" in its name · {term} looks in ids, services, attributes and events, too']


def caret_lines(text: str, position: int) -> list[str]:
    """Return two lines, safe to print, for a character of a text from 0; its end is one after the last.

    name="GET /cart duration>200ms
    ^
    """
    first = max(0, position - _BEFORE)
    before = f"{'…' if first else ''}{sanitise(text[first:position])}"
    after = f"{sanitise(text[position : position + _AFTER])}{'…' if position + _AFTER < len(text) else ''}"
    return [f"{_INDENT}{before}{after}", f"{_INDENT}{' ' * cell_len(before)}^"]
