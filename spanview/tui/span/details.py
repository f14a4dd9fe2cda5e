"""The details of one span: below the waterfall where there is room, else on a screen of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from spanview.analysis.ray.names import short_names
from spanview.display.call_text import call_text
from spanview.display.cells import fitting, fixed, right
from spanview.display.parts import DetailLine, DetailPart, Tone
from spanview.display.sanitise import sanitise
from spanview.display.span_text import LOG, RAW, SECTIONS, DetailView, detail_lines, empty_sections, section_titles
from spanview.display.stacks import first_line
from spanview.display.units import duration
from spanview.model.codes import ERROR
from spanview.tui.log.span_logs import SpanLogs, of_span
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.style import Style as VisualStyle

    from spanview.analysis.logs.lines import SpanLog
    from spanview.display.parts import Folds, Path
    from spanview.display.span_in_tree import SpanInTree
    from spanview.display.timing_text import TimingFacts
    from spanview.model.span import Span
    from spanview.tui.widgets.work import Owner

EVENTS: Final = "Events"
LINKS: Final = "Links"
_TIMING: Final = "Timing"
_HEADS: Final = 2
"""Lines above those of a section."""
_SHORTEST_PLACE: Final = 12
"""Cells that the end of a file's name and an offset take."""
_SHORTEST_ERROR: Final = 40
"""So many characters of what an error says are shown, whatever stands behind them."""
_SOON_COUNTED: Final = 10_000
"""So many spans are counted before anybody notices."""
_BRIGHT: Final = Style(bold=True)
_STYLES: Final = {Tone.DIM: "dim", Tone.ERROR: "error", Tone.LINK: "accent"}


def headline(span: Span, room: int, call: str = "", failure: str = "", unended: str = "") -> str:
    """Return name, state, kind, duration and service of a span in one line; what an error says has the rest of it.

    Where all of that has no room, a function of Ray has its short name: what it waited for matters more.

    Args:
        call: Of an attempt of a Ray call, what is known of both its spans; the duration is in it.
    """
    failed = span.status.code_value == ERROR
    mark = "✖" if failed else "!" if failure else "◌" if span.end_ns is None else ""
    lasted = "no end" if span.end_ns is None else duration(span.duration_ns)
    rest = [call, span.kind_name or "no kind", "" if call else lasted, sanitise(span.service or "", 40)]
    if span.status == "OK":
        rest.insert(0, "OK")
    short = short_names([span.name]).get(span.name, span.name)
    names = [f"{sanitise(name, 120) or '(no name)'} {mark}".rstrip() for name in (span.name, short)]
    said, has_error = failure or unended, failed and bool(span.status.description)
    needed = [" " * _SHORTEST_ERROR if has_error else said, *rest]
    name = fitting(names, room - cell_len("   ".join(filter(None, needed))) - 1)
    if has_error:
        left = room - cell_len("   ".join(filter(None, (name, *rest)))) - 1
        said = sanitise(first_line(span.status.description or ""), max(_SHORTEST_ERROR, left))
    return "   ".join(filter(None, (f"{name} {said}".rstrip(), *rest)))


class DetailLines(LineList):
    """The lines of one section."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[DetailLine] = []
        self._column = 0

    @property
    def selected(self) -> DetailPart | None:
        """What the cursor is on."""
        return self.lines[self.cursor].part if self.lines else None

    def show(self, lines: list[DetailLine], *, stay: bool = False) -> None:
        """Show other lines, from the first on, or from where one is."""
        self.lines = lines
        self._column = max((cell_len(line.key) for line in lines), default=0)
        if stay:
            self.rows_have_changed(len(lines))
            return
        self.scroll_to(y=0, animate=False, immediate=True)
        self.rows_have_changed(len(lines), 0)

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one line."""
        line = self.lines[row]
        key = fixed(line.key, self._column) + "  " if self._column and not line.part.is_wide else ""
        tone = line.part.tone
        style = _BRIGHT if tone is Tone.OWN else self.paint_style(_STYLES[tone]) if tone in _STYLES else None
        return [
            Segment(" "),
            Segment(key, self.paint_style("accent") if line.is_strong else None),
            Segment(fixed(line.text, max(0, width - cell_len(key) - 1)), style),
        ]

    def clicked(self, row: int, x: int) -> bool:  # noqa: ARG002 - anywhere on the line
        """Fold or unfold what was clicked."""
        if self.lines[row].part.fold is None or not isinstance(self.parent, Details):
            return False
        self.move_to(row)
        self.parent.toggle()
        return True

    def above(self) -> int | None:
        """Return the line that hides the one under the cursor when it is folded."""
        part = self.selected
        inside = None if part is None else part.inside
        fits = (row for row in range(self.cursor, -1, -1) if self.lines[row].part.fold == inside)
        return None if inside is None else next(fits, None)


class TabLine(Widget):
    """The titles of the sections, dim where they are empty, and where the record is; a click opens a section."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tabline--empty"}
    _titles: Sequence[str] = ()
    _section = SECTIONS[0]
    _place = ""
    _empty: Collection[str] = ()

    def show(self, titles: Sequence[str], section: str, place: str, empty: Collection[str] = ()) -> None:
        """Show other titles."""
        self._titles, self._section, self._place, self._empty = titles, section, place, empty
        self.refresh()

    def _texts(self) -> list[tuple[str, str]]:
        """Return each title as it is painted, and its section; where there is no room for all, without blanks."""
        pad = " " if sum(len(title) + 2 for title in self._titles) <= self.size.width else ""
        texts = [(f"{pad}{title}{pad or ' '}", title.split()[0]) for title in self._titles]
        if self.app.no_color:
            texts = [(f"[{text.strip()}]" if section == self._section else text, section) for text, section in texts]
        return texts

    def render(self) -> Content:
        """Return the line."""
        empty = self.get_visual_style("tabline--empty", partial=True)
        styles: dict[str, VisualStyle | str] = dict.fromkeys(self._empty, empty) | {self._section: "reverse"}
        texts = self._texts()
        content = Content.assemble(*[(text, styles.get(section, "")) for text, section in texts])
        room = self.size.width - sum(len(text) for text, _ in texts) - 1
        place = self._place if len(self._place) <= room else "…" + self._place[1 - room :]
        return content + Content(right(place, room) if room >= _SHORTEST_PLACE else "")

    def on_click(self, event: events.Click) -> None:
        """Open the section that was clicked."""
        end = 0
        for text, section in self._texts():
            end += len(text)
            if event.x < end:
                event.stop()
                if isinstance(self.parent, Details):
                    self.parent.open_section(section)
                return


class Details(Vertical):
    """A span's headline, the titles of its sections, and the lines of the open one."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.lines = DetailLines()
        self.subject: SpanInTree | None = None
        self.section = SECTIONS[0]
        self._section_before_raw = SECTIONS[0]
        self._shown: tuple[int, str] | None = None
        """The row of the span and the section that are shown."""
        self._folds: dict[Path, bool] = {}
        self._facts: tuple[SpanInTree, TimingFacts] | None = None
        self._events: tuple[Span, tuple[int, Folds], list[DetailLine]] | None = None
        """The lines of events that were made last, and of what: a key shows them several times."""
        self._call: tuple[SpanInTree, str] | None = None
        """What was said of the call of a span last; another record is read for it."""
        self._linked: tuple[DetailPart, ...] = ()
        self._counting: Work | None = None
        self.logs = SpanLogs(self, self._refresh)
        self.failure_of: Callable[[int], str] = lambda _: ""
        """Says of a row what of its span failed without an error."""
        self.unended_text: Callable[[int], str] = lambda _: ""
        """Says of a row what has become of its span, if it has no end."""
        self._before_error: str | None = None
        """The section that was open before that of an error was; None where none was opened for one."""

    def compose(self) -> ComposeResult:
        """Make the pane."""
        yield Headline(classes="headline")
        yield TabLine(classes="tabs")
        yield self.lines

    @property
    def shows_timing(self) -> bool:
        """Whether what is shown has been counted among all spans."""
        return self.section == _TIMING and self.display

    @property
    def wanted_height(self) -> int:
        """Lines that headline, titles and the lines of the open section take."""
        return _HEADS + max(1, len(self.lines.lines))

    def show(self, subject: SpanInTree, facts: TimingFacts | None = None) -> None:
        """Show another span, or the same one again, with what was counted for it, where that is known."""
        if facts is not None:
            self._facts = subject, facts
        if self.subject is None or subject.row != self.subject.row:
            self._folds, self._linked = {}, ()
            if self.subject is not None and self._before_error is not None:
                self.section, self._before_error = self._before_error, None
        elif self.section == LOG:
            self.logs.look_again(of_span(subject))
        self.subject = subject
        self._refresh()

    def show_lines(self, headline: str, pairs: list[tuple[str, str]]) -> None:
        """Show names and values of something else than one span; all of it safe to print already."""
        self._folds, self._linked = {}, ()
        self.subject = self._shown = None
        self.query_one(Headline).say(headline)
        self.query_one(TabLine).show([], "", "")
        parts = [DetailPart(name, value, value) for name, value in pairs]
        self.lines.show([DetailLine(part.key, part.text, part, is_strong=True) for part in parts])

    def _refresh(self) -> None:
        if self.subject is None:
            return
        span, source = self.subject.span, self.subject.span.source
        failure = self.failure_of(self.subject.row)
        unended = self.unended_text(self.subject.row)
        call = self._call_text(self.subject)
        self.query_one(Headline).say(headline(span, self.size.width - 2, call, failure, unended))
        place = f"{sanitise(source.file, 200)} @ {source.offset:,}"
        log = self.logs.of(of_span(self.subject))
        self.query_one(TabLine).show(section_titles(span, log), self.section, place, self._empty_of(span, log))
        view = DetailView(
            self._folds, self._timing(self.subject) if self.section == _TIMING else None, self._linked, log
        )
        shown = self.subject.row, self.section
        self.lines.show(self._lines_of_section(self.subject, view), stay=shown == self._shown)
        self._shown = shown

    def _lines_of_section(self, subject: SpanInTree, view: DetailView) -> list[DetailLine]:
        width = self.lines.line_width
        if self.section != EVENTS:
            return detail_lines(subject, self.section, width, view)
        # Nothing but the span, and how it is shown.
        shown, known = (width, dict(self._folds)), self._events
        if known is None or known[0] is not subject.span or known[1] != shown:
            known = self._events = subject.span, shown, detail_lines(subject, EVENTS, width, view)
        return known[2]

    def _call_text(self, subject: SpanInTree) -> str:
        known = self._call
        if known is None or known[0].span is not subject.span or known[0].tree is not subject.tree:
            known = self._call = subject, call_text(subject)
        return known[1]

    def _empty_of(self, span: Span, log: SpanLog | None) -> set[str]:
        return empty_sections(span, log, is_linked=bool(self._linked))

    def show_linked(self, linked: tuple[DetailPart, ...]) -> None:
        """Show what is known of the spans that link to this one."""
        had_any, self._linked = bool(self._linked), linked
        if self.section == LINKS or had_any != bool(linked):
            self._refresh()

    # -- what is to be counted ---------------------------------------------------------------------------------------

    def _timing(self, subject: SpanInTree) -> TimingFacts | None:
        """Return what was counted for a span; where that takes a while, it is counted in a thread."""
        from spanview.display.timing_text import timing_facts

        known = self._facts
        if known is not None and known[0] is subject:
            return known[1]
        if len(subject.store.spans) < _SOON_COUNTED:
            self._facts = subject, timing_facts(subject)
            return self._facts[1]
        if self._counting is None:
            self._counting = Work(cast("Owner", self.screen))
        # All spans are looked at.
        self._counting.begin(lambda _: timing_facts(subject), lambda facts: self._take_facts(subject, facts))
        # What was counted a moment ago stays until there is more.
        return known[1] if known is not None and known[0].row == subject.row else None

    def _take_facts(self, subject: SpanInTree, facts: TimingFacts) -> None:
        if subject is self.subject:
            self._facts = subject, facts
            self._refresh()

    async def open_log(self, subject: SpanInTree) -> None:
        """Show the log of a span, which may be another than the one that is shown, at the line under the cursor."""
        part = self.lines.selected if self.section == LOG and self.subject is subject else None
        await self.logs.open(of_span(subject), None if part is None else part.log_place)

    # -- folding -----------------------------------------------------------------------------------------------------

    def toggle(self) -> bool:
        """Fold or unfold what the cursor is on; return False where that can't be folded."""
        part = self.lines.selected
        if part is None or part.fold is None:
            return False
        self._folds[part.fold] = not part.is_open
        self._refresh()
        return True

    def fold(self) -> None:
        """Fold what the cursor is on, or go to what it is in."""
        part = self.lines.selected
        if part is not None and part.fold is not None and part.is_open:
            self.toggle()
        elif (above := self.lines.above()) is not None:
            self.lines.move_to(above)

    def unfold(self) -> None:
        """Unfold what the cursor is on, or go into it."""
        part = self.lines.selected
        if part is None or part.fold is None:
            return
        if part.is_open:
            self.lines.move_to(self.lines.cursor + 1)
        else:
            self.toggle()

    # -- sections ----------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Wrap the lines anew."""
        self._refresh()

    def open_section(self, section: str) -> None:
        """Show another section."""
        self.section, self._before_error = section, None
        self._refresh()

    def open_for_error(self, subject: SpanInTree) -> None:
        """Show what a span that failed says of it; other spans begin with the section that was open before."""
        before = self.section if self._before_error is None else self._before_error
        is_empty = EVENTS in empty_sections(subject.span)
        self.subject, self._folds, self._linked = subject, {}, ()
        self.section, self._before_error = before if is_empty else EVENTS, before
        self._refresh()

    def next_section(self) -> None:
        """Show the next section that has something to show, or that says what of the logs can't be shown."""
        empty = set[str]()
        if self.subject is not None:
            log = self.logs.of(of_span(self.subject))
            # Enter among the links looks for spans that link to this one.
            empty = self._empty_of(self.subject.span, log) - {LINKS}
            if log is not None and log.parts:
                empty.discard(LOG)
        behind = SECTIONS.index(self.section) + 1
        self.open_section(next(section for section in SECTIONS[behind:] + SECTIONS[:behind] if section not in empty))

    def toggle_raw(self) -> None:
        """Show the record as the file has it, or what was shown before."""
        if self.section == RAW:
            self.open_section(self._section_before_raw)
        else:
            self._section_before_raw = self.section
            self.open_section(RAW)


class Headline(Widget):
    """The line that names the span."""

    _text = ""

    def say(self, text: str) -> None:
        """Show another text, which is safe to print already."""
        self._text = text
        self.refresh()

    def render(self) -> Content:
        """Return the line."""
        return Content(fixed(" " + self._text, self.size.width))
