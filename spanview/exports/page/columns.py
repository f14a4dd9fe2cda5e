"""The traces of a page and their rows, as columns: every figure in them is what the commands print.

A row is a span, or the placeholder of a missing parent. Those of a trace stand together, parents before what hangs
below them; times count from the start of their trace. All rows come from the walk of all traces at once.
"""

from __future__ import annotations

from binascii import hexlify
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.analysis.answer import answers_along
from spanview.analysis.critical import paths_in, shares_of
from spanview.analysis.failures import errors_made_good
from spanview.analysis.forest_selftime import exact, stretches_in_forest
from spanview.analysis.ray.executions import run_word
from spanview.analysis.ray.joined import joined_in
from spanview.analysis.ray.known_calls import KnownCalls
from spanview.analysis.ray.names import call_names, short_names
from spanview.analysis.ray.unended import known_until, open_end_of, unended_text
from spanview.analysis.ray.unseen import guesses
from spanview.analysis.ray.wait_causes import LETTERS
from spanview.analysis.ray.waits import waits_in
from spanview.analysis.ray.workers import is_told
from spanview.analysis.root_groups import RootGroups
from spanview.analysis.serve.calls import served_in
from spanview.analysis.serve.requests import Part, name_of_trace, numbers_of
from spanview.analysis.silent import labels_of_traces, lost_spans, silent_failures
from spanview.analysis.walk import walk
from spanview.display.answer_text import as_far_as_known, whole_answer_text
from spanview.display.trace_words import name_without_root, path_text
from spanview.display.tree_text import lasted_text
from spanview.display.units import count
from spanview.index.arrays import copy_of
from spanview.index.forest import ROOT, trees_of
from spanview.index.table import NO_ROW
from spanview.model.codes import CONSUMER, ERROR, KIND_NAMES, PRODUCER
from spanview.model.times import NO_TIME, NS_PER_SECOND
from spanview.reports.traces_model import has_services, service_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.critical import Paths, Share
    from spanview.analysis.ray.unended import Unended
    from spanview.index.arrays import Flags, Places
    from spanview.index.forest import Trees
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

MISSING, CYCLE, SUBMITS, JOINED, FIRST = 1, 2, 4, 8, 16
"""Bits of a row: a placeholder; a circle of parents was cut above it; it submits a Ray call; and has one attempt, the \
next row, so that the two can be shown as one; it is the first attempt of a call."""
MAX_NAME_LENGTH: Final = 1_000
"""Characters of a name that a page has."""
_CUT_NAME: Final = f"shortened {{name}} of more than {MAX_NAME_LENGTH:,} characters"
_MAX_GUESSED: Final = 100
"""Traces whose missing parents are guessed: every guess looks at all spans."""


class Columns:
    """The columns of some traces."""

    def __init__(self, store: Store, traces: Sequence[int], unended: Mapping[int, Unended]) -> None:
        self._store, self._traces = store, traces
        self.names: dict[str, int] = {}
        """The numbers of texts that many rows share, as those of the next two."""
        self._services, self.files = dict[str, int](), dict[str, int]()
        self._walk = walk(store, np.array(traces, np.int64))
        self._forest = self._walk.forest
        self._is_first = self._first_children()
        """Which spans stand behind the placeholder of their parent, in the order of the page; as `_numbers`."""
        self._numbers = np.arange(len(self._is_first)) + np.cumsum(self._is_first)
        """The numbers of the rows of all spans."""
        self._number_of = np.empty(len(self._numbers), np.int64)
        """The same by position in the forest."""
        self._number_of[self._walk.positions] = self._numbers
        self.span_rows: list[int] = self._walk.rows.tolist()
        """The rows of the spans in the store, in the order of the page."""
        self.known, self._groups = KnownCalls(store, traces), RootGroups(store)
        self.shares: list[Share] | None = None
        """What names take of critical paths; None where a trace has no usable id."""
        reasons = self.known.reasons_among(self.span_rows)
        is_open = (lambda _: None) if store.ask_lives is None else store.ask_lives(store).is_open
        lost = lost_spans(unended)
        self.failures = silent_failures(store, traces, is_open, reasons=reasons)[0]
        labels = labels_of_traces(store, self.failures)
        self.failures |= lost
        """What failed without an error, by row."""
        self._short = short_names(map(store.names.texts.__getitem__, np.unique(self._forest.of("name")).tolist()))
        notes = {number: unended_text(unended[row]) for number, row in self.numbered(unended)}
        silent = {number: self.failures[row].text for number, row in self.numbered(self.failures)}
        until = known_until(unended)
        of_trees = self._of_trees(traces, until, notes)
        names = of_trees.pop("name")
        lasting = {row for row in self.failures if row not in unended or not unended[row].is_tried_again}
        silent_numbers = [number for number, _ in self.numbered(lasting)]
        self.traces = self._columns_of_traces(np.array(traces, np.int64), names, silent_numbers, [*lost], until)
        of_traces = enumerate(zip(traces, self.traces["unended"], strict=True))
        of_open = {number: (trace, self._unended_of(trace, unended)) for number, (trace, count) in of_traces if count}
        self._lasted = {
            number: lasted_text(store, trace, store.tree(trace), of_trace)
            for number, (trace, of_trace) in of_open.items()
        }
        """How long traces lasted that have spans without an end, by their places, in words."""
        self._ends = {
            number: open_end_of(of_trace, store.trace_table.end_ns[trace])
            for number, (trace, of_trace) in of_open.items()
        }
        """How sure it is when these ended."""
        self._rows = self._columns_of_rows(traces) | {"path": of_trees.pop("stretches")}
        self.traces |= of_trees | {"label": [labels.get(trace, "") for trace in traces]}
        self._sparse: dict[str, dict[int, Any]] = {
            "mark": self._marks(),
            "note": notes,
            "silent": silent,
            "own": self._stretches(),
            "causes": self._causes(),
        }
        """Of what few rows have, by the number of the row: `mark` stands behind a name, `note` is said of a placeholder
        or of a span without an end, `own` are stretches in which nothing runs below a row that has something there, and
        `causes` what a wait was for, each with how long."""

    def overview(self, lose: Callable[[str], None]) -> dict[str, Any]:
        """The traces, and the texts that they and the rows have in common, as the page's script reads them."""

        def cut(text: str) -> str:
            if len(text) <= MAX_NAME_LENGTH:
                return text
            lose(_CUT_NAME)
            return f"{text[:MAX_NAME_LENGTH]}… {len(text):,} characters in all"

        names = [*self.names]
        short = {number: self._short[name] for number, name in enumerate(names) if self._short.get(name, name) != name}
        return {
            "names": [*map(cut, names)],
            "short": {str(number): cut(text) for number, text in short.items()},
            "services": [*map(cut, self._services)],
            "routes": {str(self.names[name]): cut(route) for name, route in self._routes()},
            "files": [*self.files],
            "kinds": KIND_NAMES,
            "causes": [[letter, cause.brief, cause.name.lower()] for cause, letter in LETTERS.items()],
            "traces": self.traces
            | {"answer": self._answers(), "lasted": {str(number): text for number, text in self._lasted.items()}},
        }

    def _answers(self) -> list[str]:
        """Return where the time of each trace went, in words."""
        answers = answers_along(self._store, self._traces, self._trees, self._paths, self.known)
        texts = [whole_answer_text(answer, self._short) for answer in answers]
        for number, end in self._ends.items():
            (texts[number],) = as_far_as_known([texts[number]], end)
        return texts

    def _routes(self) -> Iterator[tuple[str, str]]:
        """Yield the names of the page's spans that have a route, and the route, after which call paths are called."""
        self._groups.find_routes()
        for number, route in self._groups.groups.items():
            if (name := self._store.names.texts[number]) in self.names:
                yield name, route

    @property
    def rows(self) -> dict[str, Any]:
        """The rows, as the page's script reads them."""
        sparse = {name: [[*values], [*values.values()]] for name, values in self._sparse.items()}
        return {**self._rows, "sparse": sparse}

    # -- places of rows ------------------------------------------------------------------------------------------------

    def _first_children(self) -> Flags:
        """Return which spans, in the order of the page, are the first children of parents that no file holds."""
        are_first = np.zeros(len(self._forest), np.bool_)
        are_first[self._forest.missing()] = True
        return are_first[self._walk.positions]

    def numbered(self, rows: Iterable[int]) -> list[tuple[int, int]]:
        """Return those rows of the store that are on the page, behind the numbers that they have here, in order."""
        there = np.array([*rows], np.int64)
        there = there[np.isin(there, self._forest.rows)]
        numbers = self._number_of[np.searchsorted(self._forest.rows, there)]
        return sorted(zip(numbers.tolist(), there.tolist(), strict=True))

    def firsts(self) -> Places:
        """Return the number of the first row of each trace."""
        firsts = self._walk.firsts
        numbers: Places = self._numbers[firsts] - self._is_first[firsts]
        return numbers

    def filled(self, values: NDArray[Any], empty: int | None = 0) -> NDArray[Any]:
        """Return a value for each row.

        Args:
            values: Of the spans, in the order of the page.
            empty: The value of all placeholders.
        """
        filled = np.full(len(values) + int(self._is_first.sum()), empty, object if empty is None else values.dtype)
        filled[self._numbers] = values
        return filled

    # -- the traces ----------------------------------------------------------------------------------------------------

    def _of_trees(self, traces: Sequence[int], until: Mapping[int, int], notes: dict[int, str]) -> dict[str, list[Any]]:
        """Return what is told of each trace as a whole; what missing parents probably are is added to the notes."""
        store = self._store
        trees, positions = trees_of(self._forest, traces)
        paths = paths_in(trees, store.names, until)
        if all(map(store.trace_table.trace_id, traces)):
            self.shares = shares_of(store, [(trees, paths)])
        self._trees, self._paths = trees, paths
        numbers = self._numbers_of_nodes(trees, positions)
        notes |= dict(self._missing(trees, numbers))
        roots, proxies = [store.trace_table.root_row[trace] for trace in traces], numbers_of(store.names, Part.PROXY)
        spans = np.bincount(trees.traces[np.unique(paths.nodes)], minlength=trees.count).tolist()
        return {
            "name": [
                name_without_root(store, trees.one(index)[0])
                if root == NO_ROW
                else name_of_trace(self._groups.of_trace(traces[index]) or "")
                if store.spans.name[root] in proxies
                else store.spans.name[root]
                for index, root in enumerate(roots)
            ],
            "path": [*map(path_text, paths.reasons, spans)],
            "stretches": self._stretches_of(paths, numbers, traces),
        }

    def _numbers_of_nodes(self, trees: Trees, positions: Places) -> Places:
        """Return the numbers of the rows of all nodes."""
        numbers, count = np.empty(len(trees.tree), np.int64), len(positions)
        numbers[:count] = self._number_of[positions]
        parents = np.array(trees.tree.parents[:count], np.int64)
        orphans = np.flatnonzero(parents >= count)[::-1]
        # The first child is the last that is put in.
        numbers[parents[orphans]] = numbers[orphans] - 1
        return numbers

    def _missing(self, trees: Trees, numbers: Places) -> Iterator[tuple[int, str]]:
        """Yield the numbers of the rows of missing parents, and what they probably are as far as that is asked."""
        count = len(trees.tree.rows)
        for guessed, index in enumerate(np.unique(trees.traces[count:]).tolist()):
            tree, nodes = trees.one(index)
            of_trace = self._guesses(tree) if guessed < _MAX_GUESSED else {}
            for span_id, node in zip(tree.missing, nodes[len(tree.rows) :], strict=True):
                yield int(numbers[node]), of_trace.get(span_id, "")

    def _stretches_of(self, paths: Paths, numbers: Places, traces: Sequence[int]) -> list[list[int]]:
        """Return the critical path of each trace: when it begins after the trace, then where it is, and how long.

        They follow each other without a gap; what is the span's own is even, what it waited is odd.
        """
        bounds, counts = paths.bounds, np.diff(paths.bounds)
        places = 2 * (numbers[paths.nodes] - np.repeat(self.firsts(), counts)) + paths.are_waits
        starts, ends, _ = exact(paths.starts_ns, paths.ends_ns)
        begins = np.maximum(0, copy_of(self._store.trace_table.start_ns)[traces][counts > 0])
        firsts = bounds[:-1][counts > 0]
        stretches = np.insert(np.stack((places, ends - starts), axis=1).ravel(), 2 * firsts, starts[firsts] - begins)
        flat, bounds = stretches.tolist(), 2 * bounds + np.append(0, np.cumsum(counts > 0))
        return [flat[first:end] for first, end in pairwise(bounds.tolist())]

    def _guesses(self, tree: TraceTree) -> dict[int, str]:
        """Return what missing parents probably are, by span id."""
        names = {span_id: guess.name for span_id, guess in guesses(self._store, tree).items()}
        short = short_names(names.values())
        return {span_id: short.get(name, name) for span_id, name in names.items()}

    def _unended_of(self, trace: int, unended: Mapping[int, Unended]) -> dict[int, Unended]:
        return {row: unended[row] for row in {*self._store.rows_of_trace(trace)} & unended.keys()}

    def _columns_of_traces(
        self,
        traces: Places,
        names: Sequence[int | str],
        silent: Sequence[int],
        lost: Sequence[int],
        until: Mapping[int, int],
    ) -> dict[str, Any]:
        """Return what all spans of the traces are counted for.

        Args:
            names: Of each trace, as the number of its root's name or as a text.
            silent: The numbers of the rows of spans that failed without an error, and aren't tried again.
            lost: Which spans were lost with their processes, by row.
            until: Until when spans without an end are known to have run, by row.
        """
        forest, table, texts = self._forest, self._store.trace_table, self._store.names.texts
        index = np.zeros(len(table), np.int64)
        index[traces] = np.arange(len(traces))
        of_spans = index[forest.traces]

        def counts(chosen: Places | Flags | slice) -> list[int]:
            counted: list[int] = np.bincount(of_spans[chosen], minlength=len(traces)).tolist()
            return counted

        starts, ends = ([column[trace] for trace in traces.tolist()] for column in (table.start_ns, table.end_ns))
        # What has no end lasted until something in it began, or until it is known to have run, at least.
        started = np.full(len(traces), NO_TIME)
        np.maximum.at(started, of_spans, forest.of("start_ns"))
        for row in until.keys() & {*forest.rows[forest.of("end_ns") == NO_TIME].tolist()}:
            place = index[self._store.spans.trace[row]]
            started[place] = max(started[place], until[row])
        missing = counts(forest.missing())
        cut = counts(forest.cut)
        lasts = ~np.isin(forest.rows, [*errors_made_good(self._store)])
        are_told = np.array([is_told(self._store.processes, number) for number in range(len(self._store.processes))])
        processes, services = forest.of("process"), len(self._store.services.texts)
        own = processes * services + np.where(are_told[processes], 0, forest.of("service"))
        count = len(are_told) * services
        processes = np.unique(of_spans * count + own) // max(1, count)
        self._number_names(names)
        return {
            "id": [table.hex_id(trace) or "" for trace in traces.tolist()],
            "name": [self.names[name if isinstance(name, str) else texts[name]] for name in names],
            "first": self.firsts().tolist(),
            "second": [None if start == NO_TIME else max(0, start) // NS_PER_SECOND for start in starts],
            "nanosecond": [max(0, start) % NS_PER_SECOND for start in starts],
            "length": [
                None if NO_TIME in (start, end) else max(end, last) - start
                for start, end, last in zip(starts, ends, started.tolist(), strict=True)
            ],
            "spans": counts(slice(None)),
            "errors": counts(forest.of("status") == ERROR),
            "lasting": counts((forest.of("status") == ERROR) & lasts),
            "silent": counts(np.isin(self._number_of, silent) & lasts),
            "processes": np.bincount(processes, minlength=len(traces)).tolist(),
            "services": self._services_of(of_spans, len(traces)),
            "service": self._service_of_each(traces.tolist(), of_spans) if has_services(self._store) else None,
            "complete": [not (without or circles) for without, circles in zip(missing, cut, strict=True)],
            "missing": missing,
            "unended": counts(forest.of("end_ns") == NO_TIME),
            "lost": counts(np.isin(forest.rows, lost)),
        }

    def _number_names(self, of_traces: Sequence[int | str]) -> None:
        """Give the names numbers: those of each trace are that of itself, then those of its rows."""
        names, texts = self._forest.of("name")[self._walk.positions], self._store.names.texts
        of_rows = np.sort(np.unique(names, return_index=True)[1])
        order = [(int(at), 1, texts[names[at]]) for at in of_rows]
        firsts = zip(self._walk.firsts.tolist(), of_traces, strict=True)
        order += [(first, 0, name if isinstance(name, str) else texts[name]) for first, name in firsts]
        for _, _, text in sorted(order):
            _number_in(self.names, text)

    def _services_of(self, of_spans: Places, count: int) -> list[list[int]]:
        """Return the services of each trace in order; now each service has a number."""
        texts = self._store.services.texts
        used, which = np.unique(self._forest.of("service"), return_inverse=True)
        in_order = sorted(used.tolist(), key=lambda number: (not texts[number], texts[number]))
        ranks = {number: rank for rank, number in enumerate(in_order)}
        of_each = np.array([ranks[number] for number in used.tolist()], np.int64)[which]
        services: list[list[int]] = [[] for _ in range(count)]
        for pair in np.unique(of_spans * len(used) + of_each).tolist():
            trace, rank = divmod(pair, len(used))
            number = _number_in(self._services, texts[in_order[rank]])
            if texts[in_order[rank]]:
                services[trace].append(number)
        return services

    def _service_of_each(self, traces: Sequence[int], of_spans: Places) -> list[str]:
        """Return the service of each trace's root, or of its first span without one, and how many more there are."""
        store, root_row = self._store, self._store.trace_table.root_row
        pairs = np.unique(np.stack((of_spans, self._forest.of("service"))), axis=1)
        counts = np.bincount(pairs[0], minlength=len(traces)).tolist()
        roots = [
            first if root_row[trace] == NO_ROW else root_row[trace]
            for trace, first in zip(traces, self._walk.rows[self._walk.firsts].tolist(), strict=True)
        ]
        return [
            service_text(store, store.spans.service[row], number) for row, number in zip(roots, counts, strict=True)
        ]

    # -- the rows ------------------------------------------------------------------------------------------------------

    def _columns_of_rows(self, traces: Sequence[int]) -> dict[str, Any]:
        """Return what the rows have."""
        store, forest, walked, is_first = self._store, self._forest, self._walk, self._is_first
        order, behind = walked.positions, self._numbers[is_first]
        column = {name: forest.of(name)[order] for name in ("name", "service", "kind", "status", "source", "span_id")}
        parents, waits = forest.parents[order], waits_in(forest)[order]
        starts, ends, are_known = exact(forest.of("start_ns")[order], forest.of("end_ns")[order])
        flags = (
            CYCLE * np.isin(order, forest.cut) + SUBMITS * self._are_calls()[order] + JOINED * joined_in(forest)[order]
        ) + FIRST * np.isin(forest.rows[order], self.known.calls.first_attempts)
        ids = self.filled(column["span_id"])
        ids[behind - 1] = forest.of("parent_id")[order][is_first]
        begins, flagged = self.filled(starts), self.filled(flags, MISSING)
        begins[behind - 1] = starts[is_first]
        has_waited = (waits > 0) | ((column["kind"] == CONSUMER) & (parents != ROOT) & (waits != NO_TIME))
        return {
            "depth": self.filled(walked.depths).tolist(),
            "flags": flagged.tolist(),
            "start": self._after_each_other(begins, traces),
            "length": self.filled(_or_none(ends - np.where(are_known, starts, 0), are_known), None).tolist(),
            "own": self.filled(_or_none(walked.own, walked.have), None).tolist(),
            "wait": self.filled(_or_none(waits, has_waited), None).tolist(),
            "span_id": hexlify(ids.astype(">u8").tobytes()).decode(),
            "name": self.filled(_numbered_by(self.names, column["name"], store.names.texts.__getitem__)).tolist(),
            "service": self.filled(
                _numbered_by(self._services, column["service"], store.services.texts.__getitem__)
            ).tolist(),
            "kind": self.filled(column["kind"]).tolist(),
            "status": self.filled(column["status"]).tolist(),
            "file": self.filled(
                _numbered_by(self.files, column["source"], lambda source: store.sources[source].path)
            ).tolist(),
        }

    def _causes(self) -> dict[int, list[int]]:
        """Return what waits were for: whether Ray's own events say so, and the number of a cause, with nanoseconds.

        Several come one after the other; a single one is all of the wait.
        """
        of_rows, waits, causes = self.known.waits.each(), self._rows["wait"], dict[int, list[int]]()
        for number, row in self.numbered(of_rows):
            is_certain, parts = of_rows[row]
            told = [part for cause, ns in enumerate(parts) if ns for part in (cause, ns)]
            causes[number] = [int(is_certain), *(told[:1] if told[1:] == [waits[number]] else told)]
        return causes

    def _after_each_other(self, starts: NDArray[Any], traces: Sequence[int]) -> list[int | None]:
        """Return how long each row starts after the last one before it that has a start, or after the trace."""
        have = np.flatnonzero(starts != NO_TIME)
        firsts = np.append(self.firsts(), len(starts))
        origins = np.array([max(0, self._store.trace_table.start_ns[trace]) for trace in traces], object)
        known = starts[have].astype(object)
        before = np.append([0], known[:-1])[: len(known)]
        begins = np.searchsorted(have, firsts)
        have_any = begins[1:] > begins[:-1]
        before[begins[:-1][have_any]] = origins[have_any]
        after = np.full(len(starts), None, object)
        after[have] = known - before
        result: list[int | None] = after.tolist()
        return result

    def _are_calls(self) -> Flags:
        """Return which spans of the forest submit a Ray call."""
        are_calls: Flags = self._forest.of("kind") == PRODUCER
        are_calls &= np.isin(self._forest.of("name"), [*call_names(self._store.names)[0]])
        return are_calls

    def _marks(self) -> dict[int, str]:
        """Return what is said of Ray calls with more or less than one attempt, and of their attempts, by number."""
        store, forest, marks = self._store, self._forest, dict[int, str]()
        calls = np.flatnonzero(self._are_calls())
        if not len(calls):
            return marks
        below, begins = forest.children()
        counts = np.diff(begins)[calls]
        kinds, rows = store.spans.kind, forest.rows.tolist()
        for call in calls[counts > 1].tolist():
            attempts = below[begins[call] : begins[call + 1]].tolist()
            word = run_word(store, [rows[attempt] for attempt in attempts[:2]])
            marks[int(self._number_of[call])] = count(len(attempts), word)
            attempts = [attempt for attempt in attempts if kinds[rows[attempt]] == CONSUMER]
            marks |= {int(self._number_of[child]): f"{word} {number:,}" for number, child in enumerate(attempts, 1)}
        alone = calls[counts == 0]
        alone = alone[~np.isin(alone, served_in(forest, alone)[0])]
        for call, number in zip(alone.tolist(), self._number_of[alone].tolist(), strict=True):
            if rows[call] not in self.failures:
                why = self.known.reasons.get(rows[call])
                marks[number] = f"◌ {'no attempt seen' if why is None else why.label}"
        return dict(sorted(marks.items()))

    def _stretches(self) -> dict[int, list[int]]:
        """Return when nothing runs below the rows that have something there, by the number of the row."""
        owners, begins, ends = stretches_in_forest(self._forest)
        chosen = np.flatnonzero(np.isin(owners, self._forest.parents))
        chosen = chosen[np.argsort(self._number_of[owners[chosen]], kind="stable")]
        owners, begins, ends = owners[chosen], begins[chosen], ends[chosen]
        firsts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1])[: len(owners)])
        # From the row's start, or the last end, and how long.
        before = np.append(begins[:1], ends[:-1])
        before[firsts] = self._forest.of("start_ns")[owners[firsts]]
        stretches = np.stack((begins - before, ends - begins), axis=1).ravel().tolist()
        numbers, bounds = self._number_of[owners[firsts]].tolist(), [*(2 * firsts).tolist(), len(stretches)]
        return {number: stretches[first:end] for number, (first, end) in zip(numbers, pairwise(bounds), strict=True)}


def _number_in(texts: dict[str, int], text: str) -> int:
    """Return the number of a text; a new one gets the next."""
    return texts.setdefault(text, len(texts))


def _numbered_by(texts: dict[str, int], values: NDArray[Any], text_of: Callable[[int], str]) -> Places:
    """Return the number of the text of each value; new texts get theirs in the order in which they come."""
    used, firsts, which = np.unique(values, return_index=True, return_inverse=True)
    numbers = np.empty(len(used), np.int64)
    for index in np.argsort(firsts).tolist():
        numbers[index] = _number_in(texts, text_of(int(used[index])))
    found: Places = numbers[which]
    return found


def _or_none(values: NDArray[Any], have: NDArray[np.bool_]) -> NDArray[Any]:
    """Return values as Python has them, None where there is none."""
    objects = values.astype(object)
    objects[~have] = None
    return objects
