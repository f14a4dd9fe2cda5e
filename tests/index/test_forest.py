"""A forest is what the trees of its traces are, on random spans of any kind; drawn as in `test_tree`.

files                        positions, parents and what is cut
-----                        ----------------------------------
a, b under a                 a ROOT, b 0
b under a, no a              b MISSING
a under b, b under a         a ROOT (cut), b 0            a starts first
a, a', b under a             a ROOT, a' ROOT, b 0         a stands first by path and offset
"""

from __future__ import annotations

from gc import collect
from typing import TYPE_CHECKING
from weakref import ref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, file_of, store_of, store_of_files
from span_graphs import forests, graphs, whole_traces
from spanview.analysis.forest_selftime import times_in
from spanview.formats.decoder import Decoder
from spanview.index.forest import MISSING, ROOT, forest_of, incomplete_traces, trees_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from builders import Document
    from spanview.index.store import Store


def check(store: Store, traces: Sequence[int] | None = None) -> None:
    """Compare a forest with the trees of its traces, which are walked one by one."""
    forest = forest_of(store, traces)
    depths, sizes, preorder = forest.depths(), forest.sizes(), forest.preorder()
    children, begins = forest.children()
    position_of = {row: position for position, row in enumerate(forest.rows.tolist())}
    numbers = sorted({*(range(len(store.trace_table)) if traces is None else traces)})
    trees, positions = trees_of(forest, numbers[::-1])
    for index, number in enumerate(reversed(numbers)):
        tree, (made, nodes) = store.tree(number), trees.one(index)
        assert (made.rows, made.missing, made.cut, made.parents) == (tree.rows, tree.missing, tree.cut, tree.parents)
        assert made.in_order() == tree.in_order()
        assert forest.rows[positions[nodes[: len(tree.rows)]]].tolist() == tree.rows
        assert {*trees.traces[nodes].tolist()} == {index}
    walked, cut, missing, warned = list[int](), set[int](), set[int](), dict[int, int]()
    for number in numbers:
        tree = store.tree(number)
        for node, depth in tree.walk():
            if tree.is_missing(node):
                missing.add(position_of[tree.rows[tree.children(node)[0]]])
                continue
            position = position_of[tree.rows[node]]
            parent = tree.parents[node]
            expected = (
                ROOT if parent == ROOT else MISSING if tree.is_missing(parent) else position_of[tree.rows[parent]]
            )
            assert forest.parents[position] == expected
            assert forest.traces[position] == number
            assert depths[position] == depth
            below = [position_of[tree.rows[child]] for child in tree.children(node)]
            assert children[begins[position] : begins[position + 1]].tolist() == below
            assert sizes[position] == 1 + sum(sizes[below].tolist())
            walked.append(position)
        warned |= {position_of[tree.rows[node]]: warnings.value for node, warnings in tree.warned().items()}
        cut |= {position_of[tree.rows[node]] for node in tree.cut}
    assert sorted(walked) == [*range(len(forest))]
    assert preorder[walked].tolist() == [*range(len(forest))]
    assert forest.cut.tolist() == sorted(cut)
    assert {position: found for position, found in enumerate(forest.warnings().tolist()) if found} == warned
    if traces is None:
        incomplete = [not store.tree(number).complete for number in numbers]
        assert incomplete_traces(store, np.arange(len(numbers))).tolist() == incomplete
    found = forest.missing().tolist()
    assert len(found) == len(missing)
    assert {*found} == missing


@settings(max_examples=250, deadline=None)
@given(st.one_of(graphs(most=20), forests(traces=4, most=30), whole_traces(most=20)), st.integers(0, 7))
def test_any_spans(documents: list[Document], chosen: int) -> None:
    """Self-parents, circles, doubled, unusable and missing ids, ids of other traces: as in the trees."""
    store = store_of(*documents)
    check(store)
    check(store, [trace for trace in range(len(store.trace_table)) if chosen >> trace & 1])


@settings(max_examples=100, deadline=None)
@given(graphs(most=12), graphs(most=12), st.permutations(["b", "a", "c"]))
def test_doubles_in_several_files(one: list[Document], other: list[Document], paths: list[str]) -> None:
    """Which of several spans with one id is a parent is decided by path and offset, whatever came first."""
    files = zip(paths, map(file_of, (one, other, [*one, *other])), strict=True)
    check(store_of_files(dict(files)))


@pytest.mark.parametrize("depth", [1, 2, 3, 64, 65, 1_000])
def test_chains_and_circles_of_any_length(depth: int) -> None:
    """What hangs from a root and what goes round."""
    build = Builder()
    chain = [build.span(trace=1, span=at, parent=at - 1 or None, start=at) for at in range(1, depth + 1)]
    circle = [build.span(trace=2, span=at, parent=at % depth + 1, start=at) for at in range(1, depth + 1)]
    check(store_of(*chain, *circle))


def test_nothing() -> None:
    """A store without spans has an empty forest, and so has a choice of no traces."""
    check(store_of())
    check(store_of(Builder().span()), [])


def test_a_forest_stays_as_it_was_while_its_store_grows() -> None:
    """What is added later isn't part of it, and neither are its columns."""
    build = Builder()
    store = store_of(build.span("a", span=1), build.span("b", span=2, parent=1))
    forest = forest_of(store)
    more = store_of(build.span("c", span=3, parent=2))
    assert len(more.spans) == 1
    for name in store.spans.__slots__:
        getattr(store.spans, name).extend(getattr(more.spans, name))
    assert len(forest) == len(forest.of("span_id")) == 2
    assert len(forest_of(store)) == 3


def test_that_of_all_traces_is_shared_as_long_as_anybody_has_it() -> None:
    """Whoever asks for all traces while somebody has their forest gets that one, and its times; then it is let go."""
    store = store_of(Builder().span("a"))
    forest = forest_of(store)
    times = times_in(forest)
    assert forest_of(store) is forest
    assert times_in(forest_of(store)) is times
    assert forest_of(store, [0]) is not forest

    held = ref(forest)
    del forest, times
    collect()
    assert held() is None


def test_a_store_that_has_grown_has_another_one() -> None:
    """A forest that somebody has is none of a store to which spans have come."""
    builder, store = Builder(), store_of()
    before = forest_of(store)
    source, decoder = store.add_source("spans/2.json"), Decoder()
    store.add(source, decoder.feed(file_of([builder.span("a"), builder.span("b")])))
    assert (len(before), len(forest_of(store))) == (0, 2)
