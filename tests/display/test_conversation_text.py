"""A conversation as lines that can be folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.analysis.genai.conversation import Message
from spanview.display.conversation_text import conversation_parts

if TYPE_CHECKING:
    from spanview.display.parts import DetailPart


def lines(parts: list[DetailPart]) -> list[tuple[str, str]]:
    """Return keys and texts."""
    return [(part.key, part.text) for part in parts]


def test_it_is_folded() -> None:
    """At first it is a line with the first and the last message; unfolded, long messages are folded by themselves."""
    long = "\n".join(f"line {number}" for number in range(20))
    messages, path = (
        [Message("system", "Be\nbrief."), Message("user", long), Message("assistant", "It rains.")],
        ("Attributes", "conversation"),
    )
    folded = [*conversation_parts(messages, path, {}, 60)]
    assert lines(folded) == [("conversation", "▸ 3 messages   system: Be … › assistant: It rains.")]
    assert folded[0].whole == f"system: Be\nbrief.\n\nuser: {long}\n\nassistant: It rains."
    opened = [*conversation_parts(messages, path, {path: True}, 60)]
    assert lines(opened) == [
        ("conversation", "▾ 3 messages"),
        ("system", "  Be\n  brief."),
        ("user", "▸ line 0 …   20 lines"),
        ("assistant", "  It rains."),
    ]
    assert [part.fold for part in opened] == [path, None, (*path, 1), None]
    (_, _, whole, _) = conversation_parts(messages, path, {path: True, (*path, 1): True}, 60)
    assert whole.text.splitlines()[:2] == ["▾ line 0", "  line 1"]
    assert len(whole.text.splitlines()) == 20
