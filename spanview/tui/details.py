"""The details of one span: below the waterfall where there is room, else on a screen of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.segment import Segment
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from spanview.display.sanitise import sanitise
from spanview.display.span_text import SECTIONS, DetailLine, SpanInTree, detail_lines, section_titles
from spanview.display.units import duration
from spanview.model.ids import format_span_id
from spanview.model.span import ERROR
from spanview.tui.linelist import LineList
from spanview.tui.paint import fixed, right

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

_RAW = SECTIONS[-1]
_SHORTEST_PLACE = 12
"""Cells that the end of a file's name and an offset take."""


def headline(subject: SpanInTree) -> str:
    """Return name, status, kind and duration of a span in one line."""
    span = subject.span
    parts = [sanitise(span.name, 120) or "(no name)"]
    if span.status.code_value == ERROR:
        first_line = (span.status.description or "").strip(" \r\n").split("\n")[0]
        parts.append(f"✖ ERROR {sanitise(first_line, 80)}".rstrip())
    elif span.status.name != "UNSET":
        parts.append(span.status.name)
    parts += [span.kind_name or "no kind", duration(span.duration_ns)]
    if span.service:
        parts.append(sanitise(span.service, 40))
    return "   ".join(parts)


class DetailLines(LineList):
    """The lines of one section."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.lines: list[DetailLine] = []
        self._column = 0

    def show(self, lines: list[DetailLine]) -> None:
        """Show other lines, from the first on."""
        self.lines = lines
        self._column = max((cell_len(line.key) for line in lines), default=0)
        self.scroll_to(y=0, animate=False, immediate=True)
        self.rows_have_changed(len(lines), 0)

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one line."""
        line = self.lines[row]
        key = fixed(line.key, self._column) + "  " if self._column else ""
        return [
            Segment(" "),
            Segment(key, self.paint_style("accent") if line.is_strong else None),
            Segment(fixed(line.text, max(0, width - cell_len(key) - 1))),
        ]


class TabLine(Widget):
    """The titles of the sections, and where the record stands; a click opens a section."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._titles: list[str] = []
        self._section = SECTIONS[0]
        self._place = ""

    def show(self, titles: list[str], section: str, place: str) -> None:
        """Show other titles."""
        self._titles, self._section, self._place = titles, section, place
        self.refresh()

    def render(self) -> Content:
        """Return the line."""
        texts = [(f" {title} ", title.split()[0] == self._section) for title in self._titles]
        content = Content.assemble(*[(text, "reverse" if is_open else "") for text, is_open in texts])
        used = sum(len(text) for text, _ in texts)
        room = self.size.width - used - 1
        place = self._place if len(self._place) <= room else "…" + self._place[1 - room :]
        return content + Content(right(place, room) if room >= _SHORTEST_PLACE else "")

    def on_click(self, event: events.Click) -> None:
        """Open the section that was clicked."""
        end = 0
        for title, section in zip(self._titles, SECTIONS, strict=False):
            end += len(title) + 2
            if event.x < end:
                event.stop()
                if isinstance(self.parent, Details):
                    self.parent.open_section(section)
                return


class Details(Vertical):
    """A span's headline, the titles of its sections, and the lines of the open one."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.subject: SpanInTree | None = None
        self.section = SECTIONS[0]
        self._section_before_raw = SECTIONS[0]

    def compose(self) -> ComposeResult:
        """Make the pane."""
        yield Headline(classes="headline")
        yield TabLine(classes="tabs")
        yield DetailLines()

    @property
    def lines(self) -> DetailLines:
        """The list of lines."""
        return self.query_one(DetailLines)

    def show(self, subject: SpanInTree | None, missing: int | None = None) -> None:
        """Show another span, or what is known of one that no file holds.

        Args:
            subject: The span; None for a placeholder.
            missing: The span id of a placeholder.
        """
        self.subject = subject
        if subject is None and missing is not None:
            text = f"parent not seen ({format_span_id(missing)}): it has not ended yet, or its record is lost"
            self.show_lines(text, [])
        self._refresh()

    def show_lines(self, headline: str, pairs: list[tuple[str, str]]) -> None:
        """Show names and values of something else than one span; all of it safe to print already."""
        self.subject = None
        self.query_one(Headline).say(headline)
        self.query_one(TabLine).show([], "", "")
        self.lines.show([DetailLine(name, value, value, is_strong=True) for name, value in pairs])

    def _refresh(self) -> None:
        if self.subject is None:
            return
        source = self.subject.span.source
        self.query_one(Headline).say(headline(self.subject))
        place = f"{sanitise(source.file, 200)} @ {source.offset:,}"
        self.query_one(TabLine).show(section_titles(self.subject.span), self.section, place)
        width = self.lines.line_width or self.size.width
        self.lines.show(detail_lines(self.subject, self.section, width))

    def on_resize(self) -> None:
        """Wrap the lines anew."""
        self._refresh()

    def open_section(self, section: str) -> None:
        """Show another section."""
        self.section = section
        self._refresh()

    def next_section(self) -> None:
        """Show the next section."""
        self.open_section(SECTIONS[(SECTIONS.index(self.section) + 1) % len(SECTIONS)])

    def toggle_raw(self) -> None:
        """Show the record as the file has it, or what was shown before."""
        if self.section == _RAW:
            self.open_section(self._section_before_raw)
        else:
            self._section_before_raw = self.section
            self.open_section(_RAW)


class Headline(Widget):
    """The line that names the span."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._text = ""

    def say(self, text: str) -> None:
        """Show another text, which is safe to print already."""
        self._text = text
        self.refresh()

    def render(self) -> Content:
        """Return the line."""
        return Content(fixed(" " + self._text, self.size.width))
