"""The query language as a page's script reads it: patterns, keys and what these take, so that it has no grammar apart.

{"tokens": {"operator": "!=|<=|…"}, "keys": {"duration": ["duration"], "kind": ["choice", "INTERNAL", …], …}, …}
"""

from __future__ import annotations

from typing import Any, Final

from spanview.analysis.diagnosis.finding import OF_SPANS
from spanview.analysis.query.everywhere import ID, LITERAL, MIN_ID_DIGITS
from spanview.analysis.query.keys import OWN_KEYS
from spanview.analysis.query.parse import MAX_DEPTH, TOKENS
from spanview.analysis.query.terms import KINDS, OUTCOMES
from spanview.analysis.query.timetext import DURATIONS, PATTERNS, TIMES, UNITS_NS
from spanview.analysis.query.values import NUMBERS
from spanview.exports.page.columns import MAX_NAME_LENGTH
from spanview.exports.page.details import MAX_TEXT_LENGTH, MAX_VALUES
from spanview.index.lives import State
from spanview.model.codes import STATUS_NAMES
from spanview.model.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS

_BLANKS: Final = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""What `\\s` matches here; JavaScript has another list."""
_TAKES: Final[dict[str, list[object]]] = {
    **{key: [own.takes.name.lower()] for key, own in OWN_KEYS.items()},
    "kind": ["choice", *KINDS],
    "status": ["choice", *STATUS_NAMES],
    "finding": ["named", *OF_SPANS],
    "outcome": ["named", *OUTCOMES],
    "trace.complete": ["named", "true", "false"],
    "trace": ["id", TRACE_ID_DIGITS],
    "span": ["id", SPAN_ID_DIGITS],
}
"""What each key is compared with."""


def language() -> dict[str, Any]:
    """Return the language."""
    return {
        "tokens": {name: pattern.replace(r"\s", _BLANKS) for name, pattern in TOKENS.items()},
        "whole": {**PATTERNS, **NUMBERS, "id": ID.pattern, "literal": LITERAL.pattern.replace(r"\s", _BLANKS)},
        "keys": _TAKES,
        "states": [*State],
        "units": UNITS_NS,
        "depth": MAX_DEPTH,
        "most": {"name": MAX_NAME_LENGTH, "text": MAX_TEXT_LENGTH, "values": MAX_VALUES},
        "id_digits": MIN_ID_DIGITS,
        "durations": DURATIONS,
        "times": TIMES,
    }
