"""What all tests have in common: they leave the cache and the settings of whoever runs them alone, and are shared out.

group     what is in it                                                  runs
-----     -------------                                                  ----
ray       real Ray programs                                              first, one after the other in one process
machine   what watches time, or all that a machine has of something      the same, in another process
          everything else                                                wherever there is time; what takes long first

Tests that wait are let run beside tests that calculate: there are two processes more than CI has processors.
"""

from __future__ import annotations

import gc
import itertools
import os
import py_compile
import sys
import time
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir
from hypothesis import HealthCheck, settings

from seeds import THOROUGH, spread
from spanview.analysis.logs import times as log_times

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_GROUPS: Final = ("ray", "machine")
_LONG: Final = ("test_tools_find_nothing", "lowest_versions", "source_archive", "test_same_bytes", "test_row")
"""In the names of tests that take so long that they are not to come last."""
_TESTS: Final = Path(__file__).parent
_SHARE: Final = 20
"""Property tests make the twentieth part of their examples, other ones each time, and all with `THOROUGH=1`."""
_FEWEST: Final = 10
_GARBAGE: Final = 50_000, 20, 50
"""So many objects more, and so many looks at them, before the next and the next older ones are looked at."""

# That examples are made slowly says how busy the machine is.
settings.register_profile("busy", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# Hundreds of programs are started: each would compile all of its modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@contextmanager
def _in_zone(name: str) -> Iterator[None]:
    """Let the local zone be another one, by its name in TZ."""
    if sys.platform == "win32":
        pytest.skip("the zone of a process can't be set here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        # Minutes that were looked up in another zone are kept.
        log_times._seconds.cache_clear()
        yield
    time.tzset()
    log_times._seconds.cache_clear()


@pytest.fixture
def universal_time() -> Iterator[None]:
    """Let the local zone be that of the recordings."""
    with _in_zone("UTC"):
        yield


@pytest.fixture
def two_hours_east() -> Iterator[None]:
    """Let the local zone be two hours further east."""
    with _in_zone("EET-2"):
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Let each process compile a part of what nobody has compiled, lest in a fresh copy each compiles everything."""
    if (process := getattr(config, "workerinput", None)) is None:
        return
    number, count = int(process["workerid"].removeprefix("gw")), process["workercount"]
    for path in sorted(_TESTS.rglob("test_*.py"))[number::count]:
        compiled = get_cache_dir(path) / f"{path.stem}{PYC_TAIL}"
        if not compiled.exists():
            compiled.parent.mkdir(exist_ok=True)
            status, code = _rewrite_test(path, config)
            _write_pyc(config.stash[assertstate_key], code, status, compiled)
    for path in sorted((_TESTS.parent / "spanview").rglob("*.py"))[number::count]:
        if not os.path.exists(cache_from_source(path)):
            py_compile.compile(os.fspath(path))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what has a seed as tried in full with `THOROUGH=1` only, as hypothesis marks its tests."""
    if "seed" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.shortened)


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None]:
    """Make a test in as many of its variants as its mark says."""
    yield
    mark = metafunc.definition.get_closest_marker("shortened")
    if mark is not None and mark.args:
        metafunc._calls = [*spread(metafunc._calls, mark.args[0], lambda call: tuple(call.indices.values()))]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Keep together what may not run beside each other, let the longest begin, and make property tests shorter."""
    for item in items:
        for group in _GROUPS:
            if item.get_closest_marker(group):
                item.add_marker(pytest.mark.xdist_group(group))
                break
    items.sort(key=_rank)
    if not THOROUGH:
        shortened = set[Any]()
        for item in items:
            # The groups have to be there before xdist looks, and then hypothesis hasn't marked its tests yet.
            if isinstance(item, pytest.Function):
                test = getattr(item.obj, "__func__", item.obj)
                if getattr(test, "is_hypothesis_test", False) and test not in shortened:
                    _shorten(test)
                    shortened.add(test)
    yield
    for item in items:
        _let_group_count(item)


def pytest_collection_finish() -> None:
    """Look for garbage less often, and not among tests and modules: it would take a quarter of the time else."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE)


def _let_group_count(item: Any) -> None:
    """Put the group into the name by which xdist shares tests out.

    xdist 3.8 sets `_nodeid`, which pytest 9.2 no longer reads: without this all groups are ignored, silently.
    """
    named = getattr(item, "_nodeid", item.nodeid)
    if named != item.nodeid:
        item._id = type(item._id).parse(named)


def _rank(item: pytest.Item) -> int:
    for rank, group in enumerate(_GROUPS):
        if item.get_closest_marker(group):
            return rank
    return len(_GROUPS) + (not any(name in item.name for name in _LONG))


def _shorten(test: Any) -> None:
    full = test._hypothesis_internal_use_settings or settings()
    test._hypothesis_internal_use_settings = settings(
        full, max_examples=min(full.max_examples, max(_FEWEST, full.max_examples // _SHARE))
    )


@pytest.fixture(scope="session", autouse=True)
def _own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let indexes be kept in a folder that nobody else uses, by other processes too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path_factory.mktemp("cache")))
        yield


_NUMBERS: Final = itertools.count()


@pytest.fixture(scope="session")
def _all_settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("config")


@pytest.fixture(autouse=True)
def _own_settings(_all_settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test find no settings but its own, in the programs that it starts too."""
    monkeypatch.setenv("XDG_CONFIG_HOME", os.fspath(_all_settings / str(next(_NUMBERS))))
