"""What a format could not say, counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from programs import spanview as run
from spanview.exports.losses import Losses

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"


def test_lines() -> None:
    """Each kind of loss is a line with its number in it, the most frequent first, then by the alphabet."""
    losses = Losses("jaeger")
    for sentence in ("dropped {link}", "cut {text} short", "moved {entry}", "moved {entry}"):
        losses(sentence)
    assert losses.lines() == ["jaeger: moved 2 entries", "jaeger: cut 1 text short", "jaeger: dropped 1 link"]


def test_nothing_lost() -> None:
    """Nothing is said where nothing was lost."""
    assert Losses("zipkin").lines() == []


@pytest.mark.parametrize("form", ["jsonl", "trace-tree"])
def test_what_json_cannot_say(form: str, tmp_path: Path) -> None:
    """NaN, bytes and what is no Unicode are told also where spanview's own formats are written."""
    odd: dict[str, Any] = {
        "nan": {"doubleValue": "NaN"},
        "bytes": {"bytesValue": "AAEC"},
        "lone": {"stringValue": "\ud800"},
    }
    pairs = [{"key": key, "value": value} for key, value in odd.items()]
    ids = {"traceId": f"{7:032x}", "spanId": f"{8:016x}"}
    span = {**ids, "name": "a", "startTimeUnixNano": "5000", "endTimeUnixNano": "9000", "attributes": pairs}
    path = tmp_path / "otlp.json"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    done = run("export", str(path), "--format", form)
    told = (
        "wrote 1 non-finite number as text",
        "wrote 1 bytes value as base64 text",
        "replaced invalid Unicode in 1 text",
    )
    assert [f"spanview: {form}: {each}" in done.notices for each in told] == [True] * 3
    for other in ("jaeger", "zipkin", "chrome", "otlp"):
        assert f"spanview: {other}: {told[2]}" in run("export", str(path), "--format", other).notices


def test_clean_spans_lose_nothing() -> None:
    """Of recordings, nothing is told."""
    for form in ("jsonl", "trace-tree"):
        assert run("export", str(FIXTURES / "ray-tasks-bundled-hook/spans"), "--format", form).notices == ""
