"""What a page says of all its traces: statistics, findings, and problems of files."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.diagnosis.finding import Kind
from spanview.analysis.diagnosis.report import diagnose
from spanview.analysis.stats import statistics
from spanview.index.part import part_of
from spanview.model.ids import format_span_id, format_trace_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.diagnosis.finding import Finding
    from spanview.analysis.stats import Group
    from spanview.exports.surroundings import Surroundings
    from spanview.index.store import Store

_GROUPINGS: Final = ("name", "service", "kind")
_FIGURES: Final = ("count", "errors", "total_ns", "self_ns", "min_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns")
_MAX_GROUPS: Final = 10_000
_MAX_TEXT_LENGTH: Final = 1_000
_MAX_PROBLEMS: Final = 200


def conclusions(store: Store, traces: Sequence[int], around: Surroundings) -> dict[str, Any]:
    """Return what `stats` and `check` say of some traces, as the page's script reads it."""
    is_everything = len(traces) == len(store.trace_table)
    part = store if is_everything else part_of(store, traces)
    report = diagnose(part, session=around.session, unended=around.unended_in(part), given=around.paths)
    # That few requests are left of all says nothing of how many were traced.
    findings = [finding for finding in report.findings if is_everything or finding.kind is not Kind.SAMPLING]
    return {
        "statistics": {by: _groups(store, by, None if is_everything else traces) for by in _GROUPINGS},
        "summary": asdict(report.summary),
        "findings": [*map(_finding, findings)],
        "problems": [
            [problem.kind, problem.severity.value, problem.file, problem.offset, problem.detail[:_MAX_TEXT_LENGTH]]
            for problem in report.problems[:_MAX_PROBLEMS]
        ],
        "problem_count": len(report.problems),
    }


def _groups(store: Store, by: str, traces: Sequence[int] | None) -> list[list[object]]:
    """Return the groups of spans by something: the key, then the figures that `stats` has of each."""
    return [
        [(group.key or "")[:_MAX_TEXT_LENGTH], *_figures(group)]
        for group in statistics(store, by, traces)[:_MAX_GROUPS]
    ]


def _figures(group: Group) -> list[int | None]:
    """Return the figures of a group; no time is known where no span has an end."""
    has_times = group.no_end < group.count
    return [getattr(group, figure) if has_times or not figure.endswith("_ns") else None for figure in _FIGURES]


def _finding(finding: Finding) -> list[object]:
    places = [
        [
            format_trace_id(place.trace_id) if place.trace_id else "",
            format_span_id(place.span_id) if place.span_id else "",
            place.name[:_MAX_TEXT_LENGTH],
            place.file,
            place.offset,
        ]
        for place in finding.evidence
    ]
    texts = finding.detail, finding.advice.replace("`", "")
    return [finding.kind.value, finding.severity.value, finding.certainty.value, finding.count, *texts, places]
