"""A shard of share partitions without a broker: what it writes is replayed at once."""

from typing import Any, cast

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.coordinator.decision import Decision, Place
from odradek.broker.coordinator.share.decisions import (
    decide_initialise,
    decide_read,
    decide_write,
)
from odradek.broker.coordinator.share.shard import ShareStateShard
from odradek.broker.coordinator.share.state import (
    NO_EPOCH,
    ShareKey,
    ShareState,
    StateBatch,
    StateUpdate,
    StoredState,
)
from odradek.broker.metadata.topic import PartitionInfo, Topic
from tests.fakes.clock import FakeClock

NOW_MS = 1_700_000_000_000
T, U = b"t" * 16, b"u" * 16
KEY, OTHER = ShareKey("g", T, 0), ShareKey("g", T, 1)


class FakeTopics:
    """Topics by their ids."""

    def __init__(self, **counts: int) -> None:
        self._by_id = {
            name.encode() * 16: Topic(
                name,
                name.encode() * 16,
                [PartitionInfo(number, 0) for number in range(count)],
            )
            for name, count in counts.items()
        }

    def by_id(self, topic_id: bytes) -> Topic | None:
        return self._by_id.get(topic_id)

    def remove(self, topic_id: bytes) -> None:
        del self._by_id[topic_id]


class States:
    """The shard, its log, and who watches it."""

    def __init__(self, **options: Any) -> None:
        self.config = BrokerConfig(**options)
        self.clock = FakeClock(NOW_MS)
        self.topics = FakeTopics(t=3, u=1)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.told: list[ShareKey] = []
        self.shard = self._new()

    def _new(self) -> ShareStateShard:
        topics = cast("Any", self.topics)
        return ShareStateShard(self.config, self.clock, topics, [self.told.append])

    def apply(self, decision: Decision) -> Any:
        """Write and replay what was decided; its response."""
        for record in decision.records:
            place = Place(len(self.log), self.clock.now_ms())
            self.shard.replay(record, place)
            self.log.append(record.encode())
        return decision.response

    def reload(self, first_offset: int = 0) -> ShareStateShard:
        """What the next broker makes of the log, or of the end of it."""
        self.shard = self._new()
        for offset, (key, value) in enumerate(self.log[first_offset:], first_offset):
            record = self.shard.decode(key, value)
            self.shard.replay(record, Place(offset, self.clock.now_ms()))
        return self.shard

    def state(self, key: ShareKey = KEY) -> ShareState:
        return self.shard.states[key]

    # Decisions in few words

    def begin(self, start: int = 0, epoch: int = 1, key: ShareKey = KEY) -> Any:
        results = self.apply(decide_initialise(self.shard, {key: start}, epoch))
        return results[key]

    def write(
        self,
        start: int,
        *batches: tuple[int, int, int, int],
        key: ShareKey = KEY,
        **fields: Any,
    ) -> Any:
        fields = {"state_epoch": NO_EPOCH, "leader_epoch": NO_EPOCH, **fields}
        update = StateUpdate(
            start=start,
            batches=tuple(StateBatch(*each) for each in batches),
            **fields,
        )
        return self.apply(decide_write(self.shard, key, update))

    def read(self, leader_epoch: int = NO_EPOCH, key: ShareKey = KEY) -> StoredState:
        found: StoredState = self.apply(decide_read(self.shard, key, leader_epoch))
        return found
