"""What a format could not say of the spans that were written in it, counted."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from spanview.display.units import count

CIRCLES: Final = "dropped {parent link} to break circles, below which nothing would be shown"
"""Of formats whose readers begin at spans without a parent."""
_COUNTED: Final = re.compile(r"\{(.+)\}")


class Losses:
    """Counts what was lost, by a sentence for each kind of loss; in braces is what is counted, as one of it is called.

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
        """Return a line for each kind of loss, the most frequent first: `jaeger: dropped 3 link attributes`."""
        ordered = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return [f"{self._form}: {_counted(sentence, times)}" for sentence, times in ordered]


def _counted(sentence: str, times: int) -> str:
    """Return a sentence with the number in it: `dropped {link attribute}` as `dropped 3 link attributes`."""
    return _COUNTED.sub(lambda thing: count(times, thing[1]), sentence)
