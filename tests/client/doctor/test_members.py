from typing import Any

import pytest

from odradek.client.doctor.members import fenced_brokers
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)


class Link:
    """A connection to a broker of three, of which some are fenced."""

    def __init__(self, *fenced: int, version: int = 2) -> None:
        self.api_versions = {ApiKey.DESCRIBE_CLUSTER: (0, version)}
        self.error: Exception | None = None
        self._fenced = fenced

    def request(self, request: DescribeClusterRequest, _: Any) -> Any:
        if self.error is not None:
            raise self.error
        assert request.include_fenced_brokers
        brokers = [
            DescribeClusterBroker(
                broker_id=number,
                host=f"kafka-{number}",
                port=9092,
                is_fenced=number in self._fenced,
            )
            for number in (3, 2, 1)
        ]
        return DescribeClusterResponse(brokers=brokers)


def found(link: Any) -> Any:
    return fenced_brokers("kafka-1:9092", link)


def test_brokers_that_nobody_sees_are_named() -> None:
    finding = found(Link(2, 3))
    assert (finding.check, finding.is_ok) == ("brokers", False)
    assert finding.detail == "fenced: broker 2 (kafka-2:9092), broker 3 (kafka-3:9092)"
    assert "/readyz" in finding.advice


@pytest.mark.parametrize("link", [Link(), Link(2, version=1)])
def test_nothing_is_said_where_there_is_nothing(link: Link) -> None:
    assert found(link) is None


def test_who_does_not_answer_fails_elsewhere() -> None:
    link = Link(2)
    link.error = ConnectionResetError()
    assert found(link) is None
