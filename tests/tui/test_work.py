"""Work beside a screen: the latest wins, pieces come in their order, and no thread waits for a screen that has gone."""

from __future__ import annotations

import asyncio
import threading
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from textual.worker import active_worker

from spanview.tui.widgets import work
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest
    from textual.timer import Timer

    from spanview.analysis.telling import Tell

DEADLINE_S = 30.0


class Owner:
    """What has work done: its threads, and no screen."""

    def __init__(self) -> None:
        self.is_left = False
        self.acts_until = 0.0
        self.threads: list[threading.Thread] = []

    def refresh_frame(self) -> None:
        """Nothing is painted."""

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:  # noqa: ARG002 - as screens have it
        """Nothing is shown later."""
        return cast("Timer", SimpleNamespace(stop=lambda: None))

    def call_later(self, callback: Callable[..., Any], *args: Any) -> bool:
        """Call it at once."""
        callback(*args)
        return True

    def run_worker(self, work: Callable[[], Any], *, group: str, thread: bool) -> None:  # noqa: ARG002 - as screens have it
        """Run it in a thread."""

        def run() -> None:
            active_worker.set(cast("Any", SimpleNamespace(is_cancelled=False)))
            work()

        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    async def until_ended(self) -> None:
        """Wait until all threads have ended, and what they have handed over was taken."""
        for thread in self.threads:
            await asyncio.to_thread(thread.join, DEADLINE_S)
        await asyncio.sleep(0)


async def test_the_latest_wins() -> None:
    """What was begun before is taken no more, and of what waits only the last is done."""
    owner, taken, go = Owner(), list[str](), threading.Event()
    first = Work(owner)
    first.begin(lambda _: str(go.wait(DEADLINE_S)), taken.append)
    first.begin(lambda _: "second", taken.append)
    first.queue(lambda _: "third", taken.append)
    first.queue(lambda _: "fourth", taken.append)
    go.set()
    await owner.until_ended()
    await owner.until_ended()
    assert taken == ["second", "fourth"]
    assert not first.is_busy


async def test_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pieces are taken in their order; the last time nothing is being done any more."""
    monkeypatch.setattr(work, "_PIECES_S", 0.0)
    owner, taken, ends = Owner(), list[int](), list[bool]()
    pieces = Work(owner)

    def ask(tell: Tell) -> Iterator[int]:
        for number in range(1000):
            tell(number / 1000)
            yield number

    def take(some: list[int]) -> None:
        taken.extend(some)
        ends.append(not pieces.is_busy)

    pieces.begin_pieces(ask, take)
    await owner.until_ended()
    assert taken == [*range(1000)]
    assert ends == [*[False] * (len(ends) - 1), True]


async def test_nothing_is_handed_to_who_has_left() -> None:
    """Nor what comes after it was ended."""
    owner, taken, go = Owner(), list[object](), threading.Event()
    left, ended = Work(owner), Work(owner)
    for each in (left, ended):
        each.begin(lambda _: go.wait(DEADLINE_S), taken.append)
    assert ended.end()
    assert not ended.end()
    owner.is_left = True
    go.set()
    await owner.until_ended()
    assert taken == []


def test_no_thread_waits_for_a_viewer_that_has_ended() -> None:
    """Its loop is closed when the answer comes: the thread ends all the same."""
    owner, taken, go = Owner(), list[object](), threading.Event()

    async def begin() -> None:
        Work(owner).begin(lambda _: go.wait(DEADLINE_S), taken.append)

    asyncio.run(begin())
    go.set()
    owner.threads[0].join(DEADLINE_S)
    assert not owner.threads[0].is_alive()
    assert taken == []


async def test_what_was_asked_is_let_go() -> None:
    """What a task was asked of, such as a list of all traces, is gone once it ran, whoever still holds its worker."""
    owner, kept, taken = Owner(), list[object](), list[int]()

    def keep(work: Callable[[], Any], *, group: str, thread: bool) -> None:
        kept.append(work)
        Owner.run_worker(owner, work, group=group, thread=thread)

    owner.run_worker = keep  # type: ignore[method-assign]
    large = {*range(9)}
    gone = weakref.ref(large)
    Work(owner).begin(lambda _, large=large: len(large), taken.append)  # type: ignore[misc]
    del large
    await owner.until_ended()
    assert (taken, gone(), len(kept)) == ([9], None, 1)
