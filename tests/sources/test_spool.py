"""What can't be read again is kept in pieces, and comes back by source and offset."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from spanview.sources.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def spool() -> Iterator[Spool]:
    """Return an empty spool."""
    spool = Spool()
    yield spool
    spool.close()


def test_any_stretch_comes_back_however_it_was_written(spool: Spool) -> None:
    """Pieces of several sources, in any sizes and interleaved, give every stretch back that lies within one source."""
    chance = random.Random(7)
    sources = {source: chance.randbytes(700_000) for source in range(3)}
    places = dict.fromkeys(sources, 0)
    while places:
        source = chance.choice(sorted(places))
        start = places[source]
        end = start + chance.choice((1, 100, 5_000, 200_000))
        spool.write(source, start, sources[source][start:end])
        places[source] = end
        if end >= len(sources[source]):
            del places[source]
    for _ in range(300):
        source = chance.randrange(3)
        start = chance.randrange(700_000)
        length = min(chance.choice((1, 1_000, 300_000)), 700_000 - start)
        assert spool.read(source, start, length) == sources[source][start : start + length]


@pytest.mark.parametrize(("source", "offset", "length"), [(1, 0, 4), (0, 8, 4), (0, 0, 4), (0, 99, 5), (0, 104, 1)])
def test_what_was_not_kept_is_none(spool: Spool, source: int, offset: int, length: int) -> None:
    """Another source, bytes before the first piece and bytes behind the last give None, not something shorter."""
    spool.write(0, 100, b"kept")
    assert spool.read(source, offset, length) is None
    assert spool.read(0, 100, 4) == b"kept"


def test_pieces_may_leave_gaps(spool: Spool) -> None:
    """Where a piece doesn't join the one before, both are kept and what is between isn't."""
    spool.write(0, 0, b"first")
    spool.write(0, 1000, b"second")
    assert spool.read(0, 0, 5) == b"first"
    assert spool.read(0, 1000, 6) == b"second"
    assert spool.read(0, 3, 4) is None
    assert spool.read(0, 500, 1) is None


def test_memory_is_bounded_for_all_sources_together(spool: Spool) -> None:
    """However many files have a little to keep, only a bounded part of it waits in memory, and all of it comes back."""
    pieces = [random.Random(source).randbytes(10_000) for source in range(2_000)]
    for source, piece in enumerate(pieces):
        spool.write(source, 0, piece[:6_000])
        spool.write(source, 6_000, piece[6_000:])
        assert sum(len(kept.tail) for kept in spool._kept.values()) == spool._waiting <= 9_000_000
    assert [spool.read(source, 0, 10_000) for source in range(2_000)] == pieces


FULL_DISK = """
import json, random, resource, signal
from spanview.sources.spool import Spool

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
spool, data, fresh = Spool(), random.Random(1).randbytes(1_000_000), 0
for start in range(0, len(data), 50_000):
    spool.write(0, start, data[start : start + 50_000])
    fresh += spool.read(0, start, 50_000) == data[start : start + 50_000]
parts = [spool.read(0, start, 1_000) for start in range(0, len(data), 1_000)]
print(json.dumps({
    "failed": spool.failed,
    "fresh": fresh,
    "kept": sum(part is not None for part in parts),
    "wrong": sum(part not in (None, data[at * 1_000 : at * 1_000 + 1_000]) for at, part in enumerate(parts)),
}))
"""


def test_full_disk_loses_details_and_says_so() -> None:
    """When nothing more fits, what was kept comes back, also what came last; the rest is None, and the reason there."""
    done = subprocess.run([sys.executable, "-c", FULL_DISK], capture_output=True, text=True, timeout=60, check=True)
    outcome: dict[str, Any] = json.loads(done.stdout)
    assert outcome["failed"] == "File too large"
    assert (outcome["fresh"], outcome["wrong"]) == (20, 0)
    assert 200 <= outcome["kept"] < 1000


def test_a_damaged_block_is_none(spool: Spool) -> None:
    """What a disk gives back in another way isn't shown; what is in other blocks is."""
    pieces = [bytes([number]) * 200_000 for number in (1, 2, 3)]
    for number, piece in enumerate(pieces):
        spool.write(0, 200_000 * number, piece)
    assert spool._file is not None
    os.pwrite(spool._file.fileno(), b"no frame", 0)
    assert [spool.read(0, 200_000 * number, 200_000) for number in range(3)] == [None, *pieces[1:]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX only")
def test_forked_processes_read_at_once(spool: Spool) -> None:
    """Processes that read side by side don't move each other's place in the temporary file."""
    pieces = [bytes([number]) * 200_000 for number in range(40)]
    for number, piece in enumerate(pieces):
        spool.write(number, 0, piece)
    children = []
    for _ in range(3):
        child = os.fork()
        if not child:
            are_right = all(spool.read(number % 40, 0, 200_000) == pieces[number % 40] for number in range(2_000))
            os._exit(not are_right)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
