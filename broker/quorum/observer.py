"""An observer of the metadata log: whom to ask what next, and what an answer means.

It does no I/O and knows no clock: `next_question` says what to ask and where, `take`
takes the answer, `lost` is told when there is none. Who drives it keeps the times.

Invariants: only what is below the leader's high watermark is applied, and that never
falls. The leader's epoch never falls. There is one question at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.client.address import Address
from odradek.protocol.errors import ErrorCode, KafkaError, error_class
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ReplicaState,
)
from odradek.protocol.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    PartitionSnapshot,
    TopicSnapshot,
    WantedSnapshotId,
)
from odradek.protocol.uuids import ZERO_UUID

from .image.error import MetadataLogError
from .snapshot_download import SnapshotDownload, SnapshotName, replay_snapshot
from .tail import Tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from odradek.protocol.messages.current_leader import (
        LeaderIdAndEpoch,
        NodeEndpoint,
    )
    from odradek.protocol.messages.fetch import PartitionData
    from odradek.protocol.messages.fetch_snapshot import (
        SnapshotEndpoint,
        SnapshotLeader,
    )

    from .image.replay import Replay

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = bytes(15) + b"\x01"
NOBODY: Final = -1

MAX_WAIT_MS: Final = 500
_MAX_BYTES: Final = 1 << 20
# Of these another try may do better, mostly at another controller.
_NO_LEADER_THERE: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)
_OF_A_SNAPSHOT: Final = (
    ErrorCode.SNAPSHOT_NOT_FOUND,
    ErrorCode.POSITION_OUT_OF_RANGE,
)


class Question(NamedTuple):
    """What to ask, and where; ``is_retry`` where it should wait a little first."""

    address: Address
    request: FetchRequest | FetchSnapshotRequest
    is_retry: bool


class Identity(NamedTuple):
    """Who asks: a node of the cluster, or nobody, of whom the leader keeps nothing."""

    node_id: int = NOBODY
    directory_id: bytes = ZERO_UUID
    cluster_id: str | None = None  # None: whichever it is


ANYBODY: Final = Identity()


class Observer:
    """Follows the metadata log from wherever ``replay`` is."""

    def __init__(
        self,
        bootstrap: Sequence[Address],
        replay: Replay,
        identity: Identity = ANYBODY,
    ) -> None:
        self.replay = replay
        self.leader_id = NOBODY
        self.leader_epoch = 0
        self.high_watermark = -1
        self.trouble = ""
        self._bootstrap = list(bootstrap)
        self._turn = 0
        self._leader: Address | None = None
        self._identity = identity
        self._tail = Tail(replay.image.offset + 1, replay.image.epoch)
        self._download: SnapshotDownload | None = None
        self._is_retry = False

    @property
    def is_caught_up(self) -> bool:
        """Whether everything is applied that the leader said is committed."""
        return 0 <= self.high_watermark <= self._tail.start_offset

    @property
    def leader(self) -> Address | None:
        """Where the leader listens, while it is known."""
        return self._leader

    def identify(self, identity: Identity) -> None:
        """Ask from now on as this node."""
        self._identity = identity

    def next_question(self) -> Question:
        """Ask this next."""
        address = self._leader or self._bootstrap[self._turn % len(self._bootstrap)]
        request: FetchRequest | FetchSnapshotRequest
        if self._download is None:
            request = self.fetch_at(self._tail.end_offset, self._tail.last_epoch)
        else:
            request = self._piece()
        return Question(address, request, self._is_retry)

    def lost(self, reason: str) -> None:
        """There was no answer: another controller may know who leads."""
        self._look_for_leader(reason)

    def take(
        self, asked: Address, response: FetchResponse | FetchSnapshotResponse
    ) -> None:
        """Take in what came from ``asked``.

        Raises:
            MetadataLogError: the log cannot be followed.
            KafkaError: we are refused, and will be.
        """
        if isinstance(response, FetchResponse):
            self._take_fetched(asked, response)
        else:
            self._take_piece(asked, response)

    # The log

    def fetch_at(self, end_offset: int, last_epoch: int) -> FetchRequest:
        """What somebody asks who has the log up to there."""
        identity = self._identity
        partition = FetchPartition(
            partition=0,
            current_leader_epoch=self.leader_epoch,
            fetch_offset=end_offset,
            last_fetched_epoch=last_epoch,
            partition_max_bytes=_MAX_BYTES,
            replica_directory_id=identity.directory_id,
            high_watermark=self.high_watermark,
        )
        return FetchRequest(
            cluster_id=identity.cluster_id,
            replica_id=identity.node_id,
            replica_state=ReplicaState(replica_id=identity.node_id),
            max_wait_ms=MAX_WAIT_MS,
            max_bytes=_MAX_BYTES,
            topics=[
                FetchTopic(
                    topic=METADATA_TOPIC,
                    topic_id=METADATA_TOPIC_ID,
                    partitions=[partition],
                )
            ],
        )

    def _take_fetched(self, asked: Address, response: FetchResponse) -> None:
        if response.error_code:
            self._refused(response.error_code)
            return
        found = [each for topic in response.responses for each in topic.partitions]
        if not found:
            self._look_for_leader(f"{asked} answers nothing about the metadata log")
            return
        data = found[0]
        if self._is_of_leader(
            asked, data.error_code, data.current_leader, response.node_endpoints
        ):
            self._follow(data)

    def _follow(self, data: PartitionData) -> None:
        self.high_watermark = max(self.high_watermark, data.high_watermark)
        diverging, snapshot = data.diverging_epoch, data.snapshot_id
        if diverging.epoch >= 0 or diverging.end_offset >= 0:
            self._tail.cut(diverging.epoch, diverging.end_offset)
        elif snapshot.end_offset >= 0 or snapshot.epoch >= 0:
            name = SnapshotName(snapshot.end_offset, snapshot.epoch)
            if name.end_offset < self._tail.start_offset:
                raise MetadataLogError(
                    f"the leader sends snapshot {name}, which is older than offset"
                    f" {self._tail.start_offset}, which is committed"
                )
            self._download = SnapshotDownload(name)
        else:
            self._tail.append(data.records or b"")
            self._apply()

    def _apply(self) -> None:
        for header, batch in self._tail.committed(self.high_watermark):
            self.replay.apply(header, batch)
        self.replay.publish()

    # Snapshots

    def _piece(self) -> FetchSnapshotRequest:
        assert self._download is not None
        identity, name = self._identity, self._download.name
        partition = PartitionSnapshot(
            partition=0,
            current_leader_epoch=self.leader_epoch,
            snapshot_id=WantedSnapshotId(end_offset=name.end_offset, epoch=name.epoch),
            position=self._download.position,
            replica_directory_id=identity.directory_id,
        )
        return FetchSnapshotRequest(
            cluster_id=identity.cluster_id,
            replica_id=identity.node_id,
            max_bytes=_MAX_BYTES,
            topics=[TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])],
        )

    def _take_piece(self, asked: Address, response: FetchSnapshotResponse) -> None:
        download, self._download = self._download, None
        assert download is not None
        if response.error_code:
            self._refused(response.error_code)
            return
        found = [each for topic in response.topics for each in topic.partitions]
        if not found or found[0].error_code in _OF_A_SNAPSHOT:
            # The leader has a newer one: a fetch says which.
            self._retry_later(f"{asked} has snapshot {download.name} no more")
            return
        piece = found[0]
        if not self._is_of_leader(
            asked, piece.error_code, piece.current_leader, response.node_endpoints
        ):
            return
        if not download.take(piece.position, piece.unaligned_records, piece.size):
            self._download = download
            return
        name = download.name
        replay_snapshot(self.replay, name, download.batches())
        self._tail.restart(name.end_offset, name.epoch)
        self.replay.publish()

    # Who leads

    def _is_of_leader(
        self,
        asked: Address,
        code: int,
        told: LeaderIdAndEpoch | SnapshotLeader,
        endpoints: Iterable[NodeEndpoint | SnapshotEndpoint],
    ) -> bool:
        """Whether the answer is the leader's; if not, ask whom it names."""
        if code and code not in _NO_LEADER_THERE:
            raise _error(code)
        if code == ErrorCode.UNKNOWN_LEADER_EPOCH or told.leader_epoch < (
            self.leader_epoch
        ):
            self._look_for_leader(f"{asked} has not heard of epoch {self.leader_epoch}")
            return False
        if not code:
            self._know(told.leader_id, told.leader_epoch, asked)
            return True
        addresses = {each.node_id: Address(each.host, each.port) for each in endpoints}
        named = addresses.get(told.leader_id)
        is_news = (named, told.leader_epoch) != (self._leader, self.leader_epoch)
        self._know(told.leader_id, told.leader_epoch, named)
        if named is None or not is_news:
            self._look_for_leader(f"{asked} does not lead, and knows nobody who does")
        return False

    def _know(self, leader_id: int, epoch: int, address: Address | None) -> None:
        self.leader_id, self.leader_epoch, self._leader = leader_id, epoch, address
        self._is_retry, self.trouble = False, ""

    def _look_for_leader(self, trouble: str) -> None:
        self.leader_id, self._leader, self._download = NOBODY, None, None
        self._turn += 1
        self._retry_later(trouble)

    def _retry_later(self, trouble: str) -> None:
        self._is_retry, self.trouble = True, trouble

    def _refused(self, code: int) -> None:
        if code not in _NO_LEADER_THERE:
            raise _error(code)
        self._look_for_leader(str(_error(code)))


def _error(code: int) -> KafkaError:
    kind = error_class(code)
    if kind is KafkaError:
        return KafkaError(f"The controller answered error {code}.")
    return kind()
