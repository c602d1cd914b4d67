"""The fixtures; what they need is loaded with the first test that uses one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from odradek.testing import Broker, Topic
    from odradek.testing.faults import Faults


@pytest.fixture(scope="session")
def odradek_config() -> Mapping[str, Any]:
    """Options of the broker; a project overrides this fixture with its own."""
    return {}


@pytest.fixture(scope="session")
def odradek(
    odradek_config: Mapping[str, Any], request: pytest.FixtureRequest
) -> Broker:
    """A broker that runs as long as the tests do, and that all of them use."""
    from .run import PluginRun

    return PluginRun.of(request.config).shared(odradek_config, "odradek")


@pytest.fixture
def odradek_own(
    odradek_config: Mapping[str, Any], request: pytest.FixtureRequest
) -> Iterator[Broker]:
    """A broker for this test alone: its clock, its process, its faults."""
    from .run import PluginRun

    run = PluginRun.of(request.config)
    yield run.lend("odradek_own", odradek_config)
    run.take_back("odradek_own")


@pytest.fixture
def odradek_topics(
    odradek: Broker, request: pytest.FixtureRequest
) -> Iterator[Callable[..., list[Topic]]]:
    """``odradek_topics(n, partitions=1, config=None)``: so many topics."""
    from .run import PluginRun

    run = PluginRun.of(request.config)
    made: list[Topic] = []

    def make(
        count: int = 1, partitions: int = 1, config: Mapping[str, Any] | None = None
    ) -> list[Topic]:
        topics = [
            odradek.topic(run.name(request), partitions, config) for _ in range(count)
        ]
        made.extend(topics)
        return topics

    yield make
    run.delete(made)


@pytest.fixture
def odradek_topic(odradek_topics: Callable[..., list[Topic]]) -> Topic:
    """A topic with one partition, which no other test has."""
    return odradek_topics()[0]


@pytest.fixture
def odradek_group(request: pytest.FixtureRequest) -> str:
    """The id of a group that no other test has."""
    from .run import PluginRun

    run = PluginRun.of(request.config)
    return run.used.add_group(run.name(request))


@pytest.fixture
def odradek_txn_id(request: pytest.FixtureRequest) -> str:
    """A transactional id that no other test has."""
    from .run import PluginRun

    run = PluginRun.of(request.config)
    return run.used.add_transactional_id(run.name(request))


@pytest.fixture
def odradek_faults(odradek: Broker, request: pytest.FixtureRequest) -> Iterator[Faults]:
    """Faults for the topics and ids of this test alone, gone when it ends."""
    from odradek.testing.faults import Faults

    from .run import PluginRun

    scope = PluginRun.of(request.config).scope(request)
    faults = Faults(odradek.ask, scope=scope)
    yield faults
    faults.clear()
