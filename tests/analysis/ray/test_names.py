"""Short names of Ray's functions, and which are Ray's own.

__main__.leaf ray.remote            leaf
main.<locals>.A.ok ray.remote       A.ok
"""

import time

import pytest

from spanview.analysis.ray.names import RAN, SUBMITTED, ShortNames, function_of, is_rays_own, short_names
from spanview.index.table import MAX_TEXT_LENGTH, Interned


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("__main__.leaf ray.remote", "leaf"),
        ("__main__.leaf ray.remote_worker", "leaf"),
        ("ray.data._internal.execution.map_operator._map_task ray.remote", "_map_task"),
        ("main.<locals>.A.ok ray.remote", "A.ok"),
        ("_StatsActor.update ray.remote_worker", "_StatsActor.update"),
        ("counter.__init__ ray.remote", "counter.__init__"),
        ("MapWorker(MapBatches(pkg.Model)).submit ray.remote", "MapWorker(MapBatches(pkg.Model)).submit"),
        ("a.<locals>.MapWorker(pkg.Map(x)).submit ray.remote", "MapWorker(pkg.Map(x)).submit"),
        ("__main__.unbalanced(.f ray.remote", "unbalanced(.f"),
        ("leaf ray.remote", "leaf"),
    ],
)
def test_short_name(name: str, short: str) -> None:
    """A task is known by its function's name, a method by its class's and its own."""
    assert short_names([name]) == {name: short}


@pytest.mark.parametrize("name", ["pipeline.run", "", " ray.remote", "__main__. ray.remote", "x ray.remote.y"])
def test_a_name_that_is_no_call_of_ray_stays(name: str) -> None:
    """Only names of Ray's calls are shortened, and only where something is left of them."""
    assert short_names([name]) == {}


def test_functions_of_one_name_are_told_apart() -> None:
    """Functions that differ in their modules alone get as many parts as tell them apart, and others none."""
    names = ["a.jobs.run ray.remote", "b.jobs.run ray.remote_worker", "c.run ray.remote", "c.stop ray.remote"]
    assert [*short_names(names).values()] == ["a.jobs.run", "b.jobs.run", "c.run", "stop"]


def test_a_function_is_not_called_like_another_span() -> None:
    """A function that has the name of a span that isn't Ray's keeps its module, or its whole name."""
    names = ["leaf", "__main__.leaf ray.remote", "A.ok", "A.ok ray.remote_worker"]
    assert short_names(names) == {"__main__.leaf ray.remote": "__main__.leaf"}


def test_a_method_has_one_name_where_it_is_called_and_where_it_runs() -> None:
    """The path of a method is longer where it is called than where it runs: that is one function."""
    call, run = "main.<locals>.A.ok ray.remote", "A.ok ray.remote_worker"
    assert short_names([call, run]) == {call: "A.ok", run: "A.ok"}
    other = "other.<locals>.A.ok ray.remote"
    assert short_names([call, run, other]) == {
        call: "main.<locals>.A.ok",
        run: "A.ok",
        other: "other.<locals>.A.ok",
    }


def test_halves_of_a_call_are_told_apart_where_they_are_listed_side_by_side() -> None:
    """In lists by name, a call and its attempt keep their endings where both are there."""
    names = ["__main__.leaf ray.remote", "__main__.leaf ray.remote_worker", "__main__.t ray.remote"]
    short = short_names(names, tells_halves=True)
    assert [*short.values()] == ["leaf ray.remote", "leaf ray.remote_worker", "t"]


def test_short_names_of_what_is_still_being_read() -> None:
    """Names that come later change those they would be mistaken for, and no others."""
    names = Interned()
    short = ShortNames(names)
    first, second = "a.run ray.remote", "a.stop ray.remote"
    assert [names.number(name) for name in (first, second)] == [0, 1]
    assert (short[first], short[second], short["unknown"]) == ("run", "stop", "unknown")
    names.number("b.run ray.remote_worker")
    assert (short[first], short[second]) == ("a.run", "stop")
    names.number("stop")
    assert (short[first], short[second]) == ("a.run", "a.stop")


def test_many_names_take_no_time_to_speak_of() -> None:
    """Ten thousand names that differ in their first parts alone, and long ones from anybody, are told apart at once."""
    names = [f"pkg{number}.jobs.steps.run ray.remote" for number in range(10_000)]
    names += [f"{letter}{'.x' * 2000} ray.remote" for letter in "abc"]
    began = time.process_time()
    short = short_names(names)
    assert time.process_time() - began < 1
    assert len({*short.values()}) == len(names)


def test_a_name_that_is_cut_keeps_its_ending() -> None:
    """Both halves of its call are one function; other names of its length, and without its ending, are others."""
    names = Interned()
    endings = SUBMITTED, RAN, " and more words", ""
    texts = [f"__main__.{letter * 5_000}{ending}" for letter in "xy" for ending in endings]
    numbers = [names.number(text) for text in texts]
    assert numbers == [*range(len(texts))] == [names.number(text) for text in texts]
    assert names.cut == {*numbers}
    assert max(map(len, names.texts)) <= MAX_TEXT_LENGTH
    functions = [function_of(names.texts[number]) for number in numbers]
    assert functions[0] == functions[1] != functions[4] == functions[5]
    assert short_names(names.texts[:2]) == dict.fromkeys(names.texts[:2], functions[0].removeprefix("__main__."))


OWN = [
    # Seen in recordings of Ray Data, of Ray Serve and of jobs.
    ("_StatsActor.update_execution_metrics", True),
    ("_AutoscalingCoordinatorActor.get_reserved_resources", True),
    ("ActorLocationTracker.get_actor_locations", True),
    ("JobSupervisor.run", True),
    ("ServeController.get_deployment_info", True),
    ("ProxyActor", True),
    ("ray.util.client.server.server._run", True),
    # The program's own, or on its behalf.
    ("__main__.leaf", False),
    ("_Private.work", False),
    ("Counter.incr", False),
    ("main.<locals>.ProxyActor.ok", False),
    ("MapWorker(MapBatches(Model)).submit", False),
    ("ServeReplica:app:Model.handle_request", False),
    ("ray.data._internal.execution.operators.map_operator._map_task", False),
    ("ray.data._internal.planner.exchange.shuffle_task_spec.map", False),
    ("rays.own", False),
    ("", False),
]


@pytest.mark.parametrize(("function", "expected"), OWN)
def test_what_is_rays_own(function: str, *, expected: bool) -> None:
    """Ray's bookkeeping is its own; tasks of Ray Data do the program's work."""
    assert is_rays_own(function) is expected
