"""Where a trace's time went, in a line: drawings, and what is said of them.

driver 0-100                          100 µs = 60 µs waiting before f ran + 38 µs running + 2 µs submitting f
  m.f ray.remote 10-12
    m.f ray.remote_worker 72-90
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, store_of
from spanview.analysis.answer import answer_of, typical_answers
from spanview.analysis.ray.unended import Fate, Unended
from spanview.display.answer_text import answer_texts, typical_texts
from spanview.display.units import last_digit, nearest, rounded
from spanview.model.times import NO_TIME
from spanview.sources.loading import load_store
from viewers import Growing

if TYPE_CHECKING:
    from builders import Document

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
KINDS = {" ray.remote": "PRODUCER", " ray.remote_worker": "CONSUMER"}


def drawn(drawing: str, trace: int = 1) -> list[Document]:
    """Return the spans of a drawing, those of Ray with their kinds; `✖` behind a name is a failure."""
    documents = Builder().draw(drawing, trace=trace)
    for document in documents:
        if document["name"].endswith(" ✖"):
            document["status"] = {"status_code": "ERROR"}
        name = document["name"] = document["name"].removesuffix(" ✖")
        kind = next((kind for ending, kind in KINDS.items() if name.endswith(ending)), "SERVER")
        document["kind"] = f"SpanKind.{kind}"
    return documents


def of_call(name: str, call: str, *attempts: str, indent: int = 2) -> str:
    """Return the lines of a call and its attempts."""
    lines = [f"{name} ray.remote {call}", *(f"  {name} ray.remote_worker {attempt}" for attempt in attempts)]
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("drawing", "text"),
    [
        ("run 0-100", "100 µs, all in run"),
        ("run 0-100\n  sql 10-90", "100 µs = 80 µs in sql + 20 µs in run"),
        (
            "run 0-1000\n  a 0-500\n  b 500-900\n  c 900-910\n  d 910-920",
            "1 ms = 500 µs in a + 400 µs in b + 80 µs in run + 20 µs in 2 others",
        ),
        # Many of one name may be quick, each for itself.
        (
            "run 0-100\n" + "".join(f"  sql {at}-{at + 9}\n" for at in range(0, 90, 10)),
            "100 µs = 81 µs in sql + 19 µs in run",
        ),
        (
            "run 0-100\n" + "".join(f"  sql {at}-{at + 9}\n" for at in range(0, 100, 10)),
            "100 µs = 90 µs in 10 spans of sql + 10 µs in run",
        ),
        (
            "driver 0-120\n"
            + "".join(f"  sql {at}-{at + 9}\n" for at in range(0, 100, 10))
            + of_call("m.f", "101-102", "110-115"),
            "120 µs = 111 µs running (90 µs in 10 spans of sql) + 8 µs waiting before f ran + 1 µs submitting f",
        ),
        (
            "driver 0-100\n" + of_call("m.f", "10-12", "72-90"),
            "100 µs = 60 µs waiting before f ran + 38 µs running (20 µs in driver) + 2 µs submitting f",
        ),
        # A call that was submitted long after what is above it had ended waited for nobody, and in no queue of Serve's.
        (
            "driver 0-100\n" + of_call("m.f", "400-402", "410-500"),
            (
                "500 µs = 300 µs with nothing running on the path before f began + 190 µs running (100 µs in driver) "
                "+ 8 µs waiting before f ran + 2 µs submitting f"
            ),
        ),
        # Nobody knows who submitted a call that is the root.
        (
            of_call("m.f", "0-40", "980-1000", indent=0),
            "1 ms = 940 µs waiting before f ran + 40 µs submitting f + 20 µs running",
        ),
        (
            of_call("m.f", "0-100", "900-1000", indent=0),
            "1 ms = 800 µs waiting before f ran + 100 µs submitting f + 100 µs running",
        ),
        (
            "driver 0-300\n" + of_call("m.f", "0-1", "50-51") + of_call("m.g", "51-52", "290-295"),
            (
                "300 µs = 287 µs waiting before 2 calls ran (longest: g, 238 µs) + 11 µs running (5 µs in driver) "
                "+ 2 µs submitting 2 calls"
            ),
        ),
        (
            "run 0-300\n" + of_call("f", "0-2", "✖ 2-60", "200-290"),
            (
                "300 µs = 140 µs waiting between attempts of f + 100 µs running (90 µs in f) "
                "+ 58 µs running f in a retried attempt + 2 µs submitting f"
            ),
        ),
        # How much of that the first attempt ran isn't known.
        (
            of_call("m.f", "0-2", "52-?", "202-300", indent=0),
            (
                "300 µs = 150 µs after an attempt of f without an end began + 98 µs running "
                "+ 50 µs waiting before f ran + 2 µs submitting f   not sure: 1 span has no end"
            ),
        ),
        # A restarted actor lived until then: what was waited for comes first.
        (
            of_call("m.A.__init__", "0-20", "300-310", "900-1000", indent=0),
            (
                "1 ms = 280 µs waiting before A.__init__ ran "
                "+ 590 µs between attempts of A.__init__, while its actor lived, ended and restarted "
                "+ 110 µs running + 20 µs submitting A.__init__"
            ),
        ),
        (
            of_call("m.A.__init__", "0-20", "✖ 300-310", "900-1000", indent=0),
            (
                "1 ms = 590 µs waiting between attempts of A.__init__ + 280 µs waiting before A.__init__ ran "
                "+ 100 µs running + 30 µs otherwise"
            ),
        ),
        # No named part gets what rounding leaves.
        (
            "run 0-10000\n  a 0-3333\n  b 3333-6666\n  c 6666-9999",
            "10 ms = 3.3 ms in a + 3.3 ms in b + 3.3 ms in c",
        ),
        (of_call("m.f", "0-2", indent=0), "2 µs, all submitting f   not sure: f left no attempt"),
        ("a 0-10\nb 20-100", "100 µs = 80 µs in b + 20 µs before b began   not sure: there are 2 roots"),
        ("a 0-100\n  b 50-?", "100 µs, all in a   not sure: 1 span has no end"),
        ("a 5-?", "not sure: 1 span has no end"),
        ("a 5-5\n  b 5-5", "0 µs: it ends when it starts"),
        (
            "proxy_http_request GET / 0-100\n  route_to_replica App f 10-60\n    replica_handle_request App f 40-90",
            "100 µs = proxy 10 µs + queue 30 µs + handling 50 µs + response 10 µs",
        ),
        ("route_to_replica App f 10-60\n  replica_handle_request App f 10-90", "80 µs, all in the handler"),
        (
            (
                "proxy_http_request App 0-100\n  route_to_replica App f 10-60\n    replica_handle_request App f 40-90\n"
                "      route_to_replica Price g 45-65\n        replica_handle_request Price g 65-80"
            ),
            "100 µs = proxy 10 µs + queue 50 µs (App 30 µs, Price 20 µs) + handling 30 µs + response 10 µs",
        ),
    ],
)
def test_drawings(drawing: str, text: str) -> None:
    """Each drawing comes to its sentence, whose parts add up."""
    store = store_of(*drawn(drawing))
    assert answer_texts(answer_of(store, 0))[0] == text


@pytest.mark.parametrize(
    ("open_calls", "text"),
    [
        (0, "6 calls left no attempt"),
        (2, "6 calls left no attempt (2 not yet seen to run)"),
        (6, "6 calls not yet seen to run"),
    ],
)
def test_calls_without_an_attempt(open_calls: int, text: str) -> None:
    """All of them are counted; it is said which never ran, and which may still run."""
    answer = answer_of(load_store([str(FIXTURES / "ray-odd-ends")]), 0)
    said = answer_texts(answer, open_calls=open_calls)[0]
    assert f"not sure: program may not have awaited leaf, {text}" in said


def test_it_gets_shorter_where_there_is_less_room() -> None:
    """At last the largest part is left; that it isn't sure is said to the end."""
    drawing = "driver 0-300\n" + of_call("m.f", "0-2", "✖ 10-60", "200-290") + of_call("m.g", "3-4") + "  x 5-?"
    texts = answer_texts(answer_of(store_of(*drawn(drawing)), 0))
    assert texts == sorted(texts, key=len, reverse=True)
    assert texts[0].endswith("not sure: 1 span has no end, g left no attempt")
    assert texts[-2:] == [
        "300 µs = 140 µs waiting between attempts of f + 160 µs otherwise   not sure",
        "300 µs, 148 µs of it waiting   not sure",
    ]
    assert all("not sure" in text for text in texts)


def test_a_cause_goes_before_further_parts() -> None:
    """Where there is no room for all parts, the longest wait keeps its name and what it was for."""
    drawing = "driver 0-1000000\n" + of_call("m.f", "0-10", "700010-750000") + of_call("m.g", "20-30", "751000-760000")
    drawing += of_call("m.h", "760000-760010", "✖ 770000-790000", "900000-1000000")
    texts = answer_texts(answer_of(store_of(*drawn(drawing)), 0))
    longest = "1 s = 760 ms waiting before 2 calls ran (longest: g, 750 ms, cause unknown)"
    assert texts[1].startswith(f"{longest} + ")
    assert f"{longest} + 240 ms otherwise" in texts
    assert texts.index(f"{longest} + 240 ms otherwise") < texts.index(
        "1 s = 760 ms waiting before 2 calls ran + 240 ms otherwise"
    )


def test_waits_are_waiting_together_too() -> None:
    """Parts that are put together have the word that they share, and the largest kind of time is named last."""
    drawing = "run 0-300\n" + of_call("m.f", "0-0", "60-200", "280-300")
    texts = answer_texts(answer_of(store_of(*drawn(drawing)), 0))
    assert "300 µs = 160 µs running + 140 µs waiting" in texts
    assert texts[-1] == "300 µs, 160 µs of it running"


def test_that_an_actor_lived_is_no_answer() -> None:
    """However long it did: where there is least room, what was waited for is left."""
    store = store_of(*drawn(of_call("m.A.__init__", "0-20", "300-310", "900-1000", indent=0)))
    assert answer_texts(answer_of(store, 0))[-1] == "1 ms, 280 µs of it waiting"


def test_of_many_traces_the_median_and_the_slowest() -> None:
    """By nearest rank of their durations; one trace alone is one sentence, and without durations there is none."""
    drawings = ["a 0-30", "b 0-10", "c 0-20\n  d 0-15", "e 0-90"]
    store = store_of(*(span for number, drawing in enumerate(drawings, 1) for span in drawn(drawing, number)))
    answers = typical_answers(store)
    assert answers is not None
    assert answers.traces == 4
    assert typical_texts(answers)[0] == "median 20 µs = 15 µs in d + 5 µs in c   slowest 90 µs, all in e"
    assert typical_texts(answers)[-1] == "median 20 µs   slowest 90 µs"
    assert typical_texts(answers, of="4 traces")[-1] == "4 traces: median 20 µs   slowest 90 µs"
    one = typical_answers(store, [1])
    assert one is not None
    assert typical_texts(one) == ["10 µs, all in b"]
    assert typical_answers(store, []) is typical_answers(store_of(*drawn("a 5-?"))) is None


def test_what_comes_while_it_is_asked_is_left_out() -> None:
    """What is found out of spans without an end may be of later ones, also of an earlier root."""
    data = Growing(*drawn("a 10-30\n  b 15-?"), *drawn("c 0-90", 2))

    def unended() -> dict[int, Unended]:
        data.add(*drawn("d 0-?", 1), *drawn("e 0-?", 3))
        rows = [row for row in range(len(data.store.spans)) if data.store.spans.end_ns[row] == NO_TIME]
        return {row: Unended(Fate.LOST, "its process has ended", seen_ns=EPOCH_NS + 20_000) for row in rows}

    data.store.ask_lives = cast("Any", lambda _: SimpleNamespace(unended=unended, known_until=dict))
    answers = typical_answers(data.store)
    assert answers is not None
    assert answers.traces + answers.without_end == 2


def test_a_trace_that_runs_is_neither_the_median_nor_the_slowest() -> None:
    """How long it takes isn't known, though some of its spans have ended; the text says that it counts ended ones."""
    drawings = ["a 0-30", "a 0-20", "a 0-?\n  b 0-500"]
    store = store_of(*(span for number, drawing in enumerate(drawings, 1) for span in drawn(drawing, number)))
    answers = typical_answers(store)
    assert answers is not None
    assert (answers.traces, answers.without_end) == (2, 1)
    assert typical_texts(answers)[0] == "of those known to have ended: median 20 µs, all in a   slowest 30 µs, all in a"
    alone = typical_answers(store_of(*drawn("a 0-20"), *drawn("a 0-?\n  b 0-5", 2)))
    assert alone is not None
    assert typical_texts(alone) == ["of those known to have ended: 20 µs, all in a"]
    assert typical_texts(alone, of="2 traces") == ["2 traces, of those known to have ended: 20 µs, all in a"]


@given(st.integers(0, 10**15), st.integers(0, 10**15))
@example(3_180_000_000, 83_000)
def test_parts_are_rounded_each_for_itself(whole: int, part: int) -> None:
    """None is further from its value than half of the last digit of the whole."""
    step = last_digit(whole)
    shown = nearest(part, step)
    assert shown % step == 0
    assert 2 * abs(shown - part) <= step


@pytest.mark.parametrize(
    ("ns", "text"), [(8_100_000_000, "8.1 s"), (10_000_000, "10 ms"), (125_000_000_000, "2 m 05 s"), (0, "0 µs")]
)
def test_what_is_rounded_has_no_noughts_at_its_end(ns: int, text: str) -> None:
    """They would say that more digits are known."""
    assert rounded(ns) == text
