"""A span's details as lines of text, section by section; what a line would copy stands beside it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len, chop_cells

from spanview.analysis.waits import wait_of
from spanview.display.sanitise import sanitise, sanitise_lines
from spanview.display.units import duration, moment
from spanview.formats.jsontext import dumps_strict
from spanview.index.tree import ROOT
from spanview.model.ids import format_span_id
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.model.span import Event, Span

SECTIONS: Final = ("Attributes", "Events", "Links", "Resource", "Timing", "Raw")
_LONGEST_TEXT: Final = 200_000
_LONGEST_LINE: Final = 20_000
_MOST_LINES: Final = 20_000
_WIDEST_KEY: Final = 32
_EXCEPTION_TYPE: Final = "exception.type"
_EXCEPTION_MESSAGE: Final = "exception.message"
_EXCEPTION_STACK: Final = "exception.stacktrace"
_WARNING_TEXTS: Final = {
    Warnings.DUPLICATE_ID: "another record has the same ids and other contents",
    Warnings.CYCLE: "its chain of parents runs in a circle, which is cut here",
    Warnings.NO_END: "the record has no end time",
    Warnings.NEGATIVE_DURATION: "it ends before it starts",
    Warnings.BAD_ID: "the trace id, span id or parent id is unusable",
    Warnings.CLOCK_SKEW: "it starts before its parent: the clocks differ",
    Warnings.DETAIL_LOST: "its record can't be read again: the file was cut, replaced or removed",
    Warnings.ODD_VALUE: "a field has a value of the wrong type",
}


@dataclass(frozen=True, slots=True)
class DetailLine:
    """One line of the details; key and text are safe to print."""

    key: str
    text: str
    value: str
    """What it stands for as a whole, as the file has it: what is copied."""
    is_strong: bool = False


@dataclass(frozen=True, slots=True)
class SpanInTree:
    """A span and where it stands."""

    span: Span
    store: Store
    trace: int
    tree: TraceTree
    node: int


def section_titles(span: Span) -> list[str]:
    """Return the titles of the sections, with counts where there is something to count."""
    counts = {"Attributes": len(span.attributes), "Events": len(span.events), "Links": len(span.links)}
    return [f"{title} {counts[title]}" if counts.get(title) else title for title in SECTIONS]


def detail_lines(subject: SpanInTree, section: str, width: int) -> list[DetailLine]:
    """Return the lines of one section, wrapped to a width.

    Args:
        subject: The span.
        section: One of `SECTIONS`.
        width: Cells.
    """
    span = subject.span
    if section == "Attributes":
        pairs = list(_of_mapping(span.attributes)) or [("", "no attributes", "")]
    elif section == "Events":
        pairs = [pair for event in span.events for pair in _of_event(event, span)] or [("", "no events", "")]
    elif section == "Links":
        pairs = list(_of_links(span)) or [("", "no links", "")]
    elif section == "Resource":
        pairs = [*_of_mapping(span.resource.attributes)]
        if span.resource.schema_url:
            pairs.append(("schema_url", span.resource.schema_url, span.resource.schema_url))
        pairs = pairs or [("", "no resource", "")]
    elif section == "Timing":
        pairs = list(_of_timing(subject))
    else:
        pairs = list(_of_record(subject))
    return list(_wrapped(pairs, width))


def _of_mapping(mapping: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for key, value in mapping.items():
        text = value_text(value)
        yield key, text, text


def value_text(value: Any) -> str:
    """Return an attribute's value as a person writes it: texts as they are, the rest as JSON."""
    return value if isinstance(value, str) else dumps_strict(value).decode()


def _of_event(event: Event, span: Span) -> Iterator[tuple[str, str, str]]:
    after = (
        "" if NO_TIME in (event.timestamp_ns, span.start_ns) else f"   +{duration(event.timestamp_ns - span.start_ns)}"
    )
    rest = dict(event.attributes)
    if event.is_exception:
        kind, message = value_text(rest.pop(_EXCEPTION_TYPE, "")), value_text(rest.pop(_EXCEPTION_MESSAGE, ""))
        title = f"{kind}: {message}" if kind and message else kind or message
        yield event.name, title.split("\n")[0] + after, title
        stack = rest.pop(_EXCEPTION_STACK, None)
        if stack is not None:
            yield "", value_text(stack).rstrip("\n"), value_text(stack)
    else:
        yield event.name or "(no name)", after.strip(), event.name
    for key, value in rest.items():
        yield f"  {key}", value_text(value), value_text(value)


def _of_links(span: Span) -> Iterator[tuple[str, str, str]]:
    for link in span.links:
        where = "this trace" if link.trace_id == span.trace_id else f"trace {link.trace_id}"
        yield "link", f"span {link.span_id} of {where}", f"{link.trace_id} {link.span_id}"
        for key, value in (*link.trace_state.items(), *link.attributes.items()):
            yield f"  {key}", value_text(value), value_text(value)


def _of_timing(subject: SpanInTree) -> Iterator[tuple[str, str, str]]:
    from spanview.analysis.selftime import self_time

    span, tree, spans = subject.span, subject.tree, subject.store.spans
    for key, ns in (("start", span.start_ns), ("end", span.end_ns)):
        yield key, moment(ns), moment(ns)
    yield "duration", duration(span.duration_ns), str(span.duration_ns)
    own = self_time(tree, spans, subject.node)
    if own is not None and span.duration_ns:
        yield "self time", f"{duration(own)}   {own / span.duration_ns:.0%} of it", str(own)
    wait = wait_of(tree, spans, subject.node)
    if wait:
        yield "waited", f"{duration(wait)} for a worker, after it was submitted", str(wait)
    origin = subject.store.trace_table.start_ns[subject.trace]
    if NO_TIME not in (origin, span.start_ns):
        yield "in the trace", f"+{duration(span.start_ns - origin)} after its start", str(span.start_ns - origin)
    yield from _of_rank(subject)
    parent = tree.parents[subject.node]
    if parent != ROOT:
        yield from _of_parent(subject, parent)
    yield "trace id", span.trace_id or "unusable", span.trace_id or ""
    yield "span id", span.span_id or "unusable", span.span_id or ""
    if span.trace_state:
        yield from _of_mapping({f"state {key}": value for key, value in span.trace_state.items()})
    for flag, text in _WARNING_TEXTS.items():
        if flag in span.warnings | tree.warnings(subject.node):
            yield "warning", text, text


def _of_rank(subject: SpanInTree) -> Iterator[tuple[str, str, str]]:
    """Say how quick the span is among all of its name."""
    from spanview.analysis.stats import rank_among_name

    found = rank_among_name(subject.store, subject.tree.rows[subject.node])
    if found is not None and found[1] > 1:
        share = f"{found[0] / (found[1] - 1):.0%}"
        yield "in its name", f"slower than {share} of the other {found[1] - 1:,} spans with this name", share


def _of_parent(subject: SpanInTree, parent: int) -> Iterator[tuple[str, str, str]]:
    span_id = format_span_id(subject.tree.span_id(parent))
    if subject.tree.is_missing(parent):
        yield "parent", f"{span_id}, not seen: not ended yet, or lost", span_id
        return
    row = subject.tree.rows[parent]
    spans = subject.store.spans
    name = subject.store.names.texts[spans.name[row]]
    yield "parent", f"{name}  ({span_id})", span_id
    start, end = spans.start_ns[row], spans.end_ns[row]
    if NO_TIME not in (start, subject.span.start_ns):
        yield "", f"starts {duration(subject.span.start_ns - start)} after its parent's start", ""
    if NO_TIME not in (end, subject.span.end_ns) and subject.span.end_ns > end:
        yield "", f"ends {duration(subject.span.end_ns - end)} after its parent's end", ""


def _of_record(subject: SpanInTree) -> Iterator[tuple[str, str, str]]:
    record = subject.store.record(subject.tree.rows[subject.node])
    if record is None:
        yield "", "the record can't be read again", ""
        return
    text = record.decode("utf-8", "replace")
    if len(text) > _LONGEST_TEXT:
        text = text[:_LONGEST_TEXT] + f"\n… {len(record):,} bytes in all"
    for line in text.split("\n"):
        yield "", line, text


def _wrapped(pairs: list[tuple[str, str, str]], width: int) -> Iterator[DetailLine]:
    keys = [sanitise(key, _WIDEST_KEY * 2) for key, _, _ in pairs]
    column = min(max(map(cell_len, keys), default=0), _WIDEST_KEY, max(8, width // 3))
    room = max(10, width - column - (3 if column else 1))
    count = 0
    for key, (_, text, value) in zip(keys, pairs, strict=True):
        lines = sanitise_lines(text[:_LONGEST_TEXT], _LONGEST_LINE)
        parts = (part for line in lines for part in _cut(line, room) or [""])
        # A key that is wider than its column goes on below too.
        for shown, part in zip_longest(_cut(key, column) if key else [], parts, fillvalue=""):
            yield DetailLine(shown, part, value, is_strong=bool(shown))
            count += 1
            if count >= _MOST_LINES:
                yield DetailLine("", "… and more: the export has it all", value)
                return


def _cut(text: str, width: int) -> list[str]:
    """Return pieces of a text that is safe to print, each as many cells wide as fit."""
    pieces, at = [], 0
    # A character of ASCII is one cell wide; asking that of each takes long where a text is.
    while at < len(text) and text[at : at + width + 1].isascii():
        pieces.append(text[at : at + width])
        at += width
    return pieces + (chop_cells(text[at:], width) if at < len(text) else [])
