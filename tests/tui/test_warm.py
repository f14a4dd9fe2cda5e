"""What keeps keys quick: garbage is collected when nobody waits, and what many traces bring is shown in turn."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from builders import Builder
from spanview.tui import app, traces_model, warm
from spanview.tui.feed import FeedState
from spanview.tui.plot import Plot
from spanview.tui.warm import Tidy
from viewers import looking_at

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Let garbage be collected as it was before."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.fixture(name="collected")
def count_collections(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Return a list that grows with each whole collection, all of which are worth it."""
    collected: list[None] = []
    monkeypatch.setattr(gc, "collect", lambda: collected.append(None))
    monkeypatch.setattr(warm, "_WORTH_IT", 0)
    return collected


def test_only_whole_collections_are_put_off() -> None:
    """What is young is collected as ever; what is there is looked at no more."""
    before = gc.get_threshold()
    Tidy().put_off()
    assert gc.get_threshold()[:2] == before[:2]
    assert gc.get_threshold()[2] > 1000 * before[2]
    assert gc.get_freeze_count() > 1000


@pytest.mark.parametrize(("key_s", "before_s", "expected"), [(1, 10, 0), (4, 10, 1), (1, 61, 1), (4, 61, 1)], ids=str)
def test_garbage_is_collected_at_rest(
    monkeypatch: pytest.MonkeyPatch, collected: list[None], key_s: float, before_s: float, expected: int
) -> None:
    """Some seconds after the last key, or when it was put off for a minute."""
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tidy = Tidy()
    now += before_s - key_s
    tidy.key_was_pressed()
    now += key_s
    tidy.collect()
    assert len(collected) == expected
    now += 0.5
    tidy.key_was_pressed()
    tidy.collect()
    assert len(collected) == expected


def test_a_collection_that_is_not_worth_it(monkeypatch: pytest.MonkeyPatch, collected: list[None]) -> None:
    """Where hardly anything was allocated, nothing is collected."""
    monkeypatch.setattr(warm, "_WORTH_IT", 1 << 30)
    Tidy().collect()
    assert collected == []


def test_screens_that_are_imported_are_those_that_keys_open() -> None:
    """What is imported at rest is there, in a process that has nothing else."""
    code = (
        "import sys; from spanview.tui.warm import import_screens; import_screens(has_many=True);"
        "print(*(name in sys.modules for name in ('spanview.tui.trace_screen', 'spanview.tui.groups_bulk')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


async def test_news_of_many_traces_come_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However quickly spans come, the list is put in order now and then only; nothing that came is left out."""
    builder = Builder()
    async with looking_at(builder.span("first", trace=1)) as look:
        monkeypatch.setattr(app, "MANY", 0)
        monkeypatch.setattr(app, "_EVERY_S", 0.3)
        shown: list[set[int]] = []
        monkeypatch.setattr(look.screen, "feed_has_news", shown.append)
        for number in range(20):
            look.data.add(builder.span("more", trace=2 + number, span=2 + number, start=number))
            await look.tell(FeedState(loading=False, following=True))
        await look.until(lambda: {*range(1, 21)} <= set().union(*shown))
        assert len(shown) < 10


async def test_many_new_traces_are_plotted_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plot of a long list isn't drawn each time that spans come, but it is drawn."""
    builder = Builder()
    async with looking_at(builder.span("first", trace=1)) as look:
        monkeypatch.setattr(traces_model, "MANY", 0)
        drawn = look.screen.query_one(Plot)
        look.data.add(builder.span("more", trace=2, span=2, start=10, duration=5_000_000))
        await look.tell(FeedState(loading=False, following=True))
        await look.until(lambda: drawn._grid is not None and sum(drawn._grid.counts.values()) == 2)
