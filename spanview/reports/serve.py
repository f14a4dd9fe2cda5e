"""Ray Serve's requests: counted by application, deployment, route and status, and one by one."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

from spanview.analysis.genai.fields import FIELDS, Measured
from spanview.analysis.serve.groups import serve_groups
from spanview.analysis.serve.requests import RequestKey, serve_requests
from spanview.display.cells import data_text, fitting, fixed, name_text
from spanview.display.sanitise import sanitise
from spanview.display.serve_text import failure_text, failures_text, request_names, seen_text, status_text
from spanview.display.units import moment
from spanview.reports.report import Report
from spanview.reports.table import (
    INTEGER,
    TEXT,
    Piece,
    Ranks,
    Table,
    TableColumn,
    amounts,
    counted,
    fact,
    histogram_column,
    moments,
    span_columns,
    spread,
    timed,
    worded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spanview.analysis.serve.groups import RequestGroup
    from spanview.analysis.serve.requests import Request
    from spanview.index.store import Store

_TIME: Final = 9
_LEAST_NAME, _USUAL_NAME = 19, 30
"""Cells of names for which figures go, and with which further ones come."""
_REQUEST_TIME, _ID = 11, 38
_LEAST_BESIDE: Final = 16
"""Cells behind an id with which it is said where the request was seen."""
_SHORTEST_ID, _USUAL_ID = 8, 16
NOTHING: Final = (
    "no Serve requests here; their spans are named proxy_…_request, route_to_replica and replica_handle_request"
)
_PARTS: Final = {
    "TOTAL": ("total", "how long a request took"),
    "QUEUE": ("queue", "how long it was in the deployment's own queue"),
    "HANDLING": ("handling", "how long the replica handled it"),
    "ROUTE": ("route", "how long choosing a replica took"),
    "OTHER": ("other", "the rest of the total; null where handling goes beyond it"),
}
"""Parts of a request's time by their heads: what JSON calls them, and what they are."""
_TOTAL: Final = {
    "p50": {"goes": 2},
    "p95": {"goes": 2},
    "p99": {"comes": 2, "width": _TIME},
    "max": {"comes": 1, "width": _TIME},
}
_OBJECT: Final = {"type": "object", "additionalProperties": INTEGER}
_GEN_AI: Final = "gen_ai"
"""What JSON calls the object of what vLLM says."""
_MODEL: Final = 20
"""Cells of a model's name."""
_NESTED_QUEUE: Final = "the handling time spent in the queues of other deployments"


def _style(group: RequestGroup) -> str:
    return "error" if group.errors else ""


def _times(
    family: str, turns: Mapping[str, Mapping[str, Any]], ranks: Callable[[str], Any] | None = None
) -> Iterator[TableColumn[RequestGroup]]:
    """Yield the columns of a part of the time.

    Args:
        turns: When each figure comes or goes, and its width, by its name in JSON.
        ranks: Returns what returns what rows are compared by instead.
    """
    part, meaning = _PARTS[family]
    width = max(_TIME, len(f"{family}  P50 ▾"))
    for figure, more in turns.items():
        ranked = {} if ranks is None else {"value": ranks(figure), "json": attrgetter(f"{part}.{figure}")}
        column = figure, {"width": width, **ranked, **more}
        yield from spread(family, f"{part}_ns", meaning, lambda figure: _unless_negative(f"{part}.{figure}"), column)


def _unless_negative(time: str) -> Callable[[Any], int | None]:
    """Leave out what is less than nothing: the rest of a total that handling goes beyond."""
    ns_of = attrgetter(time)
    return lambda row: None if (ns_of(row) or 0) < 0 else ns_of(row)


def _total_or_handling(figure: str) -> Callable[[RequestGroup], int | None]:
    """Take replicas whose callers were not seen by their handling, as far as totals go."""
    total, handling = attrgetter(f"total.{figure}"), attrgetter(f"handling.{figure}")
    return lambda group: handling(group) if total(group) is None else total(group)


def _text_of(name: str, counted: Request | RequestGroup) -> str | None:
    text: str = getattr(counted.key, name)
    return text or None


def _model_figures(of: str, *, are_shown: bool) -> Iterator[TableColumn[Any]]:
    """Yield the columns of what vLLM says of requests, but for times.

    Args:
        of: What of a row has it.
        are_shown: Whether tables have them, too.
    """
    calls = "calls of language models by vLLM that it led to"
    yield fact(f"{_GEN_AI}.calls", calls, INTEGER, attrgetter(f"{of}.calls"))
    comes = {"output_tokens": 2, "input_tokens": 4, "model": 5, "cached_tokens": 6}
    for name, field in FIELDS.items():
        if field.measured is Measured.TIME:
            continue
        value = attrgetter(f"{of}.{name}")
        more: dict[str, Any] = {"comes": comes[name], "is_shown": are_shown}
        words = field.head, f"{_GEN_AI}.{name}", field.meaning
        if field.measured is Measured.TEXT:
            text = partial(_shown_text, value)
            yield worded(*words, value, _MODEL, text=text, gap=2, schema=None, **more)
        else:
            yield amounts(*words, value, key=f"tokens {field.head.lower()}", **more)
    yield amounts(
        "TOK/S",
        f"{_GEN_AI}.output_tokens_per_second",
        "the tokens after each first one, by the time that they took",
        attrgetter(f"{of}.output_tokens_per_second"),
        key="tokens per second",
        behind=2,
        comes=3,
        is_shown=are_shown,
    )


def _shown_text(value: Callable[[Any], str | None], counted: Request | RequestGroup) -> str:
    return sanitise(value(counted) or "", _MODEL)


_TIMES: Final = {"time_to_first_token_ns": 1, "queue_ns": 7, "prefill_ns": 8, "decode_ns": 9}
"""What vLLM says of times: when each comes."""


def _model_spreads(*, are_shown: bool) -> Iterator[TableColumn[RequestGroup]]:
    """Yield the columns of percentiles of what vLLM says of times."""
    for name, comes in _TIMES.items():
        field = FIELDS[name]
        turns = {"p50": comes, "p95": comes + 2, "p99": 12, "max": 12}
        columns = ((figure, {"comes": turn, "is_shown": are_shown}) for figure, turn in turns.items())
        yield from spread(field.head, f"{_GEN_AI}.{name}", field.meaning, partial(_model_time, name), *columns)


def _model_time(name: str, figure: str) -> Callable[[RequestGroup], int | None]:
    ns_of = attrgetter(figure)
    return lambda group: ns_of(group.model_times[name])


def serve_table(names: Mapping[RequestKey, Sequence[str]], *, has_models: bool = False) -> Table[RequestGroup]:
    """Return the columns of requests by route: the P95 of queue and handling have room on any screen.

    Args:
        names: What requests are called, the longest first.
        has_models: Whether vLLM says something of requests.
    """

    def name(group: RequestGroup, cells: int) -> Iterator[Piece]:
        yield Piece(name_text(fitting(names[group.key], cells), cells), _style(group))

    return Table(
        (
            TableColumn(
                "REQUEST",
                parts=name,
                wants=lambda group: cell_len(names[group.key][0]),
                key="request",
                value=lambda group: names[group.key][0],
                ranks=Ranks.NAMES,
            ),
            *(
                fact(name, f"the {name} of the requests", TEXT, partial(_text_of, name))
                for name in RequestKey._fields
                if name != "status"
            ),
            TableColumn(
                "STATUS",
                9,
                lambda group: status_text(group.key),
                _style,
                gap=1,
                goes=5,
                name="status",
                meaning="how they ended, as reported by Serve",
                json=lambda group: group.key.status or None,
            ),
            counted("COUNT", "count", "how many requests", lambda group: group.count, width=7, goes=3),
            counted(
                "ERRORS",
                "errors",
                "how many of them failed",
                lambda group: group.errors,
                text=failures_text,
                width=11,
                style=_style,
                goes=1,
            ),
            *_times("TOTAL", _TOTAL, _total_or_handling),
            histogram_column("histogram", "totals by powers of ten, from 1 ns on", attrgetter("histogram"), comes=4),
            *_times("QUEUE", {"p50": {"goes": 4}, "p95": {}, "p99": {"comes": 6}, "max": {"comes": 6}}),
            *_times("HANDLING", {"p50": {}, "p95": {"width": _TIME}, "p99": {"comes": 7}, "max": {"comes": 7}}),
            *_times("ROUTE", {"p50": {"comes": 8}, "p95": {"comes": 5}, "p99": {"comes": 8}, "max": {"comes": 8}}),
            *_times("OTHER", {"p50": {"comes": 9}, "p95": {"comes": 3}, "p99": {"comes": 9}, "max": {"comes": 9}}),
            fact(
                "nested_queue_ns",
                f"percentiles of {_NESTED_QUEUE}",
                {"type": "object", "additionalProperties": {"type": ["integer", "null"]}},
                lambda group: asdict(group.nested_queue),
            ),
            fact(
                "nested_queues",
                f"{_NESTED_QUEUE}, by deployment",
                {"type": "array", "items": {"type": "object", "properties": {"deployment": TEXT, "sum_ns": INTEGER}}},
                lambda group: [
                    {"deployment": deployment or None, "sum_ns": ns} for deployment, ns in group.nested_queues
                ],
            ),
            fact("sum_ns", "the sums of these times", _OBJECT, lambda group: asdict(group.sums)),
            *_model_spreads(are_shown=has_models),
            *_model_figures("model_calls", are_shown=has_models),
        ),
        "total p95",
        _LEAST_NAME,
        _USUAL_NAME,
        least_beside=_LEAST_NAME,
    )


def serve_report(
    store: Store, traces: Sequence[int] | None = None, requests: Sequence[Request] | None = None
) -> Report[RequestGroup]:
    """Return the requests of some traces, None for all, by application, deployment, route, method and status."""
    groups = serve_groups(store, traces, requests=requests)
    has_models = any(group.model_calls.calls for group in groups)
    table = serve_table(request_names([group.key for group in groups]), has_models=has_models)
    return Report("requests-by-route", table, table.in_order(groups), {"by": "serve"}, "requests", NOTHING)


def requests_table(store: Store, *, has_models: bool = False) -> Table[Request]:
    """Return the columns of requests one by one, as `serve_table` does: the total, and the parts that add up to it."""
    starts = store.spans.start_ns

    def part(head: str) -> TableColumn[Request]:
        name, meaning = _PARTS[head]
        longest = {"value": attrgetter("longest_ns"), "json": attrgetter("total_ns")} if head == "TOTAL" else {}
        return timed(head, f"{name}_ns", meaning, _unless_negative(f"{name}_ns"), width=_REQUEST_TIME, **longest)

    def id_and_places(request: Request, cells: int) -> Iterator[Piece]:
        status = f" {seen_text(request)}" if cells >= _ID + _LEAST_BESIDE else ""
        yield Piece(data_text(request.request_id or "–", min(_ID, cells)))
        yield Piece(fixed(status, cells - _ID), "dim")

    return Table(
        (
            *map(part, _PARTS),
            TableColumn(
                "",
                10,
                failure_text,
                "error",
                gap=2,
                aligns_left=True,
                name="failure",
                meaning="how it failed; null where it isn't known to have failed",
                json=lambda request: None if request.failure is None else request.failure.value,
            ),
            moments(
                "START",
                "start_ns",
                "when its outermost span began, in nanoseconds since 1970",
                lambda request: starts[request.rows[0]],
                width=14,
                text=lambda request: moment(starts[request.rows[0]], with_date=False, digits=3),
                goes=1,
            ),
            *(
                timed(
                    FIELDS[name].head,
                    f"{_GEN_AI}.{name}",
                    FIELDS[name].meaning,
                    attrgetter(f"model_call.{name}"),
                    comes=comes,
                    is_shown=has_models,
                )
                for name, comes in _TIMES.items()
            ),
            *_model_figures("model_call", are_shown=has_models),
            TableColumn(
                f"{'REQUEST ID':{_ID}} SEEN",
                parts=id_and_places,
                wants=lambda request: _ID + 1 + len(seen_text(request)),
                name="request_id",
                meaning="the id by which its log lines are found",
                json=lambda request: request.request_id or None,
            ),
            fact("seen", "which of its spans are in the files", TEXT, seen_text),
            *(fact(name, f"its {name}", TEXT, partial(_text_of, name)) for name in RequestKey._fields),
            *span_columns(store, "its outermost span", lambda request: request.rows[0]),
        ),
        "total",
        _USUAL_ID,
        floor=_SHORTEST_ID,
    )


def requests_report(
    store: Store, traces: Sequence[int] | None = None, requests: Sequence[Request] | None = None
) -> Report[Request]:
    """Return the requests of some traces, None for all, slowest first."""
    requests = serve_requests(store, traces) if requests is None else requests
    table = requests_table(store, has_models=any(request.model_call.calls for request in requests))
    return Report("requests", table, table.in_order(requests), nothing=NOTHING)
