"""Which topics are copies of another cluster's, and which were such until promoted.

A copy has the topic id of its original, and here it is known by that. So what is
written down of it is written before the topic is made, and nobody else can make a
topic in between that would be taken for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.uuids import from_text, to_text

from .resource_options import Resource, ResourceKind

if TYPE_CHECKING:
    from .resource_options import ResourceOptions
    from .topic_index import TopicIndex

MIRROR, STATE = "mirror", "state"
FOLLOWED, PROMOTED = "followed", "promoted"


class MirroredTopics:
    """The copies of all mirrors, as the catalogue has committed them.

    ``promoted`` has those that were copies, with their mirrors: these do not make
    them again. ``TopicIndex.mirrored`` has the others, and is kept by this.
    """

    def __init__(self, resources: ResourceOptions, topics: TopicIndex) -> None:
        self.promoted: dict[bytes, str] = {}
        self.followed = topics.mirrored
        self._resources = resources
        for name, _ in resources.all_of(ResourceKind.MIRRORED_TOPIC):
            self._take(Resource(ResourceKind.MIRRORED_TOPIC, name))
        resources.watch(self._take)

    def of(self, mirror: str) -> set[bytes]:
        """The ids of the topics that a mirror follows."""
        return {topic_id for topic_id, name in self.followed.items() if name == mirror}

    async def begin(self, topic_id: bytes, mirror: str) -> None:
        """Commit that a topic of this id is a copy.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """
        await self._set(topic_id, {MIRROR: mirror, STATE: FOLLOWED})

    async def promote(self, topic_id: bytes) -> None:
        """Commit that it is one no longer.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """
        mirror = self.followed[topic_id]
        await self._set(topic_id, {MIRROR: mirror, STATE: PROMOTED})

    async def forget(self, mirror: str) -> None:
        """Commit that nothing is known of what a mirror has promoted.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """
        for topic_id, name in list(self.promoted.items()):
            if name == mirror:
                await self._set(topic_id, {})

    async def _set(self, topic_id: bytes, options: dict[str, str]) -> None:
        resource = Resource(ResourceKind.MIRRORED_TOPIC, to_text(topic_id))
        await self._resources.alter(resource, lambda _: options)

    def _take(self, resource: Resource) -> None:
        if resource.kind is not ResourceKind.MIRRORED_TOPIC:
            return
        topic_id, options = from_text(resource.name), self._resources.of(resource)
        self.followed.pop(topic_id, None)
        self.promoted.pop(topic_id, None)
        if options:
            is_followed = options[STATE] == FOLLOWED
            known = self.followed if is_followed else self.promoted
            known[topic_id] = options[MIRROR]
