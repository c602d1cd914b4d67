"""A broker that follows another one, whose log a test makes and changes as it likes."""

from collections.abc import Callable
from typing import Any, ClassVar

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
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import (
    decode_request_header,
    decode_response,
    encode_response,
)
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


SESSION_ID, _VERSION = 9, 18


class FakeConnection:
    """What a prompt channel sends on."""

    client_id = "odradek"
    api_versions: ClassVar = {FetchRequest.api_key: (4, _VERSION)}
    is_prompt = True

    def answer_in(
        self, frame: memoryview, number: int, response_class: Any, version: int
    ) -> Any:
        answered, response = decode_response(frame, response_class, version)
        assert (answered, version) == (number, _VERSION)
        return response


class FakeLeader:
    """Answers for one partition, as a channel to its leader does.

    With a ``connection`` it keeps a session, and bytes are spoken in it; ``meanwhile``
    is what happens before each answer.
    """

    def __init__(self, epoch: int) -> None:
        self.log = SourceLog()
        self.epoch = epoch
        self.high_watermark: int | None = None  # all of it
        self.code = 0
        self.error: Exception | None = None
        self.requests: list[FetchRequest] = []
        self.connection: FakeConnection | None = None
        self.meanwhile: Callable[[], object] = lambda: None
        self._wanted: tuple[bytes, Any] | None = None  # what the session reads
        self.is_closed = False

    def append(self, *values: bytes, epoch: int, offset: int | None = None) -> None:
        self.log.append(batch_of(*values), epoch, offset)

    @property
    def told(self) -> int:
        """Up to where the follower has said that it has everything."""
        return self.requests[-1].topics[0].partitions[0].fetch_offset

    async def ask(self, request: Any, response_class: Any, timeout_s: float) -> Any:
        self.meanwhile()
        if self.error is not None:
            raise self.error
        if isinstance(request, ListOffsetsRequest):
            return self._ends(request)
        return self._fetched(request)

    def _fetched(self, request: FetchRequest) -> FetchResponse:
        self.requests.append(request)
        named = [(x.topic_id, y) for x in request.topics for y in x.partitions]
        if named or request.forgotten_topics_data or self.connection is None:
            self._wanted = named[0] if named else None
        responses = []
        if self._wanted is not None:
            topic_id, wanted = self._wanted
            answer = self._answer(wanted)
            responses = [FetchableTopicResponse(topic_id=topic_id, partitions=[answer])]
        session_id = 0 if self.connection is None else SESSION_ID
        return FetchResponse(session_id=session_id, responses=responses)

    def prompt(self) -> Any:
        return self.connection

    async def converse(
        self,
        connection: Any,
        request: bytes | None,
        go_on: Callable[[memoryview], bytes | None],
        timeout_s: float,
    ) -> None:
        while request is not None:
            self.meanwhile()
            if self.error is not None:
                raise self.error
            frame = memoryview(request)[4:]
            header, position = decode_request_header(frame)
            read, _ = decoder(FetchRequest, header.api_version)(frame, position)
            answer = encode_response(self._fetched(read), _VERSION, read.session_epoch)
            request = go_on(memoryview(b"".join(map(bytes, answer)))[4:])

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
