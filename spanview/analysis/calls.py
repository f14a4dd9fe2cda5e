"""Ray calls: a PRODUCER, what it submitted, and how that went.

f ray.remote         |==|                          submitted
f ray.remote_worker       ┈┈┈┈|======|✖            waited before it ran, ran, failed
f ray.remote_worker                    |=====|     ran again: the call was retried

The two names of a call can differ (`main.<locals>.A.ok` and `A.ok`), so its spans are paired by parent id.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from spanview.analysis.exits import exits_among
from spanview.analysis.serve_calls import served_in
from spanview.analysis.stats import histogram, nearest_rank
from spanview.analysis.telling import unheard
from spanview.index.slots import IS_KNOWN_HASH
from spanview.index.table import PAYS_FROM
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, ERROR, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spanview.analysis.diagnosis.finding import Certainty
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

Numbers: TypeAlias = tuple[set[int], set[int]]
"""Of the names of spans that submit calls, and of those that are attempts."""
SUBMITTED: Final = " ray.remote"
"""How the name of a span ends that submits a call."""
CONSTRUCTED: Final = f"__init__{SUBMITTED}"
"""How the name of a span ends that submits an actor's constructor."""
RAN: Final = " ray.remote_worker"
"""How the name of a span ends that is an attempt to run one."""
_TOLD_EVERY: Final = 1024
"""Traces."""


class Outcome(StrEnum):
    """How a call went, as far as files tell."""

    ENDED = "ended"
    """Its only attempt ended without an error, which `sys.exit`, cancelled calls and unpicklable results do, too."""
    ERROR = "error"
    """Its last attempt ended with one, which isn't that of `exit_actor`."""
    RESTARTED = "restarted"
    """An actor's constructor ran again, because its process had ended: nobody called it again."""
    RETRIED = "retried"
    """An attempt before the last one was not the end of it."""
    SUBMIT_ERROR = "submit error"
    """It was never submitted: its PRODUCER has failed and has no attempt."""
    NO_ATTEMPT = "no attempt seen"
    """`reasons.reasons_of` tells why, as far as files do."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call."""

    row: int
    """Of its PRODUCER in the span table."""
    function: str
    """The PRODUCER's name without its ending."""
    attempts: tuple[int, ...]
    """The rows of its CONSUMERs, by start, then span id; of a call that Ray Serve routed, its replica's span."""
    wait_ns: int | None
    """From the PRODUCER's end to the earliest attempt's start, 0 where that comes earlier; None without these times."""
    run_ns: int | None
    """The duration of its last attempt; None where there is none, or no end of it."""
    outcome: Outcome


class Calls:
    """The calls of a store, by row, three small columns.

    Args:
        store: Where the spans are.
        producers: The rows of the PRODUCERs.
        attempts: The rows of their attempts, those of each call behind one another, by start, then span id.
        firsts: Where those of each call begin among them, and the number of all.
        is_everything: Whether these are the calls of all traces.
    """

    def __init__(
        self,
        store: Store,
        producers: array[int],
        attempts: array[int],
        firsts: array[int],
        *,
        is_everything: bool = False,
    ) -> None:
        self._store = store
        self.is_everything = is_everything
        self.rows = producers
        self._attempts = attempts
        self._firsts = firsts

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Call]:
        return map(self.__getitem__, range(len(self)))

    @property
    def columns(self) -> tuple[array[int], array[int], array[int]]:
        """The columns that it was made of."""
        return self.rows, self._attempts, self._firsts

    def of_function(self, function: str) -> list[int]:
        """Return the places of the calls of a function."""
        names, texts = self._store.spans.name, self._store.names.texts
        wanted = {number for number, text in enumerate(texts) if text == function + SUBMITTED}
        return [at for at, row in enumerate(self.rows) if names[row] in wanted]

    def __getitem__(self, at: int) -> Call:
        spans, names = self._store.spans, self._store.names.texts
        row, attempts = self.rows[at], tuple(self._attempts[self._firsts[at] : self._firsts[at + 1]])
        starts = [start for start in map(spans.start_ns.__getitem__, attempts) if start != NO_TIME]
        submitted = spans.end_ns[row]
        last = attempts[-1] if attempts else None
        has_times = last is not None and NO_TIME not in (spans.start_ns[last], spans.end_ns[last])
        return Call(
            row,
            names[spans.name[row]].removesuffix(SUBMITTED),
            attempts,
            max(0, min(starts) - submitted) if starts and submitted != NO_TIME else None,
            spans.end_ns[last] - spans.start_ns[last] if last is not None and has_times else None,
            self._outcome(row, attempts),
        )

    def _outcome(self, row: int, attempts: tuple[int, ...]) -> Outcome:
        status = self._store.spans.status
        if not attempts:
            return Outcome.SUBMIT_ERROR if status[row] == ERROR else Outcome.NO_ATTEMPT
        if status[attempts[-1]] == ERROR and not exits_among(self._store, attempts[-1:]):
            return Outcome.ERROR
        if len(attempts) == 1:
            return Outcome.ENDED
        name = self._store.names.texts[self._store.spans.name[row]]
        return Outcome.RESTARTED if name.endswith(CONSTRUCTED) else Outcome.RETRIED


@dataclass(slots=True)
class Function:
    """The calls of one function or actor method."""

    function: str
    calls: int = 0
    attempts: int = 0
    errors: int = 0
    """Attempts with status ERROR, those left out that `exit_actor` ended."""
    submit_errors: int = 0
    """Calls whose PRODUCER has status ERROR and no attempt."""
    retried: int = 0
    """Calls with more than one attempt."""
    no_attempt: int = 0
    """Calls without an attempt and without an error, those in `untraced` left out."""
    ended: int = 0
    """Calls whose last attempt ended without an error."""
    waits_ns: Sequence[int] = field(default_factory=list)
    """Of each call that waited, sorted, in nanoseconds."""
    runs_ns: Sequence[int] = field(default_factory=list)
    """Of each attempt that has both times, sorted, in nanoseconds."""
    max_concurrency: int = 0
    """How many attempts ran at one time at the most."""
    existing: int = 0
    """PRODUCERs of a constructor that constructed nothing, because the actor existed already; they are no calls."""
    untraced: int = 0
    """Calls without an attempt that ran or run, certainly or likely, because tracing leaves their method out."""
    generator: Certainty | None = None
    """How sure it is that attempts end when a generator is made, so that runs aren't known; None where nothing says."""
    cold_starts: int = 0
    """Calls whose first attempt is the first one of its worker process."""
    cold_wait_ns: int = 0
    """How long these waited, all together."""

    def to_json(self) -> dict[str, Any]:
        """Return it as `spanview stats --by ray --json` prints it."""
        names = ("function", "calls", "attempts", "errors", "submit_errors", "retried", "no_attempt")
        more = ("existing", "untraced", "cold_starts", "cold_wait_ns")
        is_likely = self.generator is not None and self.generator.value == "likely"
        return {
            **{name: getattr(self, name) for name in (*names, *more)},
            "generator": "likely" if is_likely else self.generator is not None,
            "max_concurrency": None if self.generator else self.max_concurrency,
            "wait_ns": percentiles(self.waits_ns),
            "run_ns": percentiles(self.known_runs_ns),
        }

    @property
    def known_runs_ns(self) -> Sequence[int]:
        """How long its attempts ran; none of a generator, whose spans don't say it."""
        return () if self.generator else self.runs_ns

    @property
    def failures(self) -> int:
        """How many attempts failed, and how many calls were never submitted."""
        return self.errors + self.submit_errors

    @property
    def wait_histogram(self) -> list[int]:
        """How many waits have each power of ten, as `histogram` has it."""
        return histogram(self.waits_ns)

    @property
    def run_histogram(self) -> list[int]:
        """How many runs have each power of ten, as `histogram` has it."""
        return histogram(self.known_runs_ns)


def percentiles(values: Sequence[int]) -> dict[str, int | None]:
    """Return p50, p95 and max of sorted values by their names; None where there are none."""
    return {
        "p50": nearest_rank(values, 50),
        "p95": nearest_rank(values, 95),
        "max": values[-1] if values else None,
    }


def calls_of(store: Store, traces: Sequence[int] | None = None, tell: Tell = unheard) -> Calls:
    """Return the calls of all traces, or of some, in the order of arrival.

    Args:
        store: Where the spans are.
        traces: Numbers of the traces that count; None for all.
        tell: Told how far it is.
    """
    numbers = numbers_of_calls(store)
    if not numbers[0]:
        return Calls(store, array("I"), array("I"), array("I", [0]))
    if IS_KNOWN_HASH and len(store.spans) >= PAYS_FROM:
        from spanview.analysis import bulk_calls

        columns = bulk_calls.calls_of(store, numbers, traces, tell)
        return Calls(store, *columns, is_everything=traces is None)
    pairs = dict[int, list[int]]()
    chosen = range(len(store.trace_table)) if traces is None else traces
    for at, trace in enumerate(chosen):
        if not at % _TOLD_EVERY:
            tell(at / len(chosen))
        pairs |= calls_of_trace(store, store.tree(trace), numbers)
    producers, firsts = array("I", sorted(pairs)), array("I", [0])
    attempts = array("I")
    for row in producers:
        attempts.extend(pairs[row])
        firsts.append(len(attempts))
    return Calls(store, producers, attempts, firsts, is_everything=traces is None)


def calls_of_trace(store: Store, tree: TraceTree, numbers: Numbers | None = None) -> dict[int, list[int]]:
    """Return the rows of a trace's PRODUCERs, and those of their attempts by start, then span id.

    Args:
        store: Where the spans are.
        tree: The stitched trace.
        numbers: Those of calls' names, where they are known already.
    """
    spans, (submits, runs) = store.spans, numbers or numbers_of_calls(store)
    found = {row: list[int]() for row in tree.rows if spans.kind[row] == PRODUCER and spans.name[row] in submits}
    if not found:
        return found
    # Nodes come by start, then span id.
    for row, parent in zip(tree.rows, tree.parents, strict=False):
        is_attempt = spans.kind[row] == CONSUMER and spans.name[row] in runs
        if is_attempt and parent != ROOT and not tree.is_missing(parent):
            attempts = found.get(tree.rows[parent])
            if attempts is not None:
                attempts.append(row)
    for call, replica in served_in(store, tree, [row for row, attempts in found.items() if not attempts]).items():
        found[call].append(replica)
    return found


def numbers_of_calls(store: Store) -> Numbers:
    """Return the numbers of the names of spans that submit calls, and of those that are attempts."""
    texts = store.names.texts
    submits, runs = ({at for at, text in enumerate(texts) if text.endswith(ending)} for ending in (SUBMITTED, RAN))
    return submits, runs


def functions_of(store: Store, calls: Calls, tell: Tell = unheard) -> list[Function]:
    """Return what is to be said of each function, those with the most calls first, then by name.

    Args:
        store: Where the spans are.
        calls: The calls that count.
        tell: Told how far it is.
    """
    if IS_KNOWN_HASH and len(store.spans) >= PAYS_FROM:
        from spanview.analysis import bulk_calls

        functions = bulk_calls.functions_of(store, calls)
    else:
        functions = _functions_of(store, calls, tell)
    if functions:
        _complete(store, calls, functions)
    return sorted(functions, key=lambda function: (-function.calls, function.function))


def _complete(store: Store, calls: Calls, functions: Iterable[Function]) -> None:
    """Add to what was counted what more than the calls themselves tells: reasons, generators, cold starts."""
    from spanview.analysis.generators import generators_of
    from spanview.analysis.reasons import Reason, reasons_of
    from spanview.analysis.waits import cold_starts_of

    texts, names, statuses = store.names.texts, store.spans.name, store.spans.status
    of_name, generators = {function.function: function for function in functions}, generators_of(store)
    for row, why in reasons_of(store, calls).items():
        function = of_name[texts[names[row]].removesuffix(SUBMITTED)]
        is_existing = why.reason is Reason.EXISTING
        function.calls -= is_existing
        function.existing += is_existing
        function.untraced += why.reason is Reason.UNTRACED
        if statuses[row] == ERROR:
            function.submit_errors -= is_existing
        else:
            function.no_attempt -= why.reason in {Reason.EXISTING, Reason.UNTRACED}
    for function in of_name.values():
        function.generator = generators.get(function.function)
    for row, wait_ns in cold_starts_of(store, calls).items():
        function = of_name[texts[names[row]].removesuffix(SUBMITTED)]
        function.cold_starts += 1
        function.cold_wait_ns += wait_ns


def _functions_of(store: Store, calls: Calls, tell: Tell) -> list[Function]:
    spans = store.spans
    functions = dict[str, Function]()
    waits, times = defaultdict[str, list[int]](list), defaultdict[str, list[tuple[int, int]]](list)
    for at, call in enumerate(calls):
        if not at % _TOLD_EVERY:
            tell(at / len(calls))
        function = functions.setdefault(call.function, Function(call.function))
        function.calls += 1
        function.attempts += len(call.attempts)
        function.errors += sum(1 for row in call.attempts if spans.status[row] == ERROR)
        function.errors -= len(exits_among(store, call.attempts))
        function.submit_errors += call.outcome is Outcome.SUBMIT_ERROR
        function.no_attempt += call.outcome is Outcome.NO_ATTEMPT
        function.retried += len(call.attempts) > 1
        function.ended += call.outcome in {Outcome.ENDED, Outcome.RETRIED, Outcome.RESTARTED}
        if call.wait_ns is not None:
            waits[call.function].append(call.wait_ns)
        pairs = ((spans.start_ns[row], spans.end_ns[row]) for row in call.attempts)
        times[call.function] += [pair for pair in pairs if NO_TIME not in pair]
    for name, function in functions.items():
        function.waits_ns = array("q", sorted(waits[name]))
        function.runs_ns = array("q", sorted(end - start for start, end in times[name]))
        function.max_concurrency = most_at_once(times[name])
    return [*functions.values()]


def most_at_once(times: Iterable[tuple[int, int]]) -> int:
    """Return how many of some intervals there are at one time at the most; one that ends as another starts is over.

    Args:
        times: Starts and ends; one that takes no time is there all the same.
    """
    changes = Counter[int]()
    for start, end in times:
        changes[start] += 1
        changes[max(end, start + 1)] -= 1
    now = most = 0
    for _, change in sorted(changes.items()):
        now += change
        most = max(most, now)
    return most


def to_json(functions: Iterable[Function]) -> dict[str, Any]:
    """Return the functions as `spanview stats --by ray --json` prints them."""
    return {"by": "ray", "functions": [function.to_json() for function in functions]}
