"""What runs and what waits now, oldest first; and the keys to the longest wait, the longest gap and a worker's log.

file               what it holds
…started.jsonl     job, and load below it, without an end, of process 7
9.txt              f ray.remote, without an attempt

Process 8 is a Ray worker.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from builders import EPOCH_NS, Builder
from hosts import FakeHost
from rays_word import NODE, line_of
from spanview.reports.running import running_report
from spanview.sources import processes
from spanview.sources.unended import let_ask
from spanview.tui.app.feed import FeedState
from spanview.tui.log.log_screen import LogScreen
from spanview.tui.running.running_screen import RunningScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.workers.workers_screen import WorkersScreen
from viewers import Growing, Look, looking_at

if TYPE_CHECKING:
    from pathlib import Path

FOLLOWING = FeedState(loading=False, following=True)
STARTED = "spans/here-7-1700000000000.started.jsonl"
OF_SEVEN = {"host.name": "here", "process.pid": 7}
MS = 1_000


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    """Return the processes that are alive, to be changed."""
    fake = FakeHost({7, 8, 9}, {8: "IDLE"})
    monkeypatch.setattr(processes, "Processes", lambda *_: fake)
    return fake


def running() -> Growing:
    """Return the file of the drawing."""
    data, build = Growing(), Builder()
    data.add(
        build.span("job", span=1, start=0, duration=None, resource=OF_SEVEN),
        build.span("load", span=2, parent=1, start=5, duration=None, resource=OF_SEVEN),
        path=STARTED,
    )
    return submitted(data)


def submitted(data: Growing) -> Growing:
    """Add the call without an attempt."""
    call = Builder().span("f ray.remote", trace=2, span=3, start=2, duration=1, kind="PRODUCER")
    data.add(call, path="spans/9.txt")
    return data


def rows_of(look: Look) -> list[list[str]]:
    """Return state and name of each row, from the top."""
    assert isinstance(look.screen, RunningScreen)
    names, spans = look.data.store.names.texts, look.data.store.spans
    return [[str(span.state), names[spans.name[span.row]]] for span in look.screen.rows.items]


async def test_what_runs_and_waits_oldest_first(host: FakeHost) -> None:
    """Processes that come and go change it, though no span comes; what has ended is gone; Enter leads to its trace."""
    async with looking_at(data=running(), size=(120, 30)) as look:
        await look.tell(FOLLOWING)
        await look.press("J")
        await look.until_shown("2 running, 0 waiting, 1 may wait or run", "◌ may wait")
        assert rows_of(look) == [["running", "job"], ["waiting", "f ray.remote"], ["running", "load"]]
        assert "running: its process (pid 7) is alive" in look.text
        assert "in job" in look.lines[look.line_of("load")]
        assert "may run: its caller, pid 9, is alive" in look.lines[look.line_of("f ray.remote")]
        await look.press("end")
        await look.grow(Builder().span("load", span=2, parent=1, start=5, duration=9, resource=OF_SEVEN), path=STARTED)
        await look.until_shown("1 running, 1 waiting")
        await look.press("home", "enter")
        await look.until(lambda: look.is_on(TraceScreen))
        await look.press("escape")
        host.end({7, 9})
        await look.until_shown("0 running, 0 waiting", "nothing runs or waits, as far as processes show")
        await look.press("J")
        assert look.is_on(TracesScreen)


async def test_what_the_name_of_a_worker_shows(host: FakeHost) -> None:
    """A call isn't said to run while a worker is named after it; where for some time none is, that is said."""
    async with looking_at(data=submitted(Growing()), size=(120, 30)) as look:
        host.titles[8] = "f"
        await look.tell(FOLLOWING)
        await look.press("J")
        await look.until_shown("0 running, 0 waiting, 1 may wait or run", "◌ may wait", "may run: its caller, pid 9")
        host.titles[8] = "IDLE"
        await look.until_shown("0 running, 1 waiting", "waiting, likely: doesn't run here: no Ray worker is ray::f")


async def test_what_is_said_to_be_lost_runs_no_longer(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is asked when that is said, not only when its own time has come."""
    monkeypatch.setattr("spanview.tui.running.running_screen.ASK_AGAIN_S", 600.0)
    async with looking_at(data=running(), size=(120, 30)) as look:
        await look.tell(FOLLOWING)
        await look.press("J")
        await look.until_shown("2 running")
        host.end({7})
        await look.until_shown("load and 1 other span were lost: its process (pid 7) has ended", "0 running")


async def test_the_reason_of_what_was_lost_is_that_of_all(host: FakeHost) -> None:
    """Where each has another one, none is said."""
    data = running()
    data.add(
        Builder().span("other", trace=5, span=50, start=9, duration=None, resource={**OF_SEVEN, "process.pid": 8}),
        path="spans/here-8-1700000000000.started.jsonl",
    )
    # That processes are asked just between the ends of two is possible, and rare.
    for _ in range(3):
        host.alive.update({7, 8})
        async with looking_at(data=data, size=(120, 30)) as look:
            await look.tell(FOLLOWING)
            await look.press("J")
            await look.until_shown("3 running")
            host.end({7, 8})
            await look.until(lambda: " lost" in look.text)
            if "other and 2 other spans were lost" in look.text:
                assert "were lost:" not in look.text
                return
    pytest.fail("those that ended together are never said to be lost together")


async def test_an_explanation_holds_while_no_span_comes(host: FakeHost) -> None:
    """What has been running grows older, and runs no longer once its process has ended."""
    data, now_us = Growing(), (time.time_ns() - EPOCH_NS) // 1_000
    data.add(Builder().span("job", span=1, start=now_us, duration=None, resource=OF_SEVEN), path=STARTED)
    async with looking_at(data=data, size=(120, 30)) as look:
        await look.tell(FOLLOWING)
        await look.press("x")
        await look.until_shown("job has been running for")
        begun = look.lines[look.line_of("job has been running for")]
        await look.until(lambda: begun not in look.text)
        host.end({7})
        await look.until(lambda: "has been running" not in look.text)
        assert "job was lost" in look.text


@pytest.mark.parametrize("is_followed", [False, True])
async def test_rays_events_without_spans(*, is_followed: bool) -> None:
    """While a program is awaited nothing says that its spans are elsewhere: it may not have made any."""
    data = Growing()
    line = json.loads(line_of("35" * 24, {"1": EPOCH_NS}))
    data.add(line, path="logs/export_events/event_EXPORT_TASK_9.log")
    async with looking_at(data=data, size=(120, 30)) as look:
        await look.tell(FeedState(loading=False, following=is_followed))
        await look.until_shown("Ray's own events are there")
        assert ("another folder" in look.text) is not is_followed


@pytest.mark.usefixtures("host")
async def test_what_a_call_waits_for_stands_beside_it() -> None:
    """Where Ray's own events say that."""
    task, data = "35" * 8 + "0a" * 16, running()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = Builder().span("huge ray.remote", trace=9, span=30, start=3, duration=1, kind="PRODUCER", attributes=ids)
    data.add(call, path="spans/9.txt")
    data.add(
        json.loads(line_of(task, dict.fromkeys("12", EPOCH_NS))), path="logs/export_events/event_EXPORT_TASK_9.log"
    )
    async with looking_at(data=data, size=(120, 30)) as look:
        await look.tell(FOLLOWING)
        await look.press("J")
        await look.until_shown("2 running, 2 waiting")
        assert "waits for a worker or 1 CPU, as Ray s" in look.lines[look.line_of("huge")]


@pytest.mark.usefixtures("host")
async def test_it_is_of_what_the_bar_names() -> None:
    """In a trace it is of that trace; files that were read once are told of; paused, it holds."""
    async with looking_at(data=running(), size=(120, 30)) as look:
        await look.press("end")
        assert isinstance(look.screen, TracesScreen)
        await look.press("enter", "J")
        await look.until_shown("files were read once: ␣ follows them")
        assert len(rows_of(look)) < 3


def test_the_report(host: FakeHost) -> None:
    """What the screen shows is printed as JSON, with ids, certainty and reason; of other traces, nothing."""
    store = running().store
    let_ask(store)
    rows = running_report(store).document()["rows"]
    assert [(row["name"], row["state"], row["certainty"], row["pid"]) for row in rows] == [
        ("job", "running", "certain", 7),
        ("f ray.remote", "waiting", None, None),
        ("load", "running", "certain", 7),
    ]
    assert rows[0]["age_ns"] > rows[1]["age_ns"] > rows[2]["age_ns"] > 0
    assert rows[0]["reason"] == "its process (pid 7) is alive"
    assert [row["name"] for row in running_report(store, [store.spans.trace[2]]).document()["rows"]] == ["f ray.remote"]
    host.end({7, 8, 9})
    ended = running().store
    let_ask(ended)
    assert running_report(ended).document()["rows"] == []


# -- waits, gaps and logs ----------------------------------------------------------------------------------------------


def waiting(driver: str = "spans/6.txt", worker: str = "spans/7.txt") -> Growing:
    """Return a trace with three calls, which waited for 3, 9 and 1 ms, and left their worker idle between them."""
    build, data = Builder(), Growing()
    data.add(build.span("job", span=1, start=0, duration=100 * MS), path=driver)
    own = {"ray.worker_id": "ab12", "ray.pid": "7", "ray.job_id": "01000000"}
    for number, (start, wait) in enumerate(((0, 3), (20, 9), (70, 1)), start=1):
        name, span = f"f{number}", 10 * number
        submitted = build.span(f"{name} ray.remote", span=span, parent=1, start=start * MS, duration=1, kind="PRODUCER")
        begin = start * MS + 1 + wait * MS
        ran = build.span(
            f"{name} ray.remote_worker",
            span=span + 1,
            parent=span,
            start=begin,
            duration=2 * MS,
            kind="CONSUMER",
            attributes=own,
            resource=OF_SEVEN,
        )
        data.add(submitted, path=driver)
        data.add(ran, path=worker)
    return data


async def test_the_longest_waits_of_a_trace() -> None:
    """Each press leads to the next longest, the first from wherever one is; back, too, and round the end."""
    async with looking_at(data=waiting(), size=(120, 30)) as look:
        await look.press("enter")
        for key, said in (("z", "f2"), ("z", "f1"), ("z", "f3"), ("z", "f2"), ("Z", "f3"), ("Z", "f1")):
            await look.press(key)
            screen = look.screen
            assert isinstance(screen, TraceScreen)
            assert screen.rows.node is not None
            row = screen._model.tree.rows[screen.rows.node]
            assert look.data.store.names.texts[look.data.store.spans.name[row]] == f"{said} ray.remote_worker"
        await look.until_shown("waited 3 ms: 2 of 3, longest first")


async def test_no_waits() -> None:
    """It is said where nothing waited."""
    async with looking_at(Builder().span("alone"), size=(120, 30)) as look:
        await look.press("enter", "z")
        assert "no call waited in this trace" in look.text
        await look.press("L", "z")
        await look.until_shown("no idle gaps")


async def test_the_longest_gaps_of_workers() -> None:
    """They lead to the block that ends them, whatever worker they are of."""
    async with looking_at(data=waiting(), size=(120, 30)) as look:
        await look.press("L")
        await look.rest()
        for key, name, number in (("z", "f3", 1), ("z", "f2", 2), ("z", "f3", 1), ("Z", "f2", 2)):
            await look.press(key)
            await look.until_shown(f": {number} of 2, longest first")
            screen = look.screen
            assert isinstance(screen, WorkersScreen)
            assert screen.rows.row is not None
            spans = look.data.store.spans
            assert look.data.store.names.texts[spans.name[screen.rows.row]] == f"{name} ray.remote_worker"


async def test_a_worker_leads_to_its_log(tmp_path: Path) -> None:
    """A block that doesn't name its worker is of the one that others of its line name."""
    folder = tmp_path / "session" / "logs"
    (folder / "spans").mkdir(parents=True)
    (folder / "worker-ab12-01000000-7.err").write_text("2023-11-14 22:13:20,030 INFO root loading\n")
    files = [str(folder / "spans" / name) for name in ("6.txt", "7.txt")]
    data = waiting(*files)
    data.add(Builder().span("own", trace=9, span=99, start=200 * MS, duration=MS, resource=OF_SEVEN), path=files[1])
    async with looking_at(data=data, size=(120, 30)) as look:
        await look.press("L")
        await look.rest()
        screen = look.screen
        assert isinstance(screen, WorkersScreen)
        for keys in (("down",), ("right", "right", "right")):
            await look.press(*keys, "v")
            await look.until(lambda: look.is_on(LogScreen))
            assert "loading" in look.text
            await look.press("escape")
