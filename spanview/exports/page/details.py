"""The details of spans as a page shows them: texts, cut where they are too long for one, and stack traces by line."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanview.analysis.ray.workers import writer_of
from spanview.display.stacks import BEGINS, LineKind, library_of, lines_of
from spanview.exports.alike_spans import AlikeSpans
from spanview.exports.page.packed import block, encoded
from spanview.formats.jsontext import dumps_strict
from spanview.formats.own.write import warning_names
from spanview.index.whole_spans import spans_at
from spanview.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from spanview.display.stacks import StackLine
    from spanview.exports.alike_spans import AlikeSpan
    from spanview.index.store import Store
    from spanview.model.span import Event, Link, Resource, Scope

BLOCK_SPANS: Final = 128
"""Spans of a block: few enough to be read within a frame."""
MAX_TEXT_LENGTH: Final = 32_768
"""Characters of one value that a page has."""
MAX_VALUES: Final = 1_000
"""Attributes of a span, or of an event, and events, and links, that a page has."""
_CUT_TEXT: Final = f"shortened {{text}} of more than {MAX_TEXT_LENGTH:,} characters"
_CUT_LIST: Final = f"cut {{list}} of more than {MAX_VALUES:,} attributes, events or links"
_NOTHING: Final = b"[]"
_MAX_KEPT, _MAX_KEPT_BYTES = 1024, 2048
"""Resources that are remembered, and what of JSON each may need."""
_PLAIN, _OWN, _DIM, _ERROR = range(4)
"""Tones of lines: of a program's own frames, of libraries', of what was raised."""
_IS_JSON, _IS_OTHER, _IS_CHANGED = 1, 2, 4
"""Bits behind a value: it isn't a text in the file; it is no attribute, which queries ask for; and something of it
is written in another way, so they can't."""


class _Kept(NamedTuple):
    """What a resource has, as the page's script reads it."""

    resource: Resource
    """Held, so that no other one gets its identity."""
    value: list[object]
    text: bytes
    """The value as JSON."""


class Process(NamedTuple):
    """What details say of who has written a span."""

    resource: list[object]
    resource_text: bytes
    """The same as JSON, as the others."""
    path: bytes
    writer: bytes


class DetailTexts:
    """Makes the values of blocks, in each of which resources and scopes that spans share are written once."""

    def __init__(self, lose: Callable[[str], None]) -> None:
        self._lose = lose
        self._shared: dict[bytes, int] = {}
        self._values: list[object] = []
        self._around: dict[int, tuple[bytes, bytes]] = {}
        """What the text of a similar span has around its offset and length, by the identity of its process."""
        self._kept: dict[int, _Kept] = {}
        """By the identity of a resource: nearly all spans that have the same share the object."""

    def of(self, spans: Iterable[Span | AlikeSpan]) -> bytes:
        """Return the value of a block: what spans share, and for each span a list as the page's script reads it."""
        self._shared, self._values, self._around = {}, [], {}
        texts = [
            encoded(self._span(span), self._lose) if isinstance(span, Span) else self._alike(*span) for span in spans
        ]
        return b'{"spans":[%b],"shared":%b}' % (b",".join(texts), encoded(self._values, self._lose))

    def alone(self, span: Span) -> list[Any]:
        """Return the list of a span as a block has it, with what it shares in its place."""
        self._shared, self._values = {}, []
        value: list[Any] = self._span(span)
        value[4:6] = (self._values[number] for number in value[4:6])
        return value

    def _alike(self, head: bytes, by: tuple[Process, list[str]], _: int, offset: int, length: int) -> bytes:
        process = by[0]
        around = self._around.get(id(process))
        if around is None:
            shared = self._share(process.resource, process.resource_text), self._share([], _NOTHING)
            around = b",%d,%d,[],[],[%b," % (*shared, process.path), b"],%b]" % process.writer
            self._around[id(process)] = around
        return b"%b%b%d,%d%b" % (head, around[0], offset, length, around[1])

    def _span(self, span: Span) -> list[object]:
        source, writer = span.source, writer_of(span, span.source.file)
        return [
            None if (description := span.status.description) is None else self._text(description),
            self._fields(span.attributes) + self._fields(span.extra, extra=True),
            [self._event(event, span) for event in self._some(span.events)] if span.events else [],
            [self._link(link) for link in self._some(span.links)] if span.links else [],
            self._of_resource(span.resource),
            self._share([], _NOTHING) if span.scope is None else self._share(self._scope(span.scope)),
            self._fields(span.trace_state),
            warning_names(span.warnings.value),
            [source.file, source.offset, source.length],
            None if writer is None else [writer.pid, writer.host],
        ]

    def _of_resource(self, resource: Resource) -> int:
        """Return the number of a resource among what spans share."""
        kept = self._kept.get(id(resource))
        if kept is None:
            value = self._resource(resource)
            kept = _Kept(resource, value, dumps_strict(value))
            if len(kept.text) <= _MAX_KEPT_BYTES:
                if len(self._kept) >= _MAX_KEPT:
                    self._kept.clear()
                self._kept[id(resource)] = kept
        return self._share(kept.value, kept.text)

    def _event(self, event: Event, span: Span) -> list[object]:
        after = None
        if event.timestamp_ns is not None and span.start_ns is not None:
            after = event.timestamp_ns - span.start_ns
        fields = [*self._fields(event.attributes), *self._fields(event.extra, extra=True)]
        return [self._text(event.name), after, fields]

    def _link(self, link: Link) -> list[object]:
        fields = [*self._fields(link.trace_state, bits=_IS_OTHER), *self._fields(link.attributes)]
        return [link.trace_id, link.span_id, [*fields, *self._fields(link.extra, extra=True)]]

    def _resource(self, resource: Resource) -> list[object]:
        schema = {"schema_url": resource.schema_url} if resource.schema_url else {}
        return [
            *self._fields(resource.attributes),
            *self._fields(schema, bits=_IS_OTHER),
            *self._fields(resource.extra, extra=True),
        ]

    def _scope(self, scope: Scope) -> list[object]:
        named = {"name": scope.name, "version": scope.version, "schema_url": scope.schema_url}
        fields = self._fields({key: value for key, value in named.items() if value}, bits=_IS_OTHER)
        return [*fields, *self._fields(scope.attributes), *self._fields(scope.extra, extra=True)]

    def _share(self, value: list[object], text: bytes | None = None) -> int:
        """Return the number of a value among those that spans share; its text is its JSON."""
        number = self._shared.setdefault(dumps_strict(value) if text is None else text, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        return number

    def _fields(
        self, mapping: Mapping[str, Any], *, extra: bool = False, bits: int = 0
    ) -> list[tuple[str, str]] | list[tuple[object, ...]]:
        """Return keys and values, and bits where there are any; what a format adds is marked."""
        if not mapping:
            return []
        if not extra and not bits and len(mapping) <= MAX_VALUES and _are_plain(mapping):
            return [*mapping.items()]
        before, bits = ("· ", _IS_OTHER) if extra else ("", bits)
        return [self._field(before + key, value, bits) for key, value in self._some([*mapping.items()])]

    def _field(self, key: str, value: Any, bits: int) -> tuple[object, ...]:
        """Return a key and a text, or the lines of a stack trace, each with its tone."""
        bits |= 0 if isinstance(value, str) else _IS_JSON
        text = self._text(value if isinstance(value, str) else dumps_strict(value).decode())
        told: object = text
        if BEGINS in text:
            told, bits = [[_tone_of(line), line.text] for line in lines_of(text)], bits | _IS_CHANGED * ("\t" in text)
        return (self._text(key), told, bits) if bits else (self._text(key), told)

    def _some(self, values: Sequence[Any]) -> Sequence[Any]:
        if len(values) > MAX_VALUES:
            self._lose(_CUT_LIST)
            return values[:MAX_VALUES]
        return values

    def _text(self, text: str) -> str:
        if len(text) <= MAX_TEXT_LENGTH:
            return text
        self._lose(_CUT_TEXT)
        return f"{text[:MAX_TEXT_LENGTH]}… {len(text):,} characters in all"


class AlikeDetails(AlikeSpans):
    """Tells of spans what their details say; the store must not grow meanwhile."""

    def __init__(self, store: Store) -> None:
        # A stack trace is told line by line.
        super().__init__(store, self._alone, special=BEGINS.encode())
        self._losses: list[str] = []
        self._details = DetailTexts(self._losses.append)

    def _alone(self, span: Span, _: Callable[[str], None]) -> tuple[bytes, Any] | None:
        """Return what details say of a span, None where a head isn't enough for that."""
        described, fields, events, links, resource, scope, state, warnings, _, writer = self._details.alone(span)
        texts = [encoded(part, self._losses.append) for part in ([described, fields, events, links], resource, writer)]
        path = encoded(span.source.file, self._losses.append)
        is_more = events or scope or state or warnings or self._losses
        self._losses.clear()
        return None if is_more else (texts[0][:-1], Process(resource, texts[1], path, texts[2]))


def detail_blocks(
    store: Store, rows: Sequence[int], alike: AlikeDetails | None, share: Sequence[int], lose: Callable[[str], None]
) -> Iterator[bytes]:
    """Yield the details of some of a page's spans in blocks.

    Args:
        rows: The rows of all spans of the page, in its order.
        alike: Finds what spans have whose records are similar; None for few spans.
        share: Positions among them, one after the other.
    """
    first, chosen = share[0], [rows[position] for position in share]
    spans = iter(spans_at(store, chosen) if alike is None else alike.spans(chosen))
    details = DetailTexts(lose)
    while batch := [*islice(spans, BLOCK_SPANS)]:
        yield block("details", details.of(batch), first)
        first += len(batch)


def _are_plain(mapping: Mapping[str, Any]) -> bool:
    """Return whether all values are texts, none of them long or with a stack trace, and no key is long."""
    try:
        # Nearly always they are, and looking at all at once is much cheaper.
        texts = "".join(mapping.values())
    except TypeError:
        return False
    return len(texts) <= MAX_TEXT_LENGTH and BEGINS not in texts and len("".join(mapping)) <= MAX_TEXT_LENGTH


def _tone_of(line: StackLine) -> int:
    if line.kind is LineKind.FRAME and line.match is not None:
        return _DIM if library_of(line.match) else _OWN
    if line.kind is LineKind.RAISED or (line.match is not None and line.match[1]):
        return _ERROR
    return _PLAIN
