"""What a page says of all its traces: in sentences, by the tables of reports, findings, and problems of files."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.diagnosis.finding import Certainty, Kind
from spanview.analysis.diagnosis.report import diagnose
from spanview.analysis.grouping import GROUPINGS
from spanview.analysis.ray.call_groups import CallsBy
from spanview.analysis.ray.known_calls import KnownCalls
from spanview.analysis.serve.requests import serve_requests
from spanview.display.units import moment, zone_name
from spanview.index.part import part_of
from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.times import NO_TIME
from spanview.reports.calls import calls_report
from spanview.reports.explanation import AlreadyFound, Topic, explanation
from spanview.reports.explanation_text import HEADINGS
from spanview.reports.serve import requests_report, serve_report
from spanview.reports.statistics import statistics_report
from spanview.reports.table import INTEGER, INTEGERS, SHARE, TIME_NS, Ranks
from spanview.reports.traces import LONGEST_SERVICE, traces_table
from spanview.reports.traces_model import TracesModel, has_services
from spanview.reports.workers import workers_model, workers_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from spanview.analysis.diagnosis.finding import Finding
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.serve.requests import Request
    from spanview.exports.page.columns import Columns
    from spanview.exports.surroundings import Surroundings
    from spanview.index.store import Store
    from spanview.reports.report import AnyReport
    from spanview.reports.table import TableColumn

_CALLS_BY: Final = (CallsBy.FUNCTION, CallsBy.ACTOR)
_MAX_ROWS: Final = 10_000
"""Of a table."""
_MAX_TEXT_LENGTH: Final = 1_000
_MAX_PROBLEMS: Final = 200
_TEXT: Final = "text"
_OF_PAGE: Final = ("start_ns", "duration_ns", "span_count", "error_count", "processes", "service", "name")
"""What the page's columns of traces have, by its name in JSON."""


def conclusions(
    store: Store, traces: Sequence[int], around: Surroundings, unended: Mapping[int, Unended], columns: Columns
) -> dict[str, Any]:
    """Return what is known of the traces of some columns together, as the page's script reads it."""
    is_everything = len(traces) == len(store.trace_table)
    part = store if is_everything else part_of(store, traces)
    of_part = unended if is_everything else around.unended_in(part)
    report = diagnose(part, session=around.session, unended=of_part, given=around.paths)
    chosen = None if is_everything else traces
    requests = serve_requests(part)
    found = AlreadyFound(shares=columns.shares, known=columns.known, silent=columns.failures)
    if is_everything:
        found = replace(found, checked=report, requests=requests)
    places = {store.trace_table.trace_id(trace): place for place, trace in enumerate(traces)}
    # That few requests are left of all says nothing of how many were traced.
    findings = [finding for finding in report.findings if is_everything or finding.kind is not Kind.SAMPLING]
    return {
        "explanation": [*_sentences(store, chosen, around, unended, found)],
        "reports": _reports(part, of_part, requests, columns.known if is_everything else KnownCalls(part), places),
        "trace_columns": [*traces_columns(store, traces)],
        "summary": asdict(report.summary),
        "findings": [*map(_finding, findings)],
        # Those of some traces may be others than those of all that a query asks for.
        "of_findings": {
            finding.kind.value: [number for number, _ in columns.numbered(finding.rows)] for finding in findings
        }
        if is_everything
        else None,
        "problems": [
            [problem.kind, problem.severity.value, problem.file, problem.offset, problem.detail[:_MAX_TEXT_LENGTH]]
            for problem in report.problems[:_MAX_PROBLEMS]
        ],
        "problem_count": len(report.problems),
    }


def _sentences(
    store: Store,
    traces: Sequence[int] | None,
    around: Surroundings,
    unended: Mapping[int, Unended],
    found: AlreadyFound,
) -> Iterator[list[object]]:
    """Yield what is explained: heading, sentence, whether it is likely, how bad it is, and its trace and span."""
    report = explanation(store, traces, unended=unended, session=around.session, found=found)
    starts = store.trace_table.start_ns
    among = range(len(starts)) if traces is None else traces
    began = min((starts[trace] for trace in among if starts[trace] != NO_TIME), default=0)
    ids = [column.json_value for column in report.table.columns if column.name in {"trace_id", "span_id"}]
    for said in report.rows:
        shade = "error" if said.topic is Topic.FAILED else ""
        shade = shade if said.severity is None else said.severity.value
        text, heading = said.text[:_MAX_TEXT_LENGTH], HEADINGS.get(said.topic, "")
        if said.topic is Topic.ABOUT:
            # The page writes it as all its times, in the zone that it shows.
            text = text.replace(f"{moment(began)} {zone_name(began)}", f"{moment(began, zone=UTC)}Z")
        yield [heading, text, said.certainty is Certainty.LIKELY, shade, *(id_of(said) for id_of in ids)]


def _reports(
    store: Store,
    unended: Mapping[int, Unended],
    requests: Sequence[Request],
    known: KnownCalls,
    places: Mapping[int, int],
) -> dict[str, dict[str, Any]]:
    """Return the tables of each view, by what they group by; those without rows are left out.

    Args:
        places: Of the page's traces, by their ids.
    """
    calls = {by.value: calls_report(store, by=by, unended=unended, known=known) for by in _CALLS_BY}
    workers, spans = workers_model(store), store.spans

    def traces_of(rows: Iterable[int]) -> list[int]:
        return sorted({places[store.trace_table.trace_id(spans.trace[row])] for row in rows})

    opened: Mapping[str, Callable[[Any], list[int | str]]] = {
        "route": lambda group: [*traces_of(request.rows[0] for request in group.requests)],
        "request": lambda request: [*traces_of(request.rows[:1]), format_span_id(spans.span_id[request.rows[0]])],
        "worker": lambda index: [*traces_of(workers.lane(index).blocks.rows)],
    }
    views: dict[str, Mapping[str, AnyReport]] = {
        "stats": {by: statistics_report(store, by) for by in GROUPINGS},
        "calls": calls if calls[CallsBy.FUNCTION.value].rows else {},
        "requests": {"route": serve_report(store, None, requests), "request": requests_report(store, None, requests)},
        "workers": {"worker": workers_report(store, model=workers)},
    }
    return {
        view: {by: _table(report, opened.get(by)) for by, report in reports.items() if report.rows}
        for view, reports in views.items()
    }


def _table(report: AnyReport, opened: Callable[[Any], list[int | str]] | None) -> dict[str, Any]:
    """Return a report's columns, each with its head, what its values are, and whether these are failures; its rows.

    Args:
        opened: Returns the places of the traces of a row, or that of the only one, and the id of a span in it; None
            where the page finds these by a name.
    """
    rows = report.rows[:_MAX_ROWS]
    there = [column for column in report.table.columns if column.is_shown and column.schema is not INTEGERS]
    # What would be empty is left out.
    columns = [column for column in there if column.parts is not None or any(map(column.text, rows))]
    ways = [_way(column) for column in columns]
    first = report.table.first_order
    return {
        "columns": [
            [_head(column), kind, column.style == "error"] for column, (kind, _) in zip(columns, ways, strict=True)
        ],
        "order": [next((at for at, column in enumerate(columns) if column.key == first.key), 0), first.descending],
        "rows": [[*(value(row) for _, value in ways), *_bounds(columns, row)] for row in rows],
        "opened": opened and [*map(opened, rows)],
    }


def _bounds(columns: Sequence[TableColumn[Any]], row: Any) -> Iterator[dict[str, str]]:
    """Yield what stands before figures of a row that are only known at least, or at most, by their columns' numbers."""
    bounds = {
        str(at): said for at, column in enumerate(columns) if column.bound is not None and (said := column.bound(row))
    }
    yield from [bounds] if bounds else []


def traces_columns(store: Store, traces: Sequence[int]) -> Iterator[list[object]]:
    """Yield the columns of the report of traces: name, head, what values are, its turn to go, and what it means.

    What the page has of its traces anyway comes without values.
    """
    table = traces_table(store, TracesModel(store), LONGEST_SERVICE if has_services(store) else 0)
    for column in table.columns:
        if column.is_shown:
            kind, value = _way(column)
            values = None if column.name in _OF_PAGE else [*map(value, traces)]
            yield [column.name, _head(column), kind, column.goes, column.meaning, values]


def _head(column: TableColumn[Any]) -> str:
    return f"{column.family} {column.head}".strip()


def _way(column: TableColumn[Any]) -> tuple[str, Any]:
    """Return what a column's values are, and what makes them of rows."""
    kinds = {id(TIME_NS): "time", id(INTEGER): "count", id(SHARE): "share"}
    of_ranks: dict[Ranks | None, str] = {Ranks.MOMENTS: "moment", Ranks.AMOUNTS: "amount"}
    kind = of_ranks.get(column.ranks, kinds.get(id(column.schema), _TEXT))
    if kind == "moment":
        # Nanoseconds since 1970 are more than a number of JavaScript holds.
        return kind, lambda row: None if (ns := column.json_value(row)) is None else ns // 1000
    if kind != _TEXT:
        return kind, column.json_value
    text = column.called or (column.text if column.parts is None else column.json_value)
    return kind, lambda row: str(text(row) or "")[:_MAX_TEXT_LENGTH]


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
