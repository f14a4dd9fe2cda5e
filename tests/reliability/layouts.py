"""The same spans in every format that is read, and where in each file the parts stand that damage may cost.

file                                    parts
----                                    -----
records or lines                        each of them
{"data": [ {…}, {…} ]}                  the elements of the list, on one line or on many
(a pid=1) {  among lines of (b pid=2)   the lines of each record
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from functools import cache
from textwrap import indent as indented
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from builders import Builder, file_of, store_of_files
from go_stubs import stub_of
from spanview.exports.jaeger import jaeger_chunks
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.otlp import otlp_chunks
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.exports.zipkin import zipkin_chunks
from spanview.formats.tags import ignore_loss
from spanview.index.summary import summary_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from builders import Document
    from spanview.index.store import Store

Key: TypeAlias = tuple[int, int]
"""Trace id and span id."""

TRACES, SPANS = 4, 3
_STEP: Final = 4
_NAMES: Final = (b"(App pid=1) ", b"\x1b[36m(ServeReplica:app:Model pid=3)\x1b[0m ")
LONGEST_NAME: Final = 2 + max(map(len, _NAMES))
"""Bytes of a line's name and a brace behind it, at the most."""
_CHATTER: Final = b"INFO 2026-11-20 11:55:46,917 app -- GET / 200 4.3ms\n"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file that is read or lost as a whole."""

    ranges: tuple[tuple[int, int], ...]
    """Where it begins and ends; several places where lines of others are between its own."""
    keys: frozenset[Key]
    """Its spans."""

    def touches(self, start: int, end: int) -> bool:
        """Tell whether something of it stands between two places of the file."""
        return any(start < last and first < end for first, last in self.ranges)


@dataclass(frozen=True, slots=True)
class File:
    """A file in one layout."""

    data: bytes
    parts: tuple[Part, ...]
    is_log: bool = False

    other: File | None = None
    """What another writer has in the same layout."""

    @property
    def keys(self) -> frozenset[Key]:
        """All its spans."""
        return frozenset().union(*(part.keys for part in self.parts))


@dataclass(frozen=True, slots=True)
class Layout:
    """How values become a file."""

    container: str | None
    """The key of the list; empty where the list is the document, None where each value is one by itself."""
    indent: int | None = None
    is_log: bool = False

    def file(self, values: Iterable[tuple[Any, frozenset[Key]]], around: dict[str, Any] | None = None) -> File:
        """Return the file of some values.

        Args:
            values: Each value and its spans.
            around: What the document has besides the list.
        """
        if self.is_log:
            return _log([(_dumps(value, _STEP), keys) for value, keys in values])
        if self.container is None:
            front, between, back = b"", b"\n", b"\n"
        else:
            line, space = (b"", b"") if self.indent is None else (b"\n", b" " * self.indent)
            around = around or {}
            texts = [b"%b%b: %b" % (space, _dumps(key, None), _dumps(part, None)) for key, part in around.items()]
            before = [text for text in texts if b'"schema"' in text]
            after = [text for text in texts if text not in before]
            comma = b"," + (line or b" ")
            if self.container:
                before.append(b"%b%b: [" % (space, _dumps(self.container, None)))
                front = b"{" + line + comma.join(before) + line
                back = line + comma.join([b"]", *after]) + line + b"}\n"
            else:
                front, back = b"[" + line, line + b"]\n"
            between = comma
        data, parts = front, list[Part]()
        for value, keys in values:
            text = _dumps(value, self.indent)
            if parts:
                data += between
            if self.container is not None and self.indent:
                text = indented(text.decode(), " " * 2 * self.indent).encode()
            parts.append(Part(((len(data) + len(text) - len(text.lstrip()), len(data) + len(text)),), keys))
            data += text
        return File(data + back, tuple(parts))


def _dumps(value: Any, indent: int | None) -> bytes:
    return json.dumps(value, indent=indent).encode()


def _log(texts: list[tuple[bytes, frozenset[Key]]]) -> File:
    """Return a console's log, in which two processes print in one another, and their program too."""
    data, chance = b"", random.Random(7)
    ranges: list[list[tuple[int, int]]] = [[] for _ in texts]
    queues = [
        [(at, line) for at in range(name, len(texts), 2) for line in texts[at][0].splitlines()] for name in (0, 1)
    ]
    while any(queues):
        which = chance.choice([at for at in (0, 1) if queues[at]])
        for _ in range(chance.randint(1, 9)):
            if queues[which]:
                at, line = queues[which].pop(0)
                ranges[at].append((len(data), len(data) + len(_NAMES[which]) + len(line) + 1))
                data += _NAMES[which] + line + b"\n"
        if chance.random() < 1 / 4:
            data += _CHATTER
    return File(data, tuple(Part(tuple(own), keys) for own, (_, keys) in zip(ranges, texts, strict=True)), is_log=True)


def _documents(first: int) -> Iterator[Document]:
    """Yield spans that have all there is, and in it what looks like spans."""
    build, chance = Builder(), random.Random(first)
    for trace in range(TRACES):
        ids = [chance.getrandbits(63) | 1 << 60 for _ in range(SPANS)]
        of_trace = chance.getrandbits(127) | 1 << 120
        for at, span in enumerate(ids):
            linked = {"trace_id": f"0x{chance.getrandbits(128):032x}", "span_id": f"0x{chance.getrandbits(63):016x}"}
            yield build.span(
                f"span {at} é",
                trace=of_trace,
                span=span,
                parent=ids[at - 1] if at else None,
                kind=("SERVER", "CLIENT", "INTERNAL")[at],
                status=("UNSET", "OK", "ERROR")[at],
                description='it "failed"' if at == SPANS - 1 else None,
                service=f"shop-{trace % 2}",
                attributes={
                    "text": '}\n{"name": "x", "traceId": "1"',
                    "json": json.dumps({"trace_id": linked["trace_id"], "span_id": linked["span_id"]}),
                    "number": trace * 1000 + at,
                    "list": [1, 2],
                    "yes": True,
                    "ratio": 0.5,
                },
                events=[{"name": "event", "timestamp": build.span()["start_time"], "attributes": {"message": "]}"}}],
                links=[{"context": linked | {"trace_state": "[]"}, "attributes": {"why": "so"}}] if at == 1 else [],
            )


def keys_of(store: Store) -> list[Key]:
    """Return the ids of all spans."""
    return [
        (store.trace_table.trace_id(store.spans.trace[row]), store.spans.span_id[row]) for row in store.rows_in_order()
    ]


def _key(trace: Any, span: Any) -> Key:
    return int(str(trace), 16), int(str(span), 16)


@cache
def values(form: str, first: int = 1) -> tuple[tuple[tuple[Any, frozenset[Key]], ...], dict[str, Any]]:
    """Return the values of a format with the spans of each, and what a document of it has besides.

    Args:
        form: The format's name.
        first: Other numbers give other ids.
    """
    documents = [*_documents(first)]
    store = store_of_files({"spans/1.json": file_of(documents)})
    traces = [*store.traces_in_order()]
    around: dict[str, Any] = {}
    found: list[tuple[Any, list[Key]]] = []
    if form == "sdk":
        found = [(each, [_key(each["context"]["trace_id"], each["context"]["span_id"])]) for each in documents]
    elif form == "go":
        stubs = [stub_of(store.span(row)) for row in store.rows_in_order()]
        found = [(each, [_key(*map(each["SpanContext"].get, ("TraceID", "SpanID")))]) for each in stubs]
    elif form == "lines":
        lines = b"".join(jsonl_chunks(store, store.rows_in_order())).splitlines()
        found = [(each, [_key(each["trace_id"], each["span_id"])]) for each in map(json.loads, lines)]
    elif form == "tree":
        around = json.loads(b"".join(trace_tree_chunks(store, traces, summary=summary_of(store), problems=[])))
        found = [(each, [*_in_tree(each)]) for each in around.pop("traces")]
    elif form == "jaeger":
        around = json.loads(b"".join(jaeger_chunks(store, traces, ignore_loss)))
        found = [
            (each, [_key(span["traceID"], span["spanID"]) for span in each["spans"]]) for each in around.pop("data")
        ]
    elif form == "zipkin":
        spans = json.loads(b"".join(zipkin_chunks(store, traces, ignore_loss)))
        found = [(each, [_key(each["traceId"], each["id"])]) for each in spans]
    else:
        for line in b"".join(otlp_chunks(store, traces, ignore_loss)).splitlines():
            # A line is a document, and a part of one holds the spans of a resource.
            parts = [json.loads(line)] if form == "otlp" else json.loads(line)["resourceSpans"]
            found += [(part, [*_in_otlp(part)]) for part in parts]
    return tuple((value, frozenset(keys)) for value, keys in found), around


def _in_tree(trace: dict[str, Any]) -> Iterator[Key]:
    pending = [*trace["roots"]]
    while pending:
        node = pending.pop()
        pending += node["children"]
        yield _key(trace["trace_id"], node["span_id"])


def _in_otlp(part: dict[str, Any]) -> Iterator[Key]:
    for of_resource in part.get("resourceSpans", [part]):
        for of_scope in of_resource["scopeSpans"]:
            for span in of_scope["spans"]:
                yield _key(span["traceId"], span["spanId"])


LAYOUTS: Final[dict[str, tuple[str, Layout]]] = {
    "SDK, lines": ("sdk", Layout(None)),
    "SDK, indented": ("sdk", Layout(None, _STEP)),
    "SDK, a list": ("sdk", Layout("")),
    "SDK, in a log": ("sdk", Layout(None, is_log=True)),
    "Go, lines": ("go", Layout(None)),
    "Go, indented": ("go", Layout(None, _STEP)),
    "Go, a list": ("go", Layout("")),
    "spanview's lines": ("lines", Layout(None)),
    "trace tree": ("tree", Layout("traces")),
    "trace tree, indented": ("tree", Layout("traces", 2)),
    "OTLP, lines": ("otlp", Layout(None)),
    "OTLP, one document": ("otlp document", Layout("resourceSpans")),
    "OTLP, indented": ("otlp document", Layout("resourceSpans", 2)),
    "Jaeger": ("jaeger", Layout("data")),
    "Jaeger, indented": ("jaeger", Layout("data", 2)),
    "Zipkin": ("zipkin", Layout("")),
    "Zipkin, indented": ("zipkin", Layout("", 2)),
}
"""Format and layout by name."""


@cache
def file_in(name: str) -> File:
    """Return the file of a layout, by its name in `LAYOUTS`."""
    form, layout = LAYOUTS[name]
    return replace(layout.file(*values(form)), other=layout.file(*values(form, 2)))
