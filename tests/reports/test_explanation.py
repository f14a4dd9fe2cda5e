"""What is explained: the cause known of each recording, in so many lines, with spans and commands that exist."""

from __future__ import annotations

import base64
import json
import os
import platform
import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import EPOCH_NS, Builder, file_of
from programs import spanview
from rays_word import NODE, line_of
from spanview.analysis.ray.running import Running
from spanview.analysis.ray.unended import Fate, Unended
from spanview.display.span_in_tree import SpanInTree
from spanview.display.timing_text import timing_facts, timing_parts
from spanview.model.codes import CONSUMER
from spanview.model.times import NO_TIME
from spanview.ray.lines import ENDED_BY
from spanview.reports.explanation import Statement, Topic, explanation
from spanview.reports.explanation_text import kept_within
from spanview.sources.loading import load_store
from spanview.sources.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Iterable

FIXTURES: Final = Path(__file__).parent.parent.parent / "fixtures"
CAUSES: Final = [
    ("ray-events-hook", "about", r"; 2 spans failed, and 2 other calls failed or were lost$"),
    ("ray-events-hook", "unseen", r"waited for 1 GPU \(no node has that\), at most until its driver ended \(never\)"),
    ("ray-events-hook", "failed", r"^Broken\.f failed: its actor's constructor failed, as Ray says$"),
    ("ray-events-hook", "failed", r"^dies failed: its worker died, as Ray says$"),
    ("ray-events-bundled", "failed", r"^dies failed: its worker died, as Ray says$"),
    ("ray-events-hook", "unseen", r"; cancelled \(sleeper\)$"),
    (
        "ray-compiled-graph",
        "time",
        r"^2 calls of W\.f took [\d.]+ s together = [^+]+ waiting \([^)]+\) \+ [^+]+ running",
    ),
    ("ray-events-hook", "failed", r"^Broken\.__init__ failed: RuntimeError: no, at prog\.py:40 in __init__$"),
    ("ray-events-hook", "retried", r"^1 call of Phoenix\.__init__ ran 2 times: its actor was restarted$"),
    (
        "ray-events-hook",
        "time",
        r"^2 calls of own_worker took .*7\.2[0-9] s likely for a new worker, 6\.96 s for its code or arguments to be",
    ),
    (
        "ray-events-hook",
        "time",
        r"^8 calls of Queue\.put took .*14\.7 s for its actor to be ready, 5\.16 s for its actor",
    ),
    ("killed-workers", "unseen", r"calls have no attempt"),
    ("serve", "time", r"Ingress GET /predict/\{x\}, status 200: .* queue \+ .* handling"),
    ("serve", "unusual", r"^fastapi\.endpoint itself took 1\.07 s, .* times its median"),
    ("serve", "failed", r"GET /predict/-5 failed: ValueError: negative x, at serve_app\.py:\d+ in __call__$"),
    ("serve", "missing", r"status UNSET below \d failed requests"),
    ("ray-odd-ends", "retried", r"attempts"),
]
"""Recordings, and what is known of them: a topic, and what a sentence of it says."""
UNSURE: Final = ("likely", "not sure", "unknown")
"""One of these is in each sentence that isn't certain, as it is printed."""


def explained(*words: str) -> dict[str, Any]:
    """Return the document that is printed."""
    document: dict[str, Any] = json.loads(spanview("explain", *words, "--lines", "1000", "--json").output)
    return document


def texts(document: dict[str, Any], topic: str) -> list[str]:
    """Return the sentences of a topic."""
    return [row["text"] for row in document["rows"] if row["topic"] == topic]


def folder_of(folder: Path, documents: Iterable[Any]) -> str:
    """Write one file of spans, and return its folder."""
    (folder / "spans.json").write_bytes(file_of([*documents]))
    return str(folder)


@pytest.mark.parametrize(("recording", "topic", "said"), CAUSES)
def test_the_cause_is_named(recording: str, topic: str, said: str) -> None:
    """What is known of a recording is in a sentence of its topic."""
    found = texts(explained(str(FIXTURES / recording)), topic)
    assert any(re.search(said, text) for text in found), found


@pytest.mark.parametrize(
    ("recording", "asked"),
    [
        *((recording, []) for recording in ("ray-events-hook", "serve", "killed-workers", "console-logs")),
        # Of one trace, too.
        ("ray-events-hook", ["4583c43f", "--by", "ray"]),
        ("serve", ["9c5211a4", "--by", "serve"]),
    ],
)
def test_each_sentence_rests_on_what_is_there(recording: str, asked: list[str]) -> None:
    """Each span exists, and each command that shows more prints something and ends well."""
    folder = str(FIXTURES / recording)
    document = explained(*asked, folder)
    assert document["rows"]
    lines = spanview("spans", folder).text.splitlines()
    ids = {(span["trace_id"], span["span_id"]) for span in map(json.loads, lines)}
    for row in document["rows"]:
        assert row["span_id"] is None or (row["trace_id"], row["span_id"]) in ids, row
    for command in {row["more"] for row in document["rows"]}:
        name, *words = shlex.split(command)
        assert name == "spanview"
        done = spanview(*words, folder)
        assert done.text, command
        # `check` ends with 1 where it finds something.
        assert done.status in ({0, 1} if words[0] == "check" else {0}), command


@pytest.mark.parametrize("recording", ["ray-events-hook", "serve"])
def test_lines_are_bounded_and_the_same(recording: str) -> None:
    """There are never more lines than asked for; with enough, all are there; and a second run says the same."""
    folder = str(FIXTURES / recording)
    whole = spanview("explain", folder, "--lines", "1000").text.splitlines()
    assert whole == spanview("explain", folder, "--lines", "1000").text.splitlines()
    for most in (10, 12, 25, len(whole) - 1, len(whole)):
        lines = spanview("explain", folder, "--lines", str(most)).text.splitlines()
        assert len(lines) <= most
        if most < len(whole):
            assert re.fullmatch(rf"… and [\d,]+ more sentences?: --lines {len(whole)}", lines[-1])
    assert lines == whole
    assert len(json.loads(spanview("explain", folder, "--lines", "10", "--json").output)["rows"]) == 10


def test_what_is_not_certain_says_so() -> None:
    """A sentence that is no more than likely has a word for it, where it is printed."""
    folder = str(FIXTURES / "killed-workers")
    unsure = [row["text"] for row in explained(folder)["rows"] if row["certainty"] == "likely"]
    assert unsure
    printed = " ".join(spanview("explain", folder, "--lines", "1000").text.split())
    for text in unsure:
        before, _, _ = printed.partition(text)
        assert before.endswith("likely: ") or any(word in text for word in UNSURE), text


def test_one_trace_is_told_by_its_stretches(tmp_path: Path) -> None:
    """A trace by a prefix of its id has its parts, then the stretches of its path by time, and no other trace's."""
    build = Builder()
    documents = build.draw("root 0-100\n  early 10-30\n  late 40-95", trace=0xABCD)
    folder = folder_of(tmp_path, [*documents, build.span("other", trace=7)])
    document = explained("0000000000000000000000000000abcd", folder)
    assert document["traces"] == 1
    assert document["trace_id"].endswith("abcd")
    assert texts(document, "time") == [
        "100 µs = 55 µs in late + 25 µs in root + 20 µs in early",
        "at +0 µs: 10 µs in root",
        "at +10 µs: 20 µs in early",
        "at +30 µs: 10 µs in root",
        "at +40 µs: 55 µs in late",
        "at +95 µs: 5 µs in root",
    ]
    assert not any("other" in row["text"] for row in document["rows"])


def test_what_is_unusual_is_compared_with_its_name(tmp_path: Path) -> None:
    """A span that takes many times its median is named, one that doesn't is not, nor what is rare."""
    build = Builder()
    usual = [build.span("query", trace=number, duration=20) for number in range(1, 10)]
    slow = build.span("query", trace=10, duration=812)
    rare = [build.span("seldom", trace=20 + number, duration=10**number) for number in range(4)]
    document = explained(folder_of(tmp_path, [*usual, slow, *rare]))
    assert texts(document, "unusual") == ["query itself took 812 µs, 41 times its median of 20 µs (of 10 spans)"]
    assert [row["duration_ns"] for row in document["rows"] if row["topic"] == "unusual"] == [812_000]


def test_what_half_of_all_take_is_usual(tmp_path: Path) -> None:
    """The median of an even number lies between the two in the middle."""
    build = Builder()
    spans = [build.span("query", trace=number, duration=812 if number % 2 else 20) for number in range(1, 15)]
    assert texts(explained(folder_of(tmp_path, spans)), "unusual") == []


@pytest.mark.parametrize(("waits", "again"), [(True, False), (False, False), (False, True)])
def test_what_waited_for_its_calls_is_not_unusual(tmp_path: Path, *, waits: bool, again: bool) -> None:
    """As for an actor's turn, or another attempt, which is no time of its own, though no span covers it."""
    build, documents = Builder(), []
    for number in range(1, 9):
        last = number == 8
        documents.append(build.span("client", trace=number, span=10 * number, start=0, duration=900 if last else 30))
        call: dict[str, Any] = {"trace": number, "span": 10 * number + 1, "parent": 10 * number}
        documents.append(build.span("f ray.remote", start=2, duration=2, kind="PRODUCER", **call))
        ran: dict[str, Any] = {"trace": number, "span": 10 * number + 2, "parent": 10 * number + 1, "kind": "CONSUMER"}
        documents.append(build.span("f ray.remote_worker", start=880 if last and waits else 6, duration=10, **ran))
        if last and again:
            ran |= {"span": 10 * number + 3}
            documents.append(build.span("f ray.remote_worker", start=880, duration=10, **ran))
    found = texts(explained(folder_of(tmp_path, documents)), "unusual")
    assert [text.partition(" ")[0] for text in found] == ([] if waits or again else ["client"])


@pytest.mark.parametrize(
    ("kind", "behind_us", "is_said"),
    [("INTERNAL", 1_500, False), ("INTERNAL", 900, True), ("SERVER", -9_500, False), ("INTERNAL", 0, True)],
)
def test_how_long_a_span_ran_itself_is_not_known_where_clocks_differ(
    tmp_path: Path, kind: str, behind_us: int, *, is_said: bool
) -> None:
    """What ran below it elsewhere then stands before it, or behind it."""
    build, documents = Builder(), []
    for number in range(1, 11):
        lasted = 9_000 if number == 10 else 30
        own: dict[str, Any] = {"trace": number, "span": 10 * number, "kind": "CLIENT"}
        documents.append(build.span("put", start=0, duration=lasted, **own))
        below: dict[str, Any] = {"trace": number, "parent": 10 * number, "kind": kind}
        documents.append(build.span("store", start=-behind_us if number == 10 else 1, duration=20, **below))
    said = texts(explained(folder_of(tmp_path, documents)), "unusual")
    assert any(text.startswith("put itself took ") for text in said) is is_said


def test_what_is_usual_has_no_waits_either(tmp_path: Path) -> None:
    """Median and figure are of the time without them; where a call left no attempt, nobody knows that time."""
    build, documents = Builder(), []
    for number in range(1, 12):
        own = 700 if number == 8 else 30
        documents.append(build.span("client", trace=number, span=10 * number, start=0, duration=200 + own))
        call: dict[str, Any] = {"trace": number, "span": 10 * number + 1, "parent": 10 * number}
        documents.append(build.span("f ray.remote", start=0, duration=2, kind="PRODUCER", **call))
        ran: dict[str, Any] = {"trace": number, "span": 10 * number + 2, "parent": 10 * number + 1, "kind": "CONSUMER"}
        if number < 10:
            documents.append(build.span("f ray.remote_worker", start=150, duration=50, **ran))
    (text,) = texts(explained(folder_of(tmp_path, documents)), "unusual")
    assert text == "client itself took 700 µs, 23 times its median of 30 µs (of 9 spans)"


@pytest.mark.parametrize(("is_missing", "is_torn"), [(True, False), (False, True), (False, False)])
def test_what_is_unusual_is_likely_where_spans_are_missing(tmp_path: Path, *, is_missing: bool, is_torn: bool) -> None:
    """What it awaited may be among them, and in what is left of a file."""
    build = Builder()
    spans = [build.span("query", trace=number, span=1, duration=900 if number == 9 else 20) for number in range(1, 10)]
    spans.append(build.span("row", trace=9, span=2, parent=7 if is_missing else 1, start=5, duration=1))
    (tmp_path / "8.txt").write_bytes(file_of(spans[:1])[: -40 if is_torn else None])
    rows = explained(folder_of(tmp_path, spans))["rows"]
    (certainty,) = [row["certainty"] for row in rows if row["topic"] == "unusual"]
    assert certainty == ("likely" if is_missing or is_torn else "certain")


def test_the_newest_of_those_that_were_tried_again(tmp_path: Path) -> None:
    """It is what was called last, wherever its record is."""
    build, documents = Builder(), list[Any]()
    for number, start in ((1, 500), (2, 0)):
        call: dict[str, Any] = {"trace": number, "span": 1, "kind": "PRODUCER"}
        documents.append(build.span("f ray.remote", start=start, duration=2, **call))
        for span, message in ((2, f"only {number} left"), (3, "")):
            ran: dict[str, Any] = {"trace": number, "parent": 1, "kind": "CONSUMER"}
            events = [{"name": "exception", "timestamp": None, "attributes": {"exception.message": message}}]
            attempt = build.span("f ray.remote_worker", span=span, start=start + 10 * span, duration=5, **ran)
            failed = {"status": {"status_code": "ERROR"}, "events": events}
            documents.append(attempt | (failed if message else {}))
    (said,) = texts(explained(folder_of(tmp_path, documents)), "retried")
    assert said.startswith(
        "2 calls of f took at least 4 attempts; of the newest one, the first attempt seen failed: only 1 left"
    )


def test_commands_show_the_traces_that_are_spoken_of(tmp_path: Path) -> None:
    """Of a query or a time, what shows more is limited by it; of one trace, by its id."""
    build = Builder()
    spans = [build.span(f"GET /{trace % 2}", trace=trace, duration=50, start=trace) for trace in range(1, 5)]
    folder = folder_of(tmp_path, spans)
    asked = ["-q", "name~1 -name~2", "--since", "2023-11-01"]
    (row,) = [row for row in explained(*asked, folder)["rows"] if "itself took" in row["text"]]
    assert (row["text"], row["more"]) == (
        "GET /1 itself took 100 µs, 100% of the critical paths of 2 traces",
        "spanview stats --by critical-path -q 'name~1 -name~2' --since 2023-11-01",
    )
    _, shown = spanview(*shlex.split(row["more"])[1:], folder).text.splitlines()
    assert shown.startswith("GET /1 ")
    whole = [row["more"] for row in explained(folder)["rows"] if "itself took" in row["text"]]
    assert whole == ["spanview stats --by critical-path"] * 2
    trace = f"{7:032x}"
    (tmp_path / "2.json").write_bytes(file_of([build.span("orphan", trace=7, parent=9)]))
    more = {row["more"] for row in explained(trace, folder)["rows"] if row["topic"] == "missing"}
    assert more == {f"spanview check --trace {trace}"}


def test_what_is_not_sure_is_likely(tmp_path: Path) -> None:
    """No sentence is certain that says itself that it may not be so, of one trace and of the slowest of two."""
    build = Builder()
    call = build.span("f ray.remote", span=2, parent=1, start=10, duration=20, kind="PRODUCER")
    folder = folder_of(tmp_path, [build.span("job", span=1, duration=100), call, *build.draw("a 0-10", trace=2)])
    for words in ([], [f"{1:032x}"]):
        first = next(row for row in explained(*words, folder)["rows"] if row["topic"] == "time")
        assert first["text"].endswith("not sure: f left no attempt"), first
        assert first["certainty"] == "likely"


def test_an_exception_is_told_once_where_it_began(tmp_path: Path) -> None:
    """Spans that pass on an exception don't count; equal ones in several traces are one sentence."""
    build = Builder()
    frame = '  File "/srv/app.py", line 31, in load\n    raise ValueError("bad")\n'
    trace = f"Traceback (most recent call last):\n{frame}ValueError: bad\n"
    attributes = {"exception.type": "ValueError", "exception.message": "bad", "exception.stacktrace": trace}
    event = {"name": "exception", "timestamp": "2023-11-14T22:13:20.000005Z", "attributes": attributes}
    documents = []
    for number in range(1, 4):
        root = build.span("GET /", trace=number, start=0, duration=50, status="ERROR", events=[event])
        inner = int(root["context"]["span_id"], 16)
        documents += [
            root,
            build.span("load", trace=number, parent=inner, start=1, duration=9, status="ERROR", events=[event]),
        ]
    document = explained(folder_of(tmp_path, documents))
    assert texts(document, "failed") == ["load failed 3 times: ValueError: bad, at app.py:31 in load"]


@pytest.mark.parametrize(
    ("inner", "outer", "said"),
    [
        # A client that got a status has no words for it.
        (None, ("RuntimeError", "gave up"), ["load failed", "GET / failed: RuntimeError: gave up"]),
        (
            ("TimeoutError", ""),
            ("TimeoutError", "gave up"),
            ["load failed: TimeoutError", "GET / failed: TimeoutError: gave up"],
        ),
        # `raise Rejected from error`, and an exception that tells another one's message.
        (
            ("OSError", "broken"),
            ("Rejected", "not taken"),
            ["GET / failed: Rejected: not taken", "load failed: OSError: broken"],
        ),
        (("OSError", "broken"), ("Rejected", "load: broken"), ["load failed: OSError: broken"]),
        (("TimeoutError", ""), ("TimeoutError", ""), ["load failed: TimeoutError"]),
        # What is said by a status alone.
        (("", "no route"), ("OSError", "no route"), ["load failed: no route"]),
    ],
)
def test_what_callers_raised_instead_is_told(
    tmp_path: Path, inner: tuple[str, str] | None, outer: tuple[str, str], said: list[str]
) -> None:
    """It has not passed on the exception that began below it; in its stack trace are both."""
    build = Builder()

    def event(kind: str, message: str) -> dict[str, Any]:
        trace = "\n\nThe above exception was the direct cause of the following exception:\n\n".join(
            f"Traceback (most recent call last):\n{': '.join(filter(None, of_one))}\n"
            for of_one in (inner or (), outer)
        )
        attributes = {"exception.type": kind, "exception.message": message, "exception.stacktrace": trace}
        return {"name": "exception", "timestamp": "2023-11-14T22:13:20.000005Z", "attributes": attributes}

    root = build.span("GET /", span=1, duration=50, status="ERROR", events=[event(*outer)])
    events = [event(*inner)] if inner and inner[0] else []
    load = build.span("load", span=2, parent=1, start=1, duration=9, status="ERROR", events=events)
    if inner and not events:
        load["status"]["description"] = inner[1]
    assert sorted(texts(explained(folder_of(tmp_path, [root, load])), "failed")) == sorted(said)


@pytest.mark.parametrize(
    ("between", "said"),
    [
        (
            "The above exception was the direct cause of the following exception:",
            " (from ValueError: row 77 is broken)",
        ),
        ("During handling of the above exception, another exception occurred:", ""),
    ],
)
def test_what_a_library_has_wrapped_is_named(tmp_path: Path, between: str, said: str) -> None:
    """As Ray Data does with what a function raises; its own frames tell nothing of the program."""
    frames = (
        ("/srv/app.py", "clean", "ValueError: row 77 is broken"),
        ("/usr/lib/python3.11/site-packages/ray/data/run.py", "run", "UserCodeException: UDF failed"),
    )
    stacks = [
        f'Traceback (most recent call last):\n  File "{path}", line 7, in {function}\n    raise\n{raised}\n'
        for path, function, raised in frames
    ]
    trace = f"\n{between}\n\n".join(stacks)
    attributes = {
        "exception.type": "UserCodeException",
        "exception.message": "UDF failed",
        "exception.stacktrace": trace,
    }
    event = {"name": "exception", "timestamp": "2023-11-14T22:13:20.000005Z", "attributes": attributes}
    folder = folder_of(tmp_path, [Builder().span("map", status="ERROR", events=[event])])
    assert texts(explained(folder), "failed") == [
        f"map failed: UserCodeException: UDF failed{said}, at app.py:7 in clean"
    ]


def test_where_a_text_has_a_mistake_is_no_place_of_the_program(tmp_path: Path) -> None:
    """It is in none of its files: what compiles it is."""
    of_text = '  File "<string>", line 1\n    1 +\n      ^\nSyntaxError: invalid syntax\n'
    trace = f'Traceback (most recent call last):\n  File "/srv/app.py", line 7, in f\n    eval(text)\n{of_text}'
    attributes = {"exception.type": "SyntaxError", "exception.message": "invalid", "exception.stacktrace": trace}
    event = {"name": "exception", "timestamp": "2023-11-14T22:13:20.000005Z", "attributes": attributes}
    folder = folder_of(tmp_path, [Builder().span("f", status="ERROR", events=[event])])
    assert texts(explained(folder), "failed") == ["f failed: SyntaxError: invalid, at app.py:7 in f"]


def test_exceptions_that_differ_by_numbers_are_told_once(tmp_path: Path) -> None:
    """Numbers and addresses make no other exception, but another type or line does; the newest stands for all."""
    build = Builder()

    def failed(number: int, message: str, line: int = 31, file: str = "/srv/app.py") -> Any:
        frame = f'  File "{file}", line {line}, in load\n    raise ValueError(text)\n'
        trace = f"Traceback (most recent call last):\n{frame}ValueError: {message}\n"
        attributes = {"exception.type": "ValueError", "exception.message": message, "exception.stacktrace": trace}
        event = {"name": "exception", "timestamp": "2023-11-14T22:13:20.000005Z", "attributes": attributes}
        return build.span("load", trace=number, start=10 * number, status="ERROR", events=[event])

    alike = [failed(number, f"bad row {number} of <Row at 0x7f{number}a>") for number in range(1, 4)]
    library = failed(6, "late", file="/usr/lib/python3.11/site-packages/db/pool.py")
    others = failed(4, "bad row 4 of <Row at 0x7f4a>", 40), failed(5, "no"), library
    document = explained(folder_of(tmp_path, [*alike, *others]))
    # A place is a line of the program's own code.
    assert texts(document, "failed") == [
        "load failed 3 times, the last time: ValueError: bad row 3 of <Row at 0x7f3a>, at app.py:31 in load",
        "load failed: ValueError: late",
        "load failed: ValueError: no, at app.py:31 in load",
        "load failed: ValueError: bad row 4 of <Row at 0x7f4a>, at app.py:40 in load",
    ]


def test_a_request_that_failed_is_told_once() -> None:
    """What FastAPI says of it in a trace of its own, which it began in the replica, is the same failure."""
    failed = texts(explained(str(FIXTURES / "serve")), "failed")
    (slow,) = (text for text in failed if "/slow failed" in text)
    assert slow == "proxy_http_request Ingress GET /slow failed: HTTP status 499, its client has left"
    assert len([text for text in failed if "negative x" in text]) == 1
    assert all(text.startswith("proxy_http_request ") for text in failed)


def _within_a_trace() -> list[dict[str, Any]]:
    """Return what Ray's hook and Serve's exporter write: two requests in the trace with which Serve's controller began.

    controller  0 = 9                                                           900 = 909
      proxy   10 = 19
        A         100 ================================= 300     its replica waits for f, and Serve for its client
        B                       200 = 240                       fails
    """
    build, polled = Builder(), "ProxyActor.receive_asgi_messages ray.remote"
    spans = [
        build.span("ServeController.__init__ ray.remote", span=1, start=0, duration=9, kind="PRODUCER"),
        build.span("ProxyActor.__init__ ray.remote_worker", span=2, parent=1, start=10, duration=9, kind="CONSUMER"),
        build.span("ServeController.stop ray.remote", span=3, parent=1, start=900, duration=9, kind="PRODUCER"),
    ]
    for first, name, start, length, status in ((10, "A", 100, 200, "OK"), (20, "B", 200, 40, "ERROR")):
        spans += [
            build.span(
                f"{part} {name}",
                span=first + number,
                parent=first + number - 1 if number else 2,
                start=start + 10 * number,
                duration=length - 20 * number,
                status="UNSET" if number else status,
                attributes={"request_id": f"id-{name}"},
            )
            for number, part in enumerate(("proxy_http_request", "route_to_replica", "replica_handle_request"))
        ]
    return [
        *spans,
        build.span(polled, span=13, parent=12, start=121, duration=1, kind="PRODUCER"),
        build.span(f"{polled}_worker", span=14, parent=13, start=123, duration=156, kind="CONSUMER"),
        build.span("f ray.remote", span=15, parent=12, start=130, duration=1, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=16, parent=15, start=200, duration=50, kind="CONSUMER"),
        build.span("later", span=17, parent=12, start=400, duration=400),
    ]


def test_a_request_within_a_trace_is_explained_alone(tmp_path: Path) -> None:
    """What a query finds of one request is answered of that request, not of the trace that holds it and others."""
    folder = folder_of(tmp_path, _within_a_trace())
    alone = explained(folder, "-q", "request_id=id-A")
    assert re.search("^proxy_http_request A: one of 2 requests in trace ", texts(alone, "about")[0])
    said = texts(alone, "time")
    assert said[0] == "– › A: 200 µs in 1 request = 10 µs queue + 160 µs handling + 10 µs route + 20 µs other"
    assert any("69 µs waiting before f ran" in text for text in said)
    assert any(text.endswith("30 µs running replica_handle_request A") for text in said)
    assert not any("receive_asgi" in text or "later" in text for text in said)
    assert not texts(alone, "failed")
    (failed,) = texts(explained(folder, "-q", "request_id=id-B"), "failed")
    assert failed == "proxy_http_request B failed"
    held = "2 requests to deployments of Serve in this trace: `spanview explain -q request_id=ID` tells of one alone"
    for words in ([], ["-q", "name~request"]):
        whole = explained(folder, *words)
        assert (texts(whole, "time")[0], texts(whole, "failed")) == (held, [failed])
    # What one request calls has the id of that.
    nested = explained("a7fb12", str(FIXTURES / "serve"))
    assert texts(nested, "time")[0] == "2 requests to deployments of Serve in this trace"


def test_requests_that_failed_without_an_error(tmp_path: Path) -> None:
    """A status code says it as an error does: where all is explained, and where one of their traces is."""
    build = Builder()
    spans = [
        build.span(f"GET /{number}", trace=number, kind="SERVER", attributes={"http.response.status_code": code})
        for number, code in enumerate((200, 503, 404), 1)
    ]
    folder = folder_of(tmp_path, [*spans, build.span("orphan", trace=4, parent=9)])
    document = explained(folder)
    assert texts(document, "failed") == [
        "GET /2 failed without an error: HTTP status 503",
        "GET /3 failed without an error: HTTP status 404",
    ]
    assert texts(document, "about")[0].endswith("; no span has the status ERROR, but 2 requests failed by status code")
    assert texts(document, "time")[0].startswith("the slowest of 3 traces with a root, GET /")
    alone = explained(folder, "-q", "http.response.status_code=503")
    assert texts(alone, "failed") == ["GET /2 failed without an error: HTTP status 503"]


def test_requests_within_others_that_failed_without_an_error(tmp_path: Path) -> None:
    """Each is told that failed; of a client and its server, which are the two ends of one request, the client."""
    build, code = Builder(), "http.response.status_code"
    spans = [
        build.span("GET /page", span=1, duration=900, kind="SERVER", attributes={code: 503}),
        build.span("POST log", span=2, parent=1, start=10, kind="CLIENT", attributes={code: 502}),
        build.span("POST /log", span=3, parent=2, start=20, kind="SERVER", attributes={code: 502}),
        # Its client has left no span.
        build.span("GET /part", span=4, parent=1, start=30, kind="SERVER", attributes={code: 500}),
    ]
    document = explained(folder_of(tmp_path, [*spans, *build.draw("a 0-10", trace=2)]))
    assert texts(document, "failed") == [
        "GET /page failed without an error: HTTP status 503",
        "POST log failed without an error: HTTP status 502",
        "GET /part failed without an error: HTTP status 500",
    ]
    assert texts(document, "about")[0].endswith("but 3 requests failed by status code")


def test_spans_on_paths_come_by_what_is_said_of_them(tmp_path: Path) -> None:
    """What itself took longest comes first, whatever was waited for besides."""
    build = Builder()
    first = [*build.draw("a 0-10\n  late 500-600", trace=1)]
    document = explained(folder_of(tmp_path, [*first, *build.draw("long 0-300", trace=2)]))
    said = [text for text in texts(document, "time") if "itself took" in text]
    assert [text.split()[0] for text in said] == ["long", "late"]


def test_an_actor_that_exited_did_not_fail() -> None:
    """`exit_actor` ends a method with an exception, which is none of the program's."""
    failed = texts(explained(str(FIXTURES / "ray-odd-actors")), "failed")
    assert any("BadInit.__init__ failed" in text for text in failed)
    assert not any("AsyncioActorExit" in text for text in failed)


def test_names_from_files_are_harmless(tmp_path: Path) -> None:
    """Nothing of a name or a message acts on a terminal, however long it is."""
    build = Builder()
    evil = "\x1b[31mred\x1b]0;title\x07\n" + "x" * 5_000
    attributes = {"exception.type": evil, "exception.message": evil}
    event = {"name": "exception", "timestamp": "2023-11-14T22:13:20.000005Z", "attributes": attributes}
    documents = [build.span(evil, trace=number, status="ERROR", events=[event]) for number in range(1, 3)]
    lines = spanview("explain", folder_of(tmp_path, documents), "--lines", "1000").text
    assert "\x1b" not in lines
    assert "\x07" not in lines
    assert len(lines) < 10_000


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["ffff"], 2, "no trace"),
        (["--by", "ray"], 0, "no Ray calls here"),
        (["--by", "serve"], 0, "no Serve requests here"),
        (["-q", "name=nothing"], 0, "nothing"),
        (["--lines", "9"], 2, "10 to 100000 lines"),
    ],
)
def test_mistakes_and_nothing_are_answered(tmp_path: Path, words: list[str], status: int, said: str) -> None:
    """Where there is nothing to say, standard error says why."""
    folder = folder_of(tmp_path, Builder().draw("root 0-100"))
    done = spanview("explain", *words, folder)
    assert (done.status, said in done.notices) == (status, True), done


@pytest.mark.parametrize("by", ["ray", "serve"])
def test_what_was_asked_for_is_not_there_beside_failures(tmp_path: Path, by: str) -> None:
    """It is said once more where something else has failed, which is told too."""
    document = explained(folder_of(tmp_path, [Builder().span("get", status="ERROR")]), "--by", by)
    (about,), (failed,) = texts(document, "about"), texts(document, "failed")
    assert about.startswith({"ray": "no Ray calls here", "serve": "no Serve requests here"}[by])
    assert failed.startswith("get failed")
    # A call that nothing ran is one.
    call = Builder().span("f ray.remote", trace=2, kind="PRODUCER")
    document = explained(folder_of(tmp_path, [Builder().span("get", status="ERROR"), call]), "--by", by)
    assert texts(document, "about") == ([] if by == "ray" else [about])


@pytest.mark.parametrize("has_attempt", [False, True])
def test_what_ray_alone_knows_to_have_been_tried_again(tmp_path: Path, *, has_attempt: bool) -> None:
    """Attempts that left no span are none that a sentence counts, and a call may have left no span of any."""
    task = "35" * 8 + "0a" * 16
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    build = Builder()
    call = build.span("__main__.f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)
    ran = build.span("__main__.f ray.remote_worker", span=2, parent=1, start=90, kind="CONSUMER", attributes=ids)
    folder = folder_of(tmp_path, [call, *[ran] * has_attempt])
    lines = (
        line_of(task, {"1": EPOCH_NS, "8": EPOCH_NS + 9_000, "12": EPOCH_NS + 50_000}, error="OUT_OF_MEMORY"),
        line_of(task, {"1": EPOCH_NS + 50_000}, attempt=1),
    )
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines))
    # It waits to be.
    assert texts(explained(folder), "retried") == []
    with (tmp_path / "event_EXPORT_TASK_7.log").open("ab") as events:
        events.write(line_of(task, {"5": EPOCH_NS + 80_000}, attempt=1))
    why = "the first attempt failed: Ray killed its worker, because the node ran out of memory, as Ray says"
    assert texts(explained(folder), "retried") == [f"1 call of f was tried again, as Ray says; {why}"]


@pytest.mark.parametrize("is_lost", [True, False])
def test_how_long_a_replica_took_that_was_lost_nobody_knows(tmp_path: Path, *, is_lost: bool) -> None:
    """What its proxy took is likely at most, and not unusual."""
    build, spans = Builder(), list[Any]()
    for trace in range(1, 10):
        is_slow = trace == 9
        code, status = ("500", "ERROR") if is_slow else ("200", "OK")
        about: dict[str, Any] = {"trace": trace, "attributes": {"http.status_code": code}}
        spans.append(
            build.span(
                "proxy_http_request App GET /", span=1, start=0, duration=900 if is_slow else 30, status=status, **about
            )
        )
        spans.append(build.span("route_to_replica App __call__", span=2, parent=1, start=2, duration=4, **about))
        if not (is_slow and is_lost):
            replica = "replica_handle_request App __call__"
            spans.append(build.span(replica, span=3, parent=2, start=4, duration=9, **about))
    folder = folder_of(tmp_path, spans)
    everything = explained(folder)
    assert bool(texts(everything, "unusual")) is not is_lost
    (slowest,) = (row for row in everything["rows"] if row["text"].startswith("the slowest of 9 traces"))
    assert slowest["certainty"] == ("likely" if is_lost else "certain")
    rows = [row for row in explained(folder, "--trace", f"{9:032x}")["rows"] if row["topic"] == "time"]
    said = [row for row in rows if " in proxy_http_request App GET /" in row["text"]]
    assert not is_lost or {row["certainty"] for row in said} == {"likely"}
    assert any(row["text"].endswith("(a replica's span may be lost)") for row in said) is is_lost


@pytest.mark.parametrize(
    ("first", "first_ends", "is_said"),
    [("First", 900, True), ("First", 2_000, False), ("First", 20, False), ("Second", 900, False)],
)
def test_what_is_queued_may_wait_for_the_response_that_it_takes(
    tmp_path: Path, first: str, first_ends: int, *, is_said: bool
) -> None:
    """Of another deployment that its caller had called before, and that ended meanwhile."""
    build = Builder()
    spans = [
        build.span("proxy_http_request A GET /", span=1, start=0, duration=2_100),
        build.span("route_to_replica A f", span=2, parent=1, start=1, duration=2_090),
        build.span("replica_handle_request A f", span=3, parent=2, start=2, duration=2_080),
        build.span(f"route_to_replica {first} f", span=4, parent=3, start=10, duration=first_ends - 10),
        build.span(f"replica_handle_request {first} f", span=5, parent=4, start=12, duration=first_ends - 12),
        build.span("route_to_replica Second f", span=6, parent=3, start=30, duration=1_500),
        build.span("replica_handle_request Second f", span=7, parent=6, start=950, duration=300),
    ]
    folder = folder_of(tmp_path, spans)
    said = texts(explained(folder, "--by", "serve"), "time")
    waits = [text for text in said if "of the queue may have been waiting for" in text]
    assert ["870 µs of the queue may have been waiting for First's response" in text for text in waits] == [
        True
    ] * is_said
    starting = [text for text in said if text.startswith("– › Second") and "may have been starting" in text]
    assert not (is_said and starting)
    stretches = texts(explained(folder, "--trace", f"{1:032x}"), "time")
    doubted = any(
        text.endswith("in Serve's queue (it may have been waiting for First's response)") for text in stretches
    )
    assert doubted is is_said


@pytest.mark.parametrize("is_lost", [True, False])
def test_how_long_who_called_a_lost_replica_took_itself_nobody_knows(tmp_path: Path, *, is_lost: bool) -> None:
    """Its routing ends when a replica has accepted; the code on that is of the request that called."""
    build, spans = Builder(), list[Any]()
    for trace in range(1, 10):
        lasted = 900 if trace == 9 else 30
        about: dict[str, Any] = {"trace": trace, "attributes": {"http.status_code": "200"}}
        for number, name in enumerate(
            ("proxy_http_request A GET /", "route_to_replica A f", "replica_handle_request A f")
        ):
            spans.append(
                build.span(name, span=number + 1, parent=number or None, start=number, duration=lasted, **about)
            )
        spans.append(build.span("route_to_replica B g", span=4, parent=3, start=5, duration=lasted // 9, **about))
        if trace < 9 or not is_lost:
            spans.append(build.span("replica_handle_request B g", span=5, parent=4, start=9, duration=9, **about))
    folder = folder_of(tmp_path, spans)
    assert bool(texts(explained(folder), "unusual")) is not is_lost
    rows = [row for row in explained(folder, "--trace", f"{9:032x}")["rows"] if row["topic"] == "time"]
    (own,) = (row for row in rows if " in replica_handle_request A f" in row["text"] and row["text"].startswith("at +"))
    assert own["text"].endswith("(a replica's span may be lost)") is is_lost
    lost = "– › B: 100 µs in 1 call = 100 µs route; it has no span of a replica: lost, elsewhere, or never begun"
    assert (lost in texts(explained(folder, "--by", "serve"), "time")) is is_lost


@pytest.mark.parametrize("is_open", [False, True])
def test_what_was_queued_beside_a_replica_without_an_end_may_be_more(tmp_path: Path, *, is_open: bool) -> None:
    """It counts as running, where the end of its file is missing, and hides what waited meanwhile."""
    build, called = Builder(), [("First", 20, 30, 10), ("Second", 50, 90, 5)]
    spans = [
        build.span("proxy_http_request A GET /", span=1, duration=200),
        build.span("route_to_replica A f", span=2, parent=1, start=2, duration=190),
        build.span("replica_handle_request A f", span=3, parent=2, start=10, duration=180),
    ]
    for number, (name, routed, begun, lasted) in enumerate(called):
        route, is_last = 4 + 2 * number, number == len(called) - 1
        spans += [
            build.span(f"route_to_replica {name} g", span=route, parent=3, start=routed, duration=100),
            build.span(
                f"replica_handle_request {name} g",
                span=route + 1,
                parent=route,
                start=begun,
                duration=None if is_open and not is_last else lasted,
            ),
        ]
    # One that has no end in another trace hides nothing of this one.
    spans.append(build.span("replica_handle_request First g", trace=2, span=9, parent=8, duration=None))
    said = texts(explained(folder_of(tmp_path, spans), "--by", "serve"), "time")
    (text,) = (text for text in said if text.startswith("– › A"))
    assert " of it in queues: " in text
    assert text.endswith("; replicas without an end count as running: more may have been queued") is is_open


@pytest.mark.parametrize(("lasted", "said"), [(20, False), (None, True)])
def test_what_a_replica_without_an_end_handled_counts_as_other(
    tmp_path: Path, lasted: int | None, *, said: bool
) -> None:
    """As where the end of its file is missing: the request is over, and how long it was handled isn't known."""
    build, names = Builder(), ("proxy_http_request A GET /", "route_to_replica A f", "replica_handle_request A f")
    spans = [
        build.span(name, span=number + 1, parent=number or None, start=number, duration=lasted if number == 2 else 30)
        for number, name in enumerate(names)
    ]
    (time_of_all,) = texts(explained(folder_of(tmp_path, spans), "--by", "serve"), "time")
    assert time_of_all.endswith("; of it the replica's span has no end: the handling counts as other") is said


@pytest.mark.parametrize("ended_by", ["KeyboardInterrupt", "SystemExit: 3"])
def test_nobody_may_have_waited_for_what_was_cancelled(tmp_path: Path, ended_by: str) -> None:
    """It ended because it was cancelled, whatever its caller waited for; what ended by itself was waited for."""
    build = Builder()
    call = build.span("docs ray.remote", span=2, parent=1, start=1, duration=1, kind="PRODUCER")
    ran: dict[str, Any] = {"start": 3, "duration": 90, "kind": "CONSUMER", "attributes": {"ray.ended_by": ended_by}}
    spans = [
        build.span("main", span=1, duration=94),
        call,
        build.span("docs ray.remote_worker", span=3, parent=2, **ran),
        build.span("wait for lock", span=4, parent=3, start=4, duration=88),
    ]
    document = explained(folder_of(tmp_path, spans))
    rows = [row for row in document["rows"] if row["topic"] == "time"]
    is_cancelled = ended_by == "KeyboardInterrupt"
    assert {row["certainty"] for row in rows[:2]} == ({"likely"} if is_cancelled else {"certain"})
    assert rows[1]["text"].endswith("(docs was cancelled: nobody may have waited for it)") is is_cancelled


def test_all_places_of_a_finding_are_counted(tmp_path: Path) -> None:
    """Also those that are too many to be kept."""
    for number in range(27):
        (tmp_path / f"{number}.log").write_text("not a span\n")
    spans = [Builder().span("main"), Builder().span("main", trace=2)]
    said = texts(explained(folder_of(tmp_path, spans)), "missing")
    assert any(text.endswith(", and 26 more") for text in said)


@pytest.mark.parametrize(("state", "is_again"), [("12", True), ("11", False)])
def test_what_ended_with_its_worker_waits_to_be_tried_again(tmp_path: Path, state: str, *, is_again: bool) -> None:
    """Its span ends without an error, as under Ray's bundled hook; what waits is counted with what left no attempt.

    What had finished has given its result, and is made again only because that was lost later.
    """
    build, spans, lines = Builder(), list[Any](), b""
    for number in (1, 2):
        task = f"{number:02x}" * 8 + "0a" * 16
        ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
        spans.append(build.span("f ray.remote", span=number, parent=9, duration=1, kind="PRODUCER", attributes=ids))
        lines += line_of(task, dict.fromkeys("12", EPOCH_NS), attempt=0)
    ids = {"ray.task_id": "01" * 8 + "0a" * 16, "ray.node_id": NODE}
    ran = build.span("f ray.remote_worker", span=3, parent=1, start=9, duration=30, kind="CONSUMER", attributes=ids)
    error = "WORKER_DIED" if is_again else ""
    lines += line_of(ids["ray.task_id"], {"8": EPOCH_NS + 9_000, state: EPOCH_NS + 50_000}, error=error)
    lines += line_of(ids["ray.task_id"], dict.fromkeys("12", EPOCH_NS + 60_000), attempt=1)
    folder = folder_of(tmp_path, [build.span("main", span=9, duration=100), *spans, ran])
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    document = explained(folder)
    waits = "f ended without its result, and waits to be tried again, as Ray said last"
    said = [f"{waits}; the first attempt failed: its worker died, as Ray says"]
    assert texts(document, "retried") == (said if is_again else [])
    assert any("; Ray has 1 more call waiting" in text for text in texts(document, "time")) is is_again


def test_what_went_on_while_a_call_waited_for_nobody_knows_what_is_said(tmp_path: Path) -> None:
    """It may be the cause, as where a method blocks the event loop of its actor."""
    build, ms = Builder(), 1_000
    calls = [build.span("main", span=1, duration=500 * ms)]
    calls += [
        build.span(f"{name} ray.remote", span=span, parent=1, start=at * ms, duration=ms, kind="PRODUCER")
        for name, span, at in (("f", 2, 10), ("g", 3, 11))
    ]
    before = [build.span("e ray.remote_worker", trace=2, span=9 + n, duration=ms, kind="CONSUMER") for n in (0, 1)]
    ran = [
        build.span(
            f"{name} ray.remote_worker",
            span=4 + parent,
            parent=parent,
            start=start * ms,
            duration=(end - start) * ms,
            kind="CONSUMER",
        )
        for name, parent, start, end in (("f", 2, 13, 400), ("g", 3, 460, 490))
    ]
    (tmp_path / "7.txt").write_bytes(file_of(calls))
    for number, documents in enumerate(zip(before, ran, strict=True), 8):
        (tmp_path / f"{number}.txt").write_bytes(file_of([*documents]))
    said = texts(explained(str(tmp_path), "--trace", f"{1:032x}"), "time")
    assert any("waiting before g ran, cause unknown; meanwhile f ran 387 ms" in text for text in said)


def test_a_wait_of_which_no_cause_is_most_is_said_in_parts(tmp_path: Path) -> None:
    """As the line above says them, where what isn't known is the largest one."""
    task, at_ms = "35" * 8 + "0a" * 16, {"1": 0, "2": 0, "5": 400, "8": 850}
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    build = Builder()
    call = build.span("f ray.remote", span=1, start=0, duration=0, kind="PRODUCER", attributes=ids)
    about: dict[str, Any] = {"start": 1_200_000, "duration": 9, "kind": "CONSUMER", "attributes": ids}
    (tmp_path / "7.txt").write_bytes(file_of([call]))
    before = build.span("g ray.remote_worker", trace=2, span=3, start=0, duration=390_000, kind="CONSUMER")
    ran = build.span("f ray.remote_worker", span=2, parent=1, **about)
    (tmp_path / "9.txt").write_bytes(file_of([before, ran]))
    states = {state: EPOCH_NS + 1_000_000 * ms for state, ms in at_ms.items()}
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, states, asked={"CPU": 1, "lock": 1}))
    parts = "400 ms for a worker or resources, 350 ms for its code or arguments to be loaded, 450 ms cause unknown"
    assert f"at +0 µs: 1.20 s waiting before f ran, {parts}" in texts(
        explained(str(tmp_path), "--trace", f"{1:032x}"), "time"
    )


def test_what_breaks_off_after_its_status_code_has_failed(tmp_path: Path) -> None:
    """What was raised is named; where a client leaves, nothing was."""
    build, spans = Builder(), list[Any]()
    left = "asyncio.exceptions.CancelledError"
    # In the fourth, it left when it had its answer.
    for trace, kind, within in ((1, "ValueError", 3), (2, left, 3), (3, "", 3), (4, left, 1)):
        raised = {"exception.type": kind, "exception.message": "out of step" * (trace == 1)}
        events = [{"name": "exception", "timestamp": None, "attributes": raised}] if kind else []
        names = "proxy_http_request App GET /", "route_to_replica App __call__", "replica_handle_request App __call__"
        for span, name in enumerate(names, 1):
            of_span = build.span(name, trace=trace, span=span, parent=span - 1 or None, duration=90 - span)
            of_span["attributes"]["http.status_code"] = "200"
            spans.append(of_span | {"events": events if span != 2 and span <= within else []})
    document = explained(folder_of(tmp_path, spans))
    assert texts(document, "about")[0].endswith("; no span has the status ERROR, but 1 request raised an exception")
    assert sorted(texts(document, "failed")) == [
        "replica_handle_request App __call__ failed: ValueError: out of step; no status says so",
        "replica_handle_request App __call__ was cancelled, as when its caller gives up; no status says so",
    ]
    how = "2 responses broke off after a success status code was sent: 1 with an exception, 1 cancelled, as when its "
    assert f"{how}caller gives up" in texts(document, "missing")


def test_what_a_replica_broke_off_counts_where_its_proxy_has_no_code(tmp_path: Path) -> None:
    """As when it raises amid a stream: the proxy's span has neither a code nor an exception then."""
    build, spans = Builder(), list[Any]()
    events = [{"name": "exception", "timestamp": None, "attributes": {"exception.type": "OSError"}}]
    for trace, (code, raised) in enumerate([("", events), ("200", events), ("", [])], 1):
        names = "proxy_http_request App GET /", "route_to_replica App __call__", "replica_handle_request App __call__"
        for span, name in enumerate(names, 1):
            of_span = build.span(name, trace=trace, span=span, parent=span - 1 or None, duration=90 - span)
            of_span["attributes"] |= (
                {"http.status_code": "200"} if span == 3 else {"http.status_code": code} if code else {}
            )
            spans.append(of_span | {"events": raised if span == 3 else []})
    how = "1 response broke off after a success status code was sent: 1 with an exception"
    assert how in texts(explained(folder_of(tmp_path, spans)), "missing")


def test_what_failed_because_something_else_had_comes_last(tmp_path: Path) -> None:
    """However often it did, and whenever it was called."""
    build, documents, lines = Builder(), list[Any](), list[bytes]()
    errors = ("DEPENDENCY_RESOLUTION_FAILED", "DEPENDENCY_RESOLUTION_FAILED", "WORKER_DIED")
    for number, error in enumerate(errors, 1):
        task = f"{number:02x}" * 8 + "0a" * 16
        ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
        name = "first" if error == "WORKER_DIED" else "then"
        documents.append(build.span(f"{name} ray.remote", span=number, start=number, kind="PRODUCER", attributes=ids))
        lines.append(line_of(task, {"1": EPOCH_NS, "5": EPOCH_NS, "8": EPOCH_NS, "12": EPOCH_NS + 9}, error=error))
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines))
    said = texts(explained(folder_of(tmp_path, documents)), "failed")
    assert said == [
        "first failed: its worker died, as Ray says",
        "then failed 2 times: an argument of it failed, as Ray says",
    ]


def test_of_one_trace_the_same_is_said_as_among_others(tmp_path: Path) -> None:
    """Also where a lost attempt was made good: when what ran below it ended nobody knows."""
    build, runs = Builder(), "f ray.remote_worker"
    lost = build.span(runs, span=3, parent=2, start=5, kind="CONSUMER"), build.span("below", span=5, parent=3, start=7)
    (tmp_path / f"node-9-{EPOCH_NS // 1_000_000}.jsonl").write_bytes(
        file_of([one | {"end_time": None} for one in lost])
    )
    call = build.span("f ray.remote", span=2, parent=1, start=1, duration=1, kind="PRODUCER")
    good = build.span(runs, span=4, parent=2, start=500, duration=100, kind="CONSUMER")
    others = build.span("main", span=1, start=0, duration=900), build.span("other", trace=2, span=1, duration=10)
    folder = folder_of(tmp_path, [call, good, *others])
    (of_all, *_), (of_one, *_) = (texts(explained(*words, folder), "time") for words in ((), (f"{1:032x}",)))
    assert of_one.startswith("at least 900 µs = ")
    assert of_all == f"the slowest of 2 traces, main: {of_one}"


@pytest.mark.parametrize("of_both", [True, False])
def test_calls_that_left_no_attempt_may_have_failed_for_good(tmp_path: Path, *, of_both: bool) -> None:
    """As Ray says of each of their attempts, beside those of which spans say it."""
    build, documents, lines = Builder(), list[Any](), list[bytes]()
    for number in (1, 2):
        task = f"{number:02x}" * 8 + "0a" * 16
        ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
        documents.append(build.span("f ray.remote", trace=number, span=1, kind="PRODUCER", duration=5, attributes=ids))
        for span in (2, 3) if number == 1 else ():
            about: dict[str, Any] = {"kind": "CONSUMER", "status": "ERROR"}
            ran = build.span("f ray.remote_worker", trace=number, span=span, parent=1, start=90 * span, **about)
            documents.append(ran | {"attributes": ids})
        lines.append(line_of(task, {"1": EPOCH_NS, "12": EPOCH_NS + 50_000}, error="WORKER_DIED"))
        goes_on = {"5": EPOCH_NS + 80_000} if number == 2 and not of_both else {"12": EPOCH_NS + 90_000}
        lines.append(line_of(task, {"1": EPOCH_NS + 50_000, **goes_on}, attempt=1, error="WORKER_DIED"))
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines))
    (said,) = texts(explained(folder_of(tmp_path, documents)), "retried")
    assert said.startswith("1 call of f took 2 attempts, and 1 more was tried again, as Ray says")
    assert said.endswith("; 2 calls failed for good" if of_both else "; 1 call failed for good")


def test_what_is_seen_and_what_is_told_to_be_tried_again_are_counted_apart(tmp_path: Path) -> None:
    """Spans show two attempts of one call; of another one Ray tells of a second, of which no span is here."""
    build, documents, lines = Builder(), list[Any](), list[bytes]()
    for number in (1, 2):
        task = f"{number:02x}" * 8 + "0a" * 16
        ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
        documents.append(build.span("f ray.remote", trace=number, span=1, kind="PRODUCER", duration=5, attributes=ids))
        for span in range(2, 5 - number):
            about: dict[str, Any] = {"kind": "CONSUMER", "status": "ERROR" if span + number == 3 else "OK"}
            ran = build.span("f ray.remote_worker", trace=number, span=span, parent=1, start=90 * span, **about)
            documents.append(ran | {"attributes": ids})
        lines.append(line_of(task, {"1": EPOCH_NS, "12": EPOCH_NS + 50_000}))
        lines.append(line_of(task, {"1": EPOCH_NS + 50_000, "5": EPOCH_NS + 60_000}, attempt=1))
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines))
    (said,) = texts(explained(folder_of(tmp_path, documents)), "retried")
    assert said.startswith("1 call of f took 2 attempts, and 1 more was tried again, as Ray says")


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("The actor is dead because it was killed by `ray.kill`.", "it was killed by `ray.kill`"),
        (
            (
                "The actor is dead because its worker process has died. Worker exit type: INTENDED_USER_EXIT Worker "
                "exit detail: Worker exits by an user request. exit_actor() is called."
            ),
            "it called exit_actor",
        ),
    ],
)
def test_why_an_actor_died(tmp_path: Path, message: str, cause: str) -> None:
    """As Ray's message says it; that the actor itself left stands at its end."""
    task = "35" * 8 + "0a" * 16
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = Builder().span("A.f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)
    line = line_of(task, {"1": EPOCH_NS, "12": EPOCH_NS + 50_000}, error="ACTOR_DIED", message=message)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    said = texts(explained(folder_of(tmp_path, [call])), "failed")
    assert said == [f"A.f failed: its actor died ({cause}), as Ray says"]


@pytest.mark.parametrize(
    ("error", "said", "ended"),
    [
        ("ACTOR_DIED", "A.f failed: its actor died, as Ray says", "; 1 call failed for good"),
        ("TASK_CANCELLED", "A.f was cancelled, as Ray says", ""),
    ],
)
def test_what_became_of_the_last_attempt_is_what_is_said(tmp_path: Path, error: str, said: str, ended: str) -> None:
    """The attempt whose span is here was lost; of the next one, which never began, Ray says why the call failed."""
    task = "35" * 8 + "0a" * 16
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    build, gone = Builder(), {"host.name": platform.node(), "process.pid": 2**31 - 1}
    call = build.span("A.f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)
    about: dict[str, Any] = {"kind": "CONSUMER", "attributes": ids, "resource": gone}
    ran = build.span("A.f ray.remote_worker", span=2, parent=1, start=20, duration=None, **about)
    times = {"1": EPOCH_NS, "8": EPOCH_NS + 20_000, "12": EPOCH_NS + 50_000}
    again = {"1": EPOCH_NS + 60_000, "12": EPOCH_NS + 90_000}
    lines = line_of(task, times, error="ACTOR_UNAVAILABLE"), line_of(task, again, attempt=1, error=error)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines))
    document = explained(folder_of(tmp_path, [call, ran]))
    assert texts(document, "failed") == [said]
    why = "the first attempt failed: its actor could not be reached, as Ray says"
    assert texts(document, "retried") == [f"1 call of A.f was tried again, as Ray says; {why}{ended}"]


@pytest.mark.parametrize(("others", "is_said"), [([], True), ([100], False), ([None], False)])
def test_a_process_that_is_slow_is_named(tmp_path: Path, others: list[int | None], *, is_said: bool) -> None:
    """Where all spans of a name took long that it ran, and others didn't; of one without an end nobody knows."""
    build = Builder()

    def ran(first: int, durations: Iterable[int | None]) -> bytes:
        return file_of(
            [build.span("resize", trace=trace, span=1, duration=ms) for trace, ms in enumerate(durations, first)]
        )

    (tmp_path / "7.txt").write_bytes(ran(1, [100] * 9))
    (tmp_path / "9.txt").write_bytes(ran(20, [900, 1_000, *others]))
    (said,) = texts(explained(str(tmp_path)), "unusual")
    assert said.startswith("resize itself took 1 ms, 10 times its median of 100 µs")
    assert said.endswith("; all 2 that process 9 ran took 3 times the median or more") is is_said


@pytest.mark.parametrize(
    ("in_each", "said"),
    [
        (
            [[900, 100, 100], [900, 100], [100, 100]],
            "; 2 took 3 times the median or more, each the first score of its process",
        ),
        ([[900, 100, 100], [100, 100, 100]], "; the first score of its process"),
        # The last of its process; the only ones of theirs.
        ([[100, 100, 900], [100, 100]], ""),
        ([[900], [900], [100], [100], [100]], ""),
    ],
)
def test_what_took_long_as_the_first_of_its_process(tmp_path: Path, in_each: list[list[int]], said: str) -> None:
    """As where each process has to load something first."""
    build = Builder()
    for pid, durations in enumerate(in_each, 7):
        about = [(f"{pid}{number}", 1_000 * number, ms) for number, ms in enumerate(durations)]
        spans = [build.span("score", trace=int(trace), span=1, start=start, duration=ms) for trace, start, ms in about]
        (tmp_path / f"{pid}.txt").write_bytes(file_of(spans))
    (text,) = texts(explained(str(tmp_path)), "unusual")
    assert text.partition(" spans)")[2] == said


_UNBEGUN: Final = "; no replica is seen to have begun 1 of them, likely in the queue for 5 ms"
_LOST: Final = "; 1 of them has no span of a replica: lost, elsewhere, or never begun"
_NONE_SEEN: Final = _LOST.replace("1 of them has", "2 of them have")


@pytest.mark.parametrize(
    ("status", "is_seen", "said"),
    [
        (408, True, _UNBEGUN),
        (499, True, _UNBEGUN),
        (200, True, _LOST),
        (408, False, _NONE_SEEN),
        (500, True, _LOST),
        (500, False, _NONE_SEEN),
        (503, True, ""),
    ],
)
def test_a_request_that_no_replica_has_begun(tmp_path: Path, status: int, said: str, *, is_seen: bool) -> None:
    """It was in the queue until it was given up, or its replica died, or that's file isn't there."""
    build, own = Builder(), {"app": "shop", "deployment": "Cart"}
    spans = list[Any]()
    for trace, lasted in enumerate((5_000, 40), 1):
        about: dict[str, Any] = {"trace": trace, "attributes": own | {"http.status_code": str(status)}}
        spans.append(build.span("proxy_http_request Cart GET ", span=1, start=0, duration=lasted + 40, **about))
        spans.append(build.span("route_to_replica Cart __call__", span=2, parent=1, start=10, duration=lasted, **about))
    replica = build.span("replica_handle_request Cart __call__", trace=2, span=3, parent=2, start=20, duration=20)
    (tmp_path / "proxy_192.0.2.2_tracing.json").write_bytes(file_of([*spans, *[replica] * is_seen]))
    document = explained(str(tmp_path), "--by", "serve")
    (row,) = (row for row in document["rows"] if "2 requests" in row["text"])
    assert [text for text in (_UNBEGUN, _LOST, _NONE_SEEN) if row["text"].endswith(text)] == [said] * bool(said)
    assert row["certainty"] == ("likely" if said == _UNBEGUN else "certain")


@pytest.mark.parametrize(
    ("raised", "said"),
    [("ValueError", "ValueError: no ticket"), ("CancelledError", "HTTP status 500"), ("", "HTTP status 500")],
)
def test_what_a_replica_raised_is_named_where_its_proxy_did_not_get_it(tmp_path: Path, raised: str, said: str) -> None:
    """It may have been cancelled while the error was on its way."""
    build = Builder()

    def failed(kind: str, message: str) -> dict[str, Any]:
        attributes = {"exception.type": kind, "exception.message": message}
        event = {"name": "exception", "timestamp": "2023-11-14T22:13:20.000005Z", "attributes": attributes}
        return {"events": [event] if kind else []}

    own = {"app": "shop", "deployment": "Cart", "http.status_code": "500"}
    proxy = failed("asyncio.exceptions.CancelledError", "") | {"attributes": own, "status": "ERROR"}
    spans = [
        build.span("proxy_http_request Cart GET /", span=1, duration=90, **proxy),
        build.span("route_to_replica Cart __call__", span=2, parent=1, start=10, duration=70),
        build.span("replica_handle_request Cart __call__", span=3, parent=2, start=20, **failed(raised, "no ticket")),
    ]
    (tmp_path / "proxy_192.0.2.2_tracing.json").write_bytes(file_of(spans))
    assert texts(explained(str(tmp_path)), "failed") == [f"proxy_http_request Cart GET / failed: {said}"]


@pytest.mark.parametrize(("ahead_us", "certainty"), [(0, "certain"), (900_000, "likely")])
def test_when_all_began_is_likely_where_clocks_differ(tmp_path: Path, ahead_us: int, certainty: str) -> None:
    """Two clocks tell when the first span began, and when the last one ended."""
    build = Builder()
    (tmp_path / "7.json").write_bytes(file_of([build.span("GET", span=1, start=ahead_us, duration=900)]))
    inner = build.span("SELECT", span=2, parent=1, start=10, duration=80)
    (tmp_path / "8.json").write_bytes(file_of([inner, *build.draw("a 0-10", trace=2)]))
    (about,) = (row for row in explained(str(tmp_path))["rows"] if row["topic"] == "about")
    assert about["certainty"] == certainty
    assert (" in about " in about["text"]) is (", from about " in about["text"]) is (certainty == "likely")


@pytest.mark.parametrize(
    ("count", "said"), [(19, ""), (20, "; 19 of 20 took 190 µs or less"), (21, "; 20 of 21 took 200 µs or less")]
)
def test_how_long_most_requests_took(tmp_path: Path, count: int, said: str) -> None:
    """Of few it isn't said."""
    build, own = Builder(), {"app": "shop", "deployment": "Cart"}
    spans = [
        build.span(name, trace=number, span=span, parent=span - 1, duration=10 * number, attributes=own)
        for number in range(1, count + 1)
        for span, name in enumerate(("proxy_http_request Cart GET /", "replica_handle_request Cart __call__"), 1)
    ]
    (tmp_path / "proxy_192.0.2.2_tracing.json").write_bytes(file_of(spans))
    (text,) = (text for text in texts(explained(str(tmp_path), "--by", "serve"), "time") if "requests" in text)
    assert text.endswith(f" other{said}")


def test_requests_whose_spans_name_no_deployment(tmp_path: Path) -> None:
    """Nothing is asked of a name that isn't there."""
    build = Builder()
    about: dict[str, Any] = {"attributes": {"app": "shop", "deployment": "Cart"}}
    spans = [
        build.span("proxy_http_request", span=1, duration=9_000, **about),
        build.span("route_to_replica", span=2, parent=1, start=10, duration=8_900, **about),
        build.span("replica_handle_request", span=3, parent=2, start=8_000, duration=900, **about),
    ]
    said = texts(explained(folder_of(tmp_path, spans), "--by", "serve"), "time")
    assert said[0].endswith(
        "7.99 ms in the queue before a replica's first request, while no other is seen to handle one: it may have "
        "been starting"
    )


@pytest.mark.parametrize("is_first", [True, False])
def test_a_queue_before_a_replica_that_had_begun_nothing(tmp_path: Path, *, is_first: bool) -> None:
    """Of three requests two waited for it to start, and one for its turn; or all of them did."""
    build, own = Builder(), {"app": "shop", "deployment": "Cart"}
    proxy, replica = list[Any](), list[Any]()
    for trace, (sent, starts) in enumerate(((0, 9_000), (4_000, 9_100), (9_150, 9_200)), 1):
        about: dict[str, Any] = {"trace": trace, "attributes": own}
        proxy.append(build.span("proxy_http_request Cart GET /", span=1, start=sent, duration=9_300 - sent, **about))
        fields: dict[str, Any] = {"start": sent + 10, "duration": 9_280 - sent, "parent": 1}
        proxy.append(build.span("route_to_replica Cart __call__", span=2, **fields, **about))
        name = "replica_handle_request Cart __call__"
        replica.append(build.span(name, span=3, parent=2, start=starts, duration=50, **about))
    # That its actor is made is no request.
    replica.append(build.span("ServeReplica:shop:Cart.__init__ ray.remote_worker", trace=8, start=0, duration=8_000))
    if not is_first:
        replica.append(build.span("replica_handle_request Cart __call__", trace=9, span=3, start=0, duration=5))
    (tmp_path / "proxy_192.0.2.2_tracing.json").write_bytes(file_of(proxy))
    (tmp_path / "cart_replica_a1_tracing.json").write_bytes(file_of(replica))
    (said, *_) = (text for text in texts(explained(str(tmp_path), "--by", "serve"), "time") if "3 requests" in text)
    early = (
        "in the queue before a replica's first request, while no other is seen to handle one: it may have been starting"
    )
    assert said.endswith(f"; 14.0 ms {early}") is is_first
    # One that has no end may have handled more.
    lost = build.span("replica_handle_request Cart other", trace=7, span=3, start=0, duration=None)
    (tmp_path / "cart_replica_b2_tracing.json").write_bytes(file_of([lost]))
    (said, *_) = (text for text in texts(explained(str(tmp_path), "--by", "serve"), "time") if "3 requests" in text)
    assert (f"at most 14.0 ms {early}" in said) is is_first
    # It may have, until it was seen to run last.
    store = load_store(str(tmp_path))
    (row,) = (row for row in range(len(store.spans)) if store.spans.end_ns[row] == NO_TIME)
    for seen_ns, is_early in ((EPOCH_NS + 1_000, is_first), (EPOCH_NS + 8_000_000, False)):
        over = {row: Unended(Fate.LOST, "its process has ended", seen_ns=seen_ns)}
        said = " ".join(statement.text for statement in explanation(store, by="serve", unended=over).rows)
        assert (early in said) is is_early
    # Not while another one of its deployment handled some.
    other = build.span("replica_handle_request Cart other", trace=7, span=3, start=3_000, duration=6_000)
    (tmp_path / "cart_replica_b2_tracing.json").write_bytes(file_of([other]))
    (said, *_) = (text for text in texts(explained(str(tmp_path), "--by", "serve"), "time") if "3 requests" in text)
    assert early not in said
    (tmp_path / "cart_replica_b2_tracing.json").unlink()
    # Of one trace, too.
    of_one = explained(str(tmp_path), "--trace", f"{1:032x}")
    assert any(early in text for text in texts(of_one, "time")) is is_first


@pytest.mark.parametrize(("slow_ms", "is_said"), [(900, True), (400, False)])
def test_what_took_the_time_of_a_result_that_was_waited_for(tmp_path: Path, slow_ms: int, *, is_said: bool) -> None:
    """A request within the call that made it, where that is most of the wait."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call: dict[str, Any] = {"parent": 9, "kind": "PRODUCER", "duration": 1_000}
    caller = [
        build.span("main", span=9, duration=1_111_000),
        build.span("load ray.remote", span=1, start=1_000, **call),
        build.span("use ray.remote", span=3, start=3_000, **call, attributes=ids),
    ]
    load = [
        build.span("load ray.remote_worker", span=2, parent=1, start=5_000, duration=985_000, kind="CONSUMER"),
        build.span("GET /slow", span=5, parent=2, start=20_000, duration=1_000 * slow_ms, kind="CLIENT"),
    ]
    about: dict[str, Any] = {"kind": "CONSUMER", "attributes": ids}
    use = [build.span("use ray.remote_worker", span=4, parent=3, start=1_010_000, duration=100_000, **about)]
    for pid, documents in enumerate((caller, load, use), 7):
        (tmp_path / f"{pid}.txt").write_bytes(file_of(documents))
    at = {"1": 3, "2": 1_000, "5": 1_001, "8": 1_010}
    line = line_of(task, {state: EPOCH_NS + 1_000_000 * ms for state, ms in at.items()}, name="use")
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    (said,) = (text for text in texts(explained(str(tmp_path)), "time") if "waiting before use ran, " in text)
    waited = "at +4 ms: 1.01 s waiting before use ran, likely for its arguments: likely the result of load"
    assert said == f"{waited}{'; load spent 900 ms of that running GET /slow' if is_said else ''}"


def test_failures_that_are_left_out_are_counted(tmp_path: Path) -> None:
    """Of many kinds of failures the first are told; how many more there are is said, with what shows them."""
    build = Builder()
    answered = {"http.request.method": "GET", "http.response.status_code": 500}
    spans = [
        build.span(f"GET /{number}", trace=number + 1, span=1, kind="SERVER", attributes=answered)
        for number in range(42)
    ]
    document = explained(folder_of(tmp_path, spans), "--lines", "200")
    *told, more = texts(document, "failed")
    assert (len(told), more) == (40, "2 more, of which something else is said")


def test_a_caller_may_await_what_never_ran(tmp_path: Path) -> None:
    """Also where nothing that was called has run: that it itself ran until then is likely."""
    build = Builder()
    documents = [
        build.span("main", span=1, start=0, duration=90_000),
        build.span("f ray.remote", span=2, parent=1, start=10, duration=5, kind="PRODUCER"),
    ]
    rows = explained(folder_of(tmp_path, documents))["rows"]
    said = [(row["text"], row["certainty"]) for row in rows if "running main" in row["text"]]
    assert said[-1] == ("at +15 µs: 90.0 ms running main (main may have awaited calls)", "likely")
    assert {certainty for _, certainty in said} == {"likely"}


def test_a_call_that_has_finished_may_not_have_run(tmp_path: Path) -> None:
    """Ray has a call of an actor that exited as finished: that says neither that it ran nor that tracing skips it."""
    task = "35" * 8 + "0a" * 16
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = Builder().span("A.f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)
    line = line_of(task, {"1": EPOCH_NS, "2": EPOCH_NS + 1_000, "11": EPOCH_NS + 50_000})
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    document = explained(folder_of(tmp_path, [call]))
    assert texts(document, "unseen") == [
        "The only call has no attempt: finished, as Ray says, which doesn't say that it ran (A.f)"
    ]


def test_all_that_a_dead_process_ran_is_lost(tmp_path: Path) -> None:
    """Also far away: where Ray says that the process of an attempt died, what had begun below it ended with it."""
    task, far = "35" * 8 + "0a" * 16, {"host.name": "elsewhere", "process.pid": 7}
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    build = Builder()
    call = build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)
    more: dict[str, Any] = {"duration": None, "resource": far}
    ran = build.span("f ray.remote_worker", span=2, parent=1, start=20, kind="CONSUMER", attributes=ids, **more)
    below, later = (build.span("inner", span=start, parent=2, start=start, **more) for start in (30, 90))
    (tmp_path / "7.txt").write_bytes(file_of([ran, below, later]))
    line = line_of(task, {"1": EPOCH_NS, "8": EPOCH_NS + 20_000, "12": EPOCH_NS + 50_000}, error="WORKER_DIED")
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    document = explained(folder_of(tmp_path, [call]))
    assert texts(document, "unseen") == [
        "3 records have no end: 2 were lost with their processes, 1 may have ended, or still run"
    ]
    assert texts(document, "failed") == [
        "f failed: its worker died, as Ray says",
        "inner was lost: its process (pid 7) has ended, as Ray says",
    ]


@pytest.mark.parametrize(
    ("waits", "waited"), [({}, ""), ({"2": EPOCH_NS + 1_000}, "; it waited for a worker or 1 CPU, 2 GPUs")]
)
def test_why_an_actor_was_never_made(tmp_path: Path, waits: dict[str, int], waited: str) -> None:
    """That it was killed is known of the actor, and what it waited for until then of its creation."""
    actor = "0b" * 16
    task = "ff" * 8 + actor
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24, "ray.actor_id": actor}
    call = Builder().span("A.__init__ ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)
    states, asked = {"1": EPOCH_NS, **waits, "12": EPOCH_NS + 50_000}, {"CPU": 1.0, "GPU": 2.0}
    line = line_of(task, states, error="WORKER_DIED", kind="ACTOR_CREATION_TASK", asked=asked)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    died = {"actor_died_error_context": {"error_message": "The actor is dead because it was killed by `ray.kill`."}}
    data = {"actor_id": base64.b64encode(bytes.fromhex(actor)).decode(), "state": "DEAD", "death_cause": died}
    event = {"event_data": data, "source_type": "EXPORT_ACTOR", "timestamp": EPOCH_NS // 10**9}
    (tmp_path / "event_EXPORT_ACTOR.log").write_text(json.dumps(event) + "\n")
    assert texts(explained(folder_of(tmp_path, [call])), "failed") == [
        f"A.__init__ failed: its actor was not made (it was killed by `ray.kill`){waited}, as Ray says"
    ]


@pytest.mark.parametrize(
    ("by", "why", "has_failed"),
    [
        ("SystemExit: exit_actor() is called.", "its worker process has died", False),
        ("", "The actor is dead because its worker has. exit_actor() is called.", False),
        ("", "its worker process has died", True),
        (
            "SystemExit: The process receives a SIGTERM.",
            "The actor is dead because its worker has. exit_actor() is called.",
            True,
        ),
    ],
)
def test_a_call_that_ended_its_actor_has_not_failed(tmp_path: Path, by: str, why: str, *, has_failed: bool) -> None:
    """Though Ray tried it again in vain: by its record, or else by what Ray says of the actor."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("A.f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)
    ended_by = {ENDED_BY: by} if by else {}
    ran = build.span(
        "A.f ray.remote_worker", span=2, parent=1, start=20, duration=9, kind="CONSUMER", attributes=ids | ended_by
    )
    times = {"1": EPOCH_NS, "8": EPOCH_NS + 20_000, "12": EPOCH_NS + 50_000}
    again = {"1": EPOCH_NS + 60_000, "12": EPOCH_NS + 90_000}
    lines = (
        line_of(task, times, error="ACTOR_UNAVAILABLE"),
        line_of(task, again, attempt=1, error="ACTOR_DIED", message=why),
    )
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines))
    document = explained(folder_of(tmp_path, [call, ran]))
    assert bool(texts(document, "failed")) is has_failed
    assert any("failed for good" in text for text in texts(document, "retried")) is has_failed


@pytest.mark.parametrize("is_new", [True, False])
def test_what_had_to_end_first_may_have_waited_too(tmp_path: Path, *, is_new: bool) -> None:
    """The constructor waited for a new worker in most of the wait, or was made when the call was there."""
    build, files = Builder(), dict[str, list[Any]](driver=[], worker=[])
    for number, (name, start, began) in enumerate((("A.__init__", 0 if is_new else 800, 900), ("A.f", 2, 910)), 1):
        more: dict[str, Any] = {"trace": number, "attributes": {"ray.remote": "actor"}}
        called: dict[str, Any] = {"span": 2 * number, "start": 1_000 * start, "duration": 5, "kind": "PRODUCER"}
        files["driver"].append(build.span(f"{name} ray.remote", **called, **more))
        ran: dict[str, Any] = {"span": 2 * number + 1, "parent": 2 * number, "start": 1_000 * began, "kind": "CONSUMER"}
        files["worker"].append(build.span(f"{name} ray.remote_worker", duration=9_000, **ran, **more))
    for pid, documents in enumerate(files.values(), 7):
        (tmp_path / f"{pid}.txt").write_bytes(file_of(documents))
    rows = explained(str(tmp_path), "--trace", f"{2:032x}")["rows"]
    ((said, certainty),) = [(row["text"], row["certainty"]) for row in rows if row["text"].startswith("at +5 µs")]
    assert "for its actor to be ready: A.__init__ had to end first" in said
    why = "A.__init__ waited 898 ms of that likely for a new worker or its code: its process ran nothing before"
    assert said.endswith(f"; {why}") is is_new
    assert certainty == ("likely" if is_new else "certain")


def test_what_an_actor_was_to_run_first(tmp_path: Path) -> None:
    """It waited for its arguments: for most of the wait behind it the actor ran nothing."""
    build, actor = Builder(), {"process.pid": 8}
    states = {
        "A.__init__": ("ACTOR_CREATION_TASK", 0, 1, 2, 10),
        "A.f": ("ACTOR_TASK", 20, 2_000, 2_001, 2_002),
        "A.g": ("ACTOR_TASK", 30, 31, 2_032, 2_093),
    }
    documents, attempts, lines = [], [], list[bytes]()
    for number, (name, (kind, made, ready, sent, runs)) in enumerate(states.items(), 1):
        task = f"{number:016x}" + "0a" * 16
        ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
        more: dict[str, Any] = {"trace": number, "attributes": ids | {"ray.remote": "actor"}}
        called: dict[str, Any] = {"span": 2 * number, "start": 1_000 * made, "duration": 5, "kind": "PRODUCER"}
        documents.append(build.span(f"{name} ray.remote", **called, **more))
        ran: dict[str, Any] = {
            "span": 2 * number + 1,
            "parent": 2 * number,
            "start": 1_000 * runs + 50,
            "kind": "CONSUMER",
        }
        attempt = build.span(f"{name} ray.remote_worker", duration=90_000, resource=actor, **ran, **more)
        attempts.append(attempt)
        times = {"1": made, "2": ready, "5": sent, "8": runs, "11": runs + 91}
        lines.append(line_of(task, {state: EPOCH_NS + 10**6 * ms for state, ms in times.items()}, kind=kind, name=name))
    (tmp_path / "8.txt").write_bytes(file_of(attempts))
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines))
    folder = folder_of(tmp_path, documents)
    (trace,) = {row["trace_id"] for row in explained(folder, "--by", "ray")["rows"] if "of A.g took" in row["text"]}
    (said,) = [text for text in texts(explained(folder, "--trace", trace), "time") if text.startswith("at +5 µs")]
    assert said.endswith("for its actor: A.f was to run first; A.f waited 1.97 s of that for its arguments")


def test_what_ray_says_never_ran_leaves_no_doubt() -> None:
    """What waited for what no node has is said of a call that took no more than its submission."""
    first, *_ = texts(explained("-q", "name~never", str(FIXTURES / "ray-events-hook")), "time")
    waited = "never waited for 1 GPU (no node has that), at most until its driver ended"
    assert first == f"4.77 ms, all submitting never; {waited}"


def test_what_no_worker_has_got_yet_waits(tmp_path: Path) -> None:
    """While its driver may live, Ray's word is the answer of one trace, and of several only what has ended."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)
    folder = folder_of(tmp_path, [call, build.span("other", trace=2, duration=3)])
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, dict.fromkeys("12", EPOCH_NS)))
    said = "5 µs, all submitting f; f waits for a worker or 1 CPU, as Ray said last"
    assert texts(explained("-q", "name~f", folder), "time")[0] == said
    # As long as it waits, its trace has not ended.
    assert texts(explained(folder), "time")[0] == "the only trace known to have ended, other: 3 µs, all in other"


@pytest.mark.parametrize("says_end", [True, False])
def test_an_attempt_without_an_end_has_one_where_ray_says_so(tmp_path: Path, *, says_end: bool) -> None:
    """What passed from when Ray says that an attempt had failed to the next one was waiting."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    gone = {"host.name": platform.node(), "process.pid": 2**31 - 1}
    folder = folder_of(
        tmp_path,
        [
            build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids),
            *(
                build.span(
                    "f ray.remote_worker",
                    span=span,
                    parent=1,
                    start=start,
                    duration=duration,
                    kind="CONSUMER",
                    attributes=ids,
                    resource=gone,
                )
                for span, start, duration in ((2, 20, None), (3, 90, 10))
            ),
        ],
    )
    failed = {"12": EPOCH_NS + 50_000} if says_end else {}
    lines = (
        line_of(task, {"1": EPOCH_NS, "8": EPOCH_NS + 20_000, **failed}),
        line_of(task, {"1": EPOCH_NS + 50_000, "8": EPOCH_NS + 90_000}, attempt=1),
    )
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines))
    document = explained(folder)
    first, *_ = texts(document, "time")
    said = "40 µs waiting between attempts of f" if says_end else "70 µs after an attempt of f without an end began"
    assert said in first
    at_most = [row["certainty"] for row in document["rows"] if row["text"].startswith("at +20 µs: at most 30 µs")]
    assert at_most == ["likely"] * says_end


@pytest.mark.parametrize("call", ["ServeController.__init__", "ServeReplica:default:Front.push_proxy_handle"])
def test_rays_own_traces_are_not_the_slowest(tmp_path: Path, call: str) -> None:
    """A trace that one of Ray's own calls began, such as Serve's controller, is none of the program's."""
    build = Builder()
    own = build.span(f"{call} ray.remote", trace=1, duration=90_000, kind="PRODUCER")
    document = explained(folder_of(tmp_path, [own, *build.draw("root 0-100", trace=2)]))
    assert texts(document, "time")[0] == "the only trace of the program, root: 100 µs, all in root"


@pytest.mark.parametrize(
    ("ends_well", "error", "first", "last", "why"),
    [
        (True, "WORKER_DIED", "were lost", "", ""),
        (False, "WORKER_DIED", "were lost", "; the last one was lost, too", "its worker died"),
        (True, "TASK_EXECUTION_EXCEPTION", "failed", "", ""),
        (False, "TASK_EXECUTION_EXCEPTION", "failed", "; the last one failed", "it failed with OSError: no"),
    ],
)
def test_lost_attempts_that_were_tried_again(
    tmp_path: Path, error: str, first: str, last: str, why: str, *, ends_well: bool
) -> None:
    """A trace has ended where its last attempt has, and each attempt that was lost, or has failed, is said to be."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    gone = {"host.name": platform.node(), "process.pid": 2**31 - 1}
    documents = [build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)]
    for span, start, duration in ((2, 20, None), (3, 90, None), (4, 190, 10 if ends_well else None)):
        about: dict[str, Any] = {"kind": "CONSUMER", "attributes": ids, "resource": gone}
        documents.append(
            build.span("f ray.remote_worker", span=span, parent=1, start=start, duration=duration, **about)
        )
    times = ((20, 50), (90, 120), (190, 200))
    lines = (
        line_of(
            task,
            {
                "1": EPOCH_NS + (start - 20) * 1_000,
                "8": EPOCH_NS + start * 1_000,
                "11" if ends_well and attempt == len(times) - 1 else "12": EPOCH_NS + end * 1_000,
            },
            attempt=attempt,
            error="" if ends_well and attempt == len(times) - 1 else error,
            message="User exception:\n  File p.py\nOSError: no" if error != "WORKER_DIED" else "",
        )
        for attempt, (start, end) in enumerate(times)
    )
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines))
    folder = folder_of(tmp_path, [*documents, *build.draw("root 0-100", trace=2)])
    document = explained(folder)
    slowest, (retried,) = texts(document, "time")[0], texts(document, "retried")
    assert slowest.startswith(f"the slowest of 2 traces, f: {'' if ends_well else 'at most '}200 µs")
    assert f"1 call of f took 3 attempts; the first 2 attempts {first} (" in retried
    assert retried.rpartition(")")[2] == last
    assert texts(document, "failed") == ([] if ends_well else [f"f failed: {why}, as Ray says"])
    (head,) = texts(document, "about")
    assert head.endswith(
        "no span failed" if ends_well else "no span has the status ERROR, but 1 call failed or was lost"
    )
    spent = next(text for text in texts(document, "time") if text.startswith("1 call of f"))
    assert ("; what 1 without an end ran isn't counted" in spent) is not ends_well
    stretches = [text for text in texts(explained("-q", "name~f", folder), "time") if "between attempts of f" in text]
    # Ray may hear late that an attempt had ended.
    assert all(re.fullmatch(r"at \+.+: at least .+ waiting between attempts of f", text) for text in stretches[1:])
    assert len(stretches) == 3
    if ends_well:
        assert spent.startswith("1 call of f took 195 µs = 15 µs waiting")
        assert spent.endswith(
            " + 10 µs running + at least 110 µs between attempts + 60 µs after attempts without an end began"
        )


@pytest.mark.parametrize("next_error", ["", "WORKER_DIED"], ids=["waits", "failed, too"])
def test_a_call_that_is_tried_again_has_not_failed(tmp_path: Path, next_error: str) -> None:
    """Its attempt was lost, and the next one, without a span yet, waits: unless Ray says that it failed, too."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    gone = {"host.name": platform.node(), "process.pid": 2**31 - 1}
    about: dict[str, Any] = {"kind": "CONSUMER", "attributes": ids, "resource": gone}
    lives = {"host.name": platform.node(), "process.pid": os.getpid()}
    now = (time.time_ns() - EPOCH_NS) // 1_000
    call = build.span("f ray.remote", span=1, start=now, duration=5, kind="PRODUCER", attributes=ids, resource=lives)
    lost = build.span("f ray.remote_worker", span=2, parent=1, start=now + 20, duration=None, **about)
    first_ns = EPOCH_NS + now * 1_000
    made_ns = first_ns + 51_000
    states = [{"1": first_ns, "8": first_ns + 20_000, "12": first_ns + 50_000}, {"1": made_ns, "2": made_ns}]
    states[1] |= {"12": first_ns + 90_000} if next_error else {}
    lines = (
        line_of(task, of_attempt, attempt=attempt, error=error)
        for attempt, (of_attempt, error) in enumerate(zip(states, ("WORKER_DIED", next_error), strict=True))
    )
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines))
    folder = folder_of(tmp_path, [call, lost, *build.draw("root 0-100", trace=2)])
    document = explained(folder)
    (running,) = texts(document, "running") or [""]
    text = " ago, has not been seen to run again (its next attempt waits for a worker or 1 CPU, as Ray says)"
    assert (running.startswith("f, tried again "), running.endswith(text)) == (not next_error, not next_error)
    rows = json.loads(spanview("stats", "--by", "running", "--json", folder).output)["rows"]
    assert [(row["state"], row["since_ns"]) for row in rows] == [("waiting", made_ns)] * (not next_error)
    of_call = spanview("stats", "--by", "ray-call", folder).output.decode().splitlines()[1]
    assert ("✖ lost" in of_call, " waiting " in of_call) == (bool(next_error), not next_error)
    assert bool(texts(document, "failed")) is bool(next_error)
    assert ("1 call failed" in texts(document, "about")[0]) is bool(next_error)
    assert not any("was lost, too" in text for text in texts(document, "retried")) or next_error
    # Another one, which nobody has seen, waits as well.
    other, more = "36" * 8 + "0a" * 16, build.span("g ray.remote", start=now + 99, kind="PRODUCER", resource=lives)
    more["attributes"] = {**ids, "ray.task_id": other}
    folder_of(tmp_path, [call, lost, more])
    with (tmp_path / "event_EXPORT_TASK_7.log").open("ab") as file:
        file.write(line_of(other, {"1": made_ns, "2": made_ns}, name="g"))
    (running,) = texts(explained(folder), "running")
    assert running.endswith("; 1 other call may wait, too") is (not next_error)


@pytest.mark.parametrize("runs", [True, False])
def test_a_caller_that_runs_may_not_await_what_it_called(tmp_path: Path, *, runs: bool) -> None:
    """Until it ends nobody knows which of its calls it awaits, if any: it is said of the whole path."""
    build, now = Builder(), (time.time_ns() - EPOCH_NS) // 1_000 - 2_000_000
    here = {"host.name": platform.node(), "process.pid": os.getpid()}
    caller = [build.span("nightly", span=1, start=now, duration=None if runs else 1_003_000, resource=here)]
    for number, name in enumerate(("crunch", "upload")):
        call: dict[str, Any] = {
            "span": 2 + number,
            "parent": 1,
            "start": now + 100 + number,
            "duration": 10,
            "kind": "PRODUCER",
        }
        caller.append(build.span(f"{name} ray.remote", resource=here, **call))
        ran: dict[str, Any] = {
            "span": 8 + number,
            "parent": 2 + number,
            "start": now + 1_000 + number,
            "kind": "CONSUMER",
        }
        length = None if runs else 1_000_000
        attempt = build.span(f"{name} ray.remote_worker", duration=length, resource=here, **ran)
        (tmp_path / f"{name}.json").write_bytes(file_of([attempt]))
    (row, *_) = (row for row in explained(folder_of(tmp_path, caller))["rows"] if row["topic"] == "time")
    assert ("may not have awaited" in row["text"]) is runs
    assert row["certainty"] == ("likely" if runs else "certain")


def test_what_a_dead_caller_had_called(tmp_path: Path) -> None:
    """Ray gives it up with its caller: it neither runs nor waits, and what was lost of it was made good further up."""
    build, gone, lines = Builder(), {"host.name": platform.node(), "process.pid": 2**31 - 1}, list[bytes]()
    node, now = {"ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}, (time.time_ns() - EPOCH_NS) // 1_000

    def span(name: str, number: int, start: int, *, task: int = 0, **more: Any) -> Any:
        ids = {**node, "ray.task_id": f"{task:016x}" + "0a" * 16} if task else {}
        kind = "CONSUMER" if name.endswith("worker") else "PRODUCER"
        return build.span(name, span=number, start=now + start, kind=kind, resource=gone, attributes=ids, **more)

    def say(task: int, states: dict[str, int], **more: Any) -> None:
        at = {state: EPOCH_NS + 1_000 * (now + us) for state, us in states.items()}
        lines.append(line_of(f"{task:016x}" + "0a" * 16, at, **more))

    retried = span("whole ray.remote_worker", 3, 500, task=1, parent=1, duration=90)
    files = {
        "driver": [span("whole ray.remote", 1, 0, task=1), span("f ray.remote", 11, 0, task=5, trace=2)],
        "first": [
            span("whole ray.remote_worker", 2, 10, task=1, parent=1, duration=None),
            *(span(f"part{task} ray.remote", 10 + task, 20 + task, task=task, parent=2) for task in (2, 3, 4)),
        ],
        "second": [retried],
        "third": [span("part4 ray.remote_worker", 9, 40, parent=14, duration=None)],
        "fourth": [
            span("f ray.remote_worker", 12, 10, task=5, parent=11, trace=2, duration=None),
            span("g ray.remote", 13, 20, parent=12, trace=2, duration=None),
        ],
    }
    for pid, documents in enumerate(files.values(), 7):
        (tmp_path / f"{pid}.txt").write_bytes(file_of(documents))
    say(1, {"1": 0, "2": 0, "8": 10, "12": 90}, name="whole", error="WORKER_DIED")
    say(1, {"1": 90, "2": 90, "8": 500, "11": 600}, name="whole", attempt=1)
    say(2, {"1": 22, "2": 22, "5": 25, "8": 30}, name="part2")
    say(3, {"1": 23, "2": 23}, name="part3")
    say(5, {"1": 0, "2": 0, "8": 10, "12": 90}, name="f", error="WORKER_DIED")
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(b"".join(lines))
    checked = " ".join(spanview("check", tmp_path).output.decode().split())
    assert "3 of 6 calls have no attempt: " in checked
    for text in (
        "submission has no end (g)",
        "ran, or was loaded, at most until its caller died",
        "waited for a worker or 1 CPU, at most until its caller died",
    ):
        assert text in checked
    assert "()" not in checked
    assert "What no node has" not in checked
    assert "(what it was below was tried again, and ended well)" in checked
    failed = texts(explained(str(tmp_path)), "failed")
    assert [text.partition(":")[0] for text in failed if "g" in text.partition(":")[0].split()] == [
        "submitting g was lost"
    ]


def test_a_constructor_that_was_lost_when_it_ran_again(tmp_path: Path) -> None:
    """Its first attempt wasn't lost: it ended well, and its actor lived."""
    build, gone = Builder(), {"host.name": platform.node(), "process.pid": 2**31 - 1}
    now = (time.time_ns() - EPOCH_NS) // 1_000
    call = build.span("A.__init__ ray.remote", span=1, start=now, duration=5, kind="PRODUCER", resource=gone)
    ran: dict[str, Any] = {"parent": 1, "kind": "CONSUMER", "resource": gone}
    first = build.span("A.__init__ ray.remote_worker", span=2, start=now + 10, duration=5, **ran)
    last = build.span("A.__init__ ray.remote_worker", span=3, start=now + 90, duration=None, **ran)
    document = explained(folder_of(tmp_path, [call, first, last]))
    (said,) = (row for row in document["rows"] if row["topic"] == "retried")
    assert said["certainty"] == "likely"
    assert said["text"].endswith("; the last one likely was lost")


def test_a_constructor_that_was_lost_took_time(tmp_path: Path) -> None:
    """Until it ran again: its actor lived only after that."""
    build = Builder()
    call = build.span("A.__init__ ray.remote", span=1, start=0, duration=5, kind="PRODUCER")
    ran: dict[str, Any] = {"parent": 1, "kind": "CONSUMER"}
    first = build.span("A.__init__ ray.remote_worker", span=2, start=10, duration=None, **ran)
    last = build.span("A.__init__ ray.remote_worker", span=3, start=90, duration=20, **ran)
    (text,) = texts(explained(folder_of(tmp_path, [call, first, last]), "--by", "ray"), "time")
    assert text.startswith("1 call of A.__init__ took 105 µs = ")
    assert text.endswith(" + 20 µs running + 80 µs after attempts without an end began")


def test_a_call_that_waits_has_not_been_seen_to_run_yet(tmp_path: Path) -> None:
    """Its caller lives: that it left no attempt isn't said of the one trace that is asked for, either."""
    now = (time.time_ns() - EPOCH_NS) // 1_000
    here = {"host.name": platform.node(), "process.pid": os.getpid()}
    main = Builder().span("main", span=2, start=now, duration=90_000, resource=here)
    call = Builder().span("f ray.remote", span=1, parent=2, start=now, duration=5, kind="PRODUCER", resource=here)
    said = texts(explained(folder_of(tmp_path, [main, call])), "time")[0]
    assert said.endswith("f not yet seen to run")


@pytest.mark.parametrize("end", [1_500, 101])
def test_what_outlives_its_root(tmp_path: Path, end: int) -> None:
    """As what a request starts in the background: the request didn't take that long, and didn't wait for it."""
    folder = folder_of(tmp_path, Builder().draw(f"root 0-100\n  read 1-90\n  send 10-{end}"))
    first, *others = texts(explained(folder), "time")
    if end == 101:
        assert first == "101 µs = 89 µs in read + 11 µs in root + 1 µs in send"
        assert others == ["at +1 µs: 89 µs in read", "at +90 µs: 10 µs in root"]
    else:
        assert first.endswith("; root itself ended after 100 µs")
        assert others == ["at +1 µs: 89 µs in read", "at +100 µs: 1.40 ms in send, after root had ended"]
        (tmp_path / "8.txt").write_bytes(file_of(Builder().draw("root 0-50", trace=2)))
        slowest = texts(explained(folder), "time")[0]
        assert slowest.startswith("the slowest of 2 traces, root: 1.50 ms = ")
        assert slowest.endswith("; root itself ended after 100 µs")


def test_what_outlives_a_call_that_is_the_root(tmp_path: Path) -> None:
    """It ends with its last attempt."""
    kinds = {"f ray.remote": "PRODUCER", "f ray.remote_worker": "CONSUMER"}
    drawn = Builder().draw("f ray.remote 0-10\n  f ray.remote_worker 20-100\n    send 30-500")
    documents = [one | {"kind": f"SpanKind.{kinds.get(one['name'], 'INTERNAL')}"} for one in drawn]
    first, *_, last = texts(explained(folder_of(tmp_path, documents)), "time")
    assert first.endswith("; f itself ended after 100 µs")
    assert last == "at +100 µs: 400 µs running send, after f had ended"


def test_what_a_dead_actor_took_with_it_is_not_tried_again(tmp_path: Path) -> None:
    """Ray says that it won't be started again, before it says anything of the call."""
    here, gone = ({"host.name": platform.node(), "process.pid": pid} for pid in (os.getpid(), 2**31 - 1))
    build, now, actor = Builder(), (time.time_ns() - EPOCH_NS) // 1_000, "5a" * 16
    call = build.span("A.__init__ ray.remote", span=1, start=now, duration=5, kind="PRODUCER", resource=here)
    fields: dict[str, Any] = {"parent": 1, "start": now + 20, "duration": None, "kind": "CONSUMER"}
    lost = build.span("A.__init__ ray.remote_worker", span=2, resource=gone, **fields)
    lost["attributes"] = {"ray.actor_id": actor}
    folder = folder_of(tmp_path, [call, lost])
    node = base64.b64encode(bytes.fromhex(NODE)).decode()
    for state, ending in (("RESTARTING", "; Ray may retry"), ("DEAD", "")):
        about = {"actor_id": base64.b64encode(bytes.fromhex(actor)).decode(), "node_id": node, "state": state}
        with (tmp_path / "event_EXPORT_ACTOR.log").open("a") as events:
            events.write(json.dumps({"event_data": about, "source_type": "EXPORT_ACTOR"}) + "\n")
        (said,) = texts(explained(folder), "failed")
        assert said == f"A.__init__ was lost: its process (pid {2**31 - 1}) isn't running{ending}"


@pytest.mark.parametrize("caller_lives", [False, True])
def test_a_lost_call_may_be_tried_again(tmp_path: Path, *, caller_lives: bool) -> None:
    """While the process that called it lives, its trace isn't known to have ended, where Ray says nothing."""
    pids = {"caller": os.getpid() if caller_lives else 2**31 - 2, "worker": 2**31 - 1}
    lives, gone = ({"host.name": platform.node(), "process.pid": pid} for pid in pids.values())
    build, now = Builder(), (time.time_ns() - EPOCH_NS) // 1_000
    call = build.span("f ray.remote", span=1, start=now, duration=5, kind="PRODUCER", resource=lives)
    fields: dict[str, Any] = {"parent": 1, "start": now + 20, "duration": None, "kind": "CONSUMER"}
    lost = build.span("f ray.remote_worker", span=2, resource=gone, **fields)
    begun: dict[str, Any] = {"start": now + 30, "duration": None, "kind": "PRODUCER"}
    inner = build.span("g ray.remote", span=3, parent=2, resource=gone, **begun)
    document = explained(folder_of(tmp_path, [call, lost, inner, *build.draw("root 0-10000000", trace=2)]))
    first = texts(document, "time")[0]
    # The lost one may have lasted longer than it is known to have.
    slowest = "the slowest of 2 traces as far as is known, root: 10 s"
    assert first.startswith("the only trace known to have ended, root:" if caller_lives else slowest)
    why = f"lost: its process (pid {2**31 - 1}) isn't running"
    said = texts(document, "failed")
    assert said == [f"f was {why}{'; Ray may retry' * caller_lives}", f"submitting g was {why}"]
    rows = json.loads(spanview("stats", "--by", "ray-call", "--json", tmp_path).output)["rows"]
    outcomes = {row["function"]: (row["outcome"], row["outcome_certainty"]) for row in rows}
    assert outcomes == {"f": ("worker_died", "likely"), "g": ("unknown", None)}
    assert "◌ submission has no end".encode() in spanview("stats", "--by", "ray-call", tmp_path).output


@pytest.mark.parametrize("is_over", [False, True])
def test_nothing_waits_when_its_job_is_over(tmp_path: Path, *, is_over: bool) -> None:
    """As after `ray.shutdown`: the program that had called it may go on."""
    now, task = (time.time_ns() - EPOCH_NS) // 1_000, "35" * 8 + "0a" * 16
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    lives = {"host.name": platform.node(), "process.pid": os.getpid()}
    call = Builder().span("f ray.remote", start=now, duration=5, kind="PRODUCER", attributes=ids, resource=lives)
    folder = folder_of(tmp_path, [call])
    states = dict.fromkeys("12", EPOCH_NS + now * 1_000)
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, states))
    job = {"event_data": {"job_id": "AQAAAA==", "is_dead": is_over}, "source_type": "EXPORT_DRIVER_JOB"}
    (tmp_path / "event_EXPORT_DRIVER_JOB.log").write_text(f"{json.dumps(job)}\n")
    rows = json.loads(spanview("stats", "--by", "running", "--json", folder).output)["rows"]
    said = ["waits for a worker or 1 CPU, as Ray says"] * (not is_over)
    assert [row["reason"] for row in rows] == said
    # Nor where it was looked for while it waited, as on a screen.
    running = Running(load_store(tmp_path), Processes(str(tmp_path)))
    assert [span.text for span in running.open_spans([0])] == said


def test_all_lasted_at_least_so_long_where_something_has_no_end(tmp_path: Path) -> None:
    """What nobody knows the end of may have ended after all else."""
    build = Builder()
    ended = [*build.draw("c 0-20", trace=2), *build.draw("c 0-20", trace=3)]
    folder = folder_of(tmp_path, [*build.draw("a 0-10\n  b 2-?"), *ended])
    assert " in at least 20 µs, from " in texts(explained(folder), "about")[0]
    rows = json.loads(spanview("stats", "--by", "trace", "--json", folder).output)["rows"]
    assert {(row["lasted_ns"], row["lasted_bound"]) for row in rows} == {(10_000, "at least"), (20_000, None)}
    # What isn't asked for says nothing of it.
    assert " in 20 µs, from " in texts(explained(folder, "-q", "name=c"), "about")[0]


def test_what_was_cancelled_without_an_end_is_not_counted(tmp_path: Path) -> None:
    """As where it was killed for that; its run is said to be left out, as that of a lost attempt is."""
    build = Builder()
    calls = [("f ray.remote", 2, 1, 0, 10), ("f ray.remote_worker", 3, 2, 20, None)]
    calls += [("f ray.remote", 4, 1, 12, 2), ("f ray.remote_worker", 5, 4, 40, 10)]
    documents = [
        build.span(
            name, span=span, parent=parent, start=start, duration=duration, kind=("PRODUCER", "CONSUMER")[span % 2]
        )
        for name, span, parent, start, duration in calls
    ]
    documents.append(build.span("main", span=1, duration=100))
    folder = folder_of(tmp_path, [*documents, *build.draw("another 0-10", trace=2)])
    spent = next(text for text in texts(explained(folder), "time") if text.startswith("2 calls of f"))
    assert spent.endswith("; what 1 without an end ran isn't counted")


@pytest.mark.parametrize(
    ("ends", "ended_by", "failed"),
    [
        (True, "", []),
        (False, "", ["f failed, as Ray says, though it ran to its end"]),
        (False, "BaseExceptionGroup: grp", ["f failed, as Ray says: BaseExceptionGroup: grp"]),
    ],
)
def test_what_ray_says_failed_has_failed_though_its_span_ended(
    tmp_path: Path, ended_by: str, failed: list[str], *, ends: bool
) -> None:
    """As where a result can't be sent: its span has no error, but its caller got one."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    ran = ids | ({"ray.ended_by": ended_by} if ended_by else {})
    folder = folder_of(
        tmp_path,
        [
            build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids),
            build.span("f ray.remote_worker", span=2, parent=1, start=20, duration=30, kind="CONSUMER", attributes=ran),
        ],
    )
    states = {"1": EPOCH_NS, "8": EPOCH_NS + 10_000, "11" if ends else "12": EPOCH_NS + 60_000}
    error = "" if ends else "TASK_EXECUTION_EXCEPTION"
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, states, error=error))
    document = explained(folder)
    assert texts(document, "failed") == failed
    assert not any("cut off while it ran" in text for text in texts(document, "unseen"))
    (row,) = json.loads(spanview("stats", "--by", "ray", "--json", folder).output)["rows"]
    assert (row["ended"], row["failed"]) == ((1, 0) if ends else (0, 1))
    (call,) = json.loads(spanview("stats", "--by", "ray-call", "--json", folder).output)["rows"]
    assert call["outcome"] == ("finished" if ends else "failed")
    assert ("✖ failed" in spanview("stats", "--by", "ray-call", folder).text) is not ends
    check = " ".join(spanview("check", folder).text.split())
    found = "warning: unset_attempts (likely): 1 attempt has no error, but was a failure for the caller, as Ray says."
    assert (found in check) is not ends
    assert ("  ✖ it failed, as Ray says" in spanview("tree", folder).text) is not ends
    store = load_store([folder])
    tree = store.tree(0)
    node = next(node for node, row in enumerate(tree.rows) if store.spans.kind[row] == CONSUMER)
    subject = SpanInTree(store.span(tree.rows[node]), store, 0, tree, node)
    said = {part.key: part.text for part in timing_parts(subject, timing_facts(subject)) if part.key}
    assert said.get("attempt") == (None if ends else "failed: it failed, as Ray says")
    # It runs six times as long as the span that submits it, which is no share.
    texts_of_parts = [part.text for part in timing_parts(subject, None)]
    assert any("its parent" in text for text in texts_of_parts)
    assert not any("% of its parent" in text for text in texts_of_parts)


def test_what_was_cut_off_is_said_to_be(tmp_path: Path) -> None:
    """It ended without an error, but nobody got a result of it; whether it was cancelled is likely."""
    build = Builder()
    documents = []
    for number, by in enumerate(("KeyboardInterrupt: ", "SystemExit: 3"), 1):
        documents += [
            build.span(f"f{number} ray.remote", trace=number, span=1, start=0, duration=5, kind="PRODUCER"),
            build.span(
                f"f{number} ray.remote_worker",
                trace=number,
                span=2,
                parent=1,
                start=20,
                duration=30,
                kind="CONSUMER",
                attributes={ENDED_BY: by},
            ),
        ]
    said = texts(explained(folder_of(tmp_path, documents)), "unseen")
    assert said.pop() == "2 attempts have no error, but were cut off, as by ray.cancel, SIGTERM or sys.exit"
    assert said == ["f1 was cancelled while it ran: KeyboardInterrupt", "f2 was cut off while it ran: SystemExit: 3"]


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_call_beside_which_its_caller_worked_is_likely_awaited_at_most(tmp_path: Path, *, goes_on: bool) -> None:
    """Where a caller has time of its own after a call, nothing shows that it awaited it; where it ends, that does."""
    build = Builder()
    documents = [
        build.span("main", span=1, start=0, duration=30_000 if goes_on else 8_500),
        build.span("f ray.remote", span=2, parent=1, start=10, duration=5, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=3, parent=2, start=100, duration=7_900, kind="CONSUMER"),
    ]
    rows = explained(folder_of(tmp_path, documents))["rows"]
    documents += build.draw("other 0-10", trace=2)
    shares = [row["text"] for row in explained(folder_of(tmp_path, documents))["rows"] if "itself took" in row["text"]]
    assert any("of which 1 may have led elsewhere" in text for text in shares) is goes_on
    certainties = [row["certainty"] for row in rows if ": 7.90 ms running f" in row["text"]]
    assert certainties == ["likely" if goes_on else "certain"]


@pytest.mark.parametrize("overlaps", [True, False])
def test_a_caller_may_await_a_call_while_it_runs(tmp_path: Path, *, overlaps: bool) -> None:
    """That a caller itself ran is likely only while a call of its process, of another of its spans, is on its way."""
    build, driver, worker = Builder(), {"process.pid": 7}, {"process.pid": 8}
    documents = [
        build.span("main", span=1, start=0, duration=90_000, resource=driver),
        build.span("send", span=2, parent=1, start=0, duration=100, resource=driver),
        build.span("f ray.remote", span=3, parent=2, start=10, duration=5, kind="PRODUCER", resource=driver),
        build.span(
            "f ray.remote_worker",
            span=4,
            parent=3,
            start=100,
            duration=60_000 if overlaps else 900,
            kind="CONSUMER",
            resource=worker,
        ),
        build.span("await", span=5, parent=1, start=1_100, duration=88_000, resource=driver),
    ]
    rows = explained(folder_of(tmp_path, documents))["rows"]
    (said,) = [(row["text"].partition(": ")[2], row["certainty"]) for row in rows if ": 88 ms running" in row["text"]]
    doubt = " (await may have awaited calls)" if overlaps else ""
    assert said == (f"88 ms running await{doubt}", "likely" if overlaps else "certain")


@pytest.mark.parametrize("is_there", [True, False])
def test_attempts_are_so_many_so_far_while_their_caller_runs(tmp_path: Path, *, is_there: bool) -> None:
    """Another one may follow one that failed, where Ray doesn't tell that none does."""
    build, now, task = Builder(), (time.time_ns() - EPOCH_NS) // 1_000, "35" * 8 + "0a" * 16
    process = {"host.name": platform.node(), "process.pid": os.getpid() if is_there else 2**31 - 1}
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call: dict[str, Any] = {"span": 2, "parent": 1, "duration": 1, "kind": "PRODUCER", "attributes": ids}
    ran: dict[str, Any] = {"parent": 2, "duration": 5, "kind": "CONSUMER", "status": "ERROR", "attributes": ids}
    documents = [
        build.span("job", span=1, start=now, duration=None, resource=process),
        build.span("f ray.remote", start=now + 1, resource=process, **call),
        *(build.span("f ray.remote_worker", start=start, **ran) for start in (now + 10, now + 20)),
    ]
    folder = folder_of(tmp_path, documents)
    (retried,) = texts(explained(folder), "retried")
    assert retried == f"1 call of f took at least 2 attempts{' so far' if is_there else ''}; the last one failed"
    failed = {state: EPOCH_NS + (now + later) * 1_000 for state, later in {"1": 0, "8": 9, "12": 15}.items()}
    lines = line_of(task, failed, error="WORKER_DIED") + line_of(task, failed, attempt=1, error="WORKER_DIED")
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    (retried,) = texts(explained(folder), "retried")
    why = "the first attempt failed: its worker died, as Ray says"
    assert retried == f"1 call of f took 2 attempts; {why}; the last one failed"


@pytest.mark.parametrize(
    ("name", "is_told", "said"),
    [
        ("7.txt", False, "at least 2 attempts; the first attempt seen failed: only 1 left"),
        ("7.txt", True, "3 attempts; the first attempt failed: its worker died, as Ray says"),
        ("node7-7-1717000000.jsonl", False, "2 attempts; the first attempt failed: only 1 left"),
    ],
)
def test_an_attempt_that_died_may_have_left_no_span(tmp_path: Path, name: str, said: str, *, is_told: bool) -> None:
    """Where spans are written when they end alone; not where they are written when they start, too."""
    build, task = Builder(), "35" * 8 + "0a" * 16
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    ran: dict[str, Any] = {"parent": 1, "kind": "CONSUMER", "duration": 5, "attributes": ids}
    events = [{"name": "exception", "timestamp": None, "attributes": {"exception.message": "only 1 left"}}]
    documents = [
        build.span("f ray.remote", span=1, start=0, duration=1, kind="PRODUCER", attributes=ids),
        build.span("f ray.remote_worker", span=2, start=30, status="ERROR", **ran) | {"events": events},
        build.span("f ray.remote_worker", span=3, start=50, **ran),
    ]
    (tmp_path / name).write_bytes(file_of(documents))
    states = ({"1": 0, "5": 2, "12": 20}, {"1": 20, "5": 25, "12": 36}, {"1": 36, "5": 45, "11": 56})
    for attempt, at in enumerate(states if is_told else ()):
        told = {state: EPOCH_NS + 1_000 * us for state, us in at.items()}
        error = ("WORKER_DIED", "TASK_EXECUTION_EXCEPTION", "")[attempt]
        with (tmp_path / "event_EXPORT_TASK_7.log").open("ab") as file:
            file.write(line_of(task, told, attempt=attempt, error=error))
    (text,) = texts(explained(str(tmp_path)), "retried")
    assert text == f"1 call of f took {said}"


@pytest.mark.parametrize(
    ("ended_by", "error", "why", "found"),
    [
        ("", "", "", "retried: ended by SIGTERM or sys.exit, failed later as a generator, or the result was lost"),
        (
            "",
            "WORKER_DIED",
            "; the first attempt failed: its worker died, as Ray says",
            "retried, having failed, as Ray says",
        ),
        (
            "SystemExit: 3",
            "WORKER_DIED",
            "; the first attempt was cut off: SystemExit: 3",
            "cut off, as by ray.cancel, SIGTERM or sys.exit",
        ),
    ],
)
def test_what_became_of_a_first_attempt_without_an_error(
    tmp_path: Path, ended_by: str, error: str, why: str, found: str
) -> None:
    """As its record or Ray says; else it is said what may have been."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)
    ran: dict[str, Any] = {"parent": 1, "kind": "CONSUMER", "duration": 10}
    first = build.span(
        "f ray.remote_worker", span=2, start=20, attributes=ids | ({ENDED_BY: ended_by} if ended_by else {}), **ran
    )
    second = build.span("f ray.remote_worker", span=3, start=60, attributes=ids, **ran)
    times = [{"1": 0, "8": 20, "12": 30}, {"1": 30, "8": 60, "11": 70}]
    states = [{state: EPOCH_NS + 1_000 * at for state, at in each.items()} for each in times]
    if error:
        lines = line_of(task, states[0], error=error) + line_of(task, states[1], attempt=1)
        (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    document = explained(folder_of(tmp_path, [call, first, second]))
    assert texts(document, "retried") == [f"1 call of f took {'' if error else 'at least '}2 attempts{why}"]
    (unset,) = (text for text in texts(document, "unseen") if "no error" in text)
    assert unset == f"1 attempt has no error, but was {found}"


@pytest.mark.parametrize("is_there", [True, False])
def test_what_runs_now_is_said(tmp_path: Path, *, is_there: bool) -> None:
    """With how long it has run, as its process shows; what is lost counts as over, with the end in doubt."""
    build, now = Builder(), (time.time_ns() - EPOCH_NS) // 1_000
    process = {"host.name": platform.node(), "process.pid": os.getpid() if is_there else 2**31 - 1}
    documents = [
        build.span("job", span=1, start=now, duration=None, resource=process),
        build.span("step", span=2, parent=1, start=now + 10, duration=80, resource=process),
        build.span("other", trace=2, start=now, duration=3),
    ]
    document = explained(folder_of(tmp_path, documents))
    running = texts(document, "running")
    first = texts(document, "time")[0]
    if is_there:
        (text,) = running
        assert re.fullmatch(rf"job has been running for .+ \(its process \(pid {os.getpid()}\) is alive\)", text)
        assert first == "the only trace known to have ended, other: 3 µs, all in other"
        beside = build.span("beside", span=3, parent=1, start=now + 9, duration=None, resource=process)
        (text,) = texts(explained(folder_of(tmp_path, [*documents, beside])), "running")
        assert text.endswith(" is alive); 1 other runs")
        # Of a call Ray says so as soon as it is loaded.
        ids = {"ray.task_id": "35" * 8 + "0a" * 16, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
        about: dict[str, Any] = {"kind": "PRODUCER", "attributes": ids, "resource": process}
        call = build.span("f ray.remote", span=4, parent=1, start=now + 9, duration=1, **about)
        line = line_of(ids["ray.task_id"], dict.fromkeys("1258", EPOCH_NS + 1_000 * (now + 10)))
        (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
        for others, said in (
            ([], " is alive); 1 other runs, or is loaded"),
            ([beside], "; 2 others run, or are loaded"),
        ):
            (text,) = texts(explained(folder_of(tmp_path, [*documents, *others, call])), "running")
            assert text.endswith(said)
        return
    assert not running
    assert first.startswith("the slowest of 2 traces, job: at least 90 µs = ")
    assert first.endswith("not sure: 1 span has no end")
    (text,) = texts(document, "failed")
    assert text.startswith("job was lost: its process ")
    shares = [row for row in document["rows"] if row["text"].startswith("step itself took 80 µs")]
    assert [row["certainty"] for row in shares] == ["likely"]


def test_what_was_cancelled_before_it_ran_to_its_end(tmp_path: Path) -> None:
    """As where it waited for its actor then: it is cancelled, as Ray says, in text, JSON and sums, and hasn't ended."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    call = build.span("A.f ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids)
    ran = build.span("A.f ray.remote_worker", span=2, parent=1, start=20, duration=30, kind="CONSUMER", attributes=ids)
    states = {"1": EPOCH_NS, "8": EPOCH_NS + 20_000, "12": EPOCH_NS + 60_000}
    line = line_of(task, states, name="A", kind="ACTOR_TASK", error="TASK_CANCELLED")
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    folder = folder_of(tmp_path, [call, ran])
    (row,) = json.loads(spanview("stats", "--by", "ray-call", "--json", folder).output)["rows"]
    assert (row["outcome"], row["outcome_certainty"]) == ("cancelled", "certain")
    assert b"cancelled" in spanview("stats", "--by", "ray-call", folder).output
    (sums,) = json.loads(spanview("stats", "--by", "ray", "--json", folder).output)["rows"]
    assert (sums["ended"], sums["cancelled"], sums["failed"]) == (0, 1, 0)
    assert texts(explained(folder), "unseen") == ["A.f was cancelled, as Ray says, though its span has no error"]


def test_what_failed_is_said_of_calls_and_requests_too(tmp_path: Path) -> None:
    """And where there is little room, before what runs or is unusual; no failure is counted twice."""
    build = Builder()
    documents = [
        build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=2, parent=1, start=9, duration=5, kind="CONSUMER", status="ERROR"),
        *build.draw("root 0-100", trace=2),
        build.span("job", trace=3, start=(time.time_ns() - EPOCH_NS) // 1_000, duration=None, resource=_HERE),
    ]
    folder = folder_of(tmp_path, documents)
    whole = explained(folder)
    assert texts(whole, "about")[0].endswith("; 1 span failed")
    assert texts(whole, "running")
    assert texts(explained("--by", "ray", folder), "failed") == texts(whole, "failed") != []
    said = [Statement(topic, "", "") for topic in Topic]
    kept = kept_within(said, [[one] for one in said], 3)
    assert [said[index].topic for index in sorted(kept)] == [Topic.ABOUT, Topic.TIME, Topic.FAILED]


_HERE: Final = {"host.name": platform.node(), "process.pid": os.getpid()}


def test_who_lost_a_race_for_an_actor_did_not_fail(tmp_path: Path) -> None:
    """`get_if_exists` found the actor that another caller had just made, and the call above returned it."""
    build, spans = Builder(), list[Any]()
    for trace in (1, 2):
        about: dict[str, Any] = {"trace": trace, "kind": "PRODUCER", "attributes": {"ray.actor_id": "5a" * 16}}
        spans.append(build.span("A.__init__ ray.remote", span=1, start=trace, duration=50, **about))
        failed = {"status": {"status_code": "ERROR", "description": "ActorAlreadyExistsError"}} if trace == 2 else {}
        spans.append(
            build.span("A.__init__ ray.remote", span=2, parent=1, start=trace + 5, duration=5, **about) | failed
        )
    made: dict[str, Any] = {"kind": "CONSUMER", "attributes": {"ray.actor_id": "5a" * 16}}
    spans.append(build.span("A.__init__ ray.remote_worker", span=3, parent=2, start=20, duration=9, **made))
    folder = folder_of(tmp_path, spans)
    document = explained(folder)
    (about_all,) = texts(document, "about")
    assert about_all.endswith("; 1 span failed")
    assert texts(document, "failed") == texts(document, "unseen") == []
    assert texts(explained(folder, "--trace", f"{2:032x}"), "unseen") == []


@pytest.mark.parametrize(
    ("has_begun", "said"),
    [
        (True, "finished or was cancelled, which Ray doesn't tell apart; its span is lost, or in another file (f)"),
        # Of what was cancelled while it was loaded, Ray says that it finished.
        (False, "finished or was cancelled, which Ray doesn't tell apart; no span of it is here (f)"),
    ],
)
def test_a_call_that_finished_elsewhere_is_not_untraced(tmp_path: Path, said: str, *, has_begun: bool) -> None:
    """Where others of its function have attempts here, tracing doesn't skip it: its file is missing, or cut."""
    build, tasks = Builder(), [f"3{number}" * 8 + "0a" * 16 for number in (1, 2)]
    spans, lines = list[Any](), b""
    for trace, task in enumerate(tasks, 1):
        named = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24, "ray.remote": "function"}
        about: dict[str, Any] = {"trace": trace, "attributes": named}
        spans.append(build.span("f ray.remote", span=1, duration=5, kind="PRODUCER", **about))
        if trace == 1:
            ran: dict[str, Any] = {"parent": 1, "start": 20, "duration": 30, "kind": "CONSUMER"}
            spans.append(build.span("f ray.remote_worker", span=2, **ran, **about))
        lines += line_of(task, {state: EPOCH_NS + 9_000 + int(state) * 1_000 for state in ("1", "2", "5", "8", "11")})
    if has_begun:
        (tmp_path / "8.json").write_bytes(file_of([build.span("read", trace=2, span=3, parent=4, start=20)]))
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(lines)
    document = explained(folder_of(tmp_path, spans))
    (unseen,) = texts(document, "unseen")
    assert unseen == f"1 of 2 calls has no attempt: {said}"
    (of_calls,) = (text for text in texts(document, "time") if text.startswith("2 calls of f"))
    assert of_calls.endswith("; what 1 without an attempt took isn't counted")


@pytest.mark.parametrize(
    ("function", "is_by_own_hook", "is_skipped"),
    [("f", False, False), ("A.__init__", False, False), ("A.g", False, True), ("A.g", True, False)],
)
def test_tracing_skips_methods_alone(tmp_path: Path, function: str, *, is_by_own_hook: bool, is_skipped: bool) -> None:
    """Of what else finished, as Ray says, and isn't here, the file is missing; spanview's hook leaves out no method."""
    task, build = "35" * 8 + "0a" * 16, Builder()
    ids = {"ray.node_id": NODE, "ray.remote": "actor" if function != "f" else "function"}
    ids |= {"ray.actor_id": "5a" * 16} if function != "f" else {}
    ids |= {"ray.task_id": task, "ray.submitter_task_id": "ff" * 24} if is_by_own_hook else {}
    call = build.span(f"{function} ray.remote", span=1, start=0, duration=50, kind="PRODUCER", attributes=ids)
    kinds = {"f": "NORMAL_TASK", "A.__init__": "ACTOR_CREATION_TASK", "A.g": "ACTOR_TASK"}
    states = {state: EPOCH_NS + 9_000 + int(state) * 1_000 for state in ("1", "2", "5", "8", "11")}
    line = line_of(task, states, name=function, kind=kinds[function])
    (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line)
    said = texts(explained(folder_of(tmp_path, [call])), "unseen")
    assert any("Ray's tracing skips it" in text for text in said) is is_skipped
    assert any("finished" in text for text in said) is not is_skipped


def test_a_constructor_that_was_cut_off_twice_counts_twice(tmp_path: Path) -> None:
    """Its actor was started again in between, which is no retry."""
    build = Builder()
    ran: dict[str, Any] = {"parent": 1, "kind": "CONSUMER", "attributes": {ENDED_BY: "SystemExit: 3"}}
    spans = [build.span("A.__init__ ray.remote", span=1, kind="PRODUCER")]
    spans += [build.span("A.__init__ ray.remote_worker", span=number, start=20 * number, **ran) for number in (2, 3)]
    said = texts(explained(folder_of(tmp_path, spans)), "unseen")
    assert "2 attempts have no error, but were cut off, as by ray.cancel, SIGTERM or sys.exit" in said


@pytest.mark.parametrize(
    ("again_ms", "name", "is_told", "is_doubted"),
    [
        (500, "9", False, True),
        (20, "9", False, False),
        (500, "n-9-1700000000000", False, False),
        (500, "9", True, False),
    ],
)
def test_a_method_may_have_run_in_an_earlier_life_of_its_actor(
    tmp_path: Path, again_ms: int, name: str, *, is_told: bool, is_doubted: bool
) -> None:
    """Where an attempt that died has left nothing; what is written as it starts would show it, and Ray's events do."""
    task = "35" * 8 + "5a" * 16
    ids = {"ray.task_id": task, "ray.node_id": NODE, "ray.submitter_task_id": "ff" * 24}
    if is_told:
        states = dict.fromkeys("125", EPOCH_NS + 100_009_000) | {"8": EPOCH_NS + 900_000_000}
        (tmp_path / "event_EXPORT_TASK_7.log").write_bytes(line_of(task, states, name="A.f", kind="ACTOR_TASK"))
    build = Builder()
    calls = [
        build.span("main", span=1, start=0, duration=952_000),
        build.span("A.__init__ ray.remote", span=2, parent=1, start=0, duration=1, kind="PRODUCER"),
        build.span("A.f ray.remote", span=3, parent=1, start=100_000, duration=9, kind="PRODUCER", attributes=ids),
    ]
    ran: dict[str, Any] = {"kind": "CONSUMER", "duration": 9}
    first = build.span("A.__init__ ray.remote_worker", span=4, parent=2, start=10, **ran)
    again = build.span("A.__init__ ray.remote_worker", span=5, parent=2, start=1_000 * again_ms, **ran)
    about: dict[str, Any] = {"start": 900_000, "kind": "CONSUMER", "duration": 50_000, "attributes": ids}
    method = build.span("A.f ray.remote_worker", span=6, parent=3, **about)
    suffixes = (".started.jsonl", ".jsonl") if "-" in name else (".txt",)
    (tmp_path / "7.txt").write_bytes(file_of(calls))
    (tmp_path / "8.txt").write_bytes(file_of([first]))
    for suffix in suffixes:
        (tmp_path / f"{name}{suffix}").write_bytes(file_of([again, method]))
    said = texts(explained(str(tmp_path), "--trace", f"{1:032x}"), "time")
    doubt = "A.f may have run before"
    assert (doubt in said[0], any(f"({doubt}: its actor was made again)" in text for text in said)) == (is_doubted,) * 2


def test_requests_through_a_handle_have_replicas_alone(tmp_path: Path) -> None:
    """How long they were handled is known all the same."""
    build = Builder()
    name = "replica_handle_request Model __call__"
    spans = [build.span(name, trace=number, span=2, parent=1, start=number, duration=40) for number in (1, 2, 3)]
    (said,) = texts(explained(folder_of(tmp_path, spans), "--by", "serve"), "time")
    assert said == "– › Model: 120 µs handling in 3 requests; no span of a proxy or a routing is here"


@pytest.mark.parametrize("told_ns", [EPOCH_NS + 90_000, NO_TIME])
def test_what_failed_as_its_actor_was_stopped_has_failed(tmp_path: Path, told_ns: int) -> None:
    """Its caller got an error, if Ray says so; else nobody may have asked for its result."""
    build = Builder()
    call = build.span("A.f ray.remote", span=1, start=0, duration=5, kind="PRODUCER")
    ran = build.span("A.f ray.remote_worker", span=2, parent=1, start=20, duration=None, kind="CONSUMER")
    store = load_store(folder_of(tmp_path, [call, ran]))
    row = next(row for row in range(2) if store.spans.kind[row] == CONSUMER)
    stopped = Unended(Fate.STOPPED, "Ray ended its process (pid 7) because of ray.kill", 7, told_ns=told_ns)
    said = [one.text for one in explanation(store, None, unended={row: stopped}).rows if one.topic is Topic.FAILED]
    assert said == (["A.f failed: Ray ended its process (pid 7) because of ray.kill"] if told_ns != NO_TIME else [])


@pytest.mark.parametrize(("orphan_us", "is_doubted"), [(40_000, True), (900_000, False)])
def test_what_has_no_parent_may_be_of_an_attempt_that_died(tmp_path: Path, orphan_us: int, *, is_doubted: bool) -> None:
    """Where it began while a call waited of which nobody knows why."""
    build = Builder()
    spans = [
        build.span("main", span=1, start=0, duration=702_000),
        build.span("f ray.remote", span=2, parent=1, start=0, duration=9, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=3, parent=2, start=500_000, duration=200_000, kind="CONSUMER"),
        build.span("g ray.remote", span=4, parent=99, start=orphan_us, duration=9, kind="PRODUCER"),
    ]
    said = texts(explained(folder_of(tmp_path, spans), "--trace", f"{1:032x}"), "time")
    doubt = "(f may have run before: what began meanwhile has no parent here)"
    assert any("waiting before f ran" in text and doubt in text for text in said) is is_doubted


def test_a_constructor_that_is_elsewhere_is_not_said_to_be_skipped(tmp_path: Path) -> None:
    """Its actor has run calls: it was there already, or the constructor's span is in another file."""
    build, ids = Builder(), {"ray.actor_id": "5a" * 16, "ray.remote": "actor"}
    spans = [
        build.span("A.__init__ ray.remote", span=1, start=0, duration=5, kind="PRODUCER", attributes=ids),
        build.span("A.f ray.remote", span=2, start=9, duration=5, kind="PRODUCER", attributes=ids),
        build.span("A.f ray.remote_worker", span=3, parent=2, start=20, duration=9, kind="CONSUMER", attributes=ids),
    ]
    said = texts(explained(folder_of(tmp_path, spans)), "unseen")
    assert not any("tracing skips" in text for text in said)


def test_traces_are_counted_in_json_as_in_words(tmp_path: Path) -> None:
    """Spans without a usable id are of none."""
    build = Builder()
    document = explained(folder_of(tmp_path, [build.span("job"), build.span("lost", trace=0)]))
    assert (document["traces"], texts(document, "about")[0].split(" in ")[0]) == (1, "1 trace with 2 spans")
