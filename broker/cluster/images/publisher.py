"""What the metadata log says becomes what this broker does.

Of two images the difference is applied to the catalogue, and then to the replicas; the
first image of a process is compared with all that the catalogue has. In this order:
topics that are gone, those that are new, partitions, options, rights, leader epochs,
who leads, and what is not held here any more. Nobody is served by a state that is not
in the catalogue.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Protocol

from odradek.broker.cluster.features import CLAIMED
from odradek.broker.metadata.client_quotas import QuotaEntity
from odradek.broker.metadata.features import KRAFT_VERSION, METADATA_VERSION
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.broker.metadata.scram_credentials import ScramCredential
from odradek.broker.metadata.topic import NewTopic
from odradek.broker.metadata.topic_names import INTERNAL_TOPICS
from odradek.broker.quorum.image.changes import PARTITIONS, changes
from odradek.broker.quorum.image.image import EMPTY, OptionResource
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.protocol.errors import KafkaError, KafkaStorageError
from odradek.protocol.scram import Mechanism
from odradek.protocol.topic_partition import TopicPartition

from .metadata_log import LogPosition
from .usable_options import UsableOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set

    from odradek.broker.metadata.resource_options import ResourceOptions
    from odradek.broker.quorum.image.image import (
        MetadataImage,
        PartitionImage,
        TopicImage,
    )

    from .member_topics import MemberTopics

_logger = logging.getLogger(__name__)

_OF_TOPIC: Final = 2
_OF_BROKER: Final = 4
_KINDS: Final = {
    _OF_BROKER: ResourceKind.BROKER,
    16: ResourceKind.CLIENT_METRICS,
    32: ResourceKind.GROUP,
}
_FEATURES: Final = Resource(ResourceKind.FEATURE, "cluster")
_EPOCH: Final = "epoch"
_TAKEN: Final = frozenset({*_KINDS.values(), ResourceKind.QUOTA, ResourceKind.SCRAM})


class Replicas(Protocol):
    """The partitions of this broker."""

    def decide(self, topic_partition: TopicPartition, decided: LeaderAndIsr) -> None:
        """Lead a partition, or follow, as the controllers decided."""


class Coordinators(Protocol):
    """Who goes by what this broker leads."""

    def elect(self, topic_partition: TopicPartition) -> None:
        """This broker leads one of coordinators, by a decision that is new."""

    def resign(self, topic_partition: TopicPartition) -> None:
        """Another one does, or nobody."""

    def note_epoch(self, topic_partition: TopicPartition) -> None:
        """Any partition has a new leader, or the same one in a new epoch."""


class Actions(Protocol):
    """What of a broker follows from what was decided, besides its replicas."""

    async def delete_topics(self, topic_ids: Iterable[bytes], *, keeps: bool) -> None:
        """These are gone. ``keeps``: they were already when this broker started."""

    async def publish_rights(self, before: MetadataImage, after: MetadataImage) -> None:
        """Who may do what, and delegation tokens."""

    def note_recovered(
        self, topic_id: bytes, number: int, decided: LeaderAndIsr
    ) -> None:
        """What an unclean election has left to us is in order: say so."""

    def look_at_directories(self, places: Iterable[TopicPartition]) -> None:
        """See whether the controllers know in which directories these are."""

    async def give_away(self, gone: Iterable[TopicPartition], *, keeps: bool) -> None:
        """This broker is no replica of these. ``keeps``: nor was it when it started."""


class Publisher:
    """Applies images; ``image`` is the newest, also while it is applied."""

    def __init__(
        self,
        topics: MemberTopics,
        resources: ResourceOptions,
        replicas: Replicas,
        coordinators: Coordinators,
        actions: Actions,
        node_id: int,
    ) -> None:
        self.image: MetadataImage = EMPTY
        self._decided: MetadataImage = EMPTY  # by this one partitions are led
        self._topics = topics
        self._resources = resources
        self._replicas = replicas
        self._actions = actions
        self._coordinators = coordinators
        self._node_id = node_id
        self._usable = UsableOptions()
        self._refused: set[bytes] = set()  # topics that could not be kept, until now

    def decided(self, topic_partition: TopicPartition) -> LeaderAndIsr | None:
        """What the controllers decided on a partition last, once the catalogue has it.

        A name may have another topic by now, of which that does not say anything.
        """
        image, topic = self._decided, self._topics.get(topic_partition.topic)
        if topic is None or image.topic_ids.get(topic.name) != topic.topic_id:
            return None
        found = image.partition(topic.topic_id, topic_partition.partition)
        return None if found is None else _decision(found)

    async def publish(self, before: MetadataImage, after: MetadataImage) -> None:
        """Do what has to be done for ``after`` to hold here."""
        self.image = after
        is_first = before is EMPTY
        ids, options = _what_changed(before, after)
        if is_first:
            ids |= {topic.topic_id for topic in self._topics}
        again = self._refused & after.topics.keys()  # nothing may be against them now
        ids |= again
        refused = await self._publish_topics(ids, after, is_first=is_first)
        named = {after.topics[each].name for each in ids if each in after.topics}
        named |= {each.name for each in options if each.kind == _OF_TOPIC}
        await self._publish_topic_options(named, after)
        await self._publish_resources(before, after, is_first=is_first)
        await self._actions.publish_rights(before, after)
        await self._publish_leaders(ids, again, before, after)
        self._refused = refused  # not before: this may be done once more

    async def _publish_topics(
        self, ids: Iterable[bytes], image: MetadataImage, *, is_first: bool
    ) -> set[bytes]:
        """Have the topics of the image; returns those that cannot be kept yet."""
        topics = self._topics
        gone = [each for each in ids if topics.by_id(each) and each not in image.topics]
        if gone:
            await self._delete(gone, keeps=is_first)
        there = [image.topics[each] for each in ids if each in image.topics]
        new = [each for each in there if topics.by_id(each.topic_id) is None]
        made = await topics.take_topics([self._new_topic(each, image) for each in new])
        refused = set()
        for each, why in zip(new, made, strict=True):
            if isinstance(why, KafkaError):
                refused.add(each.topic_id)
                if each.topic_id not in self._refused:
                    text = "topic %s of the cluster cannot be kept here yet: %s"
                    _logger.error(text, each.name, why)
        wider = {
            each.name: len(each.partitions)
            for each in there
            if (known := topics.by_id(each.topic_id)) is not None
            and len(known.partitions) < len(each.partitions)
        }
        if wider:
            await topics.create_partitions(wider)
        return refused

    async def _delete(self, topic_ids: list[bytes], *, keeps: bool) -> None:
        try:
            await self._actions.delete_topics(topic_ids, keeps=keeps)
        except KafkaStorageError as error:
            if any(map(self._topics.by_id, topic_ids)):
                raise  # nothing has happened
            # Nobody sees them, and their names are reserved until it is done.
            _logger.warning("topics are not wholly deleted yet: %s", error)

    def _new_topic(self, topic: TopicImage, image: MetadataImage) -> NewTopic:
        options = self._options_of(topic.name, image)
        return NewTopic(topic.name, len(topic.partitions), options, topic.topic_id)

    def _options_of(self, name: str, image: MetadataImage) -> Mapping[str, str]:
        options = image.options.get(OptionResource(_OF_TOPIC, name), {})
        return self._usable.of_topic(name, options)

    async def _publish_topic_options(
        self, names: Iterable[str], image: MetadataImage
    ) -> None:
        for name in names:
            wanted = self._options_of(name, image)
            topic = self._topics.get(name)
            if topic is not None and topic.options != wanted:
                await self._topics.alter_options(name, lambda _, to=wanted: to)  # type: ignore[misc]

    async def _publish_leaders(
        self,
        ids: Iterable[bytes],
        again: Set[bytes],
        before: MetadataImage,
        image: MetadataImage,
    ) -> None:
        """Of these topics, what is new of their partitions; all of it ``again``."""
        decisions = {
            TopicPartition(image.topics[each].name, number): partition
            for each in ids
            if each in image.topics and self._topics.by_id(each) is not None
            for number, partition in image.topics[each].partitions.items()
            if each in again or partition != before.partition(each, number)
        }
        await self._topics.take_leader_epochs(
            {place: each.leader_epoch for place, each in decisions.items()},
            LogPosition.of(image),
            is_news=self._has_others(decisions, before, image),
        )
        self._decided = image
        for place, partition in decisions.items():
            self._replicas.decide(place, _decision(partition))
        for place, partition in decisions.items():
            if partition.leader_recovery_state and partition.leader == self._node_id:
                topic_id = image.topic_ids[place.topic]
                decided = _decision(partition)
                self._actions.note_recovered(topic_id, place.partition, decided)
            is_anew = image.topic_ids[place.topic] in again
            known = None if is_anew else before.partition_of(*place)
            self._tell_coordinators(place, known, partition)
        self._actions.look_at_directories(decisions)
        gone = [
            place
            for place, partition in decisions.items()
            if self._node_id not in partition.replicas
        ]
        if gone:
            await self._actions.give_away(gone, keeps=before is EMPTY)

    def _has_others(
        self,
        decisions: Mapping[TopicPartition, PartitionImage],
        before: MetadataImage,
        image: MetadataImage,
    ) -> bool:
        """Whether there are other topics, or other partitions that are ours."""
        if before.topic_ids is not image.topic_ids and (
            before.topic_ids != image.topic_ids
        ):
            return True
        return any(
            self._is_ours(each) != self._is_ours(before.partition_of(*place))
            for place, each in decisions.items()
        )

    def _is_ours(self, partition: PartitionImage | None) -> bool:
        return partition is not None and self._node_id in partition.replicas

    def _tell_coordinators(
        self,
        place: TopicPartition,
        before: PartitionImage | None,
        after: PartitionImage,
    ) -> None:
        is_new = before is None or before.leader_epoch != after.leader_epoch
        if is_new and before is not None:
            self._coordinators.note_epoch(place)
        if place.topic not in INTERNAL_TOPICS:
            return
        leads = after.leader == self._node_id
        led = before is not None and before.leader == self._node_id
        if leads and is_new:
            self._coordinators.elect(place)
        elif led and not leads:
            self._coordinators.resign(place)

    async def _publish_resources(
        self, before: MetadataImage, after: MetadataImage, *, is_first: bool
    ) -> None:
        old = _resources_of(before, after, self._node_id)
        new = _resources_of(after, before, self._node_id)
        if is_first:
            for kind in _TAKEN:
                for name, options in self._resources.all_of(kind):
                    old.setdefault(Resource(kind, name), options)
            old[_FEATURES] = {}
        for resource in old.keys() | new.keys():
            wanted = new.get(resource, {})
            if old.get(resource) != wanted:
                await self._resources.alter(resource, lambda _, to=wanted: to)  # type: ignore[misc]


def _what_changed(
    before: MetadataImage, after: MetadataImage
) -> tuple[set[bytes], set[OptionResource]]:
    """The ids of topics, and what has other options."""
    ids: set[bytes] = set()
    options: set[OptionResource] = set()
    for change in changes(before, after):
        if change.section == "topics":
            ids.add(change.key)
        elif change.section == PARTITIONS:
            ids.add(change.key[0])
        elif change.section == "options":
            options.add(change.key)
    return ids, options


def _decision(partition: PartitionImage) -> LeaderAndIsr:
    return LeaderAndIsr(
        partition.leader,
        partition.leader_epoch,
        partition.replicas,
        partition.isr,
        partition.partition_epoch,
    )


def _resources_of(
    image: MetadataImage, other: MetadataImage, node_id: int
) -> dict[Resource, Mapping[str, str]]:
    """Options, quotas, credentials and levels as the catalogue calls them.

    Without those that are the same in the ``other`` image: sections in which nothing
    was changed.
    """
    found: dict[Resource, Mapping[str, str]] = {}
    if image.options is not other.options:
        found |= _options_in(image, node_id)
    if image.quotas is not other.quotas:
        found |= _quotas_in(image)
    if image.credentials is not other.credentials:
        found |= _credentials_in(image)
    if METADATA_VERSION in image.features:
        levels = {name: "0" for name, _, _ in CLAIMED}
        levels |= {name: str(level) for name, level in image.features.items()}
        levels[KRAFT_VERSION] = str(image.quorum.kraft_version)
        levels[_EPOCH] = str(image.features_offset)
        found[_FEATURES] = levels
    return found


def _options_in(image: MetadataImage, node_id: int) -> dict[Resource, dict[str, str]]:
    """Of brokers those of all and of this one: others have secrets in theirs."""
    ours = frozenset({"", str(node_id)})
    return {
        Resource(_KINDS[each.kind], each.name): dict(options)
        for each, options in image.options.items()
        if each.kind in _KINDS and (each.kind != _OF_BROKER or each.name in ours)
    }


def _quotas_in(image: MetadataImage) -> dict[Resource, dict[str, str]]:
    return {
        QuotaEntity(tuple(sorted(entity))).resource: {
            key: repr(value) for key, value in quotas.items()
        }
        for entity, quotas in image.quotas.items()
    }


def _credentials_in(image: MetadataImage) -> dict[Resource, dict[str, str]]:
    found: dict[Resource, dict[str, str]] = {}
    for (user, mechanism), known in image.credentials.items():
        if mechanism in frozenset(Mechanism):
            credential = ScramCredential(
                known.iterations, known.salt, known.stored_key, known.server_key
            )
            of_user = found.setdefault(Resource(ResourceKind.SCRAM, user), {})
            of_user[Mechanism(mechanism).title] = str(credential)
    return found
