"""Lines of spanview's hook that count the spans which it could not write.

as the hook writes it                       its number, its time, its reason
of another scope, or without a number       nothing: any program may write log records
a number that can't be one                  nothing
no time, no reason                          its number, 0 and an empty text
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Builder, file_of
from spanview.formats.decoder import Decoder
from spanview.formats.rows import Unwritten
from spanview.ray.lines import loss_line_of

TIME_NS = 1_700_000_000_000_000_007


def line(**fields: Any) -> bytes:
    """Return a line with one log record of the hook's scope that has some other fields."""
    ((of_resource,),) = json.loads(loss_line_of({"service.name": "shop"}, TIME_NS, 3, "No space left")).values()
    (of_scope,) = of_resource["scopeLogs"]
    (record,) = of_scope["logRecords"]
    scope = {"scope": fields.pop("scope")} if "scope" in fields else {}
    of_scope |= scope | {"logRecords": [record | fields]}
    return json.dumps({"resourceLogs": [of_resource]}).encode() + b"\n"


def counted(value: Any, key: str = "spanview.not_written") -> list[dict[str, Any]]:
    """Return the attributes of a record that counts."""
    return [{"key": key, "value": value}]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (line(), [Unwritten(0, TIME_NS, 3, "No space left")]),
        (
            line() + b"\n" + line(),
            [Unwritten(0, TIME_NS, 3, "No space left"), Unwritten(len(line()) + 1, TIME_NS, 3, "No space left")],
        ),
        (line(attributes=counted({"intValue": 5})), [Unwritten(0, TIME_NS, 5, "")]),
        (line(timeUnixNano="soon"), [Unwritten(0, 0, 3, "No space left")]),
        (line(timeUnixNano=None), [Unwritten(0, 0, 3, "No space left")]),
        (line(scope={"name": "shop"}), []),
        (line(scope=None), []),
        (line(scope=[7]), []),
        (line(attributes=[]), []),
        (line(attributes=7), []),
        (line(attributes=counted({"intValue": "5"}, "other")), []),
        *(
            (line(attributes=counted(value)), [])
            for value in ({"intValue": "-1"}, {"intValue": "0"}, {"intValue": "x"})
        ),
        *((line(attributes=counted(value)), []) for value in ({"intValue": "9" * 30}, {"boolValue": True}, {}, None)),
        (b'{"resourceLogs": 7}\n{"resourceLogs": [7, {"scopeLogs": [7, {"scope": {"name": "spanview.ray"}}]}]}\n', []),
    ],
)
def test_lines(data: bytes, said: list[Unwritten]) -> None:
    """Whatever they say, each is a document that is no span, and nothing is made of the spans beside it."""
    spans = file_of([Builder().span()])
    batch = Decoder().feed(data + spans)
    assert list(batch.unwritten) == said
    assert (len(batch.columns), len(batch.skipped)) == (1, data.count(b'{"resourceLogs'))


def test_long_reasons_are_cut() -> None:
    """A reason is as long as a line of text, whatever the program raised."""
    (said,) = Decoder().feed(loss_line_of({}, TIME_NS, 1, "x" * 10_000)).unwritten
    assert said.reason == "x" * 200
