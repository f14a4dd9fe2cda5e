"""`spanview diff`: two traces, two queries, or two folders, call path by call path."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from spanview.analysis.change import change_of, changes_of_groups, parse_change, sample_of
from spanview.analysis.diff import totals_to_json
from spanview.analysis.diff_groups import DiffBy
from spanview.analysis.query.gate import lacking
from spanview.analysis.query.query import parse_query
from spanview.analysis.query.select import find_trace, selected_traces, traces_beginning
from spanview.commands.output import paint_for, terminal_width
from spanview.commands.reading import places, read_all
from spanview.commands.standard_error import nothing_in, notice_problems, say, why_nothing
from spanview.commands.tables import FOR_CI, MARKDOWN, TEXT, arranged, gate_case, last_end, print_for_ci, print_report
from spanview.display.diff_text import Labels, per_trace_text, side_lines
from spanview.display.miss_text import miss_lines
from spanview.display.sanitise import sanitise
from spanview.display.units import count
from spanview.model.problems import DiffError, NoSuchPathError, QueryError, TraceNotFoundError
from spanview.reports.comparison import ComparedSide, compared, comparison_report, sums_in
from spanview.reports.gates import STYLES, GateOutcome, GateRow, amount_text, gates_report
from spanview.reports.lines import table_lines
from spanview.sources.discover import STANDARD_INPUT, is_there
from spanview.sources.places import default_places, in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.change import Change, ChangeLimit
    from spanview.analysis.diff import Diff, PathDiff
    from spanview.analysis.flame import Located
    from spanview.analysis.query.query import Query
    from spanview.commands.options import Options
    from spanview.display.shades import Paint
    from spanview.index.store import Store
    from spanview.reports.report import Report

_NOTHING_TO_COMPARE: Final = 2
"""The exit status where `--fail-on` compares what is not there."""
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
class DiffSide(ComparedSide):
    """A side, as it was given."""

    type: SideType
    value: str
    """The whole id of a trace; a query or a PATH as given."""


def run(options: Options) -> int:
    """Print what differs between two traces, two queries or two folders.

    Returns:
        0 where nothing is to fail, 1 where `--fail-on` holds, else 2 where there is nothing that it could compare.
    """
    limits = [*map(parse_change, options.fail_on)]
    sides = _sides(options)
    a, b = sides
    by = DiffBy(options.by)
    groups = [side.groups(by) for side in sides]
    merged, paths = compared(a, b, by, groups, are_traces=a.type is b.type is SideType.TRACE)
    if by is DiffBy.RAY and not paths:
        raise DiffError("no Ray calls here; --by name compares all spans")
    gates = [row for limit in limits for row in _gates(limit, merged, sides, groups, options)]
    of_a, of_b = ({"type": side.type, "value": side.value} for side in sides)
    head = {"a": of_a | asdict(merged.a), "b": of_b | asdict(merged.b), **totals_to_json(merged)}
    of_gates = gates_report(gates)
    report = arranged(comparison_report(merged, paths, by, head | {"gates": of_gates.document()["rows"]}), options)
    if options.format in FOR_CI:
        print_for_ci(options, [*map(gate_case, gates)], max(last_end(side.store) for side in sides))
    elif options.format == TEXT:
        _print(report, merged, [f"{side.type} {sanitise(side.value)}" for side in sides], paint_for(options))
        if gates:
            sys.stdout.write("\n")
            print_report(of_gates, options)
    else:
        if gates and options.format == MARKDOWN:
            print_report(of_gates, options)
            sys.stdout.write("\n")
        print_report(report, options)
    outcomes = Counter(row.outcome for row in gates)
    for row in gates:
        if STYLES.get(row.outcome) == "error":
            say(f"--fail-on {row.gate}: {f'{row.group}: ' if row.group else ''}{row.detail}")
    if few := outcomes[GateOutcome.TOO_FEW]:
        say(f"{count(few, 'change')} beyond a limit, of too few spans to tell from noise; --ignore-noise fails on them")
    if outcomes[GateOutcome.FAILED]:
        return 1
    return _NOTHING_TO_COMPARE if outcomes[GateOutcome.NO_SPANS] else 0


def _gates(
    limit: ChangeLimit, merged: Diff, sides: Sequence[DiffSide], groups: Sequence[Located], options: Options
) -> Iterator[GateRow]:
    """Yield what a change limit says: each group that is beyond it, and how many others there are."""
    if not limit.is_of_groups:
        each = ((side.store, side.traces) for side in sides)
        a, b = (sample_of(limit, of, of.traces_in_order() if traces is None else traces) for of, traces in each)
        row = _gate_row(limit, change_of(limit, a, b), None, options)
        lacks = (
            lacking(side.store, limit.aggregate, side.traces)
            for side, found in zip(sides, (a, b), strict=True)
            if not found
        )
        why = dict.fromkeys(line for misses in lacks for line in miss_lines(misses))
        yield replace(row, detail="; ".join([row.detail, *why]))
        return
    stores = [side.store for side in sides]
    changes = changes_of_groups(limit, merged, [*zip(stores, groups, strict=True)])
    labels, beyond = Labels(merged), [change for change in changes if change.bounds is not None]
    for change in beyond:
        group = None if change.group is None else labels.path(change.group, _MAX_SHOWN_LENGTH)
        yield _gate_row(limit, change, group, options)
    if not changes and not options.allow_empty:
        yield GateRow(limit.text, GateOutcome.NO_SPANS, "nothing to compare: no group is on both sides", 0)
    elif others := len(changes) - len(beyond):
        yield GateRow(limit.text, GateOutcome.PASSED, f"{count(others, 'group')} within the limit", others)


def _gate_row(limit: ChangeLimit, change: Change, group: str | None, options: Options) -> GateRow:
    outcome, why = GateOutcome.PASSED, ""
    a, b = (amount_text(limit.aggregate, figure) for figure in (change.a, change.b))
    if change.a is None or change.b is None:
        outcome = GateOutcome.PASSED if options.allow_empty else GateOutcome.NO_SPANS
        lacking = " and ".join(side for side, number in zip("AB", change.counts, strict=True) if not number)
        return GateRow(limit.text, outcome, f"nothing to compare: no such span in {lacking}", change.counts[1])
    if change.bounds is not None:
        if change.is_real or options.ignore_noise:
            outcome = GateOutcome.FAILED
        elif change.has_too_few:
            outcome = GateOutcome.TOO_FEW
            numbers = " and ".join(map(str, change.counts))
            why = f", too few to tell from noise: {numbers}, and both sides need {change.least}"
        else:
            outcome = GateOutcome.NOISE
            between = (
                f"{amount_text(limit.aggregate, low)} to {amount_text(limit.aggregate, high)}"
                for low, high in change.bounds
            )
            why = f", no more than noise: {' and '.join(between)} are likely"
    by = f" ({100 * (change.b / change.a - 1):+,.1f}%)" if change.a else ""
    return GateRow(limit.text, outcome, f"{a} → {b}{by}{why}", change.counts[1], change.b, change.a, group)


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
    return DiffSide(store, None, SideType.PATH, path)


def _read(options: Options, whose: str = "") -> Store:
    store = read_all(options)
    notice_problems(store.tallies)
    if not len(store.spans):
        nothing = sanitise(nothing_in(store.tallies, places(options)))
        raise DiffError(f"{whose}{nothing}, so there is nothing to compare")
    return store


def _chosen(options: Options, given: dict[str, str]) -> list[DiffSide]:
    queries = {letter: query_of(letter, text) for letter, text in given.items()}
    try:
        places(options)
    except NoSuchPathError:
        looked_at = sanitise(in_words(default_places(options.environment)))
        raise NoSuchPathError(
            f"{' and '.join(map(_shown, given.values()))} aren't files or folders, and there are no "
            f"spans in {looked_at}: give the PATH of the spans after them"
        ) from None
    store = _read(options)
    return [side_of(options, store, letter, query) for letter, query in queries.items()]


def query_of(letter: str, text: str) -> Query:
    """Return what selects a side, A or B.

    Raises:
        QueryError: It has a mistake.
    """
    try:
        return parse_query(text)
    except QueryError as error:
        raise QueryError(f"{letter}: {error}", error.text, error.position) from None


def side_of(options: Options, store: Store, letter: str, query: Query) -> DiffSide:
    """Return the trace, or the traces, that a query selects.

    Raises:
        SpanviewError: There is none, or there are several traces whose ids begin with it.
    """
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
        return DiffSide(store, traces, SideType.TRACE, store.trace_table.hex_id(traces[0]) or "")
    traces = selected_traces(store, query=query)
    if traces:
        return DiffSide(store, traces, SideType.QUERY, query.text)
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
