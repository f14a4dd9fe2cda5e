"""Damaged documents of every format: what isn't touched is read, nothing is made up, and what is lost is told.

fault                                             what is touched
-----                                             ---------------
a byte changed, put in or taken out               the part in which it stands
a stretch of NULs, bytes that are no Unicode      the parts in which it stands
cut off at any byte, there the file's end, or     the part in which it breaks off
another writer's file glued to it
a byte order mark between parts, CRLF, written    none
twice, another writer's file behind it
an odd value, one left out, one more, one twice   the part in which it stands

A part is what stands in a document's list, or the record on its lines; see `layouts`.
"""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
from collections import Counter
from itertools import cycle, islice, product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from builders import store_of_files
from forked import Server
from spanview.analysis.diagnosis.report import diagnose
from spanview.exports.chrome import chrome_chunks
from spanview.exports.jaeger import jaeger_chunks
from spanview.exports.otlp import otlp_chunks
from spanview.exports.zipkin import zipkin_chunks
from spanview.formats.tags import ignore_loss
from spanview.model.problems import ProblemKind, Warnings
from spanview.sources.spool import zstd_module

from .exported import exported_spans
from .figures import Figures, Row
from .layouts import LAYOUTS, LONGEST_NAME, file_in, keys_of, values

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanview.index.store import Store

    from .layouts import File, Key

_MARK: Final = b"\xef\xbb\xbf"
_BYTES: Final = b'"\\{}[]:,0aA-. \n\r\t\x00\x01\x1b\xff\xc3'
_NO_UNICODE: Final = (b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80")
_STRETCHES: Final = (1, 7, 64, 400)


class Damaged(NamedTuple):
    """A file with a fault, and what may be lost in it."""

    what: str
    data: bytes
    whole: frozenset[Key]
    """The spans that no damage has touched."""
    touched: frozenset[Key]
    is_absent: bool = False
    """Whether it is as if there had been nothing, so that nobody can tell a loss."""


def _somewhere(file: File, dice: random.Random) -> int:
    """Return a place in a file, more often than by chance in its front or at the edge of a part."""
    edge = dice.choice(dice.choice(dice.choice(file.parts).ranges)) + dice.randint(-3, 3)
    place = dice.choice((dice.randrange(40), edge, dice.randrange(len(file.data)), dice.randrange(len(file.data))))
    return min(max(0, place), len(file.data) - 1)


def _around(file: File, start: int, end: int) -> tuple[frozenset[Key], frozenset[Key]]:
    """Return the spans that aren't touched by damage between two places, and those that are."""
    # In a log, what is at a line's end may swallow the name that the next one begins with.
    touched = [part.keys for part in file.parts if part.touches(start, end + file.is_log)]
    keys: frozenset[Key] = frozenset().union(*touched)
    return file.keys - keys, keys


def _up_to(file: File, at: int) -> tuple[frozenset[Key], frozenset[Key]]:
    """Return the spans that are whole before a place, and those that break off there."""
    # Where no more of a record is there than a name, none has begun.
    parts = [part for part in file.parts if part.ranges[0][0] + file.is_log * LONGEST_NAME < at]
    whole = [part.keys for part in parts if part.ranges[-1][1] - file.is_log <= at]
    torn = [part.keys for part in parts if part.ranges[-1][1] - file.is_log > at]
    return frozenset().union(*whole), frozenset().union(*torn)


def _changed(file: File, at: int, dice: random.Random) -> Damaged:
    byte = dice.choice((dice.randrange(256), dice.choice(_BYTES), file.data[at] ^ 1 << dice.randrange(8)))
    data = file.data[:at] + bytes((byte,)) + file.data[at + 1 :]
    return Damaged(f"byte {at} is {byte:#x}", data, *_around(file, at, at + 1))


def _put_in(file: File, at: int, dice: random.Random) -> Damaged:
    byte = dice.choice((dice.randrange(256), dice.choice(_BYTES)))
    data = file.data[:at] + bytes((byte,)) + file.data[at:]
    return Damaged(f"{byte:#x} before byte {at}", data, *_around(file, at, at))


def _taken_out(file: File, at: int, _: random.Random) -> Damaged:
    return Damaged(f"without byte {at}", file.data[:at] + file.data[at + 1 :], *_around(file, at, at + 1))


def _nulls(file: File, at: int, dice: random.Random) -> Damaged:
    size = min(dice.choice(_STRETCHES), len(file.data) - at)
    data = file.data[:at] + bytes(size) + file.data[at + size :]
    # What is left of a record whose bracket is gone is text.
    is_text = any(at <= part.ranges[0][0] < at + size for part in file.parts)
    return Damaged(f"{size} NULs at byte {at}", data, *_around(file, at, at + size), is_text)


def _no_unicode(file: File, at: int, dice: random.Random) -> Damaged:
    bad = dice.choice(_NO_UNICODE)
    return Damaged(f"{bad!r} before byte {at}", file.data[:at] + bad + file.data[at:], *_around(file, at, at))


def _cut(file: File, at: int, _: random.Random) -> Damaged:
    return Damaged(f"cut at byte {at}", file.data[:at], *_up_to(file, at))


def _glued(file: File, at: int, dice: random.Random) -> Damaged:
    joint, other = b"\n" if file.is_log else dice.choice((b"", b"\n")), file.other or file
    whole, torn = _up_to(file, at)
    data = file.data[:at] + joint + other.data
    return Damaged(f"cut at byte {at}, and {joint!r} and another", data, whole | other.keys, torn)


def _marked(file: File, at: int, _: random.Random) -> Damaged:
    # Between two parts, or before all of them.
    place = max([part.ranges[0][0] for part in file.parts if part.ranges[0][0] <= at], default=0)
    return Damaged(
        f"a mark at byte {place}", file.data[:place] + _MARK + file.data[place:], *_around(file, place, place)
    )


def _with_other_ends(file: File, _at: int, _: random.Random) -> Damaged:
    return Damaged("CRLF", file.data.replace(b"\n", b"\r\n"), file.keys, frozenset())


def _twice(file: File, _at: int, dice: random.Random) -> Damaged:
    joint = dice.choice((b"", b"\n", _MARK * (not file.is_log), bytes(9) + b"\n"))
    return Damaged(f"twice with {joint!r} between", file.data + joint + file.data, file.keys, frozenset())


def _with_another(file: File, _at: int, dice: random.Random) -> Damaged:
    other = file.other or file
    data = file.data.rstrip(b"\n") + (b"\n" if file.is_log else dice.choice((b"", b"\n"))) + other.data
    return Damaged("with another", data, file.keys | other.keys, frozenset())


FAULTS: Final[dict[str, Callable[..., Damaged]]] = {
    "changed": _changed,
    "put in": _put_in,
    "taken out": _taken_out,
    "NULs": _nulls,
    "no Unicode": _no_unicode,
    "cut": _cut,
    "glued": _glued,
    "marked": _marked,
    "CRLF": _with_other_ends,
    "twice": _twice,
    "with another": _with_another,
}


# -- values ------------------------------------------------------------------------------------------------------------

_DEEP: Final = 300
_ODD: Final[tuple[Any, ...]] = (
    *(None, [], {}, "", 0, True, -1, 1.5, 2**70, -(10**30), float("nan"), float("inf")),
    *("x", "0", "0" * 32, "F" * 16, "f" * 31, "a" * 40, "\ud800", "\x1b[31m", "9" * 25, "-5", "1e9", "SPAN_KIND_ODD"),
    *([None], [[]], [{}], ["x", 1], {"x": 1}, {"": None}, [{"key": 5, "value": 5}], {"intValue": "x"}),
    *(9_007_199_254_740_993, 10**18, -(2**63), 99),
)
"""What stands in the place of any value."""


def _places(value: Any) -> list[tuple[Any, ...]]:
    """Return the path of each value in a tree of values, but its own."""
    found: list[tuple[Any, ...]] = []
    pending: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while pending:
        path, holder = pending.pop()
        for key, part in holder.items() if isinstance(holder, dict) else enumerate(holder):
            found.append((*path, key))
            if isinstance(part, dict | list):
                pending.append(((*path, key), part))
    return found


def _deep() -> Any:
    value: Any = 1
    for _ in range(_DEEP):
        value = [{"a": value}]
    return value


def _with_odd_value(value: Any, dice: random.Random) -> tuple[str, Any, bool]:
    """Return what was done to a copy of a value, the copy, and whether it is as if there had been nothing."""
    value = copy.deepcopy(value)
    path = dice.choice(_places(value))
    holder, key = value, path[-1]
    for step in path[:-1]:
        holder = holder[step]
    match dice.randrange(8):
        case 0:
            del holder[key]
            return f"without {path}", value, True
        case 1 if isinstance(holder, dict):
            holder[dice.choice(("more", "spans", "traceId", "attributes", "name"))] = dice.choice(_ODD)
            return f"more beside {path}", value, False
        case 2 if isinstance(holder, dict):
            # A key that comes twice: readers take the last one.
            holder[_Twice(key)] = dice.choice((holder[key], None))
            return f"twice: {path}", value, True
        case 3:
            holder[key] = _deep()
            return f"deep: {path}", value, False
    holder[key] = dice.choice(_ODD)
    return f"{path} is {holder[key]!r}", value, holder[key] in (None, [])


class _Twice(str):
    """A key that is equal to no other."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def odd_file(name: str, dice: random.Random) -> Damaged:
    """Return a file in which one value is another one, and which part it stands in."""
    form, layout = LAYOUTS[name]
    parts, around = values(form)
    at = dice.randrange(len(parts))
    what, odd, is_absent = _with_odd_value(parts[at][0], dice)
    file = layout.file([*parts[:at], (odd, parts[at][1]), *parts[at + 1 :]], around)
    return Damaged(f"part {at}: {what}", file.data, file.keys - parts[at][1], parts[at][1], is_absent)


def odd_container(name: str, dice: random.Random) -> Damaged:
    """Return a file in which a whole part of the list is something else, or what stands around it is."""
    form, layout = LAYOUTS[name]
    parts, around = values(form)
    at = dice.randrange(len(parts) + 1)
    if around and dice.random() < 1 / 2:
        key = dice.choice([*around])
        value = dice.choice(_ODD)
        return Damaged(
            f"{key} is {value!r}", layout.file(parts, around | {key: value}).data, file_in(name).keys, frozenset()
        )
    value = dice.choice(_ODD)
    file = layout.file([*parts[:at], (value, frozenset()), *parts[at:]], around)
    return Damaged(f"{value!r} before part {at}", file.data, file.keys, frozenset())


# -- what is expected --------------------------------------------------------------------------------------------------

_TELL: Final = frozenset((ProblemKind.TORN, ProblemKind.TOO_LARGE, ProblemKind.PARTIAL, ProblemKind.SKIPPED))


def _compare(figures: Figures, damaged: Damaged, where: str) -> Store | None:
    """Read a damaged file and count what isn't as promised."""
    try:
        store = store_of_files({"1.json": damaged.data})
        found = Counter(keys_of(store))
        exported = exported_spans(store) if figures.trials % _EXPORTED == 0 else None
        if exported is not None:
            _export(store)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not as promised
        figures.expect(holds=False, what=f"{where}: {error!r}")
        return None
    # A touched span may be read with other ids; no more spans are read than there were.
    lost = [key for key in damaged.touched if key not in found]
    others = [key for key in found.elements() if key not in damaged.whole and key not in damaged.touched]
    allowed = others[: len(lost)] if all(_stands_in(damaged.data, key) for key in others) else []
    figures.compare(
        damaged.whole, [key for key in found.elements() if key not in damaged.touched and key not in allowed], where
    )
    problems = store.problems()
    is_told = damaged.is_absent or any(problem.kind in _TELL and problem.length for problem in problems)
    is_told |= any(warnings & Warnings.BAD_ID for warnings in store.spans.warnings)
    is_told |= any(tally.fragments for _, tally in store.tallies.each_file())
    figures.expect(holds=is_told or len(lost) <= len(allowed), what=f"{where}: untold: {lost}")
    ends = [problem for problem in problems if problem.offset + problem.length > len(damaged.data)]
    figures.expect(holds=not ends and all(each.file == "1.json" for each in problems), what=f"{where}: {ends}")
    return store


def _stands_in(data: bytes, key: Key) -> bool:
    return all(not number or b"%x" % number in data.lower() for number in key)


def _export(store: Store) -> None:
    """Make all that no other trial makes of a store."""
    traces = [*store.traces_in_order()]
    for chunks in (otlp_chunks, jaeger_chunks, zipkin_chunks, chrome_chunks):
        for _ in chunks(store, traces, ignore_loss):
            pass
    diagnose(store)


_EXPORTED: Final = 10
"""Of so many files, one is exported in all formats and looked at span by span."""


def _damage(trials: int, _: Path) -> Figures:
    figures, kept = Figures(), 0
    for trial, (name, fault) in enumerate(islice(cycle(product(LAYOUTS, FAULTS)), trials)):
        dice, file = random.Random(trial), file_in(name)
        damaged = FAULTS[fault](file, _somewhere(file, dice), dice)
        kept += len(damaged.whole)
        _compare(figures, damaged, f"{name}, {fault}, trial {trial}: {damaged.what}")
        figures.trials += 1
    figures.notes.append(f"{kept:,} spans had to be kept")
    return figures


def _odd(trials: int, _: Path) -> Figures:
    figures, kept = Figures(), 0
    for trial, (make, name) in enumerate(
        islice(cycle(product((odd_file, odd_file, odd_file, odd_container), LAYOUTS)), trials)
    ):
        damaged = make(name, random.Random(trial))
        kept += len(damaged.whole)
        _compare(figures, damaged, f"{name}, trial {trial}: {damaged.what}")
        figures.trials += 1
    figures.notes.append(f"{kept:,} spans had to be kept")
    return figures


# -- compressed, piped, and by all commands ----------------------------------------------------------------------------

_COMMANDS: Final = (
    *(("export", "--format", form) for form in ("trace-tree", "jsonl", "otlp", "jaeger", "zipkin", "chrome", "html")),
    *(("check",), ("tree",), ("stats",), ("stats", "--by", "ray"), ("stats", "--by", "serve"), ("spans",)),
)
_PACKERS: Final = {"gz": gzip.compress, "zst": lambda data: bytes(zstd_module().compress(data))}


def _everywhere(trials: int, folder: Path) -> Figures:
    """Read a damaged file as it is, compressed and from standard input, whole and cut, and let a command print it."""
    figures, names, forms = Figures(), [*LAYOUTS], [*_PACKERS]
    plain, packed, output = (folder / name for name in ("plain", "packed", "output"))

    with Server() as server:

        def called(*words: str | Path, given: Path | str = os.devnull) -> None:
            ended = server.call(*words, given=given, output=output)
            is_well = ended.status in (0, 1) and "Traceback" not in ended.notices
            figures.expect(holds=is_well, what=f"{where}: {words}: {ended}")

        def checked(path: Path | str, given: Path | str = os.devnull) -> tuple[Any, Any, list[Any]]:
            """Return how many spans a file has, how many torn records, and kinds and places of its problems."""
            called("check", "--json", path, given=given)
            found = json.loads(output.read_bytes())
            places = [(each["kind"], each["offset"], each["length"]) for each in found["problems"]]
            # That there is no span is told of all bytes that were read.
            told = [place for place in places if place[0] != "no_spans"]
            return found["summary"]["spans"], found["summary"]["torn"], told

        for trial in range(trials):
            dice, name = random.Random(trial), names[trial % len(names)]
            file, fault = file_in(name), dice.choice([*FAULTS.values()])
            is_odd = dice.random() < 1 / 2
            damaged = odd_file(name, dice) if is_odd else fault(file, _somewhere(file, dice), dice)
            form = forms[trial // len(names) % len(forms)] if trial % 2 else forms[trial % len(forms)]
            where = f"{name}, {form}, trial {trial}: {damaged.what}"
            plain.write_bytes(damaged.data)
            data = _PACKERS[form](damaged.data)
            packed.write_bytes(data)
            expected = checked(plain)
            figures.expect(holds=checked("-", plain) == expected, what=f"{where}: piped")
            figures.expect(holds=checked(packed) == expected, what=f"{where}: compressed")
            figures.expect(holds=checked("-", packed) == expected, what=f"{where}: compressed and piped")
            packed.write_bytes(data[: dice.randrange(4, len(data))])
            *_, problems = checked(packed)
            is_told = "unreadable" in {kind for kind, *_ in problems}
            figures.expect(holds=is_told, what=f"{where}: compressed and cut: {problems}")
            called(*_COMMANDS[trial % len(_COMMANDS)], plain)
            figures.trials += 1
    return figures


def _not_posix() -> str:
    return "" if os.name == "posix" else "processes aren't forked here"


_FILES: Final = 5_000
_READ: Final = 200
ROWS: Final = (
    Row("14f", "any byte of any format damaged", "files", _FILES, _FILES // 60, _damage),
    Row("14g", "any value of any format odd", "files", _FILES, _FILES // 60, _odd),
    Row(
        "14h",
        "the same, compressed, piped, every command",
        "files",
        _READ,
        -(-len(LAYOUTS) // 2),
        _everywhere,
        None,
        _not_posix,
    ),
)
