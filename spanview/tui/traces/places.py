"""Which of the PATHs have spans: of the default ones, most often one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.index.store import Store


class PlacesWithSpans:
    """Remembers which PATHs have spans."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._row_count = 0
        self._sources = set[int]()
        """The numbers of the files that have spans."""
        self._found: tuple[str, ...] | None = ()

    def among(self, paths: Sequence[str]) -> Sequence[str]:
        """Return the PATHs that have spans; all of them while none has, or where one stands for files elsewhere."""
        if len(paths) > 1 and self._found is not None:
            self._look(paths)
        return self._found or paths

    def _look(self, paths: Sequence[str]) -> None:
        found = {*(self._found or ())}
        for source in self._new_sources():
            path = self._store.sources[source].path
            place = next((each for each in paths if path == each or path.startswith(os.path.join(each, ""))), None)
            if place is None:
                # It is below what a pattern stands for.
                self._found = None
                return
            found.add(place)
        self._found = tuple(path for path in paths if path in found)

    def _new_sources(self) -> set[int]:
        """Return the numbers of the files that have spans since this was asked."""
        column, first = self._store.spans.source, self._row_count
        self._row_count = end = len(self._store.spans)
        new = {*column[first:end]} - self._sources
        self._sources |= new
        return new
