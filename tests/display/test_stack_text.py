"""Stack traces of Python: which lines are whose.

line                                          mark  tone
----                                          ----  ----
File ".../site-packages/…"  and its source          dim
File "/srv/app.py"          and its source    ▸     own
what was raised             and its message   ✖     error
"""

from __future__ import annotations

import pytest

from spanview.display.parts import Tone
from spanview.display.stack_text import is_stack, stack_parts

OWN = '  File "/srv/app.py", line 31, in fail'
LIBRARIES = [
    '  File "/opt/venv/lib/python3.11/site-packages/ray/worker.py", line 9, in main',
    '  File "/usr/lib/python3/dist-packages/six.py", line 9, in main',
    '  File "/usr/lib/python3.12/asyncio/base_events.py", line 9, in run',
    '  File "/usr/lib64/python3.12/json/__init__.py", line 9',
    r'  File "C:\Python312\Lib\threading.py", line 9, in run',
    '  File "<frozen importlib._bootstrap>", line 9, in _call',
    '  File "python/ray/_raylet.pyx", line 1862, in ray._raylet.execute_task',
    '  File "src/gevent/event.py", line 329, in gevent._gevent_cevent.AsyncResult.get',
]
HEAD = "Traceback (most recent call last):"


def tones(text: str) -> list[tuple[str, Tone]]:
    """Return the lines and their tones."""
    return [(part.text, part.tone) for part in stack_parts(text)]


@pytest.mark.parametrize("frame", LIBRARIES)
def test_whose_frames(frame: str) -> None:
    """Frames of libraries are dim, with their source; own ones are bright and marked; what was raised is marked."""
    text = f"{HEAD}\n{frame}\n    run()\n    ^^^^^\n{OWN}\n    raise ValueError\nValueError: bad\nvery bad"
    assert is_stack(text)
    assert tones(text) == [
        (HEAD, Tone.PLAIN),
        (frame, Tone.DIM),
        ("    run()", Tone.DIM),
        ("    ^^^^^", Tone.DIM),
        ("▸ " + OWN[2:], Tone.OWN),
        ("    raise ValueError", Tone.OWN),
        ("✖ ValueError: bad", Tone.ERROR),
        ("very bad", Tone.ERROR),
    ]


def test_causes() -> None:
    """Each of several traces has its own end, and what joins them is neither."""
    joint = "During handling of the above exception, another exception occurred:"
    text = f"{HEAD}\n{OWN}\nKeyError: 1\n\n{joint}\n\n{HEAD}\n{OWN}\nValueError"
    assert [tone for _, tone in tones(text)] == [
        Tone.PLAIN,
        Tone.OWN,
        Tone.ERROR,
        Tone.ERROR,
        *[Tone.PLAIN] * 3,
        Tone.OWN,
        Tone.ERROR,
    ]
    assert [line[:2] for line, _ in tones(text)].count("✖ ") == 2


def test_ray_and_groups() -> None:
    """Ray's own beginning, and the margins of exception groups."""
    ray = f"ray::boom() (pid=12, ip=10.0.0.1)\n{OWN}\nValueError: bad"
    assert [tone for _, tone in tones(ray)] == [Tone.PLAIN, Tone.OWN, Tone.ERROR]
    group = f"  + Exception Group {HEAD}\n  | {OWN}\n  | ExceptionGroup: two (2 sub-exceptions)"
    assert tones(group)[1:] == [
        ("  | ▸ " + OWN[2:], Tone.OWN),
        ("  | ✖ ExceptionGroup: two (2 sub-exceptions)", Tone.ERROR),
    ]


@pytest.mark.parametrize("text", ["", HEAD, 'File "a", line 1', "two\nlines", "java.lang.Error\n\tat a.b(C.java:1)"])
def test_other_texts(text: str) -> None:
    """One line is no stack trace, and neither is that of another language."""
    assert not is_stack(text)


def test_every_line_stays() -> None:
    """But for the marks, no character is lost, whatever the lines are."""
    text = f"a\r\n{HEAD}\r\n{OWN}\r\n\n  odd\nE: x\n\n    deep\n{OWN}\nlast"
    shown = [line.replace("▸ ", "  ").replace("✖ ", "") for line, _ in tones(text)]
    assert shown == text.split("\n")


def test_what_is_copied() -> None:
    """Each line stands for the whole text."""
    text = f"{HEAD}\n{OWN}\nValueError: bad\n"
    assert {part.whole for part in stack_parts(text)} == {text}
