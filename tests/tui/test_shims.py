"""What is used of Textual's own parts is named in one place, and the viewer works where a version lacks any of it.

name -- gone --> its shim is not active, and said so --> Textual's own way
"""

from __future__ import annotations

import inspect
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING

import pytest
from textual.drivers.linux_driver import LinuxDriver
from textual.drivers.web_driver import WebDriver

import spanview.tui
from builders import Builder
from seeds import THOROUGH
from spanview.cli import main
from spanview.tui import shims
from spanview.tui.app.terminal import careful
from spanview.tui.shims import BROWSER, SHIMS, TERMINAL
from viewers import looking_at

if TYPE_CHECKING:
    from textual.driver import Driver

NEEDED = sorted({need for shim in SHIMS for need in shim.needs})
ONE_EACH = NEEDED if THOROUGH else sorted({shim.needs[0] for shim in SHIMS})
"""A name that each shim needs: without any of them it isn't active, which is tried for all names."""
_is_there = shims.is_there


def _lacks(gone: str, need: str) -> bool:
    return need != gone and _is_there(need)


@pytest.mark.shortened(5)
@pytest.mark.parametrize("gone", ONE_EACH)
async def test_the_viewer_works_without_any_of_it(gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Screens open, are left, filtered and resized, and the list has all its rows."""
    monkeypatch.setattr(shims, "is_there", partial(_lacks, gone))
    build = Builder()
    async with looking_at(*(build.span(f"n{trace}", trace=trace) for trace in range(1, 60)), paints=True) as look:
        assert "59 traces" in look.header
        await look.press("end", "enter", "enter", "escape", "escape", "t", "escape", "T", "question_mark", "escape")
        await look.pilot.resize_terminal(90, 20)
        await look.press("slash", "n", "7", "enter")
        await look.until_shown("n7")
        assert len(look.app.screen_stack) == 2
    drivers: list[type[Driver]] = [LinuxDriver, WebDriver]
    for kind, shim in zip(drivers, (TERMINAL, BROWSER), strict=True):
        assert (careful(kind) is kind) == (gone in shim.needs)


@pytest.mark.parametrize("gone", NEEDED)
def test_what_is_not_active_is_said(
    gone: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `--version --verbose`, a line for each shim that lacks it; none where all is there."""
    assert main(["--version", "--verbose"]) == 0
    whole = capsys.readouterr().out
    assert [line.split()[0] for line in whole.splitlines()] == ["spanview", "Python", "textual", "rich", "numpy"]
    monkeypatch.setattr(shims, "is_there", partial(_lacks, gone))
    assert main(["--version", "--verbose"]) == 0
    said = capsys.readouterr().out.removeprefix(whole)
    lacking = [shim for shim in SHIMS if gone in shim.needs]
    assert said == "".join(f"shim not active: {shim.name} (no {gone})\n" for shim in lacking)


@pytest.mark.parametrize("need", ["textual.app:App._nothing", "textual.nowhere:App", "textual.app:Nothing._prune"])
def test_what_no_version_has_is_not_there(need: str) -> None:
    """Neither a name, nor one of a class or a module that is gone."""
    assert not _is_there(need)


def test_what_is_replaced_is_named() -> None:
    """No class of the viewer has a method in place of one of Textual's own that no shim names."""
    named = {need.rpartition(".")[2] for need in NEEDED}
    replaced: set[str] = set()
    for module in walk_packages(spanview.tui.__path__, "spanview.tui."):
        for kind in vars(import_module(module.name)).values():
            if inspect.isclass(kind) and kind.__module__.startswith("spanview."):
                textuals = [above for above in kind.__mro__ if above.__module__.startswith("textual.")]
                own = [name for name in vars(kind) if name.startswith("_") and not name.startswith("__")]
                replaced |= {name for name in own if any(name in vars(above) for above in textuals)}
    assert "_refresh_layout" in replaced
    # Textual gives each class these of its own.
    made = {"_decorated_handlers", "_css_type_name", "_css_type_names", "_inherit_bindings", "_merged_bindings"}
    made |= {"_abc_impl", "_inherit_css", "_inherit_component_classes", "_css_bases", "_reactives", "_computes"}
    assert replaced - named - made == set()
