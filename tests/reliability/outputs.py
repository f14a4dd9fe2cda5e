"""Hostile strings in everything that is printed and exported: strict JSON with the same values, lines of safe text.

printed                                    what is to be there
-------                                    -------------------
`spans`, `export` as jsonl, as trace-tree  strict JSON; each string as it was written
`export` as otlp, jaeger, zipkin, chrome   strict JSON; each name, of spans and of events, as it was written
`check`, `stats`, `diff` with `--json`     strict JSON; each file's name, each span's name
the same without, `tree`, the notices      as many lines as with harmless strings, no character that acts
`tree --bars`, `tree --svg`                the same
how far `collect` is, and its notices      a line each, of safe text
notices of the hook in a Ray worker        the same
"""

from __future__ import annotations

import json
import os
from contextlib import redirect_stderr
from io import StringIO
from itertools import chain, cycle
from typing import TYPE_CHECKING, Any, Final

from hostile import TEXTS, documents, in_file_names, make_folder
from programs import spanview
from spanview.cluster.collection import ClusterNode, NodeProgress, NodeState
from spanview.commands import collect
from spanview.ray import notices

from .exported import nodes_of, says_the_same, strictly
from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from programs import Outcome

_SIDES: Final = ("kind=PRODUCER", "kind=CONSUMER")
"""Queries; the trace matches both."""
_EXPORTS: Final = (
    ("spans",),
    ("export", "--format", "jsonl"),
    ("export", "--format", "trace-tree"),
    *(("export", "--format", form) for form in ("otlp", "jaeger", "zipkin", "chrome")),
    ("check", "--json"),
    ("stats", "--json"),
    ("diff", "--json", *_SIDES),
)
_LINES: Final = (
    ("tree",),
    ("tree", "--bars"),
    ("tree", "--svg", "-"),
    ("check",),
    ("stats",),
    ("diff", *_SIDES),
)
_HARMLESS: Final = "harmless"


def _outputs(trials: int, folder: Path) -> Figures:
    figures = Figures()
    # Advice names the folder, so that their names are of one length.
    usual = dict(zip(_LINES, _each(folder / "usual", _HARMLESS, _LINES), strict=True))
    for number, text in enumerate(cycle(TEXTS)):
        if figures.trials >= trials:
            break
        commands = _EXPORTS + _LINES
        for command, outcome in zip(commands, _each(folder / f"{number:05}", text, commands), strict=True):
            where = f"{text!a}: {' '.join(command)}"
            try:
                safe = _is_safe(outcome.notices)
                if command in usual:
                    safe &= _is_safe(outcome.text) and outcome.text.count("\n") == usual[command].text.count("\n")
                else:
                    _compare(figures, text, command, outcome.output, where)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is not as promised
                figures.expect(holds=False, what=f"{where}: {error!r}")
            else:
                figures.expect(holds=safe, what=f"{where}: {outcome}")
            figures.trials += 1
    return figures


def _each(parent: Path, text: str, commands: tuple[tuple[str, ...], ...]) -> list[Outcome]:
    """Return what commands print of a folder that is made of a text."""
    parent.mkdir()
    make_folder(parent, text)
    return [spanview(*command, parent) for command in commands]


def _is_safe(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def _compare(figures: Figures, text: str, command: tuple[str, ...], output: bytes, where: str) -> None:
    written = [*documents(text)]
    if command[0] in {"check", "stats", "diff"}:
        (value,) = map(strictly, output.splitlines())
        if command[0] == "diff":
            expected = {f"nm{text}", f"sv{text}"}
            found = [name for path in value["paths"] for name in (path["service"], *path["path"]) if name is not None]
        elif command[0] == "stats":
            expected = {f"nm{text}"}
            found = [group["key"] for group in value["groups"]]
        else:
            name = in_file_names(text)
            expected = {os.path.join(f"dn{name}", f"{kind}{name}") for kind in ("fo", "ln", "to")}
            found = [os.path.join(*problem["file"].rsplit("/", 2)[1:]) for problem in value["problems"]]
        is_same = all(any(says_the_same(name, each) for each in found) for name in expected)
        figures.expect(holds=is_same, what=f"{where}: {found!a}, not {expected!a}")
        return
    if command[-1] in {"otlp", "jaeger", "zipkin", "chrome"}:
        lines = output.splitlines() if command[-1] == "otlp" else [output]
        texts = {*chain.from_iterable(_texts(strictly(line)) for line in lines)}
        # In Zipkin's annotations, an event's name is a key.
        names = [
            part["name"] for each in written for part in (each, *(each["events"] if command[-1] != "zipkin" else ()))
        ]
        lacking = [name for name in names if not any(says_the_same(name, text) for text in texts)]
        figures.expect(holds=bool(written) and not lacking, what=f"{where}: {lacking!a}")
        return
    if command[-1] == "trace-tree":
        spans = [span for trace in strictly(output)["traces"] for span in nodes_of(trace["roots"])]
    else:
        spans = [strictly(line) for line in output.split(b"\n") if line]
    by_id = {int(span["span_id"], 16): span for span in spans}
    figures.compare([int(each["context"]["span_id"], 16) for each in written], [*by_id], where)
    for document in written:
        span = by_id.get(int(document["context"]["span_id"], 16))
        is_same = span is not None and says_the_same(_strings(json.loads(json.dumps(document))), _strings(span))
        figures.expect(holds=is_same, what=f"{where}: {span!a}, not {document!a}")


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in a value, but keys."""
    pending = [value]
    while pending:
        part = pending.pop()
        pending += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        if isinstance(part, str):
            yield part


def _strings(span: dict[str, Any]) -> list[Any]:
    """Return the parts of a span in which the text stands, in one shape for what is written and what is exported."""
    state = span["status"].get("description"), span["resource"]["schema_url"]
    parts = [[part.get("name"), part["attributes"]] for part in (*span["events"], *span["links"])]
    return [span["name"], *state, span["attributes"], span["resource"]["attributes"], parts]


def _said(trials: int, _: Path) -> Figures:
    """Let what collects, and what writes spans in a worker of Ray, speak of nodes, paths and errors with such names."""
    figures = Figures()
    for text in cycle(TEXTS):
        if figures.trials >= trials:
            break
        node = NodeProgress(ClusterNode(text, text), NodeState.LOST, problems=[f"{text}: it is gone"])
        said = StringIO()
        with redirect_stderr(said):
            nodes = collect._report(iter([[node]]))
            notices.say(f"spans can't be written to {text}: {OSError(text)}")
        for lines in (said.getvalue().splitlines(keepends=True), [f"{line}\n" for line in collect._lines(nodes)]):
            are_safe = all(line.endswith("\n") and line[:-1].isprintable() for line in lines)
            figures.expect(holds=are_safe and len(lines) in {1, 2}, what=f"{text!a}: {lines!a}")
            figures.trials += 1
    return figures


_COMMANDS: Final = len(TEXTS) * len(_EXPORTS + _LINES)
ROWS: Final = (
    Row("20a", "hostile strings in what is printed", "outputs", _COMMANDS, -(-_COMMANDS // 20), _outputs),
    Row("20b", "hostile names of nodes, paths and errors", "notices", 2 * len(TEXTS), 2 * len(TEXTS), _said),
)
