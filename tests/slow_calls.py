"""Ray calls counted from the records of an independent reader: slow, obvious, and without a line of spanview in it."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from independent_reader import Record


def functions_of(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return what `stats --by ray` says of records without doubles, in the order of path and offset."""
    first: dict[tuple[str, str], Record] = {}
    for record in records:
        if record["span_id"]:
            first.setdefault((record["trace_id"], record["span_id"]), record)
    calls: dict[int, tuple[Record, list[Record]]] = {
        id(record): (record, []) for record in records if _is(record, "PRODUCER", " ray.remote")
    }
    for record in records:
        parent = first.get((record["trace_id"], record["parent_id"]))
        if parent is not None and id(parent) in calls and _is(record, "CONSUMER", " ray.remote_worker"):
            calls[id(parent)][1].append(record)
    functions: dict[str, list[tuple[Record, list[Record]]]] = {}
    for producer, attempts in calls.values():
        functions.setdefault(producer["name"].removesuffix(" ray.remote"), []).append((producer, attempts))
    answer = [_function(name, pairs) for name, pairs in functions.items()]
    return sorted(answer, key=lambda function: (-function["calls"], function["function"]))


def _is(record: Record, kind: str, ending: str) -> bool:
    return bool(record["kind"] == f"SpanKind.{kind}" and record["name"].endswith(ending))


def _function(name: str, pairs: list[tuple[Record, list[Record]]]) -> dict[str, Any]:
    attempts = [attempt for _, each in pairs for attempt in each]
    waits = []
    for producer, each in pairs:
        starts = [attempt["start_ns"] for attempt in each if attempt["start_ns"] is not None]
        if starts and producer["end_ns"] is not None:
            waits.append(max(0, min(starts) - producer["end_ns"]))
    timed = [each for each in attempts if None not in (each["start_ns"], each["end_ns"])]
    alone = [producer["status"] for producer, each in pairs if not each]
    return {
        "function": name,
        "calls": len(pairs),
        "attempts": len(attempts),
        "errors": sum(attempt["status"] == "ERROR" for attempt in attempts),
        "submit_errors": alone.count("ERROR"),
        "retried": sum(len(each) > 1 for _, each in pairs),
        "no_attempt": len(alone) - alone.count("ERROR"),
        "max_concurrency": max(
            (sum(_runs_at(other, each["start_ns"]) for other in timed) for each in timed),
            default=0,
        ),
        "wait_ns": _percentiles(sorted(waits)),
        "run_ns": _percentiles(sorted(each["end_ns"] - each["start_ns"] for each in timed)),
    }


def _runs_at(record: Record, time: int) -> bool:
    start, end = record["start_ns"], record["end_ns"]
    return bool(start == time or start < time < end)


def _percentiles(values: list[int]) -> dict[str, int | None]:
    if not values:
        return {"p50": None, "p95": None, "max": None}
    return {
        "p50": values[ceil(len(values) * 0.50) - 1],
        "p95": values[ceil(len(values) * 95 / 100) - 1],
        "max": values[-1],
    }
