"""Traces as Chrome's trace events, for Perfetto and chrome://tracing; this format is written only.

Source: "Trace Event Format", and what Perfetto's importer makes of it: complete events of one thread must nest, events
of a flow are bound to the slice that is open at their time.

span                                            event
----                                            -----
process: resource, and Ray's process or file    pid, with its name and its resource
spans nested in one another                     one tid, a lane; what overlaps gets lanes of its own
span                                            X, complete; B, begin, where it has no end
event                                           i, instant
PRODUCER → CONSUMER, links within the trace     s → f, a flow, unless it went back in time

Times are microseconds after a base, with all digits of the nanoseconds: the base is in the metadata.

Processes, lanes and flows are numbered over all traces. So a trace is drafted first, which takes nearly all of the time
and needs no other trace: its events have holes for pid and tid, which are filled trace by trace.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from spanview.formats.jsontext import dumps_reporting, dumps_sorted, dumps_strict
from spanview.formats.tags import ignore_loss
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.ids import SPAN_ID_DIGITS, UNUSABLE, parse_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.model.span import Event, Resource, Span

NO_NAME: Final = "(no name)"
_PROCESS_KEYS: Final = frozenset(("service.instance.id", "process.pid"))
"""Attributes of a resource that identify a process."""
_RAY_PID: Final = "ray.pid"
_RAY_NODE: Final = "ray.node_id"
_NO_PARENT: Final = -1
_NO_LANE: Final = {"pid": 0, "tid": 0}
_HOLE: Final = b',"pid":0,"tid":0'
"""The first such part of an event's text: no text in it can have a quotation mark after a comma."""

SpanDraft: TypeAlias = "tuple[tuple[bytes, bytes], int, float, int, bytes, list[bytes]]"
"""The key of its process and what announces that, start, end, the index of its parent before it or -1, its slice,
and its events."""
TraceDraft: TypeAlias = "tuple[list[SpanDraft], list[tuple[int, int, bytes]]]"
"""The spans in the order of their starts, and the flows: from which index to which, and a name."""


class Drafted(NamedTuple):
    """What is written of a span, and what its place among others depends on; an id may be `UNUSABLE`."""

    span_id: int
    parent_id: int
    kind: int | None
    start_ns: int
    end_ns: float
    """Infinite for one without an end, which stays open for ever."""
    slice: bytes
    process: tuple[bytes, bytes]
    instants: Sequence[bytes] = ()
    links: Sequence[int] = ()
    """The ids of spans of its trace."""


class ChromeDrafts:
    """Makes drafts of traces.

    Args:
        base_ns: What times are counted from, in nanoseconds since 1970; no span may start before it.
    """

    def __init__(self, base_ns: int, lose: Callable[[str], None] = ignore_loss) -> None:
        self._base_ns = base_ns
        self._lose = lose
        self._processes: dict[tuple[object, ...], tuple[Resource, tuple[bytes, bytes]]] = {}
        """By the resource's identity and what else identifies a process, where that is text."""

    def told(self, span: Span) -> tuple[bytes, tuple[bytes, bytes]] | None:
        """Return the slice of a span that has a start, and its process; None for one that has more."""
        return None if span.links or span.events else (self._slice(span), self._process_of(span))

    def drafted(self, span: Span) -> Drafted | None:
        """Return what is written of a span; None for one without a start."""
        if span.start_ns is None:
            self._lose("dropped {span} without a start")
            return None
        ids = _id_of(span.span_id), _id_of(span.parent_id)
        # One that ends before it starts is a moment.
        end_ns = inf if span.end_ns is None else max(span.end_ns, span.start_ns)
        told, instants = (
            (self._slice(span), self._process_of(span)),
            [self._instant(event, span) for event in span.events],
        )
        links = [_id_of(link.span_id) if link.trace_id == span.trace_id else UNUSABLE for link in span.links]
        return Drafted(*ids, span.kind_value, span.start_ns, end_ns, *told, instants, links)

    def of(self, spans: Sequence[Drafted]) -> TraceDraft:
        """Return the draft of one trace, whose spans are given with parents before their children."""
        order = sorted(range(len(spans)), key=[span.start_ns for span in spans].__getitem__)
        ranks = dict(zip(order, range(len(order)), strict=True))
        # Of spans with one id, the first has the children.
        by_id = {spans[index].span_id: ranks[index] for index in reversed(range(len(spans)))}
        by_id.pop(UNUSABLE, None)
        drafts: list[SpanDraft] = []
        arrows: list[tuple[int, int, bytes]] = []
        for rank, index in enumerate(order):
            _, parent_id, kind, start_ns, end_ns, text, process, instants, links = spans[index]
            parent = by_id.get(parent_id, _NO_PARENT)
            if kind == CONSUMER and parent != _NO_PARENT and spans[order[parent]].kind == PRODUCER:
                self._draw(arrows, parent, rank, b"message")
            for link in links:
                self._draw(arrows, by_id.get(link), rank, b"link")
            drafts.append((process, start_ns, end_ns, parent if parent < rank else _NO_PARENT, text, [*instants]))
        return drafts, arrows

    def _draw(self, arrows: list[tuple[int, int, bytes]], source: int | None, target: int, name: bytes) -> None:
        if source is None:
            self._lose("wrote {link} to spans outside the trace without arrows")
        elif source > target:
            # Readers take events by time, and know no flow that ends before it begins.
            self._lose("dropped {arrow} back in time, which readers don't draw")
        else:
            arrows.append((source, target, name))

    def _process_of(self, span: Span) -> tuple[bytes, bytes]:
        resource, attributes = span.resource.attributes, span.attributes
        process_id = [attributes.get(_RAY_NODE), attributes[_RAY_PID]] if _RAY_PID in attributes else [span.source.file]
        # To encode a resource for each span would take a seventh of the time.
        cache_key = (id(span.resource), span.source.file, *process_id) if {*map(type, process_id)} == {str} else ()
        if cache_key in self._processes:
            return self._processes[cache_key][1]
        key = dumps_sorted([dict(resource), [] if not _PROCESS_KEYS.isdisjoint(resource) else process_id])
        pid = attributes.get(_RAY_PID, resource.get("process.pid"))
        name = f"{span.service or NO_NAME} (pid {pid})" if pid is not None else span.service or span.source.file
        labels = {"name": name or NO_NAME, "resource": dict(resource)}
        process = key, dumps_strict({"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": labels})
        if cache_key:
            self._processes[cache_key] = span.resource, process
        return process

    def _slice(self, span: Span) -> bytes:
        event = {
            "name": span.name or NO_NAME,
            "cat": (span.kind_name or "span").lower(),
            **_NO_LANE,
            "args": _args(span),
        }
        duration_ns = span.duration_ns
        if duration_ns is None:
            return self._timed(span.start_ns or 0, {"ph": "B", **event})
        if duration_ns < 0:
            self._lose("wrote {negative duration} as 0")
        return self._timed(span.start_ns or 0, {"ph": "X", **event}, max(duration_ns, 0))

    def _instant(self, event: Event, span: Span) -> bytes:
        time = event.timestamp_ns
        if time is None:
            self._lose("moved {event} without a time to the start of the span")
            time = span.start_ns or 0
        elif time < self._base_ns:
            self._lose("moved {event} before all spans to the start of the first span")
            time = self._base_ns
        args = {"attributes": dict(event.attributes), "span_id": span.span_id, **_extra(event)}
        return self._timed(
            time, {"ph": "i", "s": "t", "name": event.name or NO_NAME, "cat": "event", **_NO_LANE, "args": args}
        )

    def _timed(self, ns: int, event: dict[str, Any], duration_ns: int | None = None) -> bytes:
        """Return an event with its time; the numbers have all digits, which a float would not have."""
        times = b'{"ts":' + _micros(ns - self._base_ns)
        if duration_ns is not None:
            times += b',"dur":' + _micros(duration_ns)
        return times + b"," + dumps_reporting(event, self._lose)[1:]


class _Process:
    """One process and its lanes."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.lanes = 0
        self.free: list[tuple[float, int, int]] = []
        """Until when each lane is taken, its number, and its tid; a heap."""


class ChromeWriter:
    """Makes events of drafts; between two it keeps the processes, and until when their lanes are taken."""

    def __init__(self, base_ns: int) -> None:
        self._base_ns = base_ns
        self._processes: dict[bytes, _Process] = {}
        # No number is used twice: a thread with its process's number would be its main thread.
        self._numbers = count(1)
        self._flows = count(1)

    def events_of(self, draft: TraceDraft) -> Iterator[bytes]:
        """Yield the events of one trace as JSON, parents before their children.

        A span goes to its parent's lane if nothing but its ancestors is open there, or else to one that is free.
        """
        spans, arrows = draft
        flows: dict[int, list[bytes]] = {}
        for (source, index, name), number in zip(arrows, self._flows, strict=False):
            for rank, phase, bound in ((source, b"s", b""), (index, b"f", b',"bp":"e"')):
                event = b'"ph":"%b","id":%d,"name":"%b","cat":"flow"%b%b}' % (phase, number, name, bound, _HOLE)
                flows.setdefault(rank, []).append(b'{"ts":%b,%b' % (_micros(spans[rank][1] - self._base_ns), event))
        lanes: list[tuple[_Process, int]] = []
        open_in: dict[int, list[int]] = {}
        for index, (labels, start, end, parent, text, instants) in enumerate(spans):
            announced: list[bytes] = []
            process = self._process_of(labels, announced)
            tid = 0
            if parent >= 0 and lanes[parent][0] is process:
                stack = open_in[lanes[parent][1]]
                while stack and spans[stack[-1]][2] <= start:
                    stack.pop()
                if stack and stack[-1] == parent and end <= spans[parent][2]:
                    tid = lanes[parent][1]
                    stack.append(index)
            if not tid:
                tid = self._free_lane(process, start, end, announced)
                open_in[tid] = [index]
            lanes.append((process, tid))
            location = b',"pid":%d,"tid":%d' % (process.pid, tid)
            yield from announced
            for event in (text, *flows.get(index, ()), *instants):
                yield event.replace(_HOLE, location, 1)

    def _process_of(self, labels: tuple[bytes, bytes], announced: list[bytes]) -> _Process:
        key, announcement = labels
        process = self._processes.get(key)
        if process is None:
            process = self._processes[key] = _Process(next(self._numbers))
            announced.append(announcement.replace(_HOLE, b',"pid":%d,"tid":0' % process.pid, 1))
            announced.append(_metadata("process_sort_index", process, 0, {"sort_index": process.pid}))
        return process

    def _free_lane(self, process: _Process, start: int, end: float, announced: list[bytes]) -> int:
        """Return the tid of a lane in which nothing is open any more."""
        if process.free and process.free[0][0] <= start:
            _, lane, tid = heappop(process.free)
        else:
            process.lanes += 1
            lane, tid = process.lanes, next(self._numbers)
            announced.append(_metadata("thread_name", process, tid, {"name": f"lane {lane}"}))
            announced.append(_metadata("thread_sort_index", process, tid, {"sort_index": lane}))
        heappush(process.free, (end, lane, tid))
        return tid


def _metadata(name: str, process: _Process, tid: int, args: dict[str, Any]) -> bytes:
    return dumps_strict({"ph": "M", "name": name, "pid": process.pid, "tid": tid, "args": args})


def _id_of(text: str | None) -> int:
    return parse_id(text, SPAN_ID_DIGITS)


def _micros(ns: int) -> bytes:
    whole, fraction = divmod(ns, 1000)
    return b"%d.%03d" % (whole, fraction) if fraction else b"%d" % whole


def _args(span: Span) -> dict[str, Any]:
    """Return what is shown of a selected slice."""
    args: dict[str, Any] = {
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": span.parent_id,
        "status": span.status,
        "status_description": span.status.description,
        "attributes": dict(span.attributes),
        "links": [
            {
                "trace_id": link.trace_id,
                "span_id": link.span_id,
                "trace_state": dict(link.trace_state),
                "attributes": dict(link.attributes),
                **_extra(link),
            }
            for link in span.links
        ],
        "trace_state": dict(span.trace_state),
        "schema_url": span.resource.schema_url,
    }
    if span.scope is not None:
        args["scope"] = {
            "name": span.scope.name,
            "version": span.scope.version,
            "schema_url": span.scope.schema_url,
            "attributes": dict(span.scope.attributes),
        }
    return {key: part for key, part in args.items() if part not in (None, "", {}, [])} | _extra(span)


def _extra(part: Any) -> dict[str, Any]:
    return {"extra": dict(part.extra)} if part.extra else {}
