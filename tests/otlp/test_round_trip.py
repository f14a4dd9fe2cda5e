"""What `spanview push` has sent is what `spanview receive` has written, span by span.

recordings ──push──▶ endpoint ──▶ lines of OTLP ──push──▶ another endpoint, that is killed meanwhile ──▶ the same
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from otlp_messages import message_of, parts_of
from programs import Following, spanview
from receivers import Receiver
from seeds import THOROUGH, sample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
RECORDINGS: Final = sample(sorted(path for path in FIXTURES.glob("*/spans") if path.parent.name != "made"), 8)


def spans_in(*paths: Path) -> list[str]:
    """Return the spans of files that have ended, with resource and scope, in one order."""
    lines = spanview("export", "--format", "otlp", *paths).output.splitlines()
    spans = parts_of(*(message_of(json.loads(line)) for line in lines))
    return [part for part in spans if "endTimeUnixNano" in json.loads(part)[2]]


def lines_in(folder: Path) -> int:
    """Return how many lines the files of a folder have."""
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl"))


def endpoint_of(receiver: Receiver, protocol: str) -> Sequence[str]:
    """Return the options that name a receiver."""
    port = receiver.port("gRPC" if protocol == "grpc" else "HTTP")
    return "--endpoint", f"http://localhost:{port}", "--protocol", protocol


@pytest.fixture(scope="module")
def recorded() -> list[str]:
    """The spans of all recordings, or of every third: test_push.py sends all."""
    return spans_in(*RECORDINGS)


@pytest.mark.shortened
@pytest.mark.parametrize(
    ("protocol", "compression"), [("http/json", "none"), ("http/protobuf", "gzip"), ("grpc", "gzip")]
)
def test_recordings(tmp_path: Path, recorded: list[str], protocol: str, compression: str) -> None:
    """Every span of the recordings arrives over each protocol, and is read again as what it was."""
    with Receiver(tmp_path / "there") as receiver:
        done = spanview("push", *RECORDINGS, *endpoint_of(receiver, protocol), "--compression", compression)
        receiver.stop(signal.SIGTERM)
    assert done.status == 0, done.notices
    assert f"sent {len(recorded):,} spans" in done.notices
    assert spans_in(tmp_path / "there") == recorded
    assert len(recorded) > (2500 if THOROUGH else 500)


@pytest.mark.shortened
def test_killed_receiver(tmp_path: Path, recorded: list[str]) -> None:
    """An endpoint that is killed and comes back gets every span."""
    there = tmp_path / "there"
    with Receiver(there) as receiver:
        port = receiver.port()
        # So slowly that there is more to send when it is killed, also on a quick machine.
        words: list[str | Path] = ["push", *RECORDINGS, "--endpoint", f"http://localhost:{port}", "--rate", "300", "-f"]
        with Following(*words) as pushing:
            assert _is_soon(lambda: lines_in(there) > 0)
            receiver.process.stop(signal.SIGKILL)
            pushing.wait_for_notice("retrying")
            with Receiver(there, "--http", str(port)) as again:
                pushing.wait_for_notice("the endpoint responds again")
                assert _is_soon(lambda: lines_in(there) >= len(recorded))
                assert pushing.stop() == 0
                again.stop(signal.SIGTERM)
    # A batch that was written and not acknowledged was sent again.
    assert spans_in(there) == recorded


def _is_soon(condition: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.2)
    return True
