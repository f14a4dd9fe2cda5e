"""What is decoded behind a scan: damage is marked, odd values aren't."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from builders import Builder, file_of
from spanview.model.problems import Warnings
from spanview.quick.proof import prove

from .folders import otlp_line, own_line
from .test_same import load

if TYPE_CHECKING:
    from pathlib import Path

ODD = [b"NaN", b"-Infinity", b'"functi\xc3"', b"1e999", b'"\\ud8001"', b"123456789012345678901234567890"]
DAMAGED = [b'"value', b"", b'"value 3" 7', b"nul", b"[1"]


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize("value", [*ODD, *DAMAGED])
def test_values(value: bytes, indent: int | None, tmp_path: Path) -> None:
    """Only those are marked that no decoder makes anything of; they are problems, and keep their columns."""
    build = Builder()
    records = [file_of([build.span(attributes={"key": "value 3"})], indent=indent) for _ in range(20)]
    records[9] = records[9].replace(b'"value 3"', value)
    (tmp_path / "1.json").write_bytes(b"".join(records))
    store = load(tmp_path, quick_from=0)
    assert len(store.spans) == 20
    left = [*prove(store)]
    assert left[-1] == 0
    marked = [row for row, bits in enumerate(store.spans.warnings) if bits & Warnings.DETAIL_LOST]
    assert len(marked) == store.tallies.torn == len(store.problems()) == (value in DAMAGED)
    for row in marked:
        assert store.span(row).name == "span"
        assert store.spans.offset[row] == sum(map(len, records[:9]))


MALFORMED = [b"7", b'"b"}},{"key":"key","value":{"stringValue":"c"']
UNUSUAL = [b'"\xc3\xa4"', b"null", b'"b","boolValue":true', b'"b"}}],"more":[{"a":{"b":"c"']
BROKEN = [b'"value', b"", b'"b" 7', b"nul", b"[1", b'"b"}}]}]']


@pytest.mark.parametrize("value", [*UNUSUAL, *MALFORMED, *BROKEN])
def test_values_of_otlp(value: bytes, tmp_path: Path) -> None:
    """Damage is marked, and what isn't as the protocol has it gets the warning that the general decoder gives it."""
    build = Builder()
    records = [otlp_line(build.span(attributes={"key": "value 3"})) for _ in range(20)]
    records[9] = records[9].replace(b'"value 3"', value)
    (tmp_path / "1.jsonl").write_bytes(b"".join(records))
    store = load(tmp_path, quick_from=0)
    assert (len(store.spans), [*prove(store)][-1]) == (20, 0)
    expected = Warnings.DETAIL_LOST if value in BROKEN else Warnings.ODD_VALUE if value in MALFORMED else 0
    assert [*store.spans.warnings] == [0] * 9 + [int(expected)] + [0] * 10
    assert store.tallies.torn == len(store.problems()) == (value in BROKEN)
    if value not in BROKEN:
        assert [*store.spans.warnings] == [*load(tmp_path, quick_from=1 << 60).spans.warnings]


@pytest.mark.parametrize("value", [b"", b'"b" 7', b"nul"])
def test_values_of_own_lines(value: bytes, tmp_path: Path) -> None:
    """What is damaged where a scan skips it is marked."""
    dice, build = random.Random(1), Builder()
    records = [own_line(dice, build.span(attributes={"key": "value 3"}), odd=0) + b"\n" for _ in range(20)]
    records[9] = records[9].replace(b'"value 3"', value)
    (tmp_path / "1.jsonl").write_bytes(b"".join(records))
    store = load(tmp_path, quick_from=0)
    assert (len(store.spans), [*prove(store)][-1]) == (20, 0)
    assert [row for row, bits in enumerate(store.spans.warnings) if bits & Warnings.DETAIL_LOST] == [9]
    assert store.tallies.torn == len(store.problems()) == 1


@pytest.mark.parametrize("value", [b'"value 3"', b"7", b"", b'"b" 7', b"nul"])
def test_values_of_documents(value: bytes, tmp_path: Path) -> None:
    """Of several spans in one line, damage marks all and is one problem; an odd value gets its span the warning."""
    build = Builder()
    lines = []
    for _ in range(3):
        values = [json.loads(otlp_line(build.span(attributes={"key": "value 3"}))) for _ in range(4)]
        scopes = [part["resourceSpans"][0]["scopeSpans"][0]["spans"] for part in values]
        scopes[0] += [span for (span,) in scopes[1:]]
        lines.append(json.dumps(values[0], separators=(",", ":")).encode() + b"\n")
    front, _, rest = lines[1].rpartition(b'"value 3"')
    (tmp_path / "1.jsonl").write_bytes(lines[0] + front + value + rest + lines[2])
    store = load(tmp_path, quick_from=0)
    assert (len(store.spans), [*prove(store)][-1]) == (12, 0)
    is_broken = value in {b"", b'"b" 7', b"nul"}
    lost = [bool(bits & Warnings.DETAIL_LOST) for bits in store.spans.warnings]
    assert lost == [False] * 4 + [is_broken] * 4 + [False] * 4
    assert store.tallies.torn == len(store.problems()) == is_broken
    if not is_broken:
        assert [*store.spans.warnings] == [*load(tmp_path, quick_from=1 << 60).spans.warnings]
