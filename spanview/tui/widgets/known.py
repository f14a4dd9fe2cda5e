"""What can be proposed to whoever types a query: what a store's columns have, and what was found in its records."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from spanview.analysis.query.complete import Vocabulary
from spanview.analysis.query.words import MAX_TEXTS, gather, short_and_sorted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

_GATHERED_FOR_S: Final = 0.5
_GROWN_BY: Final = 1.5
"""A store that is so many times as large is looked through again."""
_TAKEN_FOR_ANOTHER: Final = re.compile(r"[\u2400-\u2421]|\\(?=x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
"""What stands for another character where it is typed."""


class Known:
    """What is known of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._span_count, self._words = 0, Vocabulary()
        self._is_gathering = False
        self._state: tuple[object, ...] = ()
        self._vocabulary = Vocabulary()

    def vocabulary(self) -> Vocabulary:
        """Return what is known by now; the same object as long as nothing is new."""
        store, words = self._store, self._words
        # Of more spans than were counted, nothing is known for sure.
        is_counted = len(store.spans) == self._span_count
        state = len(store.names.texts), len(store.services.texts), len(store.sources), words, is_counted
        if state != self._state:
            self._state = state
            self._vocabulary = Vocabulary(
                names=_typable(store.names.texts[:MAX_TEXTS]),
                services=_typable(store.services.texts[:MAX_TEXTS]),
                roots=_typable(words.roots),
                files=_typable({os.path.basename(source.path) for source in store.sources[:MAX_TEXTS]}),
                attributes={
                    key: _typable_in_order(words.attributes[key]) for key in _typable_in_order(words.attributes)
                },
                events=_typable_in_order(words.events),
                scopes=_typable_in_order(words.scopes),
                counts=words.counts if is_counted else {},
                attribute_counts=words.attribute_counts if is_counted else {},
            )
        return self._vocabulary

    def begin_gathering(self) -> bool:
        """Tell whether records are to be looked at now; whoever asks has to `gather`."""
        spans = len(self._store.spans)
        if self._is_gathering or spans <= self._span_count * _GROWN_BY:
            return False
        self._is_gathering = True
        return True

    def gather(self, tell: Tell) -> None:
        """Look through the store; in a thread, which ends where `tell` raises."""

        def is_wanted() -> bool:
            tell(0.0)
            return True

        try:
            self._span_count, self._words = gather(self._store, _GATHERED_FOR_S, is_wanted)
        finally:
            self._is_gathering = False


def _typable(texts: Iterable[str]) -> list[str]:
    return _typable_in_order(short_and_sorted(texts))


def _typable_in_order(texts: Iterable[str]) -> list[str]:
    """Return the texts that can be typed: those that don't have what stands for another character."""
    return [text for text in texts if not _TAKEN_FOR_ANOTHER.search(text)]
