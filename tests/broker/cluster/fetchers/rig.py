"""A broker that follows another one, whose log a test makes and changes as it likes."""

from typing import Any

from odradek.broker.cluster.fetchers.fetch_settings import fetch_settings
from odradek.broker.cluster.fetchers.followed_partition import FollowedPartition
from odradek.broker.cluster.fetchers.leader_requests import Asked
from odradek.broker.cluster.fetchers.replica_fetcher import (
    FollowerParts,
    ReplicaFetcher,
)
from odradek.broker.cluster.throttles import make_throttles
from odradek.broker.replica.decisions import Decisions
from odradek.broker.replica.follower_replicas import FollowerReplicas
from odradek.broker.replica.partition.partition import Partition
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.mirror.rig import SourceLog
from tests.fakes.replicas import Replicas, batch_of

T0 = TopicPartition("t", 0)
US, LEADER = 1, 2
BROKER_EPOCH = 77
_EARLIEST = -2


class FakeLeader:
    """Answers for one partition, as a channel to its leader does."""

    def __init__(self, epoch: int) -> None:
        self.log = SourceLog()
        self.epoch = epoch
        self.high_watermark: int | None = None  # all of it
        self.code = 0
        self.error: Exception | None = None
        self.requests: list[FetchRequest] = []
        self.is_closed = False

    def append(self, *values: bytes, epoch: int, offset: int | None = None) -> None:
        self.log.append(batch_of(*values), epoch, offset)

    @property
    def told(self) -> int:
        """Up to where the follower has said that it has everything."""
        return self.requests[-1].topics[0].partitions[0].fetch_offset

    async def ask(self, request: Any, response_class: Any, timeout_s: float) -> Any:
        if self.error is not None:
            raise self.error
        if isinstance(request, ListOffsetsRequest):
            return self._ends(request)
        self.requests.append(request)
        ((topic, wanted),) = [(x, y) for x in request.topics for y in x.partitions]
        answer = self._answer(wanted)
        found = FetchableTopicResponse(topic_id=topic.topic_id, partitions=[answer])
        return FetchResponse(responses=[found])

    ask_briefly = ask

    def _answer(self, wanted: Any) -> PartitionData:
        code = self.code
        if wanted.current_leader_epoch < self.epoch:
            code = ErrorCode.FENCED_LEADER_EPOCH
        if code:
            return PartitionData(
                partition_index=0, error_code=code, high_watermark=-1, records=None
            )
        asked = Asked(
            "t", b"", 0, 0, wanted.fetch_offset, wanted.last_fetched_epoch, 0, 0
        )
        found: PartitionData = self.log.answer(asked)  # type: ignore[arg-type]
        if self.high_watermark is not None:
            found.high_watermark = self.high_watermark
        return found

    def _ends(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        is_start = request.topics[0].partitions[0].timestamp == _EARLIEST
        end = ListOffsetsPartitionResponse(
            partition_index=0,
            error_code=0,
            offset=self.log.start if is_start else self.log.end,
        )
        topic = ListOffsetsTopicResponse(name="t", partitions=[end])
        return ListOffsetsResponse(topics=[topic])

    def close(self) -> None:
        self.is_closed = True


def led_by(leader: int, epoch: int, *replicas: int) -> LeaderAndIsr:
    """A decision; a later epoch is a later decision."""
    replicas = replicas or (LEADER, US)
    return LeaderAndIsr(leader, epoch, replicas, (leader,), epoch)


class Rig:
    """This broker follows t-0 in epoch 3, until the test decides something else."""

    def __init__(self, broker: Replicas) -> None:
        self.broker = broker
        self.leader = FakeLeader(3)
        self.replicas = FollowerReplicas(
            broker.manager, broker.logs, broker.topics, broker.clock
        )
        self.throttle = make_throttles(US, broker.topics, broker.clock).follower
        self.current: FollowedPartition | None = None
        self.fetcher = ReplicaFetcher(
            LEADER,
            self.leader,  # type: ignore[arg-type]
            FollowerParts(
                US,
                self.replicas,
                lambda: BROKER_EPOCH,
                broker.clock,
                broker.services.bugs,
                fetch_settings(broker.config),
                self.throttle,
            ),
        )
        self.decided = led_by(LEADER, 3)
        self.decisions = Decisions(US, broker.manager, lambda _: self.decided)
        self.decisions.leaders = self

    # As `Fetchers` does it, of one leader

    def follow(self, partition: Partition, decided: LeaderAndIsr) -> None:
        self.forget(T0)
        if decided.leader == LEADER:
            self.current = FollowedPartition(
                partition,
                LEADER,
                self.replicas,
                self.broker.clock,
                fetch_settings(self.broker.config),
            )
            self.fetcher.add(self.current)

    def forget(self, topic_partition: TopicPartition) -> None:
        if self.current is not None:
            self.current.is_ended = True
            self.fetcher.remove(self.current)
            self.current = None

    # What a test does

    def decide(self, leader: int, epoch: int, *replicas: int) -> None:
        self.decided = led_by(leader, epoch, *replicas)
        self.decisions.decide(T0, self.decided)
        self.leader.epoch = epoch

    @property
    def partition(self) -> Partition:
        return self.broker.manager.partition(T0)

    @property
    def followed(self) -> FollowedPartition:
        assert self.current is not None
        return self.current

    @property
    def ends(self) -> tuple[int, int]:
        """The log end and the high watermark here."""
        view = self.partition.view
        return view.log_end_offset, view.high_watermark

    async def step(self, count: int = 1) -> None:
        for _ in range(count):
            await self.fetcher._step()


async def rig_of(broker: Replicas) -> Rig:
    """The broker must have a topic before anybody decides on it."""
    rig = Rig(broker)
    await broker.create_topic()
    rig.decide(LEADER, 3)
    return rig
