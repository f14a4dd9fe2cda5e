"""`--follow` with real programs writing: nothing lost, nothing twice, and soon.

what happens to a file               what is printed
---------------------                ---------------
it grows                             each span once, in the file's order, within 100 ms
it is new, or in a new folder        the same, within 1.5 s
half a record comes, then the rest   the span, once it is whole
a record without an end of line      the span, within two seconds
it is removed                        what it had; the others go on
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, Document, file_of
from busy import Busy
from programs import DEADLINE_S, SPANVIEW, Following, spanview

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.machine

WRITER: Final = Path(__file__).parent / "span_writer.py"
WRITERS: Final = 4
PER_SECOND: Final = 200
SECONDS: Final = 4
LATENCY_MS: Final = 100.0
"""Ceiling of the 95th percentile from the write of a span to its print."""
NOTICED_S: Final = 1.5
"""Ceiling for what no hint tells of, such as new folders."""
UNENDED_S: Final = 2.0
"""Ceiling for a record that no line end follows."""
CUTS: Final = 25


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder."""
    folder = tmp_path / "spans"
    folder.mkdir()
    return folder


@pytest.fixture
def build() -> Builder:
    """Return a maker of spans."""
    return Builder()


def append(path: Path, *documents: Document | bytes) -> None:
    """Append records to a file, as a traced program does."""
    write(path, file_of(documents))


def write(path: Path, data: bytes) -> None:
    """Append bytes to a file in one piece."""
    with path.open("ab", buffering=0) as file:
        file.write(data)


def names(following: Following) -> list[str]:
    """Return the names of the spans that were printed, in order."""
    return [json.loads(line)["name"] for line in following.lines]


def wait_for_names(following: Following, expected: Iterable[str]) -> None:
    """Wait until spans of these names were printed."""
    missing = set(expected)
    following.wait_for(lambda: missing <= set(names(following)))


def have_names_within(seconds: float, following: Following, expected: Iterable[str]) -> None:
    """Wait until spans of these names were printed, for no longer than so many seconds of an idle machine."""
    with Busy() as busy:
        began = time.monotonic()
        wait_for_names(following, expected)
        took_s = time.monotonic() - began
    assert took_s <= seconds * busy.factor, f"{took_s:.1f} s, {busy.factor:.1f} times as busy"


def test_every_span_once_in_order_and_soon(folder: Path) -> None:
    """Of four programs that write 200 spans a second each, every span is printed once, in order, within 100 ms."""
    with Busy() as busy, Following("spans", "-f", folder) as following:
        append(folder / "first.json", Builder().span("first"))
        wait_for_names(following, ["first"])
        writers = [
            subprocess.Popen(
                [sys.executable, WRITER, folder / f"{each}.json", f"writer {each}", str(PER_SECOND * SECONDS), "200"],
                stdin=subprocess.DEVNULL,
            )
            for each in range(WRITERS)
        ]
        assert [writer.wait(DEADLINE_S + SECONDS) for writer in writers] == [0] * WRITERS
        following.wait_for(lambda: len(following.lines) > WRITERS * PER_SECOND * SECONDS)
        assert following.stop() == 0
    spans = [json.loads(line) for line in following.lines]
    for each in range(WRITERS):
        own = [span["attributes"]["number"] for span in spans if span["name"] == f"writer {each}"]
        assert own == list(range(PER_SECOND * SECONDS))
    assert len(spans) == 1 + WRITERS * PER_SECOND * SECONDS
    waits_ms = sorted(
        (printed_ns - span["attributes"]["written_ns"]) / 1e6
        for printed_ns, span in zip(following.times_ns[1:], spans[1:], strict=True)
    )
    p50, p95 = (waits_ms[int(len(waits_ms) * share)] for share in (0.5, 0.95))
    assert p95 < LATENCY_MS * busy.factor, f"{busy.factor:.1f} times as busy: p50 {p50:.1f} ms, p95 {p95:.1f} ms"


def test_new_files_and_folders_are_found(folder: Path, build: Builder) -> None:
    """A new file, one in a new folder, and one much deeper are read as they come; hidden ones are not."""
    with Following("spans", "-f", folder) as following:
        append(folder / "a.json", build.span("a"))
        wait_for_names(following, ["a"])
        append(folder / "b.json", build.span("b"))
        have_names_within(NOTICED_S, following, ["b"])
        (folder / "new").mkdir()
        append(folder / "new" / "c.json", build.span("c"))
        have_names_within(NOTICED_S, following, ["c"])
        (folder / "far" / "below").mkdir(parents=True)
        append(folder / ".hidden.json", build.span("hidden"))
        append(folder / "far" / "below" / "d.json", build.span("d"))
        have_names_within(NOTICED_S, following, ["d"])
        append(folder / "far" / "below" / "d.json", build.span("e"))
        have_names_within(NOTICED_S, following, ["e"])
        assert following.stop() == 0
    assert names(following) == list("abcde")
    assert following.notices == []


def test_half_a_record_waits_for_the_rest(folder: Path, build: Builder) -> None:
    """A record that is written in two pieces is printed once, when it is whole, wherever it was cut."""
    cut, beside = folder / "cut.json", folder / "beside.json"
    with Following("spans", "-f", folder) as following:
        for number in range(CUTS):
            record = file_of([build.span(f"cut {number}")], indent=4 if number % 2 else None)
            at = 1 + number * (len(record) - 2) // CUTS
            write(cut, record[:at])
            # When this one is printed, the half was there to be read.
            append(beside, build.span(f"beside {number}"))
            wait_for_names(following, [f"beside {number}"])
            assert f"cut {number}" not in names(following)
            write(cut, record[at:])
            wait_for_names(following, [f"cut {number}"])
        assert following.stop() == 0
    assert Counter(names(following)) == {
        f"{which} {number}": 1 for which in ("cut", "beside") for number in range(CUTS)
    }
    assert following.notices == []


def test_record_without_line_end_is_printed(folder: Path, build: Builder) -> None:
    """A whole record that no line end follows is printed within two seconds, and once when the line ends after all."""
    with Following("spans", "-f", folder) as following:
        append(folder / "1.json", build.span("a"))
        wait_for_names(following, ["a"])
        write(folder / "1.json", file_of([build.span("b")]).rstrip())
        have_names_within(UNENDED_S, following, ["b"])
        write(folder / "1.json", b"\n" + file_of([build.span("c")]))
        wait_for_names(following, ["c"])
        assert following.stop() == 0
    assert names(following) == ["a", "b", "c"]


def test_a_misspelt_key_is_said(folder: Path, build: Builder) -> None:
    """Where nothing matches that is there already, a key of the language's that is misspelt is a mistake, as in Python.

    Of others it is said why, once, and what only has to come is waited for.
    """
    append(folder / "1.json", build.span("a", attributes={"http.status": 1}))
    done = spanview("spans", "-f", "-q", "statsu=ERROR", folder)
    said = 'no span has statsu (did you mean status?); for an attribute of that name, write "statsu" with the quotes'
    assert (done.status, done.notices) == (2, f"spanview: {said}\n")
    with Following("spans", "-f", "-q", "http.staus=1", folder) as following:
        following.wait_for(lambda: bool(following.notices))
        said = "spanview: nothing matches so far; no span has http.staus (did you mean http.status?)"
        assert following.notices == [said]
        assert following.stop() == 0
    with Following("spans", "-f", "-q", "status=ERROR", folder) as following:
        append(folder / "1.json", build.span("b", status="ERROR"))
        wait_for_names(following, ["b"])
        assert (following.stop(), following.notices) == (0, [])


def test_lines_of_several_spans(folder: Path) -> None:
    """Lines of OTLP are followed too: each of their spans is printed once, in order, however the lines were written."""
    lines = [_otlp_line(first) for first in range(0, 3 * CUTS, 3)]
    path, beside = folder / "otlp.jsonl", folder / "beside.json"
    write(path, lines[0])
    with Following("spans", "-f", folder) as following:
        wait_for_names(following, ["span 0", "span 1", "span 2"])
        for number, line in enumerate(lines[1:], 1):
            at = 1 + number * (len(line) - 2) // CUTS
            write(path, line[:at])
            append(beside, Builder().span(f"beside {number}", trace=2, span=number))
            wait_for_names(following, [f"beside {number}"])
            assert f"span {3 * number}" not in names(following)
            write(path, line[at:] + b'{"resourceMetrics":[]}\n')
            wait_for_names(following, [f"span {3 * number + 2}"])
        # Lines that were there before come again, as exporters send them again.
        write(path, lines[0] + lines[-1] + _otlp_line(3 * CUTS))
        wait_for_names(following, [f"span {3 * CUTS + 2}"])
        assert following.stop() == 0
    printed = [name for name in names(following) if name.startswith("span")]
    assert printed == [f"span {number}" for number in range(3 * CUTS + 3)]
    spans = [json.loads(line) for line in following.lines]
    assert [span["attributes"]["n"] for span in spans if span["name"].startswith("span")] == [*range(3 * CUTS + 3)]
    assert following.notices == []


def _otlp_line(first: int) -> bytes:
    """Return a line of OTLP with three spans."""
    spans = [
        {
            "traceId": f"{1:032x}",
            "spanId": f"{number + 1:016x}",
            "name": f"span {number}",
            "startTimeUnixNano": "1700000000000000000",
            "attributes": [{"key": "n", "value": {"intValue": str(number)}}],
        }
        for number in range(first, first + 3)
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode() + b"\n"


def test_removed_file_leaves_the_others(folder: Path, build: Builder) -> None:
    """After a file was removed its spans stay printed, others go on, and the name may be used again."""
    one, other = folder / "1.json", folder / "2.json"
    with Following("spans", "-f", folder) as following:
        append(one, build.span("a"))
        append(other, build.span("b"))
        wait_for_names(following, ["a", "b"])
        one.unlink()
        append(other, build.span("c"))
        wait_for_names(following, ["c"])
        append(one, build.span("d"))
        have_names_within(NOTICED_S, following, ["d"])
        one.rename(folder / "3.json")
        append(folder / "3.json", build.span("e"))
        have_names_within(NOTICED_S, following, ["e"])
        assert following.stop() == 0
    assert Counter(names(following)) == dict.fromkeys("abcde", 1)
    assert following.notices == []


def test_what_cant_be_read_is_told_once(folder: Path, build: Builder) -> None:
    """A symbolic link among the files is refused with one line, when it comes, and the files are read."""
    with Following("spans", "-f", folder) as following:
        append(folder / "1.json", build.span("a"))
        wait_for_names(following, ["a"])
        (folder / "link.json").symlink_to(folder / "1.json")
        with Busy() as busy:
            took_s = following.wait_for_notice("link.json: a symbolic link")
        assert took_s <= NOTICED_S * busy.factor
        append(folder / "1.json", build.span("b"))
        wait_for_names(following, ["b"])
        assert following.stop() == 0
    assert len(following.notices) == 1


@pytest.mark.parametrize("command", ["spans", "tree"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_quietly(folder: Path, build: Builder, command: str, number: signal.Signals) -> None:
    """Ctrl+C and SIGTERM end the following with status 0 and without a word."""
    append(folder / "1.json", build.span("a"))
    with Following(command, "-f", folder) as following:
        following.wait_for(lambda: any("a" in line for line in following.lines))
        assert following.stop(number) == 0
    assert following.notices == []


@pytest.mark.parametrize("goes_on", [True, False], ids=["spans follow", "nothing follows"])
def test_reader_that_has_enough_ends_it_quietly(folder: Path, build: Builder, *, goes_on: bool) -> None:
    """`spanview spans -f | head -1` ends with status 0 and without a word, also when nothing more is written."""
    append(folder / "1.json", build.span("a"), build.span("b"))
    with subprocess.Popen(
        [*SPANVIEW, "spans", "-f", folder],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            head = subprocess.run(["head", "-1"], stdin=process.stdout, capture_output=True, timeout=60, check=True)
            assert process.stdout is not None
            process.stdout.close()
            if goes_on:
                append(folder / "1.json", build.span("c"))
            assert process.wait(DEADLINE_S) == 0
            assert process.stderr is not None
            assert process.stderr.read() == b""
        finally:
            process.kill()
    assert json.loads(head.stdout)["name"] == "a"


def test_trace_filter_waits_for_its_trace(folder: Path, build: Builder) -> None:
    """`--trace` prints a trace that comes later, and nothing of those before it."""
    with Following("spans", "-f", "--trace", f"{7:032x}", folder) as following:
        append(folder / "1.json", build.span("other", trace=1))
        append(folder / "2.json", build.span("wanted", trace=7), build.span("other", trace=2))
        wait_for_names(following, ["wanted"])
        assert following.stop() == 0
    assert names(following) == ["wanted"]


# -- tree -------------------------------------------------------------------------------------------------------------


def titles(following: Following) -> list[str]:
    """Return the lines that stand above trees."""
    return [line for line in following.lines if line.startswith("trace ")]


def test_tree_prints_complete_traces_when_quiet(folder: Path, build: Builder) -> None:
    """A complete trace is printed after two quiet seconds, and again, marked, when it has grown."""
    with Following("tree", "-f", folder) as following:
        parent, child = build.draw("parent 0-10\n  child 2-5")
        append(folder / "1.json", child)
        append(folder / "1.json", parent)
        written = time.monotonic()
        following.wait_for(lambda: "" in following.lines)
        assert time.monotonic() - written >= 2.0
        assert titles(following)[0].endswith(" · 2 spans · complete")
        assert [line.split()[-1] for line in following.lines[1:3]] == ["parent", "child"]
        append(folder / "1.json", build.span("late", parent=1))
        following.wait_for(lambda: len(titles(following)) == 2)
        assert titles(following)[1].endswith(" · 3 spans · complete · grown since it was printed")
        assert following.stop() == 0
    assert len(titles(following)) == 2


def test_tree_prints_incomplete_traces_at_the_end(folder: Path, build: Builder) -> None:
    """What is incomplete when the following ends is printed then, and says so."""
    with Following("tree", "-f", folder) as following:
        append(folder / "1.json", build.span("orphan", trace=1, parent=99), build.span("whole", trace=2))
        following.wait_for(lambda: len(titles(following)) == 1)
        assert titles(following)[0].endswith("1 span · complete")
        assert following.stop() == 0
    assert titles(following)[1].endswith("1 span · incomplete")
    assert any("parent not seen (0000000000000063)" in line for line in following.lines)


def test_tree_prints_incomplete_traces_after_ten_quiet_seconds(folder: Path, build: Builder) -> None:
    """An incomplete trace isn't waited for any longer than ten quiet seconds; complete, it is printed again, marked."""
    with Following("tree", "-f", folder) as following:
        append(folder / "1.json", build.span("orphan", parent=99))
        written = time.monotonic()
        following.wait_for(lambda: len(titles(following)) == 1)
        assert time.monotonic() - written >= 10.0
        append(folder / "1.json", build.span("parent", span=99))
        following.wait_for(lambda: len(titles(following)) == 2)
        assert following.stop() == 0
    first, second = titles(following)
    assert first.endswith("1 span · incomplete")
    assert second.endswith("2 spans · complete · grown since it was printed")
