"""What a running broker shows on its pages, read as Prometheus reads it."""

import asyncio
import urllib.error
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from odradek.broker.config.options.listener import HostPort
from odradek.broker.node.server import Server
from odradek.client.connection import Connection
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.patience import PATIENCE_S

GROUP = 'a "group"'
HTTP = HostPort("127.0.0.1", 0)
Samples = dict[str, dict[tuple[str, ...], float]]


async def get(server: Server, path: str) -> tuple[int, str]:
    """The status and the text of a page."""

    def ask() -> tuple[int, str]:
        url = f"http://127.0.0.1:{server.http_port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return await asyncio.to_thread(ask)


async def scraped(server: Server) -> Samples:
    """The values of all metrics, by name and labels' values."""
    status, text = await get(server, "/metrics")
    assert status == 200
    return read(text)


def read(text: str) -> Samples:
    """The samples in ``text``; no name has the same labels twice."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            by_labels = found.setdefault(sample.name, {})
            labels = tuple(sample.labels.values())
            assert labels not in by_labels, sample
            by_labels[labels] = sample.value
    return found


def commit(connection: Connection) -> None:
    """Let a group commit offset 1 of the first partition."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
    request = OffsetCommitRequest(group_id=GROUP, topics=[topic])
    coordinator = FindCoordinatorRequest(coordinator_keys=[GROUP])
    connection.request(coordinator, FindCoordinatorResponse)  # makes its topic
    response = connection.request(request, OffsetCommitResponse, 9)
    assert response.topics[0].partitions[0].error_code == 0
