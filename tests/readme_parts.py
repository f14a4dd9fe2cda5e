"""The parts of the README that are made from the program: `python tests/readme_parts.py` puts them in."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from spanview.tui.keys import KEYS, On

README: Final = Path(__file__).parent.parent / "README.md"
BEGIN: Final = "<!-- keys -->"
END: Final = "<!-- /keys -->"
_SCREENS: Final = (
    (On.TRACES, "Traces"),
    (On.TRACE, "Trace"),
    (On.SPAN, "Span"),
    (On.STATS, "Statistics"),
    (On.SPANS, "Spans"),
    (On.FLAME, "Blocks"),
    (On.DIFF, "Comparison"),
    (On.CHECK, "Check"),
)


def keys_table() -> str:
    """Return the table of keys as Markdown, without a line feed at its end."""
    lines = ["| keys | | where |", "|---|---|---|"]
    for key in KEYS:
        shown = " ".join(f"`{each}`" for each in key.shown.split())
        where = "" if key.on == On.EVERYWHERE else ", ".join(name for screen, name in _SCREENS if key.on & screen)
        lines.append(f"| {shown} | {key.text} | {where} |")
    return "\n".join(lines)


def block_of(text: str) -> str:
    """Return what stands between the marks.

    Args:
        text: The README's.
    """
    return text.split(f"{BEGIN}\n", 1)[1].split(END, 1)[0].rstrip("\n")


def main() -> None:
    """Write the README with the parts as they are now."""
    before, rest = README.read_text().split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    README.write_text(f"{before}{BEGIN}\n{keys_table()}\n{END}{after}")


if __name__ == "__main__":
    main()
