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
import shutil
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings

from builders import Builder, file_of, store_of, store_of_files
from independent_diagnosis import expected
from independent_reader import read_folder
from programs import spanview as run
from readme_parts import findings_table
from span_graphs import graphs
from spanview.analysis.diagnosis.finding import MOST_PLACES, RULES, Certainty, Kind
from spanview.analysis.diagnosis.report import DETECTORS, diagnose
from spanview.index.store import Store
from spanview.model.problems import Problem, ProblemKind, Severity
from spanview.sources.details import Details
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
FAILS: Final = {"console-logs", "made", "ray-odd-calls", "sdk-versions"}
"""Recordings of which something is a warning or an error; of `sdk-versions` the clock of a synthetic program."""


def counts_of(folder: Path) -> dict[str, int]:
    """Return how often each kind is found below a folder."""
    return {finding.kind.value: finding.count for finding in diagnose(load_store(folder)).findings}


@pytest.mark.parametrize("recording", RECORDINGS)
def test_recordings(recording: str) -> None:
    """The kinds of a recording, and how often they are there, are what another reader counts in the raw files."""
    folder = FIXTURES / recording / "spans"
    assert counts_of(folder) == expected(folder) | TORN.get(recording, {})


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_healthy_recording_is_not_bad(recording: str) -> None:
    """What may be normal is an info, and `check` doesn't fail for it."""
    assert diagnose(load_store(FIXTURES / recording / "spans")).is_bad is (recording in FAILS)


def test_check_ends_with_0_where_nothing_is_bad() -> None:
    """Findings that are infos are told, and the status stays 0."""
    done = run("check", FIXTURES / "killed-workers/spans")
    assert done.status == 0
    assert "info: no_attempt (likely): 10 of 16 calls have no attempt" in done.text


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


def _events(folder: Path, number: int) -> None:
    event = {"name": "e", "timestamp": "2023-11-14T22:13:20.000000Z", "attributes": {}}
    (folder / "1.json").write_bytes(file_of([Builder().span(events=[event] * number)]))


MADE: Final[dict[str, tuple[Callable[[Path], None], dict[str, int]]]] = {
    "few requests": (partial(_serve, requests=9, lone=0), {"sampling": 2}),
    "enough requests": (partial(_serve, requests=10, lone=0), {}),
    "no request": (partial(_serve, requests=0, lone=3), {"sampling": 2, "lone_replicas": 3}),
    "sampled": (partial(_serve, requests=12, lone=13), {"sampling": 2, "lone_replicas": 13}),
    "some by a handle": (partial(_serve, requests=12, lone=12), {"lone_replicas": 12}),
    "no proxy": (partial(_serve, requests=0, lone=30, has_proxy=False), {"no_proxy_file": 1}),
    "failed requests": (partial(_serve, requests=20, lone=0, failed=4), {"unset_requests": 8}),
    "several processes": (_shared_file, {"shared_file": 1, "doubled": 17, "both_hooks": 2}),
    "two layouts": (_two_layouts, {"doubled": 104, "no_attempt": 1}),
    "both hooks": (_both_hooks, {"doubled": 80, "both_hooks": 80}),
    "both of Ray's hooks": (_both_of_rays_hooks, {"both_hooks": 3}),
    "a log with gaps": (partial(_log, has_lost=True), {"deduplicated": 5, "foreign": 1}),
    "a log": (partial(_log, has_lost=False), {"prefixed": 3, "foreign": 1}),
    "empty files": (_empty, {"all_empty": 3}),
    "odd values": (_odd, {"bad_id": 1, "odd_value": 1}),
    "health checks": (partial(_health, checks=20, others=80), {"health_checks": 20}),
    "few health checks": (partial(_health, checks=20, others=81), {}),
    "a late host": (partial(_hosts, late_us=5_000), {"clock_skew": 1}),
    "hosts as they should be": (partial(_hosts, late_us=1), {}),
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


def test_cut_while_it_was_followed(tmp_path: Path) -> None:
    """A file whose PID comes again is emptied by the bundled hook; that is seen by whoever follows."""
    path = tmp_path / "1.txt"
    path.write_bytes(file_of([Builder().span("first" * 100)]))
    # A record that is half written is nothing odd while somebody follows.
    (tmp_path / "2.txt").write_bytes(b'{"name": "half')
    details = Details()
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
    assert shown == {kind.value for kind in RULES} == {kind.value for kind in DETECTORS}
    assert set(RULES) == set(Kind)


# -- what a finding says -----------------------------------------------------------------------------------------------


def _only(folder: Path, kind: Kind) -> Finding:
    return next(finding for finding in diagnose(load_store(folder)).findings if finding.kind is kind)


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
    store = store_of(*[build.span("f ray.remote", kind="PRODUCER", trace=at + 1) for at in range(3 * MOST_PLACES)])
    (finding,) = diagnose(store).findings
    assert finding.count == 3 * MOST_PLACES
    assert [place.row for place in finding.evidence] == [*range(MOST_PLACES)]
    (finding,) = diagnose(store_of_files({f"{at:02}.txt": b"" for at in range(3 * MOST_PLACES)})).findings
    assert [place.file for place in finding.evidence] == [f"{at:02}.txt" for at in range(MOST_PLACES)]


def test_torn_tails_say_where(tmp_path: Path) -> None:
    """A record that breaks off at the end of a file is another thing than one behind which the file goes on."""
    whole = file_of([Builder().span("whole")])
    for name, data in (("tail.json", whole + whole[:99]), ("inside.json", whole[:99] + b"\n" + whole)):
        (tmp_path / name).write_bytes(data)
    tail, inside = _only(tmp_path, Kind.TORN_TAIL), _only(tmp_path, Kind.TORN_INSIDE)
    assert [place.to_json() for place in tail.evidence] == [{"file": f"{tmp_path}/tail.json", "offset": len(whole)}]
    assert [place.to_json() for place in inside.evidence] == [{"file": f"{tmp_path}/inside.json", "offset": 0}]


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
    assert list(report) == ["verdict", "summary", "problems", "findings"]
    for finding in report["findings"]:
        assert list(finding) == ["kind", "severity", "certainty", "count", "detail", "advice", "evidence"]
    assert report["findings"][0]["evidence"][0].keys() == {"trace_id", "span_id"}


def test_readme_has_all_kinds() -> None:
    """The README's table is the registry."""
    readme = (FIXTURES.parent / "README.md").read_text(encoding="utf-8")
    assert findings_table() in readme


# -- whatever it is ----------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(graphs(most=20))
def test_any_graph(documents: list[Document]) -> None:
    """Circles, doubled ids, missing parents and odd times: counts are those of the trees, and nothing fails."""
    store = store_of(*documents)
    report = diagnose(store)
    assert report.summary == store.summary()
    skewed = sum("clock_skew" in warned.names() for _, tree in store.trees() for warned in tree.warned().values())
    found = Counter({finding.kind: finding.count for finding in report.findings})
    assert found[Kind.CLOCK_SKEW] == skewed
    assert found[Kind.MISSING_PARENTS] == report.summary.missing_parents
    for finding in report.findings:
        assert len(finding.evidence) <= min(finding.count, MOST_PLACES)
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
    assert last.summary == data.store.summary()
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
