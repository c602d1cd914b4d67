from pathlib import Path

import pytest

from odradek.protocol.errors import (
    BrokerIdNotRegistered,
    InvalidRequest,
    MismatchedEndpointType,
    UnsupportedEndpointType,
)
from odradek.protocol.messages.cluster import (
    DescribeClusterRequest,
    UnregisterBrokerRequest,
)
from odradek.protocol.messages.metadata import OPERATIONS_NOT_ASKED
from tests.fakes.topics import topic_broker


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_the_cluster_is_this_broker(tmp_path: Path, version: int) -> None:
    async with topic_broker(tmp_path, node_id=7) as broker:
        answer = await broker.ask(DescribeClusterRequest(), version)
        assert (answer.error_code, answer.error_message) == (0, None)
        assert answer.cluster_id == broker.topics.cluster_id
        assert answer.controller_id == 7
        (node,) = answer.brokers
        assert (node.broker_id, node.host, node.port) == (7, "127.0.0.1", 29692)
        assert not node.is_fenced
        assert answer.cluster_authorized_operations == OPERATIONS_NOT_ASKED


async def test_operations_are_told_to_those_who_ask(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)
        assert (await broker.ask(request, 1)).cluster_authorized_operations == 8096


async def test_controllers_are_elsewhere(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        with pytest.raises(MismatchedEndpointType, match="CONTROLLER"):
            await broker.ask(DescribeClusterRequest(endpoint_type=2), 1)
        with pytest.raises(UnsupportedEndpointType):
            await broker.ask(DescribeClusterRequest(endpoint_type=3), 1)


async def test_no_broker_can_be_unregistered(tmp_path: Path) -> None:
    async with topic_broker(tmp_path, node_id=7) as broker:
        with pytest.raises(BrokerIdNotRegistered, match="Broker ID 8"):
            await broker.ask(UnregisterBrokerRequest(broker_id=8), 0)
        with pytest.raises(InvalidRequest, match="the one that answers"):
            await broker.ask(UnregisterBrokerRequest(broker_id=7), 0)
