"""Files that arrive in any pieces, and what their reading costs."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import time
from typing import TYPE_CHECKING, Final

from builders import Builder
from spanview.formats.framing.framer import DEFAULT_CAP

from .figures import Figures, Row
from .invariants import decoded, mistakes_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MARK: Final = b"\xef\xbb\xbf"
_A, _B = Builder().span("a"), Builder().span("b", attributes={"deep": {"in": [{"it": 1}]}})
_C = Builder().span("c", attributes={"held": Builder().span("held"), "list": [Builder().span("held too")]})
_ESCAPED: Final = Builder().span("é\n", attributes={"\\\\": '"\u2028\ud800"', "numbers": [-1.5e-7, 2**70, True, None]})
_LINE, _LINES = json.dumps(_A).encode(), json.dumps(_B, indent=4).encode()
_HOLDING, _HOLDING_LINES = json.dumps(_C).encode(), json.dumps(_C, indent=4).encode()
PARTS: Final = (
    _LINE + b"\n",
    _LINES + b"\n",
    _LINES.replace(b"\n", b"\r\n") + b"\r\n",
    json.dumps(_B, indent=0).encode() + b"\n",
    _LINE,
    _HOLDING + b"\n",
    _HOLDING[:-300],
    _HOLDING[:-300] + b"\n",
    _HOLDING_LINES + b"\n",
    _HOLDING_LINES[:-400],
    _HOLDING_LINES[:-400] + bytes(9),
    json.dumps(dict(reversed(_A.items()))).encode() + b"\n",
    json.dumps(dict(reversed(_A.items())), indent=1).encode()[:-30],
    b"[" + _LINE + b", " + _LINE + b"]\n",
    _LINE + b",\n",
    b"[1, 2]\n",
    b"[\n",
    b"]\n",
    b"{\n",
    b"}\n",
    b"{",
    b'{"name": ',
    b'{"a": 1}\n',
    b'{"k": ',
    b'"v"}',
    b"\n",
    b"\r\n",
    b" ",
    b",",
    bytes(7),
    MARK,
    MARK[:2],
    b"plain text\n",
    b"(pid=1) ",
    b'"',
    b"\\",
    b"-",
    b"\xff\xfe",
    _LINE[:100],
    _LINES[:150],
    _LINE[200:],
    _LINE[:-1] + b"\n",
    _LINES[:-1] + b"\n",
    _LINE.replace(b"1", b"NaN", 1),
    _LINE.replace(b'"attributes": {}', b'"attributes": {"v": NaN}') + b"\n",
    _LINE.replace(b'"attributes": {}', b'"attributes": {"v": 36893488147419103232}') + b"\n",
    _LINE.replace(b'"attributes": {}', b'"attributes": ') + b"\n",
    _LINE.replace(b"span", b"\xff") + b"\n",
)
"""What files are put together from, damaged or not."""
_RECORDS: Final = (
    _LINE,
    _LINES,
    _LINES.replace(b"\n", b"\r\n"),
    _HOLDING,
    _HOLDING_LINES,
    json.dumps(dict(reversed(_A.items()))).encode(),
    json.dumps(dict(reversed(_B.items())), indent=1).encode(),
    json.dumps(_B, indent=0).encode(),
    json.dumps(_ESCAPED).encode(),
    json.dumps(_ESCAPED, indent=4).encode(),
    b'{"a": 1}',
    b"[" + _LINE + b"]",
)
_ENDS: Final = (b"\n", b"\n", b"\r\n", b"", b", ", b" text\n")
_JOINTS: Final = (b"", b"\n", b"\r\n", bytes(9), b"\n\x00", b"\x00\n", b"text\n")
_MOST_PARTS, _MOST_CUTS = 8, 12
_EDGE: Final = re.compile(rb"[\n\x00{}\xef\xbb,\"\\u]")
"""Where a cut is likely to matter."""
_SMALL_CAPS: Final = (256, 900)
"""Bytes, from and to, of caps that many of the parts are over."""
_SPLITS_OF_ONE: Final = 4


def _split(splits: int, _: Path) -> Figures:
    figures = Figures()
    while figures.trials < splits:
        dice = random.Random(figures.trials)
        data = _file(dice)
        edges = [edge.end() for edge in _EDGE.finditer(data)] or [0]
        for _turn in range(_SPLITS_OF_ONE):
            count = dice.randint(1, _MOST_CUTS)
            cuts = [dice.choice((dice.choice(edges), dice.randint(0, len(data)))) for _cut in range(count)]
            way = dice.random()
            if way < 1 / 8:
                step = dice.randint(1, 64)
                cuts = [*range(step, len(data), step)]
            elif way < 1 / 2:
                share = dice.random()
                cuts = [edge for edge in edges if dice.random() < share]
            cap = DEFAULT_CAP if dice.random() < 1 / 2 else dice.randint(*_SMALL_CAPS)
            for mistake in mistakes_of(data, cuts, cap):
                figures.expect(holds=False, what=f"{mistake} (cap {cap}): {data!r}")
            figures.trials += 1
    return figures


def _file(dice: random.Random) -> bytes:
    """Return a file of records, of others that break off, and of whatever else may be there."""
    parts: list[bytes] = []
    for _ in range(dice.randint(0, _MOST_PARTS)):
        if dice.random() < 1 / 2:
            parts.append(dice.choice(PARTS))
        else:
            torn = dice.choice(_RECORDS)
            parts += [torn[: dice.randint(1, len(torn))], dice.choice(_JOINTS)]
            parts += [dice.choice(_RECORDS), dice.choice(_ENDS)]
    return b"".join(parts)


# What it costs -------------------------------------------------------------------------------------------------------

_TORN: Final = _LINES[:-20]
_COSTLY: Final[dict[str, Callable[[int], bytes]]] = {
    "records, one a line": lambda n: (_LINE + b"\n") * (n // 20),
    "records, indented": lambda n: (_LINES + b"\n") * (n // 20),
    "a long text": lambda n: b'{"name": "' + b"x" * (n * 50),
    "a long list": lambda n: b'{\n"v": [\n' + b"1.25,\n" * n,
    "a long list of objects": lambda n: b'{"v": [' + b'{"name": 1}, ' * n,
    "torn records, glued": lambda n: _TORN * (n // 100),
    "torn records, lines": lambda n: (_LINE[:-1] + b"\n") * (n // 50),
    "torn records that hold spans": lambda n: _HOLDING[:-300] * (n // 100),
    "braces on lines": lambda n: b"{\n" * n,
    "beginnings in beginnings": lambda n: b'{"name":' * n,
    "beginnings in beginnings, on lines": lambda n: b'\n{"name":' * n,
    "contexts in contexts": lambda n: b'{"name": 1, "context": {"x":' * n,
    "beginnings in beginnings, some closed": lambda n: b'{"name":' * n + b"1" + b"}" * (n // 2) + b"x\n",
    "closed ones behind a torn one": lambda n: b'{"a"}\n' + b'{"name":' * n + b"1" + b"}" * n + b" x\n",
    "lists in lists": lambda n: b"[" * n + b"]" * n,
    "a torn record with many objects": lambda n: b'{"name": 1, "v": {' + b'"k": {"name": {"name": 1}}, ' * n + b"\n",
    "brackets": lambda n: b"[" * n,
    **{
        f"much of {filling!r}": lambda n, filling=filling: b"text" + filling * n + b"text"  # type: ignore[misc]
        for filling in (b"\n", b"\n ", b"\r\n", b"{", b'{"name"', b"\x00", b"\n,", MARK)
    },
}
"""What is between whole records: for each how to make about so much of it."""
_FEWEST, _MOST = 250, 64_000
_LONG_ENOUGH_S: Final = 0.01
"""So long a part of an input takes at the least, lest chance decides."""
_TIMES: Final = 4
_ALLOWED: Final = 2.0 * _TIMES
"""So many times the cost of a part; what grows with the square costs `_TIMES` times `_TIMES`."""
_PIECE: Final = 8_192
_ATTEMPTS: Final = 3
"""Where a machine is busy, one of some attempts is undisturbed."""


def _cost(inputs: int, _: Path) -> Figures:
    figures = Figures()
    for name, make in itertools.islice(_COSTLY.items(), inputs):
        amount = _FEWEST
        while _seconds(_among_records(make(amount))) < _LONG_ENOUGH_S and amount < _MOST:
            amount *= 2
        names = [row[2][5] for row in decoded([_among_records(make(amount))]).rows]
        figures.compare("aab", [*names[:1], *names[-2:]], name)
        ratio = _growth(make, amount)
        if ratio > _ALLOWED:
            # A step from one way of reading to another costs much at one size, a square at every size.
            ratio = _growth(make, amount * _TIMES)
        figures.expect(holds=ratio <= _ALLOWED, what=f"{name}: {_TIMES} times as much costs {ratio:.1f} times")
        figures.trials += 1
    return figures


def _growth(make: Callable[[int], bytes], amount: int) -> float:
    """Return how many times as much `_TIMES` times the amount costs."""
    few, many = _among_records(make(amount)), _among_records(make(amount * _TIMES))
    ratio = math.inf
    for _attempt in range(_ATTEMPTS):
        ratio = min(ratio, _seconds(many) / _seconds(few))
        if ratio <= _ALLOWED:
            break
    return ratio


def _among_records(data: bytes) -> bytes:
    return _LINE + b"\n" + data + b"\n" + _LINE + b"\n" + _LINES + b"\n"


def _seconds(data: bytes) -> float:
    """Return the processor time that a file takes which arrives in pieces."""
    pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]
    began = time.process_time()
    decoded(pieces)
    return time.process_time() - began


_SPLITS: Final = 10_000
ROWS: Final = (
    Row("2a", "file read in any pieces", "splits", _SPLITS, _SPLITS // 160, _split),
    Row("2b", "file that might take quadratic time", "inputs", len(_COSTLY), len(_COSTLY), _cost),
)
