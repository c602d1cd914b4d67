"""librdkafka in groups of the consumer protocol (KIP-848): the broker assigns."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.groups import GroupDescription, describe_group, list_groups
from odradek.protocol.errors import GroupIdNotFound
from tests.broker_process import BrokerProcess, running_broker
from tests.clients.consumers import Place, Settings
from tests.clients.members import Member, has_read, shares, until
from tests.clients.questions import committed
from tests.clients.test_groups import PARTITIONS, fill

pytestmark = pytest.mark.usefixtures("collected")

CLIENT = "confluent-consumer-protocol"
# Members are heard often, so that tests are short.
OPTIONS = {
    # The records are dated long ago; retention would be right to delete them.
    "log.retention.ms": "-1",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.session.timeout.ms": "3000",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.assignment.interval.ms": "0",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("consumer-protocol") / "data"
    options = [part for each in OPTIONS.items() for part in ("-o", "=".join(each))]
    with running_broker(data_dir, *options) as process:
        yield process
        assert "Traceback" not in process.log()


def described(broker: BrokerProcess, group: str) -> GroupDescription:
    with Cluster([Address("127.0.0.1", broker.port)]) as cluster:
        return describe_group(cluster, group)


def test_members_come_and_go(broker: BrokerProcess, topic: str) -> None:
    values = fill(broker, topic, range(200))
    settings = Settings("g-" + topic, (topic,))
    with Member(CLIENT, broker.address, settings) as first:
        until(lambda: has_read([first], values), "read", first)
        first.do(lambda consumer: consumer.commit())
        second = Member(CLIENT, broker.address, settings)
        both = first, second
        until(lambda: shares(*both, partitions=PARTITIONS), "shared", *both)
        more = fill(broker, topic, range(200, 400))
        until(lambda: has_read(both, more), "read by both", *both)
        assert second.values()
        assert sorted(first.values() + second.values()) == sorted(values + more)
        second.close()
        until(lambda: shares(first, partitions=PARTITIONS), "given back", first)
        group = described(broker, settings.group)
        assert (group.group_type, group.state) == ("consumer", "Stable")
        assert group.assignor == "uniform"
        (member,) = group.members
        assert member.assignment == [(topic, each) for each in range(PARTITIONS)]
        with Cluster([Address("127.0.0.1", broker.port)]) as cluster:
            listed = {each.group_id: each for each in list_groups(cluster)}
            assert listed[settings.group].group_type == "consumer"
    until(lambda: not described(broker, settings.group).members, "left")
    assert described(broker, settings.group).state == "Empty"


def test_what_is_committed_is_where_the_next_one_begins(
    broker: BrokerProcess, topic: str
) -> None:
    values = fill(broker, topic, range(100))
    settings = Settings("g-" + topic, (topic,))
    with Member(CLIENT, broker.address, settings) as first:
        until(lambda: has_read([first], values), "read", first)
        first.do(lambda consumer: consumer.commit())
    assert sum(committed(broker, settings.group, topic).values()) == 100
    more = fill(broker, topic, range(100, 120))
    with Member(CLIENT, broker.address, settings) as second:
        until(lambda: has_read([second], more), "read", second)
        assert sorted(second.values()) == sorted(more)


def test_a_pattern_finds_topics_that_are_made_later(
    broker: BrokerProcess, topic: str
) -> None:
    values = fill(broker, topic + "-1", range(20))
    settings = Settings("g-" + topic, pattern=topic + "-[0-9]+")
    with Member(CLIENT, broker.address, settings) as member:
        until(lambda: has_read([member], values), "read", member)
        fill(broker, topic + "-x", range(20))
        more = fill(broker, topic + "-2", [0, 1, 2, 3])
        until(lambda: Place(topic + "-2", 0) in member.assignment, "assigned", member)
        until(lambda: len(member.values()) == len(values + more), "read", member)
        assert not any(topic + "-x" == place.topic for place in member.assignment)


def test_a_static_member_comes_back_to_what_it_had(
    broker: BrokerProcess, topic: str
) -> None:
    fill(broker, topic, range(4))
    settings = Settings("g-" + topic, (topic,))
    one, two = (settings._replace(instance=name) for name in ("one", "two"))
    with (
        Member(CLIENT, broker.address, one) as first,
        Member(CLIENT, broker.address, two) as second,
    ):
        both = first, second
        until(lambda: shares(*both, partitions=PARTITIONS), "shared", *both)
        had, taken = first.assignment, list(second.rebalances.taken)
        first.close()  # of a static member it is only for a while
        with Member(CLIENT, broker.address, one) as again:
            until(lambda: again.assignment, "back", again)
            assert again.assignment == had
            assert second.rebalances.taken == taken, "the other one does not notice"


def test_the_partitions_of_who_is_killed_go_to_others(
    broker: BrokerProcess, topic: str
) -> None:
    fill(broker, topic, range(4))
    settings = Settings("g-" + topic, (topic,))
    code = (
        "import confluent_kafka, sys\n"
        "consumer = confluent_kafka.Consumer({'bootstrap.servers': sys.argv[1],"
        " 'group.id': sys.argv[2], 'group.protocol': 'consumer'})\n"
        "consumer.subscribe([sys.argv[3]])\n"
        "while True: consumer.poll(0.1)\n"
    )
    arguments = [broker.address, settings.group, topic]
    dying = subprocess.Popen([sys.executable, "-c", code, *arguments])
    try:
        with Member(CLIENT, broker.address, settings) as member:
            until(lambda: len(member.assignment) == PARTITIONS // 2, "shared", member)
            os.kill(dying.pid, signal.SIGKILL)
            until(lambda: shares(member, partitions=PARTITIONS), "taken", member)
    finally:
        dying.kill()
        dying.wait()


def test_members_go_on_when_the_broker_was_killed(tmp_path: Path, topic: str) -> None:
    options = [part for each in OPTIONS.items() for part in ("-o", "=".join(each))]
    with running_broker(tmp_path / "data", *options) as broker:
        values = fill(broker, topic, range(40))
        settings = Settings("g-" + topic, (topic,))
        with (
            Member(CLIENT, broker.address, settings) as first,
            Member(CLIENT, broker.address, settings) as second,
        ):
            both = first, second
            until(lambda: shares(*both, partitions=PARTITIONS), "shared", *both)
            until(lambda: has_read(both, values), "read", *both)
            had = first.assignment
            broker.kill()
            broker.start()
            more = fill(broker, topic, range(40, 80))
            until(lambda: has_read(both, more), "read on", *both)
            assert first.assignment == had, "the group is as it was"


def test_a_group_of_the_past_is_not_there(broker: BrokerProcess, topic: str) -> None:
    with pytest.raises(GroupIdNotFound):
        described(broker, "g-" + topic)
