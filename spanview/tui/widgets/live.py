"""What a screen computes stays true while spans come: it is computed anew, in a thread, and not too often.

A screen has one `Live`, which knows what of the store it is computed from. It asks the screen for two things only: what
to compute, in a thread, and how to show the answer, in the screen's own.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from spanview.display.units import moment
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from textual.timer import Timer

    from spanview.analysis.telling import Tell
    from spanview.tui.widgets.base_screen import BaseScreen
    from spanview.tui.widgets.scope import ChosenTraces, TraceScope

MIN_INTERVAL_S: Final = 1.0
"""From one beginning to the next, at least; with the work itself, no figure is older than two seconds."""
_REST_PER_WORK: Final = 1.0
"""So many times as long as the work took nothing is computed: at the most, half of one core is busy with it."""
_MAX_KEY_WAIT_S: Final = 0.5
"""So long it waits for a key to act."""
_FIRST_ANSWER_TIMEOUT_S: Final = 2.0
"""So long a key waits for the first answer."""
_MAX_AGE_S: Final = 2.0
"""What is older than this, and not up to date, says of when it is."""
Answer = TypeVar("Answer")
Ask: TypeAlias = "Callable[[Sequence[int] | None, Tell], Answer]"
"""Computes something of some traces, None for all; called in a thread."""


@dataclass(eq=False)
class Live(Generic[Answer]):
    """Computes what a screen shows, and computes it anew when there is more.

    It holds while the viewer is paused, while files are still being loaded, and while another screen is in sight.
    """

    _screen: BaseScreen
    scope: TraceScope
    _ask: Ask[Answer]
    _take: Callable[[Answer], object]
    clock: Callable[[], float] = time.monotonic
    _is_asked: bool = False
    """Whether somebody waits for what is being computed."""
    _timer: Timer | None = None
    _is_partial: bool = False
    """Whether what is shown was computed while files were still being loaded."""
    _chosen: ChosenTraces | None = None
    version: Hashable = None
    """What is shown is computed from this version of the scope, or from one that came while it was."""
    _begun_at: float = float("-inf")
    _began_loading: bool = False
    _rest_until: float = float("-inf")
    _shown_at: float = float("-inf")
    _shown_ns: int = 0
    _has_answer: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.work = Work(self._screen)

    # -- what the screen says of it ----------------------------------------------------------------------------------

    @property
    def chosen(self) -> ChosenTraces:
        """The traces that what is shown is of."""
        if self._chosen is None:
            self._chosen = self.scope.choose()
        return self._chosen

    @property
    def has_answer(self) -> bool:
        """Whether anything was computed yet."""
        return self._has_answer.is_set()

    @property
    def is_behind(self) -> bool:
        """Whether there is something that isn't shown yet."""
        return self.has_answer and self.scope.version() != self.version

    @property
    def as_of(self) -> str:
        """Of when what is shown is, where that isn't now; empty where it is."""
        is_old = self._is_held or self._is_partial or self.clock() - self._shown_at >= _MAX_AGE_S
        return f" as of {moment(self._shown_ns, with_date=False, digits=0)}" if is_old and self.is_behind else ""

    @property
    def is_asked(self) -> bool:
        """Whether something is being computed that somebody waits for."""
        return self._is_asked and self.work.is_busy

    # -- what the screen does ----------------------------------------------------------------------------------------

    def begin(self, ask: Ask[Answer] | None = None) -> None:
        """Compute it now, since somebody waits; from now on by another question, where one is given."""
        self._ask = ask or self._ask
        self._start(is_asked=True)
        self._screen.refresh_frame()

    def begin_with(self, answer: Answer, chosen: ChosenTraces, version: Hashable) -> None:
        """Show what is known already, from that version of the scope."""
        self.work.end()
        self._note(chosen, version, self.clock(), time.time_ns())
        self._take(answer)

    def end(self, ask: Ask[Answer] | None = None) -> bool:
        """End what is being computed, and ask another question from the next look on; return whether it was asked."""
        was_asked = self.is_asked
        self.work.end()
        self._is_asked = False
        self._ask = ask or self._ask
        return was_asked

    async def wait_for_answer(self) -> None:
        """Wait a little for the first answer where it is being computed; further keys wait, too.

        An Enter that comes in one burst with the key that led here is for the first row of what is to come.
        """
        if self.is_asked:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_answer.wait(), _FIRST_ANSWER_TIMEOUT_S)

    def catch_up(self) -> None:
        """Compute it anew where there is something new and it is time; else look again when it may be."""
        if not self.is_behind or self._is_held or self.work.is_busy or not self._screen.is_in_front:
            return
        now, acts_until = self.clock(), self._screen.viewer.acts_until
        due = max(self._begun_at + MIN_INTERVAL_S, self._rest_until)
        due = max(due, min(acts_until, due + _MAX_KEY_WAIT_S))
        if now >= due:
            self._start(is_asked=False)
        elif self._timer is None:
            self._timer = self._screen.set_timer(due - now, self._catch_up_when_due)

    def look_anew(self) -> None:
        """Compute it anew in its turn, though nothing was read: what processes show has changed."""
        self.version = None
        self.catch_up()

    # -- when ----------------------------------------------------------------------------------------------------------

    @property
    def _is_held(self) -> bool:
        viewer = self._screen.viewer
        return viewer.paused or viewer.feed_state.loading

    def _catch_up_when_due(self) -> None:
        self._timer = None
        if not self._screen.is_left:
            self.catch_up()

    def _start(self, *, is_asked: bool) -> None:
        self._is_asked = is_asked
        self._begun_at = self.clock()
        version = self.scope.version()
        self._began_loading = self._screen.viewer.feed_state.loading
        took = partial(self._took, version, self._begun_at, time.time_ns())
        self.work.begin(partial(self._compute, self._ask), took)

    def _compute(self, ask: Ask[Answer], tell: Tell) -> tuple[ChosenTraces, Answer]:
        """Called in the thread."""
        chosen = self.scope.choose()
        return chosen, ask(chosen.traces, tell)

    def _took(self, version: Hashable, begun_at: float, begun_ns: int, known: tuple[ChosenTraces, Answer]) -> None:
        now = self.clock()
        self._rest_until = now + _REST_PER_WORK * (now - begun_at)
        if not self._is_asked and self._screen.viewer.paused:
            # It came too late: what is shown holds still by now.
            return
        self._is_asked = False
        chosen, answer = known
        self._note(chosen, version, begun_at, begun_ns)
        self._is_partial = self._began_loading
        self._take(answer)
        self.catch_up()

    def _note(self, chosen: ChosenTraces, version: Hashable, asked_at: float, asked_ns: int) -> None:
        self._chosen, self.version = chosen, version
        self._has_answer.set()
        self._shown_at, self._shown_ns = asked_at, asked_ns


AnyLive: TypeAlias = "Live[Any]"
