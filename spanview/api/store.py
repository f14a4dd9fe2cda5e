"""What was read, and its traces."""

from __future__ import annotations

import sys
import time
import warnings
from os import PathLike, fsdecode
from typing import IO, TYPE_CHECKING, Any, Final, Literal, TypeVar, overload

from spanview.api.report import Explanation, Report
from spanview.api.rows import Amounts, Call, CallGroup, Difference, Finding, Group, PathShare, Request, RequestGroup
from spanview.api.trace import Node, Trace
from spanview.api.views import SharedTraces
from spanview.formats.framing.framer import DEFAULT_CAP
from spanview.model.problems import ExportError, NoSuchPathError, QueryError
from spanview.sources.discover import STANDARD_INPUT
from spanview.sources.loading import load_store
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa

    from spanview.analysis.query.selection import Selection
    from spanview.index.store import Store as SpanStore
    from spanview.model.problems import Problem, Summary

_Found = TypeVar("_Found")
__tracebackhide__ = True
"""Pytest shows the line of a test that asked, none of these."""
_ROWS: Final[dict[str, tuple[type[Any], str]]] = {
    **dict.fromkeys(("ray", "ray-actor", "ray-node", "ray-job"), (CallGroup, "function")),
    "ray-call": (Call, "span_id"),
    "serve": (RequestGroup, "route"),
    "serve-request": (Request, "request_id"),
    "critical-path": (PathShare, "key"),
}
"""The rows of groups that aren't of spans, and what finds one."""
_ON_SCREENS: Final = frozenset(("ray-worker", "running", "trace", "trace-group"))
_SHOWN_TRACES: Final = 20
"""Traces of the table that stands for a store in a notebook."""


class Store:
    """The traces, counts and problems of everything that was read; made by `load` and `from_spans`.

    Its length is the number of its spans.
    """

    __slots__ = ("_store", "_views")

    def __init__(self, store: SpanStore, traces: Sequence[int] | None = None) -> None:
        self._store = store
        self._views = SharedTraces(store, traces)

    @property
    def traces(self) -> list[Trace]:
        """All traces by start, then id; spans without a usable trace id are a trace of their own, the last."""
        return [*map(Trace, self._views)]

    def __len__(self) -> int:
        if self._views.is_whole:
            return len(self._store.spans)
        return sum(map(self._store.trace_table.span_count.__getitem__, self._views.traces))

    @property
    def _chosen(self) -> Sequence[int] | None:
        """The traces that questions are about; None for all."""
        return None if self._views.is_whole else self._views.traces

    def trace(self, trace_id: str) -> Trace:
        """Return one trace.

        Args:
            trace_id: Its id, or the first of its 32 hex digits, in either case, with or without `0x`.

        Raises:
            TraceNotFoundError: No trace's id begins like that, or several do; these are listed.
        """
        from spanview.analysis.query.select import only_trace, traces_beginning

        if not isinstance(trace_id, str):
            raise TypeError(f"a trace id is a text of hex digits, not {trace_id!r}; traces without one are in `traces`")
        store, mine = self._store, {*self._views.traces}
        found = [trace for trace in traces_beginning(store, trace_id) if trace in mine]
        only_trace([store.trace_table.trace_id(trace) for trace in found], trace_id)
        (view,) = SharedTraces(store, found, self._views.known)
        return Trace(view)

    def query(self, text: str) -> list[Node]:
        """Return the spans that match, trace by trace, by start; a query of `trace.` terms alone keeps all of a trace.

        Args:
            text: In the language of the page query, as `status=ERROR duration>10ms`.

        Raises:
            QueryError: It has a mistake; where, and what was expected there. Or no span has one of its keys as an
                attribute, and it is spelled nearly as one of the language's own; in quotes it is taken as it is.
        """
        nodes = self._matching(text)
        if not nodes:
            refuse_misspelt(self._store, text, self._chosen)
        return nodes

    def _matching(self, text: str) -> list[Node]:
        from spanview.analysis.query.query import parse_query
        from spanview.analysis.query.select import selected_rows

        query = _briefly(lambda: parse_query(text))
        spans, views = self._store.spans, {view.number: (order, view) for order, view in enumerate(self._views)}
        rows = [row for row in selected_rows(self._store, query=query) if spans.trace[row] in views]
        rows.sort(key=lambda row: (views[spans.trace[row]][0], spans.start_ns[row], spans.span_id[row]))
        return [Node(views[spans.trace[row]][1], row) for row in rows]

    def summary(self) -> Summary:
        """Count files, bytes, spans, traces and what is wrong with them, in all that was read, as `export` does."""
        from spanview.index.summary import summary_of

        return summary_of(self._store)

    def problems(self) -> list[Problem]:
        """Return what could not be read, by path and offset."""
        return self._store.problems()

    # -- reports -----------------------------------------------------------------------------------------------------

    def explain(self, *, by: Literal["", "ray", "serve"] = "", lines: int = 40) -> Explanation:
        """Return what took the time, what failed and what is missing; `str` of it is what `spanview explain` prints.

        Args:
            by: Whether the time of Ray's calls or of requests to Ray Serve alone is told.
            lines: The most lines of the text, and the most rows.
        """
        return Explanation(self._store, self._chosen, self._views.known, by, lines)

    def calls(self) -> Report[Call]:
        """Return all Ray calls, slowest first: what they waited for, how long they ran, and what became of them.

        By its key, the id of its last attempt's span or of its submission's, a call is `calls()["0123456789abcdef"]`.
        """
        return self.stats("ray-call")

    def requests(self) -> Report[Request]:
        """Return all requests to Ray Serve, slowest first; their key is the request's id."""
        return self.stats("serve-request")

    @overload
    def stats(  # type: ignore[overload-overlap]  # other texts have other rows
        self, by: Literal["ray", "ray-actor", "ray-node", "ray-job"]
    ) -> Report[CallGroup]: ...

    @overload
    def stats(self, by: Literal["serve"]) -> Report[RequestGroup]: ...  # type: ignore[overload-overlap]

    @overload
    def stats(self, by: Literal["critical-path"]) -> Report[PathShare]: ...  # type: ignore[overload-overlap]

    @overload
    def stats(self, by: Literal["ray-call"]) -> Report[Call]: ...  # type: ignore[overload-overlap]

    @overload
    def stats(self, by: Literal["serve-request"]) -> Report[Request]: ...  # type: ignore[overload-overlap]

    @overload
    def stats(self, by: str = "name", *, value: None = None) -> Report[Group]: ...

    @overload
    def stats(self, by: str = "name", *, value: str) -> Report[Amounts]: ...

    def stats(self, by: str = "name", *, value: str | None = None) -> Report[Any]:
        """Return counts, errors, percentiles and self time, as `spanview stats --by` prints them.

        Args:
            by: `name`, `service`, `kind`, `process` or an attribute: the spans; `ray`, `ray-actor`, `ray-node` or
                `ray-job`: Ray's calls; `serve`: requests to Ray Serve; `critical-path`: names on critical paths.
            value: The attribute whose numbers are added up, instead of durations.

        Raises:
            QueryError: No span has what is grouped by, or a number as the attribute.
        """
        from spanview.reports.by import statistics_by

        if by in _ON_SCREENS:
            raise QueryError(f"by={by!r} is printed by spanview stats --by {by}, but has no rows here")
        row, key = (Amounts, "key") if value is not None else _ROWS.get(by, (Group, "key"))
        return Report(statistics_by(by, value, self._store, self._chosen, lambda: unended_in(self._store)), row, key)

    def check(self) -> Report[Finding]:
        """Return what is missing, damaged or misconfigured, worst first; the key of a finding is its kind.

        Of a large folder, whose records aren't decoded when they are loaded, each one is decoded first.
        """
        from spanview.analysis.diagnosis.report import diagnose
        from spanview.index.part import part_of
        from spanview.quick.proof import prove
        from spanview.reports.findings import findings_report

        for _ in prove(self._store):
            pass
        store = self._store if self._views.is_whole else part_of(self._store, self._views.traces)
        found = diagnose(store, unended=unended_in(store)).findings
        return Report(findings_report(found), Finding, "kind")

    def to_arrow(self) -> pa.Table:
        """Return the spans as a table of Arrow, in the columns of `export --format parquet`.

        Raises:
            ExportError: pyarrow isn't installed.
        """
        from spanview.exports.parquet import table_of

        return table_of(self._store, self._views.traces)

    # -- in notebooks ------------------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        from html import escape

        from spanview.display.sanitise import sanitise
        from spanview.display.units import duration

        def row(trace: Trace) -> str:
            (root, *_) = trace.roots
            cells = (
                trace.trace_id or "–",
                duration(trace.duration_ns),
                f"{trace.span_count:,}",
                f"{trace.error_count:,}",
            )
            return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}<td>{escape(sanitise(root.name))}</td></tr>"

        traces = self.traces
        more = f"<p>… and {len(traces) - _SHOWN_TRACES:,} more</p>" if len(traces) > _SHOWN_TRACES else ""
        heads = "<th>trace</th><th>duration</th><th>spans</th><th>errors</th><th>root</th>"
        rows = "".join(map(row, traces[:_SHOWN_TRACES]))
        counted = f"<p>{len(self):,} spans in {len(traces):,} traces</p>"
        return f"{counted}<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {"_store": self._store, "_views": [*self._views.traces]}

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        self.__init__(state[1]["_store"], state[1]["_views"])  # type: ignore[misc]  # as it was made

    def __repr__(self) -> str:
        return f"<Store spans={len(self)} traces={len(self._views.traces)}>"


def load(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    query: str = "",
    since: str = "",
    cap: int = DEFAULT_CAP,
    use_cache: bool = False,
) -> Store:
    """Read span files and return their traces.

    Args:
        paths: A file, a folder (searched deeper too; hidden files left out), a glob, or `-` for standard input, or
            several of them.
        query: Keep whole traces in which a span matches, as `-q` does; empty for all.
        since: Keep traces that ended after it, as `--since` does: `10m`, an ISO time, or `last` for the newest run.
        cap: Bytes of the longest record that is kept, at least 1; a longer one is a problem `too_large`.
        use_cache: Whether the index of a large folder is kept in the platform's cache folder, and taken from there.

    Returns:
        A store whose spans read their attributes, events and links again from the files when those are asked for.

    Raises:
        NoSuchPathError: A path doesn't exist, or standard input is closed or a terminal.
        TypeError: An open file, or something else that is no path, was given, or `cap` is no int.
        QueryError: The query or the time has a mistake.
        ValueError: `cap` is less than 1.
    """
    if not isinstance(cap, int) or isinstance(cap, bool):
        raise TypeError(f"cap is a number of bytes, an int such as 16 * 1024**2, not {cap!r}")
    if cap < 1:
        raise ValueError(f"cap is at least 1 byte, not {cap!r}")
    names = names_of(paths)
    for name in names:
        if "\0" in name:
            raise NoSuchPathError(f"{name!r}: no such file or folder; no path has a NUL in it")
    chosen = selection_of(query, since)
    store = load_store(names, cap=cap, use_cache=use_cache, standard_input=_standard_input(names))
    traces = None if chosen.is_everything else chosen.traces(store)
    if not traces and query.strip():
        refuse_misspelt(store, query)
    return Store(store, traces)


def refuse_misspelt(store: SpanStore, query: str, traces: Sequence[int] | None = None) -> None:
    """Complain about keys of a query that matches nothing: no span has them, and others are spelled nearly so.

    Raises:
        QueryError: One of the language's own keys was probably meant. Where it was an attribute, that is a warning:
            other spans may have both.
    """
    from spanview.analysis.query.misses import misses_of
    from spanview.analysis.query.query import parse_query
    from spanview.display.miss_text import misspelt_attributes

    for text in _briefly(lambda: misspelt_attributes(misses_of(store, parse_query(query), traces))):
        # At the line that isn't spanview's.
        level, frame = 1, sys._getframe()  # noqa: SLF001 - what the warning goes to
        while frame.f_back is not None and frame.f_globals["__name__"].startswith("spanview."):
            level, frame = level + 1, frame.f_back
        warnings.warn(text, stacklevel=level)


def _briefly(find: Callable[[], _Found]) -> _Found:
    """Return what is found; of a mistake in a query, nobody is shown where in spanview it was noticed.

    Raises:
        QueryError: There is one.
    """
    try:
        return find()
    except QueryError as mistake:
        raise mistake.with_traceback(None) from None


def selection_of(query: str, since: str) -> Selection:
    """Return which traces are asked for.

    Raises:
        QueryError: The query or the time has a mistake.
    """
    from spanview.analysis.query.selection import Selection
    from spanview.analysis.query.since import parse_since

    chosen = (query,) if query.strip() else ()
    return _briefly(lambda: Selection(chosen, parse_since(since, time.time_ns()) if since else None))


def export(
    what: Store | Trace,
    path: str | PathLike[str],
    *,
    format: Literal["trace-tree", "jsonl", "otlp", "jaeger", "zipkin", "chrome", "html", "parquet"],  # noqa: A002 - --format
    force: bool = False,
) -> list[str]:
    """Write traces to a file, completely or not at all, as `spanview export` does.

    Args:
        path: A file; for Parquet also a folder, to which spans, calls and requests go.
        force: Whether a file that exists is replaced.

    Returns:
        What the format can't hold, a sentence for each kind of it; mostly nothing.

    Raises:
        ExportError: The file exists, or can't be written.
    """
    from spanview.exports.by_name import ENDINGS, chunks_of
    from spanview.exports.files import write_atomically
    from spanview.exports.losses import Losses
    from spanview.exports.surroundings import Surroundings

    if format not in ENDINGS:
        raise ExportError(f"there is no format {format!r}; there are {', '.join(ENDINGS)}")
    store, traces = _traces_in(what)
    losses = Losses(format)
    if format == "parquet":
        from spanview.api.tables import is_folder, write_tables

        if is_folder(fsdecode(path)):
            write_tables(store, traces, fsdecode(path), losses, force=force)
            return losses.lines()
    write_atomically(fsdecode(path), chunks_of(store, traces, format, losses, Surroundings(unended_in)), force=force)
    return losses.lines()


def diff(a: Store | Trace, b: Store | Trace, *, by: Literal["path", "name", "ray"] = "path") -> Report[Difference]:
    """Compare two traces or stores, as `spanview diff` does: what has changed most comes first.

    Args:
        by: What is compared: call paths, spans of one name, or Ray functions. A name is the key of its row.
    """
    from spanview.analysis.diff_groups import DiffBy
    from spanview.reports.comparison import ComparedSide, compared, comparison_report

    of_a, of_b = (ComparedSide(*_traces_in(side)) for side in (a, b))
    if by not in {*DiffBy}:
        from spanview.model.problems import DiffError

        raise DiffError(f"by={by!r}: expected one of {', '.join(DiffBy)}")
    groups = [side.groups(DiffBy(by)) for side in (of_a, of_b)]
    are_traces = isinstance(a, Trace) and isinstance(b, Trace)
    merged, paths = compared(of_a, of_b, DiffBy(by), groups, are_traces=are_traces)
    return Report(comparison_report(merged, paths, DiffBy(by), {}), Difference, "name")


def _traces_in(what: Store | Trace) -> tuple[SpanStore, Sequence[int]]:
    if isinstance(what, Trace):
        return what._store, [what._number]  # noqa: SLF001 - what hands traces out looks into them
    if isinstance(what, Store):
        return what._store, what._views.traces  # noqa: SLF001 - as above
    raise TypeError(f"a store or a trace of spanview's is wanted, not an object of type {type(what).__name__}")


def names_of(paths: object) -> tuple[str, ...]:
    """Return paths as texts.

    Raises:
        TypeError: One is none.
    """
    if isinstance(paths, str | PathLike):
        return (fsdecode(paths),)
    # Open files can be iterated over, too, and their lines are no paths.
    if isinstance(paths, bytes | bytearray) or hasattr(paths, "read") or not hasattr(paths, "__iter__"):
        raise TypeError(_no_path(paths))
    names = []
    for path in paths:
        if not isinstance(path, str | PathLike):
            raise TypeError(_no_path(path))
        names.append(fsdecode(path))
    return tuple(names)


def _no_path(value: object) -> str:
    hint = "give the file's name, or - for standard input" if hasattr(value, "read") else "a path is text or a Path"
    return f"spanview.load takes paths, not an object of type {type(value).__name__}: {hint}"


def _standard_input(names: tuple[str, ...]) -> IO[bytes] | None:
    """Return standard input where a path is `-`.

    Raises:
        NoSuchPathError: Nothing can come from it.
    """
    if STANDARD_INPUT not in names:
        return None
    stream: IO[bytes] | None = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.closed or stream.isatty():
        raise NoSuchPathError("-: standard input is closed, or a terminal: pipe spans in, or give a path")
    return stream
