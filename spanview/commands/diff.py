"""`spanview diff`: two traces, two queries, or two folders, call path by call path."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from spanview.analysis.diff import diff, totals_to_json
from spanview.analysis.diff_groups import DiffBy, by_total, diff_groups, groups_of_side
from spanview.analysis.flame import flame
from spanview.analysis.query.query import parse_query
from spanview.analysis.query.select import find_trace, selected_traces, traces_beginning
from spanview.commands.coloring import paint_for
from spanview.commands.output import terminal_width
from spanview.commands.reading import places, read_all
from spanview.commands.standard_error import nothing_in, notice_problems, why_nothing
from spanview.commands.tables import TEXT, print_report
from spanview.display.diff_text import per_trace_text, side_lines
from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.model.ids import format_trace_id
from spanview.model.problems import DiffError, NoSuchPathError, QueryError, TraceNotFoundError
from spanview.reports.comparison import comparison_report, sums_in
from spanview.reports.lines import table_lines
from spanview.sources.discover import STANDARD_INPUT, is_there
from spanview.sources.places import default_places, in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.diff import Diff, PathDiff
    from spanview.analysis.flame import Flame
    from spanview.analysis.query.query import Query
    from spanview.commands.options import Options
    from spanview.display.shades import Paint
    from spanview.index.store import Store
    from spanview.reports.report import Report

_MAX_PATHS: Final = 40
"""Paths that are printed on a terminal."""
_MAX_SHOWN_LENGTH: Final = 200
"""Characters of A or B in a message."""


class SideType(StrEnum):
    """What can be compared."""

    TRACE = "trace"
    QUERY = "query"
    PATH = "path"


@dataclass(frozen=True)
class DiffSide:
    """One of the two that are compared."""

    type: SideType
    value: str
    """The whole id of a trace; a query or a PATH as given."""
    store: Store
    traces: Sequence[int] | None
    """Numbers of its traces; None for all."""

    @cached_property
    def flame(self) -> Flame:
        """Its call paths."""
        return flame(self.store, self.traces)

    def groups(self, by: DiffBy) -> tuple[Flame, Flame]:
        """Return its call paths and its groups."""
        return self.flame, groups_of_side(self.store, by, self.flame, self.traces).flame


def run(options: Options) -> int:
    """Print what differs between two traces, two queries or two folders."""
    sides = _sides(options)
    a, b = sides
    by = DiffBy(options.by)
    is_path = by is DiffBy.PATH
    merged = (
        diff(a.flame, b.flame, are_traces=a.type is b.type is SideType.TRACE)
        if is_path
        else diff_groups(a.groups(by), b.groups(by))
    )
    paths = merged.by_change() if is_path else by_total(merged)
    if by is DiffBy.RAY and not paths:
        raise DiffError("no Ray calls here; --by name compares all spans")
    of_a, of_b = ({"type": side.type, "value": side.value} for side in sides)
    head = {"a": of_a | asdict(merged.a), "b": of_b | asdict(merged.b), **totals_to_json(merged)}
    report = comparison_report(merged, paths, by, head)
    if options.format == TEXT:
        _print(report, merged, [f"{side.type} {sanitise(side.value)}" for side in sides], paint_for(options))
    else:
        print_report(report, options)
    return 0


def _sides(options: Options) -> list[DiffSide]:
    """Find out what A and B are, and read them.

    Raises:
        SpanviewError: It isn't clear, or one of them is empty.
    """
    given = dict(zip("AB", options.sides, strict=True))
    for letter, text in given.items():
        if not text.strip():
            raise DiffError(f"{letter} is empty: give a PATH, a prefix of a trace id, or a query")
    existing = [text for text in given.values() if is_there(text)]
    if len(existing) < len(given):
        if existing and not options.paths:
            absent = next(text for text in given.values() if text not in existing)
            raise DiffError(
                f"{_shown(existing[0])} is a file or folder, but {_shown(absent)} isn't: give two PATHs, "
                "or two traces or queries, followed by the PATH to look in"
            )
        return _chosen(options, given)
    if options.paths:
        raise DiffError(
            f"{_shown(existing[0])} and {_shown(existing[-1])} are files or folders: to compare them, leave out "
            f"{_shown(options.paths[0])}; to search names for them, write name~{_shown(existing[0])}"
        )
    if existing == [STANDARD_INPUT] * len(existing):
        raise DiffError("-: standard input can be read only once: give a file as A or B")
    return [_path(options, letter, path) for letter, path in given.items()]


def _path(options: Options, letter: str, path: str) -> DiffSide:
    store = _read(options._replace(paths=(path,)), f"{letter}, ")
    return DiffSide(SideType.PATH, path, store, None)


def _read(options: Options, whose: str = "") -> Store:
    store = read_all(options)
    notice_problems(store.tallies)
    if not len(store.spans):
        nothing = sanitise(nothing_in(store.tallies, places(options)))
        raise DiffError(f"{whose}{nothing}, so there is nothing to compare")
    return store


def _chosen(options: Options, given: dict[str, str]) -> list[DiffSide]:
    queries = {letter: _query(letter, text) for letter, text in given.items()}
    try:
        places(options)
    except NoSuchPathError:
        looked_at = sanitise(in_words(default_places(options.environment)))
        raise NoSuchPathError(
            f"{' and '.join(map(_shown, given.values()))} aren't files or folders, and there are no "
            f"spans in {looked_at}: give the PATH of the spans after them"
        ) from None
    store = _read(options)
    return [_side(options, store, letter, query) for letter, query in queries.items()]


def _query(letter: str, text: str) -> Query:
    try:
        return parse_query(text)
    except QueryError as error:
        raise QueryError(f"{letter}: {error}", error.text, error.position) from None


def _side(options: Options, store: Store, letter: str, query: Query) -> DiffSide:
    is_id, traces = True, []
    try:
        traces = traces_beginning(store, query.text)
    except TraceNotFoundError:
        is_id = False
    if len(traces) > 1:
        try:
            find_trace(store, query.text)
        except TraceNotFoundError as error:
            raise TraceNotFoundError(f"{letter}: {error}; to search names for it, write name~{query.text}") from None
    if traces:
        return DiffSide(SideType.TRACE, format_trace_id(store.trace_table.trace_id(traces[0])), store, traces)
    traces = selected_traces(store, query=query)
    if traces:
        return DiffSide(SideType.QUERY, query.text, store, traces)
    no_id = "no trace id begins with it, and " if is_id else ""
    no_file = "" if options.paths else "; there is no file or folder of that name either"
    where = sanitise(", ".join(places(options)))
    why = "; ".join(why_nothing(store, query)) or "spanview stats lists the names there are"
    raise DiffError(f"{letter}, {_shown(query.text)}: {no_id}no span in {where} matches{no_file}; {why}")


def _shown(text: str) -> str:
    """Return what was given as a part of a line."""
    return sanitise(text, _MAX_SHOWN_LENGTH)


def _print(report: Report[PathDiff], merged: Diff, labels: Sequence[str], paint: Paint) -> None:
    width = terminal_width()
    shown = report.rows if width is None else report.rows[:_MAX_PATHS]
    heads, *rows = table_lines(report.table, shown, paint, width)
    unit = [per_trace_text(sums_in(heads))] * merged.is_per_trace
    lines = [*side_lines(merged, labels, paint), "", *unit, heads, *rows]
    if more := len(report.rows) - len(shown):
        lines.append(f"and {count(more, 'row')} more; --format json has them all, and so has a pipe")
    sys.stdout.writelines(f"{line}\n" for line in lines)
