"""The page's flame graph: the viewer's call paths, with the same figures and widths, of the traces that are listed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from browsers import NARROW, WIDE, Windows, chromium, shown
from builders import Builder, store_of
from html_blocks import open_page
from seeds import sample
from spanview.analysis.flame import flame
from spanview.sources.loading import load_store
from spanview.tui.flame.flame_model import By, FlameModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.index.store import Store

# One browser for all.
pytestmark = pytest.mark.xdist_group("browser")

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
RECORDINGS: Final = sorted(path.name for path in FIXTURES.iterdir() if path.is_dir() and path.name != "pictures")
_PATHS: Final = """traces => {
  const { CallPaths, data } = globalThis.inside, paths = new CallPaths(traces ?? [...Array(data.count).keys()]);
  const own = ({ name, service }) => (name === null ? [null, ""] : [paths.texts[name], paths.texts[service]]);
  const names = path => (path < 0 ? [] : [...names(paths.all[path].above), own(paths.all[path])]);
  const ranked = (values, percent) => values[Math.max(0, Math.ceil(percent / 100 * values.length) - 1)] ?? null;
  return paths.all.map(({ count, errors, total, self }, path) => [names(path), [
    count, errors, total, self, ...[50, 95].map(percent => ranked(paths.durations(path), percent)),
    paths.values.total[path], paths.values.self[path]]]);
}"""


@pytest.fixture(scope="module")
def windows() -> Iterator[Windows]:
    """Start one browser for all tests, and return its windows."""
    with chromium() as started:
        yield Windows(started)


def expected(store: Store, traces: list[int]) -> dict[tuple[Any, ...], list[Any]]:
    """Return the figures of the viewer, by names and services from the root on."""
    model, figures = FlameModel(flame(store, traces)), dict[tuple[Any, ...], list[Any]]()
    for number, path in enumerate(model.flame.paths):
        own = [path.count, path.errors, path.total_ns, path.self_ns, path.p50_ns, path.p95_ns]
        for by in (By.TOTAL, By.SELF):
            model.by = by
            own.append(model.width_ns(number))
        figures[tuple(model.tree.names(number))] = own
    return figures


@pytest.mark.shortened
@pytest.mark.parametrize("name", sample(RECORDINGS, 3))
def test_the_call_paths_are_those_of_the_viewer(name: str, windows: Windows, tmp_path: Path) -> None:
    """Of all traces, and of every third one."""
    store, path = load_store([str(FIXTURES / name)]), tmp_path / "page.html"
    path.write_bytes(open_page(store, "CallPaths", "data"))
    traces = store.traces_in_order().tolist()
    with shown(windows, path) as look:
        for chosen in (None, [*range(0, len(traces), 3)]):
            found = {
                tuple((name, service) for name, service in names): figures
                for names, figures in look.page.evaluate(_PATHS, chosen)
            }
            of_viewer = expected(store, traces if chosen is None else [traces[place] for place in chosen])
            # A page has no number beyond 2**53, and adds in another order.
            assert found == of_viewer


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_the_flame_graph(size: tuple[int, int], windows: Windows, tmp_path: Path) -> None:
    """`F` shows what is listed, or the open trace; blocks share the width of what calls them, and keys lead on."""
    build = Builder()
    spans = build.draw("run 0-1000\n  load 100-300\n    read 120-200\n  work 400-900")
    spans += [build.span("other", trace=2, span=50, start=0, duration=500, status="ERROR")]
    path = tmp_path / "page.html"
    path.write_bytes(open_page(store_of(*spans)))
    with shown(windows, path, "#", size=size) as look:
        look.press("F")
        look.until("document.querySelectorAll('.block').length === 5")
        assert look.texts(".bar > span")[:2] == ["flame graph of 2 traces", "5 call paths"]
        chosen = "[...document.querySelectorAll('.chosen span')].map(part => part.textContent)"
        assert look.page.evaluate(chosen) == [
            "run   ×1   total 1 ms   self 300 µs   p50 1 ms   p95 1 ms",
            "66.7% of all",
        ]
        widths = (
            "[...document.querySelectorAll('.block')]"
            ".map(block => block.offsetWidth / document.querySelector('.flame').clientWidth)"
        )
        for width, share in zip(look.page.evaluate(widths), (2 / 3, 1 / 3, 1 / 3, 2 / 15, 4 / 75), strict=True):
            assert abs(width - share) < 0.02
        for key, name in (
            ("j", "work"),
            ("l", "load"),
            ("j", "read"),
            ("g", "run"),
            ("l", "other"),
            ("h", "run"),
            ("G", "work"),
        ):
            look.press(key)
            assert [text.removeprefix("✖ ") for text in look.texts(".block[aria-selected=true]")] == [name], key
        look.press("s")
        assert "width: self time in it and below" in look.texts(".bar button")
        look.press("Enter")
        assert look.texts(".block") == ["work"]
        look.press("Escape", "e")
        assert look.texts(".block[aria-selected=true]")[0].endswith("other")
        look.press("Escape", "/")
        look.page.keyboard.type("trace.errors=0")
        look.until("document.querySelector('.count').textContent === '1 of 2 traces'")
        look.press("Enter", "F")
        assert look.texts(".bar > span")[0] == "flame graph of 1 of 2 traces, as listed"
        look.press("G", "Enter", "Enter")
        look.until("document.querySelector('.ruler')")
        assert look.selected == "work"
        look.press("F")
        assert look.texts(".bar > span")[0] == "flame graph of run"
        assert look.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        look.press("Escape")
        look.until("document.querySelector('.ruler')")
