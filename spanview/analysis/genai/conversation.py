"""What a language model was asked and what it answered, in all the ways in which spans have it.

gen_ai.system_instructions, gen_ai.input.messages, gen_ai.output.messages    attributes of a span or of an event
gen_ai.prompt, gen_ai.completion                                             the same, before
gen_ai.prompt.0.role, gen_ai.prompt.0.content, …                             OpenLLMetry: an attribute each
gen_ai.user.message, gen_ai.choice, …                                        events, one per message

Source: the GenAI events and `gen-ai-input-messages.json` of OpenTelemetry's semantic conventions, and older ones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanview.analysis.query.values import text_of
from spanview.formats.jsontext import loads_exact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spanview.model.span import Span

_LISTS: Final = {
    "gen_ai.system_instructions": "system",
    "gen_ai.prompt": "user",
    "gen_ai.input.messages": "user",
    "gen_ai.completion": "assistant",
    "gen_ai.output.messages": "assistant",
}
"""Attributes with messages, and whose they are where that isn't said; in the order of a conversation."""
# `gen_ai.prompt.0.content`
_NUMBERED: Final = re.compile(r"(gen_ai\.(?:prompt|completion))\.(\d{1,6})\.(.+)")
# `gen_ai.user.message`
_MESSAGE: Final = re.compile(r"gen_ai\.(\w+)\.message")
_CHOICE: Final = "gen_ai.choice"
_ROLE: Final = "role"
_TEXTS: Final = ("content", "text", "parts", "message", "response", "result")
"""Where a message, or a part of one, has its text; the first that is there."""


class Message(NamedTuple):
    """A message of a conversation."""

    role: str
    text: str


class Conversation(NamedTuple):
    """What was asked and answered."""

    messages: tuple[Message, ...]
    keys: frozenset[str]
    """The attributes of the span that they are from."""


def conversation_of(span: Span) -> Conversation:
    """Return the messages that a span has, in order; none for most spans."""
    messages, keys = list[Message](), set[str]()
    numbered: dict[str, dict[int, dict[str, Any]]] = {}
    for key, value in span.attributes.items():
        if key.startswith("gen_ai.") and (match := _NUMBERED.fullmatch(key)):
            numbered.setdefault(match[1], {}).setdefault(int(match[2]), {})[match[3]] = value
            keys.add(key)
    for key, role in _LISTS.items():
        if key in span.attributes:
            messages += _messages_in(span.attributes[key], role)
            keys.add(key)
        for _, parts in sorted(numbered.get(key, {}).items()):
            messages += _messages_in(parts, role)
    for event in span.events:
        messages += _messages_of_event(event.name, event.attributes)
    return Conversation(tuple(message for message in messages if message.text), frozenset(keys))


def _messages_of_event(name: str, attributes: Mapping[str, Any]) -> Iterator[Message]:
    for key, role in _LISTS.items():
        if key in attributes:
            yield from _messages_in(attributes[key], role)
    match = _MESSAGE.fullmatch(name)
    if match or name == _CHOICE:
        yield from _messages_in(dict(attributes), match[1] if match else "assistant")


def _messages_in(value: Any, role: str) -> Iterator[Message]:
    """Yield the messages that a value is or holds, as JSON in a text too."""
    value = _parsed(value)
    if isinstance(value, list) and any(isinstance(item, dict) and (_ROLE in item or "parts" in item) for item in value):
        for item in value:
            yield from _messages_in(item, role)
    elif isinstance(value, dict):
        inner = _parsed(value.get("message"))
        whose = value.get(_ROLE) or (inner.get(_ROLE) if isinstance(inner, dict) else None)
        yield Message(text_of(whose) if whose else role, _text_in(value))
    else:
        yield Message(role, _text_in(value))


def _parsed(value: Any) -> Any:
    """Return what JSON in a text says, where it is a list or an object."""
    if isinstance(value, str) and value.strip()[:1] in {"[", "{"}:
        try:
            return loads_exact(value.strip().encode())
        except ValueError:
            return value
    return value


def _text_in(value: Any) -> str:
    """Return the text of a message, or of a part of one; what isn't known is JSON."""
    value = _parsed(value)
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text_in, value)))
    if not isinstance(value, dict):
        return "" if value is None else text_of(value)
    texts = [_text_in(value[key]) for key in _TEXTS if value.get(key) not in (None, "", [])][:1]
    calls = value.get("tool_calls")
    texts += map(_call_text, calls if isinstance(calls, list) else [])
    if not texts and "name" in value:
        return _call_text(value)
    known = {_ROLE, *_TEXTS, "tool_calls", "type", "index", "id", "finish_reason"}
    return "\n".join(texts) if texts or value.keys() <= known else text_of(value)


def _call_text(call: Any) -> str:
    """Return a call of a tool: `weather({"city": "Bonn"})`."""
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or "name" not in function:
        return text_of(call)
    arguments = function.get("arguments")
    return f"{text_of(function['name'])}({'' if arguments is None else text_of(arguments)})"
