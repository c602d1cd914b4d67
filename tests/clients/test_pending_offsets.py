"""A member that takes over waits for offsets that a transaction is about to move."""

import contextlib

import pytest

from tests.broker_process import BrokerProcess
from tests.clients.adapters import CLIENTS, Confluent
from tests.clients.consumers import CONSUMERS, Place, Rebalances, Settings
from tests.clients.members import Member, has_read, shares, until
from tests.clients.questions import committed, describe
from tests.clients.test_transactions import produce_plainly, producing

# kafka-python leaves sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.usefixtures("collected"),
]


@pytest.mark.parametrize("broker", ["uvloop"], indirect=True)
@pytest.mark.parametrize("name", ["confluent-kafka", "kafka-python"])
@pytest.mark.parametrize("commit", [True, False])
def test_who_takes_over_begins_where_the_transaction_leaves_the_group(
    broker: BrokerProcess, topic: str, name: str, commit: bool
) -> None:
    """aiokafka asks in versions that cannot say that they want stable offsets."""
    (client,) = (each for each in CLIENTS if each.name == name)
    Confluent().create_topic(broker.address, topic, 1)
    place, values = Place(topic, 0), [b"1", b"2", b"3"]
    produce_plainly(broker, place, *values)
    settings = Settings("g-" + topic, (topic,), is_committed_only=True)
    consumer = CONSUMERS[name](broker.address, settings, Rebalances())
    with producing(broker, client, topic) as producer:
        with contextlib.closing(consumer):
            until(lambda: consumer.poll(0.05), "read")
            producer.begin()
            producer.send_offsets(consumer.group_metadata(), {place: 2})
        with Member(name, broker.address, settings) as heir:
            until(lambda: shares(heir, partitions=1), "assigned", heir)
            until(
                lambda: describe(broker, settings.group).group_state == "Stable",
                "a member",
            )
            assert not heir.values()
            if commit:
                producer.commit()
            else:
                producer.abort()
            left = values[2:] if commit else values
            until(lambda: has_read([heir], left), "read on", heir)
            assert heir.values() == left
            expected = {0: 2} if commit else {}
            assert committed(broker, settings.group, topic) == expected
