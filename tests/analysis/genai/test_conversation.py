"""Prompts and answers, in whatever way a span has them."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from any_spans import JSON
from spanview.analysis.genai.conversation import Message, conversation_of
from spanview.model.span import Event, Span

ASKED, ANSWERED = Message("user", "What is it?"), Message("assistant", "It rains.")
PARTS: Final = [{"role": "user", "parts": [{"type": "text", "content": "What is it?"}]}]


def messages_of(attributes: dict[str, Any] | None = None, *events: tuple[str, dict[str, Any]]) -> list[Message]:
    """Return the messages of a span with some attributes and events."""
    made = tuple(Event(name, 0, of_event) for name, of_event in events)
    span = Span(None, None, None, "chat", None, None, None, attributes=attributes or {}, events=made)
    return [*conversation_of(span).messages]


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"content": "It rains."}]}]),
            "gen_ai.input.messages": json.dumps(PARTS),
        },
        {"gen_ai.input.messages": PARTS, "gen_ai.output.messages": "It rains."},
        {"gen_ai.prompt": "What is it?", "gen_ai.completion": "It rains."},
        {
            "gen_ai.prompt": json.dumps([{"role": "user", "content": "What is it?"}]),
            "gen_ai.completion": json.dumps({"role": "assistant", "content": [{"type": "text", "text": "It rains."}]}),
        },
        {
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "What is it?",
            "gen_ai.completion.0.content": "It rains.",
            "gen_ai.completion.0.finish_reason": "stop",
        },
    ],
)
def test_attributes(attributes: dict[str, Any]) -> None:
    """Each way says the same; attributes that are none of it are left."""
    span = Span(None, None, None, "chat", None, None, None, attributes={**attributes, "gen_ai.request.model": "m"})
    conversation = conversation_of(span)
    assert [*conversation.messages] == [ASKED, ANSWERED]
    assert conversation.keys == attributes.keys()


@pytest.mark.parametrize(
    "events",
    [
        [
            ("gen_ai.user.message", {"content": "What is it?"}),
            ("gen_ai.choice", {"index": 0, "message": '{"role": "assistant", "content": "It rains."}'}),
        ],
        [
            ("gen_ai.content.prompt", {"gen_ai.prompt": "What is it?"}),
            ("gen_ai.content.completion", {"gen_ai.completion": "It rains."}),
        ],
        [
            (
                "gen_ai.client.inference.operation.details",
                {"gen_ai.input.messages": json.dumps(PARTS), "gen_ai.output.messages": "It rains."},
            )
        ],
    ],
)
def test_events(events: list[tuple[str, dict[str, Any]]]) -> None:
    """Events say the same."""
    assert messages_of({}, *events) == [ASKED, ANSWERED]


def test_tools_and_instructions() -> None:
    """What the system was told comes first; calls of tools, and their results, are texts."""
    call = {"type": "tool_call", "id": "1", "name": "weather", "arguments": {"city": "Bonn"}}
    older = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "weather", "arguments": "{}"}}]}
    inputs = [
        *PARTS,
        {"role": "assistant", "parts": [call]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "rain"}]},
        older,
        {"role": "assistant", "parts": [{"type": "image", "uri": "x"}]},
    ]
    instructions = [{"type": "text", "content": "Be brief."}]
    assert messages_of({"gen_ai.input.messages": inputs, "gen_ai.system_instructions": instructions}) == [
        ("system", "Be brief."),
        ASKED,
        ("assistant", 'weather({"city":"Bonn"})'),
        ("tool", "rain"),
        ("assistant", "weather({})"),
        ("assistant", '{"type":"image","uri":"x"}'),
    ]


def test_most_spans_have_none() -> None:
    """Spans of something else, and of models whose messages weren't recorded."""
    assert messages_of({"gen_ai.usage.prompt_tokens": 3, "http.url": "x", "gen_ai.prompt": ""}) == []


@given(st.dictionaries(st.sampled_from(["gen_ai.prompt", "gen_ai.output.messages", "gen_ai.prompt.0.content"]), JSON))
def test_any_values(attributes: dict[str, Any]) -> None:
    """Nothing raises, whatever is in it, as it is and as JSON in a text."""
    texts = {key: json.dumps(value) for key, value in attributes.items()}
    for values in (attributes, texts):
        assert all(isinstance(message.text, str) and message.text for message in messages_of(values))
