"""A broker of Apache Kafka's cluster on two log directories, one of which fails."""

from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import admin

from odradek.broker.cli.cluster.stored import reader_of
from odradek.broker.quorum.image.image import MetadataImage
from odradek.client.address import Address
from odradek.protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from odradek.storage.files.files import OsFiles
from odradek.storage.files.meta_properties import read_meta_properties
from tests.apache_kafka.node import KafkaNode, running_kafka
from tests.apache_kafka.test_join import COUNT, OPTIONS, US, Joined
from tests.client.live import connected, wait_until
from tests.patience import PATIENCE_S

PARTITIONS = 4
SOON_OUT_OF_SYNC = {"replica.lag.time.max.ms": "5000"}


class OnTwoDisks(Joined):
    """A node of Kafka's, broker and controller, and odradek with two directories."""

    def __init__(self, root: Path, kafka: KafkaNode) -> None:
        super().__init__(root, kafka)
        self.disks = root / "first", root / "second"
        self.ours = self.broker(
            self.disks[0], log_flush_offset_checkpoint_interval_ms="200"
        )
        self.ours.data_dir = Path(",".join(map(str, self.disks)))

    def directory_id(self, disk: Path) -> bytes:
        found = read_meta_properties(OsFiles(), disk)
        assert found is not None
        assert found.directory_id is not None
        return found.directory_id

    def image(self) -> MetadataImage:
        """What the controllers have decided by now."""
        controller = Address("127.0.0.1", self.kafka.controller_port)
        with reader_of([controller], None, PATIENCE_S) as reader:
            reader.catch_up(PATIENCE_S)
            return reader.observer.replay.image

    def told(self, name: str) -> dict[int, bytes]:
        """In which of our directories the controllers know partitions to be."""
        image = self.image()
        partitions = image.topics[image.topic_ids[name]].partitions
        return {number: each.directory_of(US) for number, each in partitions.items()}

    def found(self, name: str) -> dict[int, bytes]:
        """In which of our directories they are."""
        return {
            number: self.directory_id(disk)
            for number in range(PARTITIONS)
            for disk in self.disks
            if (disk / f"{name}-{number}").exists()
        }

    def placed(self, name: str) -> dict[int, tuple[int, set[int]]]:
        """Who leads, and who is in sync, as Kafka says."""
        topics = self.admin(self.kafka).list_topics(name, timeout=PATIENCE_S).topics
        return {
            number: (each.leader, set(each.isrs))
            for number, each in topics[name].partitions.items()
        }


@pytest.fixture
def joined(tmp_path: Path) -> Iterator[OnTwoDisks]:
    with running_kafka(tmp_path, OPTIONS | SOON_OUT_OF_SYNC) as kafka:
        made = OnTwoDisks(tmp_path, kafka)
        made.ours.start()
        try:
            yield made
        finally:
            made.ours.kill()
        assert "Traceback" not in made.ours.log()


def produce(joined: Joined, name: str) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": joined.kafka.address, "enable.idempotence": True}
    )
    for number in range(PARTITIONS * COUNT):
        producer.produce(name, str(number).encode(), partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def move(joined: Joined, name: str, number: int, disk: Path) -> None:
    """As kafka-reassign-partitions does it."""
    topic = AlterReplicaLogDirTopic(name=name, partitions=[number])
    request = AlterReplicaLogDirsRequest(
        dirs=[AlterReplicaLogDir(path=str(disk), topics=[topic])]
    )
    with connected(joined.ours.port) as cluster:
        answer = cluster.request(request, AlterReplicaLogDirsResponse, US)
    assert [each.partitions[0].error_code for each in answer.results] == [0]


@pytest.mark.long
def test_one_of_two_disks_fails(joined: OnTwoDisks) -> None:
    """What was in it is led elsewhere, the rest goes on; repaired, all is in sync."""
    replicas = [[US, 1]] * PARTITIONS
    topic = admin.NewTopic("t", PARTITIONS, replica_assignment=replicas)
    client = joined.admin(joined.kafka)
    client.create_topics([topic])["t"].result(PATIENCE_S)
    produce(joined, "t")
    places = joined.found("t")
    assert len(set(places.values())) == 2
    wait_until(lambda: joined.told("t") == places, PATIENCE_S)

    first, second = joined.disks
    kept, lost = map(joined.directory_id, joined.disks)
    aside = second.with_name("aside")
    second.rename(aside)
    produce(joined, "t")  # nobody notices a disk that is not used
    left = {
        number: (1, {1}) if at == lost else (US, {1, US})
        for number, at in places.items()
    }
    wait_until(lambda: joined.placed("t") == left, PATIENCE_S)
    produce(joined, "t")
    assert joined.image().brokers[US].directories == (kept,)

    joined.ours.terminate()
    aside.rename(second)
    joined.ours.start()
    everyone = {key: {1, US} for key in places}
    wait_until(
        lambda: {key: isr for key, (_, isr) in joined.placed("t").items()} == everyone,
        PATIENCE_S,
    )
    moved = next(number for number, at in places.items() if at == lost)
    move(joined, "t", moved, first)  # one that we follow
    places[moved] = kept
    wait_until(lambda: joined.told("t") == joined.found("t") == places, PATIENCE_S)
    produce(joined, "t")
    wait_until(lambda: all(are_equal(joined, number) for number in places), PATIENCE_S)

    for disk in joined.disks:
        disk.rename(disk.with_name(f"{disk.name}-gone"))
    produce(joined, "t")
    assert joined.ours.process is not None
    assert joined.ours.process.wait(PATIENCE_S) == 1
    assert "no log directory is left" in joined.ours.log()
    left = {number: (1, {1}) for number in places}
    wait_until(lambda: joined.placed("t") == left, PATIENCE_S)


def are_equal(joined: OnTwoDisks, number: int) -> bool:
    """Byte for byte, in Kafka's files and in ours."""
    name = f"t-{number}"
    folders = [joined.kafka.data_dir, *joined.disks]
    theirs, ours = (
        b"".join(each.read_bytes() for each in sorted(folder.glob("*.log")))
        for folder in (it / name for it in folders)
        if folder.exists()
    )
    return theirs == ours
