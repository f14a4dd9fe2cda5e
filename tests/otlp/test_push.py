"""`spanview push` as a program, with endpoints on this machine."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from builders import Builder, file_of
from endpoints import (
    JSON,
    PROTOBUF,
    Endpoint,
    Failed,
    Received,
    Reset,
    Said,
    counts_of,
    grpc_endpoint,
    http_endpoint,
)
from otlp_messages import message_of, parts_of
from programs import Following, spanview
from spanview.otlp.sender import IN_FLIGHT
from terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    Words: TypeAlias = list[str | Path]

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
RECORDINGS: Final = sorted(path for path in FIXTURES.glob("*/spans") if path.parent.name != "made")
"""All but one in which nothing is as it should be."""
TASKS: Final = FIXTURES / "ray-tasks-bundled-hook" / "spans"
PROTOCOLS: Final = ("http/json", "http/protobuf", "grpc")


def endpoint_for(protocol: str, **given: Any) -> AbstractContextManager[Endpoint]:
    """Return an endpoint that speaks a protocol."""
    return grpc_endpoint(**given) if protocol == "grpc" else http_endpoint(**given)


def exported(*words: str | Path) -> list[str]:
    """Return the spans of an OTLP export that have ended and have ids, with resource and scope, in one order."""
    lines = spanview("export", "--format", "otlp", *words).output.splitlines()
    spans = parts_of(*(message_of(json.loads(line)) for line in lines))
    return [part for part in spans if {"endTimeUnixNano", "traceId", "spanId"} <= json.loads(part)[2].keys()]


def spans_of(count: int, **fields: Any) -> bytes:
    """Return a file of spans, each of a trace of its own."""
    build = Builder()
    return file_of([build.span(trace=number + 1, **fields) for number in range(count)])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_recordings(protocol: str) -> None:
    """Every span of all recordings arrives as `export --format otlp` has it, over each protocol."""
    with endpoint_for(protocol) as endpoint:
        done = spanview("push", *RECORDINGS, "--endpoint", endpoint.url, "--protocol", protocol)
    assert done.status == 0, done.notices
    assert endpoint.spans == exported(*RECORDINGS)
    assert f"sent {len(endpoint.spans):,} spans" in done.notices
    assert len(endpoint.spans) > 2500


@pytest.mark.parametrize(("protocol", "kind"), [("http/json", JSON), ("http/protobuf", PROTOBUF)])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_requests(protocol: str, kind: str, compression: str) -> None:
    """What is asked for by options or by variables of the environment is in the requests."""
    variables = {
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b",
        "OTEL_EXPORTER_OTLP_COMPRESSION": compression,
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": protocol,
    }
    with http_endpoint() as endpoint:
        by_variables = spanview(
            "push", TASKS, environment={"OTEL_EXPORTER_OTLP_ENDPOINT": f"{endpoint.url}/base", **variables}
        )
        options = ["--protocol", protocol, "--compression", compression, "--header", "api-key=a b"]
        by_options = spanview("push", TASKS, "--endpoint", f"{endpoint.url}/base", *options)
    assert by_variables.status == by_options.status == 0
    first, second = endpoint.received
    for request in (first, second):
        assert request.path == "/base/v1/traces"
        assert request.headers["content-type"] == kind
        assert request.headers["api-key"] == "a b"
        assert request.headers.get("content-encoding", "none") == compression
    assert first.body == second.body or compression == "gzip"


def test_chosen_like_an_export() -> None:
    """Query, id and time mean what they mean for `export`: whole traces."""
    for words in (["-q", "status=ERROR"], ["--since", "last"], ["--trace", "1"]):
        with http_endpoint() as endpoint:
            done = spanview("push", TASKS, "--endpoint", endpoint.url, *words)
        there = spanview("export", "--format", "otlp", TASKS, *words)
        assert (done.status, there.status) in {(0, 0), (2, 2)}
        assert endpoint.spans == (exported(TASKS, *words) if there.status == 0 else [])
    with http_endpoint() as endpoint:
        done = spanview("push", TASKS, "--endpoint", endpoint.url, "-q", "nothing-like-this")
    assert done.status == 0
    assert "nothing matches" in done.notices
    assert not endpoint.received


def test_batches(tmp_path: Path) -> None:
    """A request has so many spans, or some 4 MiB; one that is longer goes alone. Each has its spans in their order."""
    (tmp_path / "a.txt").write_bytes(spans_of(25))
    with http_endpoint() as endpoint:
        spanview("push", tmp_path, "--endpoint", endpoint.url, "--batch", "10")
    ids = [
        [span.trace_id[-1] for resource in request.message.resource_spans for span in resource.scope_spans[0].spans]
        for request in endpoint.received
    ]
    # The first request is alone until it is answered.
    assert ids[0] == [*range(1, 11)]
    assert sorted(ids) == [[*range(1, 11)], [*range(11, 21)], [*range(21, 26)]]
    build = Builder()
    sizes = [1_500_000, 1_500_000, 1_500_000, 6_000_000, 10]
    documents = [build.span(attributes={"text": "x" * size}) for size in sizes]
    (tmp_path / "a.txt").write_bytes(file_of(documents))
    with http_endpoint() as endpoint:
        spanview("push", tmp_path, "--endpoint", endpoint.url)
    assert sorted(map(counts_of, endpoint.received)) == [1, 1, 1, 2]


def test_failures_on_the_way(tmp_path: Path) -> None:
    """Resets, 503 with Retry-After and limits are got over: all spans arrive, once."""
    (tmp_path / "a.txt").write_bytes(spans_of(40))
    away = Said(503, headers={"Retry-After": "0"})

    def limited(request: Received) -> Said | None:
        return Said(413) if counts_of(request) > 3 else None

    with http_endpoint([away, Said(429, headers={"Retry-After": "1"}), away], limited) as endpoint:
        done = spanview("push", tmp_path, "--endpoint", endpoint.url, "--batch", "20")
    assert done.status == 0
    assert endpoint.spans == exported(tmp_path)
    assert "HTTP status 503; retrying" in done.notices
    assert "the endpoint responds again" in done.notices
    with http_endpoint([Said(), Reset, Reset]) as endpoint:
        done = spanview("push", tmp_path, "--endpoint", endpoint.url, "--batch", "20")
    assert done.status == 0
    assert endpoint.spans == exported(tmp_path)
    script = [Failed("UNAVAILABLE", "later", 0.01), Failed("RESOURCE_EXHAUSTED", "too large")]
    with grpc_endpoint(script) as endpoint:
        done = spanview("push", tmp_path, "--endpoint", endpoint.url, "--protocol", "grpc")
    assert done.status == 0
    assert endpoint.spans == exported(tmp_path)
    assert len(endpoint.accepted) == 2


def test_refused(tmp_path: Path) -> None:
    """What is refused is counted with its reason, and makes the status 1; the rest arrives."""
    (tmp_path / "a.txt").write_bytes(spans_of(30))
    script = [Said(422, b'{"message": "no \x1b[31m such thing"}'.replace(b"\x1b", b"\\u001b"))]
    partial = Said(200, b'{"partialSuccess": {"rejectedSpans": "4", "errorMessage": "too old"}}')
    with http_endpoint([*script, partial]) as endpoint:
        done = spanview("push", tmp_path, "--endpoint", endpoint.url, "--batch", "10")
    assert done.status == 1
    assert "refused 10 spans: HTTP status 422: no " in done.notices
    assert "\x1b" not in done.notices
    assert "refused 4 spans: too old" in done.notices
    assert "sent 16 spans" in done.notices
    assert "; 14 refused" in done.notices


@pytest.mark.parametrize("status", [400, 413])
def test_one_bad_span(status: int, tmp_path: Path) -> None:
    """A span that an endpoint doesn't take is refused alone, and said by its name and size."""
    build = Builder()
    names = ["bad" if number == 13 else "good" for number in range(40)]
    (tmp_path / "a.txt").write_bytes(file_of([build.span(name, trace=row + 1) for row, name in enumerate(names)]))

    def answer(request: Received) -> Said | None:
        return Said(status) if b'"bad"' in request.body else None

    with http_endpoint(answer=answer) as endpoint:
        done = spanview("push", tmp_path, "--endpoint", endpoint.url, "--batch", "20")
    assert done.status == 1
    assert sum(map(counts_of, endpoint.accepted)) == 39
    assert f"refused 1 span: HTTP status {status}; it is bad ({14:032x}/{14:016x}, " in done.notices
    assert re.search(r", \d+ B\) of .*/a.txt", done.notices)


def test_nothing_to_send(tmp_path: Path) -> None:
    """Without spans nothing is sent, nobody is asked, and that is said."""
    done = spanview("push", tmp_path, "--endpoint", "http://localhost:1")
    assert done.status == 0
    assert "no spans; no files" in done.notices
    assert "nothing sent, because there are no spans to send" in done.notices


def test_at_a_distance(tmp_path: Path) -> None:
    """Requests don't wait for each other's answers, of which there are as many as there are requests."""
    (tmp_path / "a.txt").write_bytes(spans_of(64))
    at_once, most, lock = [0], [0], threading.Lock()

    def later(_: Received) -> None:
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        time.sleep(0.05)
        with lock:
            at_once[0] -= 1

    with http_endpoint(answer=later) as endpoint:
        done = spanview("push", tmp_path, "--endpoint", endpoint.url, "--batch", "2")
    assert done.status == 0
    assert 2 < most[0] <= IN_FLIGHT
    assert endpoint.spans == exported(tmp_path)


def test_what_cannot_be_sent() -> None:
    """Spans without ids are refused before they are sent, those without an end are left out; losses are said."""
    folder = FIXTURES / "made"
    with http_endpoint() as endpoint:
        done = spanview("push", folder, "--endpoint", endpoint.url)
    assert done.status == 1
    assert "no usable trace id or span id" in done.notices
    assert "without an end skipped" in done.notices
    assert "otlp: replaced invalid Unicode in " in done.notices
    assert endpoint.spans == exported(folder)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Said(401), "asks for credentials"),
        (Said(403, b'{"message": "no such team"}'), "(HTTP status 403: no such team)"),
        (Said(404), "knows no such path"),
        (Said(405), "takes no spans at this path"),
        (Said(415), "try another --protocol"),
        (Said(302, headers={"Location": "https://login"}), "redirects to https://login"),
        (Said(200, b"<html>", {"Content-Type": "text/html"}), "web page"),
    ],
)
def test_hopeless(answer: Said, said: str) -> None:
    """One line says what and where, and how to mend it; nothing more is sent, and the status is 2."""
    with http_endpoint([answer]) as endpoint:
        done = spanview("push", TASKS, "--endpoint", endpoint.url)
    assert done.status == 2
    assert [*done.lines[-1:]] == [line for line in done.lines if said in line]
    assert done.lines[-1].startswith(f"spanview: {endpoint.url}/v1/traces: ")
    assert len(endpoint.received) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no endpoint: give --endpoint URL"),
        (["--endpoint", "http://nowhere.invalid"], "unknown host nowhere.invalid"),
        (["--endpoint", "http://127.0.0.1:1"], "nothing listens on port 1 of 127.0.0.1"),
        (["--endpoint", "http://a", "--batch", "0"], "--batch: 0: expected 1 to 10000 spans"),
        (["--endpoint", "http://a", "--rate", "-1"], "--rate"),
        (["--endpoint", "http://a", "--timeout", "0"], "--timeout: 0: expected a number above 0"),
        (["--endpoint", "http://a", "--protocol", "carrier-pigeon"], "--protocol"),
        (["--endpoint", "http://a", "-f", "--shift-to-now"], "can't be combined with --follow"),
        (["--endpoint", "http://a", "-q", "duration>"], "query, character 10"),
        (["--endpoint", "http://a", "--state", "/no/such/folder/state"], "can't be used as --state"),
    ],
)
def test_mistakes(words: Sequence[str], said: str) -> None:
    """What can't be carried out is said in one line, with status 2; below a mistake in a query stands the place."""
    done = spanview("push", TASKS, *words)
    assert done.status == 2
    assert said in done.notices
    assert len(done.lines) == (3 if "^" in done.notices else 1)


def test_help() -> None:
    """It is listed, and lists its options."""
    assert "push" in spanview("--help").text
    text = spanview("push", "--help").text
    assert all(option in text for option in ("--endpoint", "--protocol", "--header", "--shift-to-now", "--state"))


def test_shift_to_now(tmp_path: Path) -> None:
    """All times move by the same: the newest span ends now. What goes on later moves by the same, too."""
    build = Builder()
    event = {"name": "e", "timestamp": "2023-11-14T22:13:20.000001Z", "attributes": {}}
    documents = [build.span(start=0, duration=5, events=[event]), build.span(start=2, duration=1_000_000)]
    (tmp_path / "a.txt").write_bytes(file_of(documents))
    with http_endpoint() as endpoint:
        began_ns = time.time_ns()
        state = tmp_path / "state"
        done = spanview("push", tmp_path / "a.txt", "--endpoint", endpoint.url, "--shift-to-now", "--state", state)
        ended_ns = time.time_ns()
        assert "later than in the files" in done.notices
        (first, second) = endpoint.received[0].message.resource_spans[0].scope_spans[0].spans
        assert began_ns <= second.end_time_unix_nano <= ended_ns
        assert first.end_time_unix_nano - first.start_time_unix_nano == 5_000
        assert second.start_time_unix_nano - first.start_time_unix_nano == 2_000
        assert first.events[0].time_unix_nano - first.start_time_unix_nano == 1_000
        (tmp_path / "b.txt").write_bytes(file_of([build.span(start=3)]))
        spanview("push", tmp_path / "b.txt", "--endpoint", endpoint.url, "--state", state)
        (third,) = endpoint.received[1].message.resource_spans[0].scope_spans[0].spans
        assert third.start_time_unix_nano - first.start_time_unix_nano == 3_000
    with http_endpoint() as other:
        plain = tmp_path / "plain"
        spanview("push", tmp_path / "a.txt", "--endpoint", other.url, "--state", plain)
        done = spanview("push", tmp_path / "b.txt", "--endpoint", other.url, "--state", plain, "--shift-to-now")
    assert done.status == 2
    assert "sent with their own times" in done.notices


def test_rate(tmp_path: Path) -> None:
    """Spans leave at the rate that was asked for, some of them at a time."""
    (tmp_path / "a.txt").write_bytes(spans_of(30))
    with http_endpoint() as endpoint:
        began_s = time.monotonic()
        spanview("push", tmp_path, "--endpoint", endpoint.url, "--rate", "40")
        took_s = time.monotonic() - began_s
    assert [*map(counts_of, endpoint.received)] == [10, 10, 10]
    # The last batch leaves when 20 spans were sent.
    assert took_s >= 20 / 40


def test_progress(tmp_path: Path) -> None:
    """A terminal shows how far it is, once it takes long, and only the summary in the end."""
    (tmp_path / "a.txt").write_bytes(spans_of(60))
    with (
        http_endpoint() as endpoint,
        Terminal(str(tmp_path), "--rate", "40", "--endpoint", endpoint.url, command=("push",)) as terminal,
    ):
        assert terminal.is_soon(lambda lines: any("/60 spans" in line for line in lines))
        assert terminal.wait() == 0
        assert b"sent 60 spans" in terminal.output
        # Up, and the line erased.
        assert terminal.output.endswith(b"\x1b[1A\x1b[2K")


def test_rate_after_a_pause(tmp_path: Path) -> None:
    """What comes after a pause leaves no faster."""
    path = tmp_path / "a.txt"
    path.write_bytes(spans_of(1))
    with http_endpoint() as endpoint, Following("push", "-f", path, "--rate", "20", "--endpoint", endpoint.url):
        _wait(lambda: len(endpoint.accepted) == 1)
        time.sleep(1.5)
        began_s = time.monotonic()
        with path.open("ab") as file:
            file.write(spans_of(21)[len(spans_of(1)) :])
        _wait(lambda: sum(map(counts_of, endpoint.accepted)) == 21)
    assert time.monotonic() - began_s >= 15 / 20


def test_state(tmp_path: Path) -> None:
    """What has arrived isn't sent again, wherever it lies then; what was refused is."""
    (tmp_path / "a.txt").write_bytes(spans_of(30))
    state: Words = ["--state", tmp_path / "state", "--batch", "10"]
    with http_endpoint([Said(), Said(422), Said()]) as endpoint:
        first = spanview("push", tmp_path / "a.txt", "--endpoint", endpoint.url, *state)
        (tmp_path / "a.txt").rename(tmp_path / "b.txt")
        second = spanview("push", tmp_path / "b.txt", "--endpoint", endpoint.url, *state)
        third = spanview("push", tmp_path / "b.txt", "--endpoint", endpoint.url, *state)
    assert (first.status, second.status, third.status) == (1, 0, 0)
    assert [*map(counts_of, endpoint.received)] == [10, 10, 10, 10]
    assert endpoint.spans == exported(tmp_path / "b.txt")
    assert "sent 10 spans" in second.notices
    assert "; 20 sent before" in second.notices
    assert "; 30 sent before" in third.notices


def test_interrupted(tmp_path: Path) -> None:
    """After Ctrl+C, what was sent is said, and what is left; with a state, it goes on from there."""
    (tmp_path / "a.txt").write_bytes(spans_of(40))
    words: Words = ["push", tmp_path / "a.txt", "--batch", "10", "--state", tmp_path / "state", "--endpoint"]
    with http_endpoint([Said(), *[Said(503)] * 99]) as endpoint:
        with Following(*words, endpoint.url) as running:
            running.wait_for_notice("HTTP status 503; retrying")
            assert running.stop(signal.SIGINT) == 130
        assert any("sent 10 spans" in notice and "30 left" in notice for notice in running.notices)
    assert counts_of(endpoint.accepted[0]) == 10


def test_killed(tmp_path: Path) -> None:
    """A push that is killed at any moment goes on: every span arrives, and twice at most those on their way."""
    count, kills = 2000, 4
    (tmp_path / "a.txt").write_bytes(spans_of(count))
    received = threading.Semaphore(0)

    def slowly(_: Received) -> None:
        received.release()
        time.sleep(0.005)

    with http_endpoint(answer=slowly) as endpoint:
        words: Words = [
            "push",
            tmp_path / "a.txt",
            "--batch",
            "50",
            "--state",
            tmp_path / "state",
            "--endpoint",
            endpoint.url,
        ]
        for number in range(kills):
            with Following(*words) as running:
                for _ in range(2 + number):
                    assert received.acquire(timeout=30)
                running.stop(signal.SIGKILL)
        done = spanview(*words)
    assert done.status == 0
    assert [*dict.fromkeys(endpoint.spans)] == exported(tmp_path / "a.txt")
    assert count <= len(endpoint.spans) <= count + 50 * IN_FLIGHT * kills
    assert " sent before" in done.notices


@pytest.mark.parametrize("protocol", ["http/json", "grpc"])
def test_follow(tmp_path: Path, protocol: str) -> None:
    """First what is there, then what comes, each once; a span that has only started waits for its end."""
    build = Builder()
    path = tmp_path / "a.txt"
    path.write_bytes(file_of([build.span() for _ in range(3)]))
    with endpoint_for(protocol) as endpoint:
        words: Words = ["push", "-f", tmp_path, "--endpoint", endpoint.url, "--protocol", protocol]
        with Following(*words) as running:
            _wait(lambda: len(endpoint.spans) == 3)
            with path.open("ab") as file:
                file.write(file_of([build.span(span=77, start=500, duration=None)]))
                file.write(file_of([build.span()]))
            _wait(lambda: len(endpoint.spans) == 4)
            with path.open("ab") as file:
                file.write(file_of([build.span(span=77, start=500), build.span(span=78, duration=None)]))
            _wait(lambda: len(endpoint.spans) == 5)
            assert running.stop() == 0
        assert any("sent 5 spans" in notice and "; 1 without an end" in notice for notice in running.notices)
    assert endpoint.spans == exported(tmp_path)


def test_follow_chosen(tmp_path: Path) -> None:
    """A trace that comes to match later is sent whole then."""
    build = Builder()
    path = tmp_path / "a.txt"
    path.write_bytes(file_of([build.span(trace=1), build.span(trace=2), build.span(trace=2, status="ERROR")]))
    with (
        http_endpoint() as endpoint,
        Following("push", "-f", tmp_path, "-q", "status=ERROR", "--endpoint", endpoint.url) as running,
    ):
        _wait(lambda: len(endpoint.spans) == 2)
        with path.open("ab") as file:
            file.write(file_of([build.span(trace=3), build.span(trace=1, status="ERROR")]))
        _wait(lambda: len(endpoint.spans) == 4)
        assert running.stop() == 0
    assert endpoint.spans == exported(tmp_path, "-q", "status=ERROR")


def test_follow_slowly(tmp_path: Path) -> None:
    """Ctrl+C ends it at once where spans are to leave slowly; what is left is said."""
    (tmp_path / "a.txt").write_bytes(spans_of(200))
    words: Words = ["push", "-f", tmp_path, "--rate", "8", "--endpoint"]
    with http_endpoint() as endpoint, Following(*words, endpoint.url) as running:
        _wait(lambda: len(endpoint.accepted) == 2)
        assert running.stop() == 0
    assert sum(map(counts_of, endpoint.accepted)) < 20
    assert any(" left; with --state FILE" in notice for notice in running.notices)


def test_follow_while_nobody_is_there(tmp_path: Path) -> None:
    """An endpoint that comes later gets all, what was truncated meanwhile included; a credential is asked for."""
    build = Builder()
    path = tmp_path / "a.txt"
    path.write_bytes(file_of([build.span()]))
    with grpc_endpoint() as first:
        port = int(first.url.rpartition(":")[2])
    with Following("push", "-f", tmp_path, "--endpoint", first.url, "--protocol", "grpc") as running:
        running.wait_for_notice("retrying")
        path.write_bytes(file_of([build.span()]))
        time.sleep(1.5)
        path.write_bytes(file_of([build.span(), build.span()]))
        time.sleep(1.5)
        with grpc_endpoint(port=port) as endpoint:
            _wait(lambda: len(endpoint.spans) == 4)
            assert running.stop() == 0
    with (
        http_endpoint([Said(401)]) as closed,
        Following("push", "-f", tmp_path, "--endpoint", closed.url) as running,
    ):
        assert running.wait_for_end() == 2
        assert any("asks for credentials" in notice for notice in running.notices)


def _wait(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline_s = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
