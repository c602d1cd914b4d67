"""R2 with two copies: the power of a leader, its follower or both goes under load.

With ``durability=commit`` all that was acknowledged is there afterwards, once and at
its offset, and the copies have the same bytes; also when a write was torn.
"""

import contextlib
import os
import random
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import admin

from odradek.protocol.errors import CorruptMessage
from odradek.protocol.record_batch import scan
from tests.apache_kafka.node import KafkaNode, running_kafka
from tests.apache_kafka.test_join import OPTIONS, Joined
from tests.client.live import wait_until
from tests.crash.cut_disk import CutDisk, cut_disks
from tests.crash.test_kill import PARTITIONS, Load, check, progress
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from tests.broker_process import BrokerProcess

CUTS = int(os.environ.get("ODRADEK_CUTS", "20"))
IDS = (2, 3)
NAME = "numbers"

pytestmark = pytest.mark.long


class Powered(Joined):
    """Two brokers, each on a disk of its own; the node of Kafka's only decides."""

    def __init__(self, root: Path, kafka: KafkaNode, disks: Sequence[CutDisk]) -> None:
        self.kafka = kafka
        self.disks = dict(zip(IDS, disks, strict=True))
        self.members: dict[int, BrokerProcess] = {}
        for number, disk in self.disks.items():
            made = self.broker(disk.path / "data", node_id=str(number))
            made.options.append("-olog.min.free.bytes=0")
            made.log_path = root / f"broker-{number}.err"
            self.members[number] = made

    @property
    def addresses(self) -> str:
        return ",".join(each.address for each in self.members.values())

    def create(self) -> None:
        """Each leads some of it; both have to have what is acknowledged."""
        replicas = [[*IDS], [*IDS][::-1], [*IDS]]
        topic = admin.NewTopic(
            NAME,
            PARTITIONS,
            replica_assignment=replicas,
            config={"min.insync.replicas": "2"},
        )
        client = self.admin(self.kafka)
        client.create_topics([topic])[NAME].result(PATIENCE_S)

    def are_in_sync(self) -> bool:
        found = self.admin(self.kafka).list_topics(NAME, timeout=PATIENCE_S)
        partitions = found.topics[NAME].partitions.values()
        return all(set(each.isrs) == set(IDS) for each in partitions)

    def cut(self, numbers: Sequence[int], torn: Sequence[int]) -> None:
        """Of these the power goes at once. What some wrote last is there in part."""
        members = [self.members[each] for each in numbers]
        for each in members:
            os.kill(each.pid, signal.SIGSTOP)
        for number in numbers:
            self.disks[number].cut()
        for each in members:
            each.kill()
        for number in numbers:
            self.disks[number].mount_again()
            if number in torn:
                tear(self.members[number].data_dir)
        for each in members:
            each.start()

    def data(self, partition: int) -> set[bytes]:
        """All bytes of it, in each copy."""
        return {
            b"".join(
                file.read_bytes()
                for file in sorted(
                    (each.data_dir / f"{NAME}-{partition}").glob("*.log")
                )
            )
            for each in self.members.values()
        }


def tear(data_dir: Path) -> None:
    """Have half of one more batch at the end of each partition."""
    for partition in range(PARTITIONS):
        file = max((data_dir / f"{NAME}-{partition}").glob("*.log"))
        data = file.read_bytes()
        batches = []
        with contextlib.suppress(CorruptMessage):  # zeros: it was lost
            batches.extend(scan(memoryview(data)))
        if batches:
            position, header = batches[-1]
            batch = data[position : position + header.size]
            more = header.next_offset.to_bytes(8, "big") + batch[8 : len(batch) // 2]
            with file.open("r+b") as end:
                end.seek(position + header.size)
                end.write(more)


@pytest.fixture
def powered(tmp_path: Path) -> Iterator[Powered]:
    with cut_disks(tmp_path, len(IDS)) as disks, running_kafka(tmp_path, OPTIONS) as it:
        made = Powered(tmp_path, it, disks)
        try:
            for each in made.members.values():
                each.start()
            made.create()
            yield made
        finally:
            for each in made.members.values():
                each.kill()
        for each in made.members.values():
            assert "Traceback" not in each.log(), each.log()


@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_acknowledged_outlives_the_power(powered: Powered, seed: int) -> None:
    chance = random.Random(seed)
    wait_until(powered.are_in_sync, PATIENCE_S)
    with Load(powered.addresses, NAME) as load:
        for _ in range(CUTS):
            progress(load, chance.randrange(1, 2000))
            numbers = chance.choice([IDS, IDS, *((each,) for each in IDS)])
            torn = [each for each in numbers if chance.random() < 0.5]
            print(numbers, torn, load.count, flush=True)
            powered.cut(numbers, torn)
            wait_until(powered.are_in_sync, PATIENCE_S)
        progress(load, 100)
    check(load, powered.addresses)
    for partition in range(PARTITIONS):
        wait_until(lambda each=partition: len(powered.data(each)) == 1, PATIENCE_S)  # type: ignore[misc]
