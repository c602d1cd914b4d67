"""One broker for each event loop, shared by the tests of the client."""

from collections.abc import Iterator

import pytest

from odradek.client.cluster import Cluster
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected


@pytest.fixture(scope="session", params=["uvloop", "asyncio"])
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp(f"client-{request.param}") / "data"
    with running_broker(data_dir, loop=request.param) as process:
        yield process
        assert "Traceback" not in process.log()


@pytest.fixture(scope="session")
def odradek_config() -> dict[str, str]:
    """Of brokers that a test has for itself: what they answer is on the disk."""
    return {"durability": "commit"}


@pytest.fixture
def cluster(broker: BrokerProcess) -> Iterator[Cluster]:
    with connected(broker.port) as cluster:
        yield cluster
