"""What can be found, in one table, and what a finding says; the page `check` has the same table."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Final, Self

from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_PLACES: Final = 20
"""Places that a finding has as evidence."""
SESSION: Final = "/tmp/ray/session_latest"  # noqa: S108
"""The folder of Ray's session in the advice of the rules."""
HEALTH_CHECKS: Final = r"check_health|health_?check|/-/healthz|/(?:healthz|livez|readyz)\b|grpc\.health\."
"""Matches the names of health checks: of Ray Serve, Kubernetes, gRPC."""
_SETTING: Final = re.compile("`([^`]+)`")
SPANS: Final = "/tmp/spans"  # noqa: S108
"""The folder of span files in the advice of the rules."""
_FRESH_FOLDER: Final = f"Give each run a folder of its own: `mv {SPANS} {SPANS}.$(date +%s)` before it begins."
_HOOK: Final = '`ray.init(_tracing_startup_hook="spanview.ray.hook:setup_tracing")`'
_PATHS: Final = re.compile(f"{SESSION}|{SPANS}|spanview(?: tree| stats)?(?= -)")
"""What paths stand in for, or stand behind: a command without a PATH reads the default places."""
_FULL_SAMPLING: Final = "Run `export RAY_SERVE_TRACING_SAMPLING_RATIO=1.0` where Ray is started, and restart Ray"


class Certainty(StrEnum):
    """How sure a finding is of what it says of the cause."""

    CERTAIN = "certain"
    LIKELY = "likely"


class About(Enum):
    """The spans that a finding counts."""

    SPANS = "spans"
    CALLS = "Ray calls"
    REQUESTS = "requests to Ray Serve"


@dataclass(frozen=True, slots=True)
class Rule:
    """What holds for all findings of a kind."""

    name: str
    """As queries and `--ignore` have it, and what the detector's function is called."""
    meaning: str
    """When there is such a finding, for the page `check`."""
    advice: str
    """What to do, with at most one command or setting, in backquotes."""
    severity: Severity = Severity.INFO
    """Of the usual finding."""
    certainty: Certainty = Certainty.LIKELY
    about: About | None = None
    """What it counts, so that queries such as `finding=no_attempt` find its spans; None where it counts no spans."""


class Kind(StrEnum):
    """What can be found, each with its rule; findings of one severity are reported in this order."""

    rule: Rule

    def __new__(cls, rule: Rule) -> Self:
        """Make a kind that is a text: the name of its rule."""
        kind = str.__new__(cls, rule.name)
        kind._value_, kind.rule = rule.name, rule
        return kind

    TRACE_CTX = Rule(
        "trace_ctx",
        "a call failed only because tracing is on: a `TypeError` about `_ray_trace_ctx`",
        "Ray 2.60 can't trace actor methods that are generators, static methods or class methods. spanview's hook can: "
        f"{_HOOK}. Alternatively, make them ordinary methods, or start Ray without a tracing hook.",
        severity=Severity.ERROR,
        certainty=Certainty.CERTAIN,
        about=About.CALLS,
    )
    NO_ATTEMPT = Rule(
        "no_attempt",
        "a call was submitted, but no worker recorded that it ran: it began and has no end (likely), its actor's "
        "constructor failed, or the call waited or ran when the files were written, died, or could never start. Calls "
        "that may still run, as far as processes show, don't count, unless they wait for what no node has. A warning "
        "where one has failed by itself. If all reasons are known, the advice is to fix the earlier failures",
        "While the program runs, `spanview --follow` shows attempts as they arrive, and ray status whether no node has "
        "what a call needs. Calls that were cancelled, killed with `ray.kill`, or need resources that no node has "
        "never get one; Ray's own events say what became of each, where it is asked to write them "
        "(spanview help tracing). Afterwards, search Ray's logs for workers that died (RAY_TMPDIR and _temp_dir move "
        'them): grep -r "worker died" /tmp/ray/session_latest/logs',
        about=About.CALLS,
    )
    UNTRACED = Rule(
        "untraced",
        "a call of an actor's method has no attempt, likely because Ray's tracing skips it: no call of the method "
        "has one although a later call of its actor ran, or it is a method of Ray Data or Ray Serve's controller that "
        "is known to be skipped. A method that hangs can look the same",
        "Ray's tracing skips actor methods that are generators, static methods or class methods; those that take "
        f"**kwargs still run. To get their times, make them ordinary methods, or use spanview's hook: {_HOOK}",
        about=About.CALLS,
    )
    GENERATORS = Rule(
        "generators",
        "an attempt belongs to a generator task, whose span ends when the generator is created: a task of Ray Data, or "
        "one after which spans without a parent start in the same process",
        "Don't use the duration of these spans. With spanview's hook they last until the generator is exhausted: "
        f"{_HOOK}",
        about=About.CALLS,
    )
    UNSET_ATTEMPTS = Rule(
        "unset_attempts",
        "an attempt has no error, and yet its call was retried, because it was ended by SIGTERM or `sys.exit`, or its "
        "result was lost; or it was cut off, as by `ray.cancel`, where spanview's hook says so; or it failed for its "
        "caller, as Ray's own events say. Under other hooks, cancelled tasks look successful",
        "UNSET doesn't mean that a call succeeded. To see these attempts: `spanview tree -q finding=unset_attempts`",
        about=About.CALLS,
    )
    UNSET_REQUESTS = Rule(
        "unset_requests",
        "a request failed according to its proxy, but its routing and replica spans have the status UNSET",
        "The span status alone doesn't show which requests failed; spanview stats --by serve also considers HTTP and "
        "gRPC status codes and exceptions. To see these spans: `spanview tree -q finding=unset_requests`",
        certainty=Certainty.CERTAIN,
        about=About.REQUESTS,
    )
    BROKEN_STREAMS = Rule(
        "broken_streams",
        "a response of Ray Serve broke off after its status code had been sent: the code says success, but an "
        "exception was recorded",
        "Neither the span status nor the code distinguishes these from successful responses; spanview stats --by serve "
        "counts them as raised, or as cancelled where the client left. To see them: "
        "`spanview tree -q finding=broken_streams`",
        certainty=Certainty.CERTAIN,
        about=About.REQUESTS,
    )
    SAMPLING = Rule(
        "sampling",
        "Ray Serve's files have fewer requests than replica spans without a request, or hardly any requests (an info): "
        "by default only one request in a hundred is traced",
        f"{_FULL_SAMPLING}. On Anyscale, set sampling_ratio: 1.0 in the service's tracing_config.",
        severity=Severity.WARNING,
    )
    LONE_REPLICAS = Rule(
        "lone_replicas",
        "a replica's span has no proxy above it: its request wasn't sampled, or came through a handle",
        f"Calls by a handle have no proxy, and lack nothing. Where none was used: {_FULL_SAMPLING[0].lower()}"
        f"{_FULL_SAMPLING[1:]}, unless that was done.",
        about=About.REQUESTS,
    )
    NO_PROXY_FILE = Rule(
        "no_proxy_file",
        "a folder has files of replicas, but no file of a proxy",
        "This is normal with HAProxy (RAY_SERVE_ENABLE_HA_PROXY=1). Otherwise, note that a TracingConfig given to "
        "serve.start doesn't reach the proxy. Where Ray is started, set "
        "`export RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH=ray.serve._private.tracing_utils:default_tracing_exporter`",
        severity=Severity.WARNING,
    )
    HAPROXY = Rule(
        "haproxy",
        "Ray Serve's requests come through HAProxy (its manager has spans): HAProxy itself writes no spans, so "
        "requests begin at their replicas",
        "The time that a request waited before its replica took it isn't recorded, and requests without a trace "
        "context of their own share a trace: `spanview stats --by serve` tells them apart. To record both, start Ray "
        "without RAY_SERVE_ENABLE_HA_PROXY: `unset RAY_SERVE_ENABLE_HA_PROXY`",
        certainty=Certainty.CERTAIN,
        about=About.CALLS,
    )
    SERVE_UNTRACED = Rule(
        "serve_untraced",
        "Ray calls passed requests to replicas of Ray Serve, but no request has a span: Serve's exporter isn't set, no "
        "request was sampled, or Ray is older than 2.55 (certain if the spans name the version)",
        "Ray Serve traces requests since Ray 2.55. Where Ray is started, set RAY_SERVE_TRACING_SAMPLING_RATIO=1.0 "
        "and `export RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH=spanview.ray.hook:span_processors`",
        about=About.CALLS,
    )
    HEALTH_CHECKS = Rule(
        "health_checks",
        "a fifth or more of all spans are health checks",
        f"To leave them out: `spanview -q '-name~\"{HEALTH_CHECKS}\"'`",
        certainty=Certainty.CERTAIN,
        about=About.SPANS,
    )
    TORN_TAIL = Rule(
        "torn_tail",
        "a file ends in the middle of a record: its writer was killed or is still writing",
        "`spanview --follow` shows the record once it is complete. If its writer is gone, the record is lost.",
        severity=Severity.WARNING,
    )
    TORN_INSIDE = Rule(
        "torn_inside",
        "a file continues after an incomplete record: another process wrote to the file of a killed one",
        f"The incomplete records are lost. If a PID was reused: {_FRESH_FOLDER[0].lower()}{_FRESH_FOLDER[1:]}",
        severity=Severity.WARNING,
    )
    NOT_WRITTEN = Rule(
        "not_written",
        "spanview's hook could not write finished spans, for example because the disk was full, and recorded their "
        "number once it could write again. Spans that a process had no time to count are not included",
        "These spans are lost; the program itself was not affected. If the disk was full, free some space "
        "(`df -h /tmp/spans`), or limit the files with SPANVIEW_MAX_BYTES and SPANVIEW_KEEP.",
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
    )
    TRUNCATED = Rule(
        "truncated",
        "a file was truncated while it was followed: if a PID is reused, the bundled hook empties its file",
        _FRESH_FOLDER,
        severity=Severity.WARNING,
    )
    PIDS_USED_AGAIN = Rule(
        "pids_used_again",
        "tasks ran whose calls are in none of the files, and all drivers in the folder started later: a driver's PID "
        "was reused, and the bundled hook emptied its file",
        _FRESH_FOLDER,
        severity=Severity.WARNING,
        about=About.CALLS,
    )
    SHARED_FILE = Rule(
        "shared_file",
        "several processes wrote to one file: their PID was reused, and the hook appends",
        _FRESH_FOLDER,
        certainty=Certainty.CERTAIN,
    )
    SEVERAL_RUNS = Rule(
        "several_runs",
        "there are pauses of a minute or more in which no span was running",
        "To see only the newest run: `spanview --since last`",
    )
    DOUBLED = Rule(
        "doubled",
        "records are duplicates of others; each span counts once",
        "Nothing is lost. If two folders hold the same spans, give one of them as PATH. Spans that spanview receive "
        "wrote repeatedly were sent again, likely because their sender got no response in time.",
        certainty=Certainty.CERTAIN,
    )
    BOTH_HOOKS = Rule(
        "both_hooks",
        "two hooks write the same spans: Ray's and Ray Serve's, or both of Ray's own",
        "Keep one of them. To keep only Serve's, start Ray without a tracing hook; to keep only Ray's, "
        "`unset RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH`",
        certainty=Certainty.CERTAIN,
    )
    DEDUPLICATED = Rule(
        "deduplicated",
        "spans were printed to a console where Ray drops repeated lines, which destroys spans. It is an info if the "
        "files of the workers named there were read, too, and have as many spans",
        "To print all lines, set `export RAY_DEDUP_LOGS=0` where Ray is started. The workers' own files are complete: "
        "spanview '/tmp/ray/session_latest/logs/worker-*.out'",
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
    )
    PREFIXED = Rule(
        "prefixed",
        "a log has the beginnings of spans that are incomplete, or follow a prefix that spanview doesn't know",
        "The files of Ray's workers have these spans: `spanview '/tmp/ray/session_latest/logs/worker-*.out'`",
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
    )
    JAVASCRIPT = Rule(
        "javascript",
        "spans were printed by OpenTelemetry's console exporter for JavaScript, which isn't JSON and can't be read",
        "Write OTLP instead: give the program the OTLPTraceExporter of @opentelemetry/exporter-trace-otlp-http, or "
        "OTEL_TRACES_EXPORTER=otlp, and receive its spans: `spanview receive --dir spans --view`",
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
    )
    ALL_EMPTY = Rule(
        "all_empty",
        "there are files, but all of them are empty",
        "Ray's processes create their files when they start, but write the first span at the first call of a remote "
        "function or method. `spanview --follow` waits for spans.",
    )
    BATCHED = Rule(
        "batched",
        "calls were submitted, no attempt is in any file, and files next to those of the callers are empty: the "
        "workers keep their spans in memory, in a BatchSpanProcessor, or none of the calls has run yet",
        "Ray ends workers abruptly, and spans that they hold in memory are lost. Use a "
        f"SimpleSpanProcessor, or spanview's hook: {_HOOK}",
    )
    FOREIGN = Rule(
        "foreign",
        "a file isn't empty, but has no span that spanview knows",
        "The problems listed with these findings say what each file has. Give the folder of the spans alone as PATH.",
        certainty=Certainty.CERTAIN,
    )
    MISSING_ROOTS = Rule(
        "missing_roots",
        "a trace has no root: the root hasn't ended, its process was killed, the caller is traced elsewhere, or its "
        "file is missing",
        "While the program runs, `spanview --follow` shows roots as they arrive. To see the remaining traces: "
        "spanview -q trace.complete=false",
    )
    MISSING_PARENTS = Rule(
        "missing_parents",
        "the parent of a span is in none of the files, for the same reasons",
        "To see which: `spanview tree -q trace.complete=false`",
    )
    IDS_REUSED = Rule(
        "ids_reused",
        "different spans have the same ids, so several runs are merged into one trace: the SDK draws ids from Python's "
        "`random`, and the program seeds it. Findings that depend on parents and calls leave out such traces",
        "To look at one run, give only its folder as PATH. Before the next run, give the SDK's TracerProvider an "
        "id_generator that draws from random.SystemRandom(), or use spanview's hook, which does; or let the program "
        "seed a random.Random() of its own.",
        severity=Severity.WARNING,
        about=About.SPANS,
    )
    NO_END = Rule(
        "no_end",
        "a span has no end and doesn't count in durations: its process ended before it could write the end (a warning "
        "if this host's processes show it, unless Ray ended it in order), or the end is in another file. Running spans "
        "aren't counted",
        "Such spans were written when they started, for example by spanview's hook. Look at the logs of the processes "
        "that were lost with them.",
        certainty=Certainty.CERTAIN,
        about=About.SPANS,
    )
    BAD_ID = Rule(
        "bad_id",
        "a trace id, span id or parent id is invalid and ignored: the span is in no trace, or has no parent",
        "Trace ids have 16 bytes and span ids 8, as hex digits (in OTLP also base64), not all zeros. Look at the "
        "program that wrote the record.",
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
        about=About.SPANS,
    )
    ODD_VALUE = Rule(
        "odd_value",
        "a field of a span has a value of the wrong type, which is ignored or shown as text",
        "Look at the program that wrote the record; in the output of `spanview spans`, such spans have the warning "
        "`odd_value`.",
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
        about=About.SPANS,
    )
    CLOCK_SKEW = Rule(
        "clock_skew",
        "a span starts before its parent because clocks differ; an info if they differ by less than a millisecond",
        "Synchronize the clocks of the hosts: `timedatectl set-ntp true`",
        severity=Severity.WARNING,
        about=About.SPANS,
    )
    CAPPED_EVENTS = Rule(
        "capped_events",
        "a span has 128 events, the SDK's limit; further events may have been dropped",
        "Run `export OTEL_SPAN_EVENT_COUNT_LIMIT=10000` before the program starts.",
        about=About.SPANS,
    )


OF_SPANS: Final[dict[str, Kind]] = {kind: kind for kind in Kind if kind.rule.about is not None}
"""Kinds that count spans, by name, so that a query can ask for these: `finding=unset_attempts`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Something to jump to: a span, a trace, or an offset in a file."""

    file: str = ""
    offset: int | None = None
    """Bytes from the start of the file."""
    trace_id: int = 0
    """128 bits; 0 for a place in a file."""
    span_id: int = 0
    """64 bits; 0 for the trace as a whole."""
    trace: int = -1
    """The row of the trace in the trace table; -1 for none."""
    row: int = -1
    """The row of the span in the span table; -1 for none."""
    name: str = ""
    """The span's."""

    def to_json(self) -> dict[str, object]:
        """Return the place as `check --json` has it."""
        if self.trace_id:
            ids: dict[str, object] = {"trace_id": format_trace_id(self.trace_id)}
            return ids | {"span_id": format_span_id(self.span_id)} if self.span_id else ids
        file: dict[str, object] = {"file": self.file}
        return file if self.offset is None else file | {"offset": self.offset}


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, how often, and what to do about it."""

    kind: Kind
    severity: Severity
    certainty: Certainty
    count: int
    detail: str
    """One or two sentences: what, with the numbers; it may hold names from files."""
    evidence: Sequence[Place] = ()
    """The first places, at most `MAX_PLACES`."""
    rows: Sequence[int] = ()
    """The rows in the span table of all spans that are counted; empty where something else is counted."""
    session: str = SESSION
    """The folder of the Ray session that the files are from, as far as that is known."""
    given: Sequence[str] = ()
    """The PATHs that were given, which commands in the advice read too; none for the default places."""
    known_advice: str = ""
    """What to do where more is known than the kind; empty where its rule says it."""

    @property
    def advice(self) -> str:
        """What to do, with the paths of the files that show it."""
        folder = next((place.file.rpartition("/")[0] for place in self.evidence if "/" in place.file), SPANS)
        # At once: one path may be in the other.
        paths = {SESSION: self.session, SPANS: shlex.quote(folder)}
        given = "".join(f" {shlex.quote(path)}" for path in self.given)
        return _PATHS.sub(lambda path: paths.get(path[0], path[0] + given), self.known_advice or self.kind.rule.advice)

    @property
    def more_places(self) -> int:
        """How many places there are beside the first one."""
        return max(0, (self.count if len(self.evidence) == MAX_PLACES else len(self.evidence)) - 1)

    @property
    def setting(self) -> str:
        """The command or setting of the advice; all of it where there is none."""
        match = _SETTING.search(self.advice)
        return match[1] if match else self.advice


def number(count: int, one: str, many: str) -> str:
    """Return a number with the words that go with it."""
    return f"{count:,} {one if count == 1 else many}"


def having(count: int, total: int, one: str, many: str) -> str:
    """Return how many of all have something, to begin a sentence: `2 of 7 calls have`, `The only call has`."""
    who = f"{count:,} of {number(total, one, many)}" if count < total else f"All {number(total, one, many)}"
    return f"{'The only ' + one if total == 1 else who} {'has' if count == 1 else 'have'}"


def finding_of(
    kind: Kind,
    count: int,
    detail: str,
    evidence: Sequence[Place] = (),
    *,
    severity: Severity | None = None,
) -> Finding:
    """Return a finding with the first `MAX_PLACES` places, and its rule's certainty, and severity unless given."""
    rule = kind.rule
    return Finding(kind, severity or rule.severity, rule.certainty, count, detail, tuple(evidence[:MAX_PLACES]))
