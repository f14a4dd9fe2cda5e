"""Call paths and their differences by recursion over exported trees and dictionaries of whole paths: slow, independent.

a(b b)  a(c)      {(a,): 2 spans, (a, b): 2 spans, (a, c): 1 span}
"""

from __future__ import annotations

import json
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

from slow_trees import Written, export_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from builders import Document

Path: TypeAlias = tuple[tuple[str | None, str], ...]
"""Names and services from the root on; the name of a missing parent is None."""
Figures: TypeAlias = dict[str, Any]


def written(documents: Iterable[Document], path: str = "spans/1.json") -> list[Written]:
    """Return documents with the places that they have in one file, a line each."""
    places, offset = [], 0
    for document in documents:
        length = len(json.dumps(document))
        places.append(Written(document, path, offset, length))
        offset += length + 1
    return places


def paths_of(documents: Iterable[Document], traces: set[str | None] | None = None) -> dict[Path, Figures]:
    """Return the figures of each call path.

    Args:
        documents: As `slow_trees` takes them.
        traces: Ids of the traces that count; None for all.
    """
    spans: dict[Path, list[dict[str, Any]]] = {}

    def take(node: dict[str, Any], above: Path) -> None:
        is_missing = node.get("missing", False)
        service = "" if is_missing else node["resource"]["attributes"].get("service.name", "")
        path = (*above, (None if is_missing else node["name"], service))
        spans.setdefault(path, []).append(node)
        for child in node["children"]:
            take(child, path)

    for trace in export_of(written(documents))[0]:
        if traces is None or trace["trace_id"] in traces:
            for root in trace["roots"]:
                take(root, ())
    return {path: _figures(nodes) for path, nodes in spans.items()}


def _figures(nodes: list[dict[str, Any]]) -> Figures:
    lengths = sorted(node["duration_ns"] for node in nodes if node.get("duration_ns") is not None)
    return {
        "count": len(nodes),
        "errors": sum(node.get("status", {}).get("code") == "ERROR" for node in nodes),
        "total_ns": sum(lengths),
        "self_ns": sum(node.get("self_time_ns") or 0 for node in nodes),
        "p50_ns": _percentile(lengths, 50),
        "p95_ns": _percentile(lengths, 95),
    }


def _percentile(values: list[int], percent: int) -> int | None:
    return values[ceil(Fraction(percent, 100) * len(values)) - 1] if values else None


def number_of_traces(documents: Iterable[Document]) -> int:
    """Return how many traces there are; the spans without a usable trace id are none."""
    return sum(trace["trace_id"] is not None for trace in export_of(written(documents))[0])


def changes_of(a: dict[Path, Figures], b: dict[Path, Figures], traces: tuple[int, int]) -> dict[Path, Figures]:
    """Return for each path of either side what `spanview diff --json` says of it, without numbers.

    Args:
        a: One side.
        b: The other one.
        traces: How many each of them has.
    """
    changes: dict[Path, Figures] = {}
    for path in a.keys() | b.keys():
        of_a, of_b = a.get(path), b.get(path)
        delta, ratio = {}, {}
        parted: dict[str, Figures] = {"delta": {}, "ratio": {}}
        for key in ("count", "errors", "total_ns", "self_ns", "p50_ns", "p95_ns"):
            nothing = None if key.startswith("p") else 0
            before = nothing if of_a is None else of_a[key]
            after = nothing if of_b is None else of_b[key]
            delta[key] = None if before is None or after is None else after - before
            ratio[key] = None if after is None or not before else after / before
            if before is not None and after is not None and not key.startswith("p") and 0 not in traces:
                mean_before, mean_after = Fraction(before, traces[0]), Fraction(after, traces[1])
                change = mean_after - mean_before
                parted["delta"][key] = round(change) if key.endswith("_ns") else float(change)
                parted["ratio"][key] = float(mean_after / mean_before) if before else None
        changes[path] = {
            "depth": len(path) - 1,
            "name": path[-1][0],
            "service": path[-1][1],
            "missing": path[-1][0] is None,
            "path": [name for name, _ in path],
            "only_in": "b" if of_a is None else "a" if of_b is None else None,
            "a": of_a,
            "b": of_b,
            "delta": delta,
            "ratio": ratio,
            "per_trace": None if traces[0] == traces[1] or 0 in traces else parted,
        }
    return changes
