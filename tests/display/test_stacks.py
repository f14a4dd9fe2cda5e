"""Stack traces taken apart: those of real recordings, and what isn't one.

text                                          what comes of it
----                                          ----------------
Traceback …, frames, ValueError: bad          a stack
  … The above exception was the direct cause   two stacks, and the sentence between them
ray.exceptions.RayTaskError(E): ray::f() (…    two stacks, the second one of the worker
| exception groups, other languages           nothing: it is shown as it is
"""

from __future__ import annotations

import pathlib
import time
from typing import TYPE_CHECKING

import pytest

from spanview.display.stack_text import FoldedStack
from spanview.display.stacks import first_line, raised_in, stacks_of
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from spanview.display.parts import Path

FIXTURES = pathlib.Path(__file__).parent.parent.parent / "fixtures"
HEAD = "Traceback (most recent call last):"
OWN = '  File "/srv/app.py", line 31, in fail\n    raise ValueError("bad")\n    ^^^^^^^^^^^^^^^^^^^^^^^'
LIBRARY = '  File "/x/lib/python3.11/site-packages/ray/worker.py", line 9, in main\n    run()'
RAY = "ray.exceptions.RayTaskError(ValueError): \x1b[36mray::f()\x1b[39m (pid=7, ip=192.0.2.2, actor_id=9, repr=<a b>)"
CAUSE = "The above exception was the direct cause of the following exception:"


def folded(text: str, title: str = "", room: int = 80, **folds: bool) -> list[str]:
    """Return the lines of a stack; what is to be unfolded is named without its numbers."""
    opened: dict[Path, bool] = {("s", name.replace("_", " ")): is_open for name, is_open in folds.items()}
    return [part.text for part in FoldedStack(text, title, ("s",), opened, room).parts()]


@pytest.mark.parametrize("recording", ["ray-odd-ends", "ray-odd-actors", "serve-grpc", "console-with-worker-files"])
def test_real_stacks(recording: str) -> None:
    """Each stack of a real recording is understood, to its last line."""
    store = load_store([str(FIXTURES / recording)])
    seen = set[str]()
    for row in range(len(store.spans)):
        for event in store.span(row).events:
            if event.is_exception and (text := str(event.attributes["exception.stacktrace"])) not in seen:
                seen.add(text)
                stacks = stacks_of(text)
                assert stacks, text
                message = str(event.attributes["exception.message"])
                raised = raised_in(message) or f"{event.attributes['exception.type']}: {message}".split("\n")
                assert stacks[-1].raised[0].rstrip() == raised[0].removesuffix(": ").rstrip()
                lines = folded(text)
                assert lines[0] == f"✖ {stacks[-1].raised[0]}"
                assert len(lines) < 12
    assert seen


def test_a_stack() -> None:
    """Frames of libraries are folded, an own one is a line with its code, or two where there is too little room."""
    text = f"{HEAD}\n{LIBRARY}\n{LIBRARY}\n{OWN}\nValueError: bad\n"
    recorded = "  ⋯ as recorded, 9 lines"
    assert folded(text) == [
        "✖ ValueError: bad",
        "  ⋯ 2 frames in ray",
        '  app.py:31 fail     raise ValueError("bad")',
        recorded,
    ]
    assert folded(text, room=40)[2:4] == ["  app.py:31 fail", '      raise ValueError("bad")']
    assert folded(text, frames_0_0=True)[1:4] == ["  ▾ 2 frames in ray", *["    ray/worker.py:9 main     run()"] * 2]
    assert folded(text, recorded=True)[4:7] == [f"    {line}" for line in (HEAD, *LIBRARY.split("\n"))]


def test_without_own_frames() -> None:
    """The innermost frame of a library is shown where nothing else would be."""
    inner = LIBRARY.replace("main", "inner")
    assert folded(f"{HEAD}\n{LIBRARY}\n{inner}\nKeyError")[1:3] == [
        "  ⋯ 1 frame in ray",
        "  ray/worker.py:9 inner     run()",
    ]


def test_causes() -> None:
    """Each exception of a chain stands below its frames, the last one above all."""
    text = f"{HEAD}\n{LIBRARY}\nKeyError: 1\n\n{CAUSE}\n\n{HEAD}\n{OWN}\nValueError: bad"
    first, second = stacks_of(text)
    assert (first.raised, first.leads_to, second.raised) == (["KeyError: 1"], CAUSE, ["ValueError: bad"])
    assert folded(text)[:5] == [
        "✖ ValueError: bad",
        "  ⋯ 1 frame in ray",
        "  ✖ KeyError: 1",
        f"  {CAUSE}",
        '  app.py:31 fail     raise ValueError("bad")',
    ]


def test_what_a_worker_raised() -> None:
    """Ray passes on a worker's text: what was raised there counts, and where it ran is said before its frames."""
    remote = f"    await f(\n{LIBRARY}\n{OWN}\nValueError: bad"
    text = f"{HEAD}\n{LIBRARY}\n{RAY}\n{remote}"
    assert [(stack.remote, stack.raised) for stack in stacks_of(text)] == [
        ("", []),
        ("ray::f() (pid=7, ip=192.0.2.2)", ["ValueError: bad"]),
    ]
    assert folded(text)[:4] == [
        "✖ ValueError: bad",
        "  ⋯ 1 frame in ray",
        "  in ray::f() (pid=7, ip=192.0.2.2)",
        "  ⋯ 1 frame in ray",
    ]
    message = RAY.partition(": ")[2]
    assert raised_in(f"{message}\n{remote}") == ["ValueError: bad"]
    assert raised_in("RayTaskError(ValueError): " + f"{message}\n{remote}") == ["ValueError: bad"]
    assert raised_in("ray::f is a name") == []
    said = [first_line(text) for text in (f"\n{message}\n{remote}", "ray::f is a name", "\n one\ntwo")]
    assert said == ["ValueError: bad", "ray::f is a name", "one"]
    # What got an error as an argument ran nothing.
    passed_on = f"{RAY}\n  At least one of the input arguments for this task could not be computed:\n{RAY}\n{remote}"
    assert raised_in(f"{message}\n{LIBRARY}\n{passed_on}") == ["ValueError: bad"]
    # Keys wait for it.
    assert raised_in(f"{message}\n{remote}{'!' * 1_000_000}") == []


def test_long_messages_are_folded() -> None:
    """A few further lines of a message are shown, many are folded."""
    text = f"{HEAD}\n{OWN}\nE: 1" + "\nmore" * 5
    assert folded(text)[:3] == ["✖ E: 1", "  ⋯ 5 more lines of the message", "  more"]
    assert folded(text, message=True)[1:4] == ["  ▾ 5 more lines of the message", "  more", "  more"]
    assert folded(f"{HEAD}\n{OWN}\nE: 1\nmore")[:2] == ["✖ E: 1", "  more"]


def test_what_a_folded_message_says() -> None:
    """Its last line with words is shown; of Ray's report on what can't be pickled, what holds it."""
    rule, seen = "=" * 60, "\n    Serializing 'tracer' <Tracer at 0x1>..." * 5
    holder = "FailTuple(lock [path=function -> tracer -> lock, obj=<unlocked _thread.lock object>, parent=<Tracer>])"
    report = (
        f"E: Could not serialize f:\n{rule}{seen}\nVariable: \n\n\t\x1b[1m{holder}\x1b[0m\n\nCheck https://a\n{rule}"
    )
    line = folded(f"{HEAD}\n{OWN}\n{report}")[2]
    assert line.startswith("  FailTuple(lock [path=function -> tracer -> lock, obj=")
    assert line.endswith("…")
    assert len(line) <= 80
    assert folded(f"{HEAD}\n{OWN}\nE: 1{seen}\nfull disk\n{rule}")[2] == "  full disk"


def test_where_it_began_comes_first() -> None:
    """Where many lines come before the own frame that is nearest to what was raised, it stands above them all."""
    own = OWN.replace("31", "21").replace('raise ValueError("bad")', "return await g()")
    text = f"{HEAD}\n{LIBRARY}\n{RAY}\n{LIBRARY}\n{own}\n{LIBRARY}\n{RAY}\n{LIBRARY}\n{OWN}\nValueError: bad"
    lines = folded(text)
    assert lines[1] == '  at app.py:31 fail     raise ValueError("bad")'
    assert lines.index('  app.py:31 fail     raise ValueError("bad")') > 5


def test_files_of_one_name() -> None:
    """Own files of one name are told apart by their folders, and a folder's file says whose it is."""
    frames = "\n".join(
        f'  File "{path}", line 1, in f\n    g()' for path in ("/a/x/m.py", "/a/y/m.py", "/a/n.py", "/a/p/__init__.py")
    )
    assert [line.split(":")[0] for line in folded(f"{HEAD}\n{frames}\nE")[1:-1]] == [
        "  x/m.py",
        "  y/m.py",
        "  n.py",
        "  p/__init__.py",
    ]


@pytest.mark.parametrize("line", ["    " + "^~" * 40_000 + "x", "    " + "|+ " * 30_000, "ray::" + "(pid=" * 20_000])
@pytest.mark.parametrize("path", ["python/ray/" + "a/" * 40_000, "/site-packages/" * 6_000])
def test_huge_lines_take_no_time(line: str, path: str) -> None:
    """Whatever a line repeats, it is looked at once."""
    begun = time.thread_time()
    folded(f'{HEAD}\n  File "{path}", line 1, in f\n{line}\nE')
    assert time.thread_time() - begun < 1.0


@pytest.mark.parametrize(
    ("path", "library"),
    [
        ("/srv/ray/app.py", ""),
        ("/srv/ray/python/ray/serve/handle.py", "ray"),
        ("python/ray/_raylet.pyx", "ray"),
        ("ray/serve/handle.py", "ray"),
        ("/src/opentelemetry/sdk/trace/__init__.py", "opentelemetry"),
        ("/src/spanview/ray/calls.py", "spanview"),
        ("/usr/lib/python3.12/asyncio/tasks.py", "python"),
        ("<frozen runpy>", "python"),
        ("/usr/lib/python3/dist-packages/six.py", "six"),
    ],
)
def test_libraries(path: str, library: str) -> None:
    """Whose code a frame runs is told by its path; a program's folder can have a library's name."""
    (stack,) = stacks_of(f'{HEAD}\n  File "{path}", line 1, in f\nE')
    assert stack.frames[0].library == library


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEAD,
        "java.lang.Error\n\tat a.b(C.java:1)",
        f"  + Exception Group {HEAD}\n  | {OWN}\n  | ExceptionGroup: two",
        f"{HEAD}\n{OWN}\nE\n{HEAD}\n{OWN}\nE",
        f"said before\n{HEAD}\n{OWN}\nE",
    ],
)
def test_other_texts(text: str) -> None:
    """What isn't understood to its last line is no stack, and is shown line by line."""
    assert stacks_of(text) == []
    assert "".join(folded(text)).count("as recorded") == 0
