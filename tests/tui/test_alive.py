"""What the viewer says of what may still be running, while processes live and when they have gone.

file     what it holds
7.txt    work, whose parent no file holds; f ray.remote, without an attempt
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import Builder
from spanview.sources.processes import Processes
from spanview.tui import traces_screen
from spanview.tui.feed import FeedState
from spanview.tui.function_calls_screen import FunctionCallsScreen
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from collections.abc import Callable

FOLLOWING = FeedState(loading=False, following=True)
PATH = "spans/7.txt"


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Return the processes that are alive, to be changed."""
    pids = {7}
    lives: Callable[[Processes, int, int], bool] = lambda _, pid, __: pid in pids  # noqa: E731 - as the method is called
    monkeypatch.setattr(Processes, "lives", lives)
    return pids


def filled() -> Growing:
    """Return the file of the drawing, and a trace that tells what work stands in."""
    build, data = Builder(), Growing()
    data.add(
        build.span("work", trace=1, parent=99),
        build.span("f ray.remote", trace=2, kind="PRODUCER"),
        *(build.span(name, trace=3, span=span, parent=span - 1 or None) for name, span in (("job", 1), ("work", 2))),
        path=PATH,
    )
    return data


async def test_a_trace_grows_while_its_process_lives(alive: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its root hasn't ended yet; when the process has gone, or the root has come, it is what it is."""
    monkeypatch.setattr(traces_screen, "_GROWING_S", 0.0)
    async with looking_at(data=filled()) as look:
        assert "growing" not in look.text
        await look.tell(FOLLOWING)
        await look.until_shown("● growing")
        assert "◌ incomplete" not in look.text
        alive.clear()
        await look.until_shown("◌ incomplete")
        assert "growing" not in look.text
        alive.add(7)
        await look.until_shown("● growing")
        await look.grow(Builder().span("job", trace=1, span=99), path=PATH)
        await look.until(lambda: "growing" not in look.text and "incomplete" not in look.text)


async def test_what_a_missing_parent_probably_is(alive: set[int]) -> None:
    """Its name, what tells it, and a process that may be running it."""
    assert alive
    async with looking_at(data=filled(), size=(120, 40)) as look:
        await look.tell(FOLLOWING)
        await look.press("end", "enter")
        await look.until_shown(
            "? probably job, not seen", "probably  job", "work stands in nothing else, 1 time", "pid 7"
        )
        assert "parent not seen (0000000000000063)" in look.text


async def test_a_call_that_may_be_running(alive: set[int]) -> None:
    """While following, the list of calls says what is thought; when its caller has gone, that it is lost."""
    async with looking_at(data=filled(), size=(120, 40)) as look:
        await look.press("A")
        await look.until_shown("1 call of 1 function")
        await look.press("enter")
        await look.until_shown("◌ no attempt seen")
        assert look.is_on(FunctionCallsScreen)
        await look.tell(FOLLOWING)
        await look.until_shown("◌ waits, likely: no worker is alive")
        alive.clear()
        await look.until_shown("◌ lost, likely: its caller, pid 7, has gone")
