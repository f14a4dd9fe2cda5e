"""Spanview's own lines are scanned, and what is left of damaged ones is what the decoder makes of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from builders import Builder
from seeds import seeds
from spanview.quick import pages

from .folders import own_line
from .test_otlp import note_decoded
from .test_same import _compare, load

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["note_decoded"]


def test_usual_lines_are_not_decoded(tmp_path: Path, decoded: list[int]) -> None:
    """Whatever spanview writes, links apart: with and without an end, a scope, and what only some formats have."""
    dice, build = random.Random(1), Builder()
    documents = [
        build.span(name, service="s", status=status, parent=parent, attributes={"a": [{"b": "}"}], "c": 'a "\\\\'})
        for _ in range(9)
        for name in ("a", "n" * 300, 'with "quotes"')
        for status in ("UNSET", "ERROR")
        for parent in (None, 7)
    ]
    documents[3]["status"]["description"] = "of many\nlines"
    (tmp_path / "a.jsonl").write_bytes(b"".join(own_line(dice, document, odd=0) + b"\n" for document in documents))
    assert (len(load(tmp_path, quick_from=0).spans), decoded) == (len(documents), [])
    _compare(tmp_path)


@pytest.mark.parametrize("before", [b"", b"]" * 100], ids=["", "ends"])
@pytest.mark.parametrize("depths", [(1, *range(120, 132)), (1, 220, 2), (1, 250, 256, 259, 260, 700, 3)])
def test_lists_within_lists(tmp_path: Path, decoded: list[int], depths: tuple[int, ...], before: bytes) -> None:
    """As deep as a byte counts, and deeper, also behind a line that ends more of them than it begins."""
    dice, build = random.Random(1), Builder()
    lines = [own_line(dice, build.span("a", service="s", attributes={"a": 1}), odd=0) for _ in depths]
    for number, depth in enumerate(depths):
        lines[number] = lines[number].replace(b'"a":1', b'"a":%b%b' % (b"[" * depth, b"]" * depth))
    lines.insert(1, before)
    (tmp_path / "a.jsonl").write_bytes(b"\n".join([*lines, b""]))
    assert (len(load(tmp_path, quick_from=0).spans), decoded) == (len(depths), [])
    _compare(tmp_path)


@pytest.mark.parametrize("seed", seeds(4))
def test_damage_at_every_byte(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte that is another one, or missing, or the line's last one, comes to what the decoder makes of it."""
    monkeypatch.setattr(pages, "PAGE_BYTES", 1 << 20)
    dice, build = random.Random(seed), Builder()
    line = own_line(dice, build.span("a name", parent=7, service="s", status="ERROR"), odd=0) + b"\n"
    usual = [own_line(dice, build.span("b", service="s"), odd=0) + b"\n" for _ in range(200)]
    begin, end = line.index(b'"attributes":'), line.index(b',"trace_state":')
    source = line.index(b'"extra":') if b'"extra":' in line else line.index(b'"source":')
    skipped = {*range(begin, end), *range(source, len(line))}
    for number, other in enumerate((None, b"", b"\n", b"}", b'"')):
        parts = []
        for at in range(len(line)):
            if at not in skipped:
                parts += [line[:at] + (dice.randbytes(1) if other is None else other) + line[at + 1 :]]
            parts += [usual[at % len(usual)]] if dice.random() < 0.5 else []
        folder = tmp_path / str(number)
        folder.mkdir()
        for at, part in enumerate(parts[::7]):
            (folder / f"{at}.jsonl").write_bytes(usual[0] + part + usual[1])
        _compare(folder)
        (folder / "all.jsonl").write_bytes(b"".join(usual[:9] + parts))
        _compare(folder)
