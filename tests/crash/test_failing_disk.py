"""R6: a whole broker on a disk whose sync fails: nothing is acknowledged after it.

What was durable before can still be read, and the broker stays up.
"""

import errno
from pathlib import Path

import pytest

from odradek.broker.node.server import Server
from odradek.client.connection import Connection
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.record_batch import scan
from odradek.storage.files.files import File, OsFile, OsFiles, StorageFailure
from tests.broker.node.test_server import (
    MARKER,
    config,
    create_topic,
    fetch_request,
    produce,
    running,
    with_client,
)

ROUNDS = 3


class FailingFiles(OsFiles):
    """The real files, until the ``nth`` sync from ``arm`` on; later ones succeed."""

    def __init__(self) -> None:
        super().__init__()
        self.nth = 0
        self.has_failed = False

    def arm(self, nth: int) -> None:
        self.nth = nth

    def open(self, path: Path, *, create: bool = False) -> File:
        super().open(path, create=create).close()
        return FailingFile(self, path, self.size(path))

    def sync_directory(self, path: Path) -> None:
        self.note_sync(path)
        super().sync_directory(path)

    def note_sync(self, path: Path) -> None:
        self.nth -= 1
        if self.nth == 0:
            self.has_failed = True
            reason = OSError(errno.EIO, "Input/output error")
            raise StorageFailure(f"sync of {path} failed") from reason


class FailingFile(OsFile):
    def __init__(self, files: FailingFiles, path: Path, size: int) -> None:
        super().__init__(files, path, size)
        self._owner = files

    def sync(self) -> None:
        self._owner.note_sync(self.path)
        super().sync()


def try_to_produce(connection: Connection) -> int | None:
    try:
        return produce(connection)
    except AssertionError:
        return None


def fetched_offsets(connection: Connection) -> list[int]:
    response = connection.request(fetch_request(0), FetchResponse, 12)
    (partition,) = response.responses[0].partitions
    assert partition.error_code == 0
    records = memoryview(partition.records or b"")
    return [header.base_offset for _, header in scan(records)]


async def acknowledged_until_it_fails(server: Server) -> list[int | None]:
    answers = []
    for _ in range(ROUNDS):
        answers.append(await with_client(server, try_to_produce))
        await server.services.replica_manager.checkpointer.write()
    answers.append(await with_client(server, try_to_produce))
    return answers


def is_up(connection: Connection) -> bool:
    response = connection.request(MetadataRequest(topics=None), MetadataResponse, 9)
    return [topic.name for topic in response.topics] == ["t"]


@pytest.mark.parametrize("nth", range(1, 40, 3))
async def test_r6_nothing_is_acknowledged_after_a_failed_sync(
    tmp_path: Path, nth: int
) -> None:
    files = FailingFiles()
    server = Server(config(tmp_path), files=files)
    await server.start()
    await with_client(server, create_topic)
    files.arm(nth)
    answers = await acknowledged_until_it_fails(server)
    acknowledged = [offset for offset in answers if offset is not None]
    assert acknowledged == list(range(len(acknowledged)))
    assert answers == acknowledged + [None] * (len(answers) - len(acknowledged))
    assert await with_client(server, fetched_offsets) == acknowledged
    assert await with_client(server, is_up)
    if files.has_failed:
        assert answers[-1] is None
        assert server.services.committer.failures
    await server.stop()
    assert server.bugs.count == 0
    assert (tmp_path / MARKER).exists() == (not files.has_failed)
    async with running(tmp_path) as again:
        found = await with_client(again, fetched_offsets)
        assert found[: len(acknowledged)] == acknowledged
        assert await with_client(again, produce) == len(found)
