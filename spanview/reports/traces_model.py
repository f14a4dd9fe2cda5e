"""Which traces are listed, in what order, and what a line says of each: pure, a function of the store."""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from spanview.analysis.query.since import PAUSE_NS
from spanview.analysis.ray.names import ShortNames
from spanview.analysis.ray.workers import count_processes
from spanview.analysis.root_groups import RootGroups
from spanview.analysis.serve.requests import name_of_trace
from spanview.analysis.trace_lists import FailedSilently, TraceColumn
from spanview.display.trace_words import (
    PARENT_NOT_SEEN,
    STILL_COMING,
    count_without_end,
    last_known_ns,
    name_without_root,
)
from spanview.display.units import count, moment
from spanview.index.lives import OpenEnd, most_open
from spanview.index.table import NO_ROW
from spanview.model.codes import ERROR
from spanview.model.ids import format_span_id
from spanview.model.times import NO_TIME, NS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from spanview.analysis.ray.running import Living
    from spanview.analysis.ray.unended import Unended
    from spanview.analysis.trace_columns import Points, TraceColumns
    from spanview.analysis.trace_lists import TraceGroup
    from spanview.index.arrays import Flags
    from spanview.index.store import Store

_KEPT_FACTS: Final = 4096
HUGE: Final = 5_000
"""A trace of more spans isn't stitched while its line is painted."""
MANY_TRACES: Final = 5_000
"""Traces from which on what is asked of all of them waits for keys, and may take a thread."""
_QUICK: Final = 200_000
_MOST_READ_AT_ONCE: Final = 50
"""Records that may be read before the next key."""
"""So many traces are grouped in some ten milliseconds."""
_GROWING, _LOADING, _INCOMPLETE = ("●", STILL_COMING), ("·", "loading"), ("◌", "incomplete")
_RUNNING: Final = ("●", "running")
_MADE_GOOD: Final = (" ", "retried")
_MERGED: Final = ("≡", "several runs, likely")
"""States of traces: a mark, and a word where no figure says so."""
_Visit: TypeAlias = "tuple[bool, int, int]"
"""Failures are visited from the greatest on: whether it lasted, when it was, its trace."""
_DAY_NS: Final = 86_400 * NS_PER_SECOND


def has_services(store: Store) -> bool:
    """Tell whether there are several services to tell from each other."""
    return sum(map(bool, store.services.texts[:3])) > 1


def service_text(store: Store, service: int, services: int) -> str:
    """Return how a trace's service is called, and how many more it has."""
    more = f" +{services - 1:,}" if services > 1 else ""
    return f"{store.services.texts[service] or '(none)'}{more}"


class TraceFacts(NamedTuple):
    """What is known of a trace only once it is stitched."""

    processes: int
    """Distinct files and services that its spans come from."""
    complete: bool
    without_end: int
    """Spans that have no end."""
    last_ns: int
    """When the last span began or ended."""
    missing: str
    """The span id of the first parent that is missing, or an empty string."""
    without_root: str
    """What it is called without a root, in words from a file."""
    service: int
    """The number of the root's service, or of the first one's where there is no root."""
    services: int
    """Distinct services that its spans have."""


class TracesModel:
    """The list of traces."""

    stitches_huge = False
    """Whether `facts` stitches huge traces, too."""
    is_loading = False
    """Whether there is more to read."""
    is_drilled = False
    """Whether only traces of one root name are listed."""
    only_failed = False
    """Whether only traces are listed that have failed."""
    spans_days = False
    """Whether the starts are more than a day apart."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.names = ShortNames(store.names)
        """What Ray's functions are called in lists of traces."""
        self.order = array("I")
        """The listed traces, from the top."""
        self.sort, self.descending = TraceColumn.START, True
        self.only_root: str | None = None
        """Only traces with this root name, when `is_drilled`."""
        self.matching: set[int] | None = None
        """Only these traces; None for all."""
        self.silent: Mapping[int, FailedSilently] = {}
        """Traces in which something failed without an error, and how."""
        self.open_calls: Mapping[int, int] = {}
        """How many calls without an attempt of which traces may still run, as far as processes show."""
        self.merged: Collection[int] = ()
        """Traces in which different spans have the same ids: likely several runs."""
        self.made_good = ()
        self.known_until: Mapping[int, int] = {}
        """Until when traces are known to have run that lack an end, in nanoseconds since 1970."""
        self.open_ends: Mapping[int, OpenEnd] = {}
        """What is known of the ends of these."""
        self.growing: set[int] = set()
        """Traces that have grown lately, or may still grow."""
        self.limit: set[int] | None = None
        """Only these of the traces that are there already; newer ones are listed too."""
        self._choose: Callable[[Store], set[int] | None] | None = None
        """Chooses the traces of `limit`."""
        self._trace_count, self._ran_until_ns = 0, NO_TIME
        """How many traces there were when `limit` was chosen, and when the last one since then started or ended."""
        self.picked: tuple[int | None, int | None] = None, None
        """Only traces that start between these times, in nanoseconds since 1970; None for no bound."""
        self._plotted = array("I")
        """Traces that would be listed if no times were picked."""
        self.longest_ns = 1
        self.root_groups = RootGroups(store)
        """What traces are grouped by."""
        self.errors = 0
        """Spans with an error, of all traces, listed or not."""
        self._limit_end = 0
        self.version = 0
        """Counts how often the list was put in order."""
        self._facts: OrderedDict[int, tuple[int, TraceFacts]] = OrderedDict()
        self._visited: tuple[object, Mapping[int, _Visit]] | None = None
        """When failures are visited, as it was found out last, and what of."""
        self._groups: tuple[object, list[TraceGroup]] | None = None
        """The groups as they were counted last, and what of; the key that shows them comes often."""

    @property
    def made_good(self) -> Collection[int]:
        """The rows of errors that a retry made good."""
        return self._made_good

    @made_good.setter
    def made_good(self, rows: Collection[int]) -> None:
        spans, self._made_good = self._store.spans, rows
        self._errors_made_good = Counter(spans.trace[row] for row in rows if spans.status[row] == ERROR)

    @property
    def narrowed_to(self) -> str:
        """What the list is narrowed to, beside the filter, in words from a file; empty where it isn't."""
        root = "traces without a root" if self.only_root is None else self.called(self.only_root) or "(no name)"
        parts = [root] if self.is_drilled else []
        parts += ["only failed"] if self.only_failed else []
        if self.picked != (None, None):
            ends = zip(self.picked, ("start", "end"), strict=True)
            told = (edge if ns is None else moment(ns, with_date=self.spans_days, digits=3) for ns, edge in ends)
            parts.append(" – ".join(told))
        return ", ".join(parts)

    @property
    def is_whole(self) -> bool:
        """Whether nothing narrows the list."""
        is_chosen = self.is_drilled or self.only_failed or self.picked != (None, None)
        return self.matching is None and self.limit is None and not is_chosen

    # -- the list ----------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Choose traces and put them in order; those that are equal stay in the order in which they were."""
        self.version += 1
        if self.is_drilled and self.root_groups.open <= _MOST_READ_AT_ONCE:
            self.root_groups.find_routes()
        if self.is_whole and self.sort is TraceColumn.START and len(self._store.trace_table) < MANY_TRACES:
            self._list_all()
            return
        import numpy as np

        from spanview.analysis.trace_columns import TraceColumns, as_array

        columns = TraceColumns(self._store, self.root_groups, self.known_until)
        listed = np.ones(columns.count, np.bool_)
        if self.matching is not None:
            listed &= columns.flags_of(self.matching)
        if self.limit is not None:
            listed &= columns.flags_of(self.limit, also_from=self._limit_end)
        if self.is_drilled:
            listed &= columns.group_is(self.only_root)
        if self.only_failed:
            listed &= self.have_failed(columns)
        self._plotted = as_array(np.flatnonzero(listed))
        listed &= columns.start_between(*self.picked)
        known = np.array(self.order, np.int64)
        known = known[listed[known]]
        listed[known] = False
        chosen = np.append(known, np.flatnonzero(listed))
        self.errors = int(columns.errors.sum())
        chosen = columns.order(chosen, self.sort, self.called, descending=self.descending)
        self.order = as_array(chosen)
        timed = columns.starts[chosen]
        timed = timed[timed != NO_TIME]
        self.longest_ns = int(columns.durations[chosen].max(initial=1))
        self.spans_days = bool(len(timed)) and int(timed.max()) - int(timed.min()) > _DAY_NS

    def _list_all(self) -> None:
        """List all traces by start, without numpy: the first rows are painted before it could be imported."""
        table = self._store.trace_table
        starts, traces = table.start_ns, range(len(table))
        in_turn = [*self.order, *sorted({*traces}.difference(self.order))]
        self.order = array("I", sorted(in_turn, key=starts.__getitem__, reverse=self.descending))
        self._plotted = array("I", traces)
        self.errors = sum(table.error_count)
        self.longest_ns = max(1, max(map(self.duration_ns, traces), default=1))
        timed = [start for start in starts[: len(traces)] if start != NO_TIME]
        self.spans_days = bool(timed) and max(timed) - min(timed) > _DAY_NS

    def limit_to(self, traces: set[int] | None) -> None:
        """List only these of the traces that are there now."""
        self.limit, self._limit_end = traces, len(self._store.trace_table)

    def limit_by(self, choose: Callable[[Store], set[int] | None]) -> None:
        """List only the traces that are chosen, and those to come."""
        self._choose, self._trace_count = choose, len(self._store.trace_table)
        self._ran_until_ns = self._last_of(range(self._trace_count))
        self.limit_to(choose(self._store))

    def _last_of(self, traces: Iterable[int]) -> int:
        table = self._store.trace_table
        return max((max(table.start_ns[trace], table.end_ns[trace]) for trace in traces), default=NO_TIME)

    def choose_anew(self, changed: set[int]) -> bool:
        """Choose again where a new run has begun: a pause came before the traces that have come.

        Returns:
            Whether the choice has changed.
        """
        if self._choose is None:
            return False
        starts = self._store.trace_table.start_ns
        new = [starts[trace] for trace in changed if trace >= self._trace_count and starts[trace] != NO_TIME]
        is_new_run = bool(new) and NO_TIME != self._ran_until_ns <= min(new) - PAUSE_NS
        self._trace_count, self._ran_until_ns = len(starts), max(self._ran_until_ns, self._last_of(changed))
        if is_new_run:
            self.limit_by(self._choose)
        return is_new_run

    def add_matching(self, traces: Iterable[int]) -> None:
        """Let traces that have come to match into the list, from the next `refresh` on."""
        if self.matching is not None:
            self.matching.update(traces)

    def has_lasting_errors(self, trace: int) -> bool:
        """Tell whether a trace has an error that no retry made good."""
        return self._store.trace_table.error_count[trace] > self._errors_made_good[trace]

    def has_failed(self, trace: int) -> bool:
        """Tell whether something failed in a trace, with an error or without, that no retry made good."""
        return self.has_lasting_errors(trace) or (trace in self.silent and self.silent[trace].lasted)

    def is_visited(self, trace: int) -> bool:
        """Tell whether `next_failure` leads to a listed trace: it does to what a retry made good, too."""
        return self._store.trace_table.error_count[trace] > 0 or trace in self.silent

    def have_failed(self, columns: TraceColumns) -> Flags:
        """Return what `has_failed` does for each trace."""
        failed: Flags = columns.errors > 0
        for trace in self._errors_made_good:
            failed[trace] = self.has_lasting_errors(trace)
        return failed | columns.flags_of(trace for trace, silent in self.silent.items() if silent.lasted)

    def points(self, lit: Sequence[str | None] = ()) -> Points | None:
        """Return what a plot has of the listed traces, and of those outside of picked times; None where there is none.

        Args:
            lit: The root name whose traces are set off from all others; none without.
        """
        if not self._plotted:
            return None
        import numpy as np

        from spanview.analysis.trace_columns import Points, TraceColumns

        of_all = TraceColumns(self._store, self.root_groups, self.known_until)
        traces = np.array(self._plotted, np.int64)
        are_lit = of_all.group_is(lit[0])[traces] if lit else None
        return Points(of_all.starts[traces], of_all.durations[traces], self.have_failed(of_all)[traces], are_lit)

    def groups(self, incomplete: bytes | None = None) -> list[TraceGroup]:
        """Return the listed traces by root name, the most frequent first.

        Args:
            incomplete: 1 for each trace that is incomplete, else 0, as far as that is known.
        """
        self.root_groups.find_routes()
        version = self.version, self._store.version, len(self.root_groups.groups)
        counted = *version, incomplete, self.known_until, self.silent, self.made_good
        if self._groups is None or self._groups[0] != counted:
            self._groups = counted, self.with_open_durations(self.counted_groups(self.order, incomplete))
        return self._groups[1]

    def counted_groups(self, listed: array[int], incomplete: bytes | None) -> list[TraceGroup]:
        """Return groups of traces in an array that nobody adds to, with durations of what has ended; for any thread."""
        from spanview.analysis.trace_columns import TraceColumns, groups_of

        self.root_groups.find_routes()
        columns = TraceColumns(self._store, self.root_groups, self.known_until)
        return groups_of(columns, self.have_failed(columns), listed, incomplete)

    def with_open_durations(self, rows: Sequence[TraceGroup]) -> list[TraceGroup]:
        """Return groups with durations of traces that lack an end."""
        open_ns = defaultdict[str | None, dict[int, OpenEnd]](dict)
        for trace in {*self.order} & self.known_until.keys() if self.known_until else ():
            if (end := self.open_end(trace)) is not None:
                of_group, ns = open_ns[self.group_name(trace)], self.duration_ns(trace)
                of_group[ns] = most_open((end, of_group.get(ns, end)))
        return [row._replace(open_ns=open_ns.get(row.name, {})) for row in rows]

    @property
    def has_many(self) -> bool:
        """Whether so many traces are listed that what is asked of all of them waits for keys."""
        return len(self.order) >= MANY_TRACES

    @property
    def has_few_names(self) -> bool:
        """Whether `groups` takes no longer than a key may."""
        if self.root_groups.open > _MOST_READ_AT_ONCE:
            return False
        return not self.has_many or (len(self.order) < _QUICK and len(self._store.names.texts) < MANY_TRACES)

    def named(self, name: str | None) -> Sequence[int]:
        """Return the listed traces with a root name, from the top; None for those without a root."""
        import numpy as np

        from spanview.analysis.trace_columns import TraceColumns, as_array

        listed = np.array(self.order, np.int64)
        return as_array(listed[TraceColumns(self._store, self.root_groups).group_is(name)[listed]])

    def next_failure(self, names: Sequence[str | None] = (), after: int | None = None, by: int = 1) -> int | None:
        """Return the listed trace with the newest failure, with an error or without; None where none has failed.

        What a retry made good comes after what lasted.

        Args:
            names: The root name that it has to have; none without.
            after: A trace: the one behind it in this order is meant, behind the last one the first.
            by: Below 0 for the one before it.
        """
        visits = self._visits(names)
        if after is None:
            return max(visits.values())[-1] if visits else None
        here = visits[after] if after in visits else self._visits_of([after])[after]
        rest = [other for other in visits.values() if (other < here if by > 0 else other > here)] or visits.values()
        return (max if by > 0 else min)(rest)[-1] if rest else None

    def _visits(self, names: Sequence[str | None]) -> Mapping[int, _Visit]:
        """Return when each listed trace comes in which something failed; found out once for keys that come often."""
        known = self.version, self._store.version, self.silent, self.made_good, (*names,)
        if self._visited is None or self._visited[0] != known:
            listed: Sequence[int] = self.order
            for name in names:
                listed = self.named(name)
            import numpy as np

            from spanview.index.arrays import copy_of

            traces = np.array(listed, np.int64)
            has_failed = copy_of(self._store.trace_table.error_count)[traces] > 0
            if self.silent:
                has_failed |= np.isin(traces, [*self.silent])
            traces = traces[has_failed].tolist()
            self._visited = known, self._visits_of(traces)
        return self._visited[1]

    def _visits_of(self, traces: Sequence[int]) -> dict[int, _Visit]:
        from spanview.analysis.failures import newest_failures

        failures = newest_failures(self._store, traces, self.made_good)
        starts, visits = self._store.trace_table.start_ns, dict[int, _Visit]()
        for trace in traces:
            visit = failures.get(trace, (False, starts[trace]))
            if (silent := self.silent.get(trace)) is not None:
                visit = max(visit, (silent.lasted, silent.newest_ns))
            visits[trace] = *visit, trace
        return visits

    # -- what marks traces -------------------------------------------------------------------------------------------

    def take_living(self, living: Living, now_ns: int) -> None:
        """Take in which traces may still grow, and which run, as of now, in nanoseconds since 1970."""
        self.growing |= living.growing
        self.open_ends = living.open_ends
        self.known_until = {**living.known_until, **dict.fromkeys(living.running, now_ns)}

    def mark_silent(
        self, silent: Mapping[int, FailedSilently], lost: Mapping[int, str], spans: Mapping[int, Unended]
    ) -> None:
        """Mark traces in which something failed without an error, or was lost with its process.

        Args:
            lost: How, in a word or two, by trace.
            spans: Those that are lost, by row.
        """
        of_spans, starts = self._store.spans, self._store.trace_table.start_ns
        newest = {trace: (True, starts[trace]) for trace in lost}
        newest |= dict.fromkeys({of_spans.trace[row] for row in spans}, (False, NO_TIME))
        for row, span in spans.items():
            trace, ended = of_spans.trace[row], max(span.until_ns, of_spans.last_ns(row))
            lasts = not (row in self.made_good or span.is_tried_again)
            newest[trace] = max(newest[trace], (lasts, ended))
        marked = {trace: FailedSilently(label, *newest[trace]) for trace, label in lost.items()}
        for trace, failed in silent.items():
            marked[trace] = FailedSilently(failed.label, *max(failed[1:], newest.get(trace, failed[1:])))
        self.silent = marked

    # -- one trace ---------------------------------------------------------------------------------------------------

    def state(self, trace: int) -> tuple[str, str]:
        """Return the mark of a trace, and what is said of it where no figure does."""
        silent = None if self.is_loading else self.silent.get(trace)
        gone = "" if silent is None else silent.label
        label = gone if silent is not None and silent.lasted else ""
        if trace in self.growing and not self.is_loading:
            mark, word = _RUNNING if self.open_ends.get(trace) is OpenEnd.RUNS else _GROWING
            return mark, f"{word}, {label}" if label else word
        if self.has_lasting_errors(trace):
            return "✖", _MERGED[1] if trace in self.merged else label
        if label:
            return "!", label
        if (open_calls := self.open_calls.get(trace)) and not self.is_loading:
            # What the first rows need not is imported late.
            from spanview.display.call_text import without_attempt_text

            return "◌", without_attempt_text(open_calls, open_calls)
        if trace in self.merged:
            return _MERGED
        facts = self.facts(trace)
        if facts is None or (facts.complete and not facts.without_end):
            return _MADE_GOOD if self.is_visited(trace) and not self.is_loading else (" ", "")
        if self.is_loading:
            return _LOADING
        return (
            _INCOMPLETE if not facts.complete else ("◌", gone or f"{count(facts.without_end, 'span')} without an end")
        )

    def lasted(self, trace: int) -> tuple[int | None, OpenEnd | None]:
        """Return how long a trace lasted, as far as that is known, and what is known of its end."""
        end, facts, table = self.open_end(trace), self.facts(trace), self._store.trace_table
        if end is not None:
            return self.duration_ns(trace), end
        if facts is not None and facts.without_end and trace not in self.known_until:
            # Nobody has asked yet what has become of a span without an end.
            seen_ns = facts.last_ns - table.start_ns[trace]
            is_known = seen_ns > 0 and table.start_ns[trace] != NO_TIME
            return seen_ns if is_known else None, OpenEnd.EARLIEST
        return table.duration_ns(trace), None

    def duration_ns(self, trace: int) -> int:
        """Return nanoseconds from the least start to the greatest end, or to `known_until`; -1 where one is missing."""
        lasted_ns, start_ns = self._store.trace_table.duration_ns(trace), self._store.trace_table.start_ns[trace]
        until_ns = self.known_until.get(trace, NO_TIME)
        seen_ns = -1 if NO_TIME in {until_ns, start_ns} else until_ns - start_ns
        return max(-1 if lasted_ns is None else lasted_ns, seen_ns)

    def open_end(self, trace: int) -> OpenEnd | None:
        """Return what is known of the end of a trace that runs, or that something ends which has no end.

        None where it has ended, and where there is no known time.
        """
        end, ns = self.open_ends.get(trace), self.duration_ns(trace)
        until_ns = self.known_until.get(trace, NO_TIME)
        is_last = end is OpenEnd.RUNS or until_ns - self._store.trace_table.start_ns[trace] == ns
        return end if ns >= 0 and is_last else None

    def root_name(self, trace: int) -> str | None:
        """Return what a trace is called: after its group, a Ray function by its short name; None without a root."""
        name = self.root_groups.of_trace(trace)
        return None if name is None else self.called(name)

    def name_of(self, trace: int) -> str:
        """Return what a trace is called, with a root or without; from a file."""
        name = self.root_name(trace)
        return self.name_without_root(trace) if name is None else name

    def called(self, name: str) -> str:
        """Return what traces are called, by the name of their root or group."""
        return name_of_trace(self.names[name])

    def requested(self, trace: int) -> str:
        """Return the path that a request asked for, where its name has another route; empty for all else."""
        row, name = self._store.trace_table.root_row[trace], self.root_groups.of_trace(trace)
        asked = "" if row == NO_ROW else self._store.names.texts[self._store.spans.name[row]]
        path = asked.rpartition(" ")[2]
        return "" if name is None or name.endswith(path) else path

    def name_without_root(self, trace: int) -> str:
        """Return what a trace without a root is called, as far as it was stitched, in words from a file."""
        facts = self.facts(trace)
        return PARENT_NOT_SEEN if facts is None else facts.without_root

    def group_name(self, trace: int) -> str | None:
        """Return the group that a trace belongs to, as far as that was found out; None where it has no root."""
        row = self._store.trace_table.root_row[trace]
        return None if row == NO_ROW else self.root_groups.of_name(self._store.spans.name[row])

    def group_names(self, traces: Iterable[int]) -> set[str | None]:
        """Return the groups of many traces, each once, as `group_name` has that of one."""
        roots = {*map(self._store.trace_table.root_row.__getitem__, traces)}
        of_roots = {*map(self._store.spans.name.__getitem__, roots - {NO_ROW})}
        return {*map(self.root_groups.of_name, of_roots), *([None] if NO_ROW in roots else [])}

    def facts(self, trace: int) -> TraceFacts | None:
        """Return what stitching tells; None where it would take too long to do while painting, or no span is in yet."""
        table = self._store.trace_table
        known, version = self._facts.get(trace), table.version(trace)
        if known is not None and known[0] == version:
            return known[1]
        if table.span_count[trace] > HUGE and not self.stitches_huge:
            return known[1] if known is not None else None
        tree, spans = self._store.tree(trace), self._store.spans
        if not tree.rows:
            # The reading thread has entered the trace, and not yet its first span.
            return None
        missing = format_span_id(tree.missing[0]) if tree.missing else ""
        root = table.root_row[trace]
        service = spans.service[tree.rows[0] if root == NO_ROW else root]
        facts = TraceFacts(
            count_processes(self._store.processes, ((spans.process[row], spans.service[row]) for row in tree.rows)),
            tree.complete,
            count_without_end(self._store, tree),
            last_known_ns(self._store, tree),
            missing,
            name_without_root(self._store, tree),
            service,
            len({spans.service[row] for row in tree.rows}),
        )
        self._facts[trace] = version, facts
        if len(self._facts) > _KEPT_FACTS:
            self._facts.popitem(last=False)
        return facts
