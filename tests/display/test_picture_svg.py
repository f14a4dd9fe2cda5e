"""Waterfalls as SVG: well-formed, small, by itself, and what is drawn stands where it belongs."""

from __future__ import annotations

from typing import Any

import pytest

from hostile import ALL, RAW
from spanview.display.picture import Picture, PictureRow
from spanview.display.picture_svg import svg_chunks
from spanview.display.sanitise import sanitise
from svgs import SVG, parsed, shapes, texts, titles

TITLE = "trace 1 · now · 100 ns"
LEFT, TIME = 16 + 24 * 7.3 + 84 + 12, 640
"""Where the line of time begins beside narrow names, and how long it is."""


def row(name: str = "a", depth: int = 0, *, marks: str = "", about: str = "", **drawn: Any) -> PictureRow:
    """Return a row."""
    return PictureRow(depth, "▾ ", name, (marks,), ("5 ms",), about or name, 0, **drawn)


def picture(*rows: PictureRow, **fields: Any) -> Picture:
    """Return a picture of a trace of 100 ns."""
    others: dict[str, Any] = {"left_out": "", "color_by": "service", "legend": (), "is_lit": False} | fields
    return Picture("root", TITLE, 0, 100, rows, **others)


def drawn(*pictures: Picture) -> Any:
    """Return the parsed file of some pictures."""
    return parsed(b"".join(svg_chunks(pictures)))


def test_what_is_to_be_read() -> None:
    """Name, title, round times, each row's name and duration, what is left out, and what shapes mean."""
    root = drawn(picture(row("first", bar=(0, 1), own=((0, 1),)), row("second", 1, marks="✖"), left_out="… 3 more"))
    assert texts(root)[:2] == ["root", TITLE]
    assert {"0 µs", "20 ns", "40 ns", "60 ns", "100 ns", "DURATION"} <= {*texts(root)}
    assert [text for text in texts(root) if text in {"first", "second", "✖", "5 ms"}] == [
        *("first", "5 ms"),
        *("second", "✖", "5 ms"),
    ]
    assert texts(root)[-2:] == ["… 3 more", "solid: the span itself, light: spans below run"]
    assert titles(root) == ["first", "second"]


def test_a_bar_stands_in_its_time() -> None:
    """The light bar is the span, the solid one where no child runs, and dots are before it."""
    root = drawn(picture(row(bar=(0.5, 1.0), own=((0.75, 1.0),), waits=((0.25, 0.5),))))
    (light,) = shapes(root, "l")
    assert light.startswith(f"M{LEFT + TIME / 2:.1f} ")
    assert f"h{TIME // 2}v" in light
    (solid,) = (each.get("d") for each in root.iter(f"{SVG}path") if not each.get("class"))
    assert solid.startswith(f"M{LEFT + TIME * 0.75:.1f} ")
    (dots,) = shapes(root, "w")
    assert dots == f"M{LEFT + TIME / 4:.1f} 114H{LEFT + TIME / 2:.1f}"


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (row(inferred=(0.0, 0.5)), "i"),
        (row(inferred=(0.0, 1.0), is_open=True), "n"),
        (row(runs=(0.0, 1.0)), "s"),
        (row(bar=(0.0, 1.0), own=((0.0, 1.0),), is_error=True), "x"),
        (row(bar=(0.0, 1.0), own=((0.0, 1.0),), events=(0.5,)), "v"),
        (row(bar=(0.0, 1.0), own=((0.0, 1.0),), lit=((0.5, 0.6),)), "c"),
    ],
    ids=["inferred", "no end", "runs", "error", "event", "critical"],
)
def test_marks(one: PictureRow, kind: str) -> None:
    """Each mark is drawn once, and said what it means; without it, it isn't."""
    every = {"i", "n", "s", "x", "v", "c"}
    root = drawn(picture(one, is_lit=bool(one.lit)))
    assert {each for each in every if shapes(root, each)} == {kind}
    words = {
        "i": "dashes",
        "n": "dashes",
        "s": "stripes: runs, until now",
        "x": "✖ error",
        "v": "◆ event",
        "c": "critical path",
    }
    assert words[kind] in texts(root)[-1]


def test_what_lies_outside() -> None:
    """A bar that is out of sight is an arrow to where it is; one that reaches in is cut off; an instant is a pixel."""
    before, behind, across, instant = (
        drawn(picture(row(bar=each, own=(each,)))) for each in ((-1.0, -0.5), (1.5, 2.0), (-9.0, 9.0), (1.0, 1.0))
    )
    assert "‹" in texts(before)
    assert "›" in texts(behind)
    assert not shapes(before, "l") + shapes(behind, "l")
    assert shapes(across, "l") == [f"M{LEFT:.1f} 108h{TIME}v12H{LEFT:.1f}z"]
    assert shapes(instant, "l") == [f"M{LEFT + TIME - 1:.1f} 108h1v12H{LEFT + TIME - 1:.1f}z"]


def test_levels() -> None:
    """Lines join the rows below a row, and end where they do; very deep rows say their depth."""
    root = drawn(picture(row(), row(depth=1), row(depth=2), row(depth=1), row(), row(depth=100_000)))
    lines = next(line for line in shapes(root, "g") if line.startswith("M32 "))
    assert lines.startswith("M32 144V164M20 124V184M")
    assert lines.count("M") == 2 + 16
    assert "100000│ ▾" in texts(root)
    assert len(b"".join(svg_chunks([picture(*[row(depth=at) for at in range(400)])]))) < 150_000


def test_several_pictures() -> None:
    """Pictures stand one below the other in one file, in common columns."""
    root = drawn(picture(row("short")), picture(row("a longer name " * 2, bar=(0, 1), own=((0, 1),))))
    groups = [each for each in root if each.tag == f"{SVG}g"]
    assert [each.get("transform") for each in groups] == ["translate(0 0)", f"translate(0 {104 + 20 + 20 + 16})"]
    places = [next(each.get("x") for each in group.iter() if each.text == "DURATION") for group in groups]
    assert places[0] == places[1]
    assert float(root.get("height")) == 2 * (104 + 20 + 20 + 16)


def test_a_legend_ends_in_the_page() -> None:
    """What colours stand for is named as far as there is room; with one colour there is nothing to say."""
    names = tuple((number, "n" * 30) for number in range(8))
    root = drawn(picture(row(), legend=names))
    assert texts(root)[-1] == "…"
    assert 1 < texts(root).count("n" * 30) < 8
    assert "n" * 30 not in texts(drawn(picture(row(), legend=names[:1])))


@pytest.mark.parametrize("text", [*RAW, "<script>&\"']]>--><!--", "漢字" * 40, "שלום", "a" * 4096], ids=ascii)
def test_any_text(text: str) -> None:
    """Whatever a name is, the file is well-formed, says it in full, and stays small."""
    safe = sanitise(text)
    root = drawn(picture(row(safe, marks=safe, about=safe), legend=((0, safe), (1, safe))))
    assert titles(root) == [safe]
    shown = next(each for each in root.iter(f"{SVG}text") if each.get("y") == "118" and each.text != "▾")
    assert safe.startswith((shown.text or "").rstrip("…").rstrip())
    assert bool(shown.get("textLength")) != (shown.text or "").isascii()


def test_all_hostile_texts_at_once() -> None:
    """The same for one name that is all of them."""
    assert titles(drawn(picture(row(sanitise(ALL))))) == [sanitise(ALL)]


def test_a_wait_of_several_causes() -> None:
    """Each begins with its letter, where there is room, and dots go on behind it; the letters are explained."""
    parts = ("a", 0.0, 0.25), ("r", 0.25, 0.255), ("w", 0.255, 0.5)
    root = drawn(picture(row(bar=(0.5, 1.0), waits=((0.0, 0.5),), wait_parts=parts)))
    assert [text for text in texts(root) if text in {"a", "r", "w"}][-2:] == ["a", "w"]
    first, second, third = (dots.partition("H")[2] for dots in shapes(root, "w"))
    assert [float(first), float(second), float(third)] == [
        pytest.approx(LEFT + TIME * share, abs=0.1) for share in (0.25, 0.255, 0.5)
    ]
    assert texts(root)[-1].endswith(" · dots: waiting before it ran · a arguments · w worker start")
