"""Figures of calls of language models, whatever the release that wrote them; and which request of Serve led to them."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

import spanview
from any_spans import JSON
from builders import Builder, store_of
from spanview.analysis.amounts import Amounts, amounts
from spanview.analysis.genai.fields import FIELDS, NO_CALL, ModelCall, joined, model_call_of, spellings
from spanview.analysis.serve.requests import serve_requests
from spanview.model.problems import QueryError
from spanview.reports.serve import requests_report, serve_report
from spanview.reports.statistics import report_of_values

if TYPE_CHECKING:
    from builders import Document
    from spanview.index.store import Store

MS: Final = 1_000_000
VLLM: Final = {
    "gen_ai.response.model": "llama",
    "gen_ai.usage.prompt_tokens": 30,
    "gen_ai.usage.completion_tokens": 21,
    "gen_ai.usage.cached_tokens": 16,
    "gen_ai.latency.time_to_first_token": 0.25,
    "gen_ai.latency.e2e": 1.25,
    "gen_ai.latency.time_in_queue": 0.05,
    "gen_ai.latency.time_in_model_prefill": 0.2,
    "gen_ai.latency.time_in_model_decode": 1.0,
    "gen_ai.latency.time_in_model_inference": 1.2,
}
"""What vLLM writes of a request."""
CALL: Final = ModelCall(1, "llama", 30, 16, 21, 250 * MS, 50 * MS, 200 * MS, 1_000 * MS)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (VLLM, CALL),
        ({}, ModelCall(1)),
        (
            {
                gen_ai_attributes.GEN_AI_REQUEST_MODEL: "gpt-4o",
                gen_ai_attributes.GEN_AI_RESPONSE_MODEL: "gpt-4o-2024-08-06",
                gen_ai_attributes.GEN_AI_USAGE_INPUT_TOKENS: 7,
                gen_ai_attributes.GEN_AI_USAGE_OUTPUT_TOKENS: 3,
                "gen_ai.usage.cache_read.input_tokens": 5,
                "gen_ai.response.time_to_first_chunk": 0.001,
            },
            ModelCall(1, "gpt-4o-2024-08-06", 7, 5, 3, MS),
        ),
        (
            {
                gen_ai_attributes.GEN_AI_REQUEST_MODEL: "gpt-4o",
                gen_ai_attributes.GEN_AI_USAGE_PROMPT_TOKENS: "7",
                gen_ai_attributes.GEN_AI_USAGE_COMPLETION_TOKENS: 3,
            },
            ModelCall(1, "gpt-4o", 7, None, 3),
        ),
        ({"gen_ai.usage.input_tokens": "many", "gen_ai.usage.prompt_tokens": 7}, ModelCall(1, None, 7)),
        ({"gen_ai.usage.input_tokens": -1, "gen_ai.latency.time_in_queue": float("nan")}, ModelCall(1)),
        ({"gen_ai.latency.time_in_queue": 1e300, "gen_ai.request.model": ""}, ModelCall(1)),
    ],
)
def test_spellings(attributes: dict[str, Any], expected: ModelCall) -> None:
    """The newest usable name counts, digits in a text too; what is none is left out."""
    assert model_call_of(attributes) == expected


def test_the_table() -> None:
    """Each figure has a field of its own, and no spelling is of two."""
    assert [*FIELDS] == [*ModelCall._fields[1:]]
    keys = [key for field in FIELDS.values() for key in field.keys]
    assert len(keys) == len({*keys})
    assert spellings("gen_ai.usage.completion_tokens") == (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
    )
    assert spellings("http.status_code") == ("http.status_code",)


@given(st.dictionaries(st.sampled_from([key for field in FIELDS.values() for key in field.keys]), JSON))
def test_any_values(attributes: dict[str, Any]) -> None:
    """Nothing raises, and what is known has its type."""
    call = model_call_of(attributes)
    assert all(
        value is None or type(value) is (str if name == "model" else int) for name, value in call._asdict().items()
    )


def test_several_calls() -> None:
    """Tokens and times add up, the first token is the first call's, and the rate leaves out each first token."""
    two = joined([CALL, CALL._replace(model="other", cached_tokens=None, time_to_first_token_ns=1)])
    assert two == ModelCall(2, "llama, other", 60, 16, 42, 250 * MS, 100 * MS, 400 * MS, 2_000 * MS)
    assert (CALL.output_tokens_per_second, two.output_tokens_per_second) == (20, 20)
    assert joined([]) is NO_CALL
    assert [ModelCall(1, output_tokens=5).output_tokens_per_second, NO_CALL.output_tokens_per_second] == [None, None]


# -- requests of Serve -------------------------------------------------------------------------------------------------


def served(*pairs: tuple[str, str]) -> Store:
    """Return a store with requests of Serve and vLLM's spans, by the ids that both have."""
    build, traces = Builder(), count(1)
    documents: list[Document] = []
    for request_id, model_id in pairs:
        own = {"app": "llm", "deployment": "Ingress", "request_id": request_id, "http.status_code": 200}
        documents.append(
            build.span("proxy_http_request Ingress POST /chat", trace=next(traces), duration=2_000_000, attributes=own)
        )
        if model_id:
            documents.append(
                build.span(
                    "llm_request", trace=next(traces), kind="SERVER", attributes={**VLLM, "gen_ai.request.id": model_id}
                )
            )
    return store_of(*documents)


@pytest.mark.parametrize("model_id", ["{}", "chatcmpl-{}", "cmpl-{}-0", "chatcmpl-{}-8f3a12cd", "cmpl-{}-1-8f3a12cd"])
@pytest.mark.parametrize("request_id", ["091db297-50b6-4e67-9b8c-de8794178aeb", "mine", "order-7"])
def test_a_request_meets_its_call(request_id: str, model_id: str) -> None:
    """Whatever vLLM puts around the id; another request has nothing."""
    (first, second) = serve_requests(served((request_id, model_id.format(request_id)), ("other", "cmpl-third")))
    assert (first.model_call, second.model_call) == (CALL, NO_CALL)


def test_reports() -> None:
    """What vLLM says is in JSON always, and in tables where there is something; of a route, tokens add up."""
    store = served(("a", "cmpl-a-0"), ("b", "cmpl-b-0"), ("b", "cmpl-b-1"), ("c", ""))
    rows = requests_report(store).document()["rows"]
    known = next(row["gen_ai"] for row in rows if row["request_id"] == "a")
    assert known == {**CALL._asdict(), "output_tokens_per_second": 20}
    assert {row["request_id"]: row["gen_ai"]["output_tokens"] for row in rows} == {"a": 21, "b": 42, "c": None}
    (group,) = serve_report(store).document()["rows"]
    assert (group["count"], group["gen_ai"]["output_tokens"]) == (4, 21 + 2 * 42)
    assert group["gen_ai"]["time_to_first_token_ns"] == dict.fromkeys(("p50", "p95", "p99", "max"), 250 * MS)
    heads = serve_report(store).table.fit(600).heads_text()
    assert [head in heads for head in ("MODEL", "IN", "OUT", "TOK/S", "TTFT P50", "PREFILL P50")] == [True] * 6
    without = served(("a", ""))
    for report in (serve_report(without), requests_report(without)):
        assert "TTFT" not in report.table.fit(400).heads_text()
        assert report.document()["rows"][0]["gen_ai"]["calls"] == 0


# -- any numeric attribute ---------------------------------------------------------------------------------------------


def test_amounts() -> None:
    """Numbers of either spelling and digits in texts count, lists several times; what is no number doesn't."""
    build = Builder()
    new, old = "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"
    values: list[dict[str, Any]] = [{new: number} for number in range(1, 101)]
    documents = [build.span("a", attributes=attributes) for attributes in values]
    documents += [
        build.span("b", attributes={old: "7"}),
        build.span("b", attributes={new: [1, 2.5, 1e300, 10**400, float("inf")], old: 9}),
    ]
    documents += [build.span("c", attributes={new: "many"}), build.span("d")]
    store = store_of(*documents)
    expected = [Amounts("a", 100, 5050, 1, 50, 95, 99, 100), Amounts("b", 3, 10.5, 1, 2.5, 7, 7, 7)]
    assert amounts(store, new) == expected
    assert amounts(store, old) == expected
    (whole,) = report_of_values(amounts(store, new, "kind"), new, "kind").document()["rows"]
    assert (whole["count"], whole["value"]["total"], whole["value"]["max"]) == (103, 5060.5, 100)
    with pytest.raises(QueryError, match=r"no span has gen_ai\.usage\.output_token; did you mean"):
        amounts(store, "gen_ai.usage.output_token")
    with pytest.raises(QueryError, match="no span has a number as text"):
        amounts(store_of(build.span(attributes={"text": "x"})), "text")


def test_spans_of_the_sdk() -> None:
    """What a program writes by the conventions' own names is added up."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for number in (3, 4):
        attributes = {gen_ai_attributes.GEN_AI_USAGE_OUTPUT_TOKENS: number}
        provider.get_tracer("app").start_span("chat gpt-4o", attributes=attributes).end()
    store = spanview.from_spans(exporter.get_finished_spans())._store
    tokens = "gen_ai.usage.completion_tokens"
    assert json.dumps(report_of_values(amounts(store, tokens), tokens).document()["rows"]) == json.dumps(
        [
            {
                "key": "chat gpt-4o",
                "count": 2,
                "value": {"total": 7, "min": 3, "p50": 3, "p95": 4, "p99": 4, "max": 4},
            }
        ]
    )
