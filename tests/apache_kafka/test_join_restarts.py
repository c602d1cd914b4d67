"""Brokers are restarted one after the other, while records come and go (C024)."""

import threading
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import admin

from tests.apache_kafka.node import running_kafka
from tests.apache_kafka.test_join import OPTIONS, Joined
from tests.client.live import wait_until
from tests.patience import PATIENCE_S

BROKERS = (2, 3, 4)
PARTITIONS = 3
NAME = "orders"


class Load:
    """A producer with retries, which writes until it is told to stop."""

    def __init__(self, servers: str) -> None:
        self.errors: list[Any] = []
        self.written = 0
        self.acknowledged = 0
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": servers, "enable.idempotence": True}
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0

    def _write(self) -> None:
        while not self._is_over.wait(0.005):
            key = str(self.written).encode()
            self._producer.produce(NAME, key, key, on_delivery=self._note)
            self.written += 1
            self._producer.poll(0)

    def _note(self, error: Any, _: Any) -> None:
        if error is not None:
            self.errors.append(error)
        self.acknowledged += error is None


def read_all(servers: str, count: int) -> list[tuple[int, int]]:
    """Partition and value of ``count`` records, read as a member of a group."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([NAME])
    found: list[tuple[int, int]] = []

    def has_all() -> bool:
        for each in consumer.consume(1_000, 0.5):
            assert each.error() is None, each.error()
            found.append((each.partition(), int(each.value())))
        return len(found) >= count

    try:
        wait_until(has_all)
    finally:
        consumer.close()
    return found


@pytest.mark.long
def test_who_tries_again_notices_no_restart(tmp_path: Path) -> None:
    with running_kafka(tmp_path, OPTIONS) as kafka:
        joined = Joined(tmp_path, kafka)
        ours = [
            joined.ours,
            *(joined.broker(tmp_path / f"data-{n}", node_id=str(n)) for n in (3, 4)),
        ]
        try:
            for each in ours:
                each.start()
            topic = admin.NewTopic(
                NAME,
                PARTITIONS,
                replica_assignment=[[2, 3, 4], [3, 4, 2], [4, 2, 3]],
                config={"min.insync.replicas": "2"},
            )
            client = joined.admin(kafka)
            client.create_topics([topic])[NAME].result(PATIENCE_S)

            def are_in_sync() -> bool:
                found = client.list_topics(NAME, timeout=PATIENCE_S).topics[NAME]
                isrs = [set(each.isrs) for each in found.partitions.values()]
                return isrs == [set(BROKERS)] * PARTITIONS

            servers = ",".join(each.address for each in ours)
            with Load(servers) as load:
                for each in ours:
                    before = load.acknowledged
                    wait_until(lambda enough=before + 50: load.acknowledged > enough)  # type: ignore[misc]
                    each.terminate()
                    each.start()
                    wait_until(are_in_sync)
            assert load.errors == []
            assert load.acknowledged == load.written
            found = read_all(servers, load.written)
            assert sorted(value for _, value in found) == list(range(load.written))
            for number in range(PARTITIONS):
                values = [value for partition, value in found if partition == number]
                assert values == sorted(values)
        finally:
            for each in ours:
                each.kill()
