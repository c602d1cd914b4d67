"""Answers, on a short way, the OffsetCommit that a consumer sends again and again.

It names the same partitions as the last time, with the same notes or none: only
offsets and leader epochs change. So all the other bytes are decoded once, and known
from then on.
Everything else, and whatever is wrong with it, is left to `offset_commit`.
"""

from __future__ import annotations

from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.group.offsets.commit import Committer
from odradek.broker.coordinator.group.offsets.usual_commit import UsualOffsets, commit
from odradek.broker.requests.known_requests import KEPT_MAX, KnownRequests
from odradek.broker.requests.registry import shortcut
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode, MalformedRequest
from odradek.protocol.headers import (
    decode_request_header,
    encode_request,
    encode_response,
)
from odradek.protocol.messages.offsets import OffsetCommitRequest

from .offset_commit import (
    FIRST_VERSION_WITH_TOPIC_IDS,
    answer_with,
    refuse_offset_commit,
)

if TYPE_CHECKING:
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.services import Services
    from odradek.broker.requests.short_ways import ShortWays

FIRST_VERSION = 2

_SIZE_MAX = 4096
_NOTE_SIZE_MAX = 100  # franz-go writes there who it is
_CORRELATION_POSITION, _ID_POSITION = 4, 8  # in a frame; behind it the client's id
_FRAME_LENGTH = 4
_FIRST_VERSION_WITH_EPOCHS = 6
_OFFSET_SIZE, _NUMBERS_SIZE = 8, 12  # alone, and with a leader epoch
_NO_EPOCH = -1
_NO_RETENTION = -1
_SIZES_MAX, _SHAPES_MAX = 512, 4  # sizes of frames, and what there is of one size
_START_MAX = 72  # by so much of it what is not the usual is known


class CommitHead(UsualOffsets):
    """What a commit says besides its numbers, and the answer to it."""

    __slots__ = ("after", "before", "refuse")

    def __init__(
        self,
        version: int,
        request: OffsetCommitRequest,
        partitions: list[tuple[Topic, int, str]],
    ) -> None:
        committer = Committer(
            request.group_id,
            request.generation_id_or_member_epoch,
            request.member_id,
            request.group_instance_id,
        )
        super().__init__(committer, partitions, version)
        self.refuse = partial(refuse_offset_commit, request)
        answer = answer_with(request, ErrorCode.NONE)
        frame = b"".join(encode_response(answer, version, 0))
        answer_id = _FRAME_LENGTH + _FRAME_LENGTH  # its end
        # The whole answer, but for the correlation id between the two.
        self.before, self.after = frame[:_FRAME_LENGTH], frame[answer_id:]


_NO_SHAPES: dict[tuple[int, ...], Shape] = {}


class Shape:
    """Where the numbers are in some requests, all of one size."""

    __slots__ = ("epochs", "offsets", "rest", "unpack")

    def __init__(self, starts: list[int], has_epochs: bool, size: int) -> None:
        """``starts`` are the positions of the offsets; epochs are behind them."""
        layout, position = f">{_ID_POSITION}x", _ID_POSITION
        for start in starts:
            layout += f"{start - position}s" + ("qi" if has_epochs else "q")
            position = start + (_NUMBERS_SIZE if has_epochs else _OFFSET_SIZE)
        self.unpack = Struct(f"{layout}{size - position}s").unpack_from
        step = 3 if has_epochs else 2
        self.rest, self.offsets = slice(0, None, step), slice(1, None, step)
        self.epochs = slice(2, None, step) if has_epochs else None


@shortcut(OffsetCommitRequest, first_version=FIRST_VERSION)
class UsualCommit:
    """Answers requests of one version; knows by its bytes what is around numbers."""

    __slots__ = (
        "_by_id",
        "_heads",
        "_known",
        "_odd",
        "_services",
        "_shapes",
        "_version",
        "_ways",
    )

    def __init__(self, services: Services, version: int, ways: ShortWays) -> None:
        self._version = version
        self._ways = ways
        self._services = services
        self._by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
        self._known: KnownRequests[CommitHead] = KnownRequests(self._is_gone)
        self._heads = self._known.by_bytes
        self._shapes: dict[int, dict[tuple[int, ...], Shape]] = {}
        self._odd: set[bytes] = set()

    def __call__(self, connection: ConnectionInfo, frame: memoryview) -> Any:
        """The answer, or a `Parked` one; None for what takes the long way."""
        for shape in self._shapes.get(len(frame), _NO_SHAPES).values():
            fields = shape.unpack(frame)
            rest = b"".join(fields[shape.rest])
            head = self._heads.get(rest)
            if head is not None:
                break
        else:
            self._learn(frame)
            return None
        version = self._services.metadata.index_version
        if head.seen_version != version and self._is_gone(head):
            del self._heads[rest]  # a topic of the same name is learnt anew
            return None
        offsets = fields[shape.offsets]
        if shape.epochs is None:
            numbers = [(offset, _NO_EPOCH) for offset in offsets]
        else:
            numbers = list(zip(offsets, fields[shape.epochs], strict=True))
        correlation_id = bytes(frame[_CORRELATION_POSITION:_ID_POSITION])
        answer = head.before + correlation_id + head.after
        runtime = self._services.groups.runtime
        return commit(runtime, head, numbers, answer, head.refuse)

    def _is_gone(self, head: CommitHead) -> bool:
        """Whether one of its topics was deleted."""
        return not head.is_current(self._services.metadata)

    def _learn(self, frame: memoryview) -> None:
        """Know it when it comes again, if it is the usual."""
        start = bytes(frame[_ID_POSITION:_START_MAX]) + len(frame).to_bytes(4)
        if len(frame) > _SIZE_MAX or start in self._odd or not self._known.has_room():
            return
        if not self._keep(frame):
            if len(self._odd) >= KEPT_MAX:
                self._odd.clear()
            self._odd.add(start)

    def _keep(self, frame: memoryview) -> bool:
        """Whether it is the usual, and kept."""
        try:
            header, position = decode_request_header(frame)
            request, _ = decoder(OffsetCommitRequest, self._version)(frame, position)
        except MalformedRequest:
            return False  # the long way will say so
        if not self._ways.admits(header.client_id, request):
            return False
        partitions = self._partitions(request)
        shape = self._shape_of(request, header.client_id, frame)
        if not partitions or shape is None:
            return False
        rest = b"".join(shape.unpack(frame)[shape.rest])
        self._heads[rest] = CommitHead(self._version, request, partitions)
        return True

    def _partitions(self, request: OffsetCommitRequest) -> list[tuple[Topic, int, str]]:
        """What it names; nothing if that is not the usual, or not allowed."""
        allows, metadata = self._ways.allows, self._services.metadata
        if request.retention_time_ms != _NO_RETENTION or not allows(
            Operation.READ, ResourceType.GROUP, request.group_id
        ):
            return []
        found = []
        for asked in request.topics:
            if self._by_id:
                topic = metadata.by_id(asked.topic_id)
            else:
                topic = metadata.get(asked.name)
            if topic is None or not allows(
                Operation.READ, ResourceType.TOPIC, topic.name
            ):
                return []
            for each in asked.partitions:
                note = each.committed_metadata or ""
                if len(note) > _NOTE_SIZE_MAX or not (
                    0 <= each.partition_index < len(topic.partitions)
                ):
                    return []
                found.append((topic, each.partition_index, note))
        return found

    def _shape_of(
        self, request: OffsetCommitRequest, client_id: str | None, frame: memoryview
    ) -> Shape | None:
        """Where its numbers are; None if it is not written as everybody does."""

        def encoded() -> bytes:
            written = encode_request(request, self._version, client_id=client_id)
            return written[_FRAME_LENGTH + _ID_POSITION :]

        usual = encoded()
        if usual != frame[_ID_POSITION:]:
            return None
        every = [each for topic in request.topics for each in topic.partitions]
        for each in every:
            each.committed_offset = ~each.committed_offset
            each.committed_leader_epoch = ~each.committed_leader_epoch
        starts, last = [], -2
        for position, (was, now) in enumerate(
            zip(usual, encoded(), strict=True), _ID_POSITION
        ):
            if was != now:
                if position != last + 1:
                    starts.append(position)
                last = position
        if len(self._shapes) >= _SIZES_MAX:
            self._shapes.clear()
        shapes = self._shapes.setdefault(len(frame), {})
        if len(shapes) >= _SHAPES_MAX:
            shapes.clear()
        return shapes.setdefault(
            tuple(starts),
            Shape(starts, self._version >= _FIRST_VERSION_WITH_EPOCHS, len(frame)),
        )
