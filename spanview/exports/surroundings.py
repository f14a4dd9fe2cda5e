"""What isn't in the files of spans, and a page says, too: what runs, and where somebody read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanview.analysis.diagnosis.finding import SESSION
from spanview.analysis.ray.unended import NO_UNENDED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spanview.analysis.ray.unended import Unended
    from spanview.index.store import Store


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was around when traces were exported."""

    unended_in: Callable[[Store], Mapping[int, Unended]] = lambda _: NO_UNENDED
    """Returns what has become of spans without an end, by row."""
    session: str = SESSION
    """The folder of Ray's latest session."""
    paths: Sequence[str] = ()
    """The PATHs that were given; none for the default places."""
