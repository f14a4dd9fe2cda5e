"""A second reader of the files in `fixtures`: obvious, slow, and without a line of spanview in it.

It tries the standard library's decoder at every brace, takes what is a span, and counts with dicts. Run it to write a
recording's GROUND_TRUTH.json: `python tests/independent_reader.py fixtures/serve`.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import independent_go
from independent_otlp import records_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME: Final = re.compile(r"(?:\x1b\[[0-9;]*m)*\(([^)]+ pid=[0-9]+(?:, ip=[^)]+)?)\)(?:\x1b\[0m)? ?")
"""What Ray puts before each line that a worker printed."""

Record: TypeAlias = dict[str, Any]
"""One span: ids as bare hex digits or None, times as nanoseconds or None, the rest as the file has it."""


def read_text(text: str) -> list[Record]:
    """Return the spans of a file's text in its order, doubles included."""
    writers: dict[str, list[tuple[int, str]]] = {}
    for number, line in enumerate(text.split("\n")):
        name = _NAME.match(line)
        writers.setdefault(name[1] if name else "", []).append((number, line[name.end() :] if name else line))
    found = []
    for lines in writers.values():
        of_writer = "\n".join(line for _, line in lines)
        found += [(lines[of_writer.count("\n", 0, at)][0], record) for at, record in _read_lines(of_writer)]
    # Each writer's spans are in their order already.
    return [record for _, record in sorted(found, key=itemgetter(0))]


def _read_lines(text: str) -> Iterator[tuple[int, Record]]:
    """Yield the spans of one writer's text, and where each begins."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if _is_span(value):
                yield at, _record(value)
            elif independent_go.is_span(value):
                yield at, independent_go.record_of(value)
            elif isinstance(value, dict) and "resourceSpans" in value:
                yield from ((at, record) for record in records_of(value))
            elif at and text[at - 1] != "\n":
                # A part of something torn: the next span may stand inside of what was taken for it.
                end = at + 1
        at = text.find("{", end)


def read_folder(folder: Path) -> dict[str, list[Record]]:
    """Return the spans of each file below a folder by the file's path there."""
    return {
        str(path.relative_to(folder)): read_text(path.read_bytes().decode("utf-8", "replace"))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def without_doubles(records: list[Record]) -> list[Record]:
    """Return the records with those left out that are equal to an earlier one, value types included."""
    first: dict[str, Record] = {}
    for record in records:
        first.setdefault(key_of(record), record)
    return list(first.values())


def of_one_span_each(records: list[Record]) -> list[Record]:
    """Return records without doubles of which none says again that a span has started: only the last one does.

    Args:
        records: By path and offset, without doubles.
    """
    names = "trace_id", "span_id", "parent_id", "start_ns", "kind"
    keys = [(*(record[name] for name in names), record["resource"].get("service.name")) for record in records]
    ended = {key for key, record in zip(keys, records, strict=True) if record["end_ns"] is not None}
    last = {key: number for number, key in enumerate(keys)}
    return [
        record
        for number, (key, record) in enumerate(zip(keys, records, strict=True))
        if record["end_ns"] is not None or (key not in ended and last[key] == number)
    ]


def key_of(record: Record) -> str:
    """Return a text that two records share exactly when they are equal, value types included."""
    return json.dumps(record, sort_keys=True)


def ground_truth(folder: Path) -> dict[str, Any]:
    """Return what is counted in the files below a folder."""
    files = read_folder(folder)
    sizes = {name: (folder / name).stat().st_size for name in files}
    everything = [record for records in files.values() for record in records]
    spans = without_doubles(everything)
    by_id = {(span["trace_id"], span["span_id"]): span for span in spans}
    orphans = [span for span in spans if span["parent_id"] and (span["trace_id"], span["parent_id"]) not in by_id]
    traces = Counter(span["trace_id"] for span in spans if span["trace_id"])
    roots = [span for span in spans if not span["parent_id"]]
    pairs = [(span, by_id.get((span["trace_id"], span["parent_id"]))) for span in spans]
    return {
        "files": len(files),
        "empty_files": sum(1 for size in sizes.values() if not size),
        "bytes": sum(sizes.values()),
        "spans": len(spans),
        "duplicates": len(everything) - len(spans),
        "traces": len(traces),
        "roots": len(roots),
        "missing_parents": len({(span["trace_id"], span["parent_id"]) for span in orphans}),
        "orphans_parent_not_in_corpus": len(orphans),
        "traces_without_root": len(traces.keys() - {span["trace_id"] for span in roots}),
        "biggest_trace": max(traces.values(), default=0),
        "max_depth": max((_depth(span, by_id) for span in spans), default=0),
        "kinds": dict(Counter(span["kind"] for span in spans)),
        "statuses": dict(Counter(span["status"] for span in spans)),
        "names": dict(Counter(span["name"] for span in spans)),
        "with_events": sum(1 for span in spans if span["events"]),
        "with_links": sum(1 for span in spans if span["links"]),
        "unended": sum(1 for span in spans if span["end_ns"] is None),
        "negative_duration": sum(1 for span in spans if _is_before(span["end_ns"], span["start_ns"])),
        "child_starts_before_parent": sum(
            1 for span, parent in pairs if parent and _is_before(span["start_ns"], parent["start_ns"])
        ),
        "child_ends_after_parent": sum(
            1 for span, parent in pairs if parent and _is_before(parent["end_ns"], span["end_ns"])
        ),
        "per_file": {name: {"spans": len(records), "bytes": sizes[name]} for name, records in files.items()},
    }


def _is_span(value: Any) -> bool:
    return isinstance(value, dict) and "name" in value and isinstance(value.get("context"), dict) and "kind" in value


def _record(value: dict[str, Any]) -> Record:
    resource = value["resource"]
    is_nested = set(resource) == {"attributes", "schema_url"}
    return {
        "trace_id": _id(value["context"].get("trace_id"), 32),
        "span_id": _id(value["context"].get("span_id"), 16),
        "parent_id": _id(value["parent_id"], 16),
        "name": value["name"],
        "kind": value["kind"],
        "start_ns": _time(value["start_time"]),
        "end_ns": _time(value["end_time"]),
        "status": value["status"]["status_code"],
        "description": value["status"].get("description"),
        "attributes": value["attributes"],
        "events": [
            {"name": event["name"], "timestamp_ns": _time(event["timestamp"]), "attributes": event["attributes"]}
            for event in value["events"]
        ],
        "links": [
            {
                "trace_id": _id(link["context"]["trace_id"], 32),
                "span_id": _id(link["context"]["span_id"], 16),
                "attributes": link["attributes"],
            }
            for link in value["links"]
        ],
        "resource": resource["attributes"] if is_nested else resource,
    }


def _id(text: object, width: int) -> str | None:
    if not isinstance(text, str):
        return None
    try:
        number = int(text, 16)
    except ValueError:
        return None
    return f"{number:0{width}x}" if number else None


def _time(text: str | None) -> int | None:
    if text is None:
        return None
    # An integer from the parts: a float of seconds would lose the microseconds.
    since = datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def _is_before(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one < other


def _depth(span: Record, by_id: dict[tuple[Any, Any], Record]) -> int:
    """Return how many spans stand in the chain from a span up to its last known ancestor."""
    seen = set()
    parent: Record | None = span
    while parent and id(parent) not in seen:
        seen.add(id(parent))
        parent = by_id.get((parent["trace_id"], parent["parent_id"])) if parent["parent_id"] else None
    return len(seen)


def main() -> None:
    """Write GROUND_TRUTH.json beside the folder `spans` of each recording that is named."""
    for recording in map(Path, sys.argv[1:]):
        text = json.dumps(ground_truth(recording / "spans"), indent=1)
        (recording / "GROUND_TRUTH.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
