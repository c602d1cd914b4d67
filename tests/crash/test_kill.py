"""R1, R17, R18: a broker killed or stopped under load loses, repeats, reorders nothing.

The oracle is this process: what it sent, and what it was told is safe.
"""

import os
import random
import threading
import time
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin
import pytest

from tests.broker_process import BrokerProcess, running_broker
from tests.patience import PATIENCE_S

KILLS = 200 if os.environ.get("ODRADEK_LONG") else 4
PARTITIONS = 3
IN_FLIGHT_MAX = 2000


class Load:
    """Numbers sent to each partition by one idempotent producer, in a thread."""

    def __init__(self, address: str, topic: str) -> None:
        self.topic = topic
        self.sent = [0] * PARTITIONS
        self.acknowledged: list[dict[int, int]] = [{} for _ in range(PARTITIONS)]
        self.failed: list[str] = []
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "batch.num.messages": 50,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "message.timeout.ms": 120_000,
                "log_level": 0,
            }
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load")

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0

    def rest(self, seconds: float) -> None:
        """Go on for some time, whatever comes of it."""
        self._stop.wait(seconds)

    @property
    def count(self) -> int:
        return sum(map(len, self.acknowledged))

    def _run(self) -> None:
        while not self._stop.is_set():
            for partition in range(PARTITIONS):
                number = self.sent[partition]
                self._producer.produce(
                    self.topic,
                    b"%d" % number,
                    partition=partition,
                    on_delivery=self._delivered,
                )
                self.sent[partition] = number + 1
            self._producer.poll(0.0005)
            while len(self._producer) > IN_FLIGHT_MAX and not self._stop.is_set():
                self._producer.poll(0.05)

    def _delivered(
        self,
        error: confluent_kafka.KafkaError | None,
        message: confluent_kafka.Message,
    ) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        partition, offset, value = (
            message.partition(),
            message.offset(),
            message.value(),
        )
        assert partition is not None
        assert offset is not None
        assert isinstance(value, bytes)
        self.acknowledged[partition][offset] = int(value)


def latest_offsets(address: str, topic: str) -> list[int]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "oracle",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    places = [confluent_kafka.TopicPartition(topic, p) for p in range(PARTITIONS)]
    try:
        return [
            consumer.get_watermark_offsets(p, timeout=PATIENCE_S)[1] for p in places
        ]
    finally:
        consumer.close()


def read_partition(address: str, topic: str, partition: int, end: int) -> list[int]:
    """The numbers at offsets 0 to ``end``; the offsets must have no hole."""
    return read_from(address, topic, partition, 0, end)


def read_from(
    address: str, topic: str, partition: int, start: int, end: int
) -> list[int]:
    """The numbers at offsets ``start`` to ``end``."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "oracle",
            "enable.auto.commit": False,
            "check.crcs": True,
            "log_level": 0,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, partition, start)])
    found: list[int] = []
    count = max(0, end - start)
    try:
        while len(found) < count:
            messages = consumer.consume(min(10_000, count - len(found)), 30)
            assert messages, f"{len(found)} of {count}"
            for message in messages:
                assert message.error() is None
                assert message.offset() == start + len(found)
                value = message.value()
                assert isinstance(value, bytes)
                found.append(int(value))
    finally:
        consumer.close()
    return found


def check(load: Load, address: str) -> None:
    """Everything sent is there once and in order; every answer told the truth."""
    assert not load.failed, load.failed[:3]
    for partition, end in enumerate(latest_offsets(address, load.topic)):
        found = read_partition(address, load.topic, partition, end)
        assert found == list(range(load.sent[partition]))
        for offset, number in load.acknowledged[partition].items():
            assert found[offset] == number


def create_topic(broker: BrokerProcess, topic: str, **config: str) -> None:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.address})
    wanted = confluent_kafka.admin.NewTopic(topic, PARTITIONS, 1, config=config)
    admin.create_topics([wanted])[topic].result(PATIENCE_S)


def progress(load: Load, count: int) -> None:
    """Wait until ``count`` more records are acknowledged."""
    wanted = load.count + count
    deadline = time.monotonic() + PATIENCE_S
    while load.count < wanted:
        assert time.monotonic() < deadline, f"stuck at {load.count} of {wanted}"
        time.sleep(0.002)


@pytest.mark.parametrize("preallocate", ["false", "true"])
def test_kill_under_load_loses_and_repeats_nothing(
    preallocate: str, tmp_path: Path
) -> None:
    chance = random.Random(KILLS)
    data_dir, is_forked = tmp_path / "data", preallocate == "true"
    with running_broker(data_dir, may_be_forked=is_forked) as broker:
        create_topic(broker, "numbers", preallocate=preallocate)
        with Load(broker.address, "numbers") as load:
            for _ in range(KILLS // 2):
                progress(load, chance.randrange(1, 2000))
                seen = latest_offsets(broker.address, "numbers")
                broker.kill()
                broker.start()
                after = latest_offsets(broker.address, "numbers")
                assert all(a >= b for a, b in zip(after, seen, strict=True))
            progress(load, 100)
        check(load, broker.address)
        assert "Traceback" not in broker.log()
        assert "quarantine" not in broker.log()


def test_clean_stop_under_load_loses_nothing_and_scans_nothing(tmp_path: Path) -> None:
    with running_broker(tmp_path / "data") as broker:
        create_topic(broker, "numbers")
        with Load(broker.address, "numbers") as load:
            slowest_s = 0.0
            for _ in range(max(3, KILLS // 10)):
                progress(load, 1000)
                slowest_s = max(slowest_s, broker.terminate())
                assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
                broker.start()
                assert not (tmp_path / "data" / ".kafka_cleanshutdown").exists()
            progress(load, 100)
        print(f"stopped in {slowest_s:.2f} s at most")
        check(load, broker.address)
        assert "recover" not in broker.log().lower()
        assert "Traceback" not in broker.log()


def test_second_broker_refuses_and_names_the_first(tmp_path: Path) -> None:
    with running_broker(tmp_path / "data") as first:
        second = BrokerProcess(tmp_path / "data")
        second.log_path = tmp_path / "second.err"
        with pytest.raises(AssertionError, match="did not start"):
            second.start()
        assert str(first.pid) in second.log()
        assert "Traceback" not in second.log()
