"""Options of writes, and what is said of those that there are not."""

import pickle

import pytest

from odradek.client.address import Address
from odradek.client.producer import ProducerSettings
from odradek.pipeline.errors import BadOption
from odradek.pipeline.writing.options import BOOTSTRAP, read_write_options

BROKER = {BOOTSTRAP: "a:1,b:2"}


def test_what_is_usual() -> None:
    found = read_write_options(BROKER)
    assert found.bootstrap == (Address("a", 1), Address("b", 2))
    assert (found.topic, found.settings) == ("", ProducerSettings())
    assert pickle.loads(pickle.dumps(found)) == found


def test_what_a_producer_is_told() -> None:
    found = read_write_options(
        {
            "kafka.bootstrap.servers": "a:1",
            "TOPIC": "orders",
            "checkpointLocation": "/chk",
            "kafka.acks": "1",
            "kafka.compression.type": "zstd",
            "kafka.batch.size": "5000",
            "kafka.max.request.size": "70000",
            "kafka.request.timeout.ms": "1500",
            "kafka.delivery.timeout.ms": "9000",
            "kafka.linger.ms": "5",
            "kafka.client.id": "me",
        }
    )
    assert (found.topic, found.client_id, found.timeout_s) == ("orders", "me", 1.5)
    assert found.settings == ProducerSettings(
        acks=1,
        compression=4,
        idempotent=False,
        batch_size=5000,
        request_size_max=70_000,
        request_timeout_ms=1500,
        delivery_timeout_ms=9000,
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Option kafka.bootstrap.servers: says where the brokers are"),
        ({BOOTSTRAP: "a:x"}, "Option kafka.bootstrap.servers: "),
        (
            {"topc": "x"},
            "Option topc: writing has none of this name. Did you mean topic",
        ),
        ({"subscribe": "x"}, "writing has none of this name"),
        ({"kafka.ack": "1"}, "a producer has no such option. Did you mean kafka.acks?"),
        ({"kafka.acks": "2"}, "is one of all, -1, 1, 0, and not '2'"),
        ({"kafka.compression.type": "zst"}, "Did you mean zstd?"),
        ({"kafka.batch.size": "0"}, "is a number of at least 1, and not '0'"),
        ({"kafka.transactional.id": "t"}, "rows are there at least once"),
        ({"kafka.key.serializer": "x"}, "cast them in a select"),
        ({"kafka.sasl.mechansm": "x"}, "kafka.sasl.mechansm"),
        (
            {"kafka.acks": "1", "kafka.enable.idempotence": "true"},
            "takes acks=all; leave one of them out",
        ),
        ({"commandConfig": "/nowhere/x"}, "Option commandConfig: "),
    ],
)
def test_what_cannot_be(given: dict[str, str], said: str) -> None:
    with pytest.raises(BadOption) as caught:
        read_write_options(given if BOOTSTRAP in given or not given else BROKER | given)
    assert said in str(caught.value)
