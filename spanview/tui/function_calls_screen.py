"""The calls of one function: when each was submitted, how long it waited and ran, how it went, and where."""

from __future__ import annotations

import os
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING, ClassVar, Final

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.calls import Call, Outcome, calls_of
from spanview.analysis.telling import part
from spanview.display.units import count, duration, moment
from spanview.index.table import NO_ROW
from spanview.model.times import NO_TIME
from spanview.tui.background import Background
from spanview.tui.base_screen import BaseScreen, bindings_of
from spanview.tui.header import TwoSided
from spanview.tui.keys import On
from spanview.tui.linelist import LineList
from spanview.tui.live import Live
from spanview.tui.paint import data_text, fixed, line, right

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.segment import Segment
    from textual.app import ComposeResult

    from spanview.analysis.calls import Calls
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.live import AnyLive

MOST_CALLS: Final = 10_000
"""So many are listed, the first by what they are sorted by."""
_START, _TIME, _TRIES, _WORDS = 24, 10, 6, 18
_FAILED: Final = frozenset((Outcome.ERROR, Outcome.SUBMIT_ERROR))
_WORTH_A_LOOK: Final = _FAILED | {Outcome.NO_ATTEMPT}
_TOLD_EVERY: Final = 1024
_MOST_THOUGHTS: Final = 100
_THINK_AGAIN_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class _Sort:
    name: str
    rank: Callable[[Call, Sequence[int]], int]
    """Of a call, given the starts of all spans; the greatest come first."""


_SORTS: Final = (
    _Sort("wait and run", lambda call, _: (call.wait_ns or 0) + (call.run_ns or 0)),
    _Sort("wait", lambda call, _: -1 if call.wait_ns is None else call.wait_ns),
    _Sort("run", lambda call, _: -1 if call.run_ns is None else call.run_ns),
    _Sort("start", lambda call, starts: starts[call.row]),
    _Sort("outcome", lambda call, _: (call.outcome in _WORTH_A_LOOK) * MOST_CALLS + len(call.attempts)),
)


@dataclass(frozen=True, slots=True)
class _Listed:
    """Calls of a function."""

    calls: Calls
    """Those of all functions."""
    sort: _Sort
    count: int
    first: list[Call]
    """The first of them, in the order of `sort`."""


class CallLines(LineList):
    """A line a call.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self.calls: list[Call] = []
        self.notes: dict[int, str] = {}
        """What is thought of calls without an attempt, by their rows in the span table."""
        self._longest: tuple[dict[int, str], int] | None = None

    def show(self, calls: list[Call]) -> None:
        """Show calls in another order, from the first on."""
        self.calls, self._longest = calls, None
        self.rows_have_changed(len(calls), 0)
        self.reveal()

    def update(self, calls: list[Call]) -> None:
        """Show what has become of the calls; the cursor stays on its call."""
        here = self.calls[self.cursor].row if self.cursor < len(self.calls) else None
        self.calls, self._longest = calls, None
        self.take_rows(len(calls), next((row for row, call in enumerate(calls) if call.row == here), None))

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one call's line."""
        call, spans = self.calls[row], self._store.spans
        is_bad = call.outcome in _WORTH_A_LOOK
        start = spans.start_ns[call.row]
        tries = f"{len(call.attempts):,}" if len(call.attempts) > 1 else ""
        text = ("✖ " if call.outcome in _FAILED else "◌ " if is_bad else "  ") + self._said_of(call)
        room = max(8, width - _START - 2 * _TIME - _TRIES - 2)
        words = max(_WORDS, min(2 * room // 3, self._longest_text()))
        return line(
            [
                (fixed("–" if start == NO_TIME else moment(start, digits=3), _START), self.paint_style("dim")),
                (right(duration(call.wait_ns), _TIME) + right(duration(call.run_ns), _TIME), None),
                (right(tries, _TRIES), self.paint_style("warning")),
                ("  " + data_text(text, min(words, room)), self.paint_style("error") if is_bad else None),
                (" " + data_text(self._where(call), max(0, room - words - 1)), self.paint_style("dim")),
            ]
        )

    def _said_of(self, call: Call) -> str:
        return self.notes.get(call.row, call.outcome)

    def _longest_text(self) -> int:
        """Return the cells of the longest of what is said of calls, with its mark; what stands behind has the rest."""
        if self._longest is None or self._longest[0] is not self.notes:
            self._longest = self.notes, 2 + max(map(len, {*map(self._said_of, self.calls)}), default=0)
        return self._longest[1]

    def _where(self, call: Call) -> str:
        """Return where it ran, or was submitted, and what it is a part of."""
        store = self._store
        row = call.attempts[-1] if call.attempts else call.row
        stem = os.path.splitext(os.path.basename(store.sources[store.spans.source[row]].path))[0]
        root = store.trace_table.root_row[store.spans.trace[call.row]]
        above = "" if root in {NO_ROW, call.row} else f"  in {store.names.texts[store.spans.name[root]]}"
        return f"{'by' if call.attempts else 'from'} {stem}{above}"


class FunctionCallsScreen(BaseScreen):
    """The calls of one function, slowest first.

    Args:
        store: The store.
        counted: The count of the calls of all functions, which this one's are of.
        calls: These calls.
        function: The function's name; from a file, and so to be made harmless.
    """

    ON: ClassVar[On] = On.CALLS
    BINDINGS = bindings_of(On.CALLS)

    def __init__(self, store: Store, counted: AnyLive, calls: Calls, function: str) -> None:
        super().__init__()
        self._store = store
        self.live: Live[_Listed] = Live(self, counted.scope, self._find, self._take_calls)
        self._known = calls, counted.chosen, counted.version
        self._function = function
        self._count: int | None = None
        self._sort = 0
        self._sorting = Background(self)
        self._thinking = Background(self)

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield TwoSided(classes="header")
        heads = (
            f"{fixed('SUBMITTED', _START)}{right('WAIT', _TIME)}{right('RUN', _TIME)}{right('TRIES', _TRIES)}  OUTCOME"
        )
        yield Static(Content(heads), classes="heads")
        yield CallLines(self._store)
        yield self.footer()

    @property
    def rows(self) -> CallLines:
        """The calls."""
        return self.query_one(CallLines)

    def on_mount(self) -> None:
        """Begin with the slowest."""
        self.set_focus(self.rows)
        self._list(self._take_known)
        self.set_interval(_THINK_AGAIN_S, self._think)

    def title_text(self) -> str:
        """Return what is listed."""
        head = f"‹ calls of {data_text(self._function, 60).rstrip()}{self.live.as_of}"
        if self._count is None or self._sorting.is_busy:
            return f"{head}   looking … {self._sorting.share_text}"
        most = f"the first {MOST_CALLS:,} of " if self._count > MOST_CALLS else ""
        return f"{head}   {most}{count(self._count, 'call')}, by {_SORTS[self._sort].name}"

    def _list(self, take: Callable[[_Listed], None]) -> None:
        """List the calls that are known, in an order."""
        calls, sort = self._known[0], _SORTS[self._sort]
        self._sorting.begin(lambda tell: self._listed(calls, sort, tell), take)
        self.refresh_frame()

    def _find(self, traces: Sequence[int] | None, tell: Tell) -> _Listed:
        """Called in a thread: look for the calls that there are now."""
        calls = calls_of(self._store, traces, part(tell, 0.0, 0.5))
        return self._listed(calls, _SORTS[self._sort], part(tell, 0.5, 1.0))

    def _listed(self, all_calls: Calls, sort: _Sort, tell: Tell) -> _Listed:
        """Called in a thread: list the first calls of the function in an order."""
        starts, places, calls = self._store.spans.start_ns, all_calls.of_function(self._function), list[Call]()
        for number, place in enumerate(places):
            if not number % _TOLD_EVERY:
                tell(number / len(places))
            calls.append(all_calls[place])
        first = nlargest(MOST_CALLS, calls, key=lambda call: (sort.rank(call, starts), -call.row))
        return _Listed(all_calls, sort, len(calls), first)

    def _take_known(self, listed: _Listed) -> None:
        self.live.begin_with(listed, *self._known[1:])
        self.live.look()

    def _take_sorted(self, listed: _Listed) -> None:
        # What has come meanwhile is listed in this order already.
        if listed.calls is self._known[0]:
            self.rows.show(listed.first)
            self._think()

    def _take_calls(self, listed: _Listed) -> None:
        self._known, self._count = (listed.calls, *self._known[1:]), listed.count
        if listed.sort is _SORTS[self._sort]:
            self.rows.update(listed.first)
            self._think()
        else:
            # Another order was asked for meanwhile.
            self._list(self._take_sorted)

    def _think(self) -> None:
        """While spans come, ask the system about calls without an attempt: they may be running."""
        alone = [call.row for call in self.rows.calls if call.outcome is Outcome.NO_ATTEMPT][:_MOST_THOUGHTS]
        if alone and self.viewer.feed_state.following and not self.viewer.paused:
            running = self.viewer.running
            self._thinking.queue(lambda _: {row: running.thought_of(row).text for row in alone}, self._take_thoughts)

    def _take_thoughts(self, thoughts: dict[int, str]) -> None:
        if thoughts != self.rows.notes:
            self.rows.notes = thoughts
            self.rows.refresh()

    # -- keys --------------------------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next thing."""
        self._sort = (self._sort + 1) % len(_SORTS)
        self.viewer.say(f"sorted by {_SORTS[self._sort].name}")
        self._list(self._take_sorted if self._count is not None else self._take_known)

    def action_error(self, _: int) -> None:
        """Go to the next call that failed or left no attempt."""
        calls, at = self.rows.calls, self.rows.cursor
        for row in (*range(at + 1, len(calls)), *range(min(at + 1, len(calls)))):
            if calls[row].outcome in _WORTH_A_LOOK:
                self.rows.move_to(row)
                return
        self.viewer.say("no call here failed, and each has an attempt")

    @property
    def _chosen(self) -> int | None:
        """The span that the selected call is opened at: its last attempt, or its PRODUCER."""
        rows = self.rows
        if rows.cursor >= len(rows.calls):
            return None
        call = rows.calls[rows.cursor]
        return call.attempts[-1] if call.attempts else call.row

    async def action_open(self) -> None:
        """Show the call in its trace."""
        row = self._chosen
        if row is not None:
            await self.viewer.open_trace(self._store.spans.trace[row], at_row=row)

    def action_copy(self) -> None:
        """Copy the span id."""
        row = self._chosen
        if row is not None:
            self.viewer.copy(f"{self._store.spans.span_id[row]:016x}", "span id")
