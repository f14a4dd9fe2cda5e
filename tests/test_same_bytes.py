"""The same input gives the same bytes, in every command, whoever reads it and in whatever order that comes.

way              who reads                                   rows come
---              ---------                                   ---------
several          three processes, file by file               as each is done with something
one              this process                                in the order of the files, what is odd after the rest
decoded          this process, by the general decoder        in the order of the files
kept             nobody: the index of "several" is taken     as it was kept
newest           this process, newest first, and kept;       by the times of the files
                 then it is taken

The folder has what makes a choice necessary: equal starts and durations, spans three times over, other spans under the
same ids, parents that are missing, circles, torn records, calls, and requests of Serve. With `THOROUGH=1` it is as
large as what several processes read otherwise; without, they read what is a tenth of that, too.
"""

from __future__ import annotations

import os
import random
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import EPOCH_NS
from quick.folders import quick_from
from seeds import THOROUGH
from spanview import cli
from spanview.commands import check, diff, export, reading, spans, stats, tree
from spanview.index import store as index_store
from spanview.index.store import Store
from spanview.index.table import NUMPY_FROM_SPANS
from spanview.model.times import format_time
from spanview.sources import kept, quickly
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import SCAN_FROM_BYTES, ReadOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from spanview.commands.options import Options

_FILES: Final = 24
_SHARE: Final = 1 if THOROUGH else 10
_SPANS: Final = 2_500 // _SHARE
"""Of each file, about."""
_QUICK_FROM_BYTES: Final = SCAN_FROM_BYTES // _SHARE
_NUMPY_FROM_SPANS: Final = NUMPY_FROM_SPANS // _SHARE
_TICK_NS: Final = 1_000_000
_MOMENTS: Final = 400 // _SHARE
"""So many moments there are at which a trace begins: of those that begin at the same one, all else decides."""
_BY: Final = ("name", "service", "kind", "service+name", "status", "trace.root", "ray", "serve")
_FORMATS: Final = ("trace-tree", "jsonl", "otlp", "jaeger", "zipkin", "chrome", "html")
_SOME: Final = "name~^odd"
_COMMANDS: Final = (
    ("tree", "--bars", "-q", _SOME),
    ("spans",),
    ("spans", "-q", "duration>2ms"),
    *(("export", "--format", name, "-q", _SOME) for name in _FORMATS),
    *(("stats", "--by", by, "--json") for by in _BY),
    *(("stats", "--by", by) for by in ("name", "ray")),
    ("check",),
    ("check", "--json"),
    ("diff", *(words := ("status=ERROR", "status=OK"))),
    ("diff", "--json", *words),
)


class _Writer:
    """Makes the files of a folder.

    Args:
        folder: Where.
        dice: Decides.
    """

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self._folder, self._dice = folder, dice
        self._records: list[list[str]] = [[] for _ in range(_FILES)]

    def write(self) -> None:
        """Write all files, each later than the one before it in an order of its own."""
        while sum(map(len, self._records)) < _FILES * _SPANS:
            self._dice.choice((*[self._call] * 9, *[self._request] * 3, self._odd))()
        order = [*range(_FILES)]
        self._dice.shuffle(order)
        for number, records in enumerate(self._records):
            # The last digits stand in another order than the numbers: 10.json comes before 2.json.
            name = f"replica_{number}_tracing.json" if number % 6 == 5 else f"{number}.json"
            path = self._folder / ("serve" if number % 6 == 5 else "ray") / name
            path.parent.mkdir(exist_ok=True)
            text = "".join(records)
            path.write_text(text if number % 7 else text[: len(text) * 2 // 3])
            os.utime(path, (1_000_000 + order[number],) * 2)

    def _span(self, file: int, name: str, trace: int, parent: int, **fields: Any) -> int:
        """Write a span and return its id."""
        dice = self._dice
        span = fields.get("span") or dice.getrandbits(64) or 1
        start = EPOCH_NS + fields.get("at", 0) * _TICK_NS
        end = start + dice.randrange(4) * _TICK_NS
        record = (
            f'{{"name": "{name}", "context": {{"trace_id": "0x{trace:032x}", "span_id": "0x{span:016x}", '
            f'"trace_state": "[]"}}, "kind": "SpanKind.{fields.get("kind", "INTERNAL")}", '
            f'"parent_id": {f"{chr(34)}0x{parent:016x}{chr(34)}" if parent else "null"}, '
            f'"start_time": "{format_time(start)}", "end_time": "{format_time(end)}", '
            f'"status": {{"status_code": "{dice.choice(("UNSET", "OK", "OK", "ERROR"))}"}}, '
            f'"attributes": {{"node": "n{dice.randrange(3)}", "ray.pid": {file}}}, "events": [], "links": [], '
            f'"resource": {{"attributes": {{"service.name": "s{file % 4}"}}, "schema_url": ""}}}}\n'
        )
        self._records[file].append(record)
        chance = dice.random()
        if chance < 0.02:
            # What is there three times counts in the first file, whichever comes first.
            for _ in range(2):
                self._records[dice.randrange(_FILES)].append(record)
        elif chance < 0.03:
            self._records[dice.randrange(_FILES)].append(record.replace('"events": []', '"events":  []'))
        elif chance < 0.04:
            self._records[dice.randrange(_FILES)].append(record.replace(name, f"other {name}"))
        elif chance < 0.043:
            self._records[dice.randrange(_FILES)].append(record[: len(record) // 2] + "\n")
        elif chance < 0.045:
            self._records[dice.randrange(_FILES)].append('{"not": "a span"}\n')
        return span

    def _begin(self) -> tuple[int, int]:
        return self._dice.getrandbits(128) or 1, self._dice.randrange(_MOMENTS)

    def _call(self) -> None:
        (trace, moment), name = self._begin(), f"f{self._dice.randrange(9)} ray.remote"
        call = self._span(self._file(), name, trace, 0, at=moment, kind="PRODUCER")
        for _ in range(self._dice.choice((0, 1, 1, 1, 2))):
            ran = self._span(self._file(), f"{name}_worker", trace, call, at=moment + 1, kind="CONSUMER")
            for _ in range(self._dice.randrange(3)):
                self._span(self._file(), "work", trace, ran, at=moment + self._dice.randrange(3))

    def _request(self) -> None:
        trace, moment = self._begin()
        request = self._span(self._file(), "proxy_http_request GET /a", trace, 0, at=moment, kind="SERVER")
        route = self._span(self._file(), "route_to_replica app#D", trace, request, at=moment)
        self._span(5, "replica_handle_request app#D", trace, route, at=moment)

    def _odd(self) -> None:
        (trace, moment), dice = self._begin(), self._dice
        if dice.random() < 0.5:
            self._span(self._file(), "odd orphan", trace, dice.getrandbits(64) or 1, at=moment)
            self._span(self._file(), "odd root", trace, 0, at=moment)
            self._span(self._file(), "odd root", trace, 0, at=moment)
        else:
            one, other = dice.getrandbits(64) or 1, dice.getrandbits(64) or 1
            self._span(self._file(), "odd circle", trace, other, span=one, at=moment)
            self._span(self._file(), "odd circle", trace, one, span=other, at=moment)

    def _file(self) -> int:
        return self._dice.randrange(_FILES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that several processes read."""
    made = tmp_path_factory.mktemp("spans")
    _Writer(made, random.Random(22)).write()
    assert sum(path.stat().st_size for path in made.rglob("*.json")) > _QUICK_FROM_BYTES
    return made


class _Way:
    """The output of all commands, from what was read in one way.

    Args:
        folder: What is read.
        patch: Undone afterwards.
        capture: Catches what is printed.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]) -> None:
        self._folder, self._patch, self._capture = folder, patch, capture

    def outputs(self, *options: str) -> dict[str, bytes]:
        """Return a checksum of what each command prints; all share one reading, and `check` has its own."""
        known: dict[tuple[Any, ...], Store] = {}
        really: Callable[..., Store] = reading.read_all

        def read_all(given: Options, *, decodes_all: bool = False) -> Store:
            key = (given.paths, decodes_all)
            if key not in known:
                known[key] = really(given, decodes_all=decodes_all)
                assert len(known[key].spans) > _NUMPY_FROM_SPANS
            return known[key]

        outputs = {}
        with self._patch.context() as patch:
            for module in (check, diff, export, spans, stats, tree):
                patch.setattr(module, "read_all", read_all)
            for words in _COMMANDS:
                status = cli.main([*words, os.fspath(self._folder), *options])
                printed, said = self._capture.readouterr()
                assert status in {0, 1}, said
                assert printed
                outputs[" ".join(words)] = blake2b(b"%d\n" % status + printed + said).digest()
        return outputs


def _read_newest_first(folder: Path) -> None:
    """Read a folder as the viewer does, and keep the index."""
    details = RecordReader()
    session = Session(ReadOptions((os.fspath(folder),), newest_first=True, use_cache=True), Store(details), details)
    for _ in session.load():
        pass
    session.keep()


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the quick ways begin with what the folder has."""
    monkeypatch.setattr(index_store, "NUMPY_FROM_SPANS", _NUMPY_FROM_SPANS)
    with quick_from(_QUICK_FROM_BYTES):
        yield


@pytest.mark.shortened
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("_quick")
def test_same_bytes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Each command prints the same, in whatever way the folder was read."""
    way = _Way(folder, monkeypatch, capfdbinary)
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path))
    # The files are kept an index of although they have just been written.
    monkeypatch.setattr(kept, "_RACY_NS", 0)
    found: dict[str, dict[str, bytes]] = {}
    monkeypatch.setattr(quickly, "process_count", lambda files: min(1, files))
    with monkeypatch.context() as patch:
        patch.setattr(quickly, "share", lambda files, **_: ([], [*files]))
        found["decoded"] = way.outputs("--no-cache")
    found["one"] = way.outputs("--no-cache")
    _read_newest_first(folder)
    assert any(tmp_path.rglob("*.index"))
    found["newest"] = way.outputs()
    for path in tmp_path.rglob("*.index"):
        path.unlink()
    monkeypatch.setattr(quickly, "process_count", lambda files: min(3, files))
    found["several"] = way.outputs()
    assert any(tmp_path.rglob("*.index"))
    found["kept"] = way.outputs()
    expected = found.pop("decoded")
    differ = [
        f"{name}: {words}" for name, outputs in found.items() for words in expected if outputs[words] != expected[words]
    ]
    assert not differ
