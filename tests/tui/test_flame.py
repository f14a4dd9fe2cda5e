"""The flame view.

trace 1                       trace 2
root  0 - 100 µs              root  200 - 300 µs
  a  10 -  40 µs                a   210 - 230 µs
    b 20 - 30 µs                c   250 - 260 µs   ERROR
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, store_of
from span_graphs import forests
from spanview.analysis.flame import flame
from spanview.index.tree import ROOT
from spanview.tui.flame.flame_model import By, FlameModel
from spanview.tui.flame.flame_screen import FlameBlocks, FlameScreen
from spanview.tui.trace.trace_screen import TraceScreen
from viewers import Look, looking_at

if TYPE_CHECKING:
    from builders import Document


def _documents() -> list[Document]:
    build = Builder()
    return [
        build.span("root", trace=1, span=1, start=0, duration=100),
        build.span("a", trace=1, span=2, parent=1, start=10, duration=30),
        build.span("b", trace=1, span=3, parent=2, start=20, duration=10),
        build.span("root", trace=2, span=4, start=200, duration=100),
        build.span("a", trace=2, span=5, parent=4, start=210, duration=20),
        build.span("c", trace=2, span=6, parent=4, start=250, duration=10, status="ERROR"),
    ]


def _drawn(model: FlameModel, top: int, width: int) -> list[list[tuple[str | None, int, int]]]:
    paths = model.flame.paths
    return [[(paths[block.path].name, block.left, block.right) for block in row] for row in model.rows(top, width, 9)]


def test_blocks() -> None:
    """As wide as their share of what is above them, by total and by self time."""
    model = FlameModel(flame(store_of(*_documents())))
    assert _drawn(model, ROOT, 100) == [[("root", 0, 100)], [("a", 0, 25), ("c", 25, 30)], [("b", 0, 5)]]
    model.by = By.SELF
    # What runs: root 140, a 40, b 10, c 10.
    assert _drawn(model, ROOT, 100) == [[("root", 0, 100)], [("a", 0, 25), ("c", 25, 30)], [("b", 0, 5)]]
    below = model.tree.children[model.tree.children[ROOT][0]][0]
    assert _drawn(model, below, 100) == [[("a", 0, 100)], [("b", 0, 20)]]


async def test_gaps_are_as_the_page() -> None:
    """Between blocks a line has the page's background, as behind the last one."""
    build = Builder()
    documents = [
        build.span("alone", trace=1, span=1, start=0, duration=100),
        build.span("above", trace=2, span=2, start=0, duration=90),
        build.span("below", trace=2, parent=2, start=0, duration=50),
    ]
    async with looking_at(*documents) as look:
        await look.press("F")
        await look.until_shown("below")
        gap, *_, rest = look.screen.query_one(FlameBlocks).render_line(1)
        assert gap.text.strip() == rest.text.strip() == ""
        assert gap.style is not None
        assert rest.style is not None
        assert gap.style.bgcolor == rest.style.bgcolor is not None


def test_side_by_side_and_missing() -> None:
    """What is below is never wider: children that take more make their parent as wide, a missing one too."""
    build = Builder()
    documents = [
        build.span("root", span=1, start=0, duration=10),
        *[build.span(name, parent=1, start=0, duration=10) for name in "abcd"],
        build.span("orphan", parent=99, start=0, duration=10),
    ]
    model = FlameModel(flame(store_of(*documents)))
    rows = _drawn(model, ROOT, 80)
    assert rows[0] == [("root", 0, 64), (None, 64, 80)]
    assert [(left, right) for _, left, right in rows[1]] == [(0, 16), (16, 32), (32, 48), (48, 64), (64, 80)]


def _of_ray() -> list[Document]:
    """Return a call that takes 1 of 100 µs to be submitted, its task, and a call that the task doesn't wait for."""
    build = Builder()
    return [
        build.span("f ray.remote", span=1, start=0, duration=1, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=2, parent=1, start=20, duration=40, kind="CONSUMER"),
        build.span("g ray.remote", span=3, parent=2, start=30, duration=1, kind="PRODUCER"),
        build.span("g ray.remote_worker", span=4, parent=3, start=50, duration=50, kind="CONSUMER"),
    ]


def test_shares_are_widths() -> None:
    """A block is as wide as what it led to, and so is its share: of all roots, whatever they are called by."""
    model = FlameModel(flame(store_of(*_of_ray())))
    assert [(block.left, block.right) for row in model.rows(ROOT, 80, 9) for block in row] == [(0, 80)] * 4
    assert [model.share(path) for path in range(4)] == [1.0] * 4
    model.by = By.SELF
    # f runs for 40, of which g is submitted for 1 and runs for 10.
    assert [model.width_ns(path) for path in range(4)] == [81_000, 80_000, 51_000, 50_000]
    assert [model.share(path) for path in range(4)] == [1.0, 80 / 81, 51 / 81, 50 / 81]
    assert FlameModel(flame(store_of(Builder().span("no end", duration=None)))).share(0) is None


def test_names_of_ray() -> None:
    """A function has its short name, whole where there is room and without Ray's ending where there is less."""
    build = Builder()
    called = build.span("__main__.f ray.remote", span=1, kind="PRODUCER")
    ran = build.span("__main__.f ray.remote_worker", span=2, parent=1, kind="CONSUMER")
    model = FlameModel(flame(store_of(called, ran, build.span("", span=3))))
    labels = {model.labels(path) for path in range(3)}
    assert labels == {("f ray.remote", "f"), ("f ray.remote_worker", "f"), ("(no name)", "(no name)")}


async def test_the_line_of_a_block_says_why_it_is_wide() -> None:
    """Its share is that of its width; where what is below makes it wide, the time of that is told."""
    async with looking_at(*_of_ray(), size=(120, 24)) as look:
        await look.press("F")
        await look.until_shown("total 1 µs", "50 µs with what is below, 100.0% of all")
        await look.press("G")
        await look.until_shown("total 50 µs", " 100.0% of all")
        assert "with what is below" not in look.text
        await look.press("s")
        await look.until_shown("width: self time in it and below", "self 50 µs", " 61.7% of all")


@settings(max_examples=100, deadline=None)
@given(forests(traces=3, most=20), st.sampled_from(By))
def test_shares_of_roots_add_up(documents: list[Document], by: By) -> None:
    """Their widths are one whole, and none below is wider than its parent."""
    model = FlameModel(flame(store_of(*documents)))
    model.by = by
    shares = {path: model.share(path) or 0.0 for path in range(len(model.flame.paths))}
    if any(shares.values()):
        assert sum(shares[path] for path in model.tree.children[ROOT]) == pytest.approx(1.0)
    for path, share in shares.items():
        parent = model.flame.paths[path].parent
        assert parent == ROOT or share <= shares[parent] + 1e-9


@settings(max_examples=100, deadline=None)
@given(forests(traces=3, most=20), st.integers(1, 200), st.sampled_from(By))
def test_blocks_nest(documents: list[Document], width: int, by: By) -> None:
    """No two of a row overlap, and each lies below the one that it is called by."""
    model = FlameModel(flame(store_of(*documents)))
    model.by = by
    above = {ROOT: (0, width)}
    for row in model.rows(ROOT, width, 99):
        assert all(one.right <= other.left for one, other in pairwise(row))
        for block in row:
            left, right = above[model.flame.paths[block.path].parent]
            assert left <= block.left < block.right <= right
        above = {block.path: (block.left, block.right) for block in row}


def _selected(look: Look) -> str | None:
    blocks = look.screen.query_one(FlameBlocks)
    return blocks.model.flame.paths[blocks.selected].name


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_by_keys(size: tuple[int, int]) -> None:
    """Down to the widest, aside, up, closer, to a span, and back."""
    async with looking_at(*_documents(), size=size) as look:
        await look.press("F")
        await look.until(lambda: look.is_on(FlameScreen) and look.screen.query_one(FlameBlocks).model)
        assert "flame graph of 2 traces   4 call paths   width: total time" in look.header
        assert "root   ×2   total 200 µs   self 140 µs" in look.body[0]
        await look.press("down")
        assert _selected(look) == "a"
        await look.press("right")
        assert (_selected(look), "✖ 1" in look.body[0]) == ("c", True)
        await look.press("left", "j")
        assert _selected(look) == "b"
        await look.press("up", "enter")
        assert "Enter again" in look.footer
        assert look.body[1].startswith("▏a")
        await look.press("y", "s")
        assert "width: self time in it and below" in look.footer
        await look.press("enter")
        assert look.is_on(TraceScreen)
        await look.press("q", "escape")
        assert look.body[1].startswith("▏root")
        await look.press("G")
        assert _selected(look) == "b"
        await look.press("g")
        assert _selected(look) == "root"
        await look.press("escape")
        assert not look.is_on(FlameScreen)
        await look.press("r", "enter", "F")
        await look.until(lambda: look.is_on(FlameScreen) and look.screen.query_one(FlameBlocks).model)
        assert "2 traces" in look.header


async def test_what_is_too_narrow_to_be_drawn_is_passed_over() -> None:
    """It is neither selected at first, nor gone to from the side."""
    build = Builder()
    # By their own time they come in this order; what two of them call runs on behind them.
    lengths = {"tiny": (5, 0), "wide": (4, 90_000), "speck": (3, 0), "half": (2, 40_000)}
    spans = []
    for at, (name, (own, below)) in enumerate(lengths.items(), 1):
        spans.append(build.span(name, trace=at, span=at, duration=own))
        spans += [build.span("below", trace=at, span=10 + at, parent=at, duration=below)] if below else []
    async with looking_at(*spans, size=(80, 24)) as look:
        await look.press("F")
        await look.until(lambda: look.screen.query_one(FlameBlocks).model)
        assert _selected(look) == "wide"
        await look.press("right")
        assert _selected(look) == "half"
        await look.press("left", "left")
        assert _selected(look) == "wide"


async def test_to_the_deepest_path_is_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """G and g select once, however many levels are between: each selection paints all blocks."""
    depth = 40
    drawing = "".join(f"{'  ' * level}s{level} {level}-{200 - level}\n" for level in range(depth))
    async with looking_at(*Builder().draw(drawing), size=(100, 30)) as look:
        await look.press("enter", "F")
        await look.until(lambda: look.screen.query_one(FlameBlocks).model)
        selected: list[int] = []
        select = FlameBlocks.select

        def note(self: FlameBlocks, path: int) -> None:
            selected.append(path)
            select(self, path)

        monkeypatch.setattr(FlameBlocks, "select", note)
        await look.press("G")
        assert (len(selected), _selected(look)) == (1, f"s{depth - 1}")
        await look.press("g")
        assert (len(selected), _selected(look)) == (2, "s0")


async def test_by_mouse() -> None:
    """A click selects, a second one takes a block closer."""
    async with looking_at(*_documents(), size=(100, 30)) as look:
        await look.press("enter", "F")
        await look.until(lambda: look.is_on(FlameScreen) and look.screen.query_one(FlameBlocks).model)
        await look.pilot.click(offset=(2, 4))
        await look.until(lambda: _selected(look) == "a")
        await look.pilot.click(offset=(2, 4), times=2)
        await look.until(lambda: look.body[1].startswith("▏a"))


async def test_what_has_no_end_has_no_times() -> None:
    """What was lost with its process didn't take 0: it is counted, and no time is told of it."""
    build = Builder()
    spans = build.span("job", duration=50), build.span("lost", parent=1, start=10, duration=None)
    async with looking_at(*spans, size=(120, 24)) as look:
        await look.press("F")
        await look.until_shown("job   ×1")
        await look.press("G")
        await look.until_shown("lost   ×1   1 no end")
        assert "lost   ×1   1 no end   total" not in look.text
