"""When what is printed has colours, and that these change nothing but colours.

--color   NO_COLOR   FORCE_COLOR   to a terminal   to a pipe
-------   --------   -----------   -------------   ---------
auto                               colours         none
auto      1          any           none            none
auto                 1             colours         colours
always    any        any           colours         colours
never     any        any           none            none
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from builders import Builder, file_of
from spanview.cli import main
from spanview.commands.options import Options
from spanview.commands.output import is_colorless, paint_for
from spanview.display.shades import colored

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NOTHING: dict[str, str] = {}
NO, FORCE = {"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}


@pytest.mark.parametrize(
    ("mode", "environment", "on_terminal", "in_pipe"),
    [
        ("auto", NOTHING, True, False),
        ("auto", {"NO_COLOR": "", "FORCE_COLOR": ""}, True, False),
        ("auto", NO, False, False),
        ("auto", NO | FORCE, False, False),
        ("auto", FORCE, True, True),
        ("auto", {"TERM": "dumb"}, False, False),
        ("always", NO | {"TERM": "dumb"}, True, True),
        ("never", FORCE, False, False),
    ],
)
def test_when_there_are_colours(mode: str, environment: dict[str, str], *, on_terminal: bool, in_pipe: bool) -> None:
    """The option decides, then the environment, then where it goes; in the viewer, which has a terminal, the same."""
    options = Options("tree", color=mode, environment=environment)
    for is_terminal, expected in ((True, on_terminal), (False, in_pipe)):
        with patch.object(sys, "stdout") as output:
            output.isatty.return_value = is_terminal
            assert (paint_for(options) is colored) is expected
    assert is_colorless(options) is not on_terminal


COLORED: dict[tuple[str, ...], Sequence[str]] = {
    ("tree",): ("\x1b[1mtrace 0", "\x1b[31m✖ 1 error\x1b[0m", "\x1b[33mincomplete\x1b[0m", "\x1b[31m✖ refused\x1b[0m"),
    ("tree", "--bars"): (
        "\x1b[1mtrace 0",
        "\x1b[31m✖ 1 error\x1b[0m",
        "\x1b[33mincomplete\x1b[0m",
        "\x1b[1mSPAN",
        "\x1b[31m✖\x1b[0m",
        "\x1b[94m█",
    ),
    ("stats",): ("\x1b[1m  COUNT\x1b[0m", "\x1b[31m     1\x1b[0m"),
    ("check",): ("\x1b[33m           1\x1b[0m   unfinished", "\x1b[2minfo:\x1b[0m "),
    ("diff", "name~漢", "name~second"): ("\x1b[1m", "\x1b[33m"),
}


@pytest.mark.parametrize("words", COLORED, ids=" ".join)
def test_colours_are_added_to_the_same_text(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without them the lines are what they are in a pipe, wide characters included; only bars have a key to them."""
    build = Builder()
    first = build.draw("漢字 0-10000\n  second 10-9000", trace=1)
    first[0]["resource"] = {"attributes": {"service.name": "shop"}}
    lost = build.span("second", trace=2, parent=99, status="ERROR", description="refused", duration=90_000)
    (tmp_path / "1.json").write_bytes(file_of([*first, lost]))
    printed = []
    for mode in ("auto", "always"):
        main([*words, str(tmp_path), "--color", mode])
        printed.append(capsys.readouterr().out)
    plain, painted = printed
    assert "\x1b" not in plain
    assert [text for text in COLORED[words] if text not in painted] == []
    lines = re.sub(r"\x1b\[[0-9;]*m", "", painted).splitlines()
    if "--bars" in words:
        lines = [line for line in lines if not line.startswith("service:")]
    assert lines == plain.splitlines()
