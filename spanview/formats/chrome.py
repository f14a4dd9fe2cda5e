"""Traces as Chrome's trace events, for Perfetto and chrome://tracing; this format is written only.

Source: "Trace Event Format", and what Perfetto's importer makes of it: complete events of one thread must nest, events
of a flow are bound to the slice that is open at their time.

span                                            event
----                                            -----
process: resource, and Ray's process or file    pid, with its name and its resource
those that stand inside one another             one tid, a lane; what overlaps gets lanes of its own
span                                            X, complete; B, begun, where it has no end
event                                           i, instant
PRODUCER → CONSUMER, links within the trace     s → f, a flow, unless it went back in time

Times are microseconds after a base, with all digits of the nanoseconds: the base stands in the metadata.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.jsontext import dumps_sorted, dumps_strict, dumps_telling
from spanview.formats.tags import nothing_lost
from spanview.model.codes import CONSUMER, PRODUCER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.model.span import Event, Span

NO_NAME: Final = "(no name)"
_OWN_PROCESS: Final = frozenset(("service.instance.id", "process.pid"))
"""Attributes of a resource that tell one process from another."""
_RAY_PID: Final = "ray.pid"
_RAY_NODE: Final = "ray.node_id"


class _Process:
    """One process and its lanes."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.lanes = 0
        self.free: list[tuple[float, int, int]] = []
        """Until when each lane is taken, its number, and its tid; a heap."""


class ChromeWriter:
    """Makes events of traces; what it keeps between two is the processes, and until when their lanes are taken.

    Args:
        base_ns: What times are counted from, in nanoseconds since 1970; no span may start before it.
        lose: Takes note of what can't be said.
    """

    def __init__(self, base_ns: int, lose: Callable[[str], None] = nothing_lost) -> None:
        self._base_ns = base_ns
        self._lose = lose
        self._processes: dict[bytes, _Process] = {}
        # One number never means two things: a thread with its process's number would be its main thread.
        self._numbers = count(1)
        self._flows = count(1)

    def events_of(self, spans: Sequence[Span]) -> Iterator[bytes]:
        """Yield the events of one trace as JSON, parents before what stands inside them.

        Args:
            spans: All spans of the trace, parents before their children.
        """
        places = self._places(spans)
        arrows = self._arrows(spans, places)
        for at in places:
            process, tid, announced = places[at]
            yield from announced
            span = spans[at]
            where = {"pid": process.pid, "tid": tid}
            yield self._slice(span, where)
            for way, name, number in arrows.get(at, ()):
                bound = {"bp": "e"} if way == "f" else {}
                flow = {"ph": way, "id": number, "name": name, "cat": "flow", **bound, **where}
                yield self._timed(_start_of(span), flow)
            for event in span.events:
                yield self._instant(event, span, where)

    # -- where spans stand -------------------------------------------------------------------------------------------

    def _places(self, spans: Sequence[Span]) -> dict[int, tuple[_Process, int, list[bytes]]]:
        """Return process and lane of each span that has a start, in the order of starts, and what announces these.

        A span stands in its parent's lane if nothing but its ancestors is open there, and else in one that is free.
        """
        shown = [at for at, span in enumerate(spans) if span.start_ns is not None]
        for _ in range(len(spans) - len(shown)):
            self._lose("spans without a start left out")
        shown.sort(key=lambda at: _start_of(spans[at]))
        by_id: dict[str | None, int] = {}
        for at in reversed(range(len(spans))):
            by_id[spans[at].span_id] = at
        by_id.pop(None, None)
        places: dict[int, tuple[_Process, int, list[bytes]]] = {}
        open_in: dict[int, list[int]] = {}
        for at in shown:
            span = spans[at]
            announced: list[bytes] = []
            process = self._process_of(span, announced)
            parent = places.get(by_id.get(span.parent_id, -1))
            tid = None
            if parent is not None and parent[0] is process:
                stack = open_in[parent[1]]
                while stack and _end_of(spans[stack[-1]]) <= _start_of(span):
                    stack.pop()
                if stack and stack[-1] == by_id[span.parent_id] and _end_of(span) <= _end_of(spans[stack[-1]]):
                    tid = parent[1]
                    stack.append(at)
            if tid is None:
                tid = self._free_lane(process, span, announced)
                open_in[tid] = [at]
            places[at] = process, tid, announced
        return places

    def _process_of(self, span: Span, announced: list[bytes]) -> _Process:
        resource, attributes = span.resource.attributes, span.attributes
        which = [attributes.get(_RAY_NODE), attributes[_RAY_PID]] if _RAY_PID in attributes else [span.source.file]
        key = dumps_sorted([dict(resource), [] if not _OWN_PROCESS.isdisjoint(resource) else which])
        process = self._processes.get(key)
        if process is None:
            process = self._processes[key] = _Process(next(self._numbers))
            pid = attributes.get(_RAY_PID, resource.get("process.pid"))
            name = f"{span.service or NO_NAME} (pid {pid})" if pid is not None else span.service or span.source.file
            labels = {"name": name or NO_NAME, "resource": dict(resource)}
            for what, args in (("process_name", labels), ("process_sort_index", {"sort_index": process.pid})):
                announced.append(dumps_strict({"ph": "M", "name": what, "pid": process.pid, "tid": 0, "args": args}))
        return process

    def _free_lane(self, process: _Process, span: Span, announced: list[bytes]) -> int:
        """Return the tid of a lane in which nothing is open any more."""
        if process.free and process.free[0][0] <= _start_of(span):
            _, lane, tid = heappop(process.free)
        else:
            process.lanes += 1
            lane, tid = process.lanes, next(self._numbers)
            for what, args in (("thread_name", {"name": f"lane {lane}"}), ("thread_sort_index", {"sort_index": lane})):
                announced.append(dumps_strict({"ph": "M", "name": what, "pid": process.pid, "tid": tid, "args": args}))
        heappush(process.free, (_end_of(span), lane, tid))
        return tid

    # -- what is written ---------------------------------------------------------------------------------------------

    def _slice(self, span: Span, where: dict[str, int]) -> bytes:
        event = {
            "name": span.name or NO_NAME,
            "cat": (span.kind_name or "span").lower(),
            **where,
            "args": _args(span),
        }
        duration_ns = span.duration_ns
        if duration_ns is None:
            return self._timed(_start_of(span), {"ph": "B", **event})
        if duration_ns < 0:
            self._lose("negative durations written as 0")
        return self._timed(_start_of(span), {"ph": "X", **event}, max(duration_ns, 0))

    def _instant(self, event: Event, span: Span, where: dict[str, int]) -> bytes:
        time = event.timestamp_ns
        if time is None:
            self._lose("events without a time written at their span's start")
            time = _start_of(span)
        elif time < self._base_ns:
            self._lose("events before all spans written at the first one's start")
            time = self._base_ns
        args = {"attributes": dict(event.attributes), "span_id": span.span_id, **_extra(event)}
        return self._timed(
            time, {"ph": "i", "s": "t", "name": event.name or NO_NAME, "cat": "event", **where, "args": args}
        )

    def _timed(self, ns: int, event: dict[str, Any], duration_ns: int | None = None) -> bytes:
        """Return an event with its time; the numbers have all digits, which a float would not have."""
        times = b'{"ts":' + _micros(ns - self._base_ns)
        if duration_ns is not None:
            times += b',"dur":' + _micros(duration_ns)
        return times + b"," + dumps_telling(event, self._lose)[1:]

    # -- flows -------------------------------------------------------------------------------------------------------

    def _arrows(
        self, spans: Sequence[Span], places: dict[int, tuple[_Process, int, list[bytes]]]
    ) -> dict[int, list[tuple[str, str, int]]]:
        """Return what flows begin and end at each span: `s` or `f`, a name, and the flow's number."""
        by_id = {spans[at].span_id: at for at in reversed(places)}
        ranks = {at: rank for rank, at in enumerate(places)}
        arrows: dict[int, list[tuple[str, str, int]]] = {}
        for at in places:
            span = spans[at]
            parent = by_id.get(span.parent_id) if span.parent_id is not None else None
            pairs = []
            if parent is not None and (spans[parent].kind_value, span.kind_value) == (PRODUCER, CONSUMER):
                pairs.append((parent, "message"))
            for link in span.links:
                linked = by_id.get(link.span_id) if link.trace_id == span.trace_id else None
                if linked is None:
                    self._lose("links to spans of other traces, or of none, told without an arrow")
                else:
                    pairs.append((linked, "link"))
            for source, name in pairs:
                if ranks[source] > ranks[at]:
                    # Readers take events by time, and know no flow that ends before it begins.
                    self._lose("arrows back in time left out, which readers don't draw")
                    continue
                number = next(self._flows)
                arrows.setdefault(source, []).append(("s", name, number))
                arrows.setdefault(at, []).append(("f", name, number))
        return arrows


def _start_of(span: Span) -> int:
    """Return the start; spans without one are left out."""
    return span.start_ns or 0


def _end_of(span: Span) -> float:
    """Return the end; a span without one stays open for ever, and one that ends before it starts is a moment."""
    return inf if span.end_ns is None else max(span.end_ns, _start_of(span))


def _micros(ns: int) -> bytes:
    whole, rest = divmod(ns, 1000)
    return b"%d.%03d" % (whole, rest) if rest else b"%d" % whole


def _args(span: Span) -> dict[str, Any]:
    """Return what is shown of a selected slice."""
    args: dict[str, Any] = {
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": span.parent_id,
        "status": span.status.name,
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
