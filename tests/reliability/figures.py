"""What a row of trials comes to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence
    from pathlib import Path

_MOST_TOLD: Final = 10


@dataclass(slots=True)
class Figures:
    """The outcome of some trials; all counts but the first are to be 0."""

    trials: int = 0
    lost: int = 0
    """Spans that stand whole in a file, and are not shown."""
    doubled: int = 0
    """Spans that are shown more often than they were written."""
    ghosts: int = 0
    """What is shown as a span and was written by nobody as one."""
    other: int = 0
    """Trials in which something else was not as promised: a crash, a missing notice, a wrong tree."""
    slowest_s: float | None = None
    """Seconds that the slowest trial took for what has a ceiling."""
    told: list[str] = field(default_factory=list)
    """The first things that went wrong, in words."""
    notes: list[str] = field(default_factory=list)
    """What was measured besides, in words."""

    def compare(self, written: Iterable[Hashable], shown: Iterable[Hashable], where: object = "") -> None:
        """Count what is lost, doubled and a ghost.

        Args:
            written: What stands whole in the files, as often as it is to be shown.
            shown: What is shown.
            where: What the trial was, told if anything is wrong.
        """
        expected, found = Counter(written), Counter(shown)
        lost, more = expected - found, found - expected
        ghosts = Counter({key: count for key, count in more.items() if key not in expected})
        doubled = more - ghosts
        self.lost += lost.total()
        self.doubled += doubled.total()
        self.ghosts += ghosts.total()
        for what, counts in (("lost", lost), ("doubled", doubled), ("ghosts", ghosts)):
            if counts:
                self._tell(f"{where}: {what}: {list(counts.items())[:3]}")

    def expect(self, *, holds: bool, what: object) -> None:
        """Count a failure, and tell what it was, unless the condition holds."""
        if not holds:
            self.other += 1
            self._tell(str(what))

    def took(self, seconds: float) -> None:
        """Take note of how long a trial took."""
        self.slowest_s = max(self.slowest_s or 0.0, seconds)

    def _tell(self, text: str) -> None:
        if len(self.told) < _MOST_TOLD:
            self.told.append(text)

    @property
    def is_clean(self) -> bool:
        """Whether nothing was lost, doubled, made up or otherwise wrong."""
        return not (self.lost or self.doubled or self.ghosts or self.other)


@dataclass(frozen=True, slots=True)
class Row:
    """A promise, and how it is tried."""

    name: str
    """Its number among the promises, with a letter where one has several trials: `8b`."""
    fault: str
    """What goes wrong, or is bad."""
    unit: str
    """What a trial is, in the plural: `kills`."""
    full: int
    """Trials at full size."""
    least: int
    """Trials in the tests."""
    run: Callable[[int, Path], Figures]
    """Makes so many trials in an empty folder."""
    ceiling_s: float | None = None
    """Seconds that no trial may exceed."""
    unavailable: Callable[[], str] = str
    """Says why the trial can't be had on this machine; empty where it can."""

    def mistakes(self, figures: Figures, trials: int, busy: float = 1.0) -> list[str]:
        """Return what is not as promised, in words.

        Args:
            figures: What the trials came to.
            trials: How many were asked for.
            busy: How many times as long as on an idle machine all took.
        """
        mistakes = list(figures.told)
        if not figures.is_clean and not mistakes:
            mistakes.append("not clean")
        if figures.trials < trials:
            mistakes.append(f"{figures.trials} {self.unit} only, of {trials}")
        if self.ceiling_s is not None:
            if figures.slowest_s is None:
                mistakes.append("no time was taken")
            elif figures.slowest_s > self.ceiling_s * busy:
                mistakes.append(
                    f"the slowest took {figures.slowest_s:.3f} s; no more than {self.ceiling_s * busy:g} s is allowed"
                )
        return mistakes


_HEADINGS: Final = ("#", "fault or bad input", "trials", "lost", "doubled", "ghosts", "other", "slowest", "allowed")
_LEFT: Final = 1
"""The column that is aligned to the left."""


def table(outcomes: Sequence[tuple[Row, Figures]], *, markdown: bool = False) -> str:
    """Return outcomes as lines of text."""
    rows = [_HEADINGS, *(_cells(row, figures) for row, figures in outcomes)]
    if markdown:
        rules = [":--" if at == _LEFT else "--:" for at in range(len(_HEADINGS))]
        lines = [*rows[:1], rules, *rows[1:]]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    widths = [max(len(cells[at]) for cells in rows) for at in range(len(_HEADINGS))]
    aligned = ([f"{text:{'<' if at == _LEFT else '>'}{widths[at]}}" for at, text in enumerate(cells)] for cells in rows)
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)


def _cells(row: Row, figures: Figures) -> tuple[str, ...]:
    counts = (figures.lost, figures.doubled, figures.ghosts, figures.other)
    return (
        row.name,
        row.fault,
        f"{figures.trials:,} {row.unit}",
        *(f"{count:,}" for count in counts),
        "" if figures.slowest_s is None else f"{figures.slowest_s:.2f} s",
        "" if row.ceiling_s is None else f"{row.ceiling_s:g} s",
    )
