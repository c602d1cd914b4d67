"""A member of a streams group (KIP-1071) that speaks the protocol, and does nothing.

Its application counts words: reads one topic, hands on by a repartition topic, keeps
a changelog.
"""

import time
from collections.abc import Callable

from odradek.client.cluster import Cluster
from odradek.client.errors import raise_for
from odradek.client.metadata import Broker
from odradek.protocol.messages.streams_groups import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsHeartbeatSubtopology,
    StreamsHeartbeatTopology,
    StreamsKeyValue,
    StreamsTaskIds,
    StreamsTopicInfo,
)
from tests.patience import PATIENCE_S

Tasks = dict[str, list[int]]
COMPACT = [StreamsKeyValue(key="cleanup.policy", value="compact")]


def word_count(group: str, source: str) -> StreamsHeartbeatTopology:
    """Two subtopologies; internal topics begin with the name of the group."""
    repartition = f"{group}-words-repartition"
    changelog = f"{group}-counts-changelog"
    return StreamsHeartbeatTopology(
        subtopologies=[
            StreamsHeartbeatSubtopology(
                subtopology_id="0",
                source_topics=[source],
                repartition_sink_topics=[repartition],
            ),
            StreamsHeartbeatSubtopology(
                subtopology_id="1",
                repartition_source_topics=[StreamsTopicInfo(name=repartition)],
                state_changelog_topics=[
                    StreamsTopicInfo(name=changelog, topic_configs=COMPACT)
                ],
            ),
        ]
    )


class StreamsMember:
    """One member, in a process of its own. It does at once what it is told."""

    def __init__(self, cluster: Cluster, group: str, member_id: str) -> None:
        self._cluster = cluster
        self.group, self.member_id = group, member_id
        self.epoch = 0
        self.active: Tasks = {}
        self.standby: Tasks = {}
        self.statuses: list[tuple[int, str]] = []

    def move_to(self, cluster: Cluster) -> None:
        """Go on as it is, at another broker."""
        self._cluster = cluster

    def join(self, source: str) -> None:
        """Join, with the topology."""
        self._say(
            StreamsGroupHeartbeatRequest(
                rebalance_timeout_ms=1000 * PATIENCE_S,
                topology=word_count(self.group, source),
                process_id=f"process-{self.member_id}",
                active_tasks=[],
                standby_tasks=[],
                warmup_tasks=[],
            )
        )

    def beat(self) -> None:
        """Say that it lives, and what it has."""
        self._say(
            StreamsGroupHeartbeatRequest(
                active_tasks=_ids(self.active),
                standby_tasks=_ids(self.standby),
                warmup_tasks=[],
            )
        )

    def leave(self) -> None:
        """Be no member any more."""
        self.epoch = -1
        self._say(StreamsGroupHeartbeatRequest())

    def _say(self, request: StreamsGroupHeartbeatRequest) -> None:
        request.group_id = self.group
        request.member_id = self.member_id
        request.member_epoch = self.epoch

        def ask(coordinator: Broker) -> StreamsGroupHeartbeatResponse:
            node_id = coordinator.node_id
            told = self._cluster.request(
                request, StreamsGroupHeartbeatResponse, node_id
            )
            raise_for(told.error_code, told.error_message)
            return told

        told = self._cluster.at_coordinator(self.group, ask)
        self.epoch = told.member_epoch
        self.statuses = [
            (each.status_code, each.status_detail) for each in told.status or ()
        ]
        if told.active_tasks is not None:
            self.active = _tasks(told.active_tasks)
        if told.standby_tasks is not None:
            self.standby = _tasks(told.standby_tasks)


def beat_until(is_so: Callable[[], bool], *members: StreamsMember) -> None:
    """Let all of them live until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        seen = [(each.epoch, each.active, each.statuses) for each in members]
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)
        for each in members:
            each.beat()


def _ids(tasks: Tasks) -> list[StreamsTaskIds]:
    return [
        StreamsTaskIds(subtopology_id=key, partitions=of) for key, of in tasks.items()
    ]


def _tasks(ids: list[StreamsTaskIds]) -> Tasks:
    return {each.subtopology_id: sorted(each.partitions) for each in ids}
