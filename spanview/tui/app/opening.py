"""What the viewer begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spanview.sources.places import latest_session
from spanview.tui.app.themes import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.index.store import Store


class Opening(NamedTuple):
    """What the viewer begins with."""

    places: Sequence[str]
    """The PATHs, as given."""
    query: str = ""
    trace: str | None = None
    """The id of a trace to open, or its beginning."""
    follow: bool = False
    nothing: Sequence[str] = ()
    """Lines to show while there is nothing to show."""
    choose: Callable[[Store], set[int] | None] | None = None
    """Which traces are shown at all, asked when everything was read; None for all. It may raise TraceNotFoundError."""
    session: str = latest_session({})
    """The folder of Ray's latest session."""
    settings: str | None = None
    """The file that keeps what a person has set; None where nothing is kept."""
    theme: str = NAMES[0]
    """What goes with the terminal, for a person who has set no theme."""
    colorless: bool = False
    """Whether the terminal is sent no colours."""
    is_served: bool = False
    """Whether it is shown in a browser: then it writes no files, and reads no logs elsewhere than in the PATHs."""
