"""Figures on the screens are those of the commands, and what is worked out here from each span by itself.

screen           held to
------           -------
header           `check --json`: spans, traces, findings; `spans`: errors
traces           `export`: start, duration, spans, errors of each; the preview's title and answer
answer line      its parts add up to the trace's duration; each is rounded for itself
groups           `export`: percentiles of the durations of the traces with a root's name
each call        `stats --by ray-call --json`: wait, run, both, what it waited for, and how it went
calls            `stats --by ray --json`, by function; by actor, node and job the same calls, by their attributes
workers          `spans`: the share of a process's time in which its spans run and nothing below them does
requests         `stats --by serve --json`; each one's parts add up to its total
statistics       `stats --json`
check            `check --json`
events           `spans`: the exceptions of each failed span
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache, partial
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import pytest

from pictures import ROOT, settled, viewer_of
from programs import spanview
from seeds import THOROUGH, sample
from spanview.analysis.answer import answer_of
from spanview.analysis.ray.wait_causes import WaitedFor
from spanview.display.units import count, duration, last_digit
from spanview.model.ids import format_trace_id
from spanview.tui.serve.serve_screen import RequestsScreen
from spanview.tui.span.details import Details
from spanview.tui.trace.trace_screen import TraceScreen
from viewers import Growing, Look

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from spanview.analysis.answer import Answer

RECORDINGS: Final = (
    "ray-tasks-bundled-hook",
    "killed-workers",
    "serve",
    "pids-used-again",
    "ray-odd-actors",
    "session-with-logs/logs",
)
WIDE: Final = (220, 60)
_MOST_OPENED: Final = 6 if THOROUGH else 3
"""Traces of a recording of which the screen is opened."""
_DURATION: Final = re.compile(r"(?:(\d+) m )?((?<!\S)-?\d+(?:\.\d+)?|\d+(?:\.\d+)?) (ns|µs|ms|s)\b")
_NS: Final = {"ns": 1, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


pytestmark = [pytest.mark.usefixtures("universal_time"), pytest.mark.shortened]


@pytest.fixture(autouse=True)
def in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the recordings be where the README says."""
    monkeypatch.chdir(ROOT)


@cache
def printed(recording: str, *words: str) -> bytes:
    """Return what a command prints of a recording."""
    return spanview(*words, f"fixtures/{recording}", folder=ROOT).output


def told(recording: str, *words: str) -> Any:
    """Return the same as a value."""
    return json.loads(printed(recording, *words))


def spans_of(recording: str) -> list[dict[str, Any]]:
    """Return all spans, as the command prints them."""
    return [json.loads(line) for line in printed(recording, "spans").splitlines()]


def traces_of(recording: str) -> list[dict[str, Any]]:
    """Return all traces, as the command exports them."""
    traces: list[dict[str, Any]] = told(recording, "export")["traces"]
    return traces


@asynccontextmanager
async def recording_at(name: str, *keys: str) -> AsyncIterator[Look]:
    """Look at a recording, at rest behind some keys."""
    app = viewer_of(f"fixtures/{name}")
    async with app.run_test(size=WIDE) as pilot:
        look = Look(app, pilot, Growing())
        await look.until(lambda: not app.feed_state.loading)
        await look.rest()
        for key in keys:
            await look.press(key)
            await settled(app, pilot)
        yield look


def rank(values: Iterable[int], percent: int) -> int:
    """Return a percentile by nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, ceil(percent / 100 * len(ordered)) - 1)]


def ns_in(text: str) -> list[int]:
    """Return the durations in a text, in nanoseconds."""
    return [
        60 * _NS["s"] * int(minutes or 0) + round(float(number) * _NS[unit])
        for minutes, number, unit in _DURATION.findall(text)
    ]


def texts_of(text: str) -> list[str]:
    """Return the durations in a text as they stand there."""
    return [match[0] for match in _DURATION.finditer(text)]


def number_in(row: str) -> int:
    """Return the first number of a row behind its name."""
    return int(next(cell for cell in cells_of(row)[1:] if cell.replace(",", "").isdecimal()).replace(",", ""))


def cells_of(line: str) -> list[str]:
    """Return what stands in a line, parted where two blanks are."""
    return re.split(r" {2,}", line.strip())


@pytest.mark.parametrize("recording", sample(RECORDINGS, 3))
async def test_header(recording: str) -> None:
    """Traces, spans, errors and findings."""
    report, spans = told(recording, "check", "--json"), spans_of(recording)
    errors = sum(span["status"]["code"] == "ERROR" for span in spans)
    totals = f"{count(report['summary']['traces'], 'trace')} · {count(report['summary']['spans'], 'span')}"
    wrong = [f"✖ {count(errors, 'error')}"] if errors else []
    wrong += [f"! {count(len(report['findings']), 'finding')}"] if report["findings"] else []
    async with recording_at(recording) as look:
        await look.until(lambda: look.app.findings is not None)
        await look.press()
        assert "   ".join([totals, *wrong]) in look.header


@pytest.mark.parametrize("recording", sample(RECORDINGS, 3))
async def test_traces_and_preview(recording: str) -> None:
    """Each trace's duration, spans and errors; beside the list the same, and an answer that adds up."""
    traces = {trace["trace_id"]: trace for trace in traces_of(recording)}
    seen = 0
    async with recording_at(recording) as look:
        first = look.app.first_screen
        for _ in range(min(8, len(traces))):
            await settled(look.app, look.pilot)
            assert first.chosen_trace is not None
            trace = traces[format_trace_id(look.app._store.trace_table.trace_id(first.chosen_trace))]
            heads, lasted = look.line_of("DURATION"), duration(trace["duration_ns"])
            # The preview follows the cursor when it rests.
            await look.until(partial(previews, look, heads, lasted))
            row, title = look.lines[heads + 1 + seen].partition("│")[0], look.lines[heads].partition("│")[2]
            spans, errors = trace["span_count"], trace["error_count"]
            assert texts_of(row)[0] == lasted
            assert [cell for cell in cells_of(row) if cell.isdecimal()][: 1 + bool(errors)] == [
                str(each) for each in (spans, errors) if each
            ]
            assert texts_of(title) == [lasted]
            assert count(spans, "span") in title
            beside = answer_in([line.partition("│")[2] for line in look.lines[heads + 1 :]])
            assert_adds_up(beside, trace["duration_ns"], answer_of(look.app._store, first.chosen_trace))
            seen += 1
            await look.press("down")
    assert seen


@pytest.mark.parametrize("recording", sample(RECORDINGS, 3))
async def test_answer_of_each_trace(recording: str) -> None:
    """The line under a trace's title adds up to its duration, and failed spans have their exceptions."""
    traces = {trace["trace_id"]: trace for trace in traces_of(recording)}
    async with recording_at(recording) as look:
        for number in range(min(_MOST_OPENED, len(traces))):
            await look.press(*["down"] * (number > 0), "enter")
            await settled(look.app, look.pilot)
            screen = look.screen
            assert isinstance(screen, TraceScreen)
            trace = traces[format_trace_id(look.app._store.trace_table.trace_id(screen.trace))]
            assert texts_of(look.header)[0] == duration(trace["duration_ns"])
            assert f" {count(trace['span_count'], 'span')} " in look.header
            assert (f"✖ {count(trace['error_count'], 'error')}" in look.header) == bool(trace["error_count"])
            if " = " in look.body[0]:
                answer = answer_of(look.app._store, screen.trace)
                assert_adds_up(answer_in(look.body), trace["duration_ns"], answer)
            await look.press("escape")


@pytest.mark.parametrize("recording", sample(RECORDINGS, 3))
async def test_exceptions(recording: str) -> None:
    """The newest failure has as many events as its record, and its last exception stands first."""
    nodes = [node for trace in traces_of(recording) for node in all_nodes(trace["roots"])]
    known = {node["span_id"]: node for node in nodes if not node.get("missing")}
    if not any(node["status"]["code"] == "ERROR" for node in known.values()):
        pytest.skip("nothing has failed")
    async with recording_at(recording, "e") as look:
        screen = look.screen
        assert isinstance(screen, TraceScreen)
        subject = screen.query_one(Details).subject
        assert subject is not None
        node = known[subject.span.span_id or ""]
        shown = next(line for line in look.lines if "Attributes " in line)
        assert f"Events {len(node['events'])}" in shown
        exceptions = [event["attributes"] for event in node["events"] if event["name"] == "exception"]
        if exceptions:
            assert f"✖ {exceptions[-1]['exception.type'].rpartition('.')[2]}" in look.text


@pytest.mark.parametrize("recording", ["ray-tasks-bundled-hook", "killed-workers", "ray-odd-actors", "pids-used-again"])
async def test_groups(recording: str) -> None:
    """How many traces a name has, and the percentiles of their durations."""
    groups = defaultdict[str, list[int]](list)
    for trace in traces_of(recording):
        root = next((node for node in trace["roots"] if not node.get("missing")), None)
        groups["?" if root is None else root["name"]].append(trace["duration_ns"])
    expected = Counter(
        (len(times), *map(duration, (*(rank(times, percent) for percent in (50, 95, 99, 100)), sum(times))))
        for times in groups.values()
    )
    async with recording_at(recording, "r") as look:
        rows = look.lines[look.line_of("ROOT ") + 1 : -1]
        shown = Counter((number_in(row), *texts_of(row)[:5]) for row in rows if row.strip())
    assert shown == expected


@pytest.mark.parametrize("recording", sample(RECORDINGS, 3))
async def test_calls(recording: str) -> None:
    """By function as the command counts them; by actor, node and job just as many, and those that the records name."""
    functions = told(recording, "stats", "--by", "ray", "--json")["rows"]
    if not functions:
        pytest.skip("no Ray calls")
    expected = Counter(
        (
            function["calls"],
            *(
                duration(ns)
                for ns in (
                    *(function["wait_ns"][figure] for figure in ("total", "p50", "p95", "max")),
                    *(function["run_ns"][figure] for figure in ("p50", "p95", "max")),
                )
                if ns is not None
            ),
        )
        for function in functions
    )
    jobs = Counter(
        span["attributes"].get("ray.job_id") for span in spans_of(recording) if span["name"].endswith(" ray.remote")
    )
    async with recording_at(recording, "A") as look:
        rows = [row for row in look.lines[look.line_of("FUNCTION") + 1 : -2] if row.strip()]
        assert Counter((number_in(row), *texts_of(row)) for row in rows) == expected
        total = sum(function["calls"] for function in functions)
        for head in ("ACTOR", "NODE", "JOB"):
            await look.press("b")
            await look.until_shown(f"{head} ")
            await settled(look.app, look.pilot)
            rows = [row for row in look.lines[look.line_of(f"{head} ") + 1 : -2] if row.strip()]
            assert sum(map(number_in, rows)) == total, head
        if not any(function["existing"] for function in functions):
            assert sorted(map(number_in, rows)) == sorted(jobs.values())


@pytest.mark.parametrize("recording", ["ray-tasks-bundled-hook", "killed-workers", "ray-odd-actors"])
async def test_each_call(recording: str) -> None:
    """The calls of a job, slowest first, have the figures that the command prints."""
    calls = told(recording, "stats", "--by", "ray-call", "--json")["rows"]
    async with recording_at(recording, "A", "b", "b", "b", "enter") as look:
        rows = [row for row in look.lines[look.line_of("SUBMITTED") + 1 : -3] if row.strip()]
    assert len(rows) in {len(calls), WIDE[1] - 6}
    for row, call in zip(rows, calls, strict=False):
        times = [call[name] for name in ("wait_ns", "run_ns", "wait_and_run_ns")]
        assert texts_of(row) == [duration(ns) for ns in times if ns is not None]
        assert call["waited_for"] in {None, "unknown"} or WaitedFor[call["waited_for"].upper()] in row


@pytest.mark.parametrize("recording", ["ray-tasks-bundled-hook", "session-with-logs/logs/spans", "pids-used-again"])
async def test_workers(recording: str) -> None:
    """The share of the time from a process's first start to its last end in which a span ran and awaited nothing."""
    files = defaultdict[str, list[tuple[int, int]]](list)
    for span in spans_of(recording):
        path = span["source"]["file"]
        if span["duration_ns"] is not None:
            start = ns_of(span["start_time"])
            files[path].append((start, start + span["duration_ns"]))
    active = active_in(spans_of(recording))
    expected = Counter((len(times), f"{share_of(active[path], times):.0%}") for path, times in files.items())
    async with recording_at(recording, "L") as look:
        heads = look.line_of("OF OWN")
        end = look.lines[heads].index("OF OWN") + len("OF OWN")
        spans = look.lines[heads].index(" SPANS")
        shown = Counter(
            (int(row[spans : spans + len(" SPANS")].replace(",", "")), row[:end].split()[-1])
            for row in look.lines[heads + 1 : -1]
            if row[:end].endswith("%")
        )
    assert shown == expected


@pytest.mark.parametrize("recording", ["serve", "serve-grpc", "session-with-logs/logs"])
async def test_requests(recording: str) -> None:
    """As the command counts them, and the parts of each request add up to its total."""
    groups = told(recording, "stats", "--by", "serve", "--json")["requests"]
    expected = Counter(
        (
            group["count"],
            *(
                duration(ns)
                for name, shown in (
                    ("total_ns", ("p50", "p95", "p99", "max")),
                    ("queue_ns", ("p50", "p95", "p99", "max")),
                    ("handling_ns", ("p50", "p95")),
                    ("route_ns", ("p95",)),
                    ("other_ns", ("p95",)),
                )
                for ns in [(group[name] or {}).get(each) for each in shown]
                # Nothing takes less than no time: a screen has no figure then.
                if ns is not None and ns >= 0
            ),
        )
        for group in groups
    )
    async with recording_at(recording, "H") as look:
        heads = look.lines[look.line_of("REQUEST ")]
        end = heads.index("COUNT") + len("COUNT")
        rows = [row for row in look.lines[look.line_of("REQUEST ") + 1 : -2] if row.strip()]
        assert Counter((int(row[:end].split()[-1].replace(",", "")), *texts_of(row[end:])) for row in rows) == expected
        whole = 0
        for number in range(min(5, len(rows))):
            await look.press("g", *["down"] * number, "enter")
            await settled(look.app, look.pilot)
            screen = look.screen
            assert isinstance(screen, RequestsScreen)
            for request in screen.rows.items:
                parts = (request.queue_ns, request.handling_ns, request.route_ns, request.other_ns)
                if request.total_ns is not None and None not in parts:
                    assert sum(part or 0 for part in parts) == request.total_ns
                    whole += 1
                    shown = [duration(ns) for ns in (request.total_ns, *parts) if (ns or 0) >= 0]
                    assert any(texts_of(line)[: len(shown)] == shown for line in look.body)
            await look.press("escape")
        assert whole


@pytest.mark.parametrize("recording", sample(RECORDINGS, 3))
async def test_statistics(recording: str) -> None:
    """Each row has the figures that the command prints."""
    expected = [
        (
            group["count"],
            *(
                duration(ns)
                for lasted in (group["duration_ns"],)
                for ns in (
                    lasted["total"],
                    group["self_time_ns"],
                    *map(lasted.get, ("min", "p50", "p95", "p99", "max")),
                )
            ),
        )
        for group in told(recording, "stats", "--json")["rows"]
        if group["duration_ns"]["max"] is not None
    ]
    async with recording_at(recording, "t") as look:
        rows = [row for row in look.lines[look.line_of("COUNT") + 1 : -1] if len(texts_of(row)) > 1]
        shown = Counter((number_in(row), *texts_of(row)[:7]) for row in rows)
    assert shown <= Counter(expected)
    assert shown.total() == min(len(expected), len(rows))


@pytest.mark.parametrize("recording", sample(RECORDINGS, 3))
async def test_check(recording: str) -> None:
    """Each finding is there with its count."""
    async with recording_at(recording, "exclamation_mark") as look:
        for finding in told(recording, "check", "--json")["findings"]:
            assert f"{finding['kind']} ×{finding['count']:,}" in look.text


# -- what is worked out here -------------------------------------------------------------------------------------------


def all_nodes(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield nodes of a trace, and all below them."""
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        waiting += node["children"]
        yield node


def ns_of(text: str) -> int:
    """Return a time as the commands print it, in nanoseconds."""
    whole, _, rest = text.rstrip("Z").partition(".")
    return round(datetime.fromisoformat(f"{whole}+00:00").timestamp()) * _NS["s"] + int(rest.ljust(9, "0"))


def previews(look: Look, heads: int, lasted: str) -> bool:
    """Return whether a trace that lasted so long stands beside the list."""
    return lasted in look.lines[heads].partition("│")[2]


def active_in(spans: list[dict[str, Any]]) -> dict[str, list[tuple[int, int]]]:
    """Return when spans of each file ran while nothing below them ran or was queued, stretch by stretch."""
    by_id = {(span["trace_id"], span["span_id"]): span for span in spans}
    times: dict[int, tuple[int, int]] = {}
    for span in spans:
        if span["duration_ns"] is not None:
            start = ns_of(span["start_time"])
            times[id(span)] = start, start + span["duration_ns"]
    below = defaultdict[int, list[tuple[int, int]]](list)
    for span in spans:
        parent = by_id.get((span["trace_id"], span["parent_id"]))
        stretches = [times[id(span)]] if id(span) in times else []
        if stretches and parent is not None and id(parent) in times:
            stretches += queued(parent, span, times)
        while parent is not None:
            below[id(parent)] += stretches
            parent = by_id.get((parent["trace_id"], parent["parent_id"]))
    edges = sorted({edge for several in ([*times.values()], *below.values()) for pair in several for edge in pair})
    active = defaultdict[str, list[tuple[int, int]]](list)
    for span in spans:
        if id(span) in times:
            start, end = times[id(span)]
            own = [edge for edge in edges if start <= edge <= end]
            active[span["source"]["file"]] += [
                (first, last)
                for first, last in pairwise(own)
                if not any(begin <= first and last <= stop for begin, stop in below[id(span)])
            ]
    return active


def queued(parent: dict[str, Any], span: dict[str, Any], times: dict[int, tuple[int, int]]) -> list[tuple[int, int]]:
    """Return when a span was waited for that runs in another process: a call once submitted, a request once routed."""
    (begun, submitted), (start, _) = times[id(parent)], times[id(span)]
    if parent["source"]["file"] == span["source"]["file"]:
        return []
    if parent["kind"].endswith("PRODUCER") and span["kind"].endswith("CONSUMER"):
        return [(submitted, start)]
    names = parent["name"], span["name"]
    is_routed = names[0].startswith("route_to_replica ") and names[1].startswith("replica_handle_request ")
    return [(begun, start)] if is_routed else []


def share_of(active: list[tuple[int, int]], times: list[tuple[int, int]]) -> float:
    """Return the share of the time between the first start and the last end in which something was active."""
    total = until = 0
    for start, end in sorted(active):
        total += max(0, end - max(start, until))
        until = max(until, end)
    length = max(end for _, end in times) - min(times)[0]
    return total / length if length else 1.0


def answer_in(lines: list[str]) -> str:
    """Return an answer, which has one line or two, above the heads of a trace or its minimap."""
    first, second, *_ = (line.strip() for line in lines)
    return (
        f"{first} {second}"
        if re.match(r"[^▁-█]*[a-z]{3}", second) and not second.startswith(("CALL", "SPAN"))
        else first
    )


def assert_adds_up(line: str, total_ns: int, answer: Answer) -> None:
    """See to it that an answer's parts add up to the duration that it begins with, but for what each is rounded by.

    Args:
        line: What is shown.
        total_ns: The duration.
        answer: The parts before they are rounded; what the last digit of the duration doesn't show is left out.
    """
    assert sum(part.ns for part in answer.parts) == total_ns, line
    whole, equals, parts = re.sub(r"\([^)]*\)", "", line).partition(" = ")
    assert texts_of(whole)[:1] == [duration(total_ns)] or not equals, line
    if equals:
        listed = [ns_in(part)[0] for part in parts.split("   ")[0].split(" + ")]
        # Each part and the whole is off by half of the last digit at the most.
        step_ns = last_digit(total_ns)
        assert 2 * abs(sum(listed) - ns_in(whole)[0]) <= step_ns * (len(answer.parts) + 1), line
        # The last may be what is left.
        for shown_ns in listed[:-1]:
            assert any(2 * abs(shown_ns - part.ns) <= step_ns for part in answer.parts), line
