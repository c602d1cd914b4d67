"""What a test asks the broker about groups and ends of logs, past the clients."""

import time
from typing import NamedTuple

from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_admin import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from tests.broker_process import BrokerProcess
from tests.patience import PATIENCE_S

WITH_NAMES = 9
LIST_OFFSETS = 7
LATEST = -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
NOT_YET = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR


def committed(broker: BrokerProcess, group: str, topic: str) -> dict[int, int]:
    """The committed offset of each partition that has one."""
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=None)]
    )
    deadline = time.monotonic() + PATIENCE_S
    with Connection("127.0.0.1", broker.port) as connection:
        while True:
            response = connection.request(request, OffsetFetchResponse, WITH_NAMES)
            (found,) = response.groups
            if found.error_code not in NOT_YET:
                break
            assert time.monotonic() < deadline, found
            time.sleep(0.01)
    assert found.error_code == 0, found
    return {
        each.partition_index: each.committed_offset
        for answered in found.topics
        if answered.name == topic
        for each in answered.partitions
    }


def describe(broker: BrokerProcess, group: str) -> DescribedGroup:
    """State and members."""
    request = DescribeGroupsRequest(groups=[group])
    with Connection("127.0.0.1", broker.port) as connection:
        response = connection.request(request, DescribeGroupsResponse)
    (found,) = response.groups
    return found


def member_ids(broker: BrokerProcess, group: str) -> dict[str, str]:
    """Member ids by instance id, or by themselves."""
    return {
        each.group_instance_id or each.member_id: each.member_id
        for each in describe(broker, group).members
    }


class Ends(NamedTuple):
    """Up to where a partition is decided, and where it ends."""

    last_stable_offset: int
    high_watermark: int


def ends(broker: BrokerProcess, topic: str, partition: int = 0) -> Ends:
    """Both ends; they differ while a transaction is open."""
    with Connection("127.0.0.1", broker.port) as connection:
        return Ends(
            _latest(connection, READ_COMMITTED, topic, partition),
            _latest(connection, READ_UNCOMMITTED, topic, partition),
        )


def _latest(connection: Connection, isolation: int, topic: str, partition: int) -> int:
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=LATEST)
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[ListOffsetsTopic(name=topic, partitions=[wanted])],
    )
    response = connection.request(request, ListOffsetsResponse, LIST_OFFSETS)
    (found,) = response.topics[0].partitions
    assert found.error_code == 0, found
    return found.offset
