"""What is told of consumer groups, under the names of kafka_exporter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.phase import Phase
from odradek.protocol.topic_partition import TopicPartition

from .exposition import Family, escaped, gauge, labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.requests.services import Services


def group_families(services: Services) -> Iterator[list[Family]]:
    """The families of all groups; an empty item for each offset, and the last.

    Whoever asks may do something else in between.
    """
    made = _GroupFamilies(services)
    for shard in services.groups.runtime.shards():
        if shard.phase is not Phase.ACTIVE:
            continue
        groups = (each.group_id for each in shard.state.all_groups())
        names = dict.fromkeys([*groups, *shard.state.offsets.group_ids()])
        for group_id in names:
            for _ in made.add(shard.state, group_id):
                yield []
    yield made.families


class _GroupFamilies:
    def __init__(self, services: Services) -> None:
        self._log_manager = services.log_manager
        self._is_one_of_many = services.cluster is not None
        self.members = gauge("kafka_consumergroup_members", "Members of a group.")
        self.offset = gauge(
            "kafka_consumergroup_current_offset", "What a group has committed."
        )
        self.lag = gauge(
            "kafka_consumergroup_lag", "Offsets between that and the end of it."
        )
        self.offset_sum = gauge(
            "kafka_consumergroup_current_offset_sum", "That, of a whole topic."
        )
        self.lag_sum = gauge("kafka_consumergroup_lag_sum", "The lag of a whole topic.")

    @property
    def families(self) -> list[Family]:
        """All of them."""
        return [value for value in vars(self).values() if isinstance(value, Family)]

    def add(self, state: GroupShard, group_id: str) -> Iterator[None]:
        """What there is to tell of one group; one item for each of its offsets."""
        group = state.group_of_any_type(group_id)
        members = 0 if group is None else len(group.members)
        self.members.add(members, labels(consumergroup=group_id))
        escaped_id = escaped(group_id)
        sums: dict[str, tuple[int, int | None]] = {}
        offsets = list(state.offsets.of_group(group_id).items())  # as they are now
        for (topic, partition), committed in offsets:
            log = self._log_manager.get(TopicPartition(topic, partition))
            end = 0 if log is None else log.high_watermark
            is_unknown = log is None and self._is_one_of_many
            lag = max(end - committed.offset, 0)
            label_text = (
                f'{{consumergroup="{escaped_id}",topic="{escaped(topic)}",'
                f'partition="{partition}"}}'
            )
            self.offset.add(committed.offset, label_text)
            offset_sum, lag_sum = sums.get(topic, (0, 0))
            if is_unknown:  # another broker has it
                lag_sum = None
            else:
                self.lag.add(lag, label_text)
                lag_sum = None if lag_sum is None else lag_sum + lag
            sums[topic] = offset_sum + committed.offset, lag_sum
            yield
        for topic, (offset_sum, lag_sum) in sums.items():
            label_text = labels(consumergroup=group_id, topic=topic)
            self.offset_sum.add(offset_sum, label_text)
            if lag_sum is not None:
                self.lag_sum.add(lag_sum, label_text)
