r"""Python's stack traces, taken apart: which frames are whose, what was raised, and how one leads to the next.

Traceback (most recent call last):                                  HEAD
  File ".../site-packages/ray/worker.py", line 9, in main           FRAME, of ray
    run()                                                           SOURCE
ray.exceptions.RayTaskError(ValueError): ray::fail() (pid=8714)     REMOTE: raised here, by what failed in a worker
  File "/srv/app.py", line 31, in fail                              FRAME, nobody else's
    raise ValueError("bad")                                         SOURCE
    ^^^^^^^^^^^^^^^^^^^^^^^                                         SOURCE
ValueError: bad                                                     RAISED
a message of two lines                                              MESSAGE

During handling of the above exception, …                           BETWEEN
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGINS: Final = "Traceback (most recent call last):"
FRAME: Final = re.compile(r'([ |+]*)File "([^"\n]*)", line (\d+)(?:, in (.*?))?\r?')
STANDARD_LIBRARY: Final = "python"
"""What the standard library's frames are of."""
_HEAD: Final = re.compile(
    r"[ |+]*" + re.escape(BEGINS) + r"|[ |+]*\+? Exception Group Traceback \(most recent call last\):"
)
DIRECT_CAUSE: Final = "The above exception was the direct cause"
_BETWEEN: Final = ("During handling of the above exception", DIRECT_CAUSE)
_COLOR: Final = r"(?:\x1b\[[\d;]*m)?"
_REMOTE: Final = re.compile(
    rf"(?:([\w.]+(?:\([\w.]+\))?): )?{_COLOR}(ray::[^\n]*?){_COLOR} \((pid=\d+(?:, ip=[^,)\n]*)?)[^\n]*"
)
"""As in `ray.exceptions.RayTaskError(ValueError): \x1b[36mray::fail()\x1b[39m (pid=8714, ip=192.0.2.2, actor_id=…)`."""
_PACKAGE: Final = re.compile(r"[/\\](?:site|dist)-packages[/\\]([^/\\]+)", re.IGNORECASE)
_STANDARD: Final = re.compile(r"[/\\]lib(?:64)?[/\\]python\d|[/\\]Python\d+[/\\]Lib[/\\]|^<frozen ", re.IGNORECASE)
_FOLDERS: Final = re.compile(r".*[/\\](?:(?:site|dist)-packages|python\d[\w.]*|Lib)[/\\]", re.IGNORECASE)
_SOURCES: Final = re.compile(
    r"^(?:python/)?(ray)/|/python/(ray)/|(?:^|/)(opentelemetry)/(?:sdk|trace|context|util|instrumentation)/"
    r"|(?:^|/)(spanview)/ray/"
)
"""Sources of Ray, OpenTelemetry and the hook outside of a folder of packages; a program's own can be in `ray`."""
_COMPILED: Final = re.compile(r"(?![/\\]|\w:).*\0(\w+)\.[\w.]+")
"""A source path, then a function with its module: Cython's names for frames of compiled modules."""
_CARETS: Final = " ~^|+\r"
"""What lines are made of that mark a part of the line above, margins of exception groups included."""
_LONGEST_MESSAGE: Final = 200_000
"""Characters of a message that is taken apart: ten milliseconds."""
_REPEATED: Final = re.compile(r"[ |+]*\[Previous line repeated \d+ more times?\]")


class LineKind(Enum):
    """What a line of a stack trace is."""

    HEAD = auto()
    FRAME = auto()
    SOURCE = auto()
    """Of the frame before it."""
    RAISED = auto()
    MESSAGE = auto()
    """What goes on with what was raised."""
    REMOTE = auto()
    """Where Ray ran what failed, and before it as what that was raised here."""
    BETWEEN = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class StackLine:
    """One line, and what it is."""

    text: str
    kind: LineKind
    indent: int
    """Characters before the first that says something, margins of exception groups included."""
    match: re.Match[str] | None = None
    """Of a line of the kind FRAME or REMOTE."""


@dataclass(slots=True)
class Frame:
    """One frame."""

    path: str
    line_number: str
    function: str
    """Empty where the line names none."""
    library: str
    """Whose code it is; empty for a program's own."""
    source: str = ""
    """The first line of code, without its indentation; of several, with an ellipsis."""

    @property
    def inner_path(self) -> str:
        """The path in the folder that libraries are in; of a program's own frame, the whole."""
        folders = _FOLDERS.match(self.path) if self.library else None
        return self.path if folders is None else self.path[folders.end() :]


@dataclass(slots=True)
class Stack:
    """The frames that led to one exception, the outermost first."""

    remote: str = ""
    """Where Ray ran it, as `ray::fail() (pid=8714)`; empty for the process that wrote the trace."""
    frames: list[Frame] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    """The lines of type and message; where it led to the exception of another process, none."""
    leads_to: str = ""
    """The sentence that says how it led to the next."""


def lines_of(text: str) -> Iterator[StackLine]:
    """Yield the lines of a text with stack traces in it; blanks replace tabs."""
    depth: int | None = None
    """Of the frames' lines; what is further to the left ends them."""
    raised = False
    for line in text.expandtabs(4).split("\n"):
        indent, match = len(line) - len(line.lstrip(" |+")), FRAME.fullmatch(line)
        if match is not None:
            depth, raised = indent, False
            yield StackLine(line, LineKind.FRAME, indent, match)
        elif depth is not None and indent >= depth and line.strip():
            yield StackLine(line, LineKind.SOURCE, indent)
        elif (match := _REMOTE.match(line)) is not None:
            depth, raised = None, True
            yield StackLine(line, LineKind.REMOTE, indent, match)
        elif _HEAD.fullmatch(line.rstrip("\r")):
            depth, raised = None, False
            yield StackLine(line, LineKind.HEAD, indent)
        elif line.lstrip().startswith(_BETWEEN):
            depth, raised = None, False
            yield StackLine(line, LineKind.BETWEEN, indent)
        elif depth is not None and line.strip():
            depth, raised = None, True
            yield StackLine(line, LineKind.RAISED, indent)
        else:
            yield StackLine(line, LineKind.MESSAGE if raised else LineKind.OTHER, indent)


def library_of(match: re.Match[str]) -> str:
    """Return whose code a frame, matched by `FRAME`, runs, as a package's name; empty for a program's own."""
    path, function = match[2], match[4] or ""
    if package := _PACKAGE.search(path):
        return package[1].removesuffix(".py")
    if _STANDARD.search(path):
        return STANDARD_LIBRARY
    if sources := _SOURCES.search(path):
        return sources[sources.lastindex or 0]
    compiled = _COMPILED.fullmatch(f"{path}\0{function}")
    return compiled[1] if compiled else ""


def stacks_of(text: str) -> list[Stack]:
    """Return the stacks of a text in its order; none where a line of it is something else, as in exception groups."""
    taken = _Stacks()
    if not all(map(taken.take, lines_of(text.rstrip()))) or not all(stack.frames for stack in taken.stacks):
        return []
    for stack in taken.stacks:
        while stack.raised and not stack.raised[-1].strip():
            stack.raised.pop()
    return taken.stacks


class _Stacks:
    """Puts stacks together, line by line."""

    def __init__(self) -> None:
        self.stacks = [Stack()]

    def take(self, line: StackLine) -> bool:
        """Take the next line; return whether it belongs into a stack."""
        stack = self.stacks[-1]
        if line.kind is LineKind.FRAME and line.match is not None:
            path, number, function = line.match[2], line.match[3], line.match[4] or ""
            stack.frames.append(Frame(path, number, function, library_of(line.match)))
        elif line.kind is LineKind.SOURCE:
            _take_source(stack.frames[-1], line.text)
        elif line.kind in {LineKind.RAISED, LineKind.MESSAGE}:
            # What comes between a remote function and its first frame is the code of a frame that Ray has cut.
            stack.raised += [line.text.rstrip("\r")] if stack.frames else []
        elif line.kind is LineKind.REMOTE and line.match is not None:
            self._begin(Stack(f"{line.match[2]} ({line.match[3]})"))
        elif line.kind is LineKind.BETWEEN:
            stack.leads_to = line.text.strip()
            self._begin(Stack())
        else:
            is_first = line.kind is LineKind.HEAD and not (stack.frames or stack.raised or line.indent)
            return is_first or not line.text.strip()
        return True

    def _begin(self, stack: Stack) -> None:
        # What got the error of another as an argument ran nothing.
        if replace(self.stacks[-1], remote="") == Stack():
            self.stacks.pop()
        self.stacks.append(stack)


def _take_source(frame: Frame, line: str) -> None:
    if not line.strip(_CARETS):
        return
    if not frame.source:
        frame.source = line.strip()
    elif _REPEATED.fullmatch(line) or not frame.source.endswith("…"):
        frame.source += f" {line.strip()}" if _REPEATED.fullmatch(line) else " …"


def raised_in(text: str) -> list[str]:
    """Return the lines of what a worker raised, of a message in which Ray passes it on; of any other text none."""
    # Each key asks this of what it shows.
    stacks = stacks_of(text) if len(text) <= _LONGEST_MESSAGE and _REMOTE.match(text) else []
    return stacks[-1].raised if stacks else []


def first_line(text: str) -> str:
    """Return what a message says in one line: what a worker raised, where Ray passes that on."""
    text = text.strip(" \r\n")
    return (raised_in(text) or text.partition("\n"))[0]
