"""Traces, or rows, written side by side: forked processes write shares of them, which are put together in order.

traces       | 0 … 310 | 311 … 702 | 703 … 950 | 951 …
process 1    | share 0 |           | share 2   |
process 2    |         | share 1   |           | share 3
"""

from __future__ import annotations

import gc
import signal
from collections import Counter, deque
from contextlib import suppress
from functools import partial
from threading import active_count
from typing import TYPE_CHECKING, Final, TypeAlias

from spanview.quick.cores import process_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from spanview.index.store import Store

Lose: TypeAlias = "Callable[[str], None]"
Write: TypeAlias = "Callable[[Sequence[int], Lose], Iterable[bytes]]"
"""Yields the text of some traces, given their numbers, or of some rows; it keeps nothing from one call to the next."""

SHARE_SPANS: Final = 4096
"""Least spans of a share, except the last one."""
ALIKE_SHARES: Final = 4
"""A share has so many times more spans where they are written from templates."""
_MAX_BYTES_AHEAD: Final = 16 * 1024 * 1024
"""Of the text that a process has written before its turn."""
_PIECE_BYTES: Final = 256 * 1024
"""Of a larger piece of the text."""
_FORK_SHARES: Final = 5
"""With fewer shares, forking takes longer than it saves."""


def written(
    shares: Sequence[Sequence[int]], write: Write, lose: Lose, *, between: bytes = b"", forks: bool = True
) -> Iterator[bytes]:
    """Yield the text of some shares, in pieces of some 256 KiB.

    Args:
        shares: What is written, in that order; the store that they are of doesn't grow meanwhile.
        between: What comes between the texts of two shares; those without a text are left out.
        forks: Whether other processes may be forked; False where this one is one of many already.
    """
    prefix, has_text = b"", False
    for pieces in in_shares(shares, write, lose, forks=forks):
        for piece in filter(None, pieces):
            yield prefix + piece
            prefix = b""
            has_text = True
        prefix = between if has_text else b""


def in_shares(
    shares: Sequence[Sequence[int]], write: Write, lose: Lose, *, forks: bool = True, alone: int = 0
) -> Iterator[Iterator[bytes]]:
    """Yield for each share the pieces of its text, which are to be taken before the next share; the rest as above.

    Args:
        alone: So many of the first shares are so much work that each has a process for itself.
    """
    # A process that has threads isn't forked.
    forks = forks and len(shares) >= _FORK_SHARES and active_count() == 1
    count = process_count(len(shares) - alone) if forks else 1
    workers: list[_Worker] = []
    try:
        if count > 1:
            # Where memory, descriptors or processes are scarce, fewer have to do; this one writes the others' shares.
            with suppress(OSError):
                for share in shares[:alone]:
                    workers.append(_Worker([share], write, workers))
                for first in range(alone, alone + count):
                    workers.append(_Worker(shares[first::count], write, workers))
        for number, share in enumerate(shares):
            of = number if number < alone else alone + (number - alone) % count
            worker = workers[of] if of < len(workers) else None
            yield worker.pieces(share, lose, workers) if worker else gathered(write(share, lose))
    finally:
        for worker in workers:
            worker.stop()


def shares_of_traces(store: Store, traces: Sequence[int], scale: int = 1) -> list[Sequence[int]]:
    """Cut a sequence of traces into shares, which have so many times more spans."""
    return [*store.trace_table.shares(traces, scale * SHARE_SPANS)]


def shares_of_rows(rows: Sequence[int], scale: int = 1) -> list[Sequence[int]]:
    """Cut a sequence of rows into shares, which have so many times more rows."""
    spans = scale * SHARE_SPANS
    return [rows[first : first + spans] for first in range(0, len(rows), spans)]


class _Worker:
    """A process that writes some shares, one after the other; others were started earlier."""

    def __init__(self, shares: Sequence[Sequence[int]], write: Write, earlier: Sequence[_Worker]) -> None:
        self._write = write
        self._ahead = deque[bytes | Counter[str]]()
        """What was received and not yet asked for; the counted losses end a share."""
        self._bytes_ahead = 0
        self._is_alive = True
        # Its import takes longer than most commands that write little.
        from multiprocessing import Pipe, get_context

        self.pipe, its_end = Pipe(duplex=False)
        try:
            inherited = [*(worker.pipe for worker in earlier), self.pipe]
            self._process = get_context("fork").Process(
                target=_work, args=(shares, write, its_end, inherited), daemon=True
            )
            self._process.start()
        except OSError:
            self.pipe.close()
            raise
        finally:
            its_end.close()

    def pieces(self, share: Sequence[int], lose: Lose, workers: Sequence[_Worker]) -> Iterator[bytes]:
        """Yield the text of the next share; what a killed process has left is written here. The others go on."""
        from multiprocessing.connection import wait

        size = 0
        while True:
            while not self._ahead and self._is_alive:
                asked = [worker for worker in workers if worker is self or worker.has_room]
                ready = wait([worker.pipe for worker in asked])
                for worker in asked:
                    if worker.pipe in ready:
                        worker.receive()
            if not self._ahead:
                for piece in gathered(self._write(share, lose)):
                    yield piece[size:]
                    size = max(0, size - len(piece))
                return
            part = self._ahead.popleft()
            if isinstance(part, Counter):
                for sentence in part.elements():
                    lose(sentence)
                return
            self._bytes_ahead -= len(part)
            size += len(part)
            yield part

    @property
    def has_room(self) -> bool:
        """Whether more of its text may be received before its turn."""
        return self._is_alive and self._bytes_ahead < _MAX_BYTES_AHEAD

    def receive(self) -> None:
        """Wait for the next piece of its text, the end of a share, or the end of the process."""
        try:
            piece = self.pipe.recv_bytes()
            self._ahead.append(piece or self.pipe.recv())
        except (EOFError, OSError):
            self._is_alive = False
            return
        self._bytes_ahead += len(piece)

    def stop(self) -> None:
        """End the process."""
        self.pipe.close()
        self._process.terminate()
        self._process.join()


def _work(shares: Sequence[Sequence[int]], write: Write, pipe: Connection, inherited: Sequence[Connection]) -> None:
    """Write shares in a process of its own."""
    # Ctrl+C is for the process that forked this one, which ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Or it would go unnoticed that the process at the other end was killed.
    for connection in inherited:
        connection.close()
    gc.disable()
    with suppress(BrokenPipeError):
        for share in shares:
            losses = Counter[str]()
            for piece in filter(None, gathered(write(share, partial(_count, losses)))):
                pipe.send_bytes(piece)
            pipe.send_bytes(b"")
            pipe.send(losses)


def _count(losses: Counter[str], sentence: str) -> None:
    losses[sentence] += 1


def gathered(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Join small pieces, because each that is written costs a call."""
    pending: list[bytes] = []
    size = 0
    for part in parts:
        pending.append(part)
        size += len(part)
        if size >= _PIECE_BYTES:
            yield b"".join(pending)
            pending.clear()
            size = 0
    yield b"".join(pending)
