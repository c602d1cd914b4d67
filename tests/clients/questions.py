"""What a test asks the broker about groups, past the clients."""

import time

from client.connection import Connection
from protocol.errors import ErrorCode
from protocol.messages.group_admin import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from tests.broker_process import BrokerProcess

WITH_NAMES = 9
LOAD_S = 30


def committed(broker: BrokerProcess, group: str, topic: str) -> dict[int, int]:
    """The committed offset of each partition that has one."""
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=None)]
    )
    deadline = time.monotonic() + LOAD_S
    with Connection("127.0.0.1", broker.port) as connection:
        while True:
            response = connection.request(request, OffsetFetchResponse, WITH_NAMES)
            (found,) = response.groups
            if found.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                break
            assert time.monotonic() < deadline, found
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
