"""What a copy does with answers: histories that part, offsets that are gone."""

from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from tests.broker.mirror.rig import T0, Rig, SourceLog, mirror_rig
from tests.fakes.replicas import batch_of


async def begun(rig: Rig) -> None:
    """Two batches of epoch 0 and one of epoch 1 are copied."""
    rig.source.add_topic()
    rig.source.append(b"a")
    rig.source.append(b"b")
    rig.source.append(b"c", epoch=1)
    await rig.add()
    await rig.until(rig.is_copied)


async def test_what_the_source_has_lost_is_cut(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with mirror_rig(tmp_path) as rig:
        await begun(rig)
        rig.source.log().cut(2)  # an unclean election: other records follow
        rig.source.append(b"x", epoch=2)
        rig.source.append(b"y", epoch=2)
        await rig.until(rig.is_copied)
        assert rig.data() == rig.source.log().data
        assert rig.log().latest_epoch == 2
        assert "ends at offset 2 there; the copy ended at 3" in caplog.text


async def test_a_source_that_is_empty_again_takes_nothing_away(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        await begun(rig)
        before = rig.data()
        rig.source.log().cut(0)
        copy = rig.mirror.copies[T0]
        await rig.until(lambda: copy.stop_reason)
        assert (
            copy.stop_reason
            == "the source has nothing of what is here: it ends at offset 0"
        )
        rig.source.append(b"new", epoch=2)
        asked = rig.source.asked_count
        await rig.until(lambda: rig.source.asked_count > asked + 5)
        assert rig.data() == before


async def test_a_source_that_begins_further_on_is_followed(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        rig.source.log().start = rig.source.log().end = 100
        rig.source.append(b"a")
        await rig.add()
        await rig.until(rig.is_copied)
        assert (rig.log().log_start_offset, rig.log().log_end_offset) == (100, 101)
        rig.source.append(b"b", b"c")
        await rig.until(rig.is_copied)
        rig.source.log().start = 102  # inside of a batch: by DeleteRecords
        rig.source.append(b"d")
        await rig.until(lambda: rig.log().log_start_offset == 102)


async def test_a_first_batch_that_begins_before_the_log_comes_whole(
    tmp_path: Path,
) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        rig.source.append(b"a", b"b", b"c")
        rig.source.log().start = 2
        await rig.add()
        await rig.until(rig.is_copied)
        await rig.until(lambda: rig.log().log_start_offset == 2)
        assert rig.log().log_end_offset == 3


async def test_an_error_is_said_once_and_passes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with mirror_rig(tmp_path) as rig:
        await begun(rig)
        rig.source.code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        copy = rig.mirror.copies[T0]
        await rig.until(lambda: copy.trouble)
        asked = rig.source.asked_count
        await rig.until(lambda: rig.source.asked_count > asked + 20)
        said = [x for x in caplog.messages if "the source answers" in x]
        assert len(said) == 1
        rig.source.code = 0
        rig.source.append(b"d", epoch=1)
        await rig.until(rig.is_copied)
        assert copy.trouble is None


async def test_a_damaged_batch_is_not_taken(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        await begun(rig)
        made = SourceLog()
        made.end = 3
        made.append(batch_of(b"d"), 1)
        (sound,) = made.batches
        rig.source.log().batches.append(sound[:-1] + b"?")
        rig.source.log().end = 4
        copy = rig.mirror.copies[T0]
        await rig.until(lambda: copy.trouble)
        assert "is damaged" in str(copy.trouble)
        assert copy.end == 3
        rig.source.log().batches[-1] = sound
        await rig.until(rig.is_copied)
