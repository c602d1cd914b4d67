"""A member of a share group that speaks the raw protocol, and who administrates it.

One connection, one topic; it blocks. What it is refused it raises as `Refused`.
"""

import time
from types import TracebackType
from typing import Any, NamedTuple
from uuid import uuid4

from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from odradek.protocol.messages.share_fetch import (
    AcknowledgementBatch,
    ShareAcknowledgePartition,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopic,
    ShareFetchPartition,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareFetchTopic,
)
from odradek.protocol.messages.share_groups import (
    DescribedShareGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from odradek.protocol.messages.share_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from tests.patience import PATIENCE_S

ACCEPT, RELEASE, REJECT = 1, 2, 3
METADATA_WITH_IDS = 12
GROUP_RESOURCE = 32
LATER = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}


class Refused(Exception):
    """The broker has answered with an error."""

    def __init__(self, code: int) -> None:
        super().__init__(ErrorCode(code).name)
        self.code = code


class Taken(NamedTuple):
    """Records that a member was given."""

    partition: int
    first: int
    last: int
    delivery_count: int


class Place(NamedTuple):
    """Where a group is in a partition."""

    start: int
    lag: int


def check(code: int) -> None:
    """See that it is none.

    Raises:
        Refused: it is one.
    """
    if code:
        raise Refused(code)


class ShareMember:
    """One member, which shares all partitions of one topic."""

    def __init__(self, address: str, group: str, topic: str) -> None:
        host, _, port = address.partition(":")
        self.connection = Connection(host, int(port))
        self.group, self.topic = group, topic
        self.member_id = str(uuid4())
        self.topic_id = bytes(16)
        self.epoch = 0
        self.session_epoch = 0
        self.partitions: set[int] = set()

    def __enter__(self) -> "ShareMember":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.connection.close()

    # Membership

    def join(self, count: int) -> None:
        """Return when ``count`` partitions are assigned."""
        deadline = time.monotonic() + PATIENCE_S
        while len(self.partitions) < count:
            assert time.monotonic() < deadline, self.partitions
            try:
                if not any(self.topic_id):
                    self._look_up()
                self.beat()
            except Refused as error:
                if error.code not in LATER:
                    raise
            if len(self.partitions) < count:
                time.sleep(0.05)

    def _look_up(self) -> None:
        asked = FindCoordinatorRequest(key_type=0, coordinator_keys=[self.group])
        found = self.connection.request(asked, FindCoordinatorResponse)
        check(found.coordinators[0].error_code)
        request = MetadataRequest(topics=[MetadataRequestTopic(name=self.topic)])
        known = self.connection.request(request, MetadataResponse, METADATA_WITH_IDS)
        check(known.topics[0].error_code)
        self.topic_id = known.topics[0].topic_id

    def beat(self) -> None:
        """One heartbeat."""
        request = ShareGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            subscribed_topic_names=[self.topic],
        )
        told = self.connection.request(request, ShareGroupHeartbeatResponse)
        check(told.error_code)
        self.epoch = told.member_epoch
        if told.assignment is not None:
            self.partitions = {
                number
                for topic in told.assignment.topic_partitions
                for number in topic.partitions
            }

    def leave(self) -> None:
        """End the session, and leave the group."""
        if self.session_epoch:
            self.session_epoch = -1
            self._acknowledge([])
        request = ShareGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=-1
        )
        told = self.connection.request(request, ShareGroupHeartbeatResponse)
        check(told.error_code)
        self.epoch = self.session_epoch = 0
        self.partitions.clear()

    # Records

    def fetch(self, max_records: int = 500, max_wait_ms: int = 500) -> list[Taken]:
        """What the member is given, perhaps nothing."""
        wanted = self.partitions if self.session_epoch == 0 else ()
        partitions = [ShareFetchPartition(partition_index=each) for each in wanted]
        topic = ShareFetchTopic(topic_id=self.topic_id, partitions=partitions)
        request = ShareFetchRequest(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=self.session_epoch,
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_records=max_records,
            batch_size=max_records,
            topics=[topic] if partitions else [],
        )
        fetched = self.connection.request(request, ShareFetchResponse)
        check(fetched.error_code)
        self.session_epoch += 1
        taken = []
        for found in fetched.responses:
            for each in found.partitions:
                check(each.error_code)
                taken += [
                    Taken(
                        each.partition_index,
                        batch.first_offset,
                        batch.last_offset,
                        batch.delivery_count,
                    )
                    for batch in each.acquired_records
                ]
        return taken

    def fetch_until(self, count: int) -> list[Taken]:
        """What it is given until there are so many records."""
        deadline = time.monotonic() + PATIENCE_S
        taken: list[Taken] = []
        while sum(each.last - each.first + 1 for each in taken) < count:
            assert time.monotonic() < deadline, taken
            taken += self.fetch()
        return sorted(taken)

    def acknowledge(self, partition: int, *said: tuple[int, int, int]) -> None:
        """Say of offsets, from the first to the last of each, what became of them."""
        batches = [
            AcknowledgementBatch(
                first_offset=first, last_offset=last, acknowledge_types=[kind]
            )
            for first, last, kind in said
        ]
        self._acknowledge(
            [
                ShareAcknowledgePartition(
                    partition_index=partition, acknowledgement_batches=batches
                )
            ]
        )
        self.session_epoch += 1

    def _acknowledge(self, partitions: list[ShareAcknowledgePartition]) -> None:
        topic = ShareAcknowledgeTopic(topic_id=self.topic_id, partitions=partitions)
        request = ShareAcknowledgeRequest(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=self.session_epoch,
            topics=[topic] if partitions else [],
        )
        answer = self.connection.request(request, ShareAcknowledgeResponse)
        check(answer.error_code)
        for found in answer.responses:
            for each in found.partitions:
                check(each.error_code)


class ShareAdmin:
    """Who asks about a share group, and moves it."""

    def __init__(self, address: str, group: str) -> None:
        host, _, port = address.partition(":")
        self.connection = Connection(host, int(port))
        self.group = group

    def __enter__(self) -> "ShareAdmin":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.connection.close()

    def configure(self, **options: str) -> None:
        """Options of the group, with ``_`` for the dots."""
        configs = [
            AlterableConfig(name=name.replace("_", "."), value=value)
            for name, value in options.items()
        ]
        resource = AlterConfigsResource(
            resource_type=GROUP_RESOURCE, resource_name=self.group, configs=configs
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        answer = self.connection.request(request, IncrementalAlterConfigsResponse)
        check(answer.responses[0].error_code)

    def describe(self) -> DescribedShareGroup:
        """The group; it waits until that is loaded."""
        request = ShareGroupDescribeRequest(group_ids=[self.group])
        return self._loaded(
            lambda: self.connection.request(request, ShareGroupDescribeResponse).groups
        )[0]

    def places(self) -> dict[int, Place]:
        """Where the group is in each partition; it waits until that is known."""
        asked = DescribeShareGroupOffsetsRequestGroup(group_id=self.group, topics=None)
        request = DescribeShareGroupOffsetsRequest(groups=[asked])

        def ask() -> list[Any]:
            answer = self.connection.request(request, DescribeShareGroupOffsetsResponse)
            (group,) = answer.groups
            found = [each for topic in group.topics for each in topic.partitions]
            return [group, *found]

        _, *partitions = self._loaded(ask)
        return {
            each.partition_index: Place(each.start_offset, each.lag)
            for each in partitions
        }

    def wait_for(self, wanted: dict[int, Place]) -> None:
        """Return when the group is there: what was held is given up after an answer."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := self.places()) != wanted:
            assert time.monotonic() < deadline, found
            time.sleep(0.05)

    def move(self, topic: str, starts: dict[int, int]) -> None:
        """Let the group go on at these offsets."""
        partitions = [
            AlterShareGroupOffsetsRequestPartition(
                partition_index=number, start_offset=start
            )
            for number, start in starts.items()
        ]
        moved = AlterShareGroupOffsetsRequestTopic(
            topic_name=topic, partitions=partitions
        )
        request = AlterShareGroupOffsetsRequest(group_id=self.group, topics=[moved])
        answer = self.connection.request(request, AlterShareGroupOffsetsResponse)
        check(answer.error_code)
        for found in answer.responses:
            for each in found.partitions:
                check(each.error_code)

    def _loaded(self, ask: Any) -> list[Any]:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found: list[Any] = ask()
            codes = {each.error_code for each in found} - {0}
            if not codes:
                return found
            assert time.monotonic() < deadline, codes
            for code in codes:
                if code not in LATER:
                    raise Refused(code)
            time.sleep(0.05)
