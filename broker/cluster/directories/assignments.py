"""Which partition is in which log directory, on its way to the controllers (KIP-858).

No I/O, no clock: `next_request` says what to ask, `take` takes the answer and says when
to ask again, `lost` is told when there is none.

Invariants: there is one request at a time. Of a partition the newest place is told
last, however the answers come.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.assign_replicas_to_dirs import (
    AssignedDirectory,
    AssignedPartition,
    AssignedTopic,
    AssignReplicasToDirsRequest,
)

if TYPE_CHECKING:
    from odradek.protocol.messages.assign_replicas_to_dirs import (
        AssignReplicasToDirsResponse,
    )

    Place = tuple[bytes, int]  # topic id and partition

PARTITIONS_MAX: Final = 2250  # in one request: controllers take no more
NOW_MS: Final = 0
_SOON_MS: Final = 100
_LATEST_MS: Final = 10_000
# Of these the metadata say something else by now, or soon will.
_SETTLED: Final = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)


class Assignments:
    """What the controllers do not know yet of the places of partitions."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id
        self._waiting: dict[Place, bytes] = {}
        self._asked: dict[Place, bytes] = {}
        self._backoff_ms = _SOON_MS

    def want(self, topic_id: bytes, number: int, directory_id: bytes) -> None:
        """Have the controllers know that a partition is there."""
        self._waiting[topic_id, number] = directory_id

    def drop(self, topic_id: bytes, number: int) -> None:
        """They know already where it is; what is on its way is not told once more."""
        self._waiting.pop((topic_id, number), None)
        self._asked.pop((topic_id, number), None)

    def next_request(self, broker_epoch: int) -> AssignReplicasToDirsRequest | None:
        """As much as one may ask; None: they know everything."""
        self._asked = dict(islice(self._waiting.items(), PARTITIONS_MAX))
        if not self._asked:
            return None
        for place in self._asked:
            del self._waiting[place]
        directories: dict[bytes, dict[bytes, list[AssignedPartition]]] = {}
        for (topic_id, number), directory_id in self._asked.items():
            topics = directories.setdefault(directory_id, {})
            partition = AssignedPartition(partition_index=number)
            topics.setdefault(topic_id, []).append(partition)
        return AssignReplicasToDirsRequest(
            broker_id=self._node_id,
            broker_epoch=broker_epoch,
            directories=[
                AssignedDirectory(
                    id=directory_id,
                    topics=[
                        AssignedTopic(topic_id=topic_id, partitions=partitions)
                        for topic_id, partitions in topics.items()
                    ],
                )
                for directory_id, topics in directories.items()
            ],
        )

    def lost(self) -> int:
        """There was no answer: ask again, after so many milliseconds."""
        asked, self._asked = self._asked, {}
        return self._ask_again(asked)

    def take(self, response: AssignReplicasToDirsResponse) -> int:
        """Take in an answer. Returns after how many milliseconds to ask on."""
        if response.error_code:
            return self.lost()
        asked, self._asked = self._asked, {}
        for directory in response.directories:
            for topic in directory.topics:
                for answer in topic.partitions:
                    if answer.error_code in _SETTLED:
                        place = bytes(topic.topic_id), answer.partition_index
                        asked.pop(place, None)
        if asked:
            return self._ask_again(asked)
        self._backoff_ms = _SOON_MS
        return NOW_MS

    def _ask_again(self, asked: dict[Place, bytes]) -> int:
        self._waiting = {**asked, **self._waiting}
        wait_ms = self._backoff_ms
        self._backoff_ms = min(2 * wait_ms, _LATEST_MS)
        return wait_ms
