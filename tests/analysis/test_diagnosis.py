"""Why folders look the way they do: each kind is found where it is, and nowhere else, as often as it is there.

folder                  what it is made of
------                  ------------------
a recording             as it is
sampled …               Serve's files with few requests, or with replicas that have none
two layouts             a recording, and its spans again on one line each
hosts                   a call whose attempt ran on a host with a clock that is 5 ms late
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import threading
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
from hypothesis import given, settings

from builders import Builder, file_of, store_of, store_of_files
from independent_diagnosis import expected
from independent_reader import key_of, read_folder
from programs import spanview as run
from span_graphs import graphs
from spanview.analysis.diagnosis.finding import MAX_PLACES, OF_SPANS, SESSION, Certainty, Kind
from spanview.analysis.diagnosis.report import DETECTORS, Diagnosis, diagnose, session_of, spans_in_finding
from spanview.analysis.query.query import parse_query
from spanview.analysis.query.subject import QueryFacts, Subject
from spanview.analysis.ray.unended import Fate, Unended
from spanview.display.finding_text import finding_lines
from spanview.index.part import part_of
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.model.problems import Problem, ProblemKind, QueryError, Severity
from spanview.ray.lines import loss_line_of
from spanview.sources.details import RecordReader
from spanview.sources.loading import load_store
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions
from viewers import Growing

if TYPE_CHECKING:
    from collections.abc import Callable

    from builders import Document
    from spanview.analysis.diagnosis.finding import Finding

FIXTURES: Final = Path(__file__).parent.parent.parent / "fixtures"
RECORDINGS: Final = sorted(path.parent.name for path in FIXTURES.glob("*/spans"))
TORN: Final = {"made": {"torn_tail": 1, "torn_inside": 3}}
"""By hand: the other reader doesn't look at what breaks off."""
ABOVE_INFO: Final = {
    # A console without the files of two of its workers.
    "console-logs": {"deduplicated"},
    # Methods that tracing breaks.
    "ray-odd-actors": {"trace_ctx"},
    "ray-odd-calls": {"trace_ctx"},
    # Made by hand: records that break off, and an id that can't be one.
    "made": {"torn_tail", "torn_inside", "bad_id"},
    # A synthetic program that gave its spans times by hand.
    "sdk-versions": {"clock_skew"},
}
"""What is a warning or an error in recordings; in all others nothing is."""


def is_bad(report: Diagnosis) -> bool:
    """Return whether anything in it is a warning or an error."""
    severities = {found.severity for found in report.findings} | {found.severity for found in report.problems}
    return bool(severities - {Severity.INFO})


def counts_of(folder: Path) -> dict[str, int]:
    """Return how often each kind is found below a folder."""
    return {finding.kind.value: finding.count for finding in diagnose(load_store(folder)).findings}


@pytest.mark.parametrize("recording", RECORDINGS)
def test_recordings(recording: str) -> None:
    """The kinds of a recording, and how often they are there, are what another reader counts in the raw files."""
    folder = FIXTURES / recording / "spans"
    assert counts_of(folder) == expected(folder) | TORN.get(recording, {})


@pytest.mark.parametrize("run", ["pidrun1", "pidrun2", "pidrun3"])
def test_a_folder_whose_pids_came_again(run: str) -> None:
    """What a later run has left of the folder tells that something was emptied; the first run has nothing of that."""
    folder = FIXTURES / "pids-used-again/spans" / run
    counts = counts_of(folder)
    assert counts == expected(folder)
    earlier = {"pidrun1": 0, "pidrun2": 11, "pidrun3": 26}
    assert counts.get("pids_used_again", 0) == earlier[run]
    assert is_bad(diagnose(load_store(folder))) is (run != "pidrun1")


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_healthy_recording_is_not_bad(recording: str) -> None:
    """What may be normal is an info, and `check` doesn't fail for it; what is above that is known to be so."""
    report = diagnose(load_store(FIXTURES / recording / "spans"))
    assert {finding.kind.value for finding in report.findings if finding.severity != "info"} == ABOVE_INFO.get(
        recording, set()
    )
    assert is_bad(report) is (recording in ABOVE_INFO)


def test_what_was_emptied_is_what_an_earlier_copy_has() -> None:
    """Of each task that is told to have lost its call, the call is in a copy of the folder from before."""
    spans = FIXTURES / "pids-used-again/spans"
    earlier: set[tuple[str, str]] = set()
    for copy in ("pidrun1", "pidrun2", "pidrun3"):
        store = load_store(spans / copy)
        rows = [
            row for finding in diagnose(store).findings if finding.kind is Kind.PIDS_USED_AGAIN for row in finding.rows
        ]
        lost = {(str(store.span(row).trace_id), str(store.span(row).parent_id)) for row in rows}
        here = {(span["trace_id"], span["span_id"]) for one in read_folder(spans / copy).values() for span in one}
        assert lost <= earlier
        assert not lost & here
        earlier |= here


def test_check_ends_with_0_where_nothing_is_bad() -> None:
    """Findings that are infos are told, and the status stays 0."""
    done = run("check", FIXTURES / "killed-workers/spans")
    assert done.status == 0
    assert "info: no_attempt (likely): 10 of 16 calls have no attempt" in done.text


def test_calls_before_one_that_could_not_be_submitted() -> None:
    """Where the last that a process did is to fail to submit a call, that may have ended it and the calls before."""
    build = Builder()

    def call(name: str, start: int, status: str = "UNSET") -> Document:
        return build.span(f"{name} ray.remote", kind="PRODUCER", start=start, duration=1, status=status)

    def found(*spans: Document) -> Finding:
        return next(each for each in diagnose(store_of(*spans)).findings if each.kind is Kind.NO_ATTEMPT)

    finding = found(call("load", 0), call("enrich", 5), call("price", 9, "ERROR"))
    assert "In the same process, after 2 of these calls, price could not be submitted." in finding.detail
    assert finding.advice.startswith("First fix the call that could not be submitted")
    assert "submitted" not in found(call("load", 0), call("enrich", 5)).detail
    went_on = found(call("load", 0), call("enrich", 5), call("price", 9, "ERROR"), call("late", 20))
    assert "submitted" not in went_on.detail + went_on.advice


def test_a_call_that_may_have_run_untraced_is_said_to() -> None:
    """The finding leaves open what its calls' reasons leave open."""
    done = run("check", FIXTURES / "ray-existing-actors/spans")
    assert "died, was cancelled, lacked an argument, ran untraced, or could never start (" in " ".join(
        done.text.split()
    )


def test_requests_that_share_the_trace_of_their_replicas_start() -> None:
    """Behind HAProxy, a request without a trace of its own goes on with that of the call that started its replica."""
    folder = FIXTURES / "serve-haproxy/spans"
    (finding,) = [finding for finding in diagnose(load_store(folder)).findings if finding.kind == "haproxy"]
    spans = [span for records in read_folder(folder).values() for span in records]
    starts = {
        span["span_id"] for span in spans if span["name"].endswith(".initialize_and_get_metadata ray.remote_worker")
    }
    requests = {(span["trace_id"], span["span_id"]) for span in spans if span["parent_id"] in starts}
    assert {tuple(place.to_json().values()) for place in finding.evidence} < requests
    assert finding.count == 3
    assert "3 of them are in the trace of the call that started the replica" in finding.detail


# -- what no recording has ---------------------------------------------------------------------------------------------


def _request(build: Builder, trace: int, status: str = "OK", start: float = 0) -> list[Document]:
    return [
        build.span("proxy_http_request App GET /", trace=trace, span=1, kind="SERVER", status=status, start=start),
        build.span("route_to_replica App __call__", trace=trace, span=2, parent=1, kind="SERVER", start=start),
        build.span("replica_handle_request App __call__", trace=trace, span=3, parent=2, kind="SERVER", start=start),
    ]


def _serve(folder: Path, requests: int, lone: int, *, has_proxy: bool = True, failed: int = 0) -> None:
    build = Builder()
    proxy: list[Document] = []
    replica: list[Document] = []
    for number in range(requests):
        *above, below = _request(build, number + 1, "ERROR" if number < failed else "OK", start=number)
        proxy, replica = [*proxy, *above], [*replica, below]
    for number in range(lone):
        replica.append(build.span("replica_handle_request App __call__", trace=1000 + number, kind="SERVER"))
    if has_proxy:
        (folder / "proxy_192.0.2.2_tracing.json").write_bytes(file_of(proxy, indent=4))
    (folder / "replica_app_App_x1_tracing.json").write_bytes(file_of(replica, indent=4))


def _streams(folder: Path, *, has_proxy: bool = True) -> None:
    """Write four requests as Ray 2.60 does: a good one, two that broke off while they streamed, and one that failed."""
    build, raised = (
        Builder(),
        [{"name": "exception", "timestamp": None, "attributes": {"exception.type": "ValueError"}}],
    )
    spans: list[Document] = []
    for number, (code, events) in enumerate([(200, []), (200, raised), (200, raised), (500, raised)], 1):
        proxy, route, replica = _request(build, number, "OK" if code == 200 else "ERROR", start=number)
        proxy |= {"attributes": {"http.status_code": code}, "events": events}
        replica |= {"attributes": {"http.status_code": str(code)}, "events": events}
        spans += [proxy, route, replica] if has_proxy else [{**replica, "parent_id": None}]
    (folder / "spans.json").write_bytes(file_of(spans, indent=4))


def _failed_below_others(folder: Path) -> None:
    """Write a failed request and a good one, each of which calls two deployments: one raises, the other doesn't."""
    build, spans = Builder(), list[dict[str, Any]]()
    raised: list[dict[str, Any]] = [{"name": "exception", "timestamp": None, "attributes": {}}]
    for trace, status in ((1, "ERROR"), (2, "OK")):
        spans += _request(build, trace, status)
        for number, events in ((4, []), (6, raised)):
            spans.append(build.span("route_to_replica Back", trace=trace, span=number, parent=3))
            spans.append(build.span("replica_handle_request Back", trace=trace, span=number + 1, parent=number))
            spans[-1]["events"] = events
    (folder / "spans.json").write_bytes(file_of(spans, indent=4))


def _shared_file(folder: Path) -> None:
    shutil.copy(FIXTURES / "pid-reuse/spans/1.json.after_third", folder / "1.json")
    shutil.copy(FIXTURES / "pid-reuse/spans/1.txt.after_third", folder / "2.txt")
    shutil.copy(FIXTURES / "pid-reuse/spans/1.json.after_third", folder / "many.json")


def _two_layouts(folder: Path) -> None:
    for name, records in _documents_of(FIXTURES / "ray-tasks-docs-hook/spans").items():
        for below, indent in (("one", 4), ("other", None)):
            (folder / below).mkdir(exist_ok=True)
            (folder / below / name).write_bytes(file_of(records, indent=indent))


def _documents_of(folder: Path) -> dict[str, list[Document]]:
    decoder = json.JSONDecoder()
    found: dict[str, list[Document]] = {}
    for path in sorted(folder.iterdir()):
        text, at, found[path.name] = path.read_text(), 0, []
        while (at := text.find("{", at)) >= 0:
            document, at = decoder.raw_decode(text, at)
            found[path.name].append(document)
    return found


def _both_hooks(folder: Path) -> None:
    (folder / "serve").mkdir()
    _serve(folder / "serve", 40, 0)
    shutil.copy(folder / "serve/proxy_192.0.2.2_tracing.json", folder / "4711.txt")


def _both_of_rays_hooks(folder: Path) -> None:
    for name in ("7.txt", "8.json", "9.json"):
        (folder / name).write_bytes(file_of([Builder().span(name, trace=int(name[0]))]))
    (folder / "10.txt").write_bytes(b"")


def _javascript(folder: Path) -> None:
    (folder / "console.txt").write_bytes((FIXTURES / "javascript" / "console.txt").read_bytes())


def _log(folder: Path, *, has_lost: bool) -> None:
    lines = json.dumps(Builder().span("printed", trace=2), indent=4).splitlines()
    # Whoever collects logs puts another name there, of which nothing is known.
    name, times = ("\x1b[36m(ProxyActor pid=4582)\x1b[0m", 1) if has_lost else ("2026-11-20T11:55:46Z stdout F", 3)
    text = "".join(f"{name} {line}\n" for line in lines) * times
    lost = '\x1b[36m(App pid=1)\x1b[0m "trace_id": "0x01",\x1b[32m [repeated 8x across cluster]\x1b[0m\n' * 5
    (folder / "driver.log").write_text("Started.\n" + text + (lost if has_lost else ""))
    # An ordinary log says so, too, and no span is lost by it.
    (folder / "other.log").write_text("(App pid=1) hello [repeated 2x across cluster]\n")
    (folder / "1.json").write_bytes(file_of([Builder().span("[repeated 3x across cluster]")]))


def _empty(folder: Path) -> None:
    for number in range(3):
        (folder / f"{number}.txt").write_bytes(b"")


def _batched(folder: Path, calls: int = 3, attempts: int = 0) -> None:
    build = Builder()
    spans = [build.span("f ray.remote", trace=at + 1, span=at + 1, kind="PRODUCER") for at in range(calls)]
    ran = [
        build.span("f ray.remote_worker", trace=at + 1, span=at + 50, parent=at + 1, kind="CONSUMER")
        for at in range(attempts)
    ]
    (folder / "driver.json").write_bytes(file_of(spans + ran))
    (folder / "elsewhere").mkdir()
    for name in ("1.json", "2.json", "elsewhere/3.json"):
        (folder / name).touch()


def _of_serves_actors(folder: Path, name: str, version: str = "", *, is_traced: bool = False) -> None:
    """Write what Ray's hook has of Ray Serve, and Serve's own spans of replicas."""
    build = Builder()
    spans = [
        build.span(f"{name} ray.remote", trace=at, span=at, kind="PRODUCER", resource={"ray.version": version})
        for at in (1, 2)
    ]
    spans += [
        build.span(f"{name} ray.remote_worker", trace=at, span=9 + at, parent=at, kind="CONSUMER") for at in (1, 2)
    ]
    if is_traced:
        requests = [build.span("replica_handle_request Model", trace=at) for at in (5, 6, 7)]
        (folder / "replica_app_Model_1_tracing.json").write_bytes(file_of(requests))
    (folder / "1.jsonl").write_bytes(file_of(spans))


def _unwritten(folder: Path) -> None:
    """Write what two hooks say, one of them twice, and a copy of the other one's file made while it was written."""
    once, twice = (file_of([Builder().span(trace=at, span=at)]) for at in (1, 2))
    said = [loss_line_of({}, 10 + at, at, "a full disk") for at in (1, 2, 4)]
    (folder / "1.jsonl").write_bytes(said[0] + once)
    (folder / "2.jsonl").write_bytes(said[1] + twice + said[2] + twice)
    (folder / "copy.jsonl").write_bytes(said[1] + twice)


def _odd(folder: Path) -> None:
    build = Builder()
    spans = [build.span("usual"), build.span("no id", trace=2), build.span("no kind", trace=3) | {"kind": 7}]
    spans[1]["context"]["span_id"] = "0xnone"
    (folder / "1.json").write_bytes(file_of(spans))


def _health(folder: Path, checks: int, others: int) -> None:
    build = Builder()
    spans = [build.span("ServeReplica:app:App.check_health ray.remote_worker", trace=at + 1) for at in range(checks)]
    spans += [build.span("GET /healthy-food", trace=1000 + at) for at in range(others)]
    (folder / "1.json").write_bytes(file_of(spans))


def _hosts(folder: Path, late_us: float) -> None:
    build, late = Builder(), Builder()
    call = [build.span("f ray.remote", span=1, kind="PRODUCER", start=10_000, attributes={"ray.node_id": "north"})]
    ran = late.span(
        "f ray.remote_worker",
        span=2,
        parent=1,
        kind="CONSUMER",
        start=10_000 - late_us,
        attributes={"ray.node_id": "south"},
    )
    (folder / "1.json").write_bytes(file_of(call))
    (folder / "2.json").write_bytes(file_of([ran]))


def _runs(folder: Path) -> None:
    minute = 60_000_000
    build = Builder()
    spans = [build.span("a", trace=at + 1, start=at * 2 * minute, duration=minute) for at in range(3)]
    spans.append(build.span("a", trace=9, start=5.9 * minute, duration=1))
    (folder / "1.json").write_bytes(file_of(spans))


def _emptied(folder: Path, *, later_pid: int = 1, is_driver: bool = True, elsewhere: str = "") -> None:
    """Write a call with its attempt, then a second driver's file, in the place of the first one's or beside it."""
    build, driver = Builder(), {"ray.worker_id": "01000000" + "f" * 48 if is_driver else "ab" * 28}
    for at, pid in enumerate((1, later_pid)):
        start, trace = at * 1_000, at + 1
        call = build.span("f ray.remote", trace=trace, span=1, kind="PRODUCER", start=start, attributes=driver)
        ran = build.span("f ray.remote_worker", trace=trace, span=2, parent=1, kind="CONSUMER", start=start + 500)
        path = folder / elsewhere if at else folder
        path.mkdir(exist_ok=True)
        (path / f"{pid}.txt").write_bytes(file_of([call], indent=None))
        (path / f"{10 + at}.txt").write_bytes(file_of([ran], indent=None))


def _events(folder: Path, number: int) -> None:
    event = {"name": "e", "timestamp": "2023-11-14T22:13:20.000000Z", "attributes": {}}
    (folder / "1.json").write_bytes(file_of([Builder().span(events=[event] * number)]))


def _seeded(folder: Path, later_us: float, kind: str = "PRODUCER") -> None:
    """Write two runs of a program with the same ids, whose attempts begin before the other run's calls."""
    for at, start in enumerate((0.0, later_us)):
        build = Builder()
        call = build.span("f ray.remote", span=1, kind=("PRODUCER", kind)[at], start=start)
        ran = build.span("f ray.remote_worker", span=7 + at, parent=1, kind="CONSUMER", start=start + 500)
        waits = build.span("g ray.remote", span=3 + at, kind="PRODUCER", start=start)
        early = build.span("early", span=5 + at, parent=1, start=start - 100)
        (folder / f"{at + 1}.json").write_bytes(file_of([call, ran, waits, early]))


MADE: Final[dict[str, tuple[Callable[[Path], None], dict[str, int]]]] = {
    "few requests": (partial(_serve, requests=9, lone=0), {"sampling": 2}),
    "enough requests": (partial(_serve, requests=10, lone=0), {}),
    "no request": (partial(_serve, requests=0, lone=3), {"sampling": 2, "lone_replicas": 3}),
    "sampled": (partial(_serve, requests=12, lone=13), {"sampling": 2, "lone_replicas": 13}),
    "some by a handle": (partial(_serve, requests=12, lone=12), {"lone_replicas": 12}),
    "no proxy": (partial(_serve, requests=0, lone=30, has_proxy=False), {"no_proxy_file": 1}),
    "HAProxy": (partial(_of_serves_actors, name="HAProxyManager.ready", is_traced=True), {"haproxy": 3}),
    "Serve without its exporter": (
        partial(_of_serves_actors, name="ServeReplica:app:Model.handle_request_with_rejection"),
        {"serve_untraced": 2},
    ),
    "a replica that nobody asks": (partial(_of_serves_actors, name="ServeReplica:app:Model.is_allocated"), {}),
    "failed requests": (partial(_serve, requests=20, lone=0, failed=4), {"unset_requests": 8}),
    "failed requests and calls": (_failed_below_others, {"unset_requests": 4}),
    "broken streams": (_streams, {"broken_streams": 2, "unset_requests": 2}),
    "broken streams of replicas": (partial(_streams, has_proxy=False), {"broken_streams": 2}),
    "several processes": (_shared_file, {"shared_file": 1, "doubled": 17, "both_hooks": 2}),
    "two layouts": (_two_layouts, {"doubled": 104, "no_attempt": 1}),
    "both hooks": (_both_hooks, {"doubled": 80, "both_hooks": 80}),
    "both of Ray's hooks": (_both_of_rays_hooks, {"both_hooks": 3}),
    "a log with gaps": (partial(_log, has_lost=True), {"deduplicated": 5, "foreign": 1}),
    "JavaScript's console": (_javascript, {"javascript": 2}),
    "a log": (partial(_log, has_lost=False), {"prefixed": 3, "foreign": 1}),
    "empty files": (_empty, {"all_empty": 3}),
    "workers that hold their spans": (_batched, {"batched": 2, "no_attempt": 3}),
    "calls that haven't run yet": (partial(_batched, calls=2), {"no_attempt": 2}),
    "a worker that has written": (partial(_batched, attempts=1), {"no_attempt": 2}),
    "spans that were not written": (_unwritten, {"not_written": 7, "doubled": 2}),
    "odd values": (_odd, {"bad_id": 1, "odd_value": 1}),
    "health checks": (partial(_health, checks=20, others=80), {"health_checks": 20}),
    "few health checks": (partial(_health, checks=20, others=81), {}),
    "a late host": (partial(_hosts, late_us=5_000), {"clock_skew": 1}),
    "hosts as they should be": (partial(_hosts, late_us=1), {}),
    "a driver's PID again": (_emptied, {"pids_used_again": 1, "missing_parents": 1, "missing_roots": 1}),
    "two runs with one seed": (partial(_seeded, later_us=42_000_000), {"ids_reused": 2}),
    "one run, rounded": (partial(_seeded, later_us=900), {"unset_attempts": 1, "no_attempt": 3, "clock_skew": 1}),
    "two halves of a call": (
        partial(_seeded, later_us=5_000, kind="SERVER"),
        {"unset_attempts": 1, "no_attempt": 2, "clock_skew": 1},
    ),
    "other PIDs": (partial(_emptied, later_pid=2), {}),
    "a PID again in a worker alone": (partial(_emptied, is_driver=False), {"missing_parents": 1, "missing_roots": 1}),
    "the same PID elsewhere": (partial(_emptied, elsewhere="other"), {}),
    "three runs": (_runs, {"several_runs": 3}),
    "128 events": (partial(_events, number=128), {"capped_events": 1}),
    "127 events": (partial(_events, number=127), {}),
    "129 events": (partial(_events, number=129), {}),
}


@pytest.mark.parametrize("case", MADE)
def test_made_folders(tmp_path: Path, case: str) -> None:
    """What is put into a folder is found there, and nothing else; the other reader says the same."""
    make, found = MADE[case]
    make(tmp_path)
    assert counts_of(tmp_path) == found
    assert expected(tmp_path) == found


def test_advice_names_the_folder(tmp_path: Path) -> None:
    """A command is for the folder of the files, quoted for a shell."""
    folder = tmp_path / "my spans"
    folder.mkdir()
    _emptied(folder)
    advice = {finding.kind: finding.advice for finding in diagnose(load_store(folder)).findings}
    assert f"`mv '{folder}' '{folder}'.$(date +%s)`" in advice[Kind.PIDS_USED_AGAIN]


def test_what_reused_ids_say(tmp_path: Path) -> None:
    """Which files they are in, and how far apart."""
    _seeded(tmp_path, later_us=42_000_000)
    (finding,) = diagnose(load_store(tmp_path)).findings
    assert (finding.kind, finding.severity, finding.certainty) == (Kind.IDS_REUSED, Severity.WARNING, Certainty.LIKELY)
    assert f"42.000 s apart, in 1 trace: in {tmp_path}/1.json and again in {tmp_path}/2.json." in finding.detail


def test_cut_while_it_was_followed(tmp_path: Path) -> None:
    """A file whose PID comes again is emptied by the bundled hook; that is seen by whoever follows."""
    path = tmp_path / "1.txt"
    path.write_bytes(file_of([Builder().span("first" * 100)]))
    # A record that is half written is nothing odd while somebody follows.
    (tmp_path / "2.txt").write_bytes(b'{"name": "half')
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions((str(tmp_path),), follow=True), store, details)
    for _ in session.load():
        pass
    path.write_bytes(file_of([Builder().span("second", trace=2)]))
    session.look()
    (finding,) = diagnose(store).findings
    assert (finding.kind, finding.count, finding.severity) == (Kind.TRUNCATED, 1, Severity.WARNING)
    assert [place.file for place in finding.evidence] == [str(path)]
    session.close()


def test_every_kind_is_shown() -> None:
    """There is a detector for each kind, and a folder in these tests that has it."""
    shown = {kind for _, found in MADE.values() for kind in found} | {"truncated"}
    for recording in RECORDINGS:
        shown |= counts_of(FIXTURES / recording / "spans").keys()
    assert shown == {kind.value for kind in Kind} == {kind.value for kind in DETECTORS}


# -- what a finding says -----------------------------------------------------------------------------------------------


def _only(folder: Path, kind: Kind) -> Finding:
    return next(finding for finding in diagnose(load_store(folder)).findings if finding.kind is kind)


@pytest.mark.parametrize(
    ("version", "certainty", "why"),
    [
        ("", Certainty.LIKELY, "Serve's exporter isn't set, none was sampled, or Ray is older than 2.55"),
        ("2.54.1", Certainty.CERTAIN, "Ray 2.54.1 can't trace them"),
        ("2.55.0", Certainty.LIKELY, "Serve's exporter isn't set, none was sampled"),
        ("3.0.0.dev0", Certainty.LIKELY, "Serve's exporter isn't set, none was sampled"),
        ("two", Certainty.LIKELY, "Serve's exporter isn't set, none was sampled, or Ray is older than 2.55"),
    ],
)
def test_why_serve_is_not_traced(tmp_path: Path, version: str, certainty: Certainty, why: str) -> None:
    """An old Ray is certain where the spans name it, and nothing is said of it where they name a newer one."""
    _of_serves_actors(tmp_path, "ServeReplica:app:Model.handle_request", version)
    finding = _only(tmp_path, Kind.SERVE_UNTRACED)
    detail = f"2 requests were passed to replicas, but have no span of Ray Serve: {why}."
    assert (finding.certainty, finding.detail) == (certainty, detail)


def test_clocks_say_by_how_much(tmp_path: Path) -> None:
    """By how much clocks differ, between which files and nodes; under a millisecond it is no reason to fail."""
    _hosts(tmp_path, 5_000)
    finding = _only(tmp_path, Kind.CLOCK_SKEW)
    assert (finding.severity, finding.certainty) == (Severity.WARNING, Certainty.LIKELY)
    files = f"{tmp_path}/2.json and {tmp_path}/1.json"
    assert finding.detail == f"1 span starts before its parent, by 5.000 ms between {files} (south and north)."
    _hosts(tmp_path, 999)
    finding = _only(tmp_path, Kind.CLOCK_SKEW)
    assert finding.severity is Severity.INFO
    assert "by 999 µs between" in finding.detail


def test_evidence_is_what_it_says() -> None:
    """The spans that are named are those that are meant; of many, the first ones."""
    folder = FIXTURES / "ray-odd-calls/spans"
    names = {span["span_id"]: span["name"] for spans in read_folder(folder).values() for span in spans}
    places = [str(place.to_json()["span_id"]) for place in _only(folder, Kind.TRACE_CTX).evidence]
    assert [names[each] for each in places] == [f"Actor.{each} ray.remote" for each in ("gen", "static", "cls")]
    build = Builder()
    store = store_of(*[build.span("f ray.remote", kind="PRODUCER", trace=at + 1) for at in range(3 * MAX_PLACES)])
    (finding,) = diagnose(store).findings
    assert finding.count == 3 * MAX_PLACES
    assert [place.row for place in finding.evidence] == [*range(MAX_PLACES)]
    (finding,) = diagnose(store_of_files({f"{at:02}.txt": b"" for at in range(3 * MAX_PLACES)})).findings
    assert [place.file for place in finding.evidence] == [f"{at:02}.txt" for at in range(MAX_PLACES)]


DEDUPLICATED: Final = [
    ((), Severity.WARNING, "20 spans are lost, and others may lack attributes."),
    (("3991",), Severity.WARNING, "8 spans are lost"),
    (("3992",), Severity.WARNING, "12 spans are lost"),
    (("3991", "3992"), Severity.INFO, "as many spans as are incomplete there, 20: none is lost."),
]
"""The processes whose own files are read together with a console's log, and what is said of the log."""


@pytest.mark.parametrize(("pids", "severity", "told"), DEDUPLICATED)
def test_what_workers_have_is_not_lost(tmp_path: Path, pids: tuple[str, ...], severity: Severity, told: str) -> None:
    """Of the spans that a console has lost those aren't counted that stand in the files of its workers."""
    folder = FIXTURES / "console-with-worker-files/spans"
    shutil.copy(folder / "console.log", tmp_path)
    for path in folder.glob("worker-*.out"):
        if path.stem.rpartition("-")[2] in pids:
            shutil.copy(path, tmp_path)
    finding = _only(tmp_path, Kind.DEDUPLICATED)
    assert finding.severity is severity
    assert told in finding.detail
    everything = {key_of(span) for spans in read_folder(folder).values() for span in spans}
    here = {key_of(span) for spans in read_folder(tmp_path).values() for span in spans}
    number = re.search(r"(\d+) spans? (is|are) lost", finding.detail)
    assert len(everything - here) == (int(number[1]) if number else 0)


def test_files_of_other_processes_make_up_for_nothing(tmp_path: Path) -> None:
    """Files of workers that the log doesn't name are of another run."""
    shutil.copy(FIXTURES / "console-with-worker-files/spans/console.log", tmp_path)
    _log(tmp_path, has_lost=True)
    for number in (1, 2):
        spans = [Builder().span("f", trace=number * 100 + at) for at in range(50)]
        (tmp_path / f"worker-ab-01000000-77{number}.out").write_bytes(file_of(spans, indent=4))
    assert "lost, and others" in _only(tmp_path, Kind.DEDUPLICATED).detail


def test_a_process_without_a_file_leaves_it_open(tmp_path: Path) -> None:
    """Where the files have enough spans, but one process that the log names has none, nothing is promised."""
    folder = FIXTURES / "console-with-worker-files/spans"
    shutil.copy(folder / "console.log", tmp_path)
    (path,) = folder.glob("worker-*-3991.out")
    shutil.copy(path, tmp_path)
    more = [Builder().span("f", trace=100 + at) for at in range(50)]
    (tmp_path / path.name).write_bytes(path.read_bytes() + file_of(more, indent=4))
    finding = _only(tmp_path, Kind.DEDUPLICATED)
    assert (finding.severity, finding.certainty) == (Severity.WARNING, Certainty.LIKELY)
    assert "no files of 1 process that the logs name: some spans may be lost" in finding.detail


ADVISED: Final = ("unset_attempts", "unset_requests")
"""Kinds whose advice is a query."""


@pytest.mark.parametrize("recording", [*RECORDINGS, "made below"])
def test_an_advised_query_finds_what_was_counted_and_nothing_else(recording: str, tmp_path: Path) -> None:
    """The query that a finding advises prints the spans that it rests on, and as many as it counted."""
    folder = FIXTURES / recording / "spans"
    if recording == "made below":
        folder = tmp_path
        _serve(folder, requests=60, lone=0, failed=30)
    findings = [finding for finding in diagnose(load_store(folder)).findings if finding.kind in ADVISED]
    for finding in findings:
        query = finding.setting.removeprefix("spanview tree -q ")
        assert query == f"finding={finding.kind}"
        spans = [json.loads(line) for line in run("spans", folder, "-q", query).output.splitlines()]
        ids = {(span["trace_id"], span["span_id"]) for span in spans}
        assert len(ids) == len(spans) == finding.count
        evidence = {tuple(place.to_json().values()) for place in finding.evidence}
        assert evidence <= ids
        if finding.count <= MAX_PLACES:
            assert evidence == ids
        assert {span["status"]["code"] for span in spans} == {"UNSET"}
    assert [finding.kind for finding in findings] == _ADVISED_IN.get(recording, [])


_ADVISED_IN: Final = {
    "made below": ["unset_requests"],
    "ray-odd-calls": ["unset_attempts"],
    "ray-odd-ends": ["unset_attempts"],
    "serve": ["unset_requests"],
    "serve-grpc": ["unset_requests"],
}


def test_the_advised_query_finds_failed_requests_of_grpc() -> None:
    """The traces of the advised query are those of all requests that a code of gRPC alone tells to have failed."""
    folder = FIXTURES / "serve-grpc/spans"
    spans = [span for records in read_folder(folder).values() for span in records]
    roots = [span for span in spans if not span["parent_id"]]
    failed = {span["trace_id"] for span in roots if span["attributes"].get("rpc.grpc.status_code") != "OK"}
    assert len(failed) == 17
    found = [json.loads(line) for line in run("spans", folder, "-q", "finding=unset_requests").output.splitlines()]
    assert {span["trace_id"] for span in found} == failed


def test_advised_commands_read_what_was_given(tmp_path: Path) -> None:
    """The commands that a finding advises have the PATHs that were given, as a shell takes them, and find spans."""
    folder = tmp_path / "spans of today"
    shutil.copytree(FIXTURES / "serve/spans", folder)
    findings = diagnose(load_store(folder), given=[str(folder)]).findings
    (finding,) = [finding for finding in findings if finding.kind is Kind.UNSET_REQUESTS]
    assert f"spanview stats '{folder}' --by serve" in finding.advice
    assert finding.advice.replace("`", "") in " ".join(run("check", folder).output.decode().split())
    assert run(*shlex.split(finding.setting)[1:]).output


def test_findings_that_count_spans_have_all_their_rows() -> None:
    """Each kind that a query can ask for has as many rows as it counts, its evidence among them; no other has any."""
    build = Builder()
    calls = [build.span("f ray.remote", kind="PRODUCER", trace=at + 1) for at in range(3 * MAX_PLACES)]
    stores = [store_of(*calls), *(load_store(FIXTURES / recording / "spans") for recording in RECORDINGS)]
    for store in stores:
        for finding in diagnose(store).findings:
            if finding.kind in OF_SPANS:
                assert len({*finding.rows}) == len(finding.rows) == finding.count
                assert {place.row for place in finding.evidence} - {-1} <= {*finding.rows}
            else:
                assert not finding.rows


def test_a_finding_in_a_query() -> None:
    """`finding` takes the kinds that count spans, and is found out anew when a trace has grown."""
    build = Builder()
    data = Growing()
    call = build.span("f ray.remote", span=1, kind="PRODUCER", start=0)
    attempts = [
        build.span("f ray.remote_worker", span=number, parent=1, kind="CONSUMER", start=number, status="UNSET")
        for number in (2, 3)
    ]
    data.add(call, attempts[0])
    matcher = parse_query("finding=unset_attempts")
    facts = QueryFacts()

    def found() -> list[int]:
        rows = range(len(data.store.spans))
        subjects = [Subject(data.store, facts, data.store.spans.trace[row], row) for row in rows]
        return [subject.row for subject in subjects if all(term.test(subject) for term in matcher.span_terms)]

    assert found() == []
    data.add(attempts[1])
    assert found() == [1]
    for wrong in ("finding=doubled", "finding=x", "finding>no_end", "finding~no_end"):
        with pytest.raises(QueryError, match="expected"):
            parse_query(wrong)


SESSIONS: Final = [
    ("spans/1.txt", "", "/elsewhere/session_latest"),
    ("ray/session_2026-11-22_17-49-44_1_9/logs/worker-1-01000000-1.out", "ray/session_2026-11-22_17-49-44_1_9", ""),
    ("/x/ray/session_latest/logs/serve/spans/1.json", "/x/ray/session_latest", ""),
    ("session_notes/1.txt", "", "/elsewhere/session_latest"),
]


@pytest.mark.parametrize(("path", "session", "told"), SESSIONS)
def test_advice_names_the_session_that_was_read(path: str, session: str, told: str) -> None:
    """The session is the one that the files are from, or else the one that is handed in, not always the usual one."""
    assert session_of(path) == session
    store = store_of_files({path: file_of([Builder().span("f ray.remote", kind="PRODUCER")])})
    findings = diagnose(store, session="/elsewhere/session_latest").findings
    finding = next(finding for finding in findings if finding.kind is Kind.NO_ATTEMPT)
    assert f"{session or told}/logs" in finding.advice
    assert SESSION not in finding.advice


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ({"ray.session_dir": "/y/session_1", "ray.session": "session_1"}, "/y/session_1"),
        ({"ray.session_dir": "y/session_1"}, "/x/ray/session_latest"),
        ({"ray.session_dir": "/y z/session_1", "ray.session": "session_1"}, "/x/ray/session_1"),
        ("session_2026-11-22_17-49-44_1_9", "/x/ray/session_2026-11-22_17-49-44_1_9"),
        ("session_1; rm -r /", "/x/ray/session_latest"),
        ("../session_1", "/x/ray/session_latest"),
        (7, "/x/ray/session_latest"),
    ],
)
def test_advice_names_the_session_of_the_spans(name: object, folder: str) -> None:
    """Where paths name no session, spans do: its folder stays when another session has begun."""
    resource = name if isinstance(name, dict) else {"ray.session": name}
    span = Builder().span("f ray.remote", kind="PRODUCER", resource=resource)
    store = store_of(span)
    (finding,) = diagnose(store, session="/x/ray/session_latest").findings
    assert f" {folder}/logs`" in f"{finding.advice}`"
    # The link leads to another session by the time that the advice is read.
    by_link = store_of_files({"/x/ray/session_latest/logs/spans/1.json": file_of([span])})
    (finding,) = diagnose(by_link, session="/elsewhere/session_latest").findings
    assert f" {folder}/logs`" in f"{finding.advice}`"


def test_requests_of_serve_below_the_own_hook() -> None:
    """Whoever has spanview's hook isn't told to take it, and requests that Serve answered aren't missing."""
    call = "ServeReplica:app:Model.handle_request_with_rejection ray.remote"
    build, resource = Builder(), {"ray.session": "session_1"}
    requests = [
        build.span(call, trace=trace, kind="PRODUCER", resource=resource, attributes={"ray.actor_id": "a"})
        for trace in (1, 2)
    ]
    findings = {finding.kind: finding for finding in diagnose(store_of(*requests)).findings}
    assert findings.keys() == {Kind.UNTRACED, Kind.SERVE_UNTRACED}
    assert findings[Kind.UNTRACED].count == len(requests)
    is_one = " other method" not in findings[Kind.UNTRACED].detail
    assert findings[Kind.UNTRACED].detail.endswith(f"likely because Ray's tracing skips {'it' if is_one else 'them'}.")
    assert "setup_tracing" not in findings[Kind.UNTRACED].advice
    assert "RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH" in findings[Kind.UNTRACED].setting


def test_check_names_the_session_below_ray_tmpdir(tmp_path: Path) -> None:
    """`RAY_TMPDIR` says where sessions are, for files that are from none."""
    (tmp_path / "1.txt").write_bytes(file_of([Builder().span("f ray.remote", kind="PRODUCER")]))
    done = run("check", tmp_path / "1.txt", environment={"RAY_TMPDIR": "/some/where"})
    assert "/some/where/ray/session_latest/logs" in done.text


def test_only_places_are_counted_as_more(tmp_path: Path) -> None:
    """A finding may count spans and name the files that say of them: how many more places there are is told."""
    _unwritten(tmp_path)
    (at,) = [line for line in finding_lines(_only(tmp_path, Kind.NOT_WRITTEN), 100) if line.startswith("    at ")]
    assert at == f"    at {tmp_path}/1.jsonl @ 0, and 1 more"
    build = Builder()
    (tmp_path / "3.json").write_bytes(
        file_of([build.span("f", trace=9, duration=None) for _ in range(MAX_PLACES + 10)])
    )
    (at,) = [line for line in finding_lines(_only(tmp_path, Kind.NO_END), 100) if line.startswith("    at ")]
    assert at.endswith(f", and {MAX_PLACES + 9} more")


def test_torn_tails_say_where(tmp_path: Path) -> None:
    """A record that breaks off at the end of a file is another thing than one behind which the file goes on."""
    whole = file_of([Builder().span("whole")])
    for name, data in (("tail.json", whole + whole[:99]), ("inside.json", whole[:99] + b"\n" + whole)):
        (tmp_path / name).write_bytes(data)
    tail, inside = _only(tmp_path, Kind.TORN_TAIL), _only(tmp_path, Kind.TORN_INSIDE)
    assert [place.to_json() for place in tail.evidence] == [{"file": f"{tmp_path}/tail.json", "offset": len(whole)}]
    assert [place.to_json() for place in inside.evidence] == [{"file": f"{tmp_path}/inside.json", "offset": 0}]


def test_what_runs_is_no_finding_and_what_was_killed_is_a_warning() -> None:
    """A lost span is named with its process, the log of its worker and what Ray says; what runs is counted apart."""
    build, worker = Builder(), "2f" * 28
    attempt = build.span("Stock.reserve ray.remote_worker", duration=None, attributes={"ray.worker_id": worker})
    store = store_of(attempt, build.span("job", duration=None), build.span("old", duration=None))
    runs, late = Unended(Fate.RUNS, "its process (pid 8) is alive", 8), Unended(Fate.RUNS, "came since", 8)
    report = diagnose(store, unended={0: runs, 1: runs, 2: runs, 3: late})
    assert report.findings == []
    assert report.running == 3
    lost = Unended(Fate.LOST, "its process (pid 7) has ended, as Ray says: SYSTEM_ERROR", 7)
    report = diagnose(store, unended={0: lost, 1: runs})
    (finding,) = report.findings
    assert (finding.count, finding.severity, report.running) == (2, Severity.WARNING, 1)
    assert finding.detail == (
        "2 records have no end: 1 was lost with its process. "
        "Stock.reserve is lost: its process (pid 7) has ended, as Ray says: SYSTEM_ERROR."
    )
    assert finding.evidence[0].row == 0
    assert finding.advice.startswith("Process 7 ended while Stock.reserve was running: it was likely killed")
    assert finding.setting == f"tail /tmp/ray/session_latest/logs/worker-{worker}-*"
    assert "Ray's logs (RAY_TMPDIR and _temp_dir move them)" in finding.advice


def test_calls_that_may_still_run_are_no_finding() -> None:
    """What processes show to be possible is counted apart, also in a part of a store; what they don't show is found."""
    build = Builder()
    store = store_of(*(build.span(f"{name} ray.remote", trace=n, kind="PRODUCER") for n, name in enumerate("fgh", 1)))
    assert diagnose(store).findings[0].count == 3
    may_run = {"f ray.remote": True, "g ray.remote": False}

    def lives(asked: Store) -> SimpleNamespace:
        return SimpleNamespace(is_open=lambda row: may_run.get(asked.names.texts[asked.spans.name[row]]))

    store.ask_lives = cast("Any", lives)
    for part in (store, part_of(store, [2, 0, 1])):
        report = diagnose(part)
        (finding,) = report.findings
        assert [place.name for place in finding.evidence] == ["g ray.remote", "h ray.remote"]
        assert finding.detail.startswith("2 of 3 calls have no attempt")
        assert [part.names.texts[part.spans.name[row]] for row in report.open_calls] == ["f ray.remote"]
        assert spans_in_finding(part, Kind.NO_ATTEMPT) == {*finding.rows}
    may_run |= {"g ray.remote": True}
    assert diagnose(part_of(store, [2])).findings[0].detail.startswith("The only call has no attempt: it waited")
    may_run |= {"h ray.remote": True}
    assert diagnose(store).findings == []


def test_a_call_that_waits_for_what_no_node_has_is_a_finding(tmp_path: Path) -> None:
    """Though it may still run: nothing else says so before the program ends."""
    folder = shutil.copytree(FIXTURES / "ray-events-hook", tmp_path / "session")
    # Nobody says that the driver has ended.
    next(folder.rglob("event_EXPORT_DRIVER_JOB.log")).unlink()
    store = load_store(folder)
    store.ask_lives = cast("Any", lambda _: SimpleNamespace(is_open=lambda _: True))
    report = diagnose(store)
    (finding,) = (finding for finding in report.findings if finding.kind is Kind.NO_ATTEMPT)
    assert "waits for 1 GPU (no node has that), as Ray said last (never)" in finding.detail
    assert finding.certainty is Certainty.CERTAIN
    assert report.open_calls.isdisjoint(finding.rows)


def test_what_was_ended_in_order_is_an_info() -> None:
    """It isn't a loss, and there is nothing to look for; beside one that was lost, it is counted."""
    build = Builder()
    store = store_of(*(build.span("A.listen ray.remote_worker", duration=None) for _ in range(2)))
    stopped = Unended(Fate.STOPPED, "Ray ended its process (pid 7) because its job had finished", 7)
    report = diagnose(store, unended={0: stopped, 1: stopped})
    (finding,) = report.findings
    assert (finding.severity, is_bad(report)) == (Severity.INFO, False)
    assert finding.detail == "2 records have no end: they ran until Ray ended their processes."
    # They may have waited for what nothing can run.
    assert "Nothing went wrong" not in finding.advice
    assert finding.advice.startswith("Ray ended these processes in order, and what they ran then didn't finish")
    # In a copy nobody knows.
    (finding,) = diagnose(store, unended={0: stopped, 1: replace(stopped, is_likely=True)}).findings
    assert finding.detail == "2 records have no end: they likely ran until Ray ended their processes."
    assert (finding.certainty, finding.severity) == (Certainty.LIKELY, Severity.INFO)
    cancelled = Unended(Fate.CANCELLED, "Ray says: it was cancelled", 8)
    (finding,) = diagnose(store, unended={0: stopped, 1: cancelled}).findings
    assert finding.detail == "2 records have no end: 1 ran until Ray ended its process, 1 was cancelled."
    assert finding.advice.startswith("Ray ended these processes in order, and")
    (finding,) = diagnose(store, unended={0: cancelled, 1: cancelled}).findings
    assert (finding.severity, finding.detail) == (Severity.INFO, "2 records have no end: they were cancelled.")
    assert finding.advice.startswith("What was cancelled while it ran has no end: ")
    lost = Unended(Fate.LOST, "its process (pid 8) has ended", 8)
    (finding,) = diagnose(store, unended={0: stopped, 1: lost}).findings
    assert finding.severity is Severity.WARNING
    assert "1 was lost with its process, 1 ran until Ray ended its process." in finding.detail


def test_spans_without_ids_are_named_by_their_place() -> None:
    """Where there is no id to name a span by, its file and offset do."""
    build = Builder()
    broken = build.span("x", duration=None) | {"context": {"trace_id": "zz", "span_id": "zz", "trace_state": "[]"}}
    findings = {finding.kind: finding for finding in diagnose(store_of(broken)).findings}
    assert findings.keys() == {Kind.NO_END, Kind.BAD_ID}
    for finding in findings.values():
        assert [place.to_json() for place in finding.evidence] == [{"file": "spans/1.json", "offset": 0}]


def test_odd_values_say_in_which_document(tmp_path: Path) -> None:
    """What is wrong in a document with several spans is told with the place of the document."""
    lines = [b'{"resourceSpans": []}\n']
    for start in ("1", "x"):
        spans = [{"traceId": f"{1:032x}", "spanId": f"{at:016x}", "startTimeUnixNano": start} for at in (1, 2, 3)]
        lines.append(file_of([{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}]))
    (tmp_path / "traces.json").write_bytes(b"".join(lines))
    finding = _only(tmp_path, Kind.ODD_VALUE)
    assert finding.count == 3
    offset = len(lines[0] + lines[1])
    assert [place.to_json() for place in finding.evidence] == [{"file": f"{tmp_path}/traces.json", "offset": offset}]


def test_report_in_text_and_json(tmp_path: Path) -> None:
    """The most severe comes first, with what to do; JSON has the fields of the contract."""
    shutil.copytree(FIXTURES / "ray-odd-calls/spans", tmp_path / "spans")
    (tmp_path / "spans" / "9.json").write_bytes(b'{"name": "torn", "context": {')
    done = run("check", tmp_path / "spans")
    assert done.status == 1
    order = [line.split(":")[0] for line in done.text.splitlines() if re.match("(error|warning|info): [a-z_]+", line)]
    # The problems of files come last.
    assert order == ["error", "warning", "info", "info", "warning"]
    assert "    do: Ray 2.60 can't trace actor methods" in done.text
    assert "`" not in done.text
    assert all(len(line) <= 100 for line in done.text.splitlines() if "spans/" not in line and "    at " not in line)
    report = json.loads(run("check", "--json", tmp_path / "spans").output)
    assert list(report) == ["schema", "verdict", "summary", "gates", "problems", "findings"]
    for finding in report["findings"]:
        assert list(finding) == ["kind", "severity", "certainty", "count", "detail", "advice", "evidence"]
    assert report["findings"][0]["evidence"][0].keys() == {"trace_id", "span_id"}


# -- whatever it is ----------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(graphs(most=20))
def test_any_graph(documents: list[Document]) -> None:
    """Circles, doubled ids, missing parents and odd times: counts are those of the trees, and nothing fails."""
    store = store_of(*documents)
    report = diagnose(store)
    assert report.summary == summary_of(store)
    skewed = sum(
        "clock_skew" in warned.names()
        for tree in map(store.tree, store.traces_in_order())
        for warned in tree.warned().values()
    )
    found = Counter({finding.kind: finding.count for finding in report.findings})
    assert found[Kind.CLOCK_SKEW] == skewed
    assert found[Kind.MISSING_PARENTS] == report.summary.missing_parents
    for finding in report.findings:
        assert len(finding.evidence) <= min(finding.count, MAX_PLACES)
        for place in finding.evidence:
            assert not place.span_id or place.span_id == store.spans.span_id[place.row]
            assert not place.trace_id or place.trace_id == store.trace_table.trace_id(place.trace)


def test_while_it_grows() -> None:
    """A store that another thread adds to is looked at as it is at some moment, again and again."""
    build, data, ends = Builder(), Growing(), threading.Event()

    def add() -> None:
        for number in range(1, 200):
            call = build.span("f ray.remote", trace=number, span=2 * number, kind="PRODUCER")
            late = build.span("g", trace=number, span=2 * number + 1, parent=2 * number, start=0)
            data.add(call, late, build.span("h", trace=number, parent=7_000_000), path=f"{number % 50}.json")
        ends.set()

    adding = threading.Thread(target=add)
    adding.start()
    reports = []
    while not ends.is_set():
        reports.append(diagnose(data.store))
    adding.join()
    last = diagnose(data.store)
    assert last.summary == summary_of(data.store)
    for report in reports:
        counts = {finding.kind: finding.count for finding in report.findings}
        assert counts.get(Kind.MISSING_PARENTS, 0) == report.summary.missing_parents <= 199
        assert counts.get(Kind.NO_ATTEMPT, 0) <= 199
    assert {finding.kind: finding.count for finding in last.findings}[Kind.NO_ATTEMPT] == 199


def test_nothing_at_all() -> None:
    """Of nothing there is nothing to find."""
    assert diagnose(store_of_files({})).findings == []


def test_problems_of_hostile_files() -> None:
    """Problems without a file and names with odd characters are taken as they are."""
    store = store_of_files({"a\x1b[2J/1.txt": b"\x1b[2J"})
    store.tallies.add_problem(Problem(ProblemKind.WATCHER, "", 0, 0, "no watching"))
    (finding,) = diagnose(store).findings
    assert finding.kind is Kind.FOREIGN


def test_received_repeatedly() -> None:
    """What a sender has sent again is said to be that."""
    record = file_of([Builder().span("sent", trace=1)])
    names = ("received-20261123T133005Z.jsonl", "received-20261123T133005Z.2.jsonl")
    (finding,) = diagnose(store_of_files({f"spans/{name}": record for name in names})).findings
    assert (finding.kind, finding.count) == (Kind.DOUBLED, 1)
    assert finding.detail.endswith("within spans; 1 of them was received repeatedly.")
