"""Statistics: counts, errors and times of spans by name, service, kind or any attribute; of names on critical paths."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.failures import failed_rows
from spanview.analysis.grouping import GROUPINGS, SERVICE_AND_NAME
from spanview.analysis.ray.names import RAN, names_in_list
from spanview.analysis.serve.requests import name_of_trace
from spanview.analysis.stats import Group, GroupPart, joined, statistics
from spanview.analysis.telling import unheard
from spanview.display.cells import data_text
from spanview.display.sanitise import MAX_LENGTH, sanitise
from spanview.reports.report import Report
from spanview.reports.table import FIGURES, Table, TableColumn, counted, fact, histogram_column, name_column, timed
from spanview.reports.table import amounts as amounts_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from spanview.analysis.amounts import Amounts
    from spanview.analysis.diagnosis.finding import Certainty
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

_LEAST_NAME, _USUAL_NAME = 24, 48
"""Cells of a name for which figures go, and with which further ones come."""
_LEAST_BESIDE: Final = 9
"""Cells that the column leaves to it that is sorted by."""
_NOTE: Final = 42
_NONE: Final = "(none)"
_EMPTY: Final = {"service": _NONE, "kind": _NONE, "name": "(no name)", "trace.root": "(no name)"}
ON_PATH: Final = "critical path"
"""Counted by names, too: how many traces have one on their critical path, and what it takes of all of them."""
BY_PATH: Final = "call path"
"""Counted by all names above them, too, as the flame graph has them."""
OFFERED: Final = (*GROUPINGS, ON_PATH)
OF_SERVICES: Final = (GROUPINGS[0], SERVICE_AND_NAME, *OFFERED[1:])
"""What is offered where there are several services."""


def _lasted(figure: str, **more: Any) -> TableColumn[Group]:
    was, meaning = f"{figure}_ns", f"{FIGURES[figure]} of the durations"
    return timed(figure.upper(), f"duration_ns.{figure}", meaning, _of_known(was), was=was, **more)


def _of_known(figure: str) -> Callable[[Group], int | None]:
    """Return what returns a time of groups; None where no span has a duration: nothing is known, not that it was 0."""

    def ns_of(group: Group) -> int | None:
        ns: int | None = getattr(group, figure) if group.no_end < group.count else None
        return ns

    return ns_of


_TOTAL: Final = _lasted("total", goes=7)
_SELF: Final[TableColumn[Group]] = timed(
    "SELF",
    "self_time_ns",
    "the sum of the times in which nothing below a span ran that has an end: it computed, or waited",
    _of_known("self_ns"),
    was="self_ns",
    goes=6,
)
_NO_END: Final[TableColumn[Group]] = counted(
    "NO END", "no_end", "spans that run or were lost: no duration has them", lambda group: group.no_end, goes=5
)
_UNSURE: Final[TableColumn[Group]] = counted(
    "UNSURE", "unsure", "traces of these whose path isn't sure", lambda group: group.unsure, goes=3
)
_KEY: Final[TableColumn[Any]] = fact(
    "key", "what the spans have in common", {"type": ["string", "null"]}, lambda group: group.key
)
_OF_SPANS: Final[Sequence[TableColumn[Group]]] = (
    counted("COUNT", "count", "number of spans, including those without an end", lambda group: group.count, goes=4),
    counted("ERRORS", "errors", "spans with status ERROR", lambda group: group.errors, style="error", goes=2),
    _NO_END,
    _TOTAL,
    _SELF,
    _lasted("min", comes=4),
    _lasted("p50", comes=1),
    _lasted("p95", goes=3),
    _lasted("p99", comes=3),
    _lasted("max", goes=1),
    histogram_column("histogram", "durations by powers of ten, from 1 ns on", lambda group: group.histogram, comes=2),
)
_OF_PATH: Final[Sequence[TableColumn[Group]]] = (
    counted("TRACES", "traces", "traces that have it on their critical path", lambda group: group.count, goes=4),
    timed(
        "TOTAL",
        "critical_ns.total",
        "its time on critical paths; time between attempts of a constructor, or after one without an end, is nobody's",
        lambda group: group.total_ns,
        goes=7,
    ),
    timed("SELF", "critical_ns.self", "the part of that in which it ran itself", lambda group: group.self_ns, goes=6),
    timed(
        "WAIT",
        "critical_ns.wait",
        "the part of that before it, with nothing on the path running",
        lambda group: group.total_ns - group.self_ns,
        goes=5,
    ),
    _UNSURE,
    counted("ERRORS", "errors", "spans with status ERROR", lambda group: group.errors, style="error", goes=2),
)
"""Of what is on critical paths; there are no percentiles of it."""


def statistics_table(
    by: str,
    called: Callable[[Group], str],
    generators: Mapping[str, Certainty] | None = None,
    *,
    leaves_open: bool = False,
) -> Table[Group]:
    """Return the columns of groups.

    Args:
        leaves_open: Whether there are spans without an end, or paths that aren't sure, which are counted then.
        generators: How sure it is that the spans of a name are attempts of a generator, by the name.
    """
    head = by.upper() if by in {*OF_SERVICES, BY_PATH} else data_text(by, 40).rstrip()
    figures = [
        replace(column, is_shown=leaves_open) if column in {_NO_END, _UNSURE} else column
        for column in (_OF_PATH if by == ON_PATH else _OF_SPANS)
    ]
    figures += [_note(generators)] if generators else []
    return Table(
        (name_column(head, called, whole=partial(group_name, by, {})), _KEY, *figures),
        "total",
        _LEAST_NAME,
        _USUAL_NAME,
        _LEAST_BESIDE,
    )


def _note(generators: Mapping[str, Certainty]) -> TableColumn[Group]:
    from spanview.analysis.ray.generators import generator_text

    def text(group: Group) -> str:
        certainty = generators.get(group.key or "")
        return "" if certainty is None else generator_text(certainty)

    return TableColumn(
        "NOTE", _NOTE, text, gap=2, aligns_left=True, comes=5, name="note", meaning="what its times leave out"
    )


def statistics_report(store: Store, by: str = "name", traces: Sequence[int] | None = None) -> Report[Group]:
    """Return the statistics of spans.

    Args:
        by: As in `grouping.column_of`, or `ON_PATH`, or `BY_PATH`.

    Raises:
        QueryError: No span has what is grouped by.
    """
    others = {ON_PATH: groups_on_path, BY_PATH: _groups_by_path}
    groups = others[by](store, traces) if by in others else statistics(store, by, traces)
    return report_of(groups, by, generators_among(store, groups) if by == "name" else {})


def report_of(groups: Sequence[Group], by: str, generators: Mapping[str, Certainty] | None = None) -> Report[Group]:
    """Return the report of groups that were counted already."""
    short = short_names_of(groups, by)
    table = statistics_table(by, partial(group_name, by, short), generators, leaves_open=leave_open(groups))
    kind = "critical-path" if by == ON_PATH else "statistics"
    return Report(kind, table, table.in_order(groups), {"by": by}, rows_were="groups")


def leave_open(groups: Iterable[Group]) -> bool:
    """Return whether some of the groups' spans have no end, or some of their traces' paths aren't sure."""
    return any(group.no_end or group.unsure for group in groups)


def group_text(key: str | None, by: str, longest: int = MAX_LENGTH) -> str:
    """Return the key of a group, safe to print and not too long; in words where its spans have none."""
    if key:
        return sanitise(key, longest)
    return _NONE if key is None else _EMPTY.get(by, '""')


def group_name(by: str, short: Mapping[str, str], group: Group) -> str:
    """Return what a group is called, safe to print."""
    return group_text(group.key and short.get(group.key, group.key), by)


def short_names_of(groups: Sequence[Group], by: str) -> Mapping[str, str]:
    """Return what Ray's functions are called among groups by name, and what traces are among those by root."""
    keys = [group.key for group in groups if group.key]
    if by == "trace.root":
        return {key: name_of_trace(key) for key in keys}
    return names_in_list(keys) if by in {"name", ON_PATH} else {}


def generators_among(store: Store, groups: Sequence[Group]) -> Mapping[str, Certainty]:
    """Return how sure it is that the spans of a name are attempts of a generator, by the name."""
    if not any(group.key is not None and group.key.endswith(RAN) for group in groups):
        return {}
    from spanview.analysis.ray.generators import generators_of

    return {function + RAN: certainty for function, certainty in generators_of(store).items() if function is not None}


def groups_on_path(store: Store, traces: Sequence[int] | None, tell: Tell = unheard) -> list[Group]:
    """Return what names take of critical paths: running and waiting as the total, running alone as self time."""
    from spanview.analysis.critical import critical_by_name

    failed = Counter(store.names.texts[store.spans.name[row]] for row in failed_rows(store, traces).tolist())
    return [
        Group(
            key=share.name,
            count=share.traces,
            errors=failed[share.name],
            total_ns=share.self_ns + share.wait_ns,
            self_ns=share.self_ns,
            unsure=share.unsure,
        )
        for share in critical_by_name(store, traces, tell)
    ]


def _groups_by_path(store: Store, traces: Sequence[int] | None) -> list[Group]:
    """Return a group a call path; the beginnings of very long ones go."""
    from spanview.analysis.diff import diff
    from spanview.analysis.flame import flame
    from spanview.display.diff_text import Labels

    side = flame(store, traces)
    merged = diff(side, side)
    labels = Labels(merged)
    return [
        group
        for path, own in zip(merged.paths, side.paths, strict=True)
        # Parents that were not seen are no spans.
        if own.name is not None
        for group in joined(
            [GroupPart(labels.path(path, MAX_LENGTH), own.count, own.errors, own.self_ns, own.durations)]
        )
    ]


# -- numbers of an attribute, such as tokens or bytes ------------------------------------------------------------------

_VALUE: Final = 12
_OF_VALUES: Final = {
    "total": ("the sum", {}),
    "min": ("the smallest", {"goes": 2}),
    "p50": ("the median", {}),
    "p95": ("the 95th percentile", {}),
    "p99": ("the 99th percentile", {"comes": 1}),
    "max": ("the greatest", {"goes": 1}),
}
"""By their names in JSON: what they mean, and when they come or go."""


def report_of_values(groups: Sequence[Amounts], attribute: str, by: str = "name") -> Report[Amounts]:
    """Return the report of numbers that were added up already."""
    head = by.upper() if by == "name" else data_text(by, 40).rstrip()
    table = Table(
        (
            name_column(head, lambda group: group_text(group.key, by)),
            _KEY,
            counted("COUNT", "count", "how many numbers there are", lambda group: group.count),
            *(
                amounts_column(figure.upper(), f"value.{figure}", meaning, attrgetter(figure), width=_VALUE, **turns)
                for figure, (meaning, turns) in _OF_VALUES.items()
            ),
        ),
        "total",
        _LEAST_NAME,
        _USUAL_NAME,
    )
    return Report("values", table, table.in_order(groups), {"by": by, "attribute": attribute})
