from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.group.offsets.fetch import Fetcher
from odradek.broker.mirror.group_copies import AGAIN_MS, GroupCopies
from odradek.broker.runtime.parked import Parked
from odradek.client.group_offsets import CommittedOffset
from odradek.protocol.errors import ErrorCode, KafkaError, UnknownMemberId
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.mirror.rig import T0, Rig, mirror_rig
from tests.fakes.clock import FakeClock

AT_1 = CommittedOffset(1, 0, "said")


async def test_offsets_follow_as_far_as_the_records_are_here(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        rig.source.append(b"a", b"b")
        far = CommittedOffset(5, -1, "")
        rig.source.groups = {"g": {T0: AT_1}, "far": {T0: far}}
        await rig.add()
        await rig.until(lambda: committed(rig, "g") == (1, 0, "said"))
        assert committed(rig, "far") is None
        rig.source.append(b"c", b"d", b"e")
        rig.source.groups["g"] = {T0: CommittedOffset(2, 0, "")}
        await rig.until(lambda: committed(rig, "far") == (5, -1, ""))
        await rig.until(lambda: committed(rig, "g") == (2, 0, ""))
        await rig.until(lambda: rig.mirror.group_copies.count == 2)


def committed(rig: Rig, group_id: str) -> tuple[int, int, str] | None:
    groups = rig.broker.services.groups
    if not groups.has_topic or not groups.is_loaded:
        return None
    found: Any = groups.fetch(
        Fetcher(group_id), [("t", 0)], False, lambda found: found, lambda error: error
    )
    if isinstance(found, Parked):
        found = found.result() if found.done() else None
    if found is None or isinstance(found, KafkaError) or found[0].committed.offset < 0:
        return None
    each = found[0].committed
    return each.offset, each.leader_epoch, each.metadata


class FakeGroups:
    """A coordinator; ``refusal`` is what it says."""

    has_topic = True

    def __init__(self) -> None:
        self.refusal: KafkaError | None = None
        self.committed: list[Any] = []

    def commit(self, committer: Any, wanted: Any, *rest: Any) -> Any:
        answer, refuse = rest[-2:]
        if self.refusal is not None:
            return refuse(self.refusal)
        self.committed.append((committer.group_id, wanted[0].offset))
        return answer([ErrorCode.NONE] * len(wanted))


async def test_a_group_that_reads_here_is_left_alone_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Topics:
        def get(self, name: str) -> Any:
            return type("Topic", (), {"topic_id": bytes(16)})

    groups = FakeGroups()
    clock = FakeClock()
    copies = GroupCopies("m", groups, Topics(), clock)  # type: ignore[arg-type]
    groups.refusal = UnknownMemberId()

    def end_of(place: TopicPartition) -> int | None:
        return 9

    for _ in range(2):
        await copies.take({"g": {T0: AT_1}}, end_of)
    assert (copies.busy, copies.count, groups.committed) == ({"g"}, 0, [])
    assert sum("group g has members here" in each for each in caplog.messages) == 1
    groups.refusal = None
    for _ in range(2):
        await copies.take({"g": {T0: AT_1}}, end_of)
    assert (copies.busy, copies.count, groups.committed) == (set(), 1, [("g", 1)])
    clock.advance(AGAIN_MS)  # lest it expire
    for _ in range(2):
        await copies.take({"g": {T0: AT_1}}, end_of)
    assert groups.committed == 2 * [("g", 1)]
