"""The parts of the README that are made from the program: `python tests/readme_parts.py` puts them in."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from spanview.analysis.diagnosis.finding import RULES
from spanview.tui.keys import KEYS, On

README: Final = Path(__file__).parent.parent / "README.md"
BEGIN: Final = "<!-- keys -->"
END: Final = "<!-- /keys -->"
FINDINGS: Final = "<!-- findings -->"
END_OF_FINDINGS: Final = "<!-- /findings -->"
_SCREENS: Final = (
    (On.TRACES, "Traces"),
    (On.TRACE, "Trace"),
    (On.SPAN, "Span"),
    (On.STATS, "Statistics"),
    (On.SPANS, "Spans"),
    (On.FLAME, "Blocks"),
    (On.DIFF, "Comparison"),
    (On.CALLS, "Calls"),
    (On.LANES, "Lanes"),
    (On.SERVE, "Requests"),
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


def findings_table() -> str:
    """Return the table of what `check` finds as Markdown, without a line feed at its end."""
    lines = ["| kind | severity | what it means | what to do |", "|---|---|---|---|"]
    for kind, rule in RULES.items():
        meaning, advice = (text.replace("|", "\\|") for text in (rule.meaning, rule.advice))
        lines.append(f"| `{kind}` | {rule.severity} | {meaning} | {advice} |")
    return "\n".join(lines)


def block_of(text: str) -> str:
    """Return what stands between the marks.

    Args:
        text: The README's.
    """
    return text.split(f"{BEGIN}\n", 1)[1].split(END, 1)[0].rstrip("\n")


def main() -> None:
    """Write the README with the parts as they are now."""
    text = README.read_text()
    for begin, end, table in ((BEGIN, END, keys_table()), (FINDINGS, END_OF_FINDINGS, findings_table())):
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n{table}\n{end}{rest.split(end, 1)[1]}"
    README.write_text(text)


if __name__ == "__main__":
    main()
