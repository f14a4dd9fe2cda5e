"""`spanview receive` as a program: what OpenTelemetry's own exporters send arrives, whatever happens to it.

meanwhile                 spans
---------                 -----
nothing                   all of them, and `check` finds nothing wrong
SIGTERM, Ctrl+C           what is in hand; then it says how many there were
SIGKILL, again and again  every one that was acknowledged, once for each time
a full disk               declined, until there is room
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Any, Final

import psutil
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from programs import SPANVIEW, spanview
from receivers import JSON, Receiver, document, post, request_of, span
from terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from opentelemetry.sdk.trace.export import SpanExporter

EXPORTERS: Final[dict[str, Callable[[Receiver], SpanExporter]]] = {
    "HTTP": lambda receiver: HttpExporter(endpoint=f"http://localhost:{receiver.port()}/v1/traces"),
    "HTTP with gzip": lambda receiver: HttpExporter(
        endpoint=f"http://localhost:{receiver.port()}/v1/traces", compression=Compression.Gzip
    ),
    "gRPC": lambda receiver: GrpcExporter(endpoint=f"http://localhost:{receiver.port('gRPC')}", insecure=True),
}


@pytest.mark.parametrize("name", EXPORTERS)
def test_what_the_sdk_exports_arrives(tmp_path: Path, name: str) -> None:
    """Each span with all that it has; `check` finds nothing wrong."""
    with Receiver(tmp_path) as receiver:
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(EXPORTERS[name](receiver)))
        tracer = provider.get_tracer("a scope", "1.0", attributes={"of": "scope"})
        for _ in range(300):
            with tracer.start_as_current_span("root", kind=SpanKind.SERVER) as root:
                link = Link(root.get_span_context(), {"why": "because"})
                values: dict[str, Any] = {
                    "text": 'ä "quoted"\n',
                    "int": 2**40,
                    "float": 0.1,
                    "bool": True,
                    "list": [1, 2],
                }
                with tracer.start_as_current_span("child", links=[link], attributes=values) as child:
                    child.add_event("event", {"n": 1})
                    child.set_status(Status(StatusCode.ERROR, "it failed"))
        provider.shutdown()
        said = receiver.stop(signal.SIGTERM)
        assert said.startswith("spanview: received 600 spans in ")
        assert "1 file of" in said
        written = receiver.written()
    assert len(written) == 600
    children = {found["parentSpanId"]: found for found in written if "parentSpanId" in found}
    roots = {found["spanId"]: found for found in written if "parentSpanId" not in found}
    assert children.keys() == roots.keys()
    child_fields = children[next(iter(roots))]
    assert {pair["key"]: pair["value"] for pair in child_fields["attributes"]} == {
        "text": {"stringValue": 'ä "quoted"\n'},
        "int": {"intValue": str(2**40)},
        "float": {"doubleValue": 0.1},
        "bool": {"boolValue": True},
        "list": {"arrayValue": {"values": [{"intValue": "1"}, {"intValue": "2"}]}},
    }
    assert child_fields["status"] == {"code": 2, "message": "it failed"}
    assert child_fields["events"][0]["name"] == "event"
    assert child_fields["links"][0]["spanId"] == next(iter(roots))
    checked = spanview("check", tmp_path, "--json")
    assert (checked.status, json.loads(checked.output)["summary"]["spans"]) == (0, 600)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_summary_says_what_there_was(tmp_path: Path, number: signal.Signals) -> None:
    """How many spans and requests, what was refused and why, and what was dropped; the exit status is 0."""
    with Receiver(tmp_path / "new") as receiver:
        receiver.post(json.dumps(document(span(1), span(2), span(3, traceId=""))).encode(), JSON)
        for _ in range(2):
            receiver.post(b"{}", JSON, path="/v1/logs")
        said = receiver.stop(number)
        notices = receiver.process.notices
    assert said == (
        f"spanview: received 2 spans in 1 request, in 1 file of {tmp_path / 'new'}; dropped 2 requests of logs; "
        "refused 1 span: a trace id that isn't 16 bytes, or all zeros"
    )
    assert [notice for notice in notices if "logs" in notice] == [
        "spanview: logs are received and dropped; --keep logs keeps them",
        said,
    ]


def test_metrics_and_logs_are_kept_beside(tmp_path: Path) -> None:
    """Those that are asked for, where nobody looks for spans."""
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId": "ab" * 16, "body": {"stringValue": "x"}}]}]}]}
    with Receiver(tmp_path, "--keep", "logs") as receiver:
        assert receiver.post(json.dumps(logs).encode(), JSON, path="/v1/logs").status == 200
        assert receiver.post(b"{}", JSON, path="/v1/metrics").status == 200
        assert receiver.post(b"\xff", path="/v1/logs").status == 400
        assert receiver.post(request_of(1).SerializeToString()).status == 200
        assert receiver.stop(signal.SIGTERM) == (
            f"spanview: received 1 span in 1 request, in 1 file of {tmp_path}; dropped 1 request of metrics; "
            "kept 1 request of logs"
        )
    (path,) = (tmp_path / ".logs").iterdir()
    assert json.loads(path.read_bytes()) == logs
    assert not (tmp_path / ".metrics").exists()
    checked = spanview("check", tmp_path, "--json")
    assert checked.status == 0
    assert json.loads(checked.output)["problems"] == []


def test_the_oldest_files_are_removed_and_named(tmp_path: Path) -> None:
    """With --max-bytes, the folder keeps to it; what is removed is said, and the newest spans stay."""
    with Receiver(tmp_path, "--max-bytes", "100000", "--max-file", "1GiB") as receiver:
        for number in range(1, 101):
            assert receiver.post(request_of(number, name="n" * 5000).SerializeToString()).status == 200
            assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 100_000
        kept = {found["spanId"] for found in receiver.written()}
        receiver.stop(signal.SIGTERM)
        removed = [notice for notice in receiver.process.notices if notice.startswith("spanview: removed ")]
    assert f"{100:016x}" in kept
    assert f"{1:016x}" not in kept
    assert removed[0].startswith(f"spanview: removed {tmp_path}/received-")
    assert removed[0].endswith(", to stay within --max-bytes")
    left = f"in {len([*tmp_path.iterdir()])} files of {tmp_path}"
    gone = f"removed {len(removed)} files, to stay within --max-bytes"
    assert receiver.process.notices[-1].endswith(f"{left}; {gone}")


@pytest.mark.parametrize(("off", "protocol"), [("--http", "gRPC"), ("--grpc", "HTTP")])
def test_one_of_both_can_be_off(tmp_path: Path, off: str, protocol: str) -> None:
    """The other one is served."""
    with Receiver(tmp_path, off, "off") as receiver:
        assert receiver.port(protocol)
        assert receiver.process.notices[0].count("http://") == 1
        assert receiver.stop(signal.SIGTERM) == f"spanview: received 0 spans in 0 requests, in 0 files of {tmp_path}"


@pytest.mark.parametrize("which", ["--http", "--grpc"])
def test_a_port_that_is_taken_is_an_error(tmp_path: Path, which: str) -> None:
    """Nothing is received at the other one, either, and no folder is left."""
    with Receiver(tmp_path / "first") as receiver:
        taken = receiver.port({"--http": "HTTP", "--grpc": "gRPC"}[which])
        other = "--grpc" if which == "--http" else "--http"
        done = spanview(
            "receive", "--dir", tmp_path / "new" / "second", which, str(taken), other, "0", program=SPANVIEW
        )
    assert done.status == 2
    assert f":{taken}" in done.notices
    assert len(done.lines) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--dir DIR is missing"),
        (["--dir", "file"], "file: File exists; give another folder with --dir"),
        (["--dir", "file/below"], "Not a directory"),
        (["--dir", "new", "--host", "no.such.host.invalid"], "--host no.such.host.invalid"),
        (["--dir", "new", "--host", "192.0.2.1", "--http", "0", "--grpc", "off"], "192.0.2.1"),
        (["--dir", "new", "--host", "192.0.2.1", "--grpc", "0", "--http", "off"], "192.0.2.1"),
    ],
)
def test_what_can_not_be_is_said(tmp_path: Path, words: list[str], says: str) -> None:
    """One line on standard error, and status 2."""
    (tmp_path / "file").touch()
    done = spanview("receive", *words, folder=tmp_path, program=SPANVIEW)
    assert done.status == 2
    assert says in done.notices
    assert len(done.lines) == 1


def test_a_folder_below_one_that_is_removed(tmp_path: Path) -> None:
    """Where the working folder is no more, a relative DIR can't be made, and that is said of it."""
    (tmp_path / "gone").mkdir()
    enter = f"import os, sys; os.chdir({str(tmp_path / 'gone')!r}); os.rmdir(os.getcwd()); "
    program = sys.executable, "-c", enter + "from spanview.cli import main; sys.exit(main())"
    done = spanview("receive", "--dir", "new", folder=tmp_path, program=program)
    assert done.status == 2
    assert done.lines == ["spanview: new: the folder that this is in has been removed: go to another one"]


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    """Nothing of it is imported before that is known."""
    hidden = "import sys; sys.modules['aiohttp'] = None; from spanview.cli import main; sys.exit(main())"
    done = spanview("receive", "--dir", tmp_path, program=(sys.executable, "-c", hidden))
    assert done.status == 2
    assert "pip install 'spanview[otlp]'" in done.notices


def test_only_this_machine_can_send_unless_told(tmp_path: Path) -> None:
    """Nothing listens elsewhere than at the loopback addresses."""
    with Receiver(tmp_path) as receiver:
        receiver.post(b"{}", JSON)
        listening = [
            each.laddr.ip
            for each in psutil.Process(receiver.process.pid).net_connections()
            if each.status == psutil.CONN_LISTEN
        ]
        assert listening
        assert {*listening} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
        with Receiver(tmp_path / "all", "--host", "0.0.0.0") as other:  # noqa: S104 - that is what is tried
            assert other.post(b"{}", JSON).status == 200


@pytest.mark.parametrize("how", ["left", "killed"])
def test_the_viewer_shows_what_is_received(tmp_path: Path, how: str) -> None:
    """It opens at once, says where to send, and follows; the receiver ends with it, and is silent meanwhile."""
    words = ("--dir", "spans", "--http", "0", "--grpc", "0", "--view")
    with Terminal(*words, command=("receive",), folder=tmp_path, environment={"A": "1"}) as terminal:
        assert terminal.has_soon("OTEL_EXPORTER_OTLP_ENDPOINT"), terminal.lines
        match = re.search(r"http://localhost:(\d+) \(HTTP\)", terminal.output.decode())
        assert match is not None
        (receiver,) = psutil.Process(terminal.pid).children()
        assert post(int(match[1]), request_of(1, 2, 3).SerializeToString()).status == 200
        assert terminal.has_soon("3 traces", "span 3"), terminal.lines
        if how == "left":
            terminal.send(b"q")
            assert terminal.wait() == 0
        else:
            os.kill(terminal.pid, signal.SIGKILL)
        receiver.wait(10)
    assert how == "killed" or b"spanview: received 3 spans in 1 request" in terminal.output


def test_the_viewer_does_not_open_where_nothing_can_be_received(tmp_path: Path) -> None:
    """The same line and status as without it."""
    with Receiver(tmp_path) as receiver:
        words = ("--dir", str(tmp_path), "--grpc", "off", "--http", str(receiver.port()), "--view")
        done = spanview("receive", *words, program=SPANVIEW)
    assert done.status == 2
    assert "is in use: give another port with --http" in done.notices
    assert len(done.lines) == 1
