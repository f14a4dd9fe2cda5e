"""Whatever values the real SDK writes: each span is kept as the standard library reads it, and exported strictly."""

from __future__ import annotations

import ast
import json
import logging
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from opentelemetry import trace as api
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace.span import TraceState

from builders import store_of_files
from independent_reader import Record, key_of, read_text, without_doubles
from programs import spanview
from records import record_of

from .dice import Dice
from .exported import exported_spans, says_the_same, strictly
from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_MARK: Final = b"\xef\xbb\xbf"
_DRESSES: Final[dict[str, Callable[[str, int | None], bytes]]] = {
    "as it is": lambda text, _: text.encode() + b"\n",
    "byte order mark": lambda text, _: _MARK + text.encode() + b"\n",
    "CRLF": lambda text, _: text.replace("\n", "\r\n").encode() + b"\r\n",
    "no line end": lambda text, _: text.encode(),
    "NULs": lambda text, _: bytes(7) + text.encode() + b"\n" + bytes(9),
    # A lone surrogate is no valid UTF-8.
    "not ASCII": lambda text, indent: _not_ascii(text, indent) + b"\n",
    "not UTF-8": lambda text, indent: (
        _not_ascii(text, indent).replace(b'"name": "', b'"name": "\xe2\x82\xff', 1) + b"\n"
    ),
}
"""How a file has a record: what other programs and formatters make of it."""
_LAYOUTS: Final = (None, 4, 2, 0)
_MOST_IN_FILES: Final = 2_000
"""So many spans are read as files by spanview as a program, too."""


def _not_ascii(text: str, indent: int | None) -> bytes:
    return json.dumps(json.loads(text), indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _keep(spans: int, folder: Path) -> Figures:
    figures, records = Figures(), list[Record]()
    files = {layout: (folder / f"{layout}.json").open("wb") for layout in _LAYOUTS}
    with ExitStack() as opened, _sdk_is_quiet():
        for file in files.values():
            opened.enter_context(file)
        while figures.trials < spans:
            dice = Dice(figures.trials)
            layout, dress = dice.choice(_LAYOUTS), dice.choice([*_DRESSES])
            text = _written(dice, layout)
            data = _DRESSES[dress](text, layout)
            where = f"span {figures.trials}, indent {layout}, {dress}"
            (record,) = read_text(data.decode("utf-8", "replace"))
            _compare(figures, data, record, _trace_state_of(text), where)
            figures.trials += 1
            if len(records) < _MOST_IN_FILES:
                records.append(record)
                files[layout].write(data)
    printed = [strictly(line) for line in spanview("spans", folder).output.splitlines()]
    figures.compare(
        [(record["trace_id"], record["span_id"]) for record in without_doubles(records)],
        [(span["trace_id"], span["span_id"]) for span in printed],
        "spanview spans",
    )
    return figures


def _compare(figures: Figures, data: bytes, record: Record, trace_state: dict[str, str], where: str) -> None:
    """Compare a file of one span with what the standard library reads there."""
    try:
        store = store_of_files({"1.json": data})
        spans = [store.span(row) for row in store.rows_in_order()]
        exported = exported_spans(store)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not as promised
        figures.expect(holds=False, what=f"{where}: {error!r}")
        return
    figures.compare([key_of(record)], [key_of(record_of(span)) for span in spans], where)
    for span, value in zip(spans, exported, strict=True):
        figures.expect(holds=span.trace_state == trace_state, what=f"{where}: {span.trace_state}, not {trace_state}")
        parts = {
            "name": (record["name"], value["name"]),
            "description": (record["description"], value["status"].get("description")),
            "attributes": (record["attributes"], value["attributes"]),
            "resource": (record["resource"], value["resource"]["attributes"]),
            "trace_state": (trace_state, value["trace_state"]),
        }
        for name in ("events", "links"):
            kept, written = ([part["attributes"] for part in of[name]] for of in (record, value))
            parts[name] = kept, written
        for name, (kept, written) in parts.items():
            figures.expect(holds=says_the_same(kept, written), what=f"{where}: {name}: {written!r}, not {kept!r}")


def _trace_state_of(text: str) -> dict[str, str]:
    """Return the entries that the SDK wrote as the repr of a list."""
    entries = ast.literal_eval(json.loads(text)["context"]["trace_state"])
    return dict(entry[len("{key=") : -1].split(", value=", 1) for entry in entries)


@contextmanager
def _sdk_is_quiet() -> Iterator[None]:
    """Keep the SDK from logging every key that it leaves out."""
    logger = logging.getLogger("opentelemetry")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _written(dice: Dice, indent: int | None) -> str:
    """Return what the SDK writes of a span that is drawn."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource(dice.attributes()), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    parent = dice.choice((None, api.set_span_in_context(api.NonRecordingSpan(_context(dice)))))
    span = provider.get_tracer("values").start_span(
        dice.text(),
        context=parent,
        kind=dice.choice([*api.SpanKind]),
        attributes=dice.attributes(),
        links=[api.Link(_context(dice), dice.attributes()) for _ in range(dice.choice((0, 0, 1, 2)))],
        start_time=_time(dice),
    )
    for _ in range(dice.choice((0, 0, 1, 2))):
        span.add_event(dice.text(), dice.attributes(), _time(dice))
    span.set_status(api.Status(dice.choice([*api.StatusCode]), dice.choice((None, dice.text()))))
    span.end(_time(dice))
    (ended,) = exporter.get_finished_spans()
    return str(ended.to_json(indent))


def _context(dice: Dice) -> api.SpanContext:
    values = ("1", "t61rcWkgMzE", "it's", 'say "so"', "back\\slash", "}", "{key", " a b", "~" * 200)
    entries = [(key, dice.choice(values)) for key in ("a", "vendor@x", "k_1/2") if dice.random() < 1 / 2]
    return api.SpanContext(
        trace_id=dice.choice((1, 2**128 - 1, dice.randrange(1, 2**128))),
        span_id=dice.choice((1, 2**64 - 1, dice.randrange(1, 2**64))),
        is_remote=True,
        trace_flags=api.TraceFlags(api.TraceFlags.SAMPLED),
        trace_state=TraceState(entries),
    )


def _time(dice: Dice) -> int:
    """Draw a time in nanoseconds, from 1677 to 2262."""
    return dice.choice((0, 1, -1, 10**18, dice.randrange(-(2**63) + 10**9, 2**63 - 10**9)))


_SPANS: Final = 10_000
ROWS: Final = (Row("12", "NaN, surrogates, big integers, BOM, invalid UTF-8", "spans", _SPANS, _SPANS // 200, _keep),)
