"""A publisher, and what it tells replicas and coordinators."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from odradek.broker.cluster.images.member_topics import MemberTopics
from odradek.broker.cluster.images.publisher import Publisher
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.resource_options import ResourceOptions
from odradek.broker.quorum.image.image import EMPTY, MetadataImage
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.metadata_records import (
    ConfigRecord,
)
from odradek.protocol.schema import Message
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.quorum.image.states import state

US, ANOTHER = 1, 2


class World:
    """A catalogue, and what the replicas and coordinators of it are told."""

    def __init__(self, catalog: Catalog) -> None:
        self.topics = MemberTopics(catalog, BrokerConfig())
        self.resources = ResourceOptions(catalog)
        self.leaders: dict[TopicPartition, int] = {}
        self.told: list[tuple[str, TopicPartition]] = []
        self.new_epochs: list[TopicPartition] = []
        self.looked_at: list[TopicPartition] = []
        self.recovering: list[tuple[bytes, int, int]] = []
        self.gone: list[tuple[set[TopicPartition], bool]] = []
        self.deletions: list[bool] = []  # whether what is here of them is kept
        self.image: MetadataImage = EMPTY
        self.fails_before = self.fails_after = self.fails_late = False
        self.publisher = Publisher(self.topics, self.resources, self, self, self, US)

    def decide(self, topic_partition: TopicPartition, decided: LeaderAndIsr) -> None:
        known = self.topics.partition(topic_partition)
        assert known is not None
        assert known.leader_epoch == decided.leader_epoch
        self.leaders[topic_partition] = decided.leader

    def elect(self, topic_partition: TopicPartition) -> None:
        self.told.append(("elect", topic_partition))

    def resign(self, topic_partition: TopicPartition) -> None:
        self.told.append(("resign", topic_partition))

    def note_epoch(self, topic_partition: TopicPartition) -> None:
        self.new_epochs.append(topic_partition)

    def look_at_directories(self, places: Iterable[TopicPartition]) -> None:
        self.looked_at += places

    def note_recovered(
        self, topic_id: bytes, number: int, decided: LeaderAndIsr
    ) -> None:
        self.recovering.append((topic_id, number, decided.leader_epoch))

    async def delete_topics(self, topic_ids: Iterable[bytes], *, keeps: bool) -> None:
        self.deletions.append(keeps)
        if self.fails_before:
            raise KafkaStorageError("the catalogue has no room")
        for deletion in await self.topics.begin_deletions(topic_ids):
            self.topics.release_name(deletion)
        if self.fails_after:
            raise KafkaStorageError("offsets are not forgotten yet")

    async def give_away(self, gone: Iterable[TopicPartition], *, keeps: bool) -> None:
        self.gone.append((set(gone), keeps))

    async def publish_rights(self, before: MetadataImage, after: MetadataImage) -> None:
        assert after is self.image
        if self.fails_late:
            raise KafkaStorageError("the catalogue has no room")

    async def publish(self, *messages: Message) -> None:
        before, self.image = self.image, state(*messages)
        await self.publisher.publish(before, self.image)

    def names(self) -> dict[str, int]:
        return {each.name: len(each.partitions) for each in self.topics}


@asynccontextmanager
async def world(directory: Path) -> AsyncIterator[World]:
    catalog = Catalog.open(directory)
    try:
        yield World(catalog)
    finally:
        await catalog.close()


def set_option(name: str, option: str, value: str, kind: int = 2) -> ConfigRecord:
    return ConfigRecord(
        resource_type=kind, resource_name=name, name=option, value=value
    )
