"""What can be found, in one table, and what a finding says; the page `check` has a table of it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

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
_PATHS: Final = re.compile(f"{SESSION}|{SPANS}")
_FULL_SAMPLING: Final = "Set `export RAY_SERVE_TRACING_SAMPLING_RATIO=1.0` where Ray is started, and restart Ray"


class Certainty(StrEnum):
    """How sure a finding is of what it says of the cause."""

    CERTAIN = "certain"
    LIKELY = "likely"


class Kind(StrEnum):
    """What can be found."""

    TRACE_CTX = "trace_ctx"
    NO_ATTEMPT = "no_attempt"
    UNTRACED = "untraced"
    GENERATORS = "generators"
    UNSET_ATTEMPTS = "unset_attempts"
    UNSET_REQUESTS = "unset_requests"
    BROKEN_STREAMS = "broken_streams"
    SAMPLING = "sampling"
    LONE_REPLICAS = "lone_replicas"
    NO_PROXY_FILE = "no_proxy_file"
    HAPROXY = "haproxy"
    SERVE_UNTRACED = "serve_untraced"
    HEALTH_CHECKS = "health_checks"
    TORN_TAIL = "torn_tail"
    TORN_INSIDE = "torn_inside"
    NOT_WRITTEN = "not_written"
    TRUNCATED = "truncated"
    PIDS_USED_AGAIN = "pids_used_again"
    SHARED_FILE = "shared_file"
    SEVERAL_RUNS = "several_runs"
    DOUBLED = "doubled"
    BOTH_HOOKS = "both_hooks"
    DEDUPLICATED = "deduplicated"
    PREFIXED = "prefixed"
    ALL_EMPTY = "all_empty"
    BATCHED = "batched"
    FOREIGN = "foreign"
    MISSING_ROOTS = "missing_roots"
    MISSING_PARENTS = "missing_parents"
    IDS_REUSED = "ids_reused"
    NO_END = "no_end"
    BAD_ID = "bad_id"
    ODD_VALUE = "odd_value"
    CLOCK_SKEW = "clock_skew"
    CAPPED_EVENTS = "capped_events"


@dataclass(frozen=True, slots=True)
class Rule:
    """What holds for all findings of a kind."""

    meaning: str
    """When there is such a finding, for the page `check`."""
    advice: str
    """What to do, with at most one command or setting, in backquotes."""
    severity: Severity = Severity.INFO
    """Of the usual finding."""
    certainty: Certainty = Certainty.LIKELY


RULES: Final = {
    Kind.TRACE_CTX: Rule(
        "a call failed only because tracing is on: a `TypeError` about `_ray_trace_ctx`",
        "Ray 2.60 can't trace actor methods that are generators, static or class methods; spanview's hook can: "
        f"{_HOOK}. Or make them usual methods of the actor, or start Ray without a tracing hook.",
        severity=Severity.ERROR,
        certainty=Certainty.CERTAIN,
    ),
    Kind.NO_ATTEMPT: Rule(
        "a call was submitted, but no worker has written that it ran: its actor's constructor failed, its actor had "
        "exited, an argument failed (likely), or it waits, runs, died, or could never start. Where all reasons are "
        "known, the advice is to mend what failed first",
        "While the program runs, `spanview --follow` shows them come; what was cancelled, killed with `ray.kill`, or "
        "asks for resources that no node has, never does. Afterwards look for workers that died, where Ray's logs are "
        "(RAY_TMPDIR moves them): "
        'grep -r "worker died" /tmp/ray/session_latest/logs',
    ),
    Kind.UNTRACED: Rule(
        "a call of an actor's method has no attempt, likely because tracing leaves it out: no call of the method "
        "leaves one although a later call of its actor ran, a full replica of Ray Serve refused it, or Ray Data or Ray "
        "Serve's controller is known for it. A method that hangs beside others can look the same",
        "Ray's tracing leaves out actor methods that are generators, static or class methods. Those with **kwargs run "
        f"all the same. Where their times matter, make them usual methods, or take spanview's hook: {_HOOK}",
    ),
    Kind.GENERATORS: Rule(
        "an attempt belongs to a generator task, whose span ends when the generator is made: a task of Ray Data, or "
        "one after which spans without a parent start in the same process",
        f"Take no run time from these spans. Under spanview's hook they last until the generator is exhausted: {_HOOK}",
    ),
    Kind.UNSET_ATTEMPTS: Rule(
        "a call was retried although its earlier attempt has no error: that attempt was ended by SIGTERM or "
        "`sys.exit`, or its result was lost. Cancelled tasks have the status UNSET, and look like successful ones",
        "UNSET doesn't mean that a call succeeded. See these attempts: `spanview tree -q finding=unset_attempts`",
    ),
    Kind.UNSET_REQUESTS: Rule(
        "a request failed according to its proxy, but its routing and replica spans have the status UNSET",
        "The status alone doesn't tell which requests failed: spanview stats --by serve also goes by the codes of HTTP "
        "and gRPC, and by exceptions. See these spans: `spanview tree -q finding=unset_requests`",
        certainty=Certainty.CERTAIN,
    ),
    Kind.BROKEN_STREAMS: Rule(
        "a response of Ray Serve broke off after its status code had been sent: the code says success, and an "
        "exception follows",
        "Neither the status nor the code tells these from successful ones; spanview stats --by serve counts them "
        "as raised. "
        "See them: `spanview tree -q finding=broken_streams`",
        certainty=Certainty.CERTAIN,
    ),
    Kind.SAMPLING: Rule(
        "Ray Serve's files have fewer requests than replica spans without a request, or hardly any at all (then it is "
        "an info): by default only one request in a hundred is traced",
        f"{_FULL_SAMPLING}. On Anyscale it is sampling_ratio: 1.0 in the service's tracing_config.",
        severity=Severity.WARNING,
    ),
    Kind.LONE_REPLICAS: Rule(
        "a replica's span has no proxy above it: its request wasn't sampled, or came through a handle",
        f"{_FULL_SAMPLING}; calls by a handle have no proxy.",
    ),
    Kind.NO_PROXY_FILE: Rule(
        "a folder has files of replicas, but none of a proxy",
        "With HAProxy (RAY_SERVE_ENABLE_HA_PROXY=1) there is none. Otherwise, a TracingConfig given to serve.start "
        "doesn't reach the proxy: where Ray is started, set "
        "`export RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH=ray.serve._private.tracing_utils:default_tracing_exporter`",
        severity=Severity.WARNING,
    ),
    Kind.HAPROXY: Rule(
        "Ray Serve's requests come through HAProxy, whose manager made spans under Ray's hook: HAProxy makes none, so "
        "requests begin at their replicas",
        "What a request waited for before its replica took it isn't in the files, and requests that bring no trace of "
        "their own share one: `spanview stats --by serve` tells them apart. To see both, start Ray without "
        "RAY_SERVE_ENABLE_HA_PROXY: `unset RAY_SERVE_ENABLE_HA_PROXY`",
        certainty=Certainty.CERTAIN,
    ),
    Kind.SERVE_UNTRACED: Rule(
        "requests were passed to replicas of Ray Serve, as calls under Ray's hook show, but none has a span: Serve's "
        "exporter isn't set, none was sampled, or Ray is older than 2.55, which is certain where the spans name it",
        "Ray Serve traces requests from Ray 2.55 on. Where Ray is started, set RAY_SERVE_TRACING_SAMPLING_RATIO=1.0 "
        "and `export RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH=spanview.ray.hook:span_processors`",
    ),
    Kind.HEALTH_CHECKS: Rule(
        "a fifth of all spans or more are health checks",
        f"Leave them out: `spanview -q '-name~\"{HEALTH_CHECKS}\"'`",
        certainty=Certainty.CERTAIN,
    ),
    Kind.TORN_TAIL: Rule(
        "a file ends in the middle of a record: its writer was killed, or is still writing",
        "`spanview --follow` shows the record once it is whole. If nobody writes any more, it is lost.",
        severity=Severity.WARNING,
    ),
    Kind.TORN_INSIDE: Rule(
        "a file goes on after a record that breaks off: another process wrote to the file of a killed one",
        f"Where a PID came again: {_FRESH_FOLDER[0].lower()}{_FRESH_FOLDER[1:]} Elsewhere, what broke off is lost.",
        severity=Severity.WARNING,
    ),
    Kind.NOT_WRITTEN: Rule(
        "spanview's hook could not write spans that had ended, because a disk was full for example, and counted them "
        "once it could write again. What a process had no more time to count isn't among them",
        "These spans are lost; the program went on without them. Where there was no room, make some, `df -h /tmp/spans`"
        ", or let SPANVIEW_MAX_BYTES and SPANVIEW_KEEP limit the files.",
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
    ),
    Kind.TRUNCATED: Rule(
        "a file was truncated while it was followed: when a PID is used again, the bundled hook empties its file",
        _FRESH_FOLDER,
        severity=Severity.WARNING,
    ),
    Kind.PIDS_USED_AGAIN: Rule(
        "tasks ran whose calls are in none of the files, and all drivers in the folder began later: a driver's PID was "
        "used again, and the bundled hook emptied its file",
        _FRESH_FOLDER,
        severity=Severity.WARNING,
    ),
    Kind.SHARED_FILE: Rule(
        "several processes wrote to one file: their PID was used again, and the hook appends",
        _FRESH_FOLDER,
        certainty=Certainty.CERTAIN,
    ),
    Kind.SEVERAL_RUNS: Rule(
        "there are pauses of a minute in which no span was running",
        "Look at the newest run only: `spanview --since last`",
    ),
    Kind.DOUBLED: Rule(
        "records are duplicates of others; each span counts once",
        "Nothing is lost by it. Where two folders hold the same spans, one of them is enough as PATH. What spanview "
        "receive has written repeatedly was sent again, likely because its sender had no answer in time.",
        certainty=Certainty.CERTAIN,
    ),
    Kind.BOTH_HOOKS: Rule(
        "two hooks write the same spans: Ray's and Ray Serve's, or both of Ray's own",
        "Keep one. For Serve alone start Ray without a tracing hook, for Ray's alone "
        "`unset RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH`",
        certainty=Certainty.CERTAIN,
    ),
    Kind.DEDUPLICATED: Rule(
        "spans were printed to a console from which Ray leaves out repeated lines, which destroys them. It is an info "
        "if the files of the workers named there were read, too, and have as many spans",
        "`export RAY_DEDUP_LOGS=0` where Ray is started prints all lines. The workers' own files have them already: "
        "spanview '/tmp/ray/session_latest/logs/worker-*.out'",
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
    ),
    Kind.PREFIXED: Rule(
        "spans begin in a log but aren't complete there, or come after a prefix that spanview doesn't know",
        "Ray's workers have them in their own files: `spanview '/tmp/ray/session_latest/logs/worker-*.out'`",
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
    ),
    Kind.ALL_EMPTY: Rule(
        "there are files, but all of them are empty",
        "Ray's processes make their files when they start; spans are written from the first call of a remote function "
        "or method. `spanview --follow` waits for them.",
    ),
    Kind.BATCHED: Rule(
        "calls were submitted, no attempt is in any file, and files beside those of the callers are empty: the workers "
        "keep their spans in memory, with a BatchSpanProcessor, or none of the calls has run yet",
        "Ray ends workers without letting them finish, and what they hold in memory is lost. Take a "
        f"SimpleSpanProcessor, or spanview's hook: {_HOOK}",
    ),
    Kind.FOREIGN: Rule(
        "a file isn't empty, but has no span that spanview knows",
        "`spanview check --json` says under problems where. Give the folder of the spans alone as PATH.",
        certainty=Certainty.CERTAIN,
    ),
    Kind.MISSING_ROOTS: Rule(
        "a trace has no root: the root hasn't ended, its process was killed, the caller is traced elsewhere, or its "
        "file is gone",
        "While the program runs, `spanview --follow` shows them come. What is left: spanview -q trace.complete=false",
    ),
    Kind.MISSING_PARENTS: Rule(
        "the parent of a span is in none of the files, for the same reasons",
        "See which: `spanview tree -q trace.complete=false`",
    ),
    Kind.IDS_REUSED: Rule(
        "different spans have the same ids, so several runs are merged into one trace: the SDK draws ids from Python's "
        "`random`, and the program seeds it. What goes by parents and calls isn't said of such traces",
        "Look at one run: give its folder alone as PATH. Before the next one, give the SDK's TracerProvider an "
        "id_generator that draws from random.SystemRandom(), or take spanview's hook, which does; or let the program "
        "seed a random.Random() of its own.",
        severity=Severity.WARNING,
    ),
    Kind.NO_END: Rule(
        "a span has no end; it is left out of durations. Its process ended before it could write the end, which is a "
        "warning where this host's processes show it, or the end is in another file. What still runs isn't counted",
        "The SDK writes spans when they end. Where they are written when they start, too, as spanview's hook does, "
        "look at the logs of the processes that were lost with them.",
        certainty=Certainty.CERTAIN,
    ),
    Kind.BAD_ID: Rule(
        "a trace id, span id or parent id isn't valid, and is left out: the span is in no trace, or has no parent",
        "Ids are 16 and 8 bytes in hex digits, in OTLP also in base64, not all zeros: look at what made the record.",
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
    ),
    Kind.ODD_VALUE: Rule(
        "a field of a span has a value of the wrong type, which is left out or shown as text",
        "Look at what made the record; `spanview spans` says `odd_value` under warnings of each such span.",
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
    ),
    Kind.CLOCK_SKEW: Rule(
        "a span starts before its parent, because clocks differ; an info if they differ by less than a millisecond",
        "Let the hosts take their time from one server: `timedatectl set-ntp true`",
        severity=Severity.WARNING,
    ),
    Kind.CAPPED_EVENTS: Rule(
        "a span has 128 events: the SDK keeps no more, and doesn't say how many there were",
        "Set `export OTEL_SPAN_EVENT_COUNT_LIMIT=10000` before the program starts.",
    ),
}
"""All kinds, in the order in which findings of one severity are reported."""
OF_SPANS: Final = (
    Kind.TRACE_CTX,
    Kind.NO_ATTEMPT,
    Kind.UNTRACED,
    Kind.GENERATORS,
    Kind.UNSET_ATTEMPTS,
    Kind.UNSET_REQUESTS,
    Kind.BROKEN_STREAMS,
    Kind.LONE_REPLICAS,
    Kind.HAPROXY,
    Kind.SERVE_UNTRACED,
    Kind.HEALTH_CHECKS,
    Kind.PIDS_USED_AGAIN,
    Kind.IDS_REUSED,
    Kind.NO_END,
    Kind.BAD_ID,
    Kind.ODD_VALUE,
    Kind.CLOCK_SKEW,
    Kind.CAPPED_EVENTS,
)
"""Kinds that count spans, so that a query can ask for these: `finding=unset_attempts`."""


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
    known_advice: str = ""
    """What to do where more is known than the kind; empty where its rule says it."""

    @property
    def advice(self) -> str:
        """What to do, with the paths of the files that show it."""
        folder = next((place.file.rpartition("/")[0] for place in self.evidence if "/" in place.file), SPANS)
        # At once: one path may be in the other.
        paths = {SESSION: self.session, SPANS: shlex.quote(folder)}
        return _PATHS.sub(lambda path: paths[path[0]], self.known_advice or RULES[self.kind].advice)

    @property
    def setting(self) -> str:
        """The command or setting of the advice; all of it where there is none."""
        match = _SETTING.search(self.advice)
        return match[1] if match else self.advice

    def to_json(self) -> dict[str, object]:
        """Return the finding as `check --json` has it."""
        return {
            "kind": self.kind.value,
            "severity": self.severity.value,
            "certainty": self.certainty.value,
            "count": self.count,
            "detail": self.detail,
            "advice": self.advice.replace("`", ""),
            "evidence": [place.to_json() for place in self.evidence],
        }


def number(count: int, one: str, many: str) -> str:
    """Return a number with the words that go with it."""
    return f"{count:,} {one if count == 1 else many}"


def finding_of(
    kind: Kind,
    count: int,
    detail: str,
    evidence: Sequence[Place] = (),
    *,
    severity: Severity | None = None,
) -> Finding:
    """Return a finding, with severity and certainty from its rule.

    Args:
        kind: What was found.
        count: How often; 0 is no finding.
        detail: One or two sentences.
        evidence: The places; those over `MAX_PLACES` are left out.
        severity: If it isn't the usual one.
    """
    rule = RULES[kind]
    return Finding(kind, severity or rule.severity, rule.certainty, count, detail, tuple(evidence[:MAX_PLACES]))
