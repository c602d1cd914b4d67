"""One broker for each event loop, shared by the client tests."""

from collections.abc import Iterator

import pytest

from tests.broker_process import BrokerProcess, running_broker
from tests.clients.members import end_all
from tests.collected import collect_garbage

OPTIONS = (
    # The records are dated long ago; retention would be right to delete them.
    *("-o", "log.retention.ms=-1"),
    # Dead members, and transactions that nobody ends, are noticed soon.
    *("-o", "group.min.session.timeout.ms=500"),
    *("-o", "transaction.abort.timed.out.transaction.cleanup.interval.ms=200"),
)


OTHERS = ("aiokafka", "kafka-python")


def pytest_itemcollected(item: pytest.Item) -> None:
    """On the second loop one client runs always: what is told does not change."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or callspec.params.get("broker") != "asyncio":
        return
    client = callspec.params.get("client")
    if getattr(client, "name", client) in OTHERS:
        item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session", params=["uvloop", "asyncio"])
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp(f"clients-{request.param}") / "data"
    with running_broker(data_dir, *OPTIONS, loop=request.param) as process:
        yield process
        assert "Traceback" not in process.log()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name of the test's own."""
    names = [c if c.isalnum() else "-" for c in request.node.name]
    return "".join(names).strip("-")[:200]


@pytest.fixture(autouse=True)
def no_member_is_left() -> Iterator[None]:
    """Its threads would go on beside the tests that follow."""
    yield
    end_all()


@pytest.fixture(scope="module", autouse=True)
def collected_at_last() -> Iterator[None]:
    """The same for a whole module: some of it is only let go when that is over."""
    yield
    collect_garbage()


@pytest.fixture
def collected() -> Iterator[None]:
    """What clients left lying about is collected here, and not in another test."""
    yield
    collect_garbage()
