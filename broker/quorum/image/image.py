"""The state that a metadata log leads to: brokers, topics, options, users, rights.

An image never changes. The next one shares with it every section in which nothing did,
and every topic; so to keep an old one is cheap, and two are quickly compared.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from odradek.protocol.acl_entries import AclEntry

NO_LEADER: Final = -1
NO_OFFSET: Final = -1
NO_DIRECTORY: Final = bytes(16)
_NONE: Final[Mapping[Any, Any]] = MappingProxyType({})


class Endpoint(NamedTuple):
    """Where a node listens."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


class FeatureRange(NamedTuple):
    """The levels of a feature that a node can do."""

    level_min: int
    level_max: int


class BrokerImage(NamedTuple):
    """A registered broker; its epoch is the offset of its registration."""

    broker_id: int
    epoch: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...] = ()
    features: Mapping[str, FeatureRange] = _NONE
    rack: str | None = None
    is_fenced: bool = True
    is_stopping: bool = False
    directories: tuple[bytes, ...] = ()
    cordoned_directories: tuple[bytes, ...] = ()


class ControllerImage(NamedTuple):
    """A registered controller."""

    controller_id: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...] = ()
    features: Mapping[str, FeatureRange] = _NONE


class PartitionImage(NamedTuple):
    """Who holds a partition; ``elr`` may lead though they are not in sync."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = 0
    directories: tuple[bytes, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    def directory_of(self, broker_id: int) -> bytes:
        """In which of its directories one of the replicas is; zeros: nobody says."""
        for replica, directory_id in zip(self.replicas, self.directories, strict=False):
            if replica == broker_id:
                return directory_id
        return NO_DIRECTORY


class TopicImage(NamedTuple):
    """A topic, and its partitions by number."""

    name: str
    topic_id: bytes
    partitions: Mapping[int, PartitionImage] = _NONE


class OptionResource(NamedTuple):
    """What has options: the kind as `ConfigResourceType` numbers it, and a name."""

    kind: int
    name: str


class Credential(NamedTuple):
    """What a SCRAM login is checked with."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class TokenImage(NamedTuple):
    """A delegation token."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    max_timestamp_ms: int
    expiration_timestamp_ms: int


class Voter(NamedTuple):
    """A controller that votes."""

    voter_id: int
    directory_id: bytes
    endpoints: tuple[Endpoint, ...] = ()


class QuorumImage(NamedTuple):
    """What the controllers wrote of themselves; no voters where they are options."""

    leader_id: int = NO_LEADER
    leader_epoch: int = -1
    kraft_version: int = 0
    voters: tuple[Voter, ...] = ()


# A quota's entity: type and name of each part, in the order of the types.
Entity = tuple[tuple[str, str | None], ...]


class MetadataImage(NamedTuple):
    """All of it, as of ``offset``, the last that was applied."""

    offset: int = NO_OFFSET
    epoch: int = 0
    quorum: QuorumImage = QuorumImage()
    features: Mapping[str, int] = _NONE
    features_offset: int = NO_OFFSET  # of the last change of a level
    brokers: Mapping[int, BrokerImage] = _NONE
    controllers: Mapping[int, ControllerImage] = _NONE
    topics: Mapping[bytes, TopicImage] = _NONE
    topic_ids: Mapping[str, bytes] = _NONE
    options: Mapping[OptionResource, Mapping[str, str]] = _NONE
    quotas: Mapping[Entity, Mapping[str, float]] = _NONE
    credentials: Mapping[tuple[str, int], Credential] = _NONE
    acls: Mapping[bytes, AclEntry] = _NONE
    tokens: Mapping[str, TokenImage] = _NONE
    next_producer_id: int = -1  # none was given yet

    def partition(self, topic_id: bytes, number: int) -> PartitionImage | None:
        """One of a topic; None: there is none."""
        topic = self.topics.get(topic_id)
        return None if topic is None else topic.partitions.get(number)

    def partition_of(self, topic: str, number: int) -> PartitionImage | None:
        """The same of a topic by its name."""
        topic_id = self.topic_ids.get(topic)
        return None if topic_id is None else self.partition(topic_id, number)

    def partitions(self) -> Iterator[tuple[TopicImage, int, PartitionImage]]:
        """Every partition with its topic, by name and number."""
        for name in sorted(self.topic_ids):
            topic = self.topics[self.topic_ids[name]]
            for number in sorted(topic.partitions):
                yield topic, number, topic.partitions[number]


class HasImage(Protocol):
    """Whoever has the newest image."""

    image: MetadataImage


EMPTY: Final = MetadataImage()
