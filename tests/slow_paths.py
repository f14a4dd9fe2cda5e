"""Call paths and their differences by recursion over exported trees and dictionaries of whole paths: slow, independent.

a(b b)  a(c)      {(a,): 2 spans, (a, b): 2 spans, (a, c): 1 span}
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from slow_trees import Written, export_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from builders import Document

Step: TypeAlias = tuple[str | None, str]
"""A name and a service; the name of a missing parent is None."""
Path: TypeAlias = tuple[Step, ...]
"""From the root on."""
Root: TypeAlias = Step | None
"""What a trace's first root is called; None where it has none."""
Figures: TypeAlias = dict[str, Any]
_NOWHERE: Final[Root] = ("", "no trace")


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
        path = (*above, _step(node))
        spans.setdefault(path, []).append(node)
        for child in node["children"]:
            take(child, path)

    for trace in export_of(written(documents))[0]:
        if traces is None or trace["trace_id"] in traces:
            for root in trace["roots"]:
                take(root, ())
    return {path: _figures(nodes) for path, nodes in spans.items()}


def _step(node: dict[str, Any]) -> Step:
    is_missing = node.get("missing", False)
    return (None, "") if is_missing else (node["name"], node["resource"]["attributes"].get("service.name", ""))


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


def divisors_of(a: Sequence[Document], b: Sequence[Document]) -> dict[Path, tuple[int, int]] | None:
    """Return what the sums of each path are divided by, on both sides; None where nothing is.

    That is how many traces have one of the roots that the path occurs below on either side.
    """
    sides, below = [Counter[Root](), Counter[Root]()], dict[Path, set[Root]]()

    def take(node: dict[str, Any], above: Path, root: Root) -> None:
        path = (*above, _step(node))
        below.setdefault(path, set()).add(root)
        for child in node["children"]:
            take(child, path, root)

    for documents, traces in zip((a, b), sides, strict=True):
        for trace in export_of(written(documents))[0]:
            root = next((_step(node) for node in trace["roots"] if node.get("parent_id", "") is None), None)
            if trace["trace_id"] is not None:
                traces[root] += 1
            for top in trace["roots"]:
                # Spans of no trace occur below no root.
                take(top, (), root if trace["trace_id"] is not None else _NOWHERE)
    of_a, of_b = sides
    alone = [sum(mine[root] for root in mine if root not in other) for mine, other in ((of_a, of_b), (of_b, of_a))]
    if all(of_a[root] == of_b[root] for root in of_a if root in of_b) and (0 in alone or alone[0] == alone[1]):
        return None
    return {
        path: (sum(of_a[root] for root in roots) or 1, sum(of_b[root] for root in roots) or 1)
        for path, roots in below.items()
    }


def changes_of(of_a: Sequence[Document], of_b: Sequence[Document]) -> dict[Path, Figures]:
    """Return for each path of either side what `spanview diff --json` says of it, without numbers.

    Args:
        of_a: The spans of one side.
        of_b: Those of the other one.
    """
    a, b, divisors = paths_of(of_a), paths_of(of_b), divisors_of(of_a, of_b)
    changes: dict[Path, Figures] = {}
    for path in a.keys() | b.keys():
        on_a, on_b = a.get(path), b.get(path)
        parts = (1, 1) if divisors is None else divisors[path]
        delta, ratio = {}, {}
        parted: dict[str, Figures] = {"delta": {}, "ratio": {}}
        for key in ("count", "errors", "total_ns", "self_ns", "p50_ns", "p95_ns"):
            nothing = None if key.startswith("p") else 0
            before = nothing if on_a is None else on_a[key]
            after = nothing if on_b is None else on_b[key]
            delta[key] = None if before is None or after is None else after - before
            ratio[key] = None if after is None or not before else after / before
            if before is not None and after is not None and not key.startswith("p"):
                mean_before, mean_after = Fraction(before, parts[0]), Fraction(after, parts[1])
                change = mean_after - mean_before
                parted["delta"][key] = round(change) if key.endswith("_ns") else float(change)
                parted["ratio"][key] = float(mean_after / mean_before) if before else None
        changes[path] = {
            "depth": len(path) - 1,
            "name": path[-1][0],
            "service": path[-1][1],
            "missing": path[-1][0] is None,
            "path": [name for name, _ in path],
            "only_in": "b" if on_a is None else "a" if on_b is None else None,
            "a": on_a,
            "b": on_b,
            "delta": delta,
            "ratio": ratio,
            "per_trace": None if divisors is None else parted,
        }
    return changes
