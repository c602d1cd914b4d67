"""Offsets of transactions through logs, restarts, and everything that ends them."""

import random
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.group.offsets.commit import Committer, WantedOffset
from odradek.broker.coordinator.group.offsets.fetch import FetchedOffset, Fetcher
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.group.rig import TOPIC_ID
from tests.fakes.files import FakeFiles
from tests.fakes.group_client import GROUP, GroupClient, group_client

TOPICS = ("t", "u")
STEPS = 60


def refuse(error: KafkaError) -> list[int]:
    return [error.code]


class Offsets:
    """The offsets of one group, asked and changed without handlers."""

    def __init__(self, client: GroupClient) -> None:
        self.broker = client.broker
        self.groups = client.broker.services.groups

    async def told(self, answer: Any) -> Any:
        if isinstance(answer, Parked):
            await self.broker.commit()
            answer = answer.result()
        return answer

    def _wanted(self, offset: int, topic: str, note: str) -> list[WantedOffset]:
        return [WantedOffset(topic, 0, offset, 0, note, TOPIC_ID)]

    async def commit(self, offset: int, topic: str = "t", note: str = "") -> None:
        wanted = self._wanted(offset, topic, note)
        answer = self.groups.commit(Committer(GROUP), wanted, 9, -1, list, refuse)
        assert await self.told(answer) == [ErrorCode.NONE]

    async def txn_commit(
        self, producer: tuple[int, int], offset: int, topic: str = "t", note: str = ""
    ) -> None:
        wanted = self._wanted(offset, topic, note)
        identity = ProducerIdentity(*producer)
        guard = self.groups.start_verification(GROUP, identity, epoch_bump=True)
        answer = self.groups.commit_in_transaction(
            Committer(GROUP), identity, guard, wanted, list, refuse
        )
        assert await self.told(answer) == [ErrorCode.NONE]

    async def end(self, producer: tuple[int, int], *, is_commit: bool) -> int:
        place = self.groups.partition_of(GROUP)
        identity = ProducerIdentity(*producer)
        answer = self.groups.end_transaction(place, identity, is_commit, 0, 2)
        return int(await self.told(answer))

    async def delete(self) -> None:
        await self.told(self.groups.delete(GROUP, lambda error: error.code))

    async def fetch(self, *, require_stable: bool) -> list[FetchedOffset]:
        wanted = [(topic, 0) for topic in TOPICS]
        found: list[FetchedOffset] = await self.told(
            self.groups.fetch(Fetcher(GROUP), wanted, require_stable, list, refuse)
        )
        return found

    async def committed(self) -> list[int]:
        found = await self.fetch(require_stable=False)
        return [each.committed.offset for each in found]

    async def is_pending(self) -> list[bool]:
        found = await self.fetch(require_stable=True)
        return [each.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT for each in found]


class Plain:
    """The same, said plainly: when each was written decides."""

    def __init__(self) -> None:
        self.time = 0
        self.committed: dict[str, tuple[int, int]] = {}
        self.pending: dict[int, dict[str, tuple[int, int]]] = {}

    def write(self, offset: int, topic: str, producer_id: int | None) -> None:
        self.time += 1
        place = self.committed
        if producer_id is not None:
            place = self.pending.setdefault(producer_id, {})
        place[topic] = self.time, offset

    def end(self, producer_id: int, *, is_commit: bool) -> None:
        for topic, written in self.pending.pop(producer_id, {}).items():
            if is_commit:
                self.committed[topic] = max(written, self.committed.get(topic, written))

    def delete(self) -> None:
        self.committed.clear()
        self.pending.clear()

    def offsets(self) -> list[int]:
        return [self.committed.get(topic, (0, -1))[1] for topic in TOPICS]

    def is_pending(self) -> list[bool]:
        return [
            any(topic in written for written in self.pending.values())
            for topic in TOPICS
        ]


async def step(
    offsets: Offsets, plain: Plain, epochs: dict[int, int], draw: random.Random
) -> None:
    """Do something to both; ``epochs`` of producers rise with every end."""
    offset, topic = draw.randrange(1000), draw.choice(TOPICS)
    note = draw.choice(["", "", "note"])  # usual offsets are loaded at once
    producer_id = draw.choice(list(epochs))
    producer = producer_id, epochs[producer_id]
    kind = draw.choice(["commit", "txn", "txn", "txn", "end", "end", "delete"])
    if kind == "commit":
        await offsets.commit(offset, topic, note)
        plain.write(offset, topic, None)
    elif kind == "txn":
        await offsets.txn_commit(producer, offset, topic, note)
        plain.write(offset, topic, producer_id)
    elif kind == "end":
        is_commit = draw.random() < 0.7
        epochs[producer_id] += 1
        producer = producer_id, epochs[producer_id]
        assert await offsets.end(producer, is_commit=is_commit) == ErrorCode.NONE
        plain.end(producer_id, is_commit=is_commit)
    elif draw.random() < 0.3:
        await offsets.delete()
        plain.delete()


@pytest.mark.parametrize("seed", range(8))
async def test_they_are_what_was_committed_across_restarts(
    tmp_path: Path, seed: int
) -> None:
    draw, files, plain = random.Random(seed), FakeFiles(), Plain()
    epochs = {5: 0, 6: 0}
    for _ in range(4):
        async with group_client(tmp_path, files) as client:
            groups = client.broker.services.groups
            groups.load_all()
            await groups.runtime.loaded()
            offsets = Offsets(client)
            assert await offsets.committed() == plain.offsets()
            assert await offsets.is_pending() == plain.is_pending()
            for _ in range(STEPS // 4):
                await step(offsets, plain, epochs, draw)
                assert await offsets.committed() == plain.offsets()
                assert await offsets.is_pending() == plain.is_pending()


async def test_a_marker_finds_what_the_broker_before_left_pending(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with group_client(tmp_path, files) as client:
        offsets = Offsets(client)
        await offsets.txn_commit((5, 0), 7)
        await offsets.commit(1, "u")
    async with group_client(tmp_path, files) as client:
        offsets = Offsets(client)
        loading = await offsets.end((5, 1), is_commit=True)
        assert loading == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await offsets.groups.runtime.loaded()
        assert await offsets.is_pending() == [True, False]
        assert await offsets.end((5, 1), is_commit=True) == ErrorCode.NONE
        assert await offsets.committed() == [7, 1]


async def test_a_group_is_listed_while_its_offsets_are_only_pending(
    tmp_path: Path,
) -> None:
    async with group_client(tmp_path) as client:
        offsets = Offsets(client)
        await offsets.txn_commit((5, 0), 7)
        described = await offsets.told(offsets.groups.describe(GROUP, 6, refuse))
        assert described.group_state == "Empty"
        await offsets.end((5, 1), is_commit=False)
        described = await offsets.told(offsets.groups.describe(GROUP, 6, refuse))
        assert described.group_state == "Empty"
