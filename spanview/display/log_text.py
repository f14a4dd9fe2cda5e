"""The lines of logs that belong to a span, as parts of its details.

err     2026-05-28 18:05:05,101 ERROR root caught          by time, of all files of the process or the request
        Traceback (most recent call last):
out     all lines of its process: no times were found …    what can't be told apart, behind them
        :actor_name:Counter
in      /tmp/ray/session_2026-05-28_18-00-00_000000_1/logs
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from spanview.analysis.logs.lines import MOST_LINES, RAY_MARK, Coverage, LogPlace
from spanview.display.parts import DetailPart, Tone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.analysis.logs.lines import LogLine, LogPart, SpanLog

_NOTHING: Final = {
    Coverage.TIME: "no line between the span's start and its end (times without a zone are taken as local)",
    Coverage.REQUEST: "no line names its request",
    Coverage.PROCESS: "empty",
}
_LONGEST_LINE: Final = 10_000
"""Characters of a line that are shown among the details; a thousand lines can be there."""
_BYTES_PER_CHARACTER: Final = 8
"""With colours, and where nearly all characters are none of ASCII."""
_COLOR: Final = re.compile("\x1b\\[[0-9;]*[mK]")


def line_text(line: bytes, longest: int | None = None) -> str:
    """Return a line of a log, or its beginning, without its colours; it is made harmless later."""
    if longest is not None:
        text = line_text(line[: _BYTES_PER_CHARACTER * longest])
        is_whole = len(text) <= longest and len(line) <= _BYTES_PER_CHARACTER * longest
        return text if is_whole else text[: longest - 1] + "…"
    text = line.decode("utf-8", "replace")
    return _COLOR.sub("", text).expandtabs(8) if "\x1b" in text or "\t" in text else text


def log_parts(log: SpanLog) -> Iterator[DetailPart]:
    """Yield the lines of logs that belong to a span, and which they are."""
    if log.reason:
        yield DetailPart("", log.reason, "", Tone.DIM)
        return
    sure = [part for part in log.parts if part.coverage is not Coverage.PROCESS and not part.problem]
    # Files are of one clock: what was written first comes first.
    merged = sorted(((line.ns, number, line, part) for number, part in enumerate(sure) for line in part.lines))
    label = ""
    for _, _, line, part in merged:
        yield _line(line, part, part.label if part.label != label else "")
        label = part.label
    for part in log.parts:
        if part.problem:
            yield DetailPart(part.label, part.problem, "", Tone.ERROR)
        elif part in sure:
            if not part.lines:
                yield DetailPart(part.label, _NOTHING[part.coverage], "", Tone.DIM, log_place=LogPlace(part.path, 0))
        elif part.lines:
            yield DetailPart(part.label, part.coverage.value, "", Tone.DIM, log_place=LogPlace(part.path, 0))
            yield from (_line(line, part, "") for line in part.lines)
        if part.is_cut:
            last = part.lines[-1].offset if part.lines else 0
            text = f"… and more: {MOST_LINES:,} lines of a file are shown here; v opens the log"
            yield DetailPart(part.label, text, "", Tone.DIM, log_place=LogPlace(part.path, last))
    folders = dict.fromkeys(os.path.dirname(part.path) for part in log.parts)
    yield from (DetailPart("in", folder, folder, Tone.DIM) for folder in folders)


def _line(line: LogLine, part: LogPart, key: str) -> DetailPart:
    text = line_text(line.text, _LONGEST_LINE)
    tone = Tone.DIM if RAY_MARK.match(line.text) else Tone.PLAIN
    whole = partial(line_text, line.text)
    return DetailPart(key, text, whole, tone, hang=4, log_place=LogPlace(part.path, line.offset))
