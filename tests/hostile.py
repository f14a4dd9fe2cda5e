r"""Strings that want to act, a folder in which every field is made of one, and what is to be shown of each.

in a field            on the screen, behind the field's tag
----------            -------------------------------------
[@click=app.quit]x    just these characters
ESC ] 52 ; c ; … BEL  ␛]52;c;…␇
0x9b, U+202E, U+200B  \x9b, \u202e, \u200b
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Final

from builders import Builder, file_of, span_id, time_text, trace_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from builders import Document

SHOWN: Final = {
    **{chr(code): chr(0x2400 + code) for code in range(0x20)},
    "\x7f": "␡",
    **{chr(code): f"\\x{code:02x}" for code in (*range(0x80, 0xA0), 0xAD)},
    **{
        chr(code): f"\\u{code:04x}"
        for code in (0x34F, 0x61C, 0x115F, 0x200B, 0x200D, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202E, 0x2060)
    },
    **{
        chr(code): f"\\u{code:04x}" for code in (0x2066, 0x2067, 0x2069, 0x3164, 0xD800, 0xDFFF, 0xE000, 0xFEFF, 0xFFFE)
    },
    **{chr(code): f"\\u{code:04x}" for code in range(0xDC80, 0xDD00)},
    **{chr(code): f"\\U{code:08x}" for code in (0xE0041, 0xE007F, 0xE0101, 0x10FFFF)},
    "\xa0": " ",
    "\u3000": " ",
}
"""What stands for each character that a terminal would act on, or not show."""
RAW: Final = (
    "\x1b[2J",
    "\x1b[38;2;13;37;73mred",
    "\x1b[77;77H",
    "\x1b]0;title\x07",
    "\x1b]52;c;c3BhbnZpZXc=\x07",
    "\x1b]8;;file:///\x1b\\link",
    "\x1bP+q544e\x1b\\",
    "\x1b[?1049l\x1bc",
    "\x9b31mred",
    "\x9d0;title\x9c",
    "\x05\x0e\x0f\x0b\x0c",
    "\u202etxt\u202a",
    "\u2066in\u2069\u200f\u061c",
    "shown\rhidden",
    "one\ntwo",
    "a\tb",
    "\x08\x7f\x00",
    "zero\u200bwidth\ufeff\u200d",
    "line\u2028line\u2029\x85",
    "\ud800-\udfff",
    "\u3164\xad\u034f\u115f",
    "\U000e0041\U000e0101\ue000",
)
MARKUP: Final = (
    "[@click=app.quit]x[/]",
    "[@click=app.bell]x[/]",
    "[/nope]",
    "[red]",
    "[@click=app.quit]",
    "[link=file:///]y[/link]",
    "\\[",
    "[[",
    "]",
)
TEXTS: Final = RAW + MARKUP
ALL: Final = "".join(TEXTS)
_LONGEST_NAME: Final = 200
"""Bytes of a text that a file's name takes."""


def shown(text: str) -> str:
    """Return what is to be shown of a text, in one line."""
    return "".join(SHOWN.get(each, each) for each in text)


def shown_lines(text: str) -> list[str]:
    """Return the same where there is room for several lines, and for tabs."""
    return [shown(line.expandtabs(4)) for line in text.split("\n")]


def in_file_names(text: str) -> str:
    """Return a text as a part of a file's name, as Python spells it."""
    return os.fsdecode(text.replace("\0", "").replace("/", "").encode("utf-8", "surrogatepass")[:_LONGEST_NAME])


def documents(text: str) -> Iterator[Document]:
    """Yield a trace of four spans, in every field of which a text stands behind the field's tag."""
    build = Builder()
    link_context = {"trace_id": trace_id(9), "span_id": span_id(9), "trace_state": _state("lt", text)}
    fields: Document = {
        "status": "ERROR",
        "description": f"sd{text}",
        "service": f"sv{text}",
        "attributes": {f"ak{text}": f"av{text}", "list": [f"al{text}"], "map": {f"mk{text}": f"mv{text}"}},
        "events": [
            {"name": f"en{text}", "timestamp": time_text(2), "attributes": {f"ek{text}": f"ev{text}"}},
            {
                "name": "exception",
                "timestamp": time_text(3),
                "attributes": {
                    "exception.type": f"et{text}",
                    "exception.message": f"em{text}",
                    "exception.stacktrace": f"es{text}",
                },
            },
        ],
        "links": [{"context": link_context, "attributes": {f"lk{text}": f"lv{text}"}}],
    }
    for span, parent, kind in ((1, None, "PRODUCER"), (2, 1, "CONSUMER"), (3, 1, "CONSUMER"), (4, 77, "CONSUMER")):
        context = {"trace_id": trace_id(1), "span_id": span_id(span), "trace_state": _state("tk", text)}
        document = build.span(f"nm{text}", parent=parent, start=span, kind=kind, context=context, **fields)
        document["resource"]["attributes"][f"rk{text}"] = f"rv{text}"
        document["resource"]["schema_url"] = f"ru{text}"
        yield document


def _state(tag: str, text: str) -> str:
    """Return a trace state with one entry, written as the SDK does, but for what that would refuse."""
    quoted = text.replace("\\", "\\\\").replace("'", "\\'").replace(",", "")
    return f"['{{key={tag}{quoted}, value={tag}v{quoted}}}']"


def in_json(text: str) -> str:
    """Return a text as the files have it: as it is, but for what strict JSON and UTF-8 don't allow."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "backslashreplace").decode()


def make_folder(parent: Path, text: str) -> str:
    """Make a folder whose name has a text in it, and files whose names have: of spans, torn, foreign, and a link."""
    name = in_file_names(text)
    folder = os.path.join(os.fspath(parent), f"dn{name}")
    os.mkdir(folder)
    records = [json.dumps(each, ensure_ascii=False, indent=1) for each in documents(text)]
    data = [record.encode("utf-8", "backslashreplace") for record in records]
    for file_name, content in (("fn", file_of(data)), ("to", data[0][:-30]), ("fo", b"nothing\n")):
        with open(os.path.join(folder, f"{file_name}{name}"), "wb") as file:
            file.write(content)
    os.symlink("nowhere", os.path.join(folder, f"ln{name}"))
    return folder


# -- a session of Ray, with logs ---------------------------------------------------------------------------------------

_REQUEST: Final = "bb02861e-613e-430d-a9f1-12457a3a001e"


def session_documents(text: str) -> Iterator[Document]:
    """Yield a call of an actor that failed, and a request, with a text behind a tag wherever Ray has one."""
    build = Builder()
    stack = (
        f'Traceback (most recent call last):\n  File "/srv/ff{text}.py", line 3, in fu{text}\n    co{text}\nE: em{text}'
    )
    exception = {"exception.type": "E", "exception.message": f"em{text}", "exception.stacktrace": stack}
    ray = {
        "ray.worker_id": "ab12",
        "ray.pid": "7",
        "ray.job_id": "01000000",
        "ray.node_id": f"nd{text}",
        "ray.actor_id": f"ai{text}",
        "ray.actor_class": f"ac{text}",
        "ray.actor_method": f"am{text}",
        "ray.remote": "actor",
    }
    yield build.span(f"rt{in_name(text)}", span=1, start=2_000, duration=9_000)
    # What stands before a dot is a module, which goes first.
    name = f"md.nm{in_name(text)}"
    yield build.span(f"{name} ray.remote", span=2, parent=1, start=2_000, duration=10, kind="PRODUCER", attributes=ray)
    yield build.span(
        f"{name} ray.remote_worker",
        span=3,
        parent=2,
        start=4_000,
        duration=5_000,
        kind="CONSUMER",
        status="ERROR",
        description=f"sd{text}",
        attributes=ray,
        events=[{"name": "exception", "timestamp": time_text(8_000), "attributes": exception}],
    )
    serve = {
        "request_id": _REQUEST,
        "deployment": f"de{text}",
        "app": f"ap{text}",
        "route": f"/ro{text}",
        "http.route": f"/ro{text}",
        "http.method": "GET",
        "http.status_code": "500",
    }
    for number, what in enumerate(("proxy_http_request", "route_to_replica", "replica_handle_request")):
        yield build.span(
            f"{what} de{text} GET /ro{text}",
            trace=2,
            span=4 + number,
            parent=3 + number if number else None,
            start=number,
            duration=20 - 2 * number,
            kind="SERVER",
            attributes=serve,
        )


def in_lines(text: str) -> str:
    """Return a text as a part of a line of a log, where neither colours nor what is no Unicode are seen."""
    whole = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return re.sub("\x1b\\[[0-9;]*[mK]", "", re.sub("[\n\t]", " ", whole))


def in_name(text: str) -> str:
    """Return a text as a part of a name that no module is told from."""
    return text.replace(".", "")


def make_session(parent: Path, text: str) -> str:
    """Make a folder whose name has a text in it, of a session's logs, in whose lines it is as well."""
    folder = os.path.join(os.fspath(parent), f"dn{in_file_names(text)}")
    logs = os.path.join(folder, "logs")
    os.makedirs(os.path.join(logs, "spans"))
    records = [json.dumps(each, ensure_ascii=False, indent=1) for each in session_documents(text)]
    data = [record.encode("utf-8", "backslashreplace") for record in records]
    raw = f"ll{in_lines(text)}".encode("utf-8", "surrogatepass")
    in_time = str(time_text(5_000))[:-1].replace("T", " ").replace(".", ",")[:23].encode()
    for place, content in (
        ("spans/7.txt", file_of(data[:3])),
        (f"spans/fn{in_file_names(text)}", file_of(data[3:])),
        ("worker-ab12-01000000-7.err", in_time + b" INFO " + raw + b"\nunder it " + raw + b"\n"),
        ("worker-ab12-01000000-7.out", b"printed " + raw + b"\n"),
    ):
        with open(os.path.join(logs, place), "wb") as file:
            file.write(content)
    return folder
