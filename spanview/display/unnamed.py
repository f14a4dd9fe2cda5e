"""What to say of the words of a query that are looked for in names, and that no span has in its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.sanitise import sanitise

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_LENGTH: Final = 60


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

        word, term = (sanitise(text, _MAX_LENGTH) for text in (self._words[0], anywhere(self._words[0])))
        return [f'no span has "{word}" in its name · {term} looks in ids, services, attributes and events, too']
