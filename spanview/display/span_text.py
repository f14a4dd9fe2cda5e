"""A span's details as lines of text, section by section; with what each line would copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from spanview.analysis.genai.conversation import conversation_of
from spanview.analysis.query.select import traces_beginning
from spanview.display.conversation_text import conversation_parts
from spanview.display.json_text import NestedValue, nested_in
from spanview.display.log_text import log_parts
from spanview.display.parts import DetailLine, DetailPart, Folds, Tone, key_column, value_text, wrapped
from spanview.display.raw_text import raw_parts
from spanview.display.stack_text import FoldedStack, is_stack
from spanview.display.stacks import raised_in
from spanview.display.units import duration
from spanview.model.codes import ERROR
from spanview.model.ids import format_span_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from spanview.analysis.logs.lines import SpanLog
    from spanview.display.parts import Path
    from spanview.display.span_in_tree import SpanInTree
    from spanview.display.timing_text import TimingFacts
    from spanview.model.span import Event, Resource, Scope, Span

RAW: Final = "Raw"
LOG: Final = "Log"
SECTIONS: Final = ("Attributes", "Events", "Links", "Resource", "Timing", LOG, RAW)
_MAX_ROWS_SEARCHED: Final = 50_000
"""Rows of the tables that are searched for names."""
_EXTRA_MARK: Final = "· "
"""Before what a format adds, as `flags` and counts of what was dropped."""
_MAX_RECORD_LENGTH: Final = 200_000


class _Field(NamedTuple):
    """A value that may be shown on many lines, and folded."""

    key: str
    value: Any


_Shown: TypeAlias = "_Field | DetailPart"


@dataclass(frozen=True, slots=True)
class DetailView:
    """How a span is shown."""

    folds: Folds
    """What was unfolded, or folded."""
    timing: TimingFacts | None = None
    """What the section of times needs; None while it is counted."""
    linked: tuple[DetailPart, ...] = ()
    """What is known of the spans that link to this one."""
    log: SpanLog | None = None
    """The lines of logs that belong to it; None while they are looked for."""


def section_titles(span: Span, log: SpanLog | None = None) -> list[str]:
    """Return the titles of the sections, with counts where things can be counted."""
    counts: dict[str, int | str] = {
        "Attributes": len(span.attributes),
        "Events": len(span.events),
        "Links": len(span.links),
    }
    if log is not None and log.parts:
        counts[LOG] = f"{log.count:,}{'+' if log.is_cut else ''}"
    return [f"{title} {counts[title]}" if title in counts else title for title in SECTIONS]


def empty_sections(span: Span, log: SpanLog | None = None, *, is_linked: bool = False) -> set[str]:
    """Return the sections that have nothing to show; the log is None while its lines are looked for."""
    resource, scope = span.resource, span.scope
    has = {
        "Attributes": bool(span.attributes or span.extra or conversation_of(span).messages),
        "Events": bool(span.events) or has_unexplained_error(span),
        "Links": bool(span.links) or is_linked,
        "Resource": bool(resource.attributes or resource.schema_url or resource.extra or scope),
        LOG: log is not None and bool(log.count),
    }
    return {section for section, has_something in has.items() if not has_something}


def detail_lines(subject: SpanInTree, section: str, width: int, view: DetailView | None = None) -> list[DetailLine]:
    """Return the lines of one of `SECTIONS`, wrapped to a width; without a view, as at first with all counted."""
    if view is None:
        from spanview.display.timing_text import timing_facts

        view = DetailView({}, timing_facts(subject) if section == "Timing" else None)
    shown = [*_section(subject, section, view, width)] or [DetailPart("", f"no {section.lower()}", "")]
    column = key_column((part.key for part in shown), width)
    return [*wrapped(_unfolded(shown, section, view.folds, max(10, width - column - 3)), column, width)]


def _section(subject: SpanInTree, section: str, view: DetailView, width: int) -> Iterable[_Shown]:
    span = subject.span
    if section == "Attributes":
        return _of_attributes(span, view.folds, max(10, width - 3))
    if section == "Events":
        return _of_events(span, view.folds, width - 1)
    if section == "Links":
        return [*(list(_of_links(subject)) or [DetailPart("", "no links", "")]), *view.linked]
    if section == "Resource":
        return [*_of_source(span.resource), *_of_scope(span)]
    if section == "Timing":
        from spanview.display.timing_text import timing_parts

        return timing_parts(subject, view.timing)
    if section == LOG:
        return [DetailPart("", "looking for logs …", "", Tone.DIM)] if view.log is None else log_parts(view.log)
    return _of_record(subject, view.folds, max(10, width - 3))


def _unfolded(shown: Iterable[_Shown], section: str, folds: Folds, room: int) -> Iterator[DetailPart]:
    """Yield each value in as many parts as it is shown in."""
    for index, part in enumerate(shown):
        if isinstance(part, DetailPart):
            yield part
            continue
        nested = nested_in(part.value)
        if nested is not None:
            yield from NestedValue(part.value, nested, (section, index), folds=folds, room=room).parts(part.key)
        elif isinstance(part.value, str) and is_stack(part.value):
            yield from FoldedStack(part.value, "", (section, index), folds, room).parts(part.key)
        else:
            yield DetailPart(part.key, value_text(part.value), part.value)


def _of_attributes(span: Span, folds: Folds, room: int) -> Iterator[_Shown]:
    conversation = conversation_of(span)
    if conversation.messages:
        yield from conversation_parts(conversation.messages, ("Attributes", "conversation"), folds, room)
    yield from _of_mapping({key: value for key, value in span.attributes.items() if key not in conversation.keys})
    yield from _of_mapping(span.extra, _EXTRA_MARK)


def _of_mapping(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[_Shown]:
    for key, value in mapping.items():
        yield _Field(prefix + key, value)


def _of_source(source: Resource | Scope, prefix: str = "") -> Iterator[_Shown]:
    yield from _of_mapping(source.attributes, prefix)
    yield from _of_mapping({"schema_url": source.schema_url} if source.schema_url else {}, prefix)
    yield from _of_mapping(source.extra, prefix + _EXTRA_MARK)


def _of_scope(span: Span) -> Iterator[_Shown]:
    scope = span.scope
    if scope is not None:
        yield DetailPart("scope", " ".join(filter(None, (scope.name or "(no name)", scope.version))), scope.name)
        yield from _of_source(scope, "  ")


def _of_events(span: Span, folds: Folds, room: int) -> Iterator[_Shown]:
    """Yield the exceptions, or else what is said of an error, and then the other events."""
    exceptions = [event for event in span.events if event.is_exception]
    if not exceptions and has_unexplained_error(span):
        yield DetailPart("", f"✖ {span.status.description}", span.status.description, Tone.ERROR, hang=2, is_wide=True)
    for number, event in enumerate(exceptions):
        yield from _of_exception(event, span, ("Events", number), folds, room)
    for event in span.events:
        if not event.is_exception:
            yield DetailPart(event.name or "(no name)", _after(event, span), event.name)
            yield from _of_rest(event, event.attributes)


def has_unexplained_error(span: Span) -> bool:
    """Tell whether a span failed with a description, and without an exception."""
    is_explained = any(event.is_exception for event in span.events)
    return span.status.code_value == ERROR and bool(span.status.description) and not is_explained


def _of_exception(event: Event, span: Span, path: Path, folds: Folds, room: int) -> Iterator[_Shown]:
    rest = dict(event.attributes)
    kind, message = value_text(rest.pop("exception.type", "")), value_text(rest.pop("exception.message", ""))
    stack = rest.pop("exception.stacktrace", "")
    title = f"{kind}: {message}" if kind and message else kind or message
    if raised := raised_in(message):
        # The message is the stack trace of a worker once more.
        title, rest["exception.type"] = "\n".join(raised), kind
    text, after = stack if isinstance(stack, str) else "", _after(event, span)
    exception = FoldedStack(text, title or event.name, path, folds, room, is_wide=True)
    yield from exception.parts(behind=f"   {after}" if after else "")
    yield from _of_rest(event, rest if text == stack else {**rest, "exception.stacktrace": stack})


def _after(event: Event, span: Span) -> str:
    """Return how long after the span's start an event happened, where that is known."""
    if event.timestamp_ns is None or span.start_ns is None:
        return ""
    return f"+{duration(event.timestamp_ns - span.start_ns)}"


def _of_rest(event: Event, attributes: Mapping[str, Any]) -> Iterator[_Shown]:
    yield from _of_mapping(attributes, "  ")
    yield from _of_mapping(event.extra, f"  {_EXTRA_MARK}")


def _of_links(subject: SpanInTree) -> Iterator[_Shown]:
    span, names = subject.span, _names_of_linked(subject)
    for link in span.links:
        where = "this trace" if link.trace_id == span.trace_id else f"trace {link.trace_id}"
        name = names.get((link.trace_id, link.span_id))
        what = f"span {link.span_id}" if name is None else f"{name or '(no name)'}  ({link.span_id})"
        yield DetailPart("link", f"{what} of {where}", f"{link.trace_id} {link.span_id}", Tone.LINK)
        yield from _of_mapping(link.trace_state, "  ")
        yield from _of_mapping(link.attributes, "  ")
        yield from _of_mapping(link.extra, f"  {_EXTRA_MARK}")


def _names_of_linked(subject: SpanInTree) -> dict[tuple[str | None, str | None], str]:
    """Return the names of the spans that a span links to, by their ids, where they are found at once."""
    store, spans = subject.store, subject.store.spans
    wanted = {(link.trace_id, int(link.span_id, 16)) for link in subject.span.links if link.trace_id and link.span_id}
    names: dict[tuple[str | None, str | None], str] = {}
    left = _MAX_ROWS_SEARCHED
    for trace_id in dict.fromkeys(trace_id for trace_id, _ in wanted):
        left -= len(store.trace_table)
        if left < 0:
            break
        for trace in traces_beginning(store, trace_id):
            left -= store.trace_table.span_count[trace]
            for row in store.rows_of_trace(trace) if left >= 0 else ():
                if (trace_id, spans.span_id[row]) in wanted:
                    names.setdefault((trace_id, format_span_id(spans.span_id[row])), store.names.texts[spans.name[row]])
    return names


def _of_record(subject: SpanInTree, folds: Folds, room: int) -> list[DetailPart]:
    record = subject.store.record(subject.row)
    if record is None:
        return [DetailPart("", "the record can't be read again", "")]
    text = shown = record.decode("utf-8", "replace")
    if len(text) > _MAX_RECORD_LENGTH:
        shown = text[:_MAX_RECORD_LENGTH] + f"\n… {len(record):,} bytes in all"
    elif (laid_out := raw_parts(text, RAW, folds=folds, room=room)) is not None:
        return laid_out
    return [DetailPart("", line, text) for line in shown.split("\n")]
