"""What took the time, what failed, what is missing: the sentences of `spanview explain`, each with its span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.diagnosis.finding import SESSION
from spanview.display.cells import fixed
from spanview.display.shades import ERROR, HEAD, QUIET, WARNING
from spanview.display.units import count
from spanview.index.table import NO_ROW
from spanview.reports.explanation import Topic
from spanview.reports.explanation_text import lines_of
from spanview.reports.table import Piece, Table, TableColumn
from spanview.tui.keys import On
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.live import MIN_INTERVAL_S, Live
from spanview.tui.widgets.report_screen import ReportScreen, RowKeys
from spanview.tui.widgets.table import TableList

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.reports.explanation import Statement
    from spanview.reports.explanation_text import ExplanationLine
    from spanview.reports.report import Report
    from spanview.tui.widgets.scope import TraceScope

_STYLES: Final = {HEAD: "accent", ERROR: "error", WARNING: "warning", QUIET: "dim"}


def _line(shown: ExplanationLine, cells: int) -> Iterator[Piece]:
    yield Piece(fixed(shown.text, cells), _STYLES.get(shown.shade, ""))


_TABLE: Final[Table[ExplanationLine]] = Table((TableColumn("", parts=_line),))


class ExplanationScreen(ReportScreen["ExplanationLine"], on=On.EXPLANATION):
    """The explanation of some traces."""

    NOTES = 0

    def __init__(self, store: Store, scope: TraceScope, session: str = SESSION) -> None:
        rows = TableList(_TABLE, lambda line: (line.text, line.said))
        keys: RowKeys[ExplanationLine] = RowKeys(
            open=self._open_line,
            copied=_copied_of,
            failed=lambda line: [line.said.row] if line.said is not None and _has_failed(line) else (),
            has_failed=_has_failed,
            nothing_failed="no span has an error",
            is_whole=True,
        )
        super().__init__(rows, keys)
        self._store = store
        self._session = session
        self.live: Live[Report[Statement]] = Live(self, scope, self._explain, self._take_report)
        self._report: Report[Statement] | None = None

    def begin(self) -> None:
        """Explain now, and anew while something runs or waits: its age is told, and it ends though no span comes."""
        super().begin()
        self.set_interval(MIN_INTERVAL_S, self._explain_anew)

    def _explain_anew(self) -> None:
        said = () if self._report is None else self._report.rows
        if self.viewer.feed_state.following and any(one.topic is Topic.RUNNING for one in said):
            self.live.look_anew()

    def something_is_lost(self) -> None:
        """Say so, and not that it runs."""
        self.live.look_anew()

    body = BaseScreen.body
    """Without heads."""

    def _explain(self, traces: Sequence[int] | None, tell: Tell) -> Report[Statement]:
        """Called in a thread, which numpy comes with."""
        from spanview.reports.explanation import explanation

        unended = self.viewer.running.unended()
        return explanation(self._store, traces, unended=unended, session=self._session, tell=tell)

    def title_text(self) -> str:
        """Return what is explained."""
        if self._report is None:
            return f"‹ explain   looking … {self.live.work.share_text}"
        return f"‹ explain{self.live.as_of}   {count(len(self._report.rows), 'sentence')}"

    def on_resize(self) -> None:
        """Break lines where they end now."""
        self._show()

    def _take_report(self, report: Report[Statement]) -> None:
        self._report = report
        self._show()

    def _show(self) -> None:
        if self._report is not None:
            each = lines_of(self._report.rows, self.rows.line_width)
            self.rows.show([line for lines in each for line in lines], stay=True)

    # -- keys --------------------------------------------------------------------------------------------------------

    action_explain = BaseScreen.action_back
    """Go back to what is explained."""

    async def _open_line(self, chosen: ExplanationLine) -> None:
        """Go to the span that the sentence rests on."""
        if chosen.said is None or chosen.said.trace < 0:
            self.viewer.say("no span stands behind this line")
        else:
            row = None if chosen.said.row == NO_ROW else chosen.said.row
            await self.viewer.views.open_trace(chosen.said.trace, at_row=row)


def _has_failed(line: ExplanationLine) -> bool:
    return line.said is not None and line.said.topic is Topic.FAILED and line.said.row != NO_ROW


def _copied_of(line: ExplanationLine) -> tuple[str, str] | str:
    """Return the command that shows more."""
    if line.said is None or not line.said.more:
        return "nothing to copy here"
    return f"spanview {line.said.more}", "command"
