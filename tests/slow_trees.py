"""The trace-tree export as its contract describes it, by searching, walking and recursion: slow, obvious, independent.

what was written, with its place      exported
--------------------------------      --------
a, b under a                          a(b)
b under a, no a                       ?a(b)           ? a placeholder
a under b, b under a                  a(b)            a starts first, and says `cycle`
a, a', b under a                      a(b) a'         a stands first by path and offset
a without an end, a with one          a               the one with an end; of several without, the last
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from builders import Document

FACTS: Final = frozenset(("wait_ns", "waited_for", "on_critical_path"))
Json: TypeAlias = dict[str, Any]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_SKEW: Final = timedelta(microseconds=2)


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A record and its place; ids and times as the SDK writes them, attributes and resource of strict JSON."""

    document: Document
    path: str
    offset: int
    length: int

    @property
    def place(self) -> tuple[str, int]:
        """What decides between spans with the same ids."""
        return self.path, self.offset

    def number(self, key: str) -> int:
        """Return the trace's, the span's or the parent's id, 0 for none."""
        value = self.document["parent_id"] if key == "parent_id" else self.document["context"][key]
        return int(value or "0", 16)

    @property
    def span_key(self) -> tuple[Any, ...]:
        """What records of one span have in common, whether they have an end or not."""
        service = self.document["resource"]["attributes"].get("service.name", "")
        ids = (self.number(key) for key in ("trace_id", "span_id", "parent_id"))
        return *ids, self.document["start_time"], self.document["kind"], service

    @property
    def is_begun(self) -> bool:
        """Whether it has no end, and another record of its span may have one."""
        is_known = self.number("trace_id") and self.number("span_id") and self.document["start_time"] is not None
        return bool(is_known) and self.document["end_time"] is None

    def time(self, key: str) -> datetime | None:
        """Return the start or the end."""
        value = self.document[key]
        return None if value is None else datetime.fromisoformat(value)


def export_of(written: Iterable[Written]) -> tuple[list[Json], Json]:
    """Return the traces of the export, and its counts of spans, traces, roots, missing parents and doubles."""
    everything: dict[str, list[Written]] = {}
    for one in sorted(written, key=lambda one: one.place):
        everything.setdefault(json.dumps(one.document, sort_keys=True), []).append(one)
    ended, open_ones = _over(everything)
    doubles = sum(len(ones) - 1 for text, ones in everything.items() if text not in ended)
    first = {text: ones[0] for text, ones in everything.items() if text not in ended | open_ones}
    by_trace: dict[int, list[Written]] = {}
    for one in first.values():
        by_trace.setdefault(one.number("trace_id"), []).append(one)
    trees = [_Tree(trace_id, spans) for trace_id, spans in by_trace.items()]
    trees.sort(key=lambda tree: (not tree.trace_id, tree.start or _NEVER, tree.trace_id))
    counts = {
        "spans": len(first),
        "traces": sum(1 for trace_id in by_trace if trace_id),
        "roots": sum(1 for one in first.values() if not one.number("parent_id")),
        "missing_parents": sum(len(tree.missing) for tree in trees),
        "duplicates": doubles,
    }
    return [tree.to_json() for tree in trees], counts


def _over(everything: Mapping[str, Sequence[Written]]) -> tuple[set[str], set[str]]:
    """Return which records have no end, and aren't shown: because their span has ended, or another one came later."""
    ended, later = set[str](), set[str]()
    begun = {text: ones[-1] for text, ones in everything.items() if ones[0].is_begun}
    for text, one in begun.items():
        others = [ones[-1] for ones in everything.values() if ones[0].span_key == one.span_key]
        if any(other.time("end_time") is not None for other in others):
            ended.add(text)
        elif any(
            other.place > one.place and other.document["resource"] == one.document["resource"] for other in others
        ):
            later.add(text)
    return ended, later


def read_without_facts(text: bytes) -> Any:
    """Return a document without what its spans waited and whether a critical path has them: that isn't made here."""
    return json.loads(text, object_hook=without_facts)


def without_facts(found: Json) -> Json:
    """Return a span without these; anything else as it is."""
    return {key: value for key, value in found.items() if key not in FACTS} if "warnings" in found else found


def lines_of(traces: Iterable[Json]) -> list[Json]:
    """Return the flat export of the spans of exported traces."""
    lines: list[Json] = []

    def take(trace_id: str | None, node: Json) -> None:
        if not node.get("missing"):
            lines.append({"trace_id": trace_id} | {key: value for key, value in node.items() if key != "children"})
        for child in node["children"]:
            take(trace_id, child)

    for trace in traces:
        for root in trace["roots"]:
            take(trace["trace_id"], root)
    return sorted(lines, key=lambda line: (line["source"]["file"], line["source"]["offset"]))


@dataclass(slots=True)
class _Tree:
    """One trace."""

    trace_id: int
    spans: Sequence[Written]
    """Without doubles, in the order of their places."""
    cut: list[Written] = field(init=False)
    missing: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self.cut = []
        for one in self.spans:
            circle = self._circle_of(one)
            if circle and min(circle, key=self._order) is one:
                self.cut.append(one)
        ids = {one.number("span_id") for one in self.spans}
        parents = {one.number("parent_id") for one in self.spans}
        self.missing = parents - ids - {0}

    @property
    def start(self) -> datetime | None:
        return min((start for one in self.spans if (start := one.time("start_time"))), default=None)

    @property
    def end(self) -> datetime | None:
        return max((end for one in self.spans if (end := one.time("end_time"))), default=None)

    def parent_of(self, one: Written) -> Written | None:
        """Return the first span that has the parent's id, wherever the circles are cut."""
        wanted = one.number("parent_id")
        return next((other for other in self.spans if wanted and other.number("span_id") == wanted), None)

    def _circle_of(self, one: Written) -> list[Written]:
        """Return the circle of parents that a span is in, nothing where it is in none."""
        chain: list[Written] = []
        at: Written | None = one
        while at is not None and at not in chain:
            chain.append(at)
            at = self.parent_of(at)
        return chain if at is one else []

    @staticmethod
    def _order(one: Written) -> tuple[datetime, int, tuple[str, int]]:
        return one.time("start_time") or _NEVER, one.number("span_id"), one.place

    def _children(self, one: Written) -> list[Written]:
        found = [other for other in self.spans if other not in self.cut and self.parent_of(other) is one]
        return sorted(found, key=self._order)

    def to_json(self) -> Json:
        parentless = [one for one in self.spans if one in self.cut or not one.number("parent_id")]
        tops: list[tuple[Any, Json]] = [(self._order(one), self._node(one)) for one in parentless]
        for missing in self.missing:
            orphans = [one for one in self.spans if one.number("parent_id") == missing]
            orphans.sort(key=self._order)
            start = orphans[0].time("start_time") or _NEVER
            node = {"span_id": f"{missing:016x}", "missing": True, "children": [*map(self._node, orphans)]}
            tops.append(((start, missing, ("", 0)), node))
        tops.sort(key=lambda top: top[0])
        services = {_service(one) for one in self.spans} - {""}
        return {
            "trace_id": f"{self.trace_id:032x}" if self.trace_id else None,
            "start_time": _text(self.start),
            "end_time": _text(self.end),
            "duration_ns": _nanoseconds(self.start, self.end),
            "span_count": len(self.spans),
            "error_count": sum(1 for one in self.spans if one.document["status"]["status_code"] == "ERROR"),
            "services": sorted(services),
            "complete": not self.missing and not self.cut and any(not one.number("parent_id") for one in self.spans),
            "roots": [node for _, node in tops],
        }

    def _node(self, one: Written) -> Json:
        document, start, end = one.document, one.time("start_time"), one.time("end_time")
        span_id, parent_id = one.number("span_id"), one.number("parent_id")
        status = document["status"]
        return {
            "span_id": f"{span_id:016x}" if span_id else None,
            "parent_id": f"{parent_id:016x}" if parent_id else None,
            "name": document["name"],
            "kind": document["kind"].removeprefix("SpanKind."),
            "start_time": _text(start),
            "end_time": _text(end),
            "duration_ns": _nanoseconds(start, end),
            "self_time_ns": self._self_time(one),
            "status": {"code": status["status_code"]}
            | ({"description": status["description"]} if "description" in status else {}),
            "attributes": document["attributes"],
            "events": [],
            "links": [],
            "trace_state": {},
            "resource": document["resource"],
            "scope": None,
            "source": {"file": one.path, "offset": one.offset, "length": one.length},
            "warnings": self._warnings(one),
            "children": [*map(self._node, self._children(one))],
        }

    def _self_time(self, one: Written) -> int | None:
        """Count the microseconds in which none of the descendants runs."""
        ticks = _ticks(one)
        if ticks is None:
            return None
        return len(ticks.difference(*(_ticks(other) or () for other in self._below(one)))) * 1_000

    def _below(self, one: Written) -> list[Written]:
        children = self._children(one)
        return [*children, *(below for child in children for below in self._below(child))]

    def _warnings(self, one: Written) -> list[str]:
        start, end, parent = one.time("start_time"), one.time("end_time"), self.parent_of(one)
        same = [other for other in self.spans if other.number("span_id") == one.number("span_id")]
        parent_start = parent and one not in self.cut and parent.time("start_time")
        is_usable = bool(self.trace_id and one.number("span_id"))
        given = {
            "duplicate_id": is_usable and len(same) > 1,
            "cycle": one in self.cut,
            "no_end": end is None,
            "negative_duration": bool(start and end and end < start),
            "bad_id": not is_usable,
            "clock_skew": bool(start and parent_start and start < parent_start - _SKEW),
        }
        return [name for name, is_so in given.items() if is_so]


def _service(one: Written) -> str:
    return str(one.document["resource"]["attributes"].get("service.name", ""))


def _ticks(one: Written) -> set[int] | None:
    """Return the microseconds in which a span runs, None where that isn't known."""
    start, end = one.time("start_time"), one.time("end_time")
    if start is None or end is None:
        return None
    return {*range(_microseconds(start), _microseconds(end))}


def _microseconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(microseconds=1)


def _nanoseconds(start: datetime | None, end: datetime | None) -> int | None:
    return None if start is None or end is None else (_microseconds(end) - _microseconds(start)) * 1_000


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
