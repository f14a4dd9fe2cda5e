"""`stats --value`: numbers of an attribute as a table and as JSON, and what it can't be asked with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from programs import spanview

RECORDING: Final = str(Path(__file__).parents[2] / "fixtures" / "serve" / "spans")


def test_a_table() -> None:
    """Figures are those of the numbers, by whatever groups the spans; a query leaves traces out."""
    printed = spanview("stats", RECORDING, "--value", "http.status_code", "--by", "http.method", "--json")
    document = json.loads(printed.output)
    assert (document["schema"], document["by"], document["attribute"]) == (
        "spanview/values/v1",
        "http.method",
        "http.status_code",
    )
    (group,) = [row for row in document["rows"] if row["key"] == "GET"]
    assert (group["value"]["p50"], group["value"]["max"]) == (200, 500)
    narrowed = spanview("stats", RECORDING, "--value", "http.status_code", "-q", "http.status_code=500", "--json")
    assert sum(row["count"] for row in json.loads(narrowed.output)["rows"]) < sum(
        row["count"] for row in document["rows"]
    )
    text = spanview("stats", RECORDING, "--value", "http.status_code")
    assert text.output.decode().splitlines()[0].split() == ["NAME", "COUNT", "TOTAL", "MIN", "P50", "P95", "P99", "MAX"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("http.status_cod",), "no span has http.status_cod; did you mean http.status_code?"),
        (("request_id",), "no span has a number as request_id"),
        (("http.status_code", "--by", "serve"), "--value takes numbers of spans, which can't be grouped by serve"),
        (("http.status_code", "--by", "nothing"), "can't group by 'nothing'"),
        (("http.status_code", "--ray", "auto"), "--value isn't counted on a cluster"),
    ],
)
def test_what_it_cannot_say(words: tuple[str, ...], said: str) -> None:
    """One line says what isn't there."""
    ended = spanview("stats", RECORDING, "--value", *words)
    assert ended.status == 2
    assert said in ended.notices
