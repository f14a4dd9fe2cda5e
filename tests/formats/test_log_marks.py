"""What the text between documents says of lost spans, however a log arrives.

(App pid=1) "trace_id": "0x…          a span begins in the text
(App pid=1) }, [repeated 8x across cluster]     lines were left out
{"name": …, "[repeated 3x across cluster]"}     a span: what stands in it doesn't count
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, file_of
from spanview.formats.decoder import Decoder

TEXT = (
    b'(App pid=1) "trace_id": "0x00\n(App pid=2) }, [repeated 8x across cluster]\n'
    + file_of([Builder().span("[repeated 3x across cluster]")])
    + b'hello [repeated 2x across cluster] (Ray deduplicates)[repeated 2x across cluster]\n\n \t"trace_id": "0x1\n'
)


def counted(pieces: list[bytes]) -> tuple[int, int]:
    """Return the marks and the beginnings of spans that a decoder counts in pieces of a file."""
    decoder = Decoder()
    batches = [*map(decoder.feed, pieces), decoder.tail(), decoder.close()]
    return sum(batch.repeated for batch in batches), sum(batch.fragments for batch in batches)


def test_whole_and_byte_by_byte() -> None:
    """A mark is counted once, also where it is cut into its bytes."""
    assert counted([TEXT]) == (3, 2)
    assert counted([TEXT[at : at + 1] for at in range(len(TEXT))]) == (3, 2)


def test_cut_anywhere() -> None:
    """Wherever a log is cut in two, the same is counted."""
    assert [cut for cut in range(len(TEXT)) if counted([TEXT[:cut], TEXT[cut:]]) != (3, 2)] == []


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 3 * len(TEXT)), max_size=12))
def test_cut_into_any_pieces(cuts: list[int]) -> None:
    """The same of a log that says everything three times, in any pieces."""
    text, places = TEXT * 3, sorted(cuts)
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    assert counted(pieces) == (9, 6)
