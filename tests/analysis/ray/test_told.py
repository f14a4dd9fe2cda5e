"""What Ray's own events say of calls is told as they say it, by a reader of them without a line of spanview."""

from __future__ import annotations

import json
import re
import shutil
from base64 import b64encode
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, file_of, store_of
from claims import differences, tasks_by_name
from rays_word import NODE, attempts_in, line_of
from spanview.analysis.answer import Doing, answer_of
from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.call_groups import CallsBy
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.meanwhile import meanwhile_of
from spanview.analysis.ray.outcomes import outcomes_of
from spanview.analysis.ray.reasons import reasons_of
from spanview.analysis.ray.told import first_outcome, told_outcomes
from spanview.analysis.ray.unended import Fate, Unended
from spanview.analysis.ray.wait_causes import KINDS, UNKNOWN, WaitedFor
from spanview.analysis.ray.waited_for import AllAttempts, WaitReasons, reason_text
from spanview.display.answer_text import answer_texts
from spanview.display.span_in_tree import SpanInTree
from spanview.display.timing_text import timing_facts, wait_text
from spanview.index.ray_tasks import in_plural
from spanview.index.store import Store
from spanview.index.table import NO_ROW
from spanview.reports.calls import calls_report
from spanview.sources.details import RecordReader
from spanview.sources.loading import load_store
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions
from viewers import Growing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIXTURES: Final = Path(__file__).parents[3] / "fixtures"
RECORDINGS: Final = ("ray-events-hook", "ray-events-bundled")


def _differences(folder: Path) -> list[str]:
    """Return what is told otherwise than Ray's events have it."""
    store = load_store(folder)
    return differences(store, tasks_by_name(store, folder / "logs" / "export_events"))


@pytest.mark.parametrize("recording", RECORDINGS)
def test_it_is_told_as_ray_says_it(recording: str) -> None:
    """What each call waited for, to the nanosecond, and what became of it; nothing is left unknown."""
    folder = FIXTURES / recording
    store = load_store(folder)
    tasks = tasks_by_name(store, folder / "logs" / "export_events")
    assert len(tasks) == 37
    assert all(tasks.values())
    assert _differences(folder) == []


def _outcomes(store: Store) -> dict[tuple[int, int], tuple[str, bool]]:
    """Return what became of each call, and whether it was tried again, by the ids of its trace and its span."""
    calls, spans = calls_of(store), store.spans
    became = outcomes_of(store, [*calls], reasons_of(store, calls))
    again = {*calls.rows[calls.are_retried].tolist()}
    ids = {row: (store.trace_table.trace_id(spans.trace[row]), spans.span_id[row]) for row in became}
    return {ids[row]: (each.outcome.key, row in again) for row, each in became.items()}


_ALONE: Final = {recording: _outcomes(load_store(FIXTURES / recording)) for recording in RECORDINGS}


def test_two_sessions_that_number_their_tasks_alike() -> None:
    """The first tasks of any two sessions have the same ids; each is told of its own."""
    alone = _ALONE[RECORDINGS[0]] | _ALONE[RECORDINGS[1]]
    assert _outcomes(load_store([FIXTURES / recording for recording in RECORDINGS])) == alone


def test_a_link_that_leads_to_another_session_later(tmp_path: Path) -> None:
    """The attempts of one session are none of the other's tasks, though both were read by one path."""
    link, told = tmp_path / "session_latest", dict[tuple[int, int], tuple[str, bool]]()
    with closing(RecordReader()) as details:
        store = Store(details)
        session = Session(ReadOptions((str(link),), follow=True), store, details)
        assert not [*session.load()]
        for recording in RECORDINGS:
            link.unlink(missing_ok=True)
            link.symlink_to(FIXTURES / recording)
            session.look()
            told |= _ALONE[recording]
            assert _outcomes(store) == told


@pytest.mark.parametrize("recording", RECORDINGS)
def test_events_that_break_off_anywhere(recording: str, tmp_path: Path) -> None:
    """Nothing is certain that isn't written: wherever the files end, what is told is what the whole lines say."""
    folder = tmp_path / "session"
    shutil.copytree(FIXTURES / recording, folder)
    files = sorted((folder / "logs" / "export_events").glob("event_EXPORT_TASK_*.log"))
    whole = {path: path.read_bytes() for path in files}
    driver = max(files, key=lambda path: len(whole[path]))
    for share in range(1, 40):
        cut = len(whole[driver]) * share // 40
        for path in files:
            path.write_bytes(whole[path][: min(cut, len(whole[path]) * share // 40)])
        assert _differences(folder) == [], share


@pytest.mark.parametrize("recording", RECORDINGS)
def test_every_wait_has_its_sentence(recording: str) -> None:
    """What each attempt waited for can be said, whoever shows it, and what went on meanwhile."""
    store = load_store(FIXTURES / recording)
    attempts = AllAttempts(store)
    texts = {
        call.function: wait_text(store, attempts, reason, call.attempts[0])
        for call in calls_of(store)
        if call.attempts and (reason := attempts.reasons_of(call.attempts[:1]).get(call.attempts[0])) is not None
    }
    assert texts["__main__.after"].startswith("mostly for its arguments")
    assert texts["__main__.wide"].startswith("for a worker or")
    assert texts["Few.go"].partition(";")[0] == "mostly for its actor to be ready: Few.__init__ had to end first"


def test_without_the_events_nothing_is_certain_of_waits() -> None:
    """Only that the actor's constructor had to end first; what became of calls is told as far as spans show."""
    store = load_store(FIXTURES / "ray-events-hook" / "spans")
    calls = [*calls_of(store)]
    waits = AllAttempts(store).reasons_of([call.attempts[0] for call in calls if call.attempts])
    assert not any(waits.is_certain(call.attempts[0]) for call in calls if call.attempts)
    became = outcomes_of(store, calls, reasons_of(store, calls_of(store)))
    names = {call.function: became[call.row].outcome.key for call in calls if not call.attempts}
    assert names == {
        "Broken.f": "constructor_failed",
        "__main__.never": "unknown",
        "__main__.dies": "unknown",
        "__main__.sleeper": "unknown",
    }


def test_a_call_that_names_the_task_that_submits_it_alone(tmp_path: Path) -> None:
    """Ray's own hook writes that in workers; the call is another task, found by its name and its time."""
    folder = tmp_path / "session"
    shutil.copytree(FIXTURES / "ray-events-bundled", folder)
    store = load_store(folder)
    task = next(
        task
        for call in calls_of(store)
        if call.function == "__main__.load"
        and (task := store.span(call.attempts[0]).attributes.get("ray.task_id")) is not None
    )
    for path in (folder / "spans").glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        path.write_text(
            re.sub(
                r'("name": "__main__.never ray.remote",.*?"attributes": \{)',
                rf'\1"ray.task_id": "{task}", ',
                text,
                flags=re.DOTALL,
            ),
            encoding="utf-8",
        )
    store = load_store(folder)
    calls = [call for call in calls_of(store) if call.function == "__main__.never"]
    assert [store.span(call.row).attributes["ray.task_id"] for call in calls] == [task]
    became = outcomes_of(store, calls, reasons_of(store, calls_of(store)))
    assert [each.outcome.key for each in became.values()] == ["pending"]


def test_what_ray_calls_failed_counts_as_failed() -> None:
    """Also where no span shows that it ran: it left no attempt, and has failed."""
    store = load_store(FIXTURES / "ray-events-bundled")
    functions = {one.function: one for one in functions_of(store, calls_of(store))}
    counts = {name: (one.failed, one.no_attempt) for name, one in functions.items() if one.failed or one.no_attempt}
    assert counts == {
        "Broken.__init__": (1, 0),
        "Broken.f": (1, 1),
        "__main__.dies": (1, 1),
        "__main__.never": (0, 1),
        "__main__.raises": (1, 0),
        "__main__.sleeper": (0, 1),
    }


@pytest.mark.parametrize("recording", RECORDINGS)
def test_the_line_above_a_trace_says_the_parts(recording: str) -> None:
    """Where a call's whole wait is on the path and had several causes for certain, they are the call's, and add up."""
    store = load_store(FIXTURES / recording)
    calls = [call for call in calls_of(store) if call.attempts]
    waits, seen = AllAttempts(store).reasons_of([call.attempts[0] for call in calls]), 0
    for call in calls:
        parts = [part for part in answer_of(store, store.spans.trace[call.row]).parts if part.doing is Doing.WAITING]
        causes = {cause: ns for part in parts for cause, ns in part.causes if ns}
        told, wait_ns = waits.parts_of(call.attempts[0]), sum(part.ns for part in parts)
        if len(calls_of(store, [store.spans.trace[call.row]])) > 1 or wait_ns != sum(told.values()):
            continue
        is_several = waits.is_certain(call.attempts[0]) and wait_ns - max(told.values()) > 20_000_000
        assert causes == (told if is_several else {})
        seen += is_several
    assert seen >= 10


def test_what_is_said_of_a_wait_s_parts() -> None:
    """In the line above the trace, shorter where there is less room, and in the details; without events, as before."""
    for told, folder in ((True, FIXTURES / "ray-events-hook"), (False, FIXTURES / "ray-events-hook" / "spans")):
        store = load_store(folder)
        calls = [call for call in calls_of(store) if call.function == "__main__.after"]
        call = min(calls, key=lambda call: store.spans.start_ns[call.attempts[0]])
        trace, row = store.spans.trace[call.row], call.attempts[0]
        texts, tree = answer_texts(answer_of(store, trace)), store.tree(trace)
        of_span = SpanInTree(store.span(row), store, trace, tree, tree.rows.index(row))
        reasons = timing_facts(of_span).wait_reasons
        if told:
            lead = "2.25 s = 2.15 s waiting before after ran (1.52 s for its arguments"
            assert texts[0] == f"{lead}, 620 ms for a worker or resources) + 100 ms running"
            assert texts[1] == f"{lead}, …) + 100 ms running"
            assert reasons == (
                "mostly for its arguments: likely the result of load",
                "1.52 s for its arguments, 620 ms for a worker or resources",
            )
        else:
            assert "arguments" not in "".join((*texts, *reasons))


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=len(KINDS), max_size=len(KINDS)), min_size=1, max_size=4),
    st.lists(st.integers(0, 40), min_size=5, max_size=5),
)
def test_the_last_of_a_wait(parts: list[list[int]], lengths: list[int]) -> None:
    """Its causes are those of the last nanoseconds, one by one; before the wait, and without one, nothing is known."""
    rows = np.arange(len(parts)) * 2
    waits = WaitReasons(rows, np.array(parts), rows, rows % 4 == 0, {})
    asked = np.append(rows, 99)
    found, are_likely = waits.last_parts(asked, np.array(lengths[: len(asked)]))
    assert are_likely.tolist() == [*(row % 4 != 0 for row in rows.tolist()), False]
    for of_row, ns, counted in zip([*parts, []], lengths, found.tolist(), strict=False):
        each = [kind for kind, number in enumerate(of_row) for _ in range(number)]
        each = ([UNKNOWN] * ns + each)[-ns:] if ns else []
        assert counted == [each.count(kind) for kind in range(len(KINDS))]


def test_clocks_that_are_centuries_apart(tmp_path: Path) -> None:
    """A wait of more nanoseconds than a number of 64 bits holds is said as it is, without its causes."""
    folder = tmp_path / "session"
    shutil.copytree(FIXTURES / "ray-events-bundled", folder)
    for path in (folder / "spans").glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        for name, year in (("after ray.remote", 1678), ("after ray.remote_worker", 2261)):
            for found in re.findall(rf'"name": "__main__\.{name}",.*?"end_time": "[^"]*"', text, re.DOTALL):
                text = text.replace(found, re.sub(r'(_time": ")\d{4}', rf"\g<1>{year}", found))
        path.write_text(text, encoding="utf-8")
    store = load_store(folder)
    calls = [call for call in calls_of(store) if call.function == "__main__.after"]
    for call in calls:
        (part,) = (part for part in answer_of(store, store.spans.trace[call.row]).parts if part.doing is Doing.WAITING)
        assert part.ns > 2**63
        assert not part.causes
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("ended_by", "fate"), [("KeyboardInterrupt", None), ("", Fate.CANCELLED), ("SystemExit", None), ("", Fate.STOPPED)]
)
def test_what_spans_and_processes_show_to_be_cancelled(ended_by: str, fate: Fate | None) -> None:
    """Without Ray's events the outcome is the one that is shown; what was cut off otherwise has none that is known."""
    build = Builder()
    call = build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER")
    ran: dict[str, Any] = {"parent": 1, "start": 20, "kind": "CONSUMER", "duration": 9 if ended_by else None}
    attempt = build.span(
        "f ray.remote_worker", span=2, attributes={"ray.ended_by": ended_by} if ended_by else {}, **ran
    )
    store = store_of(call, attempt)
    calls = calls_of(store)
    (row,) = calls.last_attempts.tolist()
    (became,) = outcomes_of(store, [*calls], {}, {} if fate is None else {row: Unended(fate, "")}).values()
    is_cancelled = fate is Fate.CANCELLED or ended_by == "KeyboardInterrupt"
    assert became.outcome.key == ("cancelled" if is_cancelled else "unknown")
    assert became.certainty is ((Certainty.CERTAIN if fate else Certainty.LIKELY) if is_cancelled else None)


def test_what_was_cancelled_while_it_ran_is_not_finished(tmp_path: Path) -> None:
    """Ray has it as finished, or as failed; its span says by what it was cut off."""
    folder = tmp_path / "session"
    shutil.copytree(FIXTURES / "ray-events-hook", folder)
    for path in (folder / "spans").glob("*.jsonl"):
        text = path.read_text(encoding="utf-8")
        ended = '{"key":"ray.ended_by","value":{"stringValue":"KeyboardInterrupt"}},'
        lines = (
            line.replace('"attributes":[{"key":"ray.remote"', f'"attributes":[{ended}{{"key":"ray.remote"')
            if "__main__.wide ray.remote_worker" in line
            else line
            for line in text.splitlines(keepends=True)
        )
        path.write_text("".join(lines), encoding="utf-8")
    store = load_store(folder)
    calls = [call for call in calls_of(store) if call.function == "__main__.wide"]
    became = outcomes_of(store, calls, {})
    assert [(each.outcome.key, each.certainty) for each in became.values()] == [("cancelled", Certainty.LIKELY)] * 3
    counted = {each.function: (each.calls, each.ended, each.cancelled) for each in functions_of(store, calls_of(store))}
    assert counted["__main__.wide"] == (3, 0, 3)


@pytest.mark.parametrize("recording", RECORDINGS)
def test_loading_is_no_start_and_handing_over_no_argument(recording: str) -> None:
    """A new worker took seconds to load a function; and only calls that take others' results waited for arguments."""
    store = load_store(FIXTURES / recording)
    called = {call.attempts[0]: call.function for call in calls_of(store) if call.attempts}
    reasons = AllAttempts(store).reasons_of([*called])
    parts = [(function, reasons.parts_of(row)) for row, function in called.items()]
    assert {function for function, of_call in parts if WaitedFor.ARGUMENTS in of_call} == {
        "__main__.after",
        "Queue.put",
    }
    loading = [of_call[WaitedFor.LOADING] for function, of_call in parts if function == "__main__.own_worker"]
    assert min(loading) > 1_000_000_000
    labels = [
        reason.label for row in called if (reason := reasons.get(row)) and WaitedFor.LOADING in reasons.parts_of(row)
    ]
    assert not [label for label in labels if "at the end" in label]


@pytest.mark.parametrize("attempts", [1, 2])
def test_attempts_of_which_ray_alone_knows(attempts: int) -> None:
    """A call whose first attempt died with its worker, which leaves no span under Ray's own hook, was tried again."""
    task, ns = "35" * 8 + "0a" * 16, EPOCH_NS
    call = Builder().span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER")
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call["attributes"] = ids
    ran = Builder().span("f ray.remote_worker", span=2, parent=1, start=90, kind="CONSUMER", attributes=ids)
    data = Growing(call, ran)
    lines = [line_of(task, {"1": ns, "2": ns, "5": ns + 10_000, "8": ns + 20_000})]
    if attempts == 2:
        lines = [*lines, line_of(task, {"12": ns + 50_000}, error="WORKER_DIED")]
        lines = [*lines, line_of(task, {"1": ns + 50_000, "8": ns + 80_000}, attempt=1)]
    data.add(*map(json.loads, lines), path="logs/export_events/event_EXPORT_TASK_7.log")
    (function,) = functions_of(data.store, calls_of(data.store))
    assert (function.attempts, function.retried) == (1, attempts - 1)
    assert [call.outcome.value for call in calls_of(data.store)] == ["retried" if attempts == 2 else "ended"]


@pytest.mark.parametrize("recording", RECORDINGS)
def test_an_attempt_of_which_no_line_is_left_is_not_taken_for_another_tasks(recording: str, tmp_path: Path) -> None:
    """Of a call that was tried again only the second attempt is told: nobody knows whether the first one ran."""
    folder = tmp_path / "session"
    shutil.copytree(FIXTURES / recording, folder)
    events = folder / "logs" / "export_events"
    (task,) = (
        task
        for task, each in attempts_in(sorted(events.glob("event_EXPORT_TASK_*"))).items()
        if each[0].number and each[0].kind == "ACTOR_TASK"
    )
    for path in events.glob("event_EXPORT_TASK_*.log"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        left = (
            line
            for line in lines
            if not ('"attempt_number":0' in line and b64encode(bytes.fromhex(task)).decode() in line)
        )
        path.write_text("".join(left), encoding="utf-8")
    store = load_store(folder)
    (call,) = (call for call in calls_of(store) if call.function == "Phoenix.die")
    parts = AllAttempts(store).reasons_of(call.attempts[:1]).parts_of(call.attempts[0])
    assert WaitedFor.RETRY not in parts
    assert {*parts} <= {WaitedFor.CREATION, WaitedFor.UNKNOWN}


def test_what_a_wait_was_for_at_last() -> None:
    """Of what waited behind something else the end of its own wait counts, which may have been for another thing."""
    ms, rows = 1_000_000, np.array([3, 5])
    parts = np.zeros((2, len(KINDS)), np.int64)
    parts[:, [KINDS.index(WaitedFor.ARGUMENTS), KINDS.index(WaitedFor.RESOURCES)]] = [500 * ms, 300 * ms]
    waits = WaitReasons(rows, parts, rows, np.array([True, False]), {3: "1 CPU"})
    said = {ns: waits.at_last(3, ns * ms) for ns in (200, 310, 700)}
    told = {ns: (reason.label, reason.detail) for ns, reason in said.items() if reason is not None}
    assert told == {
        200: ("for a worker or resources", "1 CPU"),
        310: ("for a worker or resources", "1 CPU"),
        700: ("mostly for its arguments", ""),
    }
    # What is only likely has no order; of a long stretch most was for it, whatever came at last.
    assert waits.at_last(5, 200 * ms) is None
    likely = waits.at_last(5, 700 * ms)
    assert likely is not None
    assert likely.label == "likely mostly for its arguments"


@pytest.mark.parametrize("recording", RECORDINGS)
def test_the_lives_of_actors(recording: str) -> None:
    """How often Ray started each again, and why it died; of calls by actor alone, and without the events of nobody."""
    reports = (calls_report(load_store(FIXTURES / recording / part), by=CallsBy.ACTOR) for part in ("", "spans"))
    told, alone = ({row.function.partition(" ")[0]: row for row in report.rows} for report in reports)
    lives = {name: (row.restarts, row.death_cause) for name, row in told.items()}
    ended = 0, "its owner ended"
    expected = {
        "tasks": (0, ""),
        "Few": ended,
        "Queue": ended,
        "Phoenix": (1, ended[1]),
        "Broken": (0, "RuntimeError: no"),
    }
    assert lives == expected
    assert {(row.restarts, row.death_cause) for row in alone.values()} == {(0, "")}
    by_function = calls_report(load_store(FIXTURES / recording)).table.columns
    assert {"restarts", "death_cause"}.isdisjoint(column.name for column in by_function)


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_runtime_environment_is_asked_for(recording: str) -> None:
    """Ray has no state for setting one up: what a worker is waited for with says it in words."""
    tasks = load_store(FIXTURES / recording).ray
    assert tasks is not None
    names = [tasks.names.texts[name] for name in tasks["name"].tolist()]
    asked = {name: tasks.asked(index) for index, name in enumerate(names)}
    own = "a runtime environment"
    assert [name for name, text in asked.items() if text.endswith(own)] == ["own_worker"]
    assert asked["own_worker"] == own
    assert asked["never"] == "1 GPU"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("1 CPU, 9.66368e+11 memory", "1 CPU, 900 GiB of memory"),
        ("1 CPU, 528 memory", "1 CPU, 528 B of memory"),
        ("0.5 CPU, 2 GPU, 5.36871e+08 object_store_memory", "0.5 CPU, 2 GPUs, 512 MiB of object_store_memory"),
        # Whatever a resource is called.
        ("1 2.3.4 memory, 1 e+ memory", "1 2.3.4 memory, 1 e+ memory"),
    ],
)
def test_resources_are_said_as_people_do(asked: str, said: str) -> None:
    """In GiB, and in the plural."""
    assert in_plural(asked) == said


def test_what_a_wait_for_a_worker_asked_for_is_said() -> None:
    """Ray doesn't say which of both was lacking, a worker or what it needs."""
    store = load_store(FIXTURES / "ray-events-hook")
    firsts = calls_of(store).first_attempts.tolist()
    reasons = AllAttempts(store).reasons_of(firsts)
    assert "for a worker or resources (it asked for 2 CPUs)" in {
        reason_text(store, reason) for reason in map(reasons.get, firsts) if reason is not None
    }


def test_what_ray_wrote_last_is_older_than_what_spans_show(tmp_path: Path) -> None:
    """Where its driver was killed, Ray has a call as running that was cut off, as its span says."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    ended = {**ids, "ray.ended_by": "SystemExit: The process receives a SIGTERM."}
    ran = build.span("f ray.remote_worker", span=2, parent=1, start=20, duration=9, kind="CONSUMER", attributes=ended)
    (tmp_path / "7.txt").write_bytes(file_of([call, ran]))
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, {"1": EPOCH_NS, "8": EPOCH_NS + 20_000}))
    ((outcome, _),) = _outcomes(load_store(tmp_path)).values()
    assert outcome == "unknown"


def test_a_span_is_here_before_ray_writes_that_it_runs(tmp_path: Path) -> None:
    """Ray writes each second, spanview's hook at once."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    begun = build.span(
        "f ray.remote_worker", span=2, parent=1, start=20, duration=None, kind="CONSUMER", attributes=ids
    )
    (tmp_path / "7.txt").write_bytes(file_of([call, begun]))
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, dict.fromkeys("12", EPOCH_NS)))
    store = load_store(tmp_path)
    calls, runs = calls_of(store), Unended(Fate.RUNS, "its process is alive")
    (row,) = calls.last_attempts.tolist()
    outcomes = (outcomes_of(store, [*calls], {}, unended) for unended in ({}, {row: runs}))
    assert [became.outcome.key for of_calls in outcomes for became in of_calls.values()] == ["pending", "running"]


def test_what_waits_to_be_tried_again_has_its_arguments(tmp_path: Path) -> None:
    """Ray makes the next attempt at once, and sends it when its delay is over."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    lines = line_of(task, {"1": EPOCH_NS, "12": EPOCH_NS + 9_000}, error="WORKER_DIED")
    lines += line_of(task, {"1": EPOCH_NS + 9_000}, attempt=1)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    store = load_store(tmp_path)
    (why,) = reasons_of(store, calls_of(store)).values()
    assert why.brief == "waits to be tried again, as Ray said last"


def test_what_a_call_waited_for_before_its_actor_died(tmp_path: Path) -> None:
    """Until the actor was made that died, and to be tried again; whether it ran there, nobody knows."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("A.f ray.remote", span=1, start=0, duration=0, kind="PRODUCER", attributes=ids)
    fields: dict[str, Any] = {"parent": 1, "kind": "CONSUMER", "attributes": ids}
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    (tmp_path / "8.txt").write_bytes(file_of([build.span("A.f ray.remote_worker", start=1_000_000, **fields)]))
    ended = {"1": 0, "2": 0, "5": 400, "12": 600}, {"1": 600, "2": 750, "5": 950, "8": 1_000}
    states = [{state: EPOCH_NS + 1_000_000 * ms for state, ms in of_attempt.items()} for of_attempt in ended]
    lines = line_of(task, states[0], name="A.f", kind="ACTOR_TASK", error="ACTOR_UNAVAILABLE")
    lines += line_of(task, states[1], name="A.f", kind="ACTOR_TASK", attempt=1)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    store = load_store(tmp_path)
    (row,) = calls_of(store).first_attempts.tolist()
    parts = AllAttempts(store).reasons_of([row]).parts_of(row)
    found = {kind.name.lower(): ns // 1_000_000 for kind, ns in parts.items()}
    assert found == {"retry": 150, "creation": 400 + 200, "unknown": 50 + 200}
    assert differences(store, tasks_by_name(store, tmp_path)) == []


@pytest.mark.parametrize(
    ("error", "status", "outcome"),
    [
        ("TASK_EXECUTION_EXCEPTION", "ERROR", "failed"),
        ("WORKER_DIED", "", "worker_died"),
        # Ray has written no more of the second one.
        ("", "ERROR", "failed"),
        ("", "UNSET", "finished"),
    ],
)
def test_what_became_of_an_actor_is_what_became_of_its_last_constructor(
    tmp_path: Path, error: str, status: str, outcome: str
) -> None:
    """It was made, as Ray says; what started it again failed, or was lost."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("A.__init__ ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    runs = [
        build.span(
            "A.__init__ ray.remote_worker",
            span=span,
            parent=1,
            start=start,
            duration=5,
            kind="CONSUMER",
            status=code or "UNSET",
            attributes=ids,
        )
        | ({} if code else {"end_time": None})
        for span, start, code in ((2, 20, "UNSET"), (3, 60, status))
    ]
    (tmp_path / "7.txt").write_bytes(file_of([call, *runs]))
    times = {"1": EPOCH_NS + 50_000, "8": EPOCH_NS + 60_000} | ({"12": EPOCH_NS + 65_000} if error else {})
    made = {"1": EPOCH_NS, "8": EPOCH_NS + 20_000, "11": EPOCH_NS + 25_000}
    line = partial(line_of, task, name="A", kind="ACTOR_CREATION_TASK")
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line(made) + line(times, attempt=1, error=error))
    ((became, _),) = _outcomes(load_store(tmp_path)).values()
    assert became == outcome


def test_what_waits_to_be_tried_again_has_run_and_may_run_on(tmp_path: Path) -> None:
    """It is none of those that never ran, nor is anything in doubt: it waits."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    lines = line_of(task, {"1": EPOCH_NS, "5": EPOCH_NS + 1_000, "12": EPOCH_NS + 9_000}, error="WORKER_DIED")
    lines += line_of(task, {"1": EPOCH_NS + 9_000}, attempt=1)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    store = load_store(tmp_path)
    unseen = answer_of(store, 0).unseen_calls
    assert (unseen.never_ran, unseen.waiting) == (0, 1)
    assert unseen.unsent == (("f ray.remote", "waits to be tried again, as Ray said last"),)
    (told,) = told_outcomes(store, [0]).values()
    assert told.was_sent
    assert not calls_of(store).are_retried.any()
    with (tmp_path / "event_EXPORT_TASK_7.log").open("ab") as events:
        events.write(line_of(task, {"5": EPOCH_NS + 12_000}, attempt=1))
    assert calls_of(load_store(tmp_path)).are_retried.all()


def test_what_waits_to_be_tried_again_is_said_beside_a_span_that_was_lost(tmp_path: Path) -> None:
    """It is told with the calls that nothing has run yet; that they wait for the same isn't known."""
    task, other, build = "35" * 8 + "0a" * 16, "36" * 8 + "0a" * 16, Builder()
    ids = {"ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    first, second = ({**ids, "ray.task_id": one} for one in (task, other))
    spans = [
        build.span("main", span=9, duration=900),
        build.span("f ray.remote", span=1, parent=9, duration=5, kind="PRODUCER", attributes=first),
        build.span("f ray.remote_worker", span=2, parent=1, start=20, kind="CONSUMER", attributes=first)
        | {"end_time": None},
        build.span("g ray.remote", span=3, parent=9, start=30, duration=5, kind="PRODUCER", attributes=second),
    ]
    (tmp_path / "7.txt").write_bytes(file_of([*spans[:2], spans[3]]))
    (tmp_path / "8.txt").write_bytes(file_of(spans[2:3]))
    lines = line_of(task, {"1": EPOCH_NS, "5": EPOCH_NS + 1_000, "12": EPOCH_NS + 90_000}, error="WORKER_DIED")
    lines += line_of(task, {"1": EPOCH_NS + 90_000}, attempt=1)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    answer = answer_of(load_store(tmp_path), 0)
    assert answer.unseen_calls.unsent == (("f ray.remote_worker", "waits to be tried again, as Ray said last"),)
    assert "; f waits to be tried again, as Ray said last" in answer_texts(answer)[0]
    with (tmp_path / "event_EXPORT_TASK_7.log").open("ab") as events:
        events.write(line_of(other, {"1": EPOCH_NS + 31_000}))
    answer = answer_of(load_store(tmp_path), 0)
    assert len(answer.unseen_calls.unsent) == 2
    assert "; Ray has 1 more call waiting" in answer_texts(answer)[0]


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        ({"CPU": 1}, {WaitedFor.RESOURCES: 1_000, WaitedFor.WORKER_START: 3_000, WaitedFor.LOADING: 500}),
        ({"CPU": 1, "lock": 1}, {WaitedFor.RESOURCES: 4_000, WaitedFor.LOADING: 500}),
    ],
)
def test_a_worker_may_be_there_long_before_what_else_is_asked_for(
    tmp_path: Path, asked: dict[str, int], parts: dict[WaitedFor, int]
) -> None:
    """Of CPUs alone Ray starts one when they are free; then the function and arguments are loaded."""
    states = {"1": 0, "2": 0, "5": 4_000, "8": 4_000}
    waits, row = _waits_of_one(tmp_path, states, starts_ms=4_500, began_ms=1_000, asked=asked)
    assert {kind: round(ns / 1_000_000) for kind, ns in waits.parts_of(row).items()} == parts


@pytest.mark.parametrize(("began_ms", "waited_for"), [(-4_000, WaitedFor.WORKER_START), (-6_000, WaitedFor.RESOURCES)])
def test_a_worker_is_up_a_while_after_it_began(tmp_path: Path, began_ms: int, waited_for: WaitedFor) -> None:
    """What waits longer for its first task waits for what it asks for, or Ray makes its arguments again."""
    states = {"1": 0, "2": 0, "5": 9_000, "8": 9_000}
    waits, row = _waits_of_one(tmp_path, states, starts_ms=9_000, began_ms=began_ms)
    assert (waits.parts_of(row), waits.is_certain(row)) == ({waited_for: 9_000_000_000}, False)
    reason = waits.get(row)
    assert reason is not None
    assert reason.detail == ("1 CPU or its arguments to get there" if waited_for is WaitedFor.RESOURCES else "")


def _died(seconds: int, asked: Mapping[str, float]) -> bytes:
    """Return the line of an actor that died so long after all began, and had asked for something."""
    gone = {"actor_id": b64encode(b"5a" * 8).decode(), "state": "DEAD", "required_resources": asked}
    event = {"event_data": gone, "source_type": "EXPORT_ACTOR", "timestamp": EPOCH_NS // 10**9 + seconds}
    return json.dumps(event).encode() + b"\n"


def _failed(ms: int, asked: Mapping[str, float]) -> bytes:
    """Return the line of another task's attempt that ran, and failed at a time."""
    states = {"8": EPOCH_NS + 1_000_000, "12": EPOCH_NS + 1_000_000 * ms}
    return line_of("36" * 8 + "0a" * 16, states, asked=asked, error="WORKER_DIED")


@pytest.mark.parametrize(
    ("asked", "others", "waited_for"),
    [
        ({"CPU": 1}, _failed(3_000, {"CPU": 1}), WaitedFor.RESOURCES),
        ({"CPU": 1}, _died(3, {"CPU": 1}), WaitedFor.RESOURCES),
        # It had nothing, was gone before, or afterwards; or what waited asked for nothing.
        ({"CPU": 1}, _failed(3_000, {}) + _died(3, {}), WaitedFor.WORKER_START),
        ({"CPU": 1}, _failed(400, {"CPU": 1}) + _died(9, {"CPU": 1}), WaitedFor.WORKER_START),
        ({}, _failed(3_000, {"CPU": 1}), WaitedFor.WORKER_START),
        ({"CPU": 1}, _died(2**62, {"CPU": 1}), WaitedFor.WORKER_START),
    ],
)
def test_what_leaves_its_place_may_have_been_waited_for(
    tmp_path: Path, asked: dict[str, int], others: bytes, waited_for: WaitedFor
) -> None:
    """Where nobody knows when a worker was started: with what a process asked for that died meanwhile it may begin."""
    states = {"1": 500, "2": 500, "5": 4_000, "8": 4_000}
    waits, row = _waits_of_one(tmp_path, states, starts_ms=4_000, asked=asked, others=others)
    assert waits.parts_of(row)[waited_for] == 3_500_000_000
    assert waits.is_certain(row) is (waited_for is WaitedFor.RESOURCES)


@pytest.mark.parametrize(
    ("asked", "ran_ms", "said", "are_certain"),
    [
        ({"CPU": 1}, 1_900, "likely mostly for a new worker or its code", False),
        ({"CPU": 1}, 110, "likely mostly for a new worker or its code", False),
        # Handing a call over takes a moment on a busy machine.
        ({"CPU": 1}, 55, "cause unknown", False),
        ({"CPU": 1, "lock": 1}, 1_900, "likely mostly for a new worker or its code", False),
    ],
)
def test_a_worker_that_was_started_ahead_may_not_be_there(
    tmp_path: Path, asked: dict[str, int], ran_ms: int, said: str, *, are_certain: bool
) -> None:
    """What a process runs first may have been sent to it while it started: nothing else is known of that time."""
    states = {"1": 0, "2": 0, "5": 10, "8": ran_ms}
    waits, row = _waits_of_one(tmp_path, states, starts_ms=ran_ms + 30, asked=asked)
    reason = waits.get(row)
    assert reason is not None
    assert (reason.label, waits.is_certain(row)) == (said, are_certain)


def _waits_of_one(
    folder: Path,
    at_ms: Mapping[str, int],
    *,
    starts_ms: int,
    began_ms: int | None = None,
    asked: Mapping[str, float] | None = None,
    kind: str = "NORMAL_TASK",
    others: bytes = b"",
) -> tuple[WaitReasons, int]:
    """Return what the only call of a session waited for, and the row of its attempt.

    Args:
        at_ms: When it entered which state.
        starts_ms: When the span of its attempt starts.
        began_ms: When the process that ran it began, if its file tells.
        asked: The resources that it asks for.
        kind: What Ray calls its kind.
        others: Lines of other tasks and actors.
    """
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=0, kind="PRODUCER", attributes=ids)
    about: dict[str, Any] = {"start": 1_000 * starts_ms, "duration": 9, "kind": "CONSUMER", "attributes": ids}
    (folder / "7.txt").write_bytes(file_of([call]))
    name = "9.txt" if began_ms is None else f"node-9-{EPOCH_NS // 1_000_000 + began_ms}.jsonl"
    (folder / name).write_bytes(file_of([build.span("f ray.remote_worker", span=2, parent=1, **about)]))
    states = {state: EPOCH_NS + 1_000_000 * ms for state, ms in at_ms.items()}
    (folder / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, states, asked=asked, kind=kind) + others)
    store = load_store(folder)
    (row,) = calls_of(store).first_attempts.tolist()
    return AllAttempts(store).reasons_of([row]), row


@pytest.mark.parametrize(
    ("busy_ms", "ready_ms", "nodes", "is_certain"),
    [
        ([(0, 2_900)], 0, 1, True),
        ([(0, 800), (1_100, 2_900)], 0, 1, True),
        ([(0, 1_000)], 0, 1, False),
        # What it did before the call doesn't count.
        ([(0, 1_540)], 0, 1, False),
        ([(900, 1_400)], 0, 1, False),
        # It had something to do only while the arguments were made.
        ([(0, 2_000)], 2_000, 1, False),
        ([(0, 2_950)], 2_000, 1, True),
        # What was made late may have been made on another node.
        ([(0, 2_950)], 2_000, 2, False),
        ([(0, 2_950)], 2_950, 2, True),
        ([(0, 2_950)], 150, 2, True),
    ],
)
def test_an_idle_worker_shows_that_it_may_have_been_something_else(
    tmp_path: Path, busy_ms: Sequence[tuple[int, int]], ready_ms: int, nodes: int, *, is_certain: bool
) -> None:
    """Ray brings large arguments to the node before it sends a task, and has no state for that."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, start=100_000, duration=0, kind="PRODUCER", attributes=ids)
    about: dict[str, Any] = {"start": 3_000_000, "duration": 9, "kind": "CONSUMER", "attributes": ids}
    ran = [build.span("f ray.remote_worker", span=2, parent=1, **about)]
    for number, (first, last) in enumerate(busy_ms, 3):
        about = {"start": 1_000 * first, "duration": 1_000 * (last - first), "kind": "CONSUMER"}
        ran.append(build.span("g ray.remote_worker", span=number, parent=90 + number, **about))
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    (tmp_path / "9.txt").write_bytes(file_of(ran))
    states = {state: EPOCH_NS + 1_000_000 * ms for state, ms in {"1": 0, "2": ready_ms, "5": 3_000, "8": 3_000}.items()}
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, states))
    for number in range(nodes):
        node = b64encode(bytes.fromhex(NODE if number == 0 else "1b" * 28)).decode()
        data = {"node_id": node, "resources_total": {"CPU": 4}, "state": "ALIVE"}
        line = json.dumps({"source_type": "EXPORT_NODE", "event_data": data}) + "\n"
        (tmp_path / f"event_EXPORT_NODE_{number}.log").write_text(line)
    store = load_store(tmp_path)
    row = next(call.attempts[0] for call in calls_of(store) if call.function == "f" and call.attempts)
    waits = AllAttempts(store).reasons_of([row])
    assert waits.parts_of(row)[WaitedFor.RESOURCES] == 1_000_000 * (3_000 - max(100, ready_ms))
    assert waits.is_certain(row) is is_certain
    reason = waits.get(row)
    assert reason is not None
    detail = reason.detail or waits._asked[row]
    assert detail == ("1 CPU" if is_certain else "1 CPU or its arguments to get there")
    for asked, said in (("1 CPU", " (it asked for 1 CPU)"), ("", "")):
        told = replace(reason, waited_for=WaitedFor.RESOURCES, row=NO_ROW, detail=detail.replace("1 CPU", asked))
        text = "for a worker or resources" + (said if is_certain else f" or its arguments to get there{said}")
        assert reason_text(store, told).endswith(text)


@pytest.mark.parametrize(("is_sent", "retry_ms"), [(True, 700), (False, 2_600)])
def test_what_a_first_attempt_without_a_span_waited_for(tmp_path: Path, *, is_sent: bool, retry_ms: int) -> None:
    """Its arguments and its worker, as Ray has it; what is for an earlier attempt begins when that was sent."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=0, kind="PRODUCER", attributes=ids)
    about: dict[str, Any] = {"start": 3_000_000, "duration": 9, "kind": "CONSUMER", "attributes": ids}
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    (tmp_path / "9.txt").write_bytes(file_of([build.span("f ray.remote_worker", span=2, parent=1, **about)]))
    first = {"1": 0, "2": 1_800, **({"5": 1_900} if is_sent else {}), "12": 2_200}
    both = first, {"1": 2_200, "2": 2_600, "5": 2_600, "8": 3_000}
    states = [{state: EPOCH_NS + 1_000_000 * ms for state, ms in each.items()} for each in both]
    lines = line_of(task, states[0], error="WORKER_DIED") + line_of(task, states[1], attempt=1)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    store = load_store(tmp_path)
    (row,) = calls_of(store).first_attempts.tolist()
    parts = AllAttempts(store).reasons_of([row]).parts_of(row)
    assert parts[WaitedFor.RETRY] == retry_ms * 1_000_000
    assert parts.get(WaitedFor.ARGUMENTS, 0) == (1_800_000_000 if is_sent else 0)


def test_a_first_attempt_of_another_session_says_nothing(tmp_path: Path) -> None:
    """Its task has the same id; of this session's own first attempt no line is here."""
    task, build, other = "35" * 8 + "0a" * 16, Builder(), "ab" * 28
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=0, kind="PRODUCER", attributes=ids)
    about: dict[str, Any] = {"start": 3_000_000, "duration": 9, "kind": "CONSUMER", "attributes": ids}
    (tmp_path / "7.txt").write_bytes(file_of([call, build.span("f ray.remote_worker", span=2, parent=1, **about)]))
    first = {
        "1": EPOCH_NS,
        "2": EPOCH_NS + 1_800_000_000,
        "5": EPOCH_NS + 1_900_000_000,
        "12": EPOCH_NS + 2_200_000_000,
    }
    again = {"1": EPOCH_NS + 2_200_000_000, "2": EPOCH_NS + 2_600_000_000, "8": EPOCH_NS + 3_000_000_000}
    of_other = json.loads(line_of(task, first, error="WORKER_DIED"))
    of_other["event_data"]["state_updates"]["node_id"] = b64encode(bytes.fromhex(other)).decode()
    for folder, line in (("a", json.dumps(of_other).encode() + b"\n"), ("b", line_of(task, again, attempt=1))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "event_EXPORT_TASK_7.log").write_bytes(line)
    store = load_store(tmp_path)
    (row,) = calls_of(store).first_attempts.tolist()
    assert first_outcome(store, 0) is None
    assert AllAttempts(store).reasons_of([row]).parts_of(row).get(WaitedFor.ARGUMENTS, 0) == 0


@pytest.mark.parametrize(
    ("began_ms", "kind", "is_certain"),
    [(3, "ACTOR_CREATION_TASK", False), (2_000, "ACTOR_CREATION_TASK", True), (3, "NORMAL_TASK", True)],
)
def test_a_worker_that_an_actor_may_not_have_waited_for(
    tmp_path: Path, began_ms: int, kind: str, *, is_certain: bool
) -> None:
    """Of a creation Ray doesn't say when it was sent: its worker may have been there, while all CPUs were taken."""
    at = {"1": 0, "2": 0, "8": 3_000} | ({"5": 3_000} if kind == "NORMAL_TASK" else {})
    waits, row = _waits_of_one(tmp_path, at, starts_ms=3_000, began_ms=began_ms, kind=kind)
    worker_ms = waits.parts_of(row)[WaitedFor.WORKER_START] // 1_000_000
    assert (worker_ms, waits.is_certain(row)) == (3_000 - began_ms, is_certain)


@pytest.mark.parametrize(
    ("at", "parts"),
    [
        # Its creation is heard of some time after its constructor's span; what was called before is sent first.
        ({"1": 36, "2": 36, "5": 113, "8": 133}, {WaitedFor.CREATION: 77, WaitedFor.UNKNOWN: 21}),
        ({"1": 36, "2": 36, "5": 413, "8": 433}, {WaitedFor.CREATION: 17, WaitedFor.ACTOR: 380, WaitedFor.UNKNOWN: 1}),
    ],
)
def test_until_when_a_call_waits_for_its_actor_to_be_made(
    tmp_path: Path, at: dict[str, int], parts: dict[WaitedFor, int]
) -> None:
    """As spans show, or a moment later, as Ray does."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("A.f ray.remote", span=1, start=36_000, duration=0, kind="PRODUCER", attributes=ids)
    made = build.span("A.__init__ ray.remote_worker", span=3, parent=4, start=0, duration=53_000, kind="CONSUMER")
    about: dict[str, Any] = {"start": 1_000 * (at["8"] + 1), "duration": 9, "kind": "CONSUMER", "attributes": ids}
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    (tmp_path / "9.txt").write_bytes(file_of([made, build.span("A.f ray.remote_worker", span=2, parent=1, **about)]))
    states = {state: EPOCH_NS + 1_000_000 * ms for state, ms in at.items()}
    line = line_of(task, states, name="A.f", kind="ACTOR_TASK")
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    store = load_store(tmp_path)
    (row,) = (call.attempts[0] for call in calls_of(store) if call.attempts and call.function == "A.f")
    found = AllAttempts(store).reasons_of([row]).parts_of(row)
    assert {kind: round(ns / 1_000_000) for kind, ns in found.items()} == parts


@pytest.mark.parametrize(("ms", "said"), [(100, WaitedFor.UNKNOWN), (900, WaitedFor.LOADING)])
def test_a_part_that_is_the_least_is_no_cause(tmp_path: Path, ms: int, said: WaitedFor) -> None:
    """Where Ray tells it, and the rest isn't known, as of a worker that nobody knows when it began."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, start=500_000, duration=0, kind="PRODUCER", attributes=ids)
    about: dict[str, Any] = {"start": 1_500_000, "duration": 9, "kind": "CONSUMER", "attributes": ids}
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    worker = file_of([build.span("f ray.remote_worker", span=2, parent=1, **about)])
    (tmp_path / f"node-9-{EPOCH_NS // 1_000_000}.jsonl").write_bytes(worker)
    states = dict.fromkeys("1258", EPOCH_NS + 1_000_000 * (1_500 - ms))
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, states))
    store = load_store(tmp_path)
    (row,) = calls_of(store).first_attempts.tolist()
    reason = AllAttempts(store).reasons_of([row]).get(row)
    assert reason is not None
    assert reason.waited_for is said


def test_when_an_actor_began_says_nothing_of_its_first_method(tmp_path: Path) -> None:
    """What Ray says of its wait is certain, as of the others; what its process loads is the constructor's."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("A.f ray.remote", span=1, start=500_000, duration=0, kind="PRODUCER", attributes=ids)
    about: dict[str, Any] = {"start": 2_030_000, "duration": 9, "kind": "CONSUMER", "attributes": ids}
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    worker = file_of([build.span("A.f ray.remote_worker", span=2, parent=1, **about)])
    (tmp_path / f"node-9-{EPOCH_NS // 1_000_000}.jsonl").write_bytes(worker)
    at = {"1": 500, "2": 500, "5": 2_000, "8": 2_001}
    states = {state: EPOCH_NS + 1_000_000 * ms for state, ms in at.items()}
    line = line_of(task, states, name="A.f", kind="ACTOR_TASK")
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    store = load_store(tmp_path)
    (row,) = calls_of(store).first_attempts.tolist()
    waits = AllAttempts(store).reasons_of([row])
    assert waits.is_certain(row)
    assert [*waits.parts_of(row)] == [WaitedFor.CREATION, WaitedFor.UNKNOWN]


_OF_GROUP: Final = {f"CPU_group_{'1b' * 18}": 1}


@pytest.mark.parametrize(
    ("asked", "asked_later", "since_ms", "is_named"),
    [
        ({"CPU": 1}, {"CPU": 1}, 2, True),
        ({"CPU": 1, "lock": 1}, {"CPU": 1}, 2, True),
        ({"lock": 1}, {"CPU": 1}, 2, False),
        (_OF_GROUP, {"CPU": 1}, 2, False),
        # Its group may be made of what was held.
        ({"CPU": 1}, _OF_GROUP, 2, True),
        # It had waited for its code before the other did.
        ({"lock": 1}, {"CPU": 1}, 200, False),
    ],
)
def test_what_held_nothing_of_what_a_call_asked_for_is_not_named(
    tmp_path: Path, asked: dict[str, int], asked_later: dict[str, int], since_ms: int, *, is_named: bool
) -> None:
    """As the tasks of a placement group, whose CPUs are its own, for what waits for one of the others."""
    build, ids = Builder(), [f"{number:02x}" * 8 + "0a" * 16 for number in (53, 54)]
    spans, lines = list[Any](), b""
    times_ms = [("g", ids[0], 20 if since_ms < 20 else 120, 1_900), ("f", ids[1], 2_000, 2_010)]
    for number, (name, task, starts_ms, ends_ms) in enumerate(times_ms):
        about: dict[str, Any] = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
        call = build.span(f"{name} ray.remote", span=2 * number + 1, start=number, kind="PRODUCER", attributes=about)
        ran: dict[str, Any] = {"start": 1_000 * starts_ms, "duration": 1_000 * (ends_ms - starts_ms)}
        ran |= {"span": 2 * number + 2, "parent": 2 * number + 1, "kind": "CONSUMER", "attributes": about}
        spans += [call, build.span(f"{name} ray.remote_worker", **ran)]
        sent_ms = starts_ms if name == "f" else 2
        times = {"1": 0, "2": 0, "5": sent_ms, "8": starts_ms}.items()
        at = {state: EPOCH_NS + 1_000_000 * ms for state, ms in times}
        lines += line_of(task, at, name=name, asked=asked if name == "g" else asked_later)
    before = build.span("h ray.remote_worker", trace=2, span=9, parent=8, duration=9, kind="CONSUMER")
    (tmp_path / "7.txt").write_bytes(file_of(spans[::2]))
    (tmp_path / "8.txt").write_bytes(file_of(spans[1:2]))
    (tmp_path / "9.txt").write_bytes(file_of([before, spans[3]]))
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    store = load_store(tmp_path)
    (row,) = (call.attempts[0] for call in calls_of(store) if call.function == "f")
    attempts = AllAttempts(store)
    reason = attempts.reason_of(row)
    assert reason is not None
    assert reason.waited_for is WaitedFor.RESOURCES
    shown = meanwhile_of(store, attempts, row, reason, EPOCH_NS + 1_000_000 * since_ms)
    assert (shown is not None) is is_named


def test_what_ran_meanwhile_ran_until_the_wait_ended(tmp_path: Path) -> None:
    """Also where it is found by what was waited for: one `g` ran behind another, which ran after `f` was loaded."""
    build, lines = Builder(), b""
    calls, ran = list[Any](), list[Any]()
    for number, (name, sent_ms, starts_ms, ends_ms) in enumerate(
        [("f", 90, 1_500, 5_200), ("g", 4_600, 4_600, 4_900), ("g", 4_902, 4_902, 4_920)]
    ):
        ids: dict[str, Any] = {"ray.task_id": f"{number + 53:02x}" * 8 + "0a" * 16, "ray.node_id": NODE}
        ids |= {"ray.submitter_task_id": "ff" * 24, "ray.remote": "function"}
        about: dict[str, Any] = {
            "start": 1_000 * starts_ms,
            "duration": 1_000 * (ends_ms - starts_ms),
            "kind": "CONSUMER",
        }
        call = 2 * number + 1
        calls.append(build.span(f"{name} ray.remote", span=call, start=number, kind="PRODUCER", attributes=ids))
        ran.append(build.span(f"{name} ray.remote_worker", span=call + 1, parent=call, attributes=ids, **about))
        states = {"1": 0, "2": 0, "5": sent_ms, "8": sent_ms}.items()
        lines += line_of(ids["ray.task_id"], {state: EPOCH_NS + 1_000_000 * ms for state, ms in states}, name=name)
    before = build.span("e ray.remote_worker", trace=2, span=9, parent=8, duration=5, kind="CONSUMER")
    (tmp_path / "7.txt").write_bytes(file_of(calls))
    (tmp_path / "8.txt").write_bytes(file_of([before, ran[0]]))
    (tmp_path / f"node-9-{EPOCH_NS // 1_000_000 + 4_500}.jsonl").write_bytes(file_of(ran[1:]))
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    store = load_store(tmp_path)
    row = max((call.attempts[0] for call in calls_of(store)), key=store.spans.start_ns.__getitem__)
    attempts = AllAttempts(store)
    reason = attempts.reason_of(row)
    assert reason is not None
    assert reason.row != NO_ROW
    shown = meanwhile_of(store, attempts, row, reason, EPOCH_NS + 2_000)
    assert shown is not None
    assert (shown.name, shown.ran_ns) == ("f ray.remote_worker", 3_402_000_000)


def test_what_a_method_takes_before_its_span_starts_is_unknown(tmp_path: Path) -> None:
    """Its actor loads its arguments in an event loop that may be blocked: Ray says of both that it runs."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("A.f ray.remote", span=1, start=50_000, duration=0, kind="PRODUCER", attributes=ids)
    about: dict[str, Any] = {"start": 700_000, "duration": 9, "kind": "CONSUMER", "attributes": ids}
    ran = build.span("A.f ray.remote_worker", span=2, parent=1, **about)
    (tmp_path / "7.txt").write_bytes(file_of([call, ran]))
    states = dict.fromkeys("125", EPOCH_NS + 50_000_000) | {"8": EPOCH_NS + 51_000_000}
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, states, name="A.f", kind="ACTOR_TASK"))
    store = load_store(tmp_path)
    (row,) = (call.attempts[0] for call in calls_of(store) if call.attempts)
    assert AllAttempts(store).reasons_of([row]).parts_of(row) == {WaitedFor.UNKNOWN: 650_000_000}


@pytest.mark.parametrize(("ms", "said"), [(90, WaitedFor.UNKNOWN), (400, WaitedFor.ACTOR)])
def test_a_moment_before_an_idle_actor_runs_a_call_is_no_turn(tmp_path: Path, ms: int, said: WaitedFor) -> None:
    """On a busy machine it is on its way for as long."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("A.f ray.remote", span=1, start=10, duration=0, kind="PRODUCER", attributes=ids)
    made = build.span("A.__init__ ray.remote_worker", span=3, parent=4, start=0, duration=5, kind="CONSUMER")
    about: dict[str, Any] = {"start": 1_000 * ms, "duration": 9, "kind": "CONSUMER", "attributes": ids}
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    (tmp_path / "9.txt").write_bytes(file_of([made, build.span("A.f ray.remote_worker", span=2, parent=1, **about)]))
    states = dict.fromkeys("125", EPOCH_NS + 10_000) | {"8": EPOCH_NS + 1_000_000 * ms}
    line = line_of(task, states, name="A.f", kind="ACTOR_TASK")
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    store = load_store(tmp_path)
    (row,) = (call.attempts[0] for call in calls_of(store) if call.attempts and call.function == "A.f")
    assert [*AllAttempts(store).reasons_of([row]).parts_of(row)] == [said]


@pytest.mark.parametrize(
    ("attempt", "kind", "at_ms", "text"),
    [
        (0, "NORMAL_TASK", {"2": 0, "5": 600}, "to be run by its worker"),
        (0, "NORMAL_TASK", {"2": 0, "5": 7_000}, "for a worker or 1 CPU and then to be run by its worker"),
        (0, "NORMAL_TASK", {"2": 7_000}, "for its arguments and then for a worker or 1 CPU"),
        (0, "ACTOR_TASK", {"2": 7_000}, "for its arguments and then for its actor to be ready or to get it"),
        (0, "ACTOR_TASK", {"2": 7}, "for its actor to be ready"),
        (1, "NORMAL_TASK", {"2": 0}, "for a worker or 1 CPU, to be tried again"),
        (1, "NORMAL_TASK", {}, "to be tried again"),
    ],
)
def test_what_was_not_run_at_last_may_have_waited_longer_for_something_else(
    tmp_path: Path, attempt: int, kind: str, at_ms: dict[str, int], text: str
) -> None:
    """Of what its driver left behind, not only what it waited for at last is said."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=0, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    states = {state: EPOCH_NS + 1_000_000 * ms for state, ms in {"1": 0, **at_ms}.items()}
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, states, kind=kind, attempt=attempt))
    over = {"event_data": {"job_id": "AQAAAA==", "is_dead": True}, "source_type": "EXPORT_DRIVER_JOB"}
    (tmp_path / "event_EXPORT_DRIVER_JOB.log").write_text(f"{json.dumps(over)}\n")
    (told,) = told_outcomes(load_store(tmp_path), [0]).values()
    assert told.text == f"waited {text}, at most until its driver ended"


@pytest.mark.parametrize(
    ("kind", "entered", "attempt", "text"),
    [
        ("NORMAL_TASK", "1", 0, "waits for its arguments"),
        ("NORMAL_TASK", "1", 1, "waits to be tried again"),
        ("NORMAL_TASK", "12", 0, "waits for a worker or 1 CPU"),
        ("NORMAL_TASK", "125", 0, "waits to be run by its worker"),
        # To be created, or to be restarted.
        ("ACTOR_TASK", "12", 0, "waits for its actor to be ready"),
        ("ACTOR_TASK", "125", 0, "waits for its turn in its actor"),
        ("ACTOR_TASK", "1258", 0, "runs, or is loaded"),
    ],
)
def test_what_has_not_run_waits_for_what_comes_next(
    tmp_path: Path, kind: str, entered: str, attempt: int, text: str
) -> None:
    """As the states that Ray has written of it so far say, of which each is the last one before another."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    states = {state: EPOCH_NS + 1_000 * int(state) for state in entered}
    line = line_of(task, states, attempt=attempt, kind=kind)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    (told,) = told_outcomes(load_store(tmp_path), [0]).values()
    assert told.text == text


def test_what_a_placement_group_holds_is_no_resource_of_a_node(tmp_path: Path) -> None:
    """Ray asks for it twice, of one bundle and of any, and for the bundle; nodes begin without it."""
    task, group = "35" * 8 + "0a" * 16, "0a" * 18
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = Builder().span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    asked = {
        f"{name}_group_{of}{group}": amount for name, amount in (("CPU", 2), ("bundle", 0.001)) for of in ("", "1_")
    }
    line = line_of(task, {"1": EPOCH_NS, "2": EPOCH_NS}, asked=asked)
    node = {"node_id": b64encode(bytes.fromhex(NODE)).decode(), "resources_total": {"CPU": 4}, "state": "ALIVE"}
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    (tmp_path / "event_EXPORT_NODE.log").write_text(
        json.dumps({"source_type": "EXPORT_NODE", "event_data": node}) + "\n"
    )
    store = load_store(tmp_path)
    assert store.ray is not None
    assert store.ray.nodes
    (told,) = told_outcomes(store, [0]).values()
    assert told.text == "waits for a worker or 2 CPUs of its placement group, which may have to be made first"


@pytest.mark.parametrize(
    ("states", "restarts"),
    [
        (["ALIVE", "RESTARTING", "ALIVE", "DEAD"], 1),
        (["ALIVE", "RESTARTING", "DEAD"], 0),
        (["ALIVE", "RESTARTING", "RESTARTING", "ALIVE", "RESTARTING"], 1),
    ],
)
def test_an_actor_was_restarted_once_it_lives_again(tmp_path: Path, states: list[str], restarts: int) -> None:
    """What Ray is about to restart may never live again, as where no node has room."""
    actor = "5a" * 16
    event = {"actor_id": b64encode(bytes.fromhex(actor)).decode(), "node_id": b64encode(bytes.fromhex(NODE)).decode()}
    lines = [{"event_data": {**event, "state": state}, "source_type": "EXPORT_ACTOR"} for state in states]
    (tmp_path / "event_EXPORT_ACTOR.log").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (tmp_path / "7.txt").write_bytes(file_of([Builder().span("main")]))
    store = load_store(tmp_path)
    assert store.ray is not None
    assert store.ray.actors[actor].restarts == restarts


@pytest.mark.parametrize("of_caller", [(), ("1", "2")])
def test_what_waits_of_which_its_worker_has_written(tmp_path: Path, of_caller: Sequence[str]) -> None:
    """Its worker has got it, whatever the lines of its caller say that are there."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("A.f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    (tmp_path / "event_EXPORT_TASK_9.log").write_bytes(line_of(task, {"7": EPOCH_NS + 9}, kind="ACTOR_TASK"))
    if of_caller:
        lines = line_of(task, dict.fromkeys(of_caller, EPOCH_NS), kind="ACTOR_TASK")
        (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    (told,) = told_outcomes(load_store(tmp_path), [0]).values()
    assert told.text == "waits for its turn in its actor"


@pytest.mark.parametrize(("failed_us", "outcome"), [(100, "finished"), (250, "worker_died")])
def test_what_ray_says_of_an_attempt_is_not_said_of_a_later_one(tmp_path: Path, failed_us: int, outcome: str) -> None:
    """Where lines of Ray's are missing, it speaks last of the attempt before."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    about: dict[str, Any] = {"parent": 1, "kind": "CONSUMER", "attributes": ids}
    first = build.span("f ray.remote_worker", span=2, start=20, duration=None, **about)
    last = build.span("f ray.remote_worker", span=3, start=200, duration=30, **about)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    (tmp_path / "8.txt").write_bytes(file_of([first]))
    (tmp_path / "9.txt").write_bytes(file_of([last]))
    states = {"1": EPOCH_NS, "2": EPOCH_NS, "5": EPOCH_NS + 9_000, "8": EPOCH_NS + 9_000}
    states["12"] = EPOCH_NS + 1_000 * failed_us
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, states, error="WORKER_DIED"))
    store = load_store(tmp_path)
    (became,) = outcomes_of(store, [*calls_of(store)], {}).values()
    assert became.outcome.key == outcome
    assert bool(calls_of(store).told_failures) is (outcome == "worker_died")


def test_what_waits_may_wait_for_its_runtime_environment(tmp_path: Path) -> None:
    """Ray has no state for setting it up, but says that one was asked for."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    event = json.loads(line_of(task, {"1": EPOCH_NS, "2": EPOCH_NS}))
    event["event_data"]["task_info"]["runtime_env_info"] = {"serialized_runtime_env": '{"pip": ["no"]}'}
    (tmp_path / "event_EXPORT_TASK_7.log").write_text(f"{json.dumps(event)}\n")
    (told,) = told_outcomes(load_store(tmp_path), [0]).values()
    assert told.text == "waits for a worker or 1 CPU or its runtime environment"


def test_why_a_runtime_environment_could_not_be_set_up(tmp_path: Path) -> None:
    """The last exception of the tracebacks that Ray has; what it asked for stands behind that."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    traces = "Traceback:\n  File p\nKeyError: 'b'\n\nTraceback:\n  File q\nValueError: no conda\n lease_id=7, name=f"
    line = line_of(task, {"1": EPOCH_NS, "12": EPOCH_NS + 9}, error="RUNTIME_ENV_SETUP_FAILED", message=traces)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    (told,) = told_outcomes(load_store(tmp_path), [0]).values()
    assert told.text == "its runtime environment could not be set up (ValueError: no conda)"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("ray.exceptions.TaskCancelledError: Task: 7 was cancelled.", "cancelled"),
        ("concurrent.futures._base.CancelledError", "cancelled"),
        ("mine.NotCancelledErrors", "failed"),
    ],
)
def test_what_an_actor_awaited_was_cancelled(tmp_path: Path, error: str, outcome: str) -> None:
    """By the exception that ends it; another one's name that only looks like it is a failure."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    states = dict.fromkeys("1258", EPOCH_NS) | {"12": EPOCH_NS + 9_000}
    message = f"User exception:\nray::f() (pid=7)\n  File p\n{error}\n"
    line = line_of(task, states, error="TASK_EXECUTION_EXCEPTION", message=message)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    (told,) = told_outcomes(load_store(tmp_path), [0]).values()
    assert told.outcome.key == outcome


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            'User exception:\nray::f() (pid=7)\n  File "p.py", line 1, in f\n    x\nValueError: no\nway',
            "ValueError: no",
        ),
        (
            "CreationTaskError: User exception:\n  File p\nOSError: a\n\n  File q\nKeyError: 'b'\n\nSystem error:",
            "KeyError: 'b'",
        ),
        # Of a long one Ray keeps the end.
        (
            "User exception:\nin 'lib']:\n\n\x1b[36mray::f()\x1b[39m (pid=7)\n    ^^^\nImportError: no",
            "ImportError: no",
        ),
        ("User exception:\n", ""),
        ("", ""),
    ],
)
def test_the_exception_of_a_call_is_named(tmp_path: Path, message: str, said: str) -> None:
    """Where Ray has it; the last one of those that followed each other, in its first line."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    states = {"1": EPOCH_NS, "5": EPOCH_NS + 1_000, "12": EPOCH_NS + 9_000}
    line = line_of(task, states, error="TASK_EXECUTION_EXCEPTION", message=message)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    (told,) = told_outcomes(load_store(tmp_path), [0]).values()
    # What never ran, as far as Ray has written, may have got it as an argument.
    what = f"it, or an argument of it, failed with {said}" if said else "it failed"
    assert told.as_ray_says == f"{what}, as Ray says"
    (tmp_path / "event_EXPORT_TASK_8.log").write_bytes(line_of(task, {"8": EPOCH_NS + 2_000}))
    (told,) = told_outcomes(load_store(tmp_path), [0]).values()
    assert told.as_ray_says == (f"it failed with {said}, as Ray says" if said else "it failed, as Ray says")


def test_an_exception_of_an_argument_is_that_of_another_task(tmp_path: Path) -> None:
    """Ray puts what made it in the message of the task that lacks it."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    message = "User exception:\nray::f()\n  At least one of the input arguments for this task could not be computed:\n"
    message += "ray.exceptions.RayTaskError: ray::g() (pid=7)\n  File p.py\nValueError: no"
    states = {"1": EPOCH_NS, "5": EPOCH_NS + 1_000, "8": EPOCH_NS + 2_000, "12": EPOCH_NS + 9_000}
    line = line_of(task, states, error="TASK_EXECUTION_EXCEPTION", message=message)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    (told,) = told_outcomes(load_store(tmp_path), [0]).values()
    assert told.outcome.key == "dependency_failed"


@pytest.mark.parametrize("is_first", [True, False])
def test_an_argument_that_is_an_error_is_told_by_who_took_it(tmp_path: Path, *, is_first: bool) -> None:
    """The message of its caller may be cut before it says so; the worker has what it was given."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", attributes=ids)
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    states = {"1": EPOCH_NS, "5": EPOCH_NS + 1_000, "12": EPOCH_NS + 9_000}
    message = "User exception:\n  File p.py\nValueError: no"
    of_caller = line_of(task, states, error="TASK_EXECUTION_EXCEPTION", message=message)
    of_worker = json.loads(line_of(task, {"8": EPOCH_NS + 2_000}))
    took = {"event_name": "task:deserialize_arguments"}
    took["extra_data"] = json.dumps({"type": "<class 'ray.exceptions.RayTaskError'>", "value": "ray::g()"})
    of_worker["event_data"]["profile_events"] = {"events": [took]}
    lines = [of_caller, json.dumps(of_worker).encode() + b"\n"]
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines if is_first else lines[::-1]))
    (told,) = told_outcomes(load_store(tmp_path), [0]).values()
    assert told.outcome.key == "dependency_failed"
    took["extra_data"] = "{}"
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(of_caller + json.dumps(of_worker).encode() + b"\n")
    (told,) = told_outcomes(load_store(tmp_path), [0]).values()
    assert told.as_ray_says == "it failed with ValueError: no, as Ray says"


@pytest.mark.parametrize(("ms", "is_said"), [(33, False), (2_000, True)])
def test_a_moment_before_arguments_exist_is_no_wait_for_them(tmp_path: Path, ms: int, *, is_said: bool) -> None:
    """Ray registers an actor before it looks for them; a constructor without any takes as long."""
    task, build, ns = "35" * 8 + "0a" * 16, Builder(), ms * 1_000_000
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("A.__init__ ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)
    ran: dict[str, Any] = {"start": 5_000_000, "duration": 9, "kind": "CONSUMER", "attributes": ids}
    (tmp_path / "7.txt").write_bytes(file_of([call, build.span("A.__init__ ray.remote_worker", parent=1, **ran)]))
    states = {"1": EPOCH_NS, "2": EPOCH_NS + ns, "5": EPOCH_NS + 4_000_000_000, "8": EPOCH_NS + 5_000_000_000}
    line = line_of(task, states, name="A", kind="ACTOR_CREATION_TASK")
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    store = load_store(tmp_path)
    (row,) = calls_of(store).first_attempts.tolist()
    assert (WaitedFor.ARGUMENTS in AllAttempts(store).reasons_of([row]).parts_of(row)) is is_said


@pytest.mark.parametrize(
    ("ends_ms", "said"),
    [
        ({"load": 990, "other": 900}, ": likely the result of load"),
        # Its own result is there later; several came; another one's; none came then.
        ({"load": 990, "other": 960}, ""),
        ({"load": 960, "other": 990}, ""),
        ({"load": 900, "other": 990}, ": likely the result of other"),
        ({"load": 970, "other": 900}, ""),
        ({"load": 1_001, "other": 900}, ""),
    ],
)
def test_whose_result_a_call_waited_for(tmp_path: Path, ends_ms: dict[str, int], said: str) -> None:
    """Ray says when it was there; it is the last one that had come, if no other one came at about that time."""
    task, build, caller, workers = "35" * 8 + "0a" * 16, Builder(), list[Any](), list[Any]()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    for number, name in enumerate((*ends_ms, "after")):
        start, end = (1_010, 1_020) if name == "after" else (1, ends_ms[name])
        about: dict[str, Any] = {"attributes": ids if name == "after" else {}}
        us = {"start": 1_000 * start, "duration": 1_000 * (end - start)}
        call: dict[str, Any] = {"start": number, "duration": 1, "kind": "PRODUCER"}
        caller.append(build.span(f"{name} ray.remote", span=2 * number + 1, **call, **about))
        fields: dict[str, Any] = {"parent": 2 * number + 1, "kind": "CONSUMER", **us, **about}
        workers.append(build.span(f"{name} ray.remote_worker", span=2 * number + 2, **fields))
    for pid, documents in ((7, caller), *enumerate(([worker] for worker in workers), 8)):
        (tmp_path / f"{pid}.txt").write_bytes(file_of(documents))
    at = {"1": 0, "2": 1_000, "5": 1_001, "8": 1_010}
    line = line_of(task, {state: EPOCH_NS + 1_000_000 * ms for state, ms in at.items()}, name="after")
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    store = load_store(tmp_path)
    attempts = calls_of(store).first_attempts
    (row,) = (row for row in attempts.tolist() if store.names.texts[store.spans.name[row]].startswith("after"))
    waits = AllAttempts(store)
    reason = waits.reasons_of([row]).get(row)
    assert reason is not None
    assert reason_text(store, reason) == f"likely for its arguments{said}"
    meanwhile = meanwhile_of(store, waits, row, reason, EPOCH_NS)
    # What was waited for is followed; where that isn't known, what ran longest counts.
    followed = said.removeprefix(": likely the result of ")
    assert meanwhile is not None
    assert meanwhile.name == f"{followed or max(ends_ms, key=ends_ms.__getitem__)} ray.remote_worker"


def test_the_task_of_a_call_is_known_when_it_has_been_submitted() -> None:
    """Its first record doesn't name it; which task it is was asked then, too."""
    task, data, build = "35" * 8 + "0a" * 16, Growing(), Builder()
    line = line_of(task, {"1": EPOCH_NS, "11": EPOCH_NS + 9_000})
    data.add(json.loads(line), path="event_EXPORT_TASK_7.log")
    fields: dict[str, Any] = {"span": 1, "start": 20, "kind": "PRODUCER"}
    data.add(build.span("f ray.remote", duration=None, **fields), path="7.started.jsonl")
    assert not told_outcomes(data.store, [0])
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    data.add(build.span("f ray.remote", duration=9, attributes=ids, **fields), path="7.jsonl")
    assert [told.outcome.key for told in told_outcomes(data.store, [0]).values()] == ["finished"]
