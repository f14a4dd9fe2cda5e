"""Hostile strings in the viewer, at a real terminal: every field of a span, every name of a file, on every screen.

what is done                              what is to be seen
------------                              ------------------
all screens are walked by keys            each field, literal or with stand-ins; no byte that acts
what is seen is clicked                   the same screens, and nothing that markup asks for
texts are typed and pasted into prompts   the texts with stand-ins, and what is typed behind them
a session with logs, on a wide screen     the same in the preview, in details beside the tree, and in logs
random bytes are sent                     a viewer that runs, or that was told to quit
"""

from __future__ import annotations

import os
import random
import re
import time
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice, product
from typing import TYPE_CHECKING, Final, Self

from hostile import (
    ALL,
    MARKUP,
    RAW,
    in_file_names,
    in_json,
    in_lines,
    in_name,
    make_folder,
    make_session,
    shown,
    shown_lines,
)
from terminals import ESCAPE, Terminal, click, paste, unprintable

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

_PATIENCE_S: Final = 15.0
_WIDE: Final = (148, 100)
_USUAL: Final = (160, 48)
_WIDEST: Final = (200, 50)
"""Where the list has a preview and a trace its details at the right."""
_LIST: Final = "PROCS"
_GROUPS: Final = "P95"
_TRACE: Final = "⏎ open  Esc back  → fold"
_HELP: Final = "on this screen"
_SPAN: Final = "? help  Esc back  → fold  Tab section"
_TAGS: Final = (
    *("sd", "sv", "ak", "av", "al", "mk", "mv", "en", "ek", "ev"),
    *("et", "em", "es", "lk", "lv", "rk", "rv", "ru", "nm"),
)
_WIDEST_SIDE: Final = 47
"""Cells of what a side is, where it is one trace."""
_WIDEST_FUNCTION: Final = 32
"""Cells of what a colour stands for, with what stands before it."""
_SHORTEST_NAME: Final = 12
"""Cells of the end of a name, of which the middle is left out."""
_SHORTEST_GROUP: Final = 6
"""Cells of the beginning of a group's name that are left where its time is told."""
_SHORTEST_START: Final = 5
"""Cells of its beginning that are left, or of its end."""
_MOST_BACK: Final = 6
"""Steps back from any screen to the list of traces without a filter, groups and a mark."""
_WIDEST_KEY: Final = 32
"""Cells of the column in which keys stand; what is wider goes on below."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A screen, or a part of one."""

    keys: bytes
    """What leads here from the list of traces."""
    further: bytes
    """What leads here from the step before."""
    mark: str
    """What only this screen has."""
    texts: tuple[str, ...]
    """Data that is to be seen."""


def _steps(text: str) -> Iterator[_Step]:
    """Yield every screen and section, and what is to be seen there of a trace made of a text."""
    name, file = f"nm{shown(text)}", shown(in_file_names(text))
    yield _Step(b"", b"", _LIST, (name, f"dn{file}", "1 not read"))
    yield _Step(b"r", b"r", _GROUPS, (name,))
    yield _Step(b"r\r", b"\r", _LIST, (f"in {name}", name))
    failure = shown(f"sd{text}".split("\n")[0])
    head = (f"‹ {name}", f"in {name}", f"{name} ✖ {failure}", f"sv{shown(text)}", f"fn{file} @ 0")
    yield _Step(b"t", b"t", "statistics of", (name,))
    yield _Step(b"t\r", b"\r", "DURATION ▾", (f"in {name}", name))
    yield _Step(b"!", ESCAPE * 2 + b"!", "‹ check", (f"no_spans: dn{file}/fo{file}",))
    yield _Step(b"F", ESCAPE + b"F", "flame graph of", (f"✖ {name}", name))
    yield _Step(b"L", ESCAPE + b"L", "workers in", (f"function  ■ {name}"[:_WIDEST_FUNCTION], name))
    # The trace and its group are the two sides.
    sides = f"trace 00000000 {name}"[:_WIDEST_SIDE], f"traces of {name}"
    yield _Step(b"drd", ESCAPE + b"drd", "‹ comparison", (*sides, name))
    yield _Step(b"drd\r", b"\r", "DURATION ▾", (" A B ", f"in {name}", name))
    yield _Step(b"\r", ESCAPE * 2 + b"r\r", _TRACE, (*head, f"▾ {name}", *shown_lines(f"av{text}")))
    span, texts = b"\rg\r", [*head, f"{name} › {name}", f"ak{shown(text)}", *shown_lines(f"av{text}")]
    if text.isascii():
        texts += [shown(in_json(f"{tag}{text}")) for tag in ("al", "mk", "mv")]
    yield _Step(span, b"\r", _SPAN, tuple(texts))
    exception = shown_lines(f"et{text}: em{text}")[0]
    texts = [f"en{shown(text)}", exception, *shown_lines(f"es{text}"), f"  ek{shown(text)}", *shown_lines(f"ev{text}")]
    yield _Step(span + b"\t", b"\t", _SPAN, tuple(texts))
    texts = [f"  lk{shown(text)}", *shown_lines(f"lv{text}"), f"  lt{shown(text)}", *shown_lines(f"ltv{text}")]
    yield _Step(span + b"\t\t", b"\t", _SPAN, tuple(texts))
    texts = [f"rk{shown(text)}", *(line for tag in ("rv", "ru", "sv") for line in shown_lines(tag + text))]
    yield _Step(span + b"\t\t\t", b"\t", _SPAN, tuple(texts))
    yield _Step(span + b"o", b"o", _SPAN, tuple(f'"{tag}{shown(in_json(text))}"' for tag in _TAGS))
    state = f"state tk{shown(text)}"[:_WIDEST_KEY]
    texts = [*shown_lines(f"nm{text}  (0000000000000001)"), state, *shown_lines(f"tkv{text}")]
    yield _Step(b"\rgj\r\t\t\t\t", ESCAPE + b"j\r\t\t\t\t", _SPAN, tuple(texts))


def _session_steps(text: str) -> Iterator[_Step]:
    """Yield the screens of a session with logs, where there is room for everything, and what is to be seen there."""
    call, root, line = f"nm{shown(in_name(text))}", f"rt{shown(in_name(text))}", f"ll{shown(in_lines(text))}"
    folder, answer = f"dn{shown(in_file_names(text))}", f"(5 ms in {call})"
    yield _Step(b"", b"", _LIST, (folder, f"{root}   9 ms   3 spans", answer, f" {call} "))
    # Of a file, what stands behind its folder is shown; and a line of a stack trace has no end in it.
    is_plain = text.isascii() and not {*text}.intersection("/\\\t") and text.splitlines() == [text]
    frames = [f"{tag}{shown(text)}" for tag in ("ff", "fu", "co")] if is_plain else []
    # Lines end, and tabs take as many cells as they need.
    first = shown(re.split("[\n\t]", text)[0])
    head = (f"in {root}", f"in {call}) + ", f"✖ E: em{first}"[:40])
    yield _Step(b"\re", b"\re", "Events 1", (*head, *frames, f" {call} "))
    yield _Step(b"\re\r", b"\r", "Events 1", (f"‹ {root} › md.{call}"[:60], *frames, "Log 3"))
    log = (f"under it {line}", f"printed {line}")
    yield _Step(b"\re\r\t\t\t", b"\t\t\t", "Log 3", log)
    # Above groups stands where the time of the selected one went, and that is the request's.
    yield _Step(b"r", ESCAPE * 2 + b"r", _GROUPS, (f"de{shown(text)}"[:_SHORTEST_GROUP], root))
    yield _Step(b"rA", b"A", "TOTAL WAIT", (call[:_SHORTEST_START], call[-_SHORTEST_START:]))
    yield _Step(b"rA\r", b"\r", "WAIT+RUN", (f"‹ calls of {call}"[:60], f"{folder}/logs"))
    yield _Step(b"rA\rv", b"v", "span's lines", (f"of md.{call} ray.remote_worker"[:40], f"under it {line}"))
    request = f"ap{shown(text)} › de{shown(text)}"
    yield _Step(b"H", ESCAPE * 3 + b"H", "HANDLING", (f"de{shown(text)}"[:10], f"/ro{shown(text)}"[-_SHORTEST_NAME:]))
    yield _Step(b"H\r", b"\r", "REQUEST ID", (request[:_WIDEST_SIDE], "proxy › route › replica"))
    yield _Step(b"L", ESCAPE * 2 + b"L", "workers in", (f"■ {root}"[:_WIDEST_FUNCTION], root))
    yield _Step(
        b"/\x15ray.actor_class=", ESCAPE + b"/\x15ray.actor_class=", "ray.actor_class", (f"ac{shown(text)}"[:20],)
    )
    yield _Step(b":", ESCAPE * 2 + b":", "some words of an action", ("actions",))


class _Viewer:
    """The viewer on a folder that is made of a text, in a context that ends it.

    Args:
        parent: Where the folder is made.
        text: What it is made of.
        follows: Whether it follows, and waits for another folder with such a name.
        size: Cells across and down; the widest is for a session with logs.
    """

    def __init__(self, parent: Path, text: str, *, follows: bool = False, size: tuple[int, int] = _WIDE) -> None:
        parent.mkdir()
        self.text = text
        is_session = size == _WIDEST
        make = make_session if is_session else make_folder
        name, words = in_file_names(text), [os.path.basename(make(parent, text))]
        self.at_first = [] if is_session else [f"ln{shown(name)}: a symbolic link in a folder"]
        """What is to be seen at the start only."""
        if not re.search("[\0\ud800-\udfff]", text):
            # A filter that keeps everything.
            query = '-"qq{}"'.format(text.replace("\\", "\\\\"))
            words += ["-q", query]
            self.at_first.append(f" ╱ {shown(query)} ")
        if follows:
            words += ["-f", f"wt{name}"]
            self.at_first.append(f"  wt{shown(name)}"[:20])
        elif not is_session:
            self.at_first.append("1 torn")
        # Nothing of how the viewer was left is kept for the next one.
        os.environ["XDG_CONFIG_HOME"] = os.devnull
        self.terminal = Terminal(*words, size=size, folder=parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.terminal.__exit__(kind, error, trace)

    def go_to(self, step: _Step) -> bool:
        """Go to a screen, from wherever the viewer is; tell whether it gets there."""
        self.terminal.send(*[ESCAPE] * _MOST_BACK, b"g", step.keys)
        return self.settle() and self.terminal.is_soon(lambda _: self.is_on(step), _PATIENCE_S)

    def is_on(self, step: _Step) -> bool:
        """Tell whether a screen is there, with data."""
        lines = self.terminal.lines
        return any(step.mark in line for line in lines) and any(step.texts[-1] in line for line in lines)

    def settle(self) -> bool:
        """Wait until all that was sent has come to something: the help opens behind it, and closes."""
        terminal = self.terminal
        terminal.send(b"?")
        has_opened = terminal.has_soon(_HELP, seconds=_PATIENCE_S)
        terminal.send(ESCAPE)
        has_closed = terminal.is_soon(lambda lines: not any(_HELP in line for line in lines), _PATIENCE_S)
        terminal.rest(0.03)
        return has_opened and has_closed

    def raw(self) -> list[str]:
        """Return what a terminal would act on in all that was written, but for copying, with what is round it."""
        output = _COPIED.sub(b"", self.terminal.output)
        return unprintable(output) + [self.text] * (
            self.text in RAW and self.text.encode("utf-8", "surrogatepass") in output
        )


def _seen(terminal: Terminal, figures: Figures, texts: Iterable[str], where: object) -> bool:
    """Take note of whether texts are seen; tell whether all are."""
    for text in texts:
        figures.trials += 1
        if not terminal.has_soon(text, seconds=_PATIENCE_S):
            figures.expect(holds=False, what=f"{where}: no {text!r} in {[line for line in terminal.lines if line]}")
            return False
    return True


def _walk(trials: int, folder: Path, *, texts: Sequence[str], size: tuple[int, int] = _WIDE) -> Figures:
    """Walk over all screens by keys."""
    figures = Figures()
    steps = _session_steps if size == _WIDEST else _steps
    for number, text in enumerate(cycle(texts)):
        if figures.trials >= trials or not figures.is_clean:
            break
        with _Viewer(folder / f"{number}", text, follows=bool(number % 2), size=size) as viewer:
            is_well = _seen(viewer.terminal, figures, viewer.at_first, ascii(text))
            for step in steps(text) if is_well else ():
                viewer.terminal.send(step.further)
                if not _seen(viewer.terminal, figures, (step.mark, *step.texts), (ascii(text), step.keys)):
                    break
            _leave(viewer, figures)
    return figures


def _click(trials: int, folder: Path, *, texts: Sequence[str]) -> Figures:
    """Click, on each screen, on everything that is to be seen there of a text; few trials leave some places out."""
    figures, is_full = Figures(), trials > _FEW
    for number, text in enumerate(cycle(texts)):
        if figures.trials >= trials or not figures.is_clean:
            break
        with _Viewer(folder / f"{number}", text, follows=bool(number % 2), size=_USUAL) as viewer:
            _seen(viewer.terminal, figures, viewer.at_first, ascii(text))
            for turn, step in enumerate(_steps(text)):
                places: list[tuple[int, int]] = []
                # A text may be a message that has gone by the time a busy machine looks.
                for _ in range(3):
                    viewer.go_to(step)
                    places = [place for seen in step.texts for place in _places(viewer.terminal, seen)[: 1 + is_full]]
                    if places:
                        break
                if not is_full:
                    places = places[turn % 2 :: 2] or places
                figures.expect(holds=bool(places), what=f"{text!a}: nothing to click on: {step}")
                for place in places:
                    is_there = viewer.is_on(step) or viewer.go_to(step)
                    viewer.terminal.send(click(*place))
                    figures.expect(holds=is_there and viewer.settle(), what=f"{text!a}: {place} on {step}")
                    figures.trials += 1
                if figures.other:
                    break
            _leave(viewer, figures)
    return figures


_FEW: Final = 50
"""Clicks of which every other of each screen's texts has one."""


def _places(terminal: Terminal, text: str) -> list[tuple[int, int]]:
    """Return where a text is on the screen, a little behind its tag: that is where markup in it would act."""
    return [(column + min(4, len(text) - 1), row) for column, row in terminal.places_of(text)]


def _leave(viewer: _Viewer, figures: Figures, sent: object = "") -> None:
    """See to it that the viewer ends well, at the latest when it is told to, and has written nothing that acts."""
    terminal = viewer.terminal
    if terminal.is_running:
        terminal.send(ESCAPE * 9, b"q")
    else:
        figures.expect(holds=bool(sent), what=f"{viewer.text!a}: it ended by itself")
    status, raw = terminal.wait(), viewer.raw()
    figures.expect(holds=status == 0, what=f"{viewer.text!a}: {sent}: status {status}: {terminal.output[-3000:]!r}")
    figures.expect(holds=not raw, what=f"{viewer.text!a}: {sent}: raw: {raw[:2]!a}")


# -- what is typed and pasted ------------------------------------------------------------------------------------------

_COPIED: Final = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07")
_PASTED: Final = (
    *RAW,
    *MARKUP,
    ALL,
    "\x1b[200~",
    "\x1b[I\x1b[O\x1b[<0;5;5M\x1b[13u",
    "\x1b" + "q\x03" * 40,
    "x" * 100_000,
)


def _prompts(trials: int, folder: Path) -> Figures:
    """Paste into every prompt, in pieces, and type behind it; mistakes and what was copied are shown as well."""
    figures, dice = Figures(), random.Random(trials)
    with _Viewer(folder / "viewer", MARKUP[0], size=_USUAL) as viewer:
        terminal = viewer.terminal
        terminal.has_soon(*viewer.at_first)
        for text, (to, keys) in islice(cycle(product(_PASTED, _PROMPTS)), trials):
            where = f"{to}: {text!a}"
            terminal.send(*[ESCAPE] * 4, keys)
            is_open = terminal.has_soon(to, seconds=_PATIENCE_S)
            sent = paste(text) + "é".encode()
            cut = dice.randrange(6, len(sent))
            terminal.send(sent[:cut])
            terminal.send(sent[cut:])
            # What is no UTF-8 can't be taken for what it is.
            typed = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").strip("\r\n")
            typed = re.split("[\r\n]", typed)[0]
            line = shown(f"{typed}é")
            is_there = is_open and _prompt_has(terminal, line[-_SEEN:])
            figures.expect(holds=is_there, what=f"{where}: not {line!r}")
            terminal.send(b'\x1b[H("')
            figures.expect(holds=_prompt_has(terminal, f' ("{line[:_SEEN]}'), what=f"{where}: not in front")
            said = " 0 actions" if keys == b":" else "query, character"
            figures.expect(holds=terminal.has_soon(said, seconds=_PATIENCE_S), what=f"{where}: not {said}")
            # All in one go: the prompt closes and opens again, and takes what is typed behind that.
            terminal.send(paste(text), ESCAPE, keys[-1:], b"zz")
            figures.expect(holds=_prompt_has(terminal, " ╱ zz "), what=f"{where}: a key was lost")
            figures.trials += 1
            if figures.other:
                break
        _leave(viewer, figures)
    return figures


_SEEN: Final = 40
"""Characters of a long line that are to be seen at one of its ends."""
_PROMPTS: Final = ((" name, or key=value", b"/"), ("‹ nm", b"\r/"), ("some words of an action", b":"))
"""What tells that a prompt is there, and the keys that lead to it from the list of traces."""


def _prompt_has(terminal: Terminal, text: str) -> bool:
    return terminal.is_soon(
        lambda lines: any(line.startswith(" ╱ ") and text in f"{line} " for line in lines), _PATIENCE_S
    )


# -- anything ----------------------------------------------------------------------------------------------------------

_KEYS: Final = (
    *(each.encode() for each in "jkgGhlenNEfosSrycdDbtLlhHaA0+-<>[]/:? "),
    *(
        b"\r",
        b"\t",
        ESCAPE,
        b"\x1b[A",
        b"\x1b[B",
        b"\x1b[5~",
        b"\x1b[6~",
        b"\x10",
        b"\x7f",
        b"\x17",
        b"\x16",
        b"\x15",
        b"q",
    ),
)
_STOPS: Final = bytes.maketrans(b"\x1a\x03\x11", b"   ")
"""Keys that stop the program or end it wherever it is."""


def _piece(dice: random.Random) -> bytes:
    """Return some keys, clicks, a paste, a broken sequence, or bytes."""
    kind = dice.random()
    if kind < 0.6:
        return b"".join(dice.choices(_KEYS, k=dice.randint(1, 12)))
    if kind < 0.75:
        return b"".join(click(dice.randint(1, 160), dice.randint(1, 48)) for _ in range(dice.randint(1, 4)))
    if kind < 0.85:
        return paste(dice.choice(_PASTED))
    if kind < 0.9:
        return b"\x1b[" + bytes(dice.choices(b"0123456789;:<?uM~mRAy$", k=dice.randint(1, 14)))
    return dice.randbytes(dice.randint(1, 30)).translate(_STOPS)


def _anything(trials: int, folder: Path) -> Figures:
    """Send anything in any pieces: the viewer runs on, or ends well because it was told to."""
    figures, dice = Figures(), random.Random(trials)
    for number, text in enumerate(cycle((ALL, *MARKUP, *RAW))):
        if figures.trials >= trials or not figures.is_clean:
            break
        size = dice.choice(((160, 48), (80, 24), (40, 10)))
        with _Viewer(folder / f"{number}", text, follows=dice.random() < 0.5, size=size) as viewer:
            terminal, sent = viewer.terminal, [b""]
            terminal.has_soon("START", seconds=_PATIENCE_S)
            while terminal.is_running and figures.trials < trials:
                sent.append(_piece(dice))
                try:
                    terminal.send(sent[-1])
                except OSError:
                    # It ended just now.
                    break
                figures.trials += 1
                time.sleep(dice.choice((0, 0, 0.01, 0.05)))
            if terminal.is_running:
                terminal.send(b"\x1b[201~", *[ESCAPE] * 9)
                # A "q" that was sent just before may end it now.
                is_well = viewer.settle() or not terminal.is_running
                figures.expect(holds=is_well, what=f"{sent[-6:]}: no help: {terminal.lines}")
            _leave(viewer, figures, sent[-6:])
    return figures


ROWS: Final = (
    Row("17a", "markup in any string", "places", 1_100, 15, partial(_walk, texts=MARKUP)),
    Row("17b", "the same, clicked on", "clicks", 600, 4, partial(_click, texts=MARKUP)),
    Row("17c", "the same, a wide screen, logs", "places", 520, 13, partial(_walk, texts=MARKUP, size=_WIDEST)),
    Row("18a", "ESC, OSC, C1, bidi, zero width …", "places", 1_350, 17, partial(_walk, texts=RAW)),
    Row("18b", "the same, clicked on", "clicks", 730, 4, partial(_click, texts=RAW)),
    Row("18c", "the same, pasted into prompts", "pastes", 333, 5, _prompts),
    Row("18d", "anything that a terminal can send", "pieces", 5_000, 40, _anything),
    Row("18e", "ESC, OSC … on a wide screen, in logs", "places", 900, 13, partial(_walk, texts=RAW, size=_WIDEST)),
)
