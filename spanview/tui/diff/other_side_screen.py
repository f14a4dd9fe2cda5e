"""What one side is compared with: the traces that a query finds, or the rest. A query divides all traces in two.

Where no side is given, there are pairs to choose from, too, as long as nothing is typed.
"""

from __future__ import annotations

import shlex
from itertools import compress
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.query.query import parse_query
from spanview.analysis.query.select import selected_traces
from spanview.display.cells import data_text
from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.model.problems import QueryError
from spanview.model.times import NO_TIME
from spanview.reports.table import Piece, Table, TableColumn
from spanview.tui.diff.side import MarkedSide
from spanview.tui.keys import On, View
from spanview.tui.traces.matching import TraceMatcher
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.prompt import Prompt
from spanview.tui.widgets.table import TableList
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.query.query import Query
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.tui.diff.pairs import Pair

_MAX_QUERY_LENGTH: Final = 60
"""Characters of a query."""
_SIDES: Final = 2
_OF_SIDE: Final = "Enter compares with all other traces; / takes a query, and Enter compares with what matches, as in"
_OF_ALL: Final = "/ takes a query: Enter compares what matches with the rest, as in"
_EXAMPLES: Final = (
    "name~batch            a span's name has it",
    "trace.duration>1s     traces that take longer",
    "file~after            one of several folders",
)


def _pair_text(pair: Pair, cells: int) -> Iterator[Piece]:
    yield Piece(data_text(f"{pair.a.what} → {pair.b.what}", cells))


_TABLE: Final[Table[Pair]] = Table((TableColumn("", 2, lambda _: ""), TableColumn("", parts=_pair_text)))


class OtherSideScreen(BaseScreen, on=On.PAIRS, view=View.COMPARE):
    """Pairs to choose from, and a line for the query of the other side."""

    HINTS = "/ query  ⏎ compare  Esc back"

    def __init__(self, store: Store, side: MarkedSide | None) -> None:
        super().__init__()
        self._store = store
        self._side = side
        self._sought: str | None = None
        """The query that was looked for last."""
        self._matcher: TraceMatcher | None = None
        self._found: set[int] = set()
        self._version = 0
        """How many there were when the looking began."""
        self._looking, self._explaining = Work(self), Work(self)
        self._is_done = False
        """Whether Enter was pressed."""
        self.rows: TableList[Pair] = TableList(_TABLE)
        self._pairing = Work(self)
        self._note = Static(Content(self._note_text(0)), id="nothing")
        """What can be typed, and what is left out."""

    def _note_text(self, merged: int) -> str:
        """Return what can be typed, and how many traces are in no pair, where they are likely several runs."""
        lines = [_OF_ALL if self._side is None else _OF_SIDE, "", *_EXAMPLES]
        if merged:
            are = "is" if merged == 1 else "are"
            lines += ["", f"{count(merged, 'trace')} {are} likely several runs with the same ids, so {are} in no pair."]
            paths = self.viewer.paths
            both = " ".join(sanitise(shlex.quote(path)) for path in paths) if len(paths) == _SIDES else "A B"
            lines.append(f"To compare the runs, in a terminal: spanview diff {both}")
        return "\n".join(lines)

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        hint = "a query: matching traces against the rest" if self._side is None else "a query; nothing: all others"
        yield Prompt(hint, is_query=True)
        yield self.rows
        yield self._note

    def on_mount(self) -> None:
        """Let a pair be chosen, or a query be typed."""
        self.rows.display = False
        if self._side is None:
            self._pairing.begin(lambda _: self._pairs(), self._take_pairs)
        self.refresh_frame()

    def _pairs(self) -> tuple[list[Pair], int]:
        """Called in a thread: return pairs, and how many traces are in none because they are several runs."""
        from spanview.analysis.reused_ids import traces_with_reused_ids
        from spanview.tui.diff.pairs import pairs_of

        return pairs_of(self._store), len(traces_with_reused_ids(self._store))

    def _take_pairs(self, answer: tuple[list[Pair], int]) -> None:
        pairs, merged = answer
        self._note.update(Content(self._note_text(merged)))
        self.rows.show(pairs)
        self.rows.styles.height = len(pairs) + 1
        self._show_pairs()
        if self._is_done:
            self._compare()

    def _show_pairs(self) -> None:
        """Offer pairs while nothing is typed."""
        self.rows.display = bool(self.rows.row_count) and not self._is_typed
        if self.rows.display:
            prompt = self.query_one(Prompt)
            if prompt.display:
                prompt.begin_below()
            else:
                self.set_focus(self.rows)

    @property
    def _is_typed(self) -> bool:
        return bool((self._sought or "").strip())

    async def action_search(self) -> None:
        """Let a query be typed."""
        await self.query_one(Prompt).open()
        self._show_pairs()

    def action_back(self) -> None:
        """Drop what is typed, then go back."""
        prompt = self.query_one(Prompt)
        if not prompt.display:
            self.app.pop_screen()
            return
        self._looking.end()
        self._explaining.end()
        self._sought, self._matcher, self._is_done = None, None, False
        prompt.clear()
        self.set_focus(None)
        self._show_pairs()

    async def action_open(self) -> None:
        """Compare the selected pair, or the side with all others."""
        self._is_done = True
        self._compare()

    def title_text(self) -> str:
        """Return what is compared."""
        return "‹ compare what matches with the rest" if self._side is None else f"‹ compare {self._side.what} with …"

    async def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Look for what is typed; Enter compares, at the latest when all was looked at.

        What is typed right before Enter can be told after it: it takes back an Enter only where it is another text.
        """
        prompt = self.query_one(Prompt)
        if self.is_left or event.text != prompt.text:
            return
        if event.text != self._sought:
            self._is_done = False
            self._look_for(event.text)
            self._show_pairs()
        if event.done:
            self._is_done = True
            self._compare()

    def _look_for(self, text: str) -> None:
        self._looking.end()
        self._explaining.end()
        self._sought, self._found, self._matcher = text, set(), None
        prompt = self.query_one(Prompt)
        try:
            query = parse_query(text)
        except QueryError as error:
            prompt.say(str(error), is_mistake=True)
            return
        prompt.say("")
        if not query.is_empty:
            self._version, self._matcher = self._store.version, TraceMatcher(self._store, query)
            self._matcher.look_at(range(len(self._store.trace_table)))
            self._looking.begin_pieces(self._matcher.matches, self._take_matches)

    def _take_matches(self, matches: list[set[int]]) -> None:
        self._found.update(*matches)
        looking = f", {self._looking.share_text} looked at" if self._looking.is_busy else ""
        self.query_one(Prompt).say(f"{len(self._found):,} of {len(self._store.trace_table):,} traces{looking}")
        if self._is_done:
            self._compare()

    def _compare(self) -> None:
        """Compare, if it is known with what."""
        sides = self._sides()
        if sides is not None:
            self.app.pop_screen()
            self.viewer.views.open_diff(*in_order_of_time(self._store, sides))

    def _sides(self) -> tuple[MarkedSide, MarkedSide] | None:
        """Return A and B; None, and say why, where there are none yet."""
        prompt, store = self.query_one(Prompt), self._store
        if self._matcher is None:
            if self._is_typed or self._pairing.is_busy:
                return None
            if (pair := self.rows.selected) is not None:
                return pair.a, pair.b
            if self._side is None or not self._has_others(self._side):
                nothing = "no other traces: type a query"
                if prompt.display:
                    prompt.say(nothing, is_mistake=True)
                else:
                    self.viewer.say(f"{nothing} behind /")
                return None
            listed = self._side.traces
            return self._side, MarkedSide(None, "all others", lambda: _rest(len(store.trace_table), listed()))
        if self._looking.is_busy:
            return None
        if not self._found:
            self._say_why(self._matcher.query)
            return None
        matching = Matching(store, self._matcher.query, sorted(self._found), self._version)
        query = sanitise((self._sought or "").strip(), _MAX_QUERY_LENGTH)
        side = MarkedSide(None, query, matching)
        if self._side is not None:
            return self._side, side
        if len(self._found) == len(store.trace_table):
            prompt.say("every trace matches: nothing left to compare with", is_mistake=True)
            return None
        return side, MarkedSide(None, f"not {f'({query})' if ' ' in query else query}", matching.rest)

    def _say_why(self, query: Query) -> None:
        """Say that no trace matches, and why as soon as that is known."""

        def why(tell: Tell) -> list[str]:
            from spanview.analysis.query.misses import misses_of
            from spanview.display.miss_text import miss_lines

            return ["no trace matches", *miss_lines(misses_of(self._store, query, tell=tell))]

        def say(lines: list[str]) -> None:
            self.query_one(Prompt).say("; ".join(lines), is_mistake=True)

        say(["no trace matches"])
        if not self.viewer.feed_state.loading:
            self._explaining.begin(why, say)

    def _has_others(self, side: MarkedSide) -> bool:
        """Tell whether there are traces that aren't among those of a side."""
        number = len(self._store.trace_table)
        # What is marked is one trace, or a group that takes a while to count.
        return number > 1 if side.key is not None else len(side.traces()) < number


class Matching:
    """The traces that match a query, now and whenever they are asked for again; for a thread."""

    def __init__(self, store: Store, query: Query, matches: Sequence[int], version: int) -> None:
        self._store = store
        self._query = query
        self._known = version, len(store.trace_table), matches

    def __call__(self) -> Sequence[int]:
        """Return those that match."""
        return self._now()[2]

    def rest(self) -> Sequence[int]:
        """Return those that don't, of the same traces."""
        _, number, matches = self._now()
        return _rest(number, matches)

    def _now(self) -> tuple[int, int, Sequence[int]]:
        store = self._store
        version, number = store.version, len(store.trace_table)
        if version != self._known[0]:
            self._known = version, number, selected_traces(store, query=self._query)
        return self._known


def in_order_of_time(store: Store, sides: tuple[MarkedSide, MarkedSide]) -> tuple[MarkedSide, MarkedSide]:
    """Return two sides, the older one as A where all traces of one began before those of the other.

    What is marked stays A.
    """
    if any(side.key is not None for side in sides):
        return sides
    starts = store.trace_table.start_ns
    of_a, of_b = ([ns for ns in map(starts.__getitem__, side.traces()) if ns != NO_TIME] for side in sides)
    a, b = sides
    return (b, a) if of_a and of_b and max(of_b) < min(of_a) else (a, b)


def _rest(number: int, traces: Collection[int]) -> list[int]:
    """Return the traces that aren't among some, of so many."""
    # A hundred thousand are left out within a key.
    is_left = bytearray(b"\1") * number
    for trace in traces:
        # What is listed may have grown since it was counted.
        if trace < number:
            is_left[trace] = 0
    return [*compress(range(number), is_left)]
