"""The states of a long trace's stitching.

ROOT_ONLY   the screen is open, and the thread has not answered
IDLE        all rows are there
STITCHING   spans have come
RESTING     spans have come while it was stitched, or came when what is shown held still
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from builders import Builder, Document
from spanview.index.store import Store
from spanview.tui.trace import stitcher
from spanview.tui.trace.stitcher import StitchState
from spanview.tui.trace.trace_screen import TraceScreen
from viewers import looking_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.tree import TraceTree


class Gate:
    """Holds threads up before they stitch."""

    def __init__(self) -> None:
        self._is_open = threading.Event()
        self.waits = threading.Event()
        """Whether a thread waits."""

    def shut(self) -> None:
        """Let the next thread wait."""
        self.waits.clear()
        self._is_open.clear()

    def open(self) -> None:
        """Let threads go on."""
        self._is_open.set()

    def pass_through(self) -> None:
        """Called in a thread."""
        self.waits.set()
        assert self._is_open.wait(20)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Return what holds the stitching up; every trace is a long one."""
    gate, tree = Gate(), Store.tree

    def held_up(store: Store, trace: int) -> TraceTree:
        if threading.current_thread() is not threading.main_thread():
            gate.pass_through()
        return tree(store, trace)

    monkeypatch.setattr(stitcher, "AT_ONCE", 2)
    monkeypatch.setattr(Store, "tree", held_up)
    yield gate
    gate.open()


def documents() -> list[Document]:
    """Return a trace of three spans."""
    build = Builder()
    return [build.span("root", span=1), *(build.span("leaf", span=at, parent=1, start=at) for at in (2, 3))]


def late(number: int) -> Document:
    """Return a span that comes later."""
    return Builder().span("late", span=number, parent=1, start=number)


def state_of(screen: TraceScreen) -> StitchState:
    """Return how far the stitching is."""
    return screen.stitcher.state


async def test_the_states(gate: Gate) -> None:
    """The root alone is shown until all rows are there; what comes while they are stitched is stitched after a rest."""
    async with looking_at(*documents()) as look:
        await look.send("enter")
        await look.until(lambda: isinstance(look.screen, TraceScreen) and gate.waits.is_set())
        screen = look.screen
        assert isinstance(screen, TraceScreen)
        rows = screen.rows
        assert state_of(screen) is StitchState.ROOT_ONLY
        assert rows.row_count == 1
        gate.open()
        await look.until(lambda: state_of(screen) is StitchState.IDLE and rows.row_count == 3)
        gate.shut()
        await look.grow(late(4))
        await look.until(gate.waits.is_set)
        assert state_of(screen) is StitchState.STITCHING
        await look.grow(late(5))
        assert state_of(screen) is StitchState.STITCHING
        gate.open()
        await look.until(lambda: state_of(screen) is StitchState.IDLE and rows.row_count == 5)


async def test_what_holds_still(gate: Gate) -> None:
    """While the viewer is paused, what was stitched meanwhile isn't shown; it is stitched anew when it goes on."""
    async with looking_at(*documents()) as look:
        gate.open()
        await look.press("enter")
        screen = look.screen
        assert isinstance(screen, TraceScreen)
        rows = screen.rows
        await look.until(lambda: state_of(screen) is StitchState.IDLE)
        gate.shut()
        await look.grow(late(4))
        await look.until(gate.waits.is_set)
        await look.press("space")
        gate.open()
        await look.until(lambda: state_of(screen) is StitchState.RESTING)
        assert rows.row_count == 3
        await look.press("space")
        await look.until(lambda: state_of(screen) is StitchState.IDLE and rows.row_count == 4)


async def test_a_long_trace_tells_what_a_missing_parent_probably_is(gate: Gate) -> None:
    """As soon as all rows are there, without waiting for spans or keys."""
    build = Builder()
    job = [build.span("job", trace=2, span=50), build.span("step", trace=2, span=51, parent=50)]
    steps = [build.span("step", span=number, parent=9, start=10 + number) for number in (1, 2, 3)]
    gate.open()
    async with looking_at(*job, *steps) as look:
        await look.press("enter")
        await look.until_shown("? probably job, not seen")
