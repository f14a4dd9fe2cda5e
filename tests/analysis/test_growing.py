"""Questions to a store that grows while they are answered, as it does while files are read or followed.

store      |=========|=|=|=|=|=|=|=|=|=|=|     a few spans more each time that a column is copied, or a record is read
question        |---------------------|
"""

from __future__ import annotations

import json
import sys
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from seeds import sample
from spanview.analysis.answer import answer_of, typical_answers
from spanview.analysis.critical import critical_by_name
from spanview.analysis.diagnosis.report import diagnose
from spanview.analysis.flame import flame
from spanview.analysis.ray.call_groups import CallsBy, call_groups
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.generators import generators_of
from spanview.analysis.ray.lanes import lanes_in
from spanview.analysis.ray.reasons import reasons_of
from spanview.analysis.ray.unseen import guesses
from spanview.analysis.ray.waits import waiting_in
from spanview.analysis.serve.requests import serve_requests
from spanview.analysis.silent import silent_failures
from spanview.analysis.stats import among_name, statistics
from spanview.index import arrays
from spanview.index.forest import forest_of
from spanview.index.store import Store
from viewers import Growing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from builders import Document

FIXTURES: Final = Path(__file__).parent.parent.parent / "fixtures"
RECORDINGS: Final = ("ray-tasks-bundled-hook", "ray-odd-actors", "ray-odd-ends", "ray-restarted-actor", "serve")
_BEGUN: Final = (0.15, 0.54)
"""The shares of the spans that are there when a question is asked."""


def _documents(recording: str) -> list[tuple[str, Document]]:
    """Return the spans of a recording with the names of their files, file by file: callers before what they call."""
    decoder = json.JSONDecoder()
    found: list[tuple[str, Document]] = []
    for path in sorted((FIXTURES / recording / "spans").iterdir()):
        text = path.read_text(encoding="utf-8").strip()
        while text:
            document, end = decoder.raw_decode(text)
            found.append((str(path), document))
            text = text[end:].lstrip()
    return found


def _forest(store: Store) -> Any:
    return forest_of(store, None)


QUESTIONS: Final[dict[str, Callable[[Store], object]]] = {
    "diagnosis": diagnose,
    "functions": lambda store: functions_of(store, calls_of(store)),
    "groups of calls": lambda store: [call_groups(store, calls_of(store), by) for by in CallsBy if by != "function"],
    "reasons": lambda store: reasons_of(store, calls_of(store)),
    "reasons in a trace": lambda store: [
        reasons_of(store, calls_of(store, [trace])) for trace in range(len(store.trace_table))
    ],
    "answers": lambda store: [answer_of(store, trace) for trace in range(len(store.trace_table))],
    "typical answers": typical_answers,
    "silent failures": lambda store: silent_failures(store, range(len(store.trace_table)), lambda _: False),
    "requests": serve_requests,
    "lanes": lambda store: lanes_in(_forest(store)),
    "waiting": lambda store: waiting_in(store, calls_of(store)),
    "flame": flame,
    "statistics": statistics,
    "among a name": lambda store: [among_name(store, row) for row in range(0, len(store.spans), 7)],
    "critical path": critical_by_name,
    "generators": generators_of,
    "guesses": lambda store: [guesses(store, store.tree(trace)) for trace in range(len(store.trace_table))],
}


@pytest.mark.shortened
@pytest.mark.parametrize(
    ("name", "recording", "begun", "step"),
    # A third, which no count of the others divides: each question of each kind of growing, and of each recording.
    sample([*product(QUESTIONS, RECORDINGS, _BEGUN, (1, 4))], 114),
)
def test_what_grows_meanwhile(
    name: str, recording: str, begun: float, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question is answered, of the spans that were there or of more."""
    documents = _documents(recording)
    count = int(begun * len(documents))
    data, coming = Growing(), iter(documents[count:])
    for path, document in documents[:count]:
        data.add(document, path=path)
    is_growing = False

    def grow() -> None:
        nonlocal is_growing
        # Not in the middle of what it takes to add a span.
        if not is_growing:
            is_growing = True
            for path, document in islice(coming, step):
                data.add(document, path=path)
            is_growing = False

    copy, read = arrays.copy_of, Store.span

    def copy_of(column: Sequence[Any]) -> Any:
        grow()
        return copy(column)

    def span(store: Store, row: int) -> Any:
        grow()
        return read(store, row)

    QUESTIONS[name](Growing(*(document for _, document in documents[:count])).store)
    for module in [*sys.modules.values()]:
        if getattr(module, "copy_of", None) is copy:
            monkeypatch.setattr(module, "copy_of", copy_of)
    monkeypatch.setattr(Store, "span", span)
    QUESTIONS[name](data.store)
    assert len(data.store.spans) > 0
