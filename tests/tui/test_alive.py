"""What the viewer says of what may still be running, while processes live and when they have gone.

file     what it holds
7.txt    work, whose parent no file holds; f ray.remote, without an attempt

Process 8 is a Ray worker.
"""

from __future__ import annotations

import json
import re
import time
from threading import Event
from time import time_ns
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from builders import EPOCH_NS, Builder
from hosts import FakeHost
from rays_word import NODE, line_of
from spanview.analysis import answer, silent
from spanview.analysis.ray import unended
from spanview.analysis.ray.unended import UnendedSpans
from spanview.analysis.ray.writers import WorkerExit
from spanview.display.tree_text import lasted_text
from spanview.exports.page.columns import Columns
from spanview.sources import processes
from spanview.tui.app import findings
from spanview.tui.app.feed import FeedState
from spanview.tui.calls.function_calls_screen import FunctionCallsScreen
from spanview.tui.trace.waterfall import Waterfall
from spanview.tui.traces import traces_screen
from spanview.tui.traces.preview import Preview, _Known
from spanview.tui.widgets.answer_line import AnswerLine
from spanview.tui.workers import workers_screen
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.tui.trace.stitched_trace import StitchedTrace

FOLLOWING = FeedState(loading=False, following=True)
PATH = "spans/7.txt"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    """Return the processes that are alive, to be changed."""
    fake = FakeHost({7, 8}, {8: "IDLE"})
    monkeypatch.setattr(processes, "Processes", lambda *_: fake)
    monkeypatch.setattr(traces_screen, "_GROWTH_MARK_S", 0.0)
    return fake


def filled() -> Growing:
    """Return the file of the drawing, and a trace that tells what work stands in."""
    build, data = Builder(), Growing()
    data.add(
        build.span("work", trace=1, parent=99),
        build.span("f ray.remote", trace=2, kind="PRODUCER"),
        *(build.span(name, trace=3, span=span, parent=span - 1 or None) for name, span in (("job", 1), ("work", 2))),
        path=PATH,
    )
    return data


async def test_a_trace_grows_while_its_process_lives(host: FakeHost) -> None:
    """Its root hasn't ended yet; when the process has gone, or the root has come, it is what it is."""
    async with looking_at(data=filled()) as look:
        assert "still coming in" not in look.text
        await look.tell(FOLLOWING)
        await look.until_shown("still coming in")
        assert "incomplete" not in look.text
        host.end({7})
        await look.until_shown("incomplete")
        assert "still coming in" not in look.text
        host.alive.add(7)
        await look.until_shown("still coming in")
        await look.grow(Builder().span("job", trace=1, span=99), path=PATH)
        await look.until(lambda: "still coming in" not in look.text and "incomplete" not in look.text)


async def test_a_trace_says_what_the_list_says(host: FakeHost) -> None:
    """Growing in the list is growing in the trace, with the parent that hasn't ended, and only while it lasts."""
    async with looking_at(data=filled(), size=(140, 40)) as look:
        await look.tell(FOLLOWING)
        await look.until_shown("still coming in")
        await look.press("end", "enter")
        await look.until_shown(
            "1 process   ● still coming in", "it has not ended yet, likely", "pid 7, which wrote its children"
        )
        host.end({7})
        await look.until_shown("1 process   incomplete", "it has not ended yet, or its record is lost")
        assert "pid 7" not in look.text
        await look.until_shown("it is likely lost, because its process has ended", "pid 7, which wrote its children")
        assert "!" in look.lines[look.line_of("? probably job")]
        await look.press("j", "e")
        await look.until_shown("silent failure: likely lost because its process has ended")
        await look.press("escape")
        await look.until_shown("! ? parent not seen", "lost parent")


async def test_a_job_without_a_span_around_it(host: FakeHost) -> None:
    """Its trace has a root, and may be opened; that a worker is named after it doesn't show that it runs."""
    host.titles[8] = "f"
    async with looking_at(data=filled(), size=(120, 40)) as look:
        await look.tell(FOLLOWING)
        await look.until_shown("still coming in", "◌ f", "1 call not yet seen to run")
        assert look.text.count("still coming in") == 1
        await look.press("end", "up", "enter")
        await look.until_shown(
            "1 process   1 call not yet seen to run",
            "f                     ◌ not yet seen to run",
            "not sure: f not yet seen",
        )
        await look.press("escape")
        await look.until_shown("◌ f", "1 call not yet seen to run")
        host.end({7})
        await look.until_shown("! f  no attempt")
        await look.press("enter")
        await look.until_shown("1 process   1 call without attempt", "! no attempt seen", "not sure: f left no attempt")


async def test_what_a_missing_parent_probably_is(host: FakeHost) -> None:
    """Its name, what tells it, and a process that may be running it."""
    assert host.alive
    async with looking_at(data=filled(), size=(120, 40)) as look:
        await look.tell(FOLLOWING)
        await look.press("end", "enter")
        await look.until_shown(
            "? probably job, not seen", "probably  job", "the only parent of work elsewhere, 1 time", "pid 7"
        )
        assert "parent not seen (0000000000000063)" in look.text


@pytest.mark.usefixtures("host")
async def test_a_guess_comes_when_loading_ends() -> None:
    """A trace that was opened before asks then, and its details say so where the cursor is."""
    async with looking_at(data=filled(), size=(120, 40)) as look:
        await look.tell(FeedState(loading=True, following=True))
        await look.press("end", "enter")
        await look.until_shown("? parent not seen")
        await look.rest()
        assert "probably" not in look.text
        await look.tell(FOLLOWING)
        await look.until_shown("? probably job, not seen", "probably  job")


async def test_workers_that_run_something(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes on while they do, hatched: a missing parent, not what a worker is named after."""
    monkeypatch.setattr(workers_screen, "time_ns", lambda: EPOCH_NS + 100_000)
    host.titles[8] = "f"
    async with looking_at(data=filled(), size=(120, 40)) as look:
        await look.press("L")
        await look.until_shown("1 worker ")
        assert "▒" not in look.text
        await look.tell(FOLLOWING)
        await look.until_shown("▒▒▒▒", "100 µs", "runs now, likely")
        assert "worker 8" not in look.text
        host.end({7})
        await look.until(lambda: "1 worker " in look.text and "▒" not in look.text)


async def test_a_call_that_may_be_running(host: FakeHost) -> None:
    """While following, the list of calls says what is thought; of a caller that has ended nothing more than that."""
    host.titles[8] = "f"
    async with looking_at(data=filled(), size=(120, 40)) as look:
        await look.press("A")
        await look.until_shown("1 call of 1 function", "1 call not yet seen to run")
        await look.press("enter")
        await look.until_shown(
            "◌ not yet seen to run", "not yet seen to run: it waited or ran when the files were written"
        )
        assert look.is_on(FunctionCallsScreen)
        await look.tell(FOLLOWING)
        await look.until_shown("◌ may run: its caller, pid 7, is alive")
        host.titles[8] = "IDLE"
        await look.until_shown(
            "◌ doesn't run here: no Ray worker is ray::f",
            "no Ray worker is ray::f; ray status shows whether no node has what it needs",
        )
        look.app.paused = True
        host.end({7})
        await look.pilot.pause(1.2)
        assert "doesn't run here" in look.text
        look.app.paused = False
        await look.until_shown(
            "◌ unknown: its caller, pid 7, has ended",
            "no attempt seen: it waited or ran when the files were written",
        )
        await look.press("escape")
        await look.until_shown("1 call without attempt")


STARTED: str = "spans/here-7-1700000000000.started.jsonl"
OF_SEVEN = {"host.name": "here", "process.pid": 7}


def begun() -> Growing:
    """Return a trace whose root has started in process 7."""
    data = Growing()
    root = Builder().span("job", span=1, start=0, duration=None, resource=OF_SEVEN)
    load = Builder().span("load", span=2, parent=1, start=10, duration=5, resource=OF_SEVEN)
    data.add(root, load, path=STARTED)
    return data


async def test_the_preview_of_what_runs(host: FakeHost) -> None:
    """Beside the list it goes on until now, with the answer of the trace's screen; and ends with what is lost."""
    async with looking_at(data=begun(), size=(180, 40)) as look:
        await look.until_shown("so far 1,", "nearly all in job", "▒▒▒▒")
        preview = [line.partition("│")[2] for line in look.lines]
        assert any(re.search(r" job   .*…   2 spans", line) for line in preview), look.text
        length = look.screen.query_one(Waterfall).model.whole.length_ns
        await look.until(lambda: look.screen.query_one(Waterfall).model.whole.length_ns > length)
        said = look.screen.query_one(Preview).query_one(AnswerLine)._texts
        await look.press("enter")
        await look.until_shown("so far 1,")

        def without_times(texts: Iterable[str]) -> list[str]:
            return [re.sub(r"[0-9,.]+", "0", text) for text in texts]

        # Time goes on between the two.
        await look.until(lambda: without_times(look.screen.query_one(AnswerLine)._texts) == without_times(said))
        await look.press("escape")
        host.end({7})
        await look.until_shown("at least 1,", "╌╌╌╌")


@pytest.mark.usefixtures("host")
async def test_the_preview_goes_on_however_long_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs goes on with the clock, as it does in the list; the time that is explained is the first of it."""
    began_ns = time_ns() - 10**10
    root = Builder().span("job", span=1, start=(began_ns - EPOCH_NS) / 1000, duration=None, resource=OF_SEVEN)
    data, known_of, goes_on = Growing(), Preview._known_of, Event()
    data.add(root, path=STARTED)

    def known_once(preview: Preview, stitched: StitchedTrace, trace: int) -> _Known:
        if preview._known is not None:
            goes_on.wait()
        return known_of(preview, stitched, trace)

    monkeypatch.setattr(Preview, "_known_of", known_once)
    async with looking_at(data=data, size=(180, 40)) as look:
        await look.until_shown("so far 1")
        length = look.screen.query_one(Waterfall).model.whole.length_ns
        try:
            await look.until_shown("the first 1")
            assert look.screen.query_one(Waterfall).model.whole.length_ns > length
        finally:
            goes_on.set()
        await look.until_shown("so far 1")


@pytest.mark.parametrize(("has_ended", "said"), [(False, "◌ not yet seen to run"), (True, "! no attempt seen")])
async def test_the_preview_says_of_calls_what_the_trace_says(host: FakeHost, *, has_ended: bool, said: str) -> None:
    """Why a call has no attempt is said in the same words, beside the list and after opening."""
    data, call = Growing(), Builder().span("f ray.remote", trace=2, kind="PRODUCER")
    data.add(call, path=PATH)
    if has_ended:
        host.end({7})
    async with looking_at(data=data, size=(180, 40)) as look:
        await look.tell(FOLLOWING)

        def marks() -> str:
            rows = look.screen.query(Waterfall)
            return rows.first().texts.marks(0)[0] if rows else ""

        await look.until(lambda: marks() == said)
        await look.press("enter")
        await look.until(lambda: marks() == said)


@pytest.mark.parametrize("following", [True, False])
async def test_a_span_that_runs_and_is_lost(host: FakeHost, *, following: bool) -> None:
    """The list, the trace and its details say so, while its process lives and when it has gone."""
    async with looking_at(data=begun(), size=(140, 40)) as look:
        await look.tell(FeedState(loading=False, following=following))
        await look.until_shown("● job  running")
        await look.press("enter")
        await look.until_shown("● 1 running", "running: its process (pid 7) is alive", "▒▒▒▒")
        await look.until_shown("so far 1,", "nearly all in job")
        assert "…" in look.lines[look.line_of("▾ job")]
        host.end({7})
        await look.until_shown("1 lost", "lost: its process (pid 7) has ended", "╌╌╌╌", "at least ")
        # The times of these spans are years ago, and the process was alive a moment ago.
        assert re.search(r"‹ job   ≥ [0-9,]+ d ", look.header)
        await look.press("e")
        await look.until_shown("silent failure: lost because its process (pid 7) has ended")
        await look.press("escape")
        await look.until_shown("! job  1 lost", "≥ ")
        await look.press("f")
        await look.until_shown("! job  1 lost", "only what failed: 1 trace")
        # The next run takes the place of the files.
        host.unknown.add(7)
        await look.pilot.pause(1.2)
        assert "! job  1 lost" in look.text


async def test_a_call_that_failed_as_ray_says_lasts_no_longer(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trace has just grown, and yet nothing more becomes of it: list, title and sentence say until when it ran."""
    monkeypatch.setattr(traces_screen, "_GROWTH_MARK_S", 1000.0)
    data, build, task = Growing(), Builder(), "35" * 8 + "0a" * 16
    of_7 = {"host.name": "here", "process.pid": 7}
    data.add(
        build.span("f ray.remote", trace=1, span=1, start=0, duration=5, kind="PRODUCER", resource=of_7),
        build.span(
            "f ray.remote_worker",
            parent=1,
            start=10,
            duration=None,
            kind="CONSUMER",
            resource=of_7,
            attributes={"ray.task_id": task, "ray.node_id": NODE},
        ),
        path="spans/here-7-1700000000000.started.jsonl",
    )
    times = {state: EPOCH_NS + ns for state, ns in (("1", 0), ("2", 0), ("5", 1000), ("8", 9000))}
    line = line_of(task, times)
    data.add(json.loads(line), path="logs/export_events/event_EXPORT_TASK_7.log")
    async with looking_at(data=data, size=(160, 40)) as look:
        await look.tell(FOLLOWING)
        await look.until_shown("● f  running")
        await look.press("enter")
        await look.until_shown("so far ")
        host.end({7})
        line = line_of(task, {"12": EPOCH_NS + 90_000}, error="WORKER_DIED")
        data.add(json.loads(line), path="logs/export_events/event_EXPORT_TASK_7.log")
        await look.tell(FeedState(loading=False, following=True))
        await look.until_shown("‹ f   ≤ 90 µs", "at most 90 µs = ", "1 lost")
        await look.press("escape")
        await look.until_shown("≤ 90 µs", "at most 90 µs = ")


def two_calls() -> Growing:
    """Return calls of f that process 7 and process 8 run, an older error, and a span that runs above the first."""
    data, build = Growing(), Builder()
    caller = {"host.name": "here", "process.pid": 6}
    data.add(build.span("job", span=1, start=5, duration=None, resource=caller), path="spans/here-6-1.started.jsonl")
    data.add(
        build.span("older", trace=9, span=90, start=0, status="ERROR"),
        build.span("f ray.remote", span=2, parent=1, start=10, kind="PRODUCER"),
        build.span("f ray.remote", trace=2, span=3, start=20, kind="PRODUCER"),
        path="spans/6.jsonl",
    )
    for trace, span, parent, pid in ((1, 4, 2, 7), (2, 5, 3, 8)):
        attempt = build.span(
            "f ray.remote_worker",
            trace=trace,
            span=span,
            parent=parent,
            start=30 + span,
            duration=None,
            kind="CONSUMER",
            resource={"host.name": "here", "process.pid": pid},
        )
        data.add(attempt, path=f"spans/here-{pid}-1700000000000.started.jsonl")
    return data


@pytest.mark.parametrize("size", [(80, 24), (110, 32)])
async def test_a_killed_worker_is_a_failure_at_once(host: FakeHost, size: tuple[int, int]) -> None:
    """A notice, the header, the list, groups and `e` say it, also where the rest of its trace runs on."""
    host.alive.add(6)
    async with looking_at(data=two_calls(), size=size) as look:
        await look.tell(FOLLOWING)
        await look.until_shown("● job  running", "● f  running", "✖ 1 error")
        assert "lost" not in look.text
        host.end({7})
        again = "Ray may retry it"
        await look.until_shown(f"✖ f was lost: its process (pid 7) has ended; e opens it; {again}", "✖ 1 error, 1 lost")
        await look.until_shown("● job  running, 1 lost")
        await look.press("f")
        await look.until_shown("only what failed: 2 traces")
        await look.press("f", "r")
        await look.until(lambda: re.search(r"● job +1 +1 ", look.text) is not None)
        assert re.search(r"● f +1 +(?!1 )", look.text)
        await look.press("r", "e")
        await look.until_shown(
            "‹ job", "silent failure: lost because its process (pid 7) has ended", "● 1 running, 1 lost"
        )
        await look.press("e")
        await look.until_shown("‹ older", "error 1 of 1")
        host.end({8})
        await look.until_shown(f"✖ f was lost: its process (pid 8) has ended; {again}")
        assert "e opens it" not in look.text


async def test_what_was_lost_before_is_no_news(host: FakeHost) -> None:
    """Whoever opens a folder sees what is lost in it, and no notice."""
    host.end({7})
    host.written["spans/here-7-1700000000000.jsonl"] = EPOCH_NS + 34_000
    async with looking_at(data=two_calls(), size=(110, 32)) as look:
        await look.tell(FOLLOWING)
        await look.until_shown("✖ 1 error, 1 lost", "job  1 lost")
        assert "was lost" not in look.text


async def test_calls_that_run_and_calls_that_are_lost(host: FakeHost) -> None:
    """They are counted apart, a lost one as a failure, and anew when a process ends; `e` opens it."""
    host.alive.add(6)
    async with looking_at(data=two_calls(), size=(110, 32)) as look:
        await look.tell(FOLLOWING)
        await look.press("A")

        def figure(head: str) -> str:
            line = next((line for line in look.body if line.lstrip().startswith("f ")), "")
            return line[: look.body[0].index(head) + len(head)].split()[-1] if line and head in look.body[0] else ""

        await look.until(lambda: figure("RUNNING") == "2")
        assert "LOST" not in look.body[0]
        host.end({7})
        # It is said once, by no key, and so before those that are pressed now.
        await look.until_shown("f was lost")
        await look.until(lambda: (figure("RUNNING"), figure("LOST"), figure("FAILED")) == ("1", "1", "1"))
        assert "NO END" not in look.text
        await look.press("enter")
        await look.until_shown("✖ lost", "  running")
        await look.press("escape", "e")
        await look.until_shown("‹ job", "silent failure: lost because its process (pid 7) has ended")


async def test_the_page_has_the_failures_of_the_viewer(host: FakeHost) -> None:
    """As many traces failed in it as the list says, with calls without an attempt, lost spans and errors alike."""
    host.alive.add(6)
    host.end({7})
    host.written["spans/here-7-1700000000000.jsonl"] = EPOCH_NS + 34_000
    data = two_calls()
    data.add(Builder().span("g ray.remote", trace=4, span=40, kind="PRODUCER"), path="spans/5.txt")
    async with looking_at(data=data, size=(110, 32)) as look:
        await look.until_shown("! g  no attempt", "running, 1 lost")
        await look.press("f")
        await look.until_shown("only what failed: 3 traces")
        unended = look.app.running.unended()
        traces = Columns(data.store, range(len(data.store.trace_table)), unended).overview(lambda _: None)["traces"]
        failed = [bool(errors or silent) for errors, silent in zip(traces["errors"], traces["silent"], strict=True)]
        assert sum(failed) == 3


async def test_a_filter_is_asked_again_while_something_runs(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace comes once it has run for so long, goes when it is lost, and nothing has to be read for that."""
    now_ns = [EPOCH_NS + 10**9]
    monkeypatch.setattr(unended, "time", SimpleNamespace(time_ns=lambda: now_ns[0]))
    async with looking_at(data=begun(), size=(140, 40)) as look:
        await look.tell(FOLLOWING)
        await look.press("slash", *"duration>20s", "enter")
        await look.until_shown("no trace matches")
        now_ns[0] = EPOCH_NS + 21 * 10**9
        await look.until_shown("● job  running", "1 of 1 traces")
        await look.press("escape", "slash", *"status=running", "enter")
        await look.until_shown("● job  running", "1 of 1 traces")
        host.end({7})
        await look.until_shown("no trace matches", "0 of 1 traces")
        await look.press("escape", "slash", *"status=lost", "enter")
        await look.until_shown("! job  1 lost", "1 of 1 traces")


async def test_what_is_lost_is_a_finding_at_once(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs no further span."""
    monkeypatch.setattr(findings, "_MIN_INTERVAL_S", 0.1)
    async with looking_at(data=begun(), size=(140, 40)) as look:
        await look.tell(FeedState(loading=False, following=True))
        await look.until(lambda: look.app.findings is not None)
        before = look.app.findings or 0
        host.end({7})
        await look.until(lambda: look.app.findings == before + 1)
        await look.until_shown(f"! {before + 1} finding")


async def test_what_may_still_come_is_no_finding(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call without an attempt, and a parent that hasn't ended: findings once their processes have."""
    monkeypatch.setattr(findings, "_MIN_INTERVAL_S", 0.1)
    async with looking_at(data=filled(), size=(140, 40)) as look:
        await look.tell(FOLLOWING)
        await look.until(lambda: look.app.findings is not None)
        assert look.app.findings == 0, look.header
        assert "finding" not in look.header
        await look.press("exclamation_mark")
        await look.until_shown("0 problems of files   ◌ 1 call not yet seen to run")
        assert "no_attempt" not in look.text
        host.end({7, 8})
        await look.until_shown("‹ check   3 findings", "no_attempt ×1")
        assert "not yet seen" not in look.text
        await look.press("escape")
        await look.until_shown("! 3 findings")


async def test_what_runs_has_one_time_on_a_screen(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """The title, the root's row and the sentence say the same at each moment, also when more has come since."""
    assert host.alive
    now_ns = [EPOCH_NS + 10**9]
    monkeypatch.setattr(unended, "time", SimpleNamespace(time_ns=lambda: now_ns[0]))
    seen = set[str]()
    async with looking_at(data=begun(), size=(140, 40)) as look:
        await look.tell(FOLLOWING)
        await look.press("enter")
        await look.until_shown("● 1 running", "so far 1")

        def check() -> None:
            (title,) = re.findall(r"‹ job   (\S+ \S+)…", look.header)
            assert f" {title}… " in look.lines[look.line_of("▾ job")]
            sentence = str(look.screen.query_one(AnswerLine).render())
            assert f"so far {title}" in sentence or "the first " in sentence, (title, sentence)
            seen.add(title)

        for _ in range(15):
            check()
            now_ns[0] += 10**8
            await look.pilot.pause(0.1)
        await look.until_shown("so far 2")
        check()
        assert len(seen) > 1
        child = Builder().span("late", span=3, parent=1, start=0, duration=9 * 10**6)
        await look.grow(child, path="spans/8.jsonl")
        check()
        await look.until_shown("so far 9")
        check()


@pytest.mark.parametrize("is_wide", [False, True])
async def test_what_is_lost_may_outlast_its_root(host: FakeHost, *, is_wide: bool) -> None:
    """Nobody knows how long that ran which nobody awaited: list, title and sentence all say "at least"."""
    host.written[STARTED.replace(".started", "")] = EPOCH_NS + 50_000
    host.end({7})
    data, build = Growing(), Builder()
    data.add(build.span("job", span=1, start=0, duration=100), path="spans/6.jsonl")
    data.add(build.span("load", span=2, parent=1, start=10, duration=None, resource=OF_SEVEN), path=STARTED)
    async with looking_at(data=data, size=(180 if is_wide else 140, 40)) as look:
        await look.until_shown("! job  1 lost", "≥ 100 µs")
        if not is_wide:
            await look.press("enter")
            await look.until_shown("1 lost", "╌", "‹ job   ≥ 100 µs ")
        await look.until_shown("at least 100 µs, all in job", "╌")


@pytest.mark.parametrize("seen_us", [15, 900])
async def test_a_trace_that_ends_with_what_was_stopped_has_one_duration(host: FakeHost, seen_us: int) -> None:
    """How long it ran on nobody knows: list, title, sentence and tree all say that it lasted at least so long."""
    host.exits["2f9c"] = WorkerExit("its job had finished", is_in_order=True)
    host.end({7})
    data, build, resource = Growing(), Builder(), OF_SEVEN | {"ray.worker_id": "2f9c"}
    data.add(
        build.span("job", span=1, start=0, duration=None, resource=resource),
        build.span("load", span=2, parent=1, start=10, duration=5, resource=resource),
        build.span("before", trace=2, span=3, start=-10, duration=10 + seen_us, resource=resource),
        path=STARTED,
    )
    async with looking_at(data=data, size=(140, 40)) as look:
        await look.until_shown(f"≥ {seen_us} µs", "before")
        await look.press("enter")
        await look.until_shown(f"at least {seen_us} µs", "stopped")
        assert f"   ≥ {seen_us} µs   " in look.header
    assert (
        lasted_text(data.store, 0, data.store.tree(0), UnendedSpans.of_store(data.store, host).all())
        == f"≥ {seen_us} µs"
    )


async def test_how_long_it_took_is_not_said_before_it_is_known(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until processes were asked, and where they tell nothing, a trace with a span without an end lasted at least."""
    host.unknown.add(7)
    data, build, resource = Growing(), Builder(), OF_SEVEN | {"ray.worker_id": "2f9c"}
    data.add(
        build.span("job", span=1, start=0, duration=15, resource=resource),
        build.span("load", span=2, parent=1, start=40, duration=None, resource=resource),
        build.span("alone", trace=2, span=3, start=50, duration=None, resource=resource),
        path=STARTED,
    )
    with monkeypatch.context() as patched:
        patched.setattr(traces_screen.TracesScreen, "_ask_what_lives", lambda _: None)
        async with looking_at(data=data, size=(140, 40)) as look:
            assert " ≥ 40 µs " in look.lines[look.line_of("job")]
            assert " – " in look.lines[look.line_of("alone")]
    async with looking_at(data=data, size=(140, 40)) as look:
        await look.until(lambda: look.app.first_screen._living is not None)
        assert " ≥ 40 µs " in look.lines[look.line_of("job")]
        assert " – " in look.lines[look.line_of("alone")]
        await look.press("r")
        await look.until(lambda: " ≥ 40 µs " in look.lines[look.line_of("job")])
        assert " – " in look.lines[look.line_of("  alone  ")]
        await look.press("r", "G", "enter")
        await look.until_shown("‹ job   ≥ 40 µs   2 spans", "1 span without an end")
    unknown = UnendedSpans.of_store(data.store, host).all()
    texts = [lasted_text(data.store, trace, data.store.tree(trace), unknown) for trace in (0, 1)]
    assert texts == ["≥ 40 µs", "–"]


async def test_the_order_of_traces_that_run(host: FakeHost) -> None:
    """By duration, one that runs or is lost stands where it is known to have come to."""
    data = begun()
    data.add(Builder().span("longer", trace=2, span=3, start=0, duration=10**6), path="spans/6.jsonl")
    async with looking_at(data=data, size=(140, 40)) as look:
        await look.press("s")
        assert look.line_of("longer") < look.line_of("● job" if "● job" in look.text else "job")
        await look.tell(FOLLOWING)
        await look.until(lambda: "● job" in look.text and look.line_of("● job") < look.line_of("longer"))
        host.end({7})
        await look.until(lambda: "! job" in look.text and look.line_of("! job") < look.line_of("longer"))


async def test_a_span_that_ends(host: FakeHost) -> None:
    """Its end is shown when it comes, on its row and above it."""
    assert host.alive
    async with looking_at(data=begun(), size=(140, 40)) as look:
        await look.tell(FOLLOWING)
        await look.press("enter")
        await look.until_shown("● 1 running")
        ended = Builder().span("job", span=1, start=0, duration=40, resource=OF_SEVEN)
        await look.grow(ended, path=STARTED.replace(".started", ""))
        await look.until(lambda: "running" not in look.text and "40 µs" in look.lines[look.line_of("▾ job")])
        await look.until_shown("40 µs   2 spans")


async def test_a_worker_whose_span_runs(host: FakeHost) -> None:
    """It is one worker, whatever files it writes, and its time is hatched until now."""
    assert host.alive
    data = begun()
    before = Builder().span("before", trace=2, span=9, start=0, resource=OF_SEVEN)
    data.add(before, path=STARTED.replace(".started", ""))
    async with looking_at(data=data, size=(140, 40)) as look:
        await look.tell(FOLLOWING)
        await look.press("L")
        await look.until_shown("1 worker", "▒▒▒▒", " ▒ runs now", "100%")


async def test_a_worker_that_waits_for_its_call_while_both_run_is_not_busy(host: FakeHost) -> None:
    """It awaits others, as it does when it has ended; the worker that runs the call is busy."""
    assert host.alive
    data, build = begun(), Builder()
    data.add(build.span("f ray.remote", span=5, parent=1, start=1, kind="PRODUCER", resource=OF_SEVEN), path=STARTED)
    of_eight = {"host.name": "here", "process.pid": 8}
    ran = build.span("f ray.remote_worker", parent=5, start=4, duration=None, kind="CONSUMER", resource=of_eight)
    data.add(ran, path=STARTED.replace("-7-", "-8-"))
    async with looking_at(data=data, size=(140, 40)) as look:
        await look.tell(FOLLOWING)
        await look.press("L")
        await look.until_shown(
            "2 workers", "─────", "▒▒▒▒", " ▒ runs now  ─ awaits others", "likely awaits others 100.0%"
        )
        awaiting, running = (next(line for line in look.lines if glyphs in line) for glyphs in ("─────", "▒▒▒▒"))
        assert re.search(r" 0%", awaiting), awaiting
        assert re.search(r" 100%", running), running


async def test_the_hatch_of_a_lost_span_ends_where_it_was_last_known(host: FakeHost) -> None:
    """What a killed worker ran may not run for as long as others do; its share counts until then."""
    host.written[STARTED.replace(".started", "")] = EPOCH_NS + 50_000
    host.end({7})
    data, build = begun(), Builder()
    data.add(build.span("last", trace=2, span=9, start=40, duration=10, resource=OF_SEVEN), path=STARTED)
    data.add(build.span("long", trace=3, span=10, start=0, duration=100), path="spans/6.jsonl")
    async with looking_at(data=data, size=(140, 40)) as look:
        await look.press("L")
        await look.until_shown("2 workers", " ░ no end seen", "50%")
        line = next(line for line in look.lines if "░░" in line)
        assert line.endswith(" " * 20), line


async def test_calls_that_come_are_not_lost(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """While their caller lives, no title and no sentence says so, also before their processes have been asked."""
    assert host.alive
    find = silent.silent_failures

    find_answer = answer.answer_of

    def slowly(*arguments: Any, **named: Any) -> Any:
        time.sleep(0.3)
        return find(*arguments, **named)

    def answer_slowly(*arguments: Any, **named: Any) -> Any:
        time.sleep(0.6)
        return find_answer(*arguments, **named)

    monkeypatch.setattr(silent, "silent_failures", slowly)
    data, build = Growing(), Builder()
    data.add(build.span("f ray.remote", trace=1, span=1, start=0, kind="PRODUCER"), path=PATH)
    async with looking_at(data=data, size=(140, 40)) as look:
        await look.tell(FOLLOWING)
        await look.press("enter")
        await look.until_shown("1 call not yet seen to run", "not sure: f not yet seen to run")
        for number in range(2, 5):
            name = f"{'g' if number % 2 else 'f'} ray.remote"
            call = build.span(name, trace=1, span=number, parent=1, start=number, kind="PRODUCER")
            await look.grow(call, path=PATH)
            for _ in range(20):
                said = look.header + str(look.screen.query_one(AnswerLine).render())
                assert "without attempt" not in said, said
                assert "left no attempt" not in said, said
                await look.pilot.pause(0.03)
        await look.until_shown("4 calls not yet seen to run", "not sure: 4 calls not yet seen to run")
        monkeypatch.setattr(silent, "silent_failures", find)
        monkeypatch.setattr(answer, "answer_of", answer_slowly)
        ran = build.span("f ray.remote_worker", trace=1, span=9, parent=2, start=9, kind="CONSUMER")
        await look.grow(ran, path="spans/8.txt")
        for _ in range(40):
            assert "left no attempt" not in str(look.screen.query_one(AnswerLine).render())
            await look.pilot.pause(0.03)
        await look.until_shown("3 calls not yet seen to run", "not sure: 3 calls not yet seen to run")


async def test_a_call_that_is_over_is_not_counted_as_to_come(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor while it is found out anew where time went: Ray says of it that it was cancelled, and nothing of another."""
    assert host.alive
    find_answer, data, build = answer.answer_of, Growing(), Builder()

    def answer_slowly(*arguments: Any, **named: Any) -> Any:
        time.sleep(0.6)
        return find_answer(*arguments, **named)

    for number, error in ((1, ""), (2, "TASK_CANCELLED"), (3, None)):
        task = f"{number:02x}" * 8 + "0a" * 16
        ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
        data.add(build.span("f ray.remote", span=number, trace=1, kind="PRODUCER", attributes=ids), path=PATH)
        if error is not None:
            states = {"1": EPOCH_NS} | ({"12": EPOCH_NS + 9_000} if error else {})
            line = line_of(task, states, error=error)
            data.add(json.loads(line), path="logs/export_events/event_EXPORT_TASK_7.log")
    async with looking_at(data=data, size=(140, 40)) as look:
        await look.tell(FOLLOWING)
        await look.press("enter")
        await look.until_shown("3 calls left no attempt", "2 not yet seen to run)")
        monkeypatch.setattr(answer, "answer_of", answer_slowly)
        await look.grow(build.span("other", trace=1, span=9, start=5), path=PATH)
        for _ in range(30):
            assert "3 calls not yet" not in str(look.screen.query_one(AnswerLine).render())
            await look.pilot.pause(0.03)


async def test_a_call_whose_attempt_runs_and_is_lost(host: FakeHost) -> None:
    """Its line says so, how long it has run, and why; it has not ended."""
    data, build = Growing(), Builder()
    data.add(build.span("f ray.remote", span=1, start=0, kind="PRODUCER"), path="spans/6.jsonl")
    attempt = build.span(
        "f ray.remote_worker", span=2, parent=1, start=50, duration=None, kind="CONSUMER", resource=OF_SEVEN
    )
    data.add(attempt, path=STARTED)
    async with looking_at(data=data, size=(140, 40)) as look:
        await look.tell(FOLLOWING)
        await look.press("A", "enter")
        await look.until_shown("1 call", "running", "its process (pid 7) is alive", "…")
        host.end({7})
        await look.until_shown("lost: its process (pid 7) has ended")
        assert "ended:" not in look.text
