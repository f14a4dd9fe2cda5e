"""Which of vLLM's calls a request of Ray Serve has led to: `ray.serve.llm` hands vLLM the request's id, and no context.

Serve   trace 88ae…   proxy_http_request …   request_id          091db297-50b6-4e67-9b8c-de8794178aeb
vLLM    trace 5998…   llm_request            gen_ai.request.id   chatcmpl-091db297-50b6-4e67-9b8c-de8794178aeb

vLLM puts the kind of answer before the id, and behind it a number where there are several prompts, or digits.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from spanview.analysis.genai.fields import joined, model_call_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from spanview.analysis.genai.fields import ModelCall
    from spanview.index.store import Store

_NAME: Final = "llm_request"
"""Of vLLM's spans."""
_ID: Final = "gen_ai.request.id"
# `chatcmpl-`, and `-0` or `-8f3a12cd`.
_BEFORE: Final = re.compile(r"[a-z]+-")
_BEHIND: Final = re.compile(r"-[0-9a-f]+\Z")


def model_calls(store: Store, request_ids: Collection[str]) -> dict[str, ModelCall]:
    """Return what vLLM's spans say of requests, by the requests' ids; of several calls, their sums."""
    numbers = store.names.where(_NAME.__eq__)
    if not numbers:
        return {}
    import numpy as np

    from spanview.index.arrays import copy_of
    from spanview.index.whole_spans import spans_at

    found = np.flatnonzero(np.isin(copy_of(store.spans.name), [*numbers])).tolist()
    rows = sorted((row for row in found if row < len(store.spans)), key=store.spans.start_ns.__getitem__)
    calls: defaultdict[str, list[ModelCall]] = defaultdict(list)
    for span in spans_at(store, rows):
        text = span.attributes.get(_ID)
        request_id = next((each for each in _ids_in(text) if each in request_ids), None) if text else None
        if request_id is not None:
            calls[request_id].append(model_call_of(span.attributes))
    return {request_id: joined(several) for request_id, several in calls.items()}


def _ids_in(text: object) -> Iterator[str]:
    """Yield what may be the id of a request in one of vLLM's, the longest first."""
    if not isinstance(text, str):
        return
    bare = _BEFORE.sub("", text, count=1) if _BEFORE.match(text) else text
    for whole in (text, bare):
        yield whole
        yield _BEHIND.sub("", whole)
        yield _BEHIND.sub("", _BEHIND.sub("", whole))
