from pathlib import Path

import pytest

from odradek.broker.control import reading
from odradek.broker.control.reading import (
    COMMITTED,
    Wanted,
    as_item,
    count_records,
    last_records,
    shown_records,
    visible_end,
)
from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.broker.replica.partition.view import PartitionView
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.control.asked import append
from tests.fakes.replicas import Replicas, batch_of, marker_of, replicas

ALL = Wanted(control=True, aborted=True, open=True)


async def mixed(broker: Replicas) -> PartitionView:
    """Offsets: 0 1 plain, 2 3 aborted, 4 plain, 5 its marker, 6 committed, 7 its
    marker, 8 plain, 9 open, 10 plain.
    """
    place = await broker.create_topic()

    def transactional(producer_id: int, *values: bytes) -> None:
        batch = batch_of(
            *values,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
        append(broker, place, batch)

    def end(producer_id: int, *, commits: bool) -> None:
        broker.manager.append_records(
            {place: marker_of(producer_id, commits=commits)},
            acks=1,
            timeout_ms=0,
            terms=OF_A_COORDINATOR,
        )

    append(broker, place, batch_of(b"0", b"1"))
    transactional(5, b"2", b"3")
    append(broker, place, batch_of(b"4"))
    end(5, commits=False)
    transactional(6, b"6")
    end(6, commits=True)
    append(broker, place, batch_of(b"8"))
    transactional(7, b"9")
    append(broker, place, batch_of(b"10"))
    return broker.manager.partition(place).view


def seen(view: PartitionView, begin: int, end: int, wanted: Wanted) -> list[str]:
    return [
        f"{record.offset}{what and ' ' + what}"
        for record, what in shown_records(view, begin, end, wanted)
    ]


@pytest.mark.parametrize("page_bytes", [1, 200, 1 << 20])
async def test_each_record_is_shown_as_what_it_is(
    tmp_path: Path, page_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_PAGE_BYTES", page_bytes)
    async with replicas(tmp_path, durability="none") as broker:
        view = await mixed(broker)
        assert seen(view, 0, 99, COMMITTED) == ["0", "1", "4", "6", "8"]
        assert seen(view, 0, 99, ALL) == [
            *("0", "1", "2 aborted", "3 aborted", "4", "5 abort", "6", "7 commit"),
            *("8", "9 open", "10 open"),
        ]
        assert seen(view, 1, 7, Wanted(aborted=True)) == [
            *("1", "2 aborted", "3 aborted", "4", "6")
        ]
        assert visible_end(view, COMMITTED) == 9
        assert visible_end(view, ALL) == 11


async def test_records_are_counted_within_batches(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        view = await mixed(broker)
        assert count_records(view, 0, 9) == 5
        assert count_records(view, 1, 9) == 4
        assert count_records(view, 0, 1) == 1
        assert count_records(view, 9, 9) == 0
        assert count_records(view, 12, 99) == 0


async def test_the_last_are_found_behind_what_is_not_shown(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        view = await mixed(broker)
        offsets = [
            [each.record.offset for each in last_records(view, count)]
            for count in (0, 1, 3, 5, 9)
        ]
        assert offsets == [[], [8], [4, 6, 8], [0, 1, 4, 6, 8], [0, 1, 4, 6, 8]]


async def test_what_is_below_the_log_start_is_passed_over(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        place = await broker.create_topic()
        append(broker, place, batch_of(b"0", b"1", b"2"))
        broker.manager.delete_records({place: 2}, 0)
        view = broker.manager.partition(place).view
        assert seen(view, 0, 99, COMMITTED) == ["2"]
        (shown,) = shown_records(view, 0, 99)
        item = as_item("t", 0, shown)
        assert (item["offset"], item["value"], "what" in item) == (2, "2", False)


async def test_a_partition_without_a_log_has_nothing(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        view = broker.manager.partition(TopicPartition("t", 0)).view
        assert count_records(view, 0, 99) == 0
        assert last_records(view, 5) == []
