"""Names of the spans of Ray's calls."""

from __future__ import annotations

import pytest

from spanview.analysis.ray_names import is_rays_own

NAMES = [
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


@pytest.mark.parametrize(("function", "expected"), NAMES)
def test_what_is_rays_own(function: str, *, expected: bool) -> None:
    """Ray's bookkeeping is its own; tasks of Ray Data do the program's work."""
    assert is_rays_own(function) is expected
