"""What a format could not say of the spans that were written in it, counted."""

from __future__ import annotations

from collections import Counter
from typing import Final

CIRCLES: Final = "parents left out that close a circle: of what hangs on one, nothing would be shown"
"""Of formats whose readers begin at spans without a parent."""


class Losses:
    """Counts what was lost, by a sentence for each kind of loss.

    Writers are handed the counter itself as `lose: Callable[[str], None]` and call it once for each thing that is lost.
    The sentences are fixed: they contain nothing of a file.
    """

    __slots__ = ("_counts", "_form")

    def __init__(self, form: str) -> None:
        self._form = form
        self._counts = Counter[str]()

    def __call__(self, sentence: str) -> None:
        """Note one loss."""
        self._counts[sentence] += 1

    def lines(self) -> list[str]:
        """Return a line for each kind of loss, the most frequent first: `jaeger: attributes of links left out: 3`."""
        ordered = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return [f"{self._form}: {sentence}: {times:,}" for sentence, times in ordered]
