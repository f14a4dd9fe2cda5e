"""Which actions fit what was typed: whole words first, then words that begin so, then what has it within a word.

typed       fits                           doesn't fit
-----       ----                           -----------
col         colours, then the protocol     call
er next     next error                     next parameter
"""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"\w+")
_INNER_FROM: Final = 3
"""Characters from which on what was typed is looked for within a word, too."""


def fit(typed: str, text: str) -> tuple[int, int, int] | None:
    """Return how well a text fits what was typed, the less the better; None where it doesn't.

    Each word that was typed must be there, in any order: as a word, as the beginning of one, or, from three characters
    on, within one. The worst of them counts, then all of them, then how far behind the first one stands.
    """
    sought, words = _words(typed), _words(text)
    if not sought:
        return (0, 0, 0) if not typed.strip() else None
    matches = [_best(word, words) for word in sought]
    ranks = [rank for rank, _ in matches]
    return None if max(ranks) > _WITHIN else (max(ranks), sum(ranks), min(position for _, position in matches))


_WHOLE, _BEGINNING, _WITHIN, _NOWHERE = range(4)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _best(sought: str, words: list[str]) -> tuple[int, int]:
    return min(((_rank(sought, word), position) for position, word in enumerate(words)), default=(_NOWHERE, 0))


def _rank(sought: str, word: str) -> int:
    if word == sought:
        return _WHOLE
    if word.startswith(sought):
        return _BEGINNING
    return _WITHIN if len(sought) >= _INNER_FROM and sought in word else _NOWHERE
