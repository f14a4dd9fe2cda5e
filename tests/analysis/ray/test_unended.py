"""Spans without an end: they run while their process does, and are lost with it, as far as that can be known.

the span 1 names      process 7                its file was written     so it
--------------------  -----------------------  -----------------------  -------
process 7, here       is alive                 –                        runs
process 7, here       is younger               with the last span       is lost, likely
process 7, here       isn't there              with the last span       is lost, likely
process 7             was ended by Ray         –                        was stopped
process 7, here       isn't there              later                    unknown
process 7, elsewhere  is alive                 –                        unknown
no process            –                        –                        unknown
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import time
from base64 import b64encode
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import EPOCH_NS, Builder, MemoryReader, file_of, span_id
from hosts import FakeHost
from programs import spanview
from rays_word import NODE, line_of
from spanview.analysis.answer import answer_of
from spanview.analysis.ray.running import Running
from spanview.analysis.ray.unended import (
    Fate,
    UnendedSpans,
    fates_text,
    known_until,
    ran_until,
    seen_until,
    unended_text,
)
from spanview.analysis.ray.writers import Life, WorkerExit, Writers
from spanview.display.answer_text import answer_texts, as_far_as_known
from spanview.display.tree_text import lasted_text
from spanview.exports.page.columns import Columns
from spanview.formats.decoder import Decoder
from spanview.index.lives import OpenEnd
from spanview.index.store import Store
from spanview.model.times import NO_TIME
from spanview.sources.loading import load_store
from spanview.sources.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from builders import Document

FIXTURES: Final = Path(__file__).parents[3] / "fixtures"
STARTED: Final = "spans/here-7-1700000000000.started.jsonl"
ENDED: Final = "spans/here-7-1700000000000.jsonl"
HERE: Final = {"host.name": "here", "process.pid": 7}
TASK: Final = "35" * 8 + "0a" * 16
LAST_NS: Final = EPOCH_NS + 40_000
JOB_FINISHED: Final = WorkerExit("its job had finished", is_in_order=True, is_beside=True)


def store_with(files: Mapping[str, Sequence[Document]]) -> Store:
    """Return a store with the spans of files."""
    reader = MemoryReader()
    store = Store(reader)
    for path, documents in files.items():
        add(store, reader, path, *documents)
    return store


def add(store: Store, reader: MemoryReader, path: str, *documents: Document) -> None:
    """Add the spans of one more file, or of the next part of one."""
    data = file_of(documents)
    reader.files.append(data)
    store.add(store.add_source(path), Decoder().feed(data))


def begun(resource: Mapping[str, Any] = HERE, **fields: Any) -> Document:
    """Return a span that has started 10 µs after the epoch."""
    return Builder().span("job", span=1, start=10, duration=None, resource=resource, **fields)


def ended(resource: Mapping[str, Any] = HERE) -> Document:
    """Return a span of the same process that ended 30 µs later."""
    return Builder().span("load", span=2, parent=1, start=20, duration=20, resource=resource)


def other() -> Document:
    """Return a span of another process."""
    return Builder().span("other", trace=9, span=9, start=20, duration=20, resource={"process.pid": 8})


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def said(store: Store, host: FakeHost) -> str:
    """Return what is said of the only span without an end."""
    (unended,) = UnendedSpans.of_store(store, host).all().values()
    return unended_text(unended)


@pytest.mark.parametrize(
    ("resource", "host", "text"),
    [
        (HERE, FakeHost({7}), "running: its process (pid 7) is alive"),
        (
            HERE,
            FakeHost({7}, began_ns={7: EPOCH_NS + 10**10}, written={ENDED: LAST_NS}),
            "lost, likely: its process (pid 7) isn't running",
        ),
        (HERE, FakeHost(written={ENDED: LAST_NS + 10**9}), "lost, likely: its process (pid 7) isn't running"),
        (
            HERE,
            FakeHost(written={ENDED: LAST_NS, STARTED: LAST_NS + 3 * 10**9}),
            "no end: its process (pid 7) isn't running here, but the file may be a copy",
        ),
        (
            HERE | {"ray.worker_id": "2f9c"},
            FakeHost(written={ENDED: LAST_NS}, exits={"2f9c": WorkerExit("SYSTEM_ERROR, End of file")}),
            "lost: its process (pid 7) has ended, as Ray says: SYSTEM_ERROR, End of file",
        ),
        (
            HERE | {"ray.worker_id": "2f9c"},
            FakeHost(written={ENDED: LAST_NS}, exits={"2f9c": JOB_FINISHED}),
            "stopped: Ray ended its process (pid 7) because its job had finished",
        ),
        # The file was written later, or is where a copy would be.
        (
            HERE | {"ray.worker_id": "2f9c"},
            FakeHost(written={ENDED: LAST_NS + 10**11}, exits={"2f9c": JOB_FINISHED}),
            "stopped, likely: Ray ended its process (pid 7) because its job had finished",
        ),
        (
            HERE | {"ray.worker_id": "2f9c"},
            FakeHost(written={ENDED: LAST_NS}, exits={"2f9c": JOB_FINISHED._replace(is_beside=False)}),
            "stopped, likely: Ray ended its process (pid 7) because its job had finished",
        ),
        (
            HERE | {"ray.worker_id": "2f9c", "host.name": "elsewhere"},
            FakeHost({7}, exits={"2f9c": WorkerExit("its node was stopped", is_in_order=True)}),
            "stopped, likely: Ray ended its process (pid 7) because its node was stopped",
        ),
        (HERE, FakeHost(), "no end: its process (pid 7) isn't running here, but the file may be a copy"),
        (
            HERE | {"host.name": "elsewhere"},
            FakeHost({7}, written={ENDED: LAST_NS}),
            "no end: not known whether its process (pid 7) on elsewhere is alive",
        ),
    ],
)
def test_what_has_become_of_a_span(resource: Mapping[str, Any], host: FakeHost, text: str) -> None:
    """By its process, and by when the files of that process were written."""
    assert said(store_with({ENDED: [ended(resource)], STARTED: [begun(resource)]}), host) == text


@pytest.mark.parametrize("name", ["f ray.remote_worker", "orders process"])
def test_ray_tries_again_what_is_its_own(name: str) -> None:
    """Other programs have consumers, too: of messages, which Ray doesn't call again."""
    spans = begun(HERE) | {"name": name, "kind": "SpanKind.CONSUMER"}
    store = store_with({ENDED: [ended(HERE)], STARTED: [spans]})
    (lost,) = UnendedSpans.of_store(store, FakeHost(written={ENDED: LAST_NS})).all().values()
    assert (lost.fate, lost.may_be_tried_again) == (Fate.LOST, name.endswith("ray.remote_worker"))


def test_a_span_of_an_unknown_process() -> None:
    """Nobody can say what has become of it."""
    store = store_with({"spans/some.json": [begun({})]})
    assert said(store, FakeHost({7})) == "no end: not known which process it is of"


def test_a_process_that_was_seen_alive() -> None:
    """Its spans are lost once it has been gone for a moment, wherever the file is; until then its end may be unread."""
    store, host, clock = store_with({STARTED: [begun()]}), FakeHost({7}), Clock()
    spans = UnendedSpans.of_store(store, host, clock)
    assert [unended.fate for unended in spans.all().values()] == [Fate.RUNS]
    host.end({7})
    assert [unended.fate for unended in spans.all().values()] == [Fate.RUNS]
    clock.now = 0.6
    (unended,) = spans.all().values()
    assert unended_text(unended) == "lost: its process (pid 7) has ended"
    assert fates_text([unended]) == "1 lost"


def test_what_a_process_has_written_is_lost_at_once() -> None:
    """However long a look at all of it takes."""
    spans_of_seven = [begun(), Builder().span("load", span=2, start=3, duration=None, resource={"process.pid": 7})]
    store, host = store_with({STARTED: spans_of_seven}), FakeHost({7})
    spans = UnendedSpans.of_store(store, host, partial(next, itertools.count(step=0.2)))
    spans.all()
    host.end({7})
    looks = [{unended.fate for unended in spans.all().values()} for _ in range(6)]
    assert looks[0] == {Fate.RUNS}
    assert looks[-1] == {Fate.LOST}
    assert all(len(fates) == 1 for fates in looks)


def test_until_when_a_lost_span_is_known_to_have_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until its process was seen last, or else until its last span; one that runs, until now."""
    store, host, clock = store_with({STARTED: [begun()]}), FakeHost({7}), Clock()
    spans = UnendedSpans.of_store(store, host, clock)
    monkeypatch.setattr(time, "time_ns", lambda: EPOCH_NS + 10**10)
    assert known_until(spans.all()) == {0: EPOCH_NS + 10**10}
    monkeypatch.setattr(time, "time_ns", lambda: EPOCH_NS + 10**11)
    host.end({7})
    # Its end may be unread yet, but it runs no longer.
    assert known_until(spans.all()) == {0: EPOCH_NS + 10**10}
    clock.now = 0.6
    assert known_until(spans.all()) == {0: EPOCH_NS + 10**10}
    store = store_with({ENDED: [ended()], STARTED: [begun()]})
    assert known_until(UnendedSpans.of_store(store, FakeHost(written={ENDED: LAST_NS})).all()) == {1: LAST_NS}
    assert not known_until(UnendedSpans.of_store(store, FakeHost()).all())


def test_a_process_was_last_seen_when_it_was_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are kept for a while: what is said later of a process is no later news of it."""
    store, host = store_with({STARTED: [begun()]}), FakeHost({7})
    writers = Writers(store, host, Clock())
    monkeypatch.setattr(host, "asked_ns", lambda _: LAST_NS)
    writer = writers.facts_of(0).writer
    assert writer is not None
    assert writers.life(0, writer) is Life.HOLDS
    assert writers.seen_ns(0, writer) == LAST_NS


@pytest.mark.parametrize(
    ("failed_us", "known", "said"),
    [
        (90, 90, "at most 90 µs = "),
        # A clock that is behind: it failed before it began.
        (2, 20, "at least 20 µs = "),
        (None, 20, "at least 20 µs = "),
    ],
)
def test_ray_says_until_when_a_lost_call_ran_at_most(failed_us: int | None, known: int, said: str) -> None:
    """Its caller hears of it in a moment, as Ray's own events say; what was seen of its process tells less."""
    ids = {"ray.task_id": TASK, "ray.node_id": NODE}
    call = Builder().span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", resource=HERE)
    attempt = begun(HERE, attributes=ids, kind="CONSUMER") | {"name": "f ray.remote_worker", "parent_id": span_id(1)}
    attempt["context"] = attempt["context"] | {"span_id": span_id(2)}
    reader = MemoryReader()
    store = Store(reader)
    add(store, reader, ENDED, call, Builder().span("g", trace=8, start=0, duration=20, resource=HERE))
    add(store, reader, STARTED, attempt)
    states = {"8": EPOCH_NS + 9_000} | ({} if failed_us is None else {"12": EPOCH_NS + 1000 * failed_us})
    lines = line_of(TASK, {"1": EPOCH_NS, "2": EPOCH_NS, "5": EPOCH_NS}), line_of(TASK, states, error="WORKER_DIED")
    reader.files.append(b"".join(lines))
    store.add(store.add_source("logs/export_events/event_EXPORT_TASK_7.log"), Decoder().feed(b"".join(lines)))
    host = FakeHost(written={ENDED: EPOCH_NS + 20_000, STARTED: EPOCH_NS + 20_000})
    unended = UnendedSpans.of_store(store, host).all()
    row = max(unended)
    trace, tree = store.spans.trace[row], store.tree(store.spans.trace[row])
    assert known_until(unended) == {row: EPOCH_NS + 1000 * known}
    # How busy its worker was is told by what was seen of it: its caller may have heard late.
    assert seen_until(unended) == {row: EPOCH_NS + 20_000}
    mark = "≤" if said.startswith("at most") else "≥"
    assert lasted_text(store, trace, tree, unended) == f"{mark} {known} µs"
    answer, end = (
        answer_of(store, trace, tree, known_until(unended)),
        ran_until(unended).end_at(EPOCH_NS + 1000 * known),
    )
    assert as_far_as_known(answer_texts(answer), end)[0].startswith(said)
    assert Columns(store, [trace], unended).overview(pytest.fail)["traces"]["lasted"] == {"0": f"{mark} {known} µs"}


def test_ray_says_later_when_a_lost_call_had_failed() -> None:
    """What was seen to be lost has its end at the latest once Ray has written it; one that was tried again, before."""
    ids, reader, host, clock = {"ray.task_id": TASK, "ray.node_id": NODE}, MemoryReader(), FakeHost({7}), Clock()
    build, store = Builder(), Store(reader)
    fields: dict[str, Any] = {"kind": "CONSUMER", "parent": 1, "resource": HERE, "attributes": ids}
    call = build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", resource=HERE)
    add(store, reader, ENDED, call)
    add(store, reader, STARTED, build.span("f ray.remote_worker", span=2, start=10, duration=None, **fields))
    spans = UnendedSpans.of_store(store, host, clock)
    spans.all()
    host.end({7})
    spans.all()
    clock.now = 0.6
    (lost,) = spans.all().values()
    assert (lost.fate, lost.is_told, ran_until({1: lost}).may_last) == (Fate.LOST, False, True)
    add(store, reader, ENDED, build.span("f ray.remote_worker", span=3, start=200, duration=9, **fields))
    (lost,) = spans.all().values()
    assert not ran_until({1: lost}).may_last
    lines = line_of(TASK, {"1": EPOCH_NS, "12": EPOCH_NS + 90_000}, error="WORKER_DIED")
    reader.files.append(lines)
    store.add(store.add_source("logs/export_events/event_EXPORT_TASK_7.log"), Decoder().feed(lines))
    (lost,) = spans.all().values()
    assert (lost.fate, lost.told_ns) == (Fate.LOST, EPOCH_NS + 90_000)


def test_what_an_actor_took_with_it_is_told_by_the_end_of_its_process() -> None:
    """Its caller heard no more than that the actor couldn't be reached; when it heard that is known all the same."""
    ids, reader, build = {"ray.task_id": TASK, "ray.node_id": NODE, "ray.worker_id": WORKER}, MemoryReader(), Builder()
    store, here = Store(reader), HERE | {"ray.worker_id": WORKER}
    add(store, reader, ENDED, build.span("A.f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", resource=here))
    ran: dict[str, Any] = {"duration": None, "kind": "CONSUMER", "attributes": ids, "resource": here}
    add(store, reader, STARTED, build.span("A.f ray.remote_worker", span=2, parent=1, start=10, **ran))
    lines = line_of(TASK, {"1": EPOCH_NS, "8": EPOCH_NS + 9_000, "12": EPOCH_NS + 90_000}, error="ACTOR_UNAVAILABLE")
    reader.files.append(lines)
    store.add(store.add_source("logs/export_events/event_EXPORT_TASK_7.log"), Decoder().feed(lines))
    killed = WorkerExit("its actor was killed by ray.kill", is_in_order=True)
    for exits, fate, reason in (
        ({}, Fate.LOST, "its actor could not be reached, as Ray says"),
        ({WORKER: WorkerExit("SYSTEM_ERROR")}, Fate.LOST, "its process (pid 7) has ended, as Ray says: SYSTEM_ERROR"),
        ({WORKER: killed}, Fate.STOPPED, "Ray ended its process (pid 7) because its actor was killed by ray.kill"),
    ):
        (lost,) = UnendedSpans.of_store(store, FakeHost(exits=exits)).all().values()
        assert (lost.fate, lost.reason, lost.told_ns) == (fate, reason, EPOCH_NS + 90_000)


@pytest.mark.parametrize(
    ("kind", "state", "cause", "fate"),
    [
        ("CONSUMER", "DEAD", "its worker process has died. Worker exit type: SYSTEM_ERROR", Fate.LOST),
        ("SERVER", "DEAD", "its worker process has died. Worker exit type: SYSTEM_ERROR", Fate.LOST),
        # Another actor's, to which the call goes.
        ("PRODUCER", "DEAD", "its worker process has died. Worker exit type: SYSTEM_ERROR", Fate.UNKNOWN),
        ("CONSUMER", "DEAD", "its node has died. Node Id: 9f\n\tmissing too many heartbeats", Fate.LOST),
        ("CONSUMER", "DEAD", "its node has died. Node Id: 9f\n\tthe node was terminated expectedly", Fate.UNKNOWN),
        ("CONSUMER", "RESTARTING", "", Fate.LOST),
        ("CONSUMER", "ALIVE", "", Fate.UNKNOWN),
        ("Serve's", "RESTARTING", "", Fate.UNKNOWN),
        ("CONSUMER", "DEAD", "its worker process has died. Worker exit type: INTENDED_USER_EXIT", Fate.UNKNOWN),
        ("CONSUMER", "DEAD", "its owner has died. Owner worker exit type: INTENDED_USER_EXIT", Fate.UNKNOWN),
    ],
)
def test_a_constructor_is_lost_with_its_actor(kind: str, state: str, cause: str, fate: Fate) -> None:
    """Ray's events say of the actor that its process died, and of the constructor nothing more than that it began."""
    actor, reader, build = "5a" * 16, MemoryReader(), Builder()
    ids = {"ray.task_id": TASK, "ray.node_id": NODE, "ray.actor_id": actor}
    store = Store(reader)
    name = "A.__init__ ray.remote" if kind != "Serve's" else "ServeController.listen_for_change ray.remote"
    ran = dict[str, Any](kind="CONSUMER" if kind == "Serve's" else kind, attributes=ids, duration=None)
    add(store, reader, ENDED, build.span(name, span=1, start=0, duration=5, kind="PRODUCER", resource=HERE))
    add(store, reader, STARTED, build.span(f"{name}_worker", span=2, parent=1, start=10, resource=HERE, **ran))
    died = {"error_message": f"The actor is dead because {cause}."}
    ids_of_event = {"actor_id": b64encode(bytes.fromhex(actor)).decode(), "pid": 7}
    event = {**ids_of_event, "state": state, "death_cause": {"context": died} if cause else {}}
    # It was made again later.
    is_remade = state == "RESTARTING" and kind == "CONSUMER"
    states = {"1": EPOCH_NS, "8": EPOCH_NS + 9_000} | ({"11": EPOCH_NS + 900_000} if is_remade else {})
    lines = line_of(TASK, states, kind="ACTOR_CREATION_TASK")
    lines += json.dumps({"event_data": event, "source_type": "EXPORT_ACTOR"}).encode() + b"\n"
    reader.files.append(lines)
    store.add(store.add_source("logs/export_events/event_EXPORT_7.log"), Decoder().feed(lines))
    (unended,) = UnendedSpans.of_store(store, FakeHost()).all().values()
    assert unended.fate is fate
    assert (fate is Fate.LOST) == (" has ended, as Ray says: its " in unended.reason)


def test_what_a_dead_worker_submitted_had_ended_with_it() -> None:
    """Ray says of the attempt alone when its process had died: of what else it did nobody else tells."""
    ids, reader, build = {"ray.task_id": TASK, "ray.node_id": NODE}, MemoryReader(), Builder()
    store, fields = Store(reader), dict[str, Any](duration=None, resource=HERE)
    add(store, reader, ENDED, build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", resource=HERE))
    ran = build.span("f ray.remote_worker", span=2, parent=1, start=10, kind="CONSUMER", attributes=ids, **fields)
    submits = build.span("g ray.remote", span=3, parent=2, start=20, kind="PRODUCER", **fields)
    later = build.span("h ray.remote", span=4, parent=2, start=95, kind="PRODUCER", **fields)
    add(store, reader, STARTED, ran, submits, later)
    lines = line_of(TASK, {"1": EPOCH_NS, "8": EPOCH_NS + 9_000, "12": EPOCH_NS + 90_000}, error="WORKER_DIED")
    reader.files.append(lines)
    store.add(store.add_source("logs/export_events/event_EXPORT_TASK_7.log"), Decoder().feed(lines))
    host = FakeHost(written={ENDED: EPOCH_NS + 95_000, STARTED: EPOCH_NS + 95_000})
    unended = UnendedSpans.of_store(store, host).all()
    told = {store.spans.span_id[row]: span.told_ns for row, span in unended.items()}
    # A clock that is behind tells nothing.
    assert told == {2: EPOCH_NS + 90_000, 3: EPOCH_NS + 90_000, 4: NO_TIME}
    assert not ran_until({row: span for row, span in unended.items() if span.is_told}).may_last


def test_a_trace_lasts_on_while_a_lost_call_is_tried_again() -> None:
    """Its next attempt waits, then runs, as Ray says, and no span of it is here, until Ray has it as failed."""
    ids, reader, build = {"ray.task_id": TASK, "ray.node_id": NODE}, MemoryReader(), Builder()
    store = Store(reader)
    fields: dict[str, Any] = {"kind": "CONSUMER", "parent": 1, "resource": HERE, "attributes": ids}
    submitted: Any = {"kind": "PRODUCER", "resource": HERE, "attributes": {**ids, "ray.submitter_task_id": "ff" * 24}}
    add(store, reader, ENDED, build.span("f ray.remote", span=1, start=0, duration=5, **submitted))
    add(store, reader, STARTED, build.span("f ray.remote_worker", span=2, start=10, duration=None, **fields))
    events, decoder, spans = (
        store.add_source("event_EXPORT_TASK_7.log"),
        Decoder(),
        UnendedSpans.of_store(store, FakeHost()),
    )
    reader.files.append(b"")
    ends = []
    for attempt, state, us in ((0, "12", 90), (1, "1", 90), (1, "8", 95), (1, "12", 99)):
        error = "WORKER_DIED" if state == "12" else ""
        line = line_of(TASK, {state: EPOCH_NS + 1_000 * us}, attempt=attempt, error=error)
        reader.files[events] = (reader.files[events] or b"") + line
        store.add(events, decoder.feed(line))
        unended = spans.all()
        assert [span.fate for span in unended.values()] == [Fate.LOST]
        ends.append(ran_until(unended).end_at(EPOCH_NS + 90_000))
    assert ends == [OpenEnd.LATEST, OpenEnd.EARLIEST, OpenEnd.EARLIEST, OpenEnd.LATEST]


def test_what_is_lost_stays_lost() -> None:
    """When the next session of Ray has taken the place of the files, nothing else is said; what comes alive runs."""
    store, host = store_with({ENDED: [ended()], STARTED: [begun()]}), FakeHost(written={ENDED: LAST_NS})
    spans = UnendedSpans.of_store(store, host)
    lost = spans.all()
    host.written.clear()
    assert spans.all() == lost
    assert [unended.fate for unended in lost.values()] == [Fate.LOST]
    host.alive.add(7)
    assert [unended.fate for unended in spans.all().values()] == [Fate.RUNS]


def test_an_end_that_comes() -> None:
    """A span that has ended is asked about no more."""
    reader, host = MemoryReader(), FakeHost({7})
    store = Store(reader)
    add(store, reader, STARTED, begun())
    spans = UnendedSpans.of_store(store, host)
    assert [*spans.all()] == [0]
    add(store, reader, ENDED, Builder().span("job", span=1, start=10, duration=90, resource=HERE))
    assert not spans.all()


def test_traces_with_spans_that_run() -> None:
    """They grow while one runs; then something in them is lost. A process runs what it began."""
    store, host, clock = store_with({STARTED: [begun()]}), FakeHost({7}), Clock()
    running = Running(store, host, clock)
    living = running.living()
    assert living.growing == living.running == {0}
    assert not living.lost
    assert living == running.living_by_unended()
    (runs,) = running.runs_now()
    assert (runs.pid, runs.title, runs.since_ns) == (7, "job", EPOCH_NS + 10_000)
    assert [span.until_ns for span in running.open_spans(())] == [NO_TIME]
    before_ns = time.time_ns()
    host.end({7})
    assert running.living().growing
    # While its end may be unread, its age stands still.
    assert [EPOCH_NS < span.until_ns < before_ns for span in running.open_spans(())] == [True]
    clock.now = 0.6
    living = running.living()
    assert not living.growing | living.running
    assert living.lost == {0: "1 lost"}
    assert not running.runs_now()


def test_files_of_one_process() -> None:
    """What a process starts is in a file of its own, and counts as that process's."""
    store = store_with({STARTED: [begun()], ENDED: [ended()], "spans/here-8-1700000000000.jsonl": [other()]})
    assert [*store.spans.process] == [0, 0, 1]


def test_when_a_file_was_written(tmp_path: Path) -> None:
    """A copy, also one with the same times, was written when it was copied."""
    path = tmp_path / "1.jsonl"
    before = time.time_ns()
    path.write_bytes(b"{}")
    written = Processes().written_ns(str(path))
    assert abs(written - before) < 10**10
    os.utime(path, ns=(10**18, 10**18))
    assert Processes().written_ns(str(path)) >= written
    assert Processes().written_ns(str(tmp_path / "2.jsonl")) == 0


@pytest.mark.parametrize(
    ("function", "exits", "text"),
    [
        ("ServeController.listen_for_change", {}, "stopped, likely: its process (pid 7) isn't running"),
        ("Controller.listen_for_change", {}, "lost, likely: its process (pid 7) isn't running"),
        (
            "ServeController.listen_for_change",
            {"2f9c": WorkerExit("SYSTEM_ERROR, End of file")},
            "lost: its process (pid 7) has ended, as Ray says: SYSTEM_ERROR, End of file",
        ),
    ],
)
def test_a_call_of_rays_own(function: str, exits: dict[str, WorkerExit], text: str) -> None:
    """It waits until its process ends, which is no loss unless Ray says so."""
    listens = Builder().span(
        f"{function} ray.remote_worker",
        span=1,
        start=10,
        duration=None,
        kind="CONSUMER",
        resource=HERE | {"ray.worker_id": "2f9c"},
    )
    store = store_with({ENDED: [ended()], STARTED: [listens]})
    assert said(store, FakeHost(written={ENDED: LAST_NS}, exits=exits)) == text


def test_a_log_that_says_later_why_a_process_ended() -> None:
    """What was taken for lost was stopped, and stays so when the log is gone."""
    resource = HERE | {"ray.worker_id": "2f9c"}
    store = store_with({ENDED: [ended(resource)], STARTED: [begun(resource)]})
    host, clock = FakeHost({7}), Clock()
    spans = UnendedSpans.of_store(store, host, clock)
    spans.all()
    host.end({7})
    spans.all()
    clock.now = 0.6
    assert [unended.fate for unended in spans.all().values()] == [Fate.LOST]
    host.exits["2f9c"] = WorkerExit("its job had finished", is_in_order=True)
    assert [unended.fate for unended in spans.all().values()] == [Fate.STOPPED]
    host.exits.clear()
    assert [unended.fate for unended in spans.all().values()] == [Fate.STOPPED]


LEFT: Final = "it exited by itself, as after exit_actor or ray.cancel with force"
WORKER: Final = "2f9c01" + "0" * 50


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (("Killing leased worker because its job finished. ID",), "its job had finished"),
        (
            (
                "Received KillLocalActor RPC ID",
                "Killing leased worker because its owner died. ID",
                "Disconnecting worker, graceful=true, disconnect_type=1, ID",
                "Failed to send exit request. Killing it using SIGKILL instead. ID",
            ),
            "its owner had ended",
        ),
        (
            ("Received KillLocalActor RPC ID", "Disconnecting worker, graceful=true, disconnect_type=1, ID"),
            "its actor was killed, or had no more users",
        ),
        (
            (
                "Started worker process with pid 7, in a line that is longer than the next one: ID",
                "Received KillLocalActor RPC ID",
                "Disconnecting worker, graceful=true, disconnect_type=1, ID",
            ),
            "its actor was killed, or had no more users",
        ),
        (("Stop: sending SIGTERM to pgid=7 ID", "Stop: sending SIGKILL to pgid=7 ID"), "its node was stopped"),
        (("Disconnecting worker, graceful=true, disconnect_type=3, ID",), LEFT),
        (
            (
                "Disconnecting worker, graceful=false, disconnect_type=0, ID",
                "DisconnectClient: sending SIGTERM to pgid=7 ID",
                "Received KillLocalActor RPC ID",
            ),
            None,
        ),
        (("Disconnecting worker, graceful=true, disconnect_type=0, ID",), None),
        (("Started worker process with pid 7 ID", "Stop: sending SIGTERM to pgid=8 OTHER"), None),
        (
            (
                "Killing leased worker because its owner died. ID",
                "Disconnecting worker, graceful=false, disconnect_type=0, ID",
                "DisconnectClient: failed to send SIGTERM to process group 7: No such process, errno=3 ID",
            ),
            None,
        ),
    ],
)
def test_a_worker_that_its_raylet_ended(tmp_path: Path, lines: Sequence[str], cause: str | None) -> None:
    """The raylet's log says why; what it does after a worker has gone is no reason."""
    folder = tmp_path / "session_2026-11-24_05-52-40_1_1" / "logs"
    (folder / "spans").mkdir(parents=True)
    (tmp_path / "spans").mkdir()
    text = "\n".join(f"[1 I 1 1] (raylet) node_manager.cc:1: {line} job_id=01000000" for line in lines)
    named = text.replace("ID", f"worker_id={WORKER}").replace("OTHER", f"worker_id={'3' * 56}")
    (folder / "raylet.out").write_text(f"[state-dump] 1\n{named}\n")
    expected = None if cause is None else WorkerExit(cause, is_in_order=True, is_beside=True)
    assert Processes().exit_of(str(folder / "spans" / "7.jsonl"), WORKER, "") == expected
    # Where spans are in a folder of their own, they name the session.
    there = Processes(str(tmp_path / "session_latest"))
    path = str(tmp_path / "spans" / "7.jsonl")
    elsewhere = expected and expected._replace(is_beside=False)
    assert there.exit_of(path, WORKER, folder.parent.name) == elsewhere
    assert Processes().exit_of(path, WORKER, str(folder.parent)) == elsewhere
    for session in ("", "session_2", "../" + folder.parent.name):
        assert Processes(str(tmp_path / "session_latest")).exit_of(path, WORKER, session) is None


def test_a_worker_that_was_cancelled_with_force(tmp_path: Path) -> None:
    """The raylet says no more than that it left; the worker itself says why, which is then no end in order."""
    folder = tmp_path / "logs"
    path = folder / "spans" / "7.jsonl"
    path.parent.mkdir(parents=True)
    (folder / "raylet.out").write_text(f"graceful=true, disconnect_type=3, worker_id={WORKER}\n")
    log = folder / f"python-core-worker-{WORKER}_7.log"
    log.write_text("exit_type=INTENDED_USER_EXIT, exit_detail=The worker exits because it exits.\n")
    assert Processes().exit_of(str(path), WORKER, "") == WorkerExit(LEFT, is_in_order=True, is_beside=True)
    log.write_text("exit_detail=The worker exits because the task f has received a force ray.cancel request.\n")
    told = Processes().exit_of(str(path), WORKER, "")
    assert told == WorkerExit("ray.cancel was called with force", is_in_order=True, is_cancelled=True, is_beside=True)
    resource = HERE | {"ray.worker_id": WORKER}
    store = store_with({ENDED: [ended(resource)], STARTED: [begun(resource)]})
    text = "cancelled: Ray ended its process (pid 7) because ray.cancel was called with force"
    assert said(store, FakeHost(written={ENDED: LAST_NS}, exits={WORKER: told})) == text


def test_a_worker_that_ray_kill_ended(tmp_path: Path) -> None:
    """The worker itself says why: the raylet says the same of an actor that had no more users."""
    path = tmp_path / "logs" / "spans" / "7.jsonl"
    path.parent.mkdir(parents=True)
    (tmp_path / "logs" / "raylet.out").write_text(f"Received KillLocalActor RPC worker_id={WORKER}\n")
    log = tmp_path / "logs" / f"python-core-worker-{WORKER}_7.log"
    log.write_text("Force kill actor request has received. The actor is dead because it was killed by `ray.kill`.\n")
    told = Processes().exit_of(str(path), WORKER, "")
    assert told == WorkerExit("its actor was killed by ray.kill", is_in_order=True, is_beside=True)


def test_how_a_worker_ended(tmp_path: Path) -> None:
    """The log of the head node says it, for the worker that is asked about, and in its session only."""
    spans = tmp_path / "logs" / "spans"
    spans.mkdir(parents=True)
    log, path = tmp_path / "logs" / "gcs_server.out", str(spans / "7.jsonl")
    assert Processes().exit_of(path, WORKER, "") is None
    line = "W x.cc:70: Reporting worker exit, worker id = {}, node id = 1, exit_type = {}, exit_detail = {}"
    log.write_text(
        line.format("3" * 56, "INTENDED_USER_EXIT", "It went.\n")
        + line.format(WORKER, "SYSTEM_ERROR", "Worker exits with code 2. End of file. Some causes.\n")
        + line.format("4" * 56, "USER_ERROR", "Other.\n")
    )
    assert Processes().exit_of(path, "3" * 56, "") == WorkerExit(
        "INTENDED_USER_EXIT, It went", is_in_order=True, is_beside=True
    )
    assert Processes().exit_of(path, WORKER, "") == WorkerExit("SYSTEM_ERROR, Worker exits with code 2", is_beside=True)
    assert Processes().exit_of(path, "4" * 56, "") == WorkerExit("USER_ERROR, Other", is_beside=True)
    assert Processes().exit_of(path, "5" * 56, "") is None
    assert Processes().exit_of(str(tmp_path / "7.jsonl"), WORKER, "") is None
    log.unlink()
    log.symlink_to("/etc/passwd")
    assert Processes().exit_of(path, WORKER, "") is None


def test_a_process_that_the_span_names() -> None:
    """It is itself, whatever it has open."""
    life, now = Processes().life, time.time_ns()
    assert life(os.getpid(), platform.node(), "nowhere.jsonl", now, is_named=True) is Life.LIKELY
    assert life(os.getpid(), platform.node(), "nowhere.jsonl", now) is Life.UNKNOWN
    assert life(os.getpid(), "elsewhere", "nowhere.jsonl", now, is_named=True) is Life.UNKNOWN
    assert life(os.getpid(), platform.node(), "nowhere.jsonl", 10**18, is_named=True) is Life.GONE


@pytest.mark.parametrize(
    ("pid", "age_s", "said"),
    [
        (os.getpid(), 0, "running: its process (pid {}) is alive"),
        (2**31 - 1, 0, "lost, likely: its process (pid {}) isn't running"),
        (2**31 - 1, 60, "no end: its process (pid {}) isn't running here, but the file may be a copy"),
    ],
    ids=["alive", "gone", "copied"],
)
def test_commands_say_it(tmp_path: Path, pid: int, age_s: int, said: str) -> None:
    """`tree` says it of the span, `stats` and `check` how many there are; exports say nothing of processes."""
    start_us = (time.time_ns() - EPOCH_NS) / 1000 - age_s * 1e6
    resource = {"host.name": platform.node(), "process.pid": pid}
    path = tmp_path / f"here-{pid}-1700000000000.started.jsonl"
    path.write_bytes(file_of([Builder().span("job", start=start_us, duration=None, resource=resource)]))
    fate = said.partition(":")[0].partition(",")[0]
    tree = spanview("tree", path).text
    assert f"[{said.format(pid)}]" in tree
    count = {"running": "● 1 running", "lost": "1 lost", "no end": "1 span without an end"}[fate]
    assert count in tree.splitlines()[0]
    stats = spanview("stats", path)
    assert ("excluded from durations" in stats.notices) == (fate != "no end")
    words = {
        "lost": "it was lost with its process",
        "no end": "it may have ended, or still run",
    }
    check = spanview("check", path).text
    if fate == "running":
        assert "spans without an end, 1 of them running" in check
        assert "no_end" not in check
    else:
        kind = "warning: no_end (likely)" if fate == "lost" else "info: no_end"
        assert f"{kind}: 1 record has no end: {words[fate]}." in check
        advice = f"Process {pid} ended while job was running: it was likely killed"
        assert (advice in " ".join(check.split())) == (fate == "lost")
    exported = spanview("export", path).text
    assert '"end_time":null' in exported
    assert '"warnings":["no_end"]' in exported


def test_a_recorded_session_that_ended_in_order() -> None:
    """What ran until Ray ended it is no more than an info, wherever the folder was copied to."""
    done = spanview("check", "--json", FIXTURES / "session-in-order/logs/spans")
    (finding,) = json.loads(done.output)["findings"]
    assert (done.status, finding["kind"], finding["severity"]) == (0, "no_end", "info")
    shown = spanview("tree", FIXTURES / "session-in-order/logs/spans").text
    for cause in ("its node was stopped", "its job had finished"):
        assert f"because {cause}" in shown


@pytest.mark.parametrize(("tail", "fate"), [(b"", Fate.STOPPED), (b'{"name": "job", "context": {"trace', Fate.UNKNOWN)])
def test_what_is_damaged_may_hold_the_end(tmp_path: Path, tail: bytes, fate: Fate) -> None:
    """As in a file that was cut off amid a record: what isn't there may have ended in order."""
    here = HERE | {"ray.worker_id": WORKER}
    (tmp_path / Path(STARTED).name).write_bytes(file_of([begun(here)]))
    (tmp_path / Path(ENDED).name).write_bytes(file_of([ended(here)]) + tail)
    store = load_store(tmp_path)
    (unended,) = UnendedSpans.of_store(store, FakeHost(exits={WORKER: JOB_FINISHED})).all().values()
    assert unended.fate is fate


@pytest.mark.parametrize(
    ("kind", "error", "fate", "has_raised"),
    [
        ("SERVER", "", Fate.UNKNOWN, False),
        ("CONSUMER", "", Fate.UNKNOWN, False),
        ("CONSUMER", "TASK_EXECUTION_EXCEPTION", Fate.LOST, True),
        ("CONSUMER", "WORKER_DIED", Fate.LOST, False),
    ],
)
def test_what_is_damaged_may_hold_the_end_whatever_ended_the_process(
    tmp_path: Path, kind: str, error: str, fate: Fate, *, has_raised: bool
) -> None:
    """Only what Ray says of a call itself is so, and what had raised something wasn't lost with its process."""
    ids = {"ray.task_id": TASK, "ray.node_id": NODE, "ray.actor_id": "5a" * 16}
    ran = begun(kind=kind, attributes=ids, parent=9)
    (tmp_path / Path(STARTED).name).write_bytes(file_of([ran]))
    (tmp_path / Path(ENDED).name).write_bytes(file_of([ended()]) + b'{"name": "job", "context": {"trace')
    died = {"context": {"error_message": "The actor is dead because its worker process has died."}}
    actor = {"actor_id": b64encode(b"Z" * 16).decode(), "pid": 7, "state": "DEAD", "death_cause": died}
    lines = json.dumps({"event_data": actor, "source_type": "EXPORT_ACTOR"}).encode() + b"\n"
    states = {"1": EPOCH_NS, "8": EPOCH_NS + 9_000} | ({"12": EPOCH_NS + 90_000} if error else {})
    lines += line_of(TASK, states, kind="ACTOR_TASK", error=error, message="ValueError: no")
    (tmp_path / "event_EXPORT_7.log").write_bytes(lines)
    store = load_store(tmp_path)
    (unended,) = UnendedSpans.of_store(store, FakeHost()).all().values()
    assert (unended.fate, unended.has_raised) == (fate, has_raised)
    checked = spanview("check", tmp_path).text
    said = {Fate.UNKNOWN: "it may have ended, or still run", Fate.LOST: "it was lost with its process"}[fate]
    assert f"1 record has no end: {'it has failed, as Ray says' if has_raised else said}." in checked
    is_of_process = fate is Fate.LOST and not has_raised
    assert ("Process 7 ended while job was running" in " ".join(checked.split())) is is_of_process
