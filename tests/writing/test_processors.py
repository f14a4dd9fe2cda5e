"""Nothing that has ended is lost, whatever becomes of the process, and no line is torn.

what happens                                     ended spans     started ones
------------                                     -----------     ------------
os._exit, SIGKILL in the midst of it             all             all
16 threads at once                               all             all
a handler of signals that ends spans, too        all             all
a fork in a span                                 each in the file of its own process
a disk that is full, and then isn't any more     but for these   –
somebody removes the file                        in a new one    –
a file that may not be longer                    in the next     –
nobody can write there                           none, and the program goes on
"""

from __future__ import annotations

import os
import random
import re
import signal
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from hooked import left_in, run, start
from spanview.analysis.diagnosis.finding import Kind
from spanview.analysis.diagnosis.report import diagnose
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="The hook is for Linux and macOS, as the tests of it.")


def test_exit_without_goodbye(tmp_path: Path) -> None:
    """What has ended before `os._exit` is there, and what runs is marked as started."""
    printed, errors, status = run(
        """
with tracer.start_as_current_span("open") as outer:
    with tracer.start_as_current_span("ended") as span:
        pass
    done(span)
    os._exit(7)
""",
        tmp_path,
    )
    assert (errors, status) == ("", 7)
    left = left_in(tmp_path)
    assert [(span["span_id"], span["name"]) for span in left.ended] == [(printed[0], "ended")]
    assert [span["name"] for span in left.started] == ["open", "ended"]
    assert left.ended[0]["parent_id"] == left.started[0]["span_id"]
    resource = left.ended[0]["resource"]
    names = [path.name for path in left.files]
    host = re.sub(r"[^\w.-]", "_", resource["host.name"])
    (stem,) = {re.sub(r"(\.started)?\.jsonl$", "", name) for name in names}
    assert re.fullmatch(rf"{re.escape(host)}-{resource['process.pid']}-[0-9]{{13}}", stem)
    assert len(names) == 2


def test_what_ends_an_attempt(tmp_path: Path) -> None:
    """Being told to exit, or cancelled, is noted; a failure, a closed generator and what ends other spans isn't."""
    run(
        """
import asyncio
from opentelemetry.trace import SpanKind

told = SystemExit(1)
told.ray_terminate_msg = "The process receives a SIGTERM."
errors = told, SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit(), ValueError("x")
for number, error in enumerate(errors):
    for kind in (SpanKind.CONSUMER, SpanKind.INTERNAL):
        try:
            with tracer.start_as_current_span(f"{number}", kind=kind, attributes={"ray.remote": "function"}):
                raise error
        except BaseException:
            pass
with tracer.start_as_current_span("fine", kind=SpanKind.CONSUMER, attributes={"ray.remote": "function"}):
    pass
""",
        tmp_path,
    )
    left = left_in(tmp_path)
    noted = [(span["name"], span["attributes"].get("ray.ended_by")) for span in left.ended]
    assert noted == [
        ("0", "SystemExit: The process receives a SIGTERM."),
        ("0", None),
        ("1", "SystemExit: 3"),
        ("1", None),
        ("2", "KeyboardInterrupt"),
        ("2", None),
        ("3", "CancelledError"),
        *((name, None) for name in ("3", "4", "4", "5", "5", "fine")),
    ]


def test_marks_can_be_turned_off(tmp_path: Path) -> None:
    """`SPANVIEW_STARTED=0` leaves one file."""
    environment = {"SPANVIEW_STARTED": "0", "OTEL_SERVICE_NAME": "shop"}
    run("tracer.start_span('one').end()", tmp_path, environment)
    left = left_in(tmp_path)
    assert (len(left.files), len(left.ended), left.started) == (1, 1, [])
    assert left.ended[0]["resource"]["service.name"] == "shop"


@pytest.mark.parametrize("seed", range(4))
def test_kill(tmp_path: Path, seed: int) -> None:
    """After SIGKILL at any moment, all spans that the program had seen the end of are whole."""
    text = """
import itertools
for number in itertools.count():
    with tracer.start_as_current_span("work", attributes={"number": number, "text": "x" * 3000}) as span:
        pass
    done(span)
"""
    wanted = random.Random(seed).randrange(1, 400)
    with start(text, tmp_path) as process:
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(wanted)]
        process.send_signal(signal.SIGKILL)
        printed += process.stdout.readlines()
    # The last line may break off at its pipe.
    ids = [line.decode().strip() for line in printed if line.endswith(b"\n")]
    assert len(ids) >= wanted
    # Linux ends a write between two pages; of the span that is broken off the program hasn't seen the end.
    for path in tmp_path.glob("**/*.jsonl"):
        written = path.read_bytes()
        path.write_bytes(written[: written.rfind(b"\n") + 1])
    left = left_in(tmp_path)
    found = [span["span_id"] for span in left.ended]
    assert found[: len(ids)] == ids
    assert len(found) <= len(ids) + 1
    assert [span["span_id"] for span in left.started][: len(ids)] == ids


def test_threads_and_signals(tmp_path: Path) -> None:
    """16 threads, and a handler that ends spans wherever it comes in between."""
    printed, errors, status = run(
        """
import signal, threading

def handler(*_):
    global depth
    # Where a span takes longer than the timer, as on a busy machine, handlers would begin in handlers without end.
    if depth < 3:
        depth += 1
        with tracer.start_as_current_span("handler") as span:
            pass
        handled.append(span)
        depth -= 1

def work():
    for number in range(200):
        with tracer.start_as_current_span("work", attributes={"text": "y" * 500}) as span:
            pass
        worked.append(span)

depth, handled, worked = 0, [], []
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
threads = [threading.Thread(target=work) for _ in range(15)]
for thread in threads:
    thread.start()
work()
for thread in threads:
    thread.join()
signal.setitimer(signal.ITIMER_REAL, 0)
assert handled and len(worked) == 3200
for span in worked + handled:
    done(span)
""",
        tmp_path,
    )
    assert (errors, status) == ("", 0)
    left = left_in(tmp_path)
    assert Counter(span["span_id"] for span in left.ended) == dict.fromkeys(printed, 1)
    assert Counter(span["span_id"] for span in left.started) == dict.fromkeys(printed, 1)


def test_fork(tmp_path: Path) -> None:
    """A child that is forked while other threads write has files of its own, with its own PID in the resource."""
    printed, errors, status = run(
        """
import threading

def noise():
    while not stop.is_set():
        with tracer.start_as_current_span("noise"):
            pass

stop = threading.Event()
threads = [threading.Thread(target=noise) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(8):
    child = os.fork()
    if not child:
        with tracer.start_as_current_span("child") as span:
            pass
        done(span)
        os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
    os.write(1, f"{child}\\n".encode())
stop.set()
for thread in threads:
    thread.join()
""",
        tmp_path,
    )
    assert (errors, status) == ("", 0)
    expected = {int(pid): span for span, pid in zip(printed[::2], printed[1::2], strict=True)}
    for path in tmp_path.glob("*.jsonl"):
        pid = f'{{"key":"process.pid","value":{{"intValue":"{path.name.split("-")[-2]}"}}}}'
        assert all(pid in line for line in path.read_text().splitlines())
    left = left_in(tmp_path)
    children = [span for span in left.ended if span["name"] == "child"]
    assert {span["resource"]["process.pid"]: span["span_id"] for span in children} == expected


def test_seed_of_the_program(tmp_path: Path) -> None:
    """A program that seeds its random numbers has other ids in each run, and draws the same numbers as without us."""
    text = """
import random
random.seed(3)
for _ in range(3):
    with tracer.start_as_current_span("drawn"):
        pass
os.write(1, f"{random.random()}\\n".encode())
"""
    printed = [run(text, tmp_path) for _ in range(2)]
    drawn = str(random.Random(3).random())
    assert printed == [([drawn], "", 0)] * 2
    left = left_in(tmp_path)
    assert len({span["span_id"] for span in left.ended}) == len({span["trace_id"] for span in left.ended}) == 6


def test_full_disk(tmp_path: Path) -> None:
    """What doesn't fit is counted and reported once; lines before and after are whole, and say how many are missing."""
    printed, errors, status = run(
        """
import resource

def work():
    with tracer.start_as_current_span("work", attributes={"text": "z" * 1000}) as span:
        pass
    return span

for _ in range(3):
    done(work())
# The kernel takes part of the next line, and then none.
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
size = max(entry.stat().st_size for entry in os.scandir(os.environ["SPANVIEW_DIR"]))
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 500, hard))
for _ in range(5):
    work()
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
for _ in range(2):
    done(work())
""",
        tmp_path,
        {"SPANVIEW_STARTED": "0"},
    )
    assert status == 0
    assert len(errors.splitlines()) == 1
    assert re.match(r"spanview: spans can't be written to /.*\.jsonl: File too large\.", errors)
    left = left_in(tmp_path)
    assert [span["span_id"] for span in left.ended] == printed
    assert left.notes == ["5 spans that ended before this could not be written: File too large"]
    (finding,) = diagnose(load_store(tmp_path)).findings
    (path,) = left.files
    offset = path.read_bytes().index(b'{"resourceLogs"')
    assert (finding.kind, finding.count) == (Kind.NOT_WRITTEN, 5)
    assert finding.detail == "5 spans could not be written, as 1 file says: File too large."
    assert [place.to_json() for place in finding.evidence] == [{"file": str(path), "offset": offset}]


def test_file_is_removed(tmp_path: Path) -> None:
    """Who clears the folder away loses what was there, not what comes a second later."""
    printed, errors, status = run(
        """
import shutil, time
tracer.start_span("before").end()
shutil.rmtree(os.environ["SPANVIEW_DIR"])
time.sleep(1.1)
span = tracer.start_span("after")
span.end()
done(span)
""",
        tmp_path / "spans",
    )
    assert (errors, status) == ("", 0)
    assert [span["span_id"] for span in left_in(tmp_path).ended] == printed


def test_descriptors_are_closed(tmp_path: Path) -> None:
    """A program that closes all descriptors and opens its own file keeps that file to itself."""
    printed, errors, status = run(
        f"""
import time
tracer.start_span("before").end()
os.closerange(3, 100)
mine = [open({str(tmp_path / "mine")!r} + str(number), "w") for number in range(8)]
time.sleep(1.1)
span = tracer.start_span("after")
span.end()
done(span)
""",
        tmp_path / "spans",
    )
    assert (errors, status) == ("", 0)
    assert [path.read_bytes() for path in tmp_path.glob("mine*")] == [b""] * 8
    assert left_in(tmp_path).ended[-1]["span_id"] == printed[0]


@pytest.mark.parametrize(("keep", "files"), [("", 10), ("3", 3)])
def test_next_file(tmp_path: Path, keep: str, files: int) -> None:
    """Files end before they are too long, and old ones are removed only where that is asked for."""
    printed, errors, status = run(
        """
for _ in range(20):
    with tracer.start_as_current_span("work", attributes={"text": "a" * 4000}) as span:
        pass
    done(span)
""",
        tmp_path,
        {"SPANVIEW_STARTED": "0", "SPANVIEW_MAX_BYTES": "10000", "SPANVIEW_KEEP": keep},
    )
    assert (errors, status) == ("", 0)
    left = left_in(tmp_path)
    assert len(left.files) == files
    assert max(os.path.getsize(path) for path in left.files) <= 10_000
    assert {span["span_id"] for span in left.ended} == {*printed[-2 * files :]}


@pytest.mark.parametrize("texts", [("a", ""), ("", "a")], ids=["long at the start", "long at the end"])
def test_no_end_is_removed_before_its_start(tmp_path: Path, texts: tuple[str, str]) -> None:
    """Or what had ended would be taken for lost, though the files of one kind grow faster than those of the other."""
    first, last = (text * 2000 for text in texts)
    _, errors, status = run(
        f"""
for _ in range(40):
    with tracer.start_as_current_span("work", attributes={{"first": {first!r}}}) as span:
        span.set_attribute("last", {last!r})
""",
        tmp_path,
        {"SPANVIEW_MAX_BYTES": "20000", "SPANVIEW_KEEP": "2"},
    )
    assert (errors, status) == ("", 0)
    store = load_store(tmp_path)
    assert 0 < len(store.spans) < 40
    assert min(store.spans.end_ns) > 0


def test_nowhere_to_write(tmp_path: Path) -> None:
    """The program runs as if nothing was, and is told once."""
    (tmp_path / "file").touch()
    printed, errors, status = run(
        "for _ in range(3):\n    with tracer.start_as_current_span('work') as span: pass\n    done(span)",
        tmp_path / "file" / "spans",
        {"SPANVIEW_MAX_BYTES": "10 MB"},
    )
    assert (len(printed), status) == (3, 0)
    first, second = errors.splitlines()
    assert first == "spanview: SPANVIEW_MAX_BYTES is ignored, because it isn't a whole number: '10 MB'"
    assert re.match(
        r"spanview: spans can't be written to /.*: Not a directory\. The program continues without them", second
    )


def test_link_in_the_way(tmp_path: Path) -> None:
    """In a folder that others can write to, nobody gets spans written into another file by a link."""
    printed, errors, status = run(
        """
from spanview.ray import hook
(tmp := os.environ["SPANVIEW_DIR"]) and os.makedirs(tmp, exist_ok=True)
os.symlink(os.path.join(tmp, "victim"), hook._processor.path)
tracer.start_span("work").end()
""",
        tmp_path,
        {"SPANVIEW_STARTED": "0"},
    )
    assert (printed, status) == ([], 0)
    assert "spans can't be written" in errors
    assert not (tmp_path / "victim").exists()


def test_each_span_once(tmp_path: Path) -> None:
    """Hook and exporter in one process, and a provider of the program's own, write each span one time."""
    _, errors, status = run(
        """
from opentelemetry.sdk.trace import TracerProvider
from spanview.ray.hook import span_processors

setup_tracing()
assert span_processors() == []
trace.set_tracer_provider(TracerProvider())
for processor in span_processors():
    trace.get_tracer_provider().add_span_processor(processor)
tracer.start_span("once").end()
""",
        tmp_path,
        {"RAY_SERVE_TRACING_SAMPLING_RATIO": "0.01"},
    )
    assert status == 0
    assert "RAY_SERVE_TRACING_SAMPLING_RATIO has no effect" in errors
    assert [span["name"] for span in left_in(tmp_path).ended] == ["once"]


def test_provider_of_the_program(tmp_path: Path) -> None:
    """A provider that is there already goes on, with its sampler, and writes for spanview, too."""
    _, errors, status = run(
        """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased

class OnlyKept(ParentBased):
    def should_sample(self, parent_context, trace_id, name, *rest, **named):
        return (super() if name == "kept" else ALWAYS_OFF).should_sample(parent_context, trace_id, name, *rest, **named)

trace.set_tracer_provider(provider := TracerProvider(sampler=OnlyKept(ALWAYS_ON)))
setup_tracing()
assert trace.get_tracer_provider() is provider
for name in ("kept", "dropped"):
    tracer.start_span(name).end()
""",
        tmp_path,
        set_up="",
    )
    assert (errors, status) == ("", 0)
    left = left_in(tmp_path)
    assert [span["name"] for span in [*left.ended, *left.started]] == ["kept", "kept"]
