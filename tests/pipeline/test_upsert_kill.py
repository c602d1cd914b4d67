"""kill -9 of driver and executors of sinks that keep the last row of each key."""

import json
import os
import random
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.broker_process import BrokerProcess
from tests.patience import PATIENCE_S
from tests.pipeline.feeding import create
from tests.pipeline.sink_process import Driver, write_job
from tests.pipeline.table_readers import READERS, rows_of

KILLS = int(os.environ.get("ODRADEK_KILLS", "50"))
KINDS = ("delta", "iceberg")
KEYS = 200
pytestmark = [pytest.mark.long, pytest.mark.usefixtures("spark_java")]


def send_changes(
    address: str, topic: str, model: dict[str, int], chance: random.Random
) -> None:
    """Some of them take a key away; the model has what is left."""
    producer = Producer(
        {"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 5}
    )
    for _ in range(600):
        key, number = f"key-{chance.randrange(KEYS)}", chance.randrange(1 << 40)
        if chance.random() < 0.2:
            model.pop(key, None)
            producer.produce(topic, None, key)
            continue
        model[key] = number
        producer.produce(topic, json.dumps({"id": number, "text": key}), key)
    assert producer.flush(PATIENCE_S) == 0


def upsert_job(folder: Path, kind: str, address: str, topic: str, small: int) -> Path:
    path = write_job(folder, kind, address, topic, small, "1s")
    text = path.read_text().replace("[table]\n", '[table]\nmode = "upsert"\n')
    path.write_text(text)
    return path


def test_the_table_is_what_the_topic_says(
    broker_process: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    address, model = broker_process.address, dict[str, int]()
    create(address, topic, 3)
    for kill in range(KILLS):
        small = 10_000 if kill % 2 else 100
        jobs = [upsert_job(tmp_path, kind, address, topic, small) for kind in KINDS]
        send_changes(address, topic, model, chance)
        driver = Driver.of_all(*jobs)
        driver.wait_for_batches(1)
        time.sleep(chance.uniform(0, 0.3))
        driver.kill_executor()
        driver.wait_for_batches(len(jobs) + 1, each=1)
        time.sleep(chance.uniform(0, 0.5))
        driver.kill()
        if kill % 10 == 9 or kill == KILLS - 1:
            assert Driver.of_all(*jobs).end() == 0
            check(tmp_path, model)


def check(folder: Path, model: dict[str, int]) -> None:
    for kind in KINDS:
        for reader in READERS[kind]:
            found = rows_of(reader, folder / f"{kind}-rows", "text")
            assert found == sorted(model), reader
            found = rows_of(reader, folder / f"{kind}-rows", "id")
            assert found == sorted(model.values()), reader
