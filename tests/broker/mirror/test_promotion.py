"""A copy that becomes a topic of ours."""

from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.record_batch import read_header
from tests.broker.mirror.rig import T0, Rig, SourceCluster, mirror_rig
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import batch_of


def append(rig: Rig, **options: Any) -> int:
    """The code that a client is answered."""
    results: Any = rig.broker.manager.append_records(
        {T0: batch_of(b"ours", **options)}, acks=1, timeout_ms=1000
    )
    code: int = results[T0].error_code
    return code


async def copied(rig: Rig, *, epoch: int = 4) -> None:
    rig.source.add_topic()
    rig.source.append(b"a", epoch=epoch)
    await rig.add()
    await rig.until(rig.is_copied)


async def test_it_is_read_only_until_then_and_goes_on_in_a_new_epoch(
    tmp_path: Path,
) -> None:
    source, files = SourceCluster(), FakeFiles()
    async with mirror_rig(tmp_path, source, files) as rig:
        await copied(rig)
        assert append(rig) == ErrorCode.POLICY_VIOLATION
        assert await rig.promote() == [("t", {0: 1})]
        assert append(rig) == ErrorCode.NONE
        source.append(b"not for us", epoch=4)
        await rig.until(lambda: rig.log().high_watermark == 2)
        last = rig.data()[read_header(rig.data()).size :]
        header = read_header(last)
        assert (header.base_offset, header.partition_leader_epoch) == (1, 5)
    async with mirror_rig(tmp_path, source, files) as rig:
        await rig.until(lambda: rig.mirror.has_looked)
        await rig.broker.manager.open([T0])
        assert append(rig) == ErrorCode.NONE
        assert (rig.mirror.copies, rig.mirrors.promoted_count("m")) == ({}, 1)
        assert rig.broker.topics.partition(T0).leader_epoch == 5


async def test_what_is_open_is_aborted(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        options = {"producer_id": 5, "producer_epoch": 0, "is_transactional": True}
        rig.source.append(b"a", base_sequence=0, **options)
        await rig.add()
        await rig.until(rig.is_copied)
        assert rig.broker.services.transactions.orphans.end_all() == 0  # as at a start
        await rig.promote()
        log = rig.log()
        await rig.until(lambda: log.last_stable_offset == log.high_watermark == 2)


async def test_producers_go_on_but_for_those_whose_ids_were_given_here_too(
    tmp_path: Path,
) -> None:
    async with mirror_rig(tmp_path) as rig:
        ours = await rig.broker.services.producer_ids.next()
        theirs = ours + 2_000
        rig.source.add_topic()
        for producer_id in (ours, theirs):
            rig.source.append(
                b"a", producer_id=producer_id, producer_epoch=0, base_sequence=0
            )
        await rig.add()
        await rig.until(rig.is_copied)
        await rig.promote()
        first: dict[str, Any] = {"producer_epoch": 0, "base_sequence": 0}
        # The first batch of ours would look like the one that was copied.
        assert (
            append(rig, producer_id=ours, **first) == ErrorCode.INVALID_PRODUCER_EPOCH
        )
        end = rig.log().log_end_offset
        assert (
            append(rig, producer_id=theirs, **first) == ErrorCode.NONE
        )  # a repetition
        assert rig.log().log_end_offset == end
        first["base_sequence"] = 1
        assert append(rig, producer_id=theirs, **first) == ErrorCode.NONE
        assert rig.log().log_end_offset == end + 1
        assert await rig.broker.services.producer_ids.next() > 1 << 40


async def test_a_topic_that_cannot_be_promoted_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from odradek.protocol.errors import KafkaStorageError

    async with mirror_rig(tmp_path) as rig:
        await copied(rig)

        async def refuse(*_: object) -> None:
            raise KafkaStorageError("no room")

        with monkeypatch.context() as patch:
            patch.setattr(rig.broker.topics, "set_leader_epochs", refuse)
            with pytest.raises(KafkaStorageError):
                await rig.promote()
        rig.source.append(b"b", epoch=4)
        await rig.until(rig.is_copied)
        assert append(rig) == ErrorCode.POLICY_VIOLATION
