"""Groups change their protocol while their members read: classic, both, consumer."""

from collections.abc import Iterator

import confluent_kafka
import pytest

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.groups import describe_group
from tests.broker_process import BrokerProcess, running_broker
from tests.clients.consumers import Consumer, Settings
from tests.clients.members import Member, has_read, shares, until
from tests.clients.questions import committed
from tests.clients.test_consumer_protocol import CLIENT, OPTIONS
from tests.clients.test_groups import PARTITIONS, fill

pytestmark = pytest.mark.usefixtures("collected")
CLASSIC = "confluent-kafka"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("migration") / "data"
    options = [part for each in OPTIONS.items() for part in ("-o", "=".join(each))]
    with running_broker(data_dir, *options) as process:
        yield process
        assert "Traceback" not in process.log()


def type_of(broker: BrokerProcess, group: str) -> str:
    with Cluster([Address("127.0.0.1", broker.port)]) as cluster:
        return describe_group(cluster, group).group_type


def commit(consumer: Consumer) -> None:
    """Commit what it has read, if that is anything since it was given partitions."""
    try:
        consumer.commit()
    except confluent_kafka.KafkaException as error:
        if error.args[0].code() != confluent_kafka.KafkaError._NO_OFFSET:
            raise


@pytest.mark.parametrize("is_cooperative", [False, True], ids=["eager", "cooperative"])
def test_g011_members_change_one_by_one_and_back(
    broker: BrokerProcess, topic: str, is_cooperative: bool
) -> None:
    values = fill(broker, topic, range(100))
    settings = Settings("g-" + topic, (topic,), is_cooperative=is_cooperative)

    def begin(client: str) -> Member:
        return Member(client, broker.address, settings)

    def both_read(numbers: range, *members: Member) -> None:
        until(lambda: shares(*members, partitions=PARTITIONS), "shared", *members)
        more = fill(broker, topic, numbers)
        values.extend(more)
        until(lambda: has_read(members, more), "read", *members)
        until(lambda: all_committed(*members), "committed", *members)

    def all_committed(*members: Member) -> bool:
        """What somebody has read who lost it before this, the next one reads again."""
        for each in members:
            each.do(commit)
        return sum(committed(broker, settings.group, topic).values()) == len(values)

    members = [begin(CLASSIC), begin(CLASSIC)]
    gone: list[Member] = []
    try:
        until(lambda: has_read(members, values), "read", *members)
        both_read(range(100, 200), *members)
        assert type_of(broker, settings.group) == "classic"
        for number, client in enumerate((CLIENT, CLIENT, CLASSIC, CLASSIC)):
            members.append(begin(client))
            both_read(range(200 + 200 * number, 300 + 200 * number), *members)
            leaving = members.pop(0)
            leaving.close()
            gone.append(leaving)
            both_read(range(300 + 200 * number, 400 + 200 * number), *members)
            is_mixed = number in (0, 2)
            expected = "consumer" if is_mixed or number == 1 else "classic"
            assert type_of(broker, settings.group) == expected, number
        read = [value for each in (*gone, *members) for value in each.values()]
        assert set(read) == set(values), "nothing is lost"
        assert len(values) == 1000
        assert sum(committed(broker, settings.group, topic).values()) == 1000
    finally:
        for each in members:
            each.close()
