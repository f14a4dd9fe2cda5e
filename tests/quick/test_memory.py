"""How many bytes a span takes: what is held in the end, and the most that a process has meanwhile, of large folders."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, file_of, span_id, trace_id

if TYPE_CHECKING:
    from pathlib import Path

    from builders import Document

_FEW, _MANY = 40_000, 160_000
_FILES: Final = 4
_PROGRAM: Final = """
import gc, sys
import spanview

def taken(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) * 1024

store = spanview.load(sys.argv[1])
gc.collect()
held = taken("VmRSS")
assert sum(group.count for group in store.stats()) == len(store)
print(len(store), held, taken("VmHWM"))
"""


def _text(name: str, number: int, parent: int | None) -> bytes:
    build, ids = Builder(), {"trace_id": trace_id(0xAAAA), "span_id": span_id(number), "trace_state": "[]"}
    parent_id = None if parent is None else span_id(parent)
    span: Document = build.span(name, context=ids, parent_id=parent_id, start=number, attributes={"text": "x" * 100})
    return file_of([span], indent=4)


def _write(folder: Path, spans: int, per_trace: int) -> Path:
    """Write traces of some spans, each of which is spread over all files."""
    folder.mkdir()
    texts = [_text(f"step {number}", 0xB0 + number, number and 0xB0) for number in range(per_trace)]
    for file in range(_FILES):
        template = b"".join(texts[file::_FILES])
        ids = ((trace_id(0xAAAA)[2:].encode(), f"{trace:032x}".encode()) for trace in range(1, spans // per_trace + 1))
        (folder / f"{file}.json").write_bytes(b"".join(template.replace(*pair) for pair in ids))
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory a process had at the most")
@pytest.mark.parametrize(("per_trace", "most_held", "most_at_peak"), [(8, 65, 130), (2, 85, 185)])
def test_bytes_a_span(per_trace: int, most_held: int, most_at_peak: int, tmp_path: Path) -> None:
    """Neither the columns nor what loading and statistics need beside them grow unseen.

    Args:
        per_trace: Spans of each trace.
        most_held: Bytes of a span that came besides: 54 are its own, and 64 a trace's.
        most_at_peak: The same. Statistics of one forest would need 230.
        tmp_path: Where the files are.
    """
    figures = []
    for spans in (_FEW, _MANY):
        words = [sys.executable, "-c", _PROGRAM, str(_write(tmp_path / str(spans), spans, per_trace))]
        figures.append([*map(int, subprocess.run(words, capture_output=True, check=True).stdout.split())])
    count, held, peak = (more - less for less, more in zip(*figures, strict=True))
    assert count == _MANY - _FEW
    assert (held / count <= most_held, peak / count <= most_at_peak) == (True, True), (held / count, peak / count)
