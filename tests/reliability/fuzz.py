"""Targets of a coverage-guided fuzzer: `python -m tests.reliability.fuzz TARGET [-runs=N] [-max_total_time=SECONDS]`.

target    what is made of the bytes
------    -------------------------
framing   a file, in pieces and under a cap: what holds for whatever bytes
json      a JSON document: all decoders read what the standard library does, and all encoders give it back
spans     changes of a span, each some bytes: quick and careful reading agree, and all that is left is exported
query     a query: one that is understood, and asked of spans, or a mistake that is told with its place

The fuzzer ends its process in its own way, so each run has one of its own.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import tempfile
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from one_by_one import matches_trace
from spanview.index.summary import summary_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
_LONGEST: Final = 2_048
_LENGTHS: Final = {"framing": _LONGEST, "json": _LONGEST, "spans": 64, "query": 200}
"""Bytes of one input at the most."""
_MOST_CUTS: Final = 8
_STALLED_S: Final = 60
"""Longer than any input may take."""
_DEEPEST: Final = 4
_KEYS: Final = (
    *("name", "timestamp", "attributes", "context", "trace_id", "span_id", "trace_state", "status_code", "description"),
    *("service.name", "schema_url", "ray.pid", "exception.message", "exception.stacktrace", "k", "\ud800"),
)
_SCALARS: Final = (None, True, 0, -1.5, 2**64, float("nan"), float("-inf"), 10**400, "", "0x1", "2023-11-14T22:13:20Z")
_QUERIES: Final = (
    'GET "look up" -kind=SERVER status=ERROR',
    "http.status_code>=500 duration>1.5s trace.errors>0",
    'name~"^GET .*" trace.complete=false depth=2 pid!=5',
    'any~4bf9 any!=shop event=exception -description~refused scope="" self>1us',
    "start>2024-05-28T18:05:04+02:00 trace.duration<=5us span=ab file=1.json",
)
_TOKENS: Final = (
    *(b'{"name":', b'"context":', b'"trace_id":', b'"span_id":', b'"trace_state":', b'"kind":', b'"SpanKind.SERVER"'),
    *(b'"parent_id":', b'"start_time":', b'"end_time":', b'"status":', b'"status_code":', b'"attributes":'),
    *(b'"events":', b'"links":', b'"resource":', b'"schema_url":', b'"2023-11-14T22:13:20.000000Z"', b"NaN"),
    *(b"Infinity", b"\\ud800", b"36893488147419103232", b"\n}\n", b"\x00", b"\xef\xbb\xbf", b"trace.complete="),
)
"""What the fuzzer puts inputs together from, besides what it finds out by itself."""


def framing(data: bytes) -> None:
    """Frame and decode whatever bytes, in whatever pieces."""
    from spanview.formats.framing.framer import DEFAULT_CAP

    from .invariants import mistakes_of

    head, data = data[:_MOST_CUTS], data[_MOST_CUTS:]
    cap = 256 + 4 * head[0] if head and head[0] % 2 else DEFAULT_CAP
    # What a document is, is told by more of it than such a cap lets wait: then pieces may make a difference.
    cuts = [len(data) * part // 256 for part in head[1:]] if cap == DEFAULT_CAP else []
    mistakes = [*mistakes_of(data, cuts, cap, gaps_too=False)]
    assert not mistakes, mistakes


def json_(data: bytes) -> None:
    """Decode a document in every way there is, and encode it again."""
    from spanview.formats.deepjson import loads_deep
    from spanview.formats.jsontext import BadJsonError, dumps_sorted, dumps_strict, loads_exact, loads_quick

    from .exported import says_the_same, strictly

    text = data.decode("utf-8-sig", "replace")
    _scan(data)
    try:
        expected = json.loads(text, parse_int=_integer)
    except RecursionError:
        with suppress(BadJsonError):
            loads_exact(data)
        return
    except ValueError:
        for loads in (loads_quick, loads_exact, lambda data: loads_deep(data.decode("utf-8-sig", "replace"), _integer)):
            try:
                value = loads(data)
            except ValueError:
                continue
            raise AssertionError(f"{loads} reads {value!r}") from None
        return
    written = json.dumps(expected)
    exact = loads_exact(data)
    assert json.dumps(exact) == json.dumps(loads_deep(text, _integer)) == written
    assert json.dumps(_rounded(loads_quick(data))) == json.dumps(_rounded(expected))
    assert dumps_sorted(exact) == dumps_sorted(expected)
    assert says_the_same(expected, strictly(dumps_strict(exact))), dumps_strict(exact)


def _scan(data: bytes) -> None:
    """Compare what the scanner says of bytes with what the standard library reads."""
    from spanview.formats.framing.scanner import Scanner, ScanVerdict

    if data[:1] not in (b"{", b"["):
        return
    scanner = Scanner(0)
    verdict = scanner.scan(data)
    try:
        # Characters are bytes here.
        _, end = json.JSONDecoder(parse_int=_integer).raw_decode(data.decode("latin-1"))
    except RecursionError:
        return
    except ValueError:
        assert verdict is not ScanVerdict.WHOLE, scanner.position
    else:
        assert (verdict, scanner.position) == (ScanVerdict.WHOLE, end)


def _integer(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:
        return digits


def _rounded(value: Any) -> Any:
    """Return a value with floats in the place of integers that 64 bits don't hold."""
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [*map(_rounded, value)]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        try:
            return float(value)
        except OverflowError:
            return math.copysign(math.inf, value)
    return value


def spans(data: bytes) -> None:
    """Read a span that is changed in places in both ways, and make all of it that can be made."""
    from builders import Builder, store_of_files
    from spanview.formats.console.columns import columns_of, fields_of, is_span, lenient_row
    from spanview.formats.console.spans import span_of
    from spanview.model.span import Source

    from .exported import exported_spans
    from .shapes import CHANGES, changed

    document, given = Builder().span("a", service="s", status="ERROR"), iter(data)
    for byte in given:
        place, value, _ = CHANGES[(byte << 8 | next(given, 0)) % len(CHANGES)]
        if next(given, 0) % 2:
            value = _value(given)
        document = changed(document, place, value)
    store = store_of_files({"1.json": json.dumps(document).encode()})
    exported = exported_spans(store)
    assert (len(exported), summary_of(store).skipped) == (is_span(document), not is_span(document))
    if exported:
        pair = (Builder().span("usual"), document)
        rows = [*map(lenient_row, pair)]
        at_once = [*map(list, astuple(columns_of([*map(fields_of, pair)])))]
        # These rows say nothing of processes.
        assert at_once == [*map(list, zip(*rows, strict=True)), []]
        assert span_of(document, Source("", 0, 0)).warnings.value == rows[1][-1]


def _value(given: Iterator[int], depth: int = 0) -> Any:
    """Return the JSON value that the next bytes stand for."""
    byte = next(given, 0)
    kind, size = byte % 4, byte // 4 % 4
    if kind == 0 and depth < _DEEPEST:
        return [_value(given, depth + 1) for _ in range(size)]
    if kind == 1 and depth < _DEEPEST:
        return {_KEYS[next(given, 0) % len(_KEYS)]: _value(given, depth + 1) for _ in range(size)}
    if kind == 2:
        return "".join(chr(next(given, 0) << 8 | next(given, 0)) for _ in range(size))
    return _SCALARS[byte // 4 % len(_SCALARS)]


def query(data: bytes) -> None:
    """Ask a query, or be told the place of its mistake."""
    from builders import Builder, store_of
    from spanview.analysis.query.query import parse_query
    from spanview.model.problems import QueryError

    text = data.decode("utf-8", "surrogateescape")
    try:
        parsed = parse_query(text)
    except QueryError as error:
        message = str(error)
        assert "\n" not in message, message
        place = int(message.removeprefix("query, character ").partition(":")[0])
        assert 1 <= place <= len(text) + 1, message
        return
    odd = {"n": 1, "t": "5", "l": ["a", None, 2.5], "o": {"k": float("nan")}, "b": True, "big": 2**70}
    build = Builder()
    store = store_of(build.span("GET /", attributes=odd), build.span("b", parent=1, status="ERROR", duration=None))
    kept = [parsed.keeps(store, row) for row in range(2)]
    assert matches_trace(parsed, store, 0) or not any(kept)


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {"framing": framing, "json": json_, "spans": spans, "query": query}


def _seeds(target: str) -> Iterator[bytes]:
    from builders import Builder

    from .pieces import PARTS

    if target == "query":
        yield from (text.encode() for text in _QUERIES)
    elif target == "spans":
        yield from (bytes(range(number, 256, number)) for number in range(1, 40))
    elif target == "framing":
        files = sorted(path for path in _FIXTURES.glob("*/spans/**/*") if path.is_file())
        yield from (bytes((number, 20, 99, 200, 0, 0, 0, 0)) + part for number, part in enumerate(PARTS))
        yield from (bytes((1, 99, 0, 0, 0, 0, 0, 0)) + path.read_bytes()[: _LONGEST - _MOST_CUTS] for path in files)
    else:
        yield from PARTS
        document = Builder().span("seed", attributes={"v": [1.5, None, 2**70, float("nan"), "\ud800"]})
        yield from (json.dumps(document, indent=indent).encode() for indent in (None, 4))
        odd = (_FIXTURES / "sdk-versions" / "spans").glob("*/*.jsonl")
        yield from (line for path in sorted(odd) for line in path.read_bytes().splitlines() if len(line) <= _LONGEST)


def _write(folder: Path, contents: Iterable[bytes]) -> Path:
    folder.mkdir()
    for number, content in enumerate(contents):
        (folder / str(number)).write_bytes(content)
    return folder


def _escaped(token: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in token)


def main(words: list[str]) -> None:
    """Fuzz a target."""
    import atheris

    name, *options = words
    target = TARGETS[name]
    with atheris.instrument_imports(include=["spanview"]):
        for module in ("formats.decoder", "analysis.query", "exports.trace_tree", "exports.jsonl", "index.store"):
            importlib.import_module(f"spanview.{module}")

    def try_one(data: bytes) -> None:
        try:
            target(data)
        except BaseException:
            sys.stderr.write(f"input: {data!r}\n")
            raise

    with tempfile.TemporaryDirectory() as folder:
        corpus = _write(Path(folder) / "corpus", _seeds(name))
        tokens = Path(folder) / "tokens"
        tokens.write_text("".join(f'"{_escaped(token)}"\n' for token in _TOKENS))
        fixed = [
            f"-dict={tokens}",
            f"-artifact_prefix={folder}/",
            f"-max_len={_LENGTHS[name]}",
            f"-timeout={_STALLED_S}",
        ]
        atheris.Setup([sys.argv[0], *fixed, "-print_final_stats=1", *options, str(corpus)], try_one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
