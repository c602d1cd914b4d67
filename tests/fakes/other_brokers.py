"""The other brokers of a cluster, for coordinators; a test answers for them."""

from typing import Any

from odradek.broker.runtime.parked import Parked
from odradek.protocol.topic_partition import TopicPartition

US, OTHER = 1, 2


class FakeOtherBrokers:
    """An `OtherBrokers`: this broker leads what nobody else was said to lead."""

    node_id = US

    def __init__(self) -> None:
        self.leaders: dict[TopicPartition, int | None] = {}
        self.gone: set[TopicPartition] = set()
        self.asked: list[tuple[int, Any]] = []
        self.answers: list[Parked[Any]] = []

    def leader_of(self, topic_partition: TopicPartition) -> int | None:
        return self.leaders.get(topic_partition, US)

    def has(self, topic_partition: TopicPartition) -> bool:
        return topic_partition not in self.gone

    def write_markers(self, broker_id: int, marker: Any, partitions: Any) -> Any:
        return self._ask(broker_id, (marker, partitions))

    def admit(self, broker_id: int, addition: Any) -> Any:
        return self._ask(broker_id, addition)

    def ask_state(self, broker_id: int, question: Any) -> Any:
        return self._ask(broker_id, question)

    def end_of(self, broker_id: int, topic_partition: TopicPartition) -> Any:
        return self._ask(broker_id, topic_partition)

    def _ask(self, broker_id: int, what: Any) -> Any:
        self.asked.append((broker_id, what))
        self.answers.append(Parked())
        return self.answers[-1]
