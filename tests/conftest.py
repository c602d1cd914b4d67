"""Which event loops a test runs on, which tests share a process, and their order.

Every async test near a socket runs on both event loops, all others on asyncio's.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A JVM that lives for a minute is best off without its second compiler: a start of
# Spark costs half of the processor's time.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Which cluster its user works with is not for a test to find out.
for variable in "ODRADEK_BOOTSTRAP_SERVER", "ODRADEK_PROFILE", "ODRADEK_REGISTRY":
    os.environ.pop(variable, None)
os.environ["XDG_CONFIG_HOME"] = "/dev/null"  # no folder can be made there

# A shell ignores SIGINT for what it runs in the background, and children inherit that:
# none of them could be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# And nohup has SIGHUP ignored; this run outlives it all the same.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# How long an example takes depends on what the machine does beside; so does how fast
# examples are made. Which are tried is left to chance, but where a change is judged.
settings.register_profile(
    "odradek",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("odradek")

# Property tests try so many times their examples; 0.1 is a tenth of them.
EXAMPLES_FACTOR = float(os.environ.get("ODRADEK_EXAMPLES", "1"))
EXAMPLES_MIN = 5
# Of a few examples, so many may be thrown away that all of them together are sound.
JUDGED_BY_MANY = [HealthCheck.filter_too_much, HealthCheck.data_too_large]
MULTIPLIED: set[object] = set()

LoopFactory = Callable[[], asyncio.AbstractEventLoop]

HERE = Path(__file__).parent
# Who fails in a helper is told what was compared, as in a test.
pytest.register_assert_rewrite(*(f"tests.{each.stem}" for each in HERE.glob("[a-z]*")))
BOTH_LOOPS = [HERE / "broker" / "network", HERE / "client", HERE / "clients"]
BOTH_LOOPS += [HERE / "broker" / "node" / "test_server.py"]
# Tests that share what is dear to start, a JVM: of a folder, or with a fixture.
KAFKA, SPARK = HERE / "apache_kafka", "spark"
GROUP = pytest.StashKey[str]()
# The groups that take minutes, then the folders whose modules take most of one.
LONG = [SPARK, KAFKA.name, "pipeline/", "crash/", "clients/", "fuzz/"]


def loop_factories() -> dict[str, LoopFactory]:
    """The loops by name; uvloop where it is installed."""
    factories: dict[str, LoopFactory] = {"asyncio": asyncio.new_event_loop}
    with contextlib.suppress(ImportError):
        import uvloop

        factories["uvloop"] = uvloop.new_event_loop
    return factories


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, LoopFactory]:
    factories = loop_factories()
    if _is_near_a_socket(item.path):
        return factories
    return {"asyncio": factories["asyncio"]}


@cache
def _is_near_a_socket(path: Path) -> bool:
    return any(folder == path or folder in path.parents for folder in BOTH_LOOPS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """A command that a test calls sets up logging for good, on what pytest closes."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    result = yield
    if root.handlers != handlers:
        root.handlers[:] = handlers
    if root.level != level:
        root.setLevel(level)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    items: list[pytest.Item],
) -> Generator[None, object, object]:
    """Of several processes (pytest-xdist), one gets all tests of a module.

    What takes long comes first: in the end no process is at work alone.
    """
    for item in items:
        group = _group_of(item.path, SPARK in getattr(item, "fixturenames", ()))
        item.stash[GROUP] = group
        item.add_marker(pytest.mark.xdist_group(group))
        if EXAMPLES_FACTOR != 1:
            _multiply_examples(item)
    result = yield
    items.sort(key=lambda item: _rank(item.stash[GROUP]))
    return result


@cache
def _group_of(path: Path, has_spark: bool) -> str:
    if KAFKA in path.parents:
        # Who joins a cluster has one of its own.
        joins = path.name.startswith("test_join")
        return f"{KAFKA.name}/join" if joins else KAFKA.name
    if has_spark:
        # Two of them: one alone would be at work when all else has ended.
        return SPARK if path.parent == HERE / "pipeline" else f"{SPARK}/parts"
    return str(path.relative_to(HERE))


def _multiply_examples(item: pytest.Item) -> None:
    """Of a property test, or of a state machine; once, however often it is given."""
    assert isinstance(item, pytest.Function)
    owner = getattr(item.obj, "__func__", item.obj)
    name = "_hypothesis_internal_use_settings"
    if isinstance(getattr(item.cls, "settings", None), settings):
        owner, name = item.cls, "settings"
    found = getattr(owner, name, None)
    if isinstance(found, settings) and owner not in MULTIPLIED:
        MULTIPLIED.add(owner)
        least = min(found.max_examples, EXAMPLES_MIN)
        examples = max(round(EXAMPLES_FACTOR * found.max_examples), least)
        changed = settings(
            found,
            max_examples=examples,
            suppress_health_check=[*found.suppress_health_check, *JUDGED_BY_MANY],
        )
        setattr(owner, name, changed)


def pytest_sessionstart() -> None:
    """Each process collects all tests, and a search for garbage there finds none."""
    gc.disable()


def pytest_collection_finish() -> None:
    """The tests themselves are no garbage: later searches for it leave them out."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """Libraries look for what they have leaked when the process ends."""
    gc.unfreeze()


@cache
def _rank(group: str) -> int:
    return next((n for n, name in enumerate(LONG) if group.startswith(name)), len(LONG))
