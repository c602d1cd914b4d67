"""An image in the making: what changes is copied first, once for each publication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from .error import MetadataLogError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.protocol.acl_entries import AclEntry

    from .image import (
        BrokerImage,
        ControllerImage,
        Credential,
        Entity,
        MetadataImage,
        OptionResource,
        PartitionImage,
        TokenImage,
        TopicImage,
    )

Key = TypeVar("Key")
Value = TypeVar("Value")


class Section(Generic[Key, Value]):
    """A mapping that is shared with an image until the first change."""

    def __init__(self, shared: Mapping[Key, Value]) -> None:
        self._now = shared
        self._own: dict[Key, Value] | None = None

    @property
    def now(self) -> Mapping[Key, Value]:
        """As it is now; to be read only."""
        return self._now

    def get(self, key: Key) -> Value | None:
        """What there is of ``key``."""
        return self._now.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Add or replace."""
        self._changing()[key] = value

    def remove(self, key: Key) -> None:
        """Take out, if it is there."""
        if key in self._now:
            del self._changing()[key]

    def _changing(self) -> dict[Key, Value]:
        if self._own is None:
            self._now = self._own = dict(self._now)
        return self._own


class Draft:
    """The sections of an image, changed by records."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self.quorum = image.quorum
        self.features: Section[str, int] = Section(image.features)
        self.features_offset = image.features_offset
        self.brokers: Section[int, BrokerImage] = Section(image.brokers)
        self.controllers: Section[int, ControllerImage] = Section(image.controllers)
        self.topics: Section[bytes, TopicImage] = Section(image.topics)
        self.topic_ids: Section[str, bytes] = Section(image.topic_ids)
        self.options: Section[OptionResource, Mapping[str, str]]
        self.options = Section(image.options)
        self.quotas: Section[Entity, Mapping[str, float]] = Section(image.quotas)
        self.credentials: Section[tuple[str, int], Credential]
        self.credentials = Section(image.credentials)
        self.acls: Section[bytes, AclEntry] = Section(image.acls)
        self.tokens: Section[str, TokenImage] = Section(image.tokens)
        self.next_producer_id = image.next_producer_id
        # Of topics that changed, so that many changes of one copy it once.
        self._partitions: dict[bytes, dict[int, PartitionImage]] = {}

    def partitions(self, topic_id: bytes) -> dict[int, PartitionImage]:
        """The partitions of a topic, to be changed.

        Raises:
            MetadataLogError: there is no such topic.
        """
        own = self._partitions.get(topic_id)
        if own is None:
            own = dict(self.topic(topic_id).partitions)
            self._partitions[topic_id] = own
        return own

    def topic(self, topic_id: bytes) -> TopicImage:
        """The topic of that id; its partitions may have changed since.

        Raises:
            MetadataLogError: there is none.
        """
        from odradek.protocol.uuids import to_text

        topic = self.topics.get(topic_id)
        if topic is None:
            raise MetadataLogError(f"there is no topic {to_text(topic_id)}")
        return topic

    def remove_topic(self, topic_id: bytes) -> TopicImage:
        """Take out a topic with its partitions.

        Raises:
            MetadataLogError: there is none.
        """
        topic = self.topic(topic_id)
        self.topics.remove(topic_id)
        self._partitions.pop(topic_id, None)
        if self.topic_ids.get(topic.name) == topic_id:
            self.topic_ids.remove(topic.name)
        return topic

    def image(self, offset: int, epoch: int) -> MetadataImage:
        """The image as of ``offset``. The draft is not used after that."""
        for topic_id, partitions in self._partitions.items():
            topic = self.topic(topic_id)
            self.topics.put(topic_id, topic._replace(partitions=partitions))
        return self._image._replace(
            offset=offset,
            epoch=epoch,
            quorum=self.quorum,
            features=self.features.now,
            features_offset=self.features_offset,
            brokers=self.brokers.now,
            controllers=self.controllers.now,
            topics=self.topics.now,
            topic_ids=self.topic_ids.now,
            options=self.options.now,
            quotas=self.quotas.now,
            credentials=self.credentials.now,
            acls=self.acls.now,
            tokens=self.tokens.now,
            next_producer_id=self.next_producer_id,
        )
