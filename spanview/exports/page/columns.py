"""The traces of a page and their rows, as columns: every figure in them is what the commands print.

A row is a span, or the placeholder of a missing parent. Those of a trace stand together, parents before what hangs
below them; times count from the start of their trace.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.answer import answer_of
from spanview.analysis.critical import Blame, critical_path
from spanview.analysis.ray.executions import run_word
from spanview.analysis.ray.joined import joined
from spanview.analysis.ray.known_calls import KnownCalls
from spanview.analysis.ray.names import call_names, short_names
from spanview.analysis.ray.unended import known_until, unended_text
from spanview.analysis.ray.unseen import guesses
from spanview.analysis.ray.waits import wait_of
from spanview.analysis.selftime import own_stretches, self_times
from spanview.analysis.serve.calls import served_in_tree
from spanview.analysis.silent import lost_spans, silent_failures
from spanview.display.answer_text import whole_answer_text
from spanview.display.trace_words import count_without_end, name_without_root, path_text
from spanview.display.units import count
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, ERROR, KIND_NAMES, PRODUCER
from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.times import NO_TIME, NS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spanview.analysis.ray.unended import Unended
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

MISSING, CYCLE, SUBMITS, JOINED = 1, 2, 4, 8
"""Bits of a row: a placeholder; a circle of parents was cut above it; it submits a Ray call; and has one attempt, the \
next row, so that the two can be shown as one."""
_MAX_NAME_LENGTH: Final = 1_000
_CUT_NAME: Final = f"names of more than {_MAX_NAME_LENGTH:,} characters cut"
_MAX_GUESSED: Final = 100
"""Traces whose missing parents are guessed: every guess looks at all spans."""


class Texts:
    """Texts that many rows share, each with a number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text."""
        return self.numbers.setdefault(text, len(self.numbers))


class Columns:
    """The columns of some traces."""

    def __init__(
        self, store: Store, traces: Sequence[int], unended: Mapping[int, Unended], lose: Callable[[str], None]
    ) -> None:
        self._store = store
        self._unended = unended
        self._until = known_until(unended)
        self._lose = lose
        self._names, self._services, self._files = Texts(), Texts(), Texts()
        self.span_rows: list[int] = []
        """The rows of the spans in the store, in the order of the page."""
        self._traces = defaultdict[str, list[Any]](list)
        self._rows = defaultdict[str, list[Any]](list)
        self._sparse = defaultdict[str, dict[int, Any]](dict)
        """Of what few rows have, by the number of the row: `mark` stands behind a name, `note` is said of a placeholder
        or of a span without an end, `own` are stretches in which nothing runs below a row that has something there."""
        self._submits, _ = call_names(store)
        self._known = KnownCalls(store, traces)
        reasons = self._known.reasons_among(row for trace in traces for row in store.rows_of_trace(trace))
        is_open = (lambda _: None) if store.ask_lives is None else store.ask_lives(store).is_open
        self._failures = silent_failures(store, traces, is_open, reasons=reasons)[0] | lost_spans(unended)
        self._guessed = 0
        numbers = {store.spans.name[row] for trace in traces for row in store.rows_of_trace(trace)}
        self._short = short_names(map(store.names.texts.__getitem__, sorted(numbers)))
        for trace in traces:
            self._add(trace, store.tree(trace))

    @property
    def overview(self) -> dict[str, Any]:
        """The traces, and the texts that they and the rows have in common, as the page's script reads them."""
        names = [*self._names.numbers]
        short = {number: self._short[name] for number, name in enumerate(names) if self._short.get(name, name) != name}
        return {
            "names": [*map(self._cut, names)],
            "short": {str(number): self._cut(text) for number, text in short.items()},
            "services": [*map(self._cut, self._services.numbers)],
            "files": [*self._files.numbers],
            "kinds": KIND_NAMES,
            "traces": self._traces,
        }

    @property
    def rows(self) -> dict[str, Any]:
        """The rows, as the page's script reads them."""
        sparse = {name: [[*values], [*values.values()]] for name, values in self._sparse.items()}
        return {**self._rows, "span_id": "".join(self._rows["span_id"]), "sparse": sparse}

    def _cut(self, text: str) -> str:
        if len(text) <= _MAX_NAME_LENGTH:
            return text
        self._lose(_CUT_NAME)
        return f"{text[:_MAX_NAME_LENGTH]}… {len(text):,} characters in all"

    def _add(self, trace: int, tree: TraceTree) -> None:
        """Add a trace, and its rows."""
        store, table, texts = self._store, self._store.trace_table, self._store.names.texts
        first, origin, root = len(self._rows["depth"]), max(0, table.start_ns[trace]), table.root_row[trace]
        path = critical_path(tree, store.spans, store.names, self._until)
        name = texts[store.spans.name[root]] if root != NO_ROW else name_without_root(store, tree)
        services = {store.services.texts[store.spans.service[row]] for row in tree.rows} - {""}
        values = {
            "id": format_trace_id(trace_id) if (trace_id := table.trace_id(trace)) else "",
            "name": self._names.number(name),
            "first": first,
            "second": None if table.start_ns[trace] == NO_TIME else origin // NS_PER_SECOND,
            "nanosecond": origin % NS_PER_SECOND,
            "length": table.duration_ns(trace),
            "spans": len(tree.rows),
            "errors": sum(store.spans.status[row] == ERROR for row in tree.rows),
            "silent": sum(row in self._failures for row in tree.rows),
            "processes": len({store.spans.process[row] for row in tree.rows}),
            "services": [*map(self._services.number, sorted(services))],
            "complete": tree.complete,
            "missing": len(tree.missing),
            "unended": count_without_end(store, tree),
            "answer": whole_answer_text(answer_of(store, trace, tree, self._until, self._known), self._short),
            "path": path_text(path, len({segment.node for segment in path.segments})),
        }
        for column, value in values.items():
            self._traces[column].append(value)
        nodes = tree.in_order()
        position = dict(zip(nodes, range(len(nodes)), strict=True))
        self._add_rows(tree, origin, first)
        self._add_stretches(tree, {node: first + index for node, index in position.items()})
        stretches = [path.segments[0].start_ns - origin] if path.segments else []
        for segment in path.segments:
            # They follow each other without a gap; what is the span's own is even, what it waited is odd.
            stretches += [2 * position[segment.node] + (segment.kind is Blame.WAIT), segment.end_ns - segment.start_ns]
        self._rows["path"].append(stretches)

    def _add_rows(self, tree: TraceTree, origin: int, number: int) -> None:
        """Add the rows of a trace.

        Args:
            origin: When it starts, in nanoseconds since 1970.
            number: How many rows come before it.
        """
        store, spans, columns = self._store, self._store.spans, self._rows
        own, joins = self_times(tree, spans), {*joined(store, tree)[1].values()}
        marks, guessed, last = self._marks(tree), self._guesses(tree), 0
        for number, (node, depth) in enumerate(tree.walk(), number):  # noqa: B020, PLR1704 - counted on
            is_missing, parent = tree.is_missing(node), tree.parents[node]
            row = NO_ROW if is_missing else tree.rows[node]
            start = tree.start_ns(node)
            end = NO_TIME if is_missing else spans.end_ns[row]
            submits = not is_missing and self._is_call(row)
            flags = [(MISSING, is_missing), (CYCLE, node in tree.cut), (SUBMITS, submits), (JOINED, row in joins)]
            is_attempt = not is_missing and spans.kind[row] == CONSUMER and parent != ROOT
            waited = 0 if is_missing else wait_of(store, tree, node)
            columns["depth"].append(depth)
            columns["flags"].append(sum(bit for bit, is_set in flags if is_set))
            columns["start"].append(None if start == NO_TIME else start - origin - last)
            last = last if start == NO_TIME else start - origin
            columns["length"].append(None if NO_TIME in (start, end) else end - start)
            columns["own"].append(own[node])
            columns["wait"].append(waited if waited or is_attempt else None)
            columns["span_id"].append(format_span_id(tree.span_id(node)))
            if is_missing:
                for column in ("name", "service", "kind", "status", "file"):
                    columns[column].append(0)
                self._sparse["note"][number] = guessed.get(tree.span_id(node), "")
                continue
            self.span_rows.append(row)
            columns["name"].append(self._names.number(store.names.texts[spans.name[row]]))
            columns["service"].append(self._services.number(store.services.texts[spans.service[row]]))
            columns["kind"].append(spans.kind[row])
            columns["status"].append(spans.status[row])
            columns["file"].append(self._files.number(store.sources[spans.source[row]].path))
            if row in self._unended:
                self._sparse["note"][number] = unended_text(self._unended[row])
            if row in self._failures:
                self._sparse["silent"][number] = self._failures[row].text
            if node in marks:
                self._sparse["mark"][number] = marks[node]

    def _guesses(self, tree: TraceTree) -> dict[int, str]:
        """Return what missing parents probably are, by span id."""
        if not tree.missing or self._guessed >= _MAX_GUESSED:
            return {}
        self._guessed += 1
        names = {span_id: guess.name for span_id, guess in guesses(self._store, tree).items()}
        short = short_names(names.values())
        return {span_id: short.get(name, name) for span_id, name in names.items()}

    def _is_call(self, row: int) -> bool:
        """Return whether a span submits a Ray call."""
        return self._store.spans.kind[row] == PRODUCER and self._store.spans.name[row] in self._submits

    def _marks(self, tree: TraceTree) -> dict[int, str]:
        """Return what is said of Ray calls that have more or less than one attempt, and of their attempts, by node."""
        store, kinds, marks = self._store, self._store.spans.kind, dict[int, str]()
        calls = [node for node, row in enumerate(tree.rows) if self._is_call(row)]
        served = served_in_tree(store, tree, tree.rows) if calls else {}
        for node in calls:
            row, attempts = tree.rows[node], tree.children(node)
            if len(attempts) > 1:
                word = run_word(store, [tree.rows[child] for child in attempts[:2]])
                marks[node] = count(len(attempts), word)
                attempts = [child for child in attempts if kinds[tree.rows[child]] == CONSUMER]
                marks |= {child: f"{word} {number:,}" for number, child in enumerate(attempts, 1)}
            elif not attempts and row not in served and row not in self._failures:
                why = self._known.reasons.get(row)
                marks[node] = f"◌ {'no attempt seen' if why is None else why.label}"
        return marks

    def _add_stretches(self, tree: TraceTree, numbers: Mapping[int, int]) -> None:
        """Add when nothing runs below the rows that have something there."""
        rows, parents, ends = tree.rows, {*tree.parents}, dict[int, int]()
        for node, start, end in own_stretches(tree, self._store.spans):
            if node not in parents:
                continue
            stretches = self._sparse["own"].setdefault(numbers[node], [])
            # From the row's start, or the last end, and how long.
            stretches += [start - ends.get(node, self._store.spans.start_ns[rows[node]]), end - start]
            ends[node] = end
