"""What is odd about everything that was read: findings, what they rest on, what to do; and the problems of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widgets import Static

from spanview.analysis.diagnosis.finding import SESSION
from spanview.analysis.failures import failed_rows, in_order_of_visits
from spanview.display.call_text import without_attempt_text
from spanview.display.cells import fitting, fixed, name_text
from spanview.display.units import count, size
from spanview.model.codes import ERROR
from spanview.model.ids import format_span_id, format_trace_id
from spanview.reports.table import Piece, Table, TableColumn
from spanview.tui.check.check_model import CheckLine, lines_of, severity_text
from spanview.tui.keys import On, View
from spanview.tui.widgets.base_screen import ASK_AGAIN_S
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.report_screen import ReportScreen, RowKeys
from spanview.tui.widgets.scope import ChosenTraces, TraceScope
from spanview.tui.widgets.table import TableList
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from textual.app import ComposeResult

    from spanview.analysis.diagnosis.finding import Kind, Place
    from spanview.analysis.diagnosis.report import Diagnosis
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store


def _line(shown: CheckLine, cells: int) -> Iterator[Piece]:
    head = severity_text(shown)
    yield Piece(head, {"error": "error", "warning": "warning"}.get(shown.severity or "", "accent"))
    shortened = name_text if shown.place else fixed
    yield Piece(shortened(shown.text, max(0, cells - len(head))), "dim" if shown.place else "")


_TABLE: Final[Table[CheckLine]] = Table((TableColumn("", parts=_line),))


class CheckScreen(ReportScreen[CheckLine], on=On.CHECK, view=View.CHECK):
    """The check."""

    NOTES = 0

    def __init__(self, store: Store, session: str = SESSION) -> None:
        rows = TableList(_TABLE, lambda line: line.identity)
        keys: RowKeys[CheckLine] = RowKeys(
            open=self._open_line,
            copied=_copied_of,
            failed=self._failed_of_line,
            # Where a finding is about no failure, all that were read are behind its line.
            has_failed=lambda line: line is rows.selected,
            nothing_failed="no span has an error",
            is_whole=True,
        )
        super().__init__(rows, keys)
        self._store = store
        self._session = session
        scope = TraceScope(lambda: ChosenTraces(None, ""), self._version)
        self.live: Live[Diagnosis] = Live(self, scope, self._diagnose, self._take_report)
        self._report: Diagnosis | None = None
        self._asking = Work(self)
        self._unfolded: set[Kind] = set()

    def begin(self) -> None:
        """Begin to look, and to ask again about calls that may still run: no file says that they can't any more."""
        super().begin()
        self.set_interval(ASK_AGAIN_S, self._ask_again)

    def _ask_again(self) -> None:
        if self._report is None or not self._report.open_calls or self.live.is_behind or self.viewer.paused:
            return
        rows, running = self._report.open_calls, self.viewer.running
        self._asking.queue(lambda _: all(map(running.is_open, rows)), self._take_answer)

    def _take_answer(self, are_open: bool) -> None:  # noqa: FBT001 - an answer
        if not are_open:
            self.live.look_anew()

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield Static(Content(""), classes="heads")
        yield self.rows

    def _version(self) -> Hashable:
        """Tell one state of all that was read, with what is wrong about it, from another."""
        tallies = self._store.tallies
        return self._store.version, tallies.bytes, tallies.duplicates, len(tallies.unsorted_problems())

    def _diagnose(self, _traces: Sequence[int] | None, tell: Tell) -> Diagnosis:
        """Called in a thread, which numpy comes with."""
        from spanview.analysis.diagnosis.report import diagnose

        return diagnose(self._store, tell, self._session, self.viewer.running.unended(), self.viewer.paths)

    def title_text(self) -> str:
        """Return what was found."""
        if self._report is None:
            return f"‹ check   looking … {self.live.work.share_text}"
        counts = count(len(self._report.findings), "finding"), count(len(self._report.problems), "problem")
        running = f"   ● {self._report.running:,} running" if self._report.running else ""
        calls = len(self._report.open_calls)
        waiting = f"   ◌ {without_attempt_text(calls, calls)}" if calls else ""
        return f"‹ check{self.live.as_of}   {counts[0]}   {counts[1]} of files{running}{waiting}"

    def on_resize(self) -> None:
        """Break lines where they end now."""
        self._show()
        self._say_summary()

    def _take_report(self, report: Diagnosis) -> None:
        self._report = report
        self._say_summary()
        self._show()

    def _say_summary(self) -> None:
        """Say what was read, as much as there is room for."""
        if self._report is None:
            return
        summary = self._report.summary
        parts = (
            f"{count(summary.files, 'file')} of {size(summary.bytes)}",
            count(summary.spans, "span"),
            count(summary.traces, "trace"),
            f"{summary.missing_parents:,} missing",
            count(summary.duplicates, "duplicate"),
            f"{summary.torn:,} torn",
        )
        text = fitting([" · ".join(parts[:number]) for number in range(len(parts), 0, -1)], self.size.width - 2)
        self.query_one(".heads", Static).update(Content(f" {text}"), layout=False)

    def _show(self) -> None:
        if self._report is not None:
            self.rows.show(lines_of(self._report, self.rows.line_width, self._unfolded), stay=True)

    # -- keys --------------------------------------------------------------------------------------------------------

    async def _open_line(self, chosen: CheckLine) -> None:
        """Go to what the line names, or unfold what its finding rests on."""
        if chosen.place is not None and chosen.place.trace >= 0:
            row = chosen.place.row if chosen.place.row >= 0 else None
            await self.viewer.views.open_trace(chosen.place.trace, at_row=row)
        elif chosen.place is not None or chosen.problem is not None:
            self.viewer.say("a place in a file: y copies it")
        elif chosen.finding is not None and chosen.finding.evidence:
            self._unfolded ^= {chosen.finding.kind}
            self._show()
        else:
            self.viewer.say("nothing to open here")

    def _failed_of_line(self, chosen: CheckLine) -> Sequence[int]:
        """Return the failed spans that a finding rests on; where it rests on none, all that were read."""
        statuses = self._store.spans.status
        places = [chosen.place] if chosen.place else chosen.finding.evidence if chosen.finding else ()
        failed = [place.row for place in places if place.row >= 0 and statuses[place.row] == ERROR]
        return in_order_of_visits(self._store, failed or failed_rows(self._store).tolist(), self.viewer.made_good)


def _copied_of(line: CheckLine) -> tuple[str, str] | str:
    """Return the setting that a finding advises, the id, or the place in a file, and what that is."""
    if line.place is not None:
        return _copied(line.place)
    if line.problem is not None:
        return f"{line.problem.file} @ {line.problem.offset}", "place in the file"
    return "nothing to copy here" if line.finding is None else (line.finding.setting, "advice")


def _copied(place: Place) -> tuple[str, str]:
    """Return what is copied of a place, and what that is."""
    if place.span_id:
        return format_span_id(place.span_id), "span id"
    if place.trace_id:
        return format_trace_id(place.trace_id), "trace id"
    return (place.file, "path") if place.offset is None else (f"{place.file} @ {place.offset}", "place in the file")
