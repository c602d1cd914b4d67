"""The brokers of the cluster, as coordinators ask them: `OtherBrokers`.

What is asked of a broker has a connection of its own for each kind: a marker waits for
the disks of other brokers, and nobody is to wait behind it who wants to write.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.cluster.controller_channel import ControllerChannel
from odradek.broker.quorum.image.image import NO_LEADER

from .end_questions import EndQuestions
from .marker_questions import AskedMarker, MarkerQuestions
from .questions import Questions
from .state_questions import StateQuestions
from .verification_questions import VerificationQuestions

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.coordinator.share.questions import StateQuestion
    from odradek.broker.coordinator.transaction.add_partitions import Addition
    from odradek.broker.coordinator.transaction.marker_writer import Marker
    from odradek.broker.quorum.image.image import HasImage, PartitionImage
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.memory.limits import LimitedLog
    from odradek.broker.runtime.parked import Parked
    from odradek.client.address import Address
    from odradek.client.connection import Connection
    from odradek.protocol.topic_partition import TopicPartition

    from .named_partitions import Codes
    from .questions import Kind


class ClusterBrokers:
    """Who leads what, by the newest image; and what others are asked."""

    def __init__(
        self,
        node_id: int,
        source: HasImage,
        address_of: Callable[[int], Address | None],
        connect: Callable[[Address], Connection],
        bugs: Bugs,
        log: LimitedLog,
    ) -> None:
        """``address_of`` a broker is where others of the cluster reach it."""
        self.node_id = node_id
        self._source = source
        self._address_of = address_of
        self._connect = connect
        self._bugs = bugs
        self._log = log
        self._questions: dict[tuple[str, int], Questions] = {}
        self._is_closed = False

    def leader_of(self, topic_partition: TopicPartition) -> int | None:
        """The broker that leads, which may be this one. None: nobody does just now."""
        if self._is_closed:
            return None
        found = self._known(topic_partition)
        return None if found is None or found.leader == NO_LEADER else found.leader

    def has(self, topic_partition: TopicPartition) -> bool:
        """Whether there is such a partition at all."""
        return self._known(topic_partition) is not None

    def write_markers(
        self, broker_id: int, marker: Marker, partitions: tuple[TopicPartition, ...]
    ) -> Parked[Codes]:
        """Have that broker write a marker into partitions that it leads."""
        asked = AskedMarker(marker, partitions)
        return self._to(broker_id, "markers", MarkerQuestions()).ask(
            marker.producer.producer_id, asked, partitions
        )

    def admit(self, broker_id: int, addition: Addition) -> Parked[Codes]:
        """Whether records may be written, by the coordinator at that broker."""
        return self._to(broker_id, "transactions", VerificationQuestions()).ask(
            addition.transactional_id, addition, addition.partitions
        )

    def ask_state(self, broker_id: int, question: StateQuestion) -> Parked[Any]:
        """Ask the share coordinator at that broker."""
        kind = StateQuestions.of(question)
        return self._to(broker_id, kind.name, kind).ask(
            kind.key_of(question), question, question.key.group_id
        )

    def end_of(self, broker_id: int, topic_partition: TopicPartition) -> Parked[int]:
        """Where readers see that partition end, as its leader says."""
        ends = self._to(broker_id, "ends", EndQuestions())
        return ends.ask(topic_partition, topic_partition)

    def look_again(self) -> None:
        """The image is another one: what is asked of who is away is given up.

        Others lead by now what that broker led, and are asked instead.
        """
        for (_, broker_id), questions in list(self._questions.items()):
            if not self._is_there(broker_id):
                questions.give_up()

    async def close(self) -> None:
        """Ask nobody any more."""
        self._is_closed = True
        while self._questions:  # others may be asked meanwhile
            _, questions = self._questions.popitem()
            await questions.close()

    def _known(self, topic_partition: TopicPartition) -> PartitionImage | None:
        return self._source.image.partition_of(*topic_partition)

    def _address_now(self, broker_id: int) -> Address | None:
        return self._address_of(broker_id) if self._is_there(broker_id) else None

    def _is_there(self, broker_id: int) -> bool:
        found = self._source.image.brokers.get(broker_id)
        return found is not None and not found.is_fenced

    def _to(self, broker_id: int, what: str, kind: Kind) -> Questions:
        found = self._questions.get((what, broker_id))
        if found is None:
            name = f"{what} of broker {broker_id}"
            channel = ControllerChannel(
                name,
                partial(self._address_now, broker_id),
                self._connect,
                f"broker {broker_id} is fenced, or has no listener for other brokers",
            )
            found = Questions(name, kind, channel, self._bugs, self._log)
            self._questions[what, broker_id] = found
        return found
