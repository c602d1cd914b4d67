"""Replication is slowed down where it has to catch up, to leave room for clients.

A topic's options say which of its replicas are slowed down, a broker's how many bytes
of these it may send in a second, as their leader, or take in as their follower. All
their bytes count; who is in sync is never kept waiting.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.broker.config.options.option import LONG_MAX

from .copied_bytes import CopiedBytes

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.quorum.image.image import HasImage
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.topic_partition import TopicPartition

UNLIMITED: Final = LONG_MAX
_LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
_FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
_ALL: Final = "*"


class Throttle:
    """What may pass of the replicas that an option of topics names.

    Reckoned is as in Apache Kafka: over the last windows, from the first in which
    something has passed, and over one of them at least. ``copied`` counts all.
    """

    def __init__(
        self,
        node_id: int,
        replicas_option: str,
        topics: Topics,
        clock: Clock,
        copied: CopiedBytes,
    ) -> None:
        self.rate_max = UNLIMITED  # bytes in a second
        self.copied = copied
        self._node_id = node_id
        self._option = replicas_option
        self._topics = topics
        self._clock = clock
        self._samples, self._size_ms = 11, 1_000
        self._windows: deque[list[int]] = deque()  # begin in ms, and bytes

    def follow(self, rate_max: int, samples: int, size_s: int) -> None:
        """Reckon so from now on."""
        self.rate_max, self._samples, self._size_ms = rate_max, samples, size_s * 1_000

    @property
    def is_on(self) -> bool:
        """Whether anything is slowed down at all."""
        return self.rate_max != UNLIMITED

    def names(self, topic_partition: TopicPartition) -> bool:
        """Whether a partition is one of those whose bytes count."""
        if not self.is_on:
            return False
        topic = self._topics.get(topic_partition.topic)
        text = "" if topic is None else topic.options.get(self._option, "")
        if not text:
            return False
        named = _named(text, self._node_id)
        return named is None or topic_partition.partition in named

    @property
    def is_exceeded(self) -> bool:
        """Whether too much has passed, and nothing should for the time being."""
        return self.is_on and self._per_second() > self.rate_max

    def record(self, size: int) -> None:
        """So many bytes of such partitions have passed."""
        now_ms, windows = self._clock.monotonic_ms(), self._windows
        if not windows or now_ms - windows[-1][0] >= self._size_ms:
            windows.append([now_ms, 0])
        windows[-1][1] += size

    def _per_second(self) -> float:
        now_ms, windows = self._clock.monotonic_ms(), self._windows
        while windows and now_ms - windows[0][0] >= self._samples * self._size_ms:
            windows.popleft()
        if not windows:
            return 0.0
        elapsed_ms = max(now_ms - windows[0][0], self._size_ms)
        return sum(size for _, size in windows) * 1_000 / elapsed_ms


class Throttles(NamedTuple):
    """Of what this broker sends, as a leader, and of what it takes, as a follower."""

    leader: Throttle
    follower: Throttle

    def follow(self, config: BrokerConfig) -> None:
        """Go by the options of the broker."""
        window = (
            config.replication_quota_window_num,
            config.replication_quota_window_size_seconds,
        )
        self.leader.follow(config.leader_replication_throttled_rate, *window)
        self.follower.follow(config.follower_replication_throttled_rate, *window)


def make_throttles(
    node_id: int, topics: Topics, clock: Clock, source: HasImage | None = None
) -> Throttles:
    """Both, without a limit. ``source`` is that of `CopiedBytes`."""
    return Throttles(
        Throttle(node_id, _LEADER_REPLICAS, topics, clock, CopiedBytes(source)),
        Throttle(node_id, _FOLLOWER_REPLICAS, topics, clock, CopiedBytes(source)),
    )


@lru_cache(1_024)
def _named(text: str, node_id: int) -> frozenset[int] | None:
    """The partitions with a replica here that is named; None: all of them."""
    if text.strip() == _ALL:
        return None
    pairs = (each.strip().split(":") for each in text.split(","))
    return frozenset(
        int(pair[0])
        for pair in pairs
        if len(pair) == 2 and pair[0].isdecimal() and pair[1] == str(node_id)
    )
