"""What the controllers are told of this broker's log directories (KIP-858).

In which of them a partition is: where they know it wrongly, or not at all, when the
metadata say so, a log is made, or has moved. And which of them has failed: then
others lead what was in it, while this broker goes on with the rest. If they cannot be
told of that, or if it was the last one, the broker stops.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from odradek.broker.cluster.asked_in_turn import AskedInTurn
from odradek.broker.cluster.controller_channel import Registered
from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsResponse,
)

from .assignments import Assignments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.metadata.topics import Topics
    from odradek.broker.quorum.image.image import HasImage
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.directory.log_directory import LogDirectory
    from odradek.storage.directory.log_manager import LogManager

# Ids that mean no directory: it was not said yet, or what was there is gone.
UNASSIGNED: Final = bytes(16)
LOST: Final = bytes(15) + b"\2"

_logger = logging.getLogger(__name__)


class Heartbeats(Protocol):
    """What tells the controllers how this broker is."""

    def has_told(self, directory_id: bytes) -> bool:
        """Whether they have heard that the directory has failed."""


class Controller(Registered, Protocol):
    """Who is told."""

    @property
    def membership(self) -> Heartbeats:
        """This broker, as it tells of itself."""

    def lose_directory(self, directory_id: bytes) -> None:
        """Tell in heartbeats that it has failed."""

    def fail(self, reason: str) -> None:
        """Be one of the cluster no longer."""


class ToldDirectories:
    """The log directories, and what the controllers do not know of them yet."""

    def __init__(  # noqa: PLR0913 - the broker's parts, by their names
        self,
        log_manager: LogManager,
        topics: Topics,
        source: HasImage,
        controller: Controller,
        clock: Clock,
        bugs: Bugs,
        failure_timeout_ms: int,
    ) -> None:
        self._log_manager = log_manager
        self._topics = topics
        self._source = source
        self._controller = controller
        self._clock = clock
        self._failure_timeout_ms = failure_timeout_ms
        self._assignments = Assignments(controller.node_id)
        self.asked = AskedInTurn(self, "places of partitions", clock, bugs)
        log_manager.directories.watcher = self

    # Where partitions are

    def look(self, places: Iterable[TopicPartition]) -> None:
        """See whether the controllers know where these are."""
        for place in places:
            self.on_home(place)

    def look_at_offline(self) -> None:
        """The same of those that cannot be used: others could lead them."""
        if self._topics.offline:
            self.look(self._topics.offline)

    def on_home(self, topic_partition: TopicPartition) -> None:
        """A log was made, or lives in another directory now."""
        image, node_id = self._source.image, self._controller.node_id
        partition = image.partition_of(*topic_partition)
        if partition is None or node_id not in partition.replicas:
            return
        topic_id, number = image.topic_ids[topic_partition.topic], topic_partition[1]
        known = partition.directory_of(node_id)
        found = self._found(topic_partition, known)
        if found == known:
            self._assignments.drop(topic_id, number)
        else:
            self._assignments.want(topic_id, number, found)
            self.asked.want()

    def _found(self, place: TopicPartition, known: bytes) -> bytes:
        """Where it is; what is ``known`` if it is nowhere yet, and may be put there."""
        directories = self._log_manager.directories
        if place in self._topics.offline:
            return LOST
        home = directories.homes.get(place)
        if home is not None and place not in self._topics.strangers:
            return home.directory_id or known
        usable = {each.directory_id for each in directories if each.failure is None}
        if known == UNASSIGNED or known in usable:
            return known
        try:
            return directories.choose(None).directory_id or known
        except KafkaStorageError:
            return known

    async def ask(self) -> int | None:
        """Tell the controllers what they do not know yet."""
        request = self._assignments.next_request(self._controller.broker_epoch)
        if request is None:
            return None
        response = await self._controller.ask_controller(
            request, AssignReplicasToDirsResponse
        )
        return self._assignments.take(response)

    def lost(self) -> int:
        """They have not answered: they are told again."""
        return self._assignments.lost()

    # Which of them fail

    def on_failure(self, directory: LogDirectory) -> None:
        """A directory takes no more writes."""
        if all(each.failure is not None for each in self._log_manager.directories):
            self._controller.fail(f"no log directory is left: {directory.failure}")
            return
        if directory.directory_id is None:
            return
        _logger.error("the controllers are told that %s has failed", directory.path)
        self._controller.lose_directory(directory.directory_id)
        self._clock.call_later(
            self._failure_timeout_ms, partial(self._check_told, directory)
        )

    def _check_told(self, directory: LogDirectory) -> None:
        directory_id, timeout_ms = directory.directory_id, self._failure_timeout_ms
        if directory_id is not None and not (
            self._controller.membership.has_told(directory_id)
        ):
            self._controller.fail(
                f"{directory.path} has failed, and no controller was to be told of it"
                f" in {timeout_ms} ms"
            )
