"""What was acknowledged is there after a clean stop, and after a kill."""

from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess, running_broker
from tests.clients.adapters import CLIENTS, AioKafka, Client, Message, Options, numbered

REST = "interval", "none"


@pytest.mark.parametrize(
    ("client", "durability"),
    [*((client, "commit") for client in CLIENTS), *((AioKafka(), how) for how in REST)],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_records_survive_a_stop_and_a_kill(
    tmp_path: Path, client: Client, durability: str
) -> None:
    """What a client says does not depend on when the broker syncs it."""
    messages = [Message(b"%d" % n, b"v%d" % n, partition=n % 2) for n in range(200)]
    options = ("--durability", durability, "-o", "log.retention.ms=-1")
    with running_broker(tmp_path / "data", *options) as broker:
        client.create_topic(broker.address, "kept", 2)
        stops = (BrokerProcess.terminate, BrokerProcess.kill, BrokerProcess.terminate)
        for number, stop in enumerate(stops):
            part = messages[number * 50 : (number + 1) * 50]
            client.produce(broker.address, "kept", part, Options())
            stop(broker)
            broker.start()
            sent = messages[: (number + 1) * 50]
            for partition in (0, 1):
                own = [each for each in sent if each.partition == partition]
                found = client.consume(broker.address, "kept", partition, len(own))
                assert found == list(numbered(own))
        assert "Traceback" not in broker.log()
