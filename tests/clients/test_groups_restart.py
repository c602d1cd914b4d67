"""Consumers in a group while their broker is stopped, or killed, and started again."""

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest

from tests.broker_process import BrokerProcess, running_broker
from tests.clients.adapters import Confluent
from tests.clients.consumers import NAMES, Settings
from tests.clients.members import Member, has_read, until
from tests.clients.questions import committed, describe
from tests.patience import PATIENCE_S
from tests.sampling import sampled

PARTITIONS = 4
# kafka-python leaves sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.usefixtures("collected"),
]
OPTIONS = ("-o", "log.retention.ms=-1", "-o", "group.min.session.timeout.ms=500")


class Numbers:
    """0, 1, 2 ... in turn to the partitions, by an idempotent producer in a thread."""

    def __init__(self, address: str, topic: str) -> None:
        self.count = 0
        self._topic = topic
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="numbers")

    def __enter__(self) -> "Numbers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Send no more; everything sent is there."""
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0

    def _run(self) -> None:
        while not self._stop.wait(0.002):
            value = b"%d" % self.count
            partition = self.count % PARTITIONS
            self._producer.produce(self._topic, value, partition=partition)
            self.count += 1
            self._producer.poll(0)

    def values(self) -> Iterator[bytes]:
        return (b"%d" % number for number in range(self.count))


@pytest.mark.parametrize("client", NAMES)
def test_consumers_go_on_behind_a_stop_and_kills(tmp_path: Path, client: str) -> None:
    """The same consumer objects; what was committed never goes back."""
    chance = random.Random(client)
    settings = Settings("g", ("numbers",))
    with running_broker(tmp_path / "data", *OPTIONS) as broker:
        Confluent().create_topic(broker.address, "numbers", PARTITIONS)
        members = [Member(client, broker.address, settings) for _ in range(2)]
        with Numbers(broker.address, "numbers") as numbers:
            stops = [BrokerProcess.terminate] + [BrokerProcess.kill] * 2
            for stop in stops:
                count = numbers.count
                wanted = [b"%d" % n for n in range(count, count + 40)]
                until(lambda: has_read(members, wanted), "read on", *members)  # noqa: B023
                before = commit_all(broker, members)
                time.sleep(chance.random() / 10)
                stop(broker)
                broker.start()
                after = committed(broker, "g", "numbers")
                assert all(after[each] >= before[each] for each in before)
            numbers.stop()
            until(lambda: has_read(members, numbers.values()), "read all", *members)
        for member in members:
            member.close()
        # Or once its session is over: no client waits until it has left for sure.
        until(lambda: describe(broker, "g").group_state == "Empty", "empty")
        assert "Traceback" not in broker.log()


def commit_all(broker: BrokerProcess, members: list[Member]) -> dict[int, int]:
    """Let all commit; the offsets that are committed then."""
    for member in members:
        until(lambda: has_committed(member), "committed", member)  # noqa: B023
    return committed(broker, "g", "numbers")


def has_committed(member: Member) -> bool:
    try:
        member.do(lambda consumer: consumer.commit())
    except Exception:  # each library has its own for a rebalance that goes on
        return False
    return True


@pytest.mark.parametrize("client", NAMES)
@pytest.mark.parametrize("how", sampled(["stop", "kill"], "kill"))
def test_a_new_consumer_resumes(tmp_path: Path, client: str, how: str) -> None:
    """An acknowledged commit is there, whatever becomes of the broker."""
    settings = Settings("g", ("numbers",))
    with running_broker(tmp_path / "data", *OPTIONS) as broker:
        Confluent().create_topic(broker.address, "numbers", PARTITIONS)
        for turn in range(2):
            with Numbers(broker.address, "numbers") as numbers:
                time.sleep(0.2)
            with Member(client, broker.address, settings) as member:
                until(lambda: len(member.found) >= numbers.count, "read", member)
                values = member.values()
                assert sorted(values) == sorted(numbers.values()), turn
                member.do(lambda consumer: consumer.commit())
                before = committed(broker, "g", "numbers")
                if how == "kill":
                    broker.kill()
                    broker.start()
            if how == "stop":
                broker.terminate()
                broker.start()
            assert committed(broker, "g", "numbers") == before
        assert "Traceback" not in broker.log()
