"""What goes on while a broker is backed up: it knows what it was told."""

from typing import Any

import confluent_kafka
import confluent_kafka.admin

from tests.crash.test_kill import PARTITIONS
from tests.patience import PATIENCE_S

GROUP = "workers"


class Transactions:
    """The same number into two topics, a transaction each; every third is aborted."""

    def __init__(self, address: str) -> None:
        self.committed: list[int] = []
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": address, "transactional.id": "t", "log_level": 0}
        )
        self._consumer = consumer(address, "read_committed", GROUP)

    def prepare(self) -> None:
        self._producer.init_transactions(PATIENCE_S)

    def run_one(self, number: int) -> None:
        self._producer.begin_transaction()
        for topic in ("left", "right"):
            self._producer.produce(topic, b"%d" % number, partition=number % PARTITIONS)
        place = confluent_kafka.TopicPartition("left", 0, number)
        self._producer.send_offsets_to_transaction(
            [place], self._consumer.consumer_group_metadata(), PATIENCE_S
        )
        if number % 3:
            self._producer.commit_transaction(PATIENCE_S)
            self.committed.append(number)
        else:
            self._producer.abort_transaction(PATIENCE_S)


class Churn:
    """A topic is made and filled, and the one before deleted, again and again."""

    def __init__(self, address: str) -> None:
        self.made = 0
        self.asked = 0  # deletion of all below it was asked for
        self._admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
        self._sender = Sender(address)

    def change(self, number: int) -> None:
        wanted = confluent_kafka.admin.NewTopic(f"short-{number}", 2, 1)
        self._admin.create_topics([wanted])[wanted.topic].result(PATIENCE_S)
        self._sender.send(wanted.topic, b"x" * 100_000, None)
        self._sender.flush()
        self.made = number + 1
        if number:
            old = f"short-{number - 1}"
            self.asked = number
            self._admin.delete_topics([old])[old].result(PATIENCE_S)


class Overwriting:
    """The same keys are written again and again, to be compacted."""

    KEYS = 50

    def __init__(self, address: str) -> None:
        self.acknowledged = -1
        self._sender = Sender(address)

    def write(self, number: int) -> None:
        for key in range(self.KEYS):
            value = b"%d" % number + b"." * 300
            self._sender.send("compacted", value, b"%d" % key)
        self._sender.flush()
        self.acknowledged = number


class Sender:
    """Records to partition 0; one that is not acknowledged is an error."""

    def __init__(self, address: str) -> None:
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": address, "acks": "all", "log_level": 0}
        )
        self._errors: list[Any] = []

    def send(self, topic: str, value: bytes, key: bytes | None) -> None:
        self._producer.produce(
            topic, value, key=key, partition=0, on_delivery=self._delivered
        )

    def _delivered(self, error: Any, _: Any) -> None:
        if error is not None:
            self._errors.append(error)

    def flush(self) -> None:
        assert self._producer.flush(PATIENCE_S) == 0
        assert not self._errors, self._errors


def consumer(address: str, isolation: str, group: str = "oracle") -> Any:
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
            "log_level": 0,
        }
    )
