r"""Hostile data at a real terminal: the program walks over all of it, and nothing of it acts.

in a span's fields          on the terminal
------------------          ---------------
[@click=app.quit]x[/]       just these characters; a click on them does what a click on their row does
ESC ] 52 ; c ; … BEL        ␛]52;c;…␇
0x9b, U+202E, U+200B        \x9b, \u202e, \u200b
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder, Document, span_id, time_text, trace_id
from spanview.display.sanitise import sanitise
from terminals import ESCAPE, Terminal, click, paste, unprintable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")

RAW: Final = (
    "\x1b[2J",
    "\x1b[38;2;13;37;73mred",
    "\x1b[77;77H",
    "\x1b]0;title\x07",
    "\x1b]52;c;c3BhbnZpZXc=\x07",
    "\x1bP+q544e\x1b\\",
    "\x9b31mred",
    "\x9d0;title\x9c",
    "\u202etxt",
    "\u2066in\u2069",
    "shown\rhidden",
    "one\ntwo",
    "a\tb",
    "\x08\x7f\x00",
    "zero\u200bwidth\ufeff",
    "line\u2028line\u2029\x85",
    "\ud800",
)
"""What a terminal would act on, or not show."""
MARKUP: Final = ("[@click=app.quit]x[/]", "[/nope]", "[red]", "[@click=app.quit]", "[link=x]y[/link]", "\\[", "[[", "]")
PAYLOADS: Final = RAW + MARKUP
ALL: Final = "".join(PAYLOADS)
NAME: Final = "[@click=app.quit]\x1b[2J\u202e[red]\n\t\x9b"
"""The name of a folder, and of files."""


def spans() -> Iterator[Document]:
    """Yield a trace for each payload, in every field of which it stands, and one that has all of them."""
    builder = Builder()
    for number, text in enumerate((*PAYLOADS, ALL, MARKUP[0] * 9), 1):
        root = 100 * number
        link = {"context": {"trace_id": trace_id(1), "span_id": span_id(1), "trace_state": repr([f"k={text}"])}}
        fields: Document = {
            "status": "ERROR",
            "description": text,
            "service": text,
            "attributes": {text: text, "list": [text], "map": {text: text}},
            "resource": {text: text},
            "events": [
                {"name": text, "timestamp": time_text(2), "attributes": {text: text}},
                {
                    "name": "exception",
                    "timestamp": time_text(3),
                    "attributes": {f"exception.{each}": text for each in ("type", "message", "stacktrace")},
                },
            ],
            "links": [link | {"attributes": {text: text}}],
        }
        state = f"['{{key={text}, value={text}}}']"
        context = {"trace_id": trace_id(number), "span_id": span_id(root), "trace_state": state}
        yield builder.span(text, start=number, context=context, **fields)
        for child in range(1, 4):
            kind = "PRODUCER" if child == 1 else "CONSUMER"
            ids: Document = {"trace": number, "span": root + child, "parent": root}
            yield builder.span(text, start=number + child, kind=kind, **ids, **fields)
        yield builder.span(text, trace=number, span=root + 9, parent=root + 50, start=number, **fields)


@pytest.fixture(name="folder")
def make_folder(tmp_path: Path) -> str:
    """Return a folder with a hostile name that has files with hostile names."""
    folder = os.path.join(os.fspath(tmp_path), NAME)
    os.mkdir(folder)
    lines = [json.dumps(span).encode() + b"\n" for span in spans()]
    for number, name in enumerate((f"{NAME}.json", "plain.json", "line\nfeed\r.json")):
        with open(os.path.join(folder, name), "wb") as file:
            file.writelines(lines[number::3])
    return folder


def see_to_it(terminal: Terminal) -> None:
    """See to it that the program runs, and that nothing it wrote is a payload's."""
    assert terminal.is_running, terminal.output[-2000:]
    # What was written last may not be whole yet.
    assert not unprintable(terminal.output[: terminal.output.rindex(b"\x1b")])
    for text in RAW:
        assert text.encode("utf-8", "surrogatepass") not in terminal.output


HERE: Final = "traces · "
"""The header of the first screen."""


def to_the_list(terminal: Terminal) -> None:
    """Go back to the first screen, wherever the program is; a key that comes while a screen goes may be lost."""
    for _ in range(20):
        for _ in range(6):
            terminal.send(ESCAPE)
            if terminal.shows(HERE, 0.1):
                return
        # Perhaps it is there already, and has nothing new to show.
        terminal.send(b"?")
        terminal.shows("on this screen", 0.5)
    pytest.fail(f"not back: {terminal.output[-2000:]!r}")


def ask(terminal: Terminal) -> None:
    """Open the prompt; a key that comes while another prompt goes may be lost."""
    for _ in range(3):
        terminal.send(b"/")
        if terminal.shows(" name, or key=value", 4):
            return
    pytest.fail(f"no prompt: {terminal.output[-2000:]!r}")


@pytest.mark.parametrize("arguments", [(), ("-f",), ("-q", f"-{RAW[4]}{MARKUP[0]}")])
def test_every_screen_by_keys(folder: str, arguments: tuple[str, ...]) -> None:
    """Every screen and section is walked; the program writes nothing that acts, and shows markup as it is."""
    with Terminal(folder, *arguments) as terminal:
        terminal.until("3 files", "traces", "[@click=app.quit]x[/]", "[/nope]", "one␊two", "\\u202etxt", "\\x9b31mred")
        terminal.send(b"s" * 5, b"S", b"j" * 40, b"g", b"\x1b[6~", b"\x1b[5~", b"?")
        terminal.until("on this screen")
        terminal.send(b"G", ESCAPE)
        terminal.until("STATE")
        terminal.send(b"r")
        terminal.until("P95")
        terminal.send(b"j" * 9, b"\r")
        terminal.until("STATE")
        terminal.send(ESCAPE)
        terminal.until("P95")
        terminal.send(b"r")
        terminal.until("STATE")
        for down in range(0, len(PAYLOADS) + 2, 4 if arguments else 1):
            terminal.send(b"g", b"j" * down, b"\r")
            terminal.until("‹ ")
            terminal.send(b"j", b"\t" * 7, b"G", b"e[]+f0kk\r")
            terminal.until("? help  Esc back")
            terminal.send(b"\t" * 6, b"oGgo", ESCAPE)
            terminal.until("? help  ⏎ open  Esc back  →")
            terminal.send(ESCAPE)
            terminal.until(HERE)
        see_to_it(terminal)
        terminal.send(b"q")
        assert terminal.wait() == 0
        assert not unprintable(terminal.output)


def test_every_screen_by_the_mouse(folder: str) -> None:
    """Clicks all over the rows of each screen open and fold and select, and never do what markup in them says."""
    with Terminal(folder) as terminal:
        terminal.until("STATE", "[@click=app.quit]")
        for keys in (b"", b"r", b"g\r", b"Gkk\r", b"g\r\r", b"g\r\r\t", b"?"):
            for row in range(1, 37, 5):
                terminal.send(keys, *(click(column, row) for column in (12, 47, 61)), ESCAPE * 6)
            to_the_list(terminal)
            see_to_it(terminal)
        terminal.send(b"q")
        assert terminal.wait() == 0


def test_what_is_typed_and_pasted(folder: str) -> None:
    """Filter, search and palette show what is pasted, and a mistake in it, without letting it act."""
    with Terminal(folder) as terminal:
        terminal.until("STATE")
        # What terminals leave out of a paste: the escape character, and what is no UTF-8.
        texts = [text.replace("\x1b", "").replace("\ud800", "") for text in (ALL, *PAYLOADS[6:])]
        texts = [text for text in texts if text.strip()]
        for text in texts:
            ask(terminal)
            terminal.send(b"(", paste(text))
            terminal.until("query, character")
            terminal.send(ESCAPE)
            terminal.until(HERE)
        for text in texts[:1] + texts[-3:]:
            terminal.send(b"\x10")
            terminal.until("some letters")
            terminal.send(paste(text))
            terminal.until("0 actions")
            terminal.send(ESCAPE)
            terminal.until(HERE)
        terminal.send(b"g\r")
        terminal.until("‹ ")
        ask(terminal)
        terminal.send(b"(", paste(texts[0]))
        terminal.until("query, character")
        to_the_list(terminal)
        see_to_it(terminal)
        terminal.send(b"q")
        assert terminal.wait() == 0


def test_an_empty_folder_with_a_hostile_name(tmp_path: Path) -> None:
    """A folder's name acts neither in the header nor in the words about what was looked at."""
    folder = os.path.join(os.fspath(tmp_path), NAME)
    os.mkdir(folder)
    with Terminal(folder, size=(300, 24)) as terminal:
        terminal.until("no spans here", f"looked in {sanitise(folder)}")
        see_to_it(terminal)
        terminal.send(b"q")
        assert terminal.wait() == 0


def test_copying_is_the_only_way_to_the_clipboard(folder: str) -> None:
    """When a value is copied, the terminal is told so once, with just that value, encoded."""
    with Terminal(folder) as terminal:
        terminal.until("STATE")
        terminal.send(b"y")
        terminal.until("copied the trace id")
        assert terminal.output.count(b"\x1b]52;c;") == 1


@pytest.mark.parametrize("trace", ["ff", "[/nope]", "0"])
def test_an_unknown_trace(folder: str, trace: str) -> None:
    """An id that fits none, several, or is none ends the program with 2 and a word about it."""
    with Terminal(folder, "--trace", trace) as terminal:
        assert terminal.wait() == 2
        assert b"spanview: " in terminal.output
        assert b"Traceback" not in terminal.output
