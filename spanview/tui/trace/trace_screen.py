"""One trace: tree and waterfall, and the details of the selected span below where there is room."""

from __future__ import annotations

from bisect import bisect_left
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from textual.containers import Vertical

from spanview.analysis.ray.names import call_names
from spanview.analysis.ray.unended import NO_UNENDED, fates_text, known_until
from spanview.analysis.ray.waits import wait_word
from spanview.display.call_text import without_attempt_text
from spanview.display.span_text import RAW
from spanview.display.trace_words import STILL_COMING, completeness_text
from spanview.display.units import count, duration, lasted
from spanview.index.lives import OpenEnd
from spanview.index.tree import ROOT
from spanview.tui.app.settings import chosen
from spanview.tui.diff.marking import mark_or_compare, side_of_trace
from spanview.tui.diff.side import MARK
from spanview.tui.keys import On, View
from spanview.tui.span.details import Details
from spanview.tui.trace.appearance import EXTRAS, SELF, Appearance, ColorBy
from spanview.tui.trace.details_below import ROOM_FOR_DETAILS, DetailsBelow
from spanview.tui.trace.failures import Failures
from spanview.tui.trace.missing_parents import MissingParents
from spanview.tui.trace.search import Search
from spanview.tui.trace.stitcher import Stitcher, first_model
from spanview.tui.trace.waterfall import RulerLine, Waterfall
from spanview.tui.widgets.answer_line import AnswerLine
from spanview.tui.widgets.base_screen import ASK_AGAIN_S, BaseScreen, done_by
from spanview.tui.widgets.copying import Copier
from spanview.tui.widgets.legend import Legend
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.minimap import Minimap
from spanview.tui.widgets.prompt import QUERY_HINT, Prompt
from spanview.tui.widgets.scope import ChosenTraces, TraceScope, ViewScope
from spanview.tui.widgets.table import following
from spanview.tui.widgets.work import Work
from spanview.tui.widgets.zooming import Zoom

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.answer import Answer
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.ray.waited_for import WaitReasons
    from spanview.analysis.telling import Tell
    from spanview.display.span_in_tree import SpanInTree
    from spanview.display.timing_text import TimingFacts
    from spanview.index.store import Store
    from spanview.tui.trace.lit_path import LitPath
    from spanview.tui.trace.stitched_trace import StitchedTrace
    from spanview.tui.trace.trace_model import TraceModel
    from spanview.tui.widgets.linelist import LineList
    from spanview.tui.widgets.work import Owner

_ACTIONS_ON_ROWS: Final = frozenset(
    (
        *("move", "page", "edge", "open", "copy", "copy_json", "raw", "next_pane", "log"),
        *("collapse", "expand", "collapse_all", "expand_all", "runs"),
        *("match", "only_matches", "parent", "same_name", "error"),
        *("zoom", "pan", "fit", "critical", "picture", "copy_text"),
    )
)
"""Actions for which all rows must be there; of a long trace they wait until it has been stitched."""
_LEAST_PERCENT, _PERCENT_STEP, _MOST_PERCENT = 18, 6, 84
"""Of a line, for names."""
_MERGED: Final = "likely several runs with the same ids"
_FEW_PROCESSES: Final = 32
"""Processes of which a record each is read within the time that a key may take."""


class _Answered(NamedTuple):
    """Where the trace's time went, and until when that is known."""

    answer: Answer
    spans: int
    """Of how many spans."""
    short_names: Mapping[str, str]
    unended: Mapping[int, Unended]
    """What had become of spans without an end, by row."""
    until_ns: int
    """When the last span ended, or was known to run."""
    waits: WaitReasons | None
    """What calls waited for, where Ray's own events say so."""
    is_over: bool
    """Whether nothing more becomes of its calls, as they say."""


class TraceScreen(BaseScreen, on=On.TRACE, view=View.TRACES):
    """Tree and waterfall of one trace.

    Args:
        at_failure: Above 0 to begin at the newest failure, below 0 at the one that is visited last.
        at_row: The span to begin at, by its row in the span table; with `at_failure`, it is what failed.
    """

    rows: Waterfall
    zoom: Zoom

    def __init__(self, store: Store, trace: int, *, at_failure: int = 0, at_row: int | None = None) -> None:
        super().__init__()
        self._store, self.trace = store, trace
        self._at_failure, self._at_row = at_failure, at_row
        self.scope = ViewScope(self._traces, lambda: self.viewer.root_name(trace), self._compare, trace)
        self._figures: tuple[int | None, int, int] | None = None
        """Duration, spans and errors, as the header says them."""
        self._is_growing = False
        """Whether the list of traces says that it grows."""
        # What is shown: which rows and which time, and what rows show besides. All parts look at these two.
        model = self._model = first_model(store, trace)
        appearance = self._appearance = Appearance(model)
        # The widgets, from the top down; zooming is shared by the three that show time.
        self._answer_line = AnswerLine()
        self._prompt = Prompt(QUERY_HINT, is_query=True)
        rows = Waterfall(model, appearance)
        self.rows = rows
        self.zoom = Zoom(rows, model, interval=self._interval, refresh=self._refresh_time)
        self._minimap = Minimap(model, self.zoom.look_at)
        self._ruler = RulerLine(rows, self.zoom)
        self._legend = Legend(appearance)
        self._pane = Details(classes="below")
        # What finds something out in threads; each calls the screen when there is something else to show.
        self.stitcher = Stitcher(self, model, appearance, self._show)
        self._search = Search(self, rows, self._prompt, self._go_to_first_match)
        self._missing = MissingParents(self, rows, self._show_what_is_missing, self._show_time)
        self._failures = Failures(self, rows, self._missing, self._show_failures)
        self._details = DetailsBelow(self, rows, self._pane, self._missing)
        self._pane.failure_of, self._pane.unended_text = self._failures.text_of, self._missing.unended_text
        self.live: Live[tuple[SpanInTree, TimingFacts] | None] = self._details.live
        scope = TraceScope(lambda: ChosenTraces([trace], ""), self._answer_version)
        self.answer: Live[_Answered] = Live(self, scope, self._find_answer, self._take_answer)
        """Where the trace's time went, of as much of it as is shown."""
        self._answered: _Answered | None = None
        self._finding_times, self._finding_nodes, self._finding_path = Work(self), Work(self), Work(self)
        self._copying = Work(self)
        self.copier = Copier(
            self, store, lambda: trace, lambda: self._details.span, why_no_span=self._details.why_no_span
        )

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield self._answer_line
        yield self._prompt
        yield Vertical(self._minimap, self._ruler, self.rows, self._legend, self._pane, id="trace")

    def on_mount(self) -> None:
        """Begin at the root, at a span, or at a failure."""
        self.set_focus(self.rows)
        self.rows.rows_have_changed(len(self._model.rows), 0)
        self.take_settings()
        self._is_growing = self.viewer.is_growing(self.trace)
        self.refresh_frame()
        # Before the first layout, which would else be followed by another one.
        self.take_room()
        self._details.show_soon()
        self.stitcher.begin()
        if self.stitcher.has_rows:
            self._find_out()
        self._missing.ask_what_runs()
        self.set_interval(ASK_AGAIN_S, self._ask_again)
        self.live.begin_with(None, ChosenTraces(None, ""), 0)
        self.stitcher.when_stitched(self.answer.begin)
        if self._at_failure or self._at_row is not None:
            self.stitcher.when_stitched(self._begin_elsewhere)

    def _show_what_is_missing(self) -> None:
        """Show what has become known of missing parents."""
        if not self.is_left:
            self._failures.lay_out()
            self.rows.refresh()
            self._details.show_soon()
            self.answer.catch_up()

    def _show_failures(self) -> None:
        """Show what has become known of what failed without an error, and of calls that may still run."""
        self._details.show_soon()
        self.refresh_frame()
        self._say_answer()

    def _find_out(self) -> None:
        """Find out what the trace itself doesn't tell."""
        self._missing.guess()
        self._failures.find()

    def _ask_again(self) -> None:
        """Ask what may still run."""
        self._missing.ask_what_runs()
        if self.stitcher.has_rows and not self.viewer.paused:
            self._failures.find()

    def _begin_elsewhere(self) -> None:
        if self._at_row is not None:
            self.rows.go_to(self._model.stitched.node_of.get(self._at_row, 0))
            self.call_after_refresh(self.rows.reveal)
            if self._at_failure:
                self.call_after_refresh(self._show_failed, self._at_row)
        elif self._at_failure:
            # The root may be the first one.
            self.call_after_refresh(self._go_to_failure, self._at_failure, stay=True)

    def take_room(self) -> None:
        """Show the details, and what the colours stand for, where there is room for them."""
        self._explain_colors()
        self._details.take_room()

    on_resize = take_room

    # -- what is shown -----------------------------------------------------------------------------------------------

    @property
    def chosen_trace(self) -> int:
        """The trace."""
        return self.trace

    def title_text(self) -> str:
        """Return the trace in one line."""
        table, tree, trace = self._store.trace_table, self._model.tree, self.trace
        name = self.viewer.root_name(trace)
        if self._figures is None or not self.viewer.paused:
            self._figures = table.duration_ns(trace), table.span_count[trace], table.error_count[trace]
        lasted, spans, errors = self._figures
        parts = [f"‹ {name}", self._length_text(lasted), count(spans, "span")]
        if self.stitcher.has_rows:
            parts.append(count(self._model.stitched.processes, "process"))
        if errors:
            parts.append(f"✖ {count(errors, 'error')}")
        parts += [_MERGED] * (self.stitcher.has_rows and self._model.stitched.merges_runs)
        if self.viewer.feed_state.loading and not tree.complete:
            parts.append("loading")
        elif not self.stitcher.has_rows:
            parts.append("stitching …")
        elif state := fates_text(self._appearance.unended.values()):
            parts.append(state)
        elif self._is_growing:
            parts.append(f"● {STILL_COMING}")
        elif tree.complete and (without_attempt := self._missing.without_attempt):
            parts.append(without_attempt_text(without_attempt, self._failures.open_calls(without_attempt)))
        else:
            without_end = self._model.stitched.without_end
            parts.append(completeness_text(is_complete=tree.complete, without_end=without_end))
        parts.append(table.hex_id(trace) or "no trace id")
        if self.viewer.marked is not None and self.viewer.marked.key == trace:
            parts.insert(1, f"{MARK}marked")
        return "   ".join(parts)

    def _length_text(self, known_ns: int | None) -> str:
        """Return how long the trace lasted, lasts so far, or lasted at least, where it isn't known what ends it."""
        model, end = self._model, self._model.open_end
        is_open = self.stitcher.has_rows and model.stitched.without_end > len(known_until(self._appearance.unended))
        if end is not OpenEnd.RUNS and is_open and model.whole.length_ns > 1:
            end = OpenEnd.EARLIEST
        return duration(known_ns) if end is None else lasted(model.whole.length_ns, end)

    def take_settings(self) -> None:
        """Show the columns, colours and folds that were chosen last."""
        settings = self.viewer.settings
        self.stitcher.join_calls(joins=settings.joins)
        node = self.rows.node
        if settings.folds != self._model.folds:
            self._model.toggle_folds()
        self.rows.refold(node)
        self._appearance.columns = [number for number in settings.columns if number < len(EXTRAS)]
        self._appearance.names_percent = settings.names_percent
        self._ruler.refresh()
        self._find_own_times()
        color_by = chosen(ColorBy, settings.color_by)
        self._with_nodes(color_by, lambda: self._take_color(color_by))

    def feed_has_news(self, changed: set[int]) -> None:
        """Stitch the trace anew when it has grown, and compare the span with those that there are now."""
        if self.trace in changed:
            self.stitcher.trace_has_grown()
        elif self.stitcher.has_rows:
            # While files load, nothing is guessed.
            self._find_out()
        self.refresh_frame()
        self.live.catch_up()
        self.answer.catch_up()
        self._say_answer()

    def _show(self, stitched: StitchedTrace, path: LitPath | None) -> None:
        """Show the trace as it was stitched anew; the cursor stays on its span."""
        node = self.rows.node
        key = None if node is None else self._model.stitched.key(node)
        self._model.take(stitched, key)
        self._missing.drop_ended()
        self._failures.lay_out()
        if (lit := self._appearance.lit_path) is not None:
            self._appearance.lit_path = path
            if path is not None and path.text != lit.text:
                self.viewer.say(path.text)
        self.rows.refresh_rows(key)
        self._refresh_time()
        self._legend.refresh()
        self.refresh_frame()
        self._find_own_times()
        self.answer.catch_up()
        self._say_answer()
        # What has come may be the first that is told apart.
        self._explain_colors()
        if self.stitcher.has_rows:
            self._find_out()

    def _show_time(self) -> None:
        """Show that there is more time in the trace."""
        if not self.is_left:
            self._refresh_time()
            self.refresh_frame()
            self.answer.catch_up()

    def _refresh_time(self) -> None:
        self._ruler.refresh()
        self._minimap.refresh()

    mark_has_changed = BaseScreen.refresh_frame
    """Say whether this trace is marked."""

    def growth_has_changed(self) -> None:
        """Say what the list of traces says."""
        if not self.viewer.paused and (is_growing := self.viewer.is_growing(self.trace)) != self._is_growing:
            self._is_growing = is_growing
            self.refresh_frame()
            self._say_answer()

    def on_line_list_moved(self, event: LineList.Moved) -> None:
        """Let the details follow."""
        if event.sender is self.rows:
            self._details.show_soon()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let what needs rows wait for them."""
        if not self.stitcher.has_rows and self.is_mounted and action in _ACTIONS_ON_ROWS:
            self.stitcher.when_stitched(lambda: self.app.run_action(("screen", action, parameters), self))
            return False
        return super().check_action(action, parameters)

    # -- the selected span -------------------------------------------------------------------------------------------

    async def action_open(self) -> None:
        """Show the span on a screen of its own; like siblings one by one."""
        await self._open_span(self._pane.section)

    async def _open_span(self, section: str) -> None:
        from spanview.tui.span.span_screen import SpanScreen

        node, subject = self.rows.node, self._details.span
        if not self.stitcher.has_rows:
            self.stitcher.when_stitched(lambda: self._open_span(section))
        elif node is not None and self._model.run(node):
            self.action_expand()
        elif subject is not None:
            screen = SpanScreen(subject, section, lambda: self._model.stitched.unjoined, self._go_to_span)
            screen.details.unended_text = self._missing.unended_text
            await self.app.push_screen(screen)
        else:
            self.viewer.say("this parent was not seen: nothing to open")

    action_next_pane = done_by("_details.next_section")

    async def action_raw(self) -> None:
        """Show the record as the file has it, and back."""
        if not self._details.toggle_raw():
            await self._open_span(RAW)

    async def action_log(self) -> None:
        """Show the log of the selected span."""
        subject = self._details.span
        if subject is None:
            self.viewer.say(f"no log: {self._details.why_no_span()}")
        else:
            await self._pane.open_log(subject)

    def action_back(self) -> None:
        """Hide the details that were asked for, then drop the search, then go back to the traces."""
        if not (self._details.hide() or self._search.drop()):
            self.app.pop_screen()

    # -- other spans -------------------------------------------------------------------------------------------------

    action_search = done_by("_prompt.open")

    async def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Mark what matches; Enter goes to the next match."""
        if not self.is_left:
            self._search.type(event.text, done=event.done)

    def _go_to_first_match(self) -> None:
        self.stitcher.when_stitched(lambda: self._go_to_next(self.rows.matches, 1, "match", stay=True))

    action_only_matches = done_by("_search.show_only_matches")

    def action_match(self, by: int) -> None:
        """Go to the next match, or to the one before."""
        self._go_to_next(self.rows.matches, by, "match")

    def action_same_name(self, by: int) -> None:
        """Go to the next span with the name of the selected one, or to the one before."""
        stitched, node = self._model.stitched, self.rows.node
        if node is None or stitched.tree.is_missing(node):
            self.viewer.say("this parent was not seen: its name isn't known")
            return
        name = self._store.spans.name[stitched.tree.rows[node]]
        self._go_to_next(stitched.positions_of_name(name), by, "span of this name")

    def _go_to_next(self, positions: list[int], by: int, noun: str, *, stay: bool = False) -> None:
        """Go to the next of some sorted positions, or to the one before, round the end if need be.

        Args:
            stay: Whether the position under the cursor is the next one, where it is one of them.
        """
        stitched, current = self._model.stitched, self.rows.node
        if not positions or current is None:
            self.viewer.say(f"no {noun} in this trace")
            return
        here = stitched.position[current]
        if by > 0 and self._model.run(current):
            # The row stands for all of its run, whose first one hasn't been seen.
            stay = True
        number = bisect_left(positions, here) - 1 if by < 0 else bisect_left(positions, here if stay else here + 1)
        number %= len(positions)
        self.rows.go_to(stitched.order[positions[number]])
        self.viewer.say(f"{noun} {number + 1:,} of {len(positions):,}")

    def action_longest(self, by: int) -> None:
        """Go to the call that waited longest, from there to the one that waited next longest, or back."""
        waits, current = self._model.stitched.longest_waits, self.rows.node
        if not waits or current is None:
            self.viewer.say("no call waited in this trace")
            return
        number = (waits.index(current) + by if current in waits else min(0, by)) % len(waits)
        node = waits[number]
        self.rows.go_to(node)
        said = f"{wait_word(self._store, self._model.tree.rows[node])} {duration(self._model.stitched.wait(node))}"
        self.viewer.say(f"{said}: {number + 1:,} of {len(waits):,}, longest first")

    def action_parent(self) -> None:
        """Go to the parent."""
        node = self.rows.node
        parent = ROOT if node is None else self._model.tree.parents[node]
        if parent == ROOT:
            self.viewer.say("this is a root")
        else:
            self.rows.go_to(parent)

    action_error = done_by("_go_to_failure")

    async def _go_to_failure(self, by: int, *, stay: bool = False) -> None:
        """Go to the next failure, or to the one before, errors first; behind the last one to the next trace with one.

        `stay` begins at the first one or the last.
        """
        if self.is_left:
            return
        failures = self._failures
        number = failures.next(by)
        is_past = stay or (by > 0 and number >= len(self._model.stitched.failed))
        if is_past and failures.when_known(lambda: self.call_later(partial(self._go_to_failure, by, stay=stay))):
            self.viewer.say("looking for failures without an error …")
            return
        if stay:
            number = 0 if by > 0 else failures.count - 1
        elif not 0 <= number < failures.count and await self.viewer.views.open_next_failure(self.trace, by):
            return
        if failures.count:
            number %= failures.count
            self.rows.go_to(failures.visit(number))
            self.viewer.say(failures.name_of(number))
            self._details.show_error()
        else:
            self.viewer.say("no failures in this trace")

    def _show_failed(self, row: int) -> None:
        """Show what a span says of its failure, which may be one without an error."""
        node = self._model.stitched.node_of.get(row)
        if self.is_left or node is None:
            return
        number = self._failures.number_of(node)
        if number is None and self._failures.when_known(lambda: self._show_failed(row)):
            return
        self.rows.go_to(node if number is None else self._failures.visit(number))
        if number is not None:
            self.viewer.say(self._failures.name_of(number))
        self._details.show_error()

    def _go_to_span(self, row: int) -> None:
        """Go to a span of the trace, by its row in the span table."""
        node = self._model.stitched.node_of.get(row)
        if node is not None and node != self.rows.node:
            self.rows.go_to(node)

    # -- folds -------------------------------------------------------------------------------------------------------

    def action_collapse(self) -> None:
        """Hide what is below, or go to the parent."""
        if self._model.rows and not self._model.collapse(self.rows.cursor):
            parent = self._model.parent_row(self.rows.cursor)
            if parent is not None:
                self.rows.move_to(parent)
        elif self.rows.node is not None:
            self.viewer.say(f"{count(self._model.below(self.rows.node), 'span')} hidden; → shows them")
        self.rows.refresh_rows()

    def action_expand(self) -> None:
        """Show what is below, or go to the first child."""
        model, rows = self._model, self.rows
        is_run = rows.node is not None and model.run(rows.node)
        if model.rows and model.expand(rows.cursor):
            self.viewer.say("siblings expanded" if is_run else "expanded")
        elif rows.node is not None and model.below(rows.node):
            rows.move_to(rows.cursor + 1)
        else:
            self.viewer.say("nothing below this span")
        rows.refresh_rows()

    def action_collapse_all(self) -> None:
        """Hide everything but the roots."""
        node = self.rows.node
        self._model.collapse_all()
        self.rows.refold(node)
        self.viewer.say("all collapsed; ] expands them")

    def action_expand_all(self) -> None:
        """Show what hangs below every span."""
        node = self.rows.node
        self._model.expand_all()
        self.rows.refold(node)
        more = "; similar siblings folded; R expands them" if self._model.folded else ""
        self.viewer.say(f"all expanded{more}")

    def action_runs(self) -> None:
        """Fold runs of like siblings into a row each, or show each sibling."""
        node = self.rows.node
        folds = self._model.toggle_folds()
        self.viewer.keep(folds=folds)
        self.rows.refold(node)
        self.viewer.say("similar siblings folded; → expands a row" if folds else "one row per sibling")

    def action_join_calls(self) -> None:
        """Show each Ray call with one attempt as one row, or as its two spans."""
        if call_names(self._store.names)[0].isdisjoint(self._model.stitched.tally("name")[0]):
            self.viewer.say("no Ray calls in this trace")
            return
        joins = not self.stitcher.joins_calls
        self.viewer.keep(joins=joins)
        self.stitcher.join_calls(joins=joins)
        self.viewer.say("one row per Ray call" if joins else "one row per span")

    # -- appearance --------------------------------------------------------------------------------------------------

    def action_column(self, number: int) -> None:
        """Show a further column, or leave it out."""
        appearance = self._appearance
        is_shown = appearance.toggle_column(number)
        self.viewer.keep(columns=tuple(appearance.columns))
        has_room = number in appearance.columns_in(self.rows.line_width)
        what = "left out" if not is_shown else "shown" if has_room else "has no room here"
        self.viewer.say(f"{EXTRAS[number].head.lower()} {what}")
        self._find_own_times()
        self.rows.refresh()
        self._ruler.refresh()

    def _find_own_times(self) -> None:
        """Find out the self times of a long trace in a thread, where they are to be shown."""
        if SELF in self._appearance.columns and not self._model.stitched.is_own_known:
            # Behind the painting: one interpreter runs both.
            self.call_after_refresh(
                self._finding_times.begin, lambda _: self._model.stitched.own, lambda _: self.rows.refresh()
            )

    def action_names(self, by: int) -> None:
        """Give names more of each line, or less."""
        rows, percent = self.rows, self._appearance.names_percent
        before = rows.name_cells
        # On a small screen several steps may have the same room.
        while rows.name_cells == before and _LEAST_PERCENT <= percent + by * _PERCENT_STEP <= _MOST_PERCENT:
            percent += by * _PERCENT_STEP
            self._appearance.names_percent = percent
        after = rows.name_cells
        self.viewer.keep(names_percent=percent)
        self.viewer.say(f"names have {after} cells" + (", the limit" if after == before else ""))
        rows.refresh()
        self._ruler.refresh()

    # -- colours -----------------------------------------------------------------------------------------------------

    def action_color(self) -> None:
        """Let colours stand for the next thing, and say what they stand for."""
        color_by = following(ColorBy, self._appearance.color_by)
        self._with_nodes(color_by, lambda: self._choose_color(color_by))

    def _choose_color(self, color_by: ColorBy) -> None:
        self._take_color(color_by)
        self.viewer.keep(color_by=color_by.value)
        self.viewer.say(f"coloured by {color_by.value}")
        self._explain(shown=self.app.size.height >= ROOM_FOR_DETAILS)

    def _take_color(self, color_by: ColorBy | None) -> None:
        self._appearance.chosen = color_by
        self.rows.refresh()
        self._legend.refresh()

    def _with_nodes(self, color_by: ColorBy | None, do: Callable[[], object]) -> None:
        """Do something when it is known where the processes run, if that is what colours are to stand for."""
        if color_by is ColorBy.NODE and len(unknown := self._appearance.unknown_nodes()) > _FEW_PROCESSES:
            # A record of each process is read again.
            self._finding_nodes.begin(lambda _: self._appearance.learn_nodes(unknown), lambda _: do())
        else:
            do()

    def _explain_colors(self) -> None:
        """Show what the colours stand for, where there are several and there is room."""
        self._explain(shown=self.app.size.height >= ROOM_FOR_DETAILS and len(self._appearance.legend()) > 1)

    def _explain(self, *, shown: bool) -> None:
        if self.app.no_color and shown != self._appearance.is_explained:
            # Letters in the rows say what colours would.
            self.rows.refresh()
        self._legend.display = self._appearance.is_explained = shown
        self._legend.refresh()

    # -- where the time went -----------------------------------------------------------------------------------------

    def _find_answer(self, _traces: Sequence[int] | None, _tell: Tell) -> _Answered:
        """Called in a thread: find the answer, as of the time until which all else is shown then."""
        from spanview.analysis.answer import answer_of
        from spanview.analysis.ray.known_calls import KnownCalls

        stitched = self._model.stitched
        unended = self.viewer.running.unended((self.trace,)) if stitched.without_end else NO_UNENDED
        until = known_until(unended, stitched.whole.end_ns)
        known = KnownCalls(self._store)
        answer = answer_of(self._store, self.trace, stitched.unjoined, until, known)
        until_ns = max(stitched.whole.end_ns, *until.values(), 0)
        waits, is_over = known.told_waits_in(self.trace), known.is_over(self.trace)
        return _Answered(answer, len(stitched.unjoined.rows), stitched.short_names, unended, until_ns, waits, is_over)

    def _answer_version(self) -> tuple[int, ...]:
        """Return what the answer depends on: how much of the trace is shown, and until when it is known to have run.

        Ray's own events may say more of it, too.
        """
        stitched, told = self._model.stitched, 0 if self._store.ray is None else self._store.ray.version
        return (
            len(stitched.unjoined.rows),
            stitched.replaced,
            self._missing.asked_ns,
            self._model.ran_until.ended_ns,
            told,
        )

    def _take_answer(self, answered: _Answered) -> None:
        self._answered = answered
        if (self._appearance.waits, answered.waits) != (None, None):
            self._appearance.waits = answered.waits
            self.rows.refresh()
        if answered.unended:
            self._missing.take_unended(answered.unended)
        self._say_answer()

    def on_answer_line_resized(self) -> None:
        """Share out what the line above leaves."""
        self._details.take_room()

    def _say_answer(self) -> None:
        from spanview.display.answer_text import answer_texts, as_far_as_known

        if self._answered is not None:
            answered, whole, end = self._answered, self._model.whole, self._model.open_end
            answer, is_behind = answered.answer, answered.spans != len(self._model.stitched.unjoined.rows)
            if self.viewer.feed_state.loading or is_behind or (self._is_growing and not answered.is_over):
                end = OpenEnd.RUNS
            hint = "c hides the path" if self._appearance.lit_path is not None else "c shows the path"
            calls = len(answer.unseen_calls.without_attempt)
            open_calls = self._failures.open_calls(calls, is_old=self.answer.is_behind)
            texts = answer_texts(answer, answered.short_names, open_calls)
            # What has come since lasts longer.
            is_longer = duration(answered.until_ns - whole.start_ns) != duration(whole.length_ns)
            texts = as_far_as_known(texts, end, is_first=end is OpenEnd.RUNS and is_longer)
            self._answer_line.say(texts, hint)

    # -- the critical path -------------------------------------------------------------------------------------------

    def action_critical(self) -> None:
        """Light the critical path up, or let it be."""
        if self._appearance.lit_path is not None:
            self._appearance.lit_path = None
            self.viewer.say("critical path off")
            self._say_answer()
            self.rows.refresh()
        else:
            self.viewer.say("critical path: looking for it …")
            # Behind the painting: one interpreter runs both.
            self.call_after_refresh(
                self._finding_path.begin, lambda _: self._appearance.path_of(self._model.stitched), self._light
            )

    def _light(self, path: LitPath) -> None:
        if path.stitched is not self._model.stitched:
            # The trace has grown meanwhile.
            self.action_critical()
            return
        self._appearance.lit_path = path
        self.viewer.say(path.text)
        self._say_answer()
        self.rows.refresh()

    # -- time --------------------------------------------------------------------------------------------------------

    def _interval(self) -> tuple[int, int] | None:
        """Return when the selected span starts and ends, or what stands for one."""
        node = self.rows.node
        return None if node is None else self._model.stitched.interval(node)

    # -- taking along ------------------------------------------------------------------------------------------------

    def _snapshot(self) -> tuple[TraceModel, Appearance]:
        """Return what is shown, for another thread: a trace can be long, and a disk slow."""
        model = self._model.snapshot()
        return model, self.rows.appearance.snapshot(model)

    def action_picture(self) -> None:
        """Draw what is shown into a new file of the current folder."""
        if not self.viewer.may_write():
            return
        from spanview.tui.trace.trace_picture import write_picture

        shown = self._snapshot()
        # The application's work, as a file that is written is told of on any screen; each file has its own.
        Work(cast("Owner", self.app)).begin(lambda _: write_picture(*shown), self.viewer.say)

    def action_copy_text(self) -> None:
        """Copy what is shown as text."""
        from spanview.tui.trace.trace_picture import picture_to_copy

        shown = self._snapshot()
        self._copying.begin(lambda _: picture_to_copy(*shown), lambda made: self.viewer.copy(*made))

    def action_copy(self) -> None:
        """Copy the span id."""
        node = self.rows.node
        if node is not None and self._model.run(node):
            self.viewer.say(f"{self._details.why_no_span()}: nothing to copy")
        elif node is not None:
            self.viewer.copy(f"{self._model.tree.span_id(node):016x}", "span id")

    # -- questions about this trace ----------------------------------------------------------------------------------

    def _traces(self) -> TraceScope:
        # Its name may come later.
        return TraceScope(
            lambda: ChosenTraces([self.trace], self.viewer.root_name(self.trace)),
            lambda: self._store.trace_table.version(self.trace),
        )

    async def _compare(self) -> None:
        """Compare what is marked, or else this trace, with what a query finds, or with all others."""
        await self.viewer.views.open_other_side(
            self.viewer.marked or side_of_trace(self.viewer, self._store, self.trace)
        )

    async def action_mark(self) -> None:
        """Mark this trace, or compare it with what is marked."""
        await mark_or_compare(self.viewer, side_of_trace(self.viewer, self._store, self.trace))
