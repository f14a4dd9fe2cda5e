"""A trace as lines of text, for pipes and logs: figures in columns on the left, the tree after them."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.exits import cut_off_text, is_exit, read_cut_offs
from spanview.analysis.ray.unended import NO_UNENDED, Fate, fates_text, known_until, ran_until, unended_text
from spanview.analysis.ray.waits import wait_of, wait_word
from spanview.display.call_text import without_attempt_text
from spanview.display.sanitise import sanitise
from spanview.display.shades import ERROR as ERROR_SHADE
from spanview.display.shades import HEAD, QUIET, WARNING, plain
from spanview.display.stacks import first_line
from spanview.display.trace_words import (
    COMPLETE,
    PARENT_NOT_SEEN,
    completeness_text,
    count_without_end,
    last_known_ns,
)
from spanview.display.units import count, duration, lasted, moment, so_far, zone_name
from spanview.index.lives import OpenEnd
from spanview.model.codes import ERROR
from spanview.model.ids import format_span_id
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from spanview.analysis.ray.known_calls import KnownCalls
    from spanview.analysis.ray.reasons import Why
    from spanview.analysis.ray.unended import Unended
    from spanview.display.shades import Paint
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

_MAX_DRAWN_LEVELS: Final = 40
"""Levels that are drawn with lines; deeper ones are written as a number, or lines would grow without end."""
_MAX_MESSAGE_LENGTH: Final = 200
_SHOWN_WARNINGS: Final = Warnings.CYCLE | Warnings.DUPLICATE_ID | Warnings.NEGATIVE_DURATION | Warnings.BAD_ID


def trace_title(  # noqa: PLR0913 - what is printed, and how
    store: Store,
    trace: int,
    tree: TraceTree,
    *,
    in_utc: bool = False,
    paint: Paint = plain,
    unended: Mapping[int, Unended] = NO_UNENDED,
    reasons: Mapping[int, Why] | None = None,
    open_calls: Collection[int] = (),
) -> str:
    """Return the line above a trace's tree.

    Args:
        reasons: Why calls of the trace have no attempt, by row.
        open_calls: The rows of those that may still run.
        in_utc: Whether its time is UTC, for readers elsewhere; without, it is local. It says its zone.
    """
    table = store.trace_table
    trace_id = table.hex_id(trace)
    parts = [
        paint(f"trace {trace_id}" if trace_id else "spans without a usable trace id", HEAD),
        _start(table.start_ns[trace], in_utc=in_utc),
        lasted_text(store, trace, tree, unended),
        count(table.span_count[trace], "span"),
    ]
    if table.error_count[trace]:
        parts.append(paint(f"✖ {count(table.error_count[trace], 'error')}", ERROR_SHADE))
    text = completeness_text(is_complete=tree.complete, without_end=count_without_end(store, tree))
    if reasons and text == COMPLETE:
        from spanview.analysis.ray.reasons import without_attempt

        if without := len(without_attempt(store, reasons)):
            text = without_attempt_text(without, len(open_calls))
    if fates := fates_text(unended.values()):
        text = fates if tree.complete else f"{text} · {fates}"
    parts.append(text if text == COMPLETE else paint(text, WARNING))
    return " · ".join(parts)


def lasted_text(store: Store, trace: int, tree: TraceTree, unended: Mapping[int, Unended] = NO_UNENDED) -> str:
    """Return how long a trace lasted, lasts so far, or lasted at least, where it isn't known what ends it."""
    table, until = store.trace_table, ran_until(unended)
    start_ns, lasted_ns = table.start_ns[trace], table.duration_ns(trace)
    if start_ns != NO_TIME and until.now_ns:
        return so_far(max(until.now_ns - start_ns, lasted_ns or 0))
    ended_ns, is_open = until.ended_ns, until.may_last or count_without_end(store, tree) > len(known_until(unended))
    if is_open:
        ended_ns = max(ended_ns, last_known_ns(store, tree))
    # A span that begins the trace and has no end says nothing of its length.
    if start_ns != NO_TIME and ended_ns and ended_ns - start_ns >= (lasted_ns or int(is_open)):
        return lasted(ended_ns - start_ns, OpenEnd.EARLIEST if is_open else until.end_at(ended_ns))
    return duration(lasted_ns)


def _start(ns: int, *, in_utc: bool) -> str:
    if ns == NO_TIME:
        return moment(ns)
    return f"{moment(ns, zone=UTC)} UTC" if in_utc else f"{moment(ns)} {zone_name(ns)}"


def trace_lines(
    store: Store, trace: int, known: KnownCalls, unended: Mapping[int, Unended] = NO_UNENDED, paint: Paint = plain
) -> Iterator[str]:
    """Yield the line above a trace's tree, and those of the tree."""
    tree = store.tree(trace)
    reasons, open_calls = known.reasons_and_open(tree)
    yield trace_title(store, trace, tree, paint=paint, unended=unended, reasons=reasons, open_calls=open_calls)
    yield from tree_lines(store, trace, tree, paint, unended)


def tree_lines(  # noqa: PLR0913 - what is printed, and how
    store: Store,
    trace: int,
    tree: TraceTree,
    paint: Paint = plain,
    unended: Mapping[int, Unended] = NO_UNENDED,
    *,
    times: bool = True,
    nodes: Iterable[tuple[int, int]] | None = None,
) -> Iterator[str]:
    """Yield the lines of a trace, coloured by `paint`: start after the trace's, duration, and the span in its place.

    Args:
        times: Without, only what is the same whenever the same program runs: the spans in their places.
        nodes: Those that are drawn, and their depths, parents before their children; None for all.
    """
    from spanview.analysis.silent import told_failures

    origin, told = store.trace_table.start_ns[trace], told_failures(store, [trace]) if times else {}
    nodes = [*(tree.walk() if nodes is None else nodes)]
    # One by one, reading these is two fifths of all that a large trace takes.
    read_cut_offs(store, [tree.rows[node] for node, _ in nodes if not tree.is_missing(node)])
    open_levels: list[bool] = []
    for node, depth in nodes:
        del open_levels[depth:]
        is_last = tree.is_last(node)
        branches = _branches(open_levels, is_last=is_last) if depth else ""
        open_levels.append(not is_last)
        figures = f"{_figures(store, tree, node, origin, paint, unended)}  " if times else ""
        label = _label(store, tree, node, paint, unended, times=times)
        if not tree.is_missing(node) and (failure := told.get(tree.rows[node])) is not None:
            label += paint(f"  ✖ {sanitise(failure.text)}", ERROR_SHADE)
        yield f"{figures}{paint(branches, QUIET)}{label}".rstrip()


def _branches(open_levels: list[bool], *, is_last: bool) -> str:
    hidden = len(open_levels) - 1 - _MAX_DRAWN_LEVELS
    lead = f"({hidden} levels more) " if hidden > 0 else ""
    lines = "".join("│  " if is_open else "   " for is_open in open_levels[max(1, hidden + 1) :])
    return f"{lead}{lines}{'└─ ' if is_last else '├─ '}"


def _figures(  # noqa: PLR0913, PLR0917 - of a line, as its label
    store: Store, tree: TraceTree, node: int, origin: int, paint: Paint, unended: Mapping[int, Unended]
) -> str:
    start = tree.start_ns(node)
    after = "" if NO_TIME in (start, origin) else f"+{duration(start - origin)}"
    if tree.is_missing(node):
        return f"{'':>10} {'':>9}"
    row = tree.rows[node]
    end = store.spans.end_ns[row]
    lasted = "no end" if end == NO_TIME else "–" if start == NO_TIME else duration(end - start)
    if row in unended and unended[row].fate is Fate.RUNS and start != NO_TIME:
        lasted = so_far(max(unended[row].seen_ns, store.trace_table.end_ns[store.spans.trace[row]]) - start)
    return f"{paint(f'{after:>10}', QUIET)} {paint(f'{lasted:>9}', WARNING if end == NO_TIME else '')}"


def _label(  # noqa: PLR0913 - of a line, as its figures
    store: Store, tree: TraceTree, node: int, paint: Paint, unended: Mapping[int, Unended], *, times: bool
) -> str:
    if tree.is_missing(node):
        if not times:
            return paint(PARENT_NOT_SEEN, WARNING)
        missing = f"{PARENT_NOT_SEEN} ({format_span_id(tree.span_id(node))}): not ended yet, or lost"
        return paint(missing, WARNING)
    row = tree.rows[node]
    parts = [sanitise(store.names.texts[store.spans.name[row]]) or "(no name)"]
    wait = wait_of(store, tree, node) if times else 0
    if wait:
        parts.append(paint(f"({wait_word(store, row)} {duration(wait)})", QUIET))
    if store.spans.status[row] == ERROR:
        parts.append(paint(f"✖ {error_text(store, row)}".rstrip(), ERROR_SHADE))
    if cut_off := cut_off_text(store, row):
        parts.append(paint(f"[{sanitise(cut_off)}]", WARNING))
    if not times and store.spans.end_ns[row] == NO_TIME:
        parts.append(paint("[no end]", WARNING))
    if row in unended:
        parts.append(paint(f"[{sanitise(unended_text(unended[row]))}]", WARNING))
    if warnings := (Warnings(store.spans.warnings[row]) | tree.warnings(node)) & _SHOWN_WARNINGS:
        parts.extend(paint(f"[{name}]", WARNING) for name in warnings.names())
    return "  ".join(parts)


def error_text(store: Store, row: int) -> str:
    """Return what a failed span says of its failure, in one line."""
    description = store.span(row).status.description
    if is_exit(description):
        return "AsyncioActorExit: exit_actor was called, which is no failure"
    return sanitise(first_line(description), _MAX_MESSAGE_LENGTH) if description else "ERROR"
