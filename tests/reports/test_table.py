"""Tables: which columns there is room for, and what stands in them.

width 40   COUNT   TIME  NAME········           what goes first has gone
width 60   COUNT    ERRORS   TIME  NAME···      all that is there in any case
width 80   COUNT    ERRORS   TIME      P95  NAME···   and what comes where names have room
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from spanview.reports.table import Piece, Table, TableColumn, name_column

if TYPE_CHECKING:
    from collections.abc import Iterator


def name_of(row: str, cells: int) -> Iterator[Piece]:
    """Yield a name and what it leaves."""
    yield Piece(row[:cells].ljust(cells), "accent")


TABLE: Final[Table[str]] = Table(
    (
        TableColumn("COUNT", 7, lambda row: f"{len(row)}", key="count", goes=3),
        TableColumn("ERRORS", 10, lambda _: "1", "error", goes=1),
        TableColumn("TIME", 7, lambda _: "2 s", key="time", goes=2),
        TableColumn("P95", 9, lambda _: "3 s", comes=1),
        TableColumn("STATE", 8, lambda _: "× bad", aligns_left=True, gap=1, goes=4, shrinks_to=2, from_width=20),
        TableColumn("NAME", parts=name_of, gap=2, aligns_left=True, key="name"),
    ),
    least=18,
    usual=30,
)


@pytest.mark.parametrize(
    ("width", "heads"),
    [
        (12, "NAME"),
        (28, "NAME"),
        (30, "STATE NAME"),
        (40, "COUNT STATE NAME"),
        (46, "COUNT TIME STATE NAME"),
        (60, "COUNT ERRORS TIME STATE NAME"),
        (80, "COUNT ERRORS TIME P95 STATE NAME"),
    ],
)
def test_what_there_is_room_for(width: int, heads: str) -> None:
    """Columns go in their turns for the name, and come in theirs where it keeps its usual room."""
    assert TABLE.fit(width).heads_text().split() == heads.split()


@given(st.integers(1, 200))
def test_lines_fill_the_width(width: int) -> None:
    """Heads and lines are as wide as the list, however narrow it is, but for the last columns' least cells."""
    fit = TABLE.fit(width)
    line = "".join(piece.text for piece in fit.parts_of("name"))
    assert cell_len(line) == max(width, 3)
    assert fit.cells[-1][1] >= min(18, max(1, width - 5))


def test_the_first_character_is_left() -> None:
    """What has shrunk says what it is by one character, and has no head."""
    assert "×" in "".join(piece.text for piece in TABLE.fit(28).parts_of("name"))
    assert "STATE" not in TABLE.fit(28).heads_text()


def test_what_is_sorted_by_goes_last() -> None:
    """It leaves the name less room than the others do."""
    table: Table[str] = Table(TABLE.columns, least=18, least_beside=9)
    assert "TIME ▾" in table.fit(25, "time").heads_text("time")
    assert "TIME" not in table.fit(25, "count").heads_text("count")


def test_the_head_that_is_sorted_by_stands_apart() -> None:
    """Where its arrow takes the cells that parted it from the one before, the blank before the arrow goes."""
    heads = ("FAILED", 9), ("RETRIED", 9), ("COUNTED", 8)
    columns: list[TableColumn[str]] = [TableColumn(head, width, key=head) for head, width in heads]
    table: Table[str] = Table((name_column("NAME", str), *columns))
    fit = table.fit(40)
    said = [fit.heads_text(head)[-26:] for head, _ in heads]
    assert said == [" FAILED ▾  RETRIED COUNTED", "   FAILED RETRIED▾ COUNTED", "   FAILED  RETRIEDCOUNTED▾"]


def test_a_column_of_names_is_as_wide_as_its_longest() -> None:
    """What it doesn't need stays empty at the right, or lets others come; where it needs more, its names are cut."""
    table: Table[str] = Table((name_column("NAME", str), *TABLE.columns[:-1]), "count", least=18, usual=30)
    assert table.fit(100, wanted=4).heads_text("count") == "NAME  COUNT ▾    ERRORS   TIME      P95 STATE   "
    assert table.fit(50, wanted=4).heads_text("count").split()[-2:] == ["P95", "STATE"]
    (name, *_) = table.fit(34, wanted=40).parts_of("my_module.process_batch")
    assert name.text == "my_mo…rocess_batch"


def test_the_first_of_a_family_says_of_what() -> None:
    """Where the first of several figures has no room, the next one says what they are of."""
    times: list[TableColumn[str]] = [
        TableColumn(head, 9, family="WAIT", goes=turn) for turn, head in enumerate(("p50", "p95"), 1)
    ]
    table: Table[str] = Table((name_column("NAME", str), *times), least=10)
    assert table.fit(30).heads_text().split() == ["NAME", "WAIT", "p50", "p95"]
    assert table.fit(20).heads_text().split() == ["NAME", "WAIT", "p95"]


def test_pieces_have_styles() -> None:
    """Each column has its own."""
    styles = {piece.text.strip(): piece.style for piece in TABLE.fit(80).parts_of("name") if piece.text.strip()}
    assert styles == {"4": "", "1": "error", "2 s": "", "3 s": "", "× bad": "", "name": "accent"}


def test_names_of_rows_can_be_told_apart() -> None:
    """Where the middles that go are what differs, they stay; of the other rows, and in commands, nothing changes."""
    rows = [f"ServeReplica:shop:{name}.check_health" for name in ("Cart", "Wishlist")]
    table: Table[str] = Table((name_column("NAME", str),))
    texts = ["".join(text for text, _ in table.fit(20, rows=rows).parts_of(row)) for row in rows]
    assert texts == ["…:shop:Cart.check_h…", "…:shop:Wishlist.che…"]
    assert len({"".join(text for text, _ in table.fit(20).parts_of(row)) for row in rows}) == 1
