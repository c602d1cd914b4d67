import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from odradek.pipeline.errors import BadOption, DataLoss, SourceError
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.source.options import SourceOptions, read_options
from odradek.pipeline.source.planning import (
    BYTES_PER_TASK,
    OFFSETS_PER_TASK,
    OFFSETS_TOGETHER,
    OFFSETS_WEIGHED,
    PLACES_TOGETHER,
    OffsetSizes,
    Planner,
    split,
    together,
    weights,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.pipeline.fake_view import FakeView

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
VIEW = FakeView(
    {A0: (5, 20), A1: (0, 0), B0: (0, 9)},
    {(A0, 100): 7, (B0, 100): 4, (A0, 200): 15},
)


def options(**given: Any) -> SourceOptions:
    texts = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in given.items()
    }
    return read_options({"kafka.bootstrap.servers": "localhost:1", **texts})


def ranges(**given: Any) -> list[OffsetRange]:
    return Planner(VIEW, options(**given)).ranges()


def test_all_of_topics_patterns_and_partitions() -> None:
    both = [OffsetRange("a", 0, 5, 20), OffsetRange("b", 0, 0, 9)]
    assert ranges(subscribe="a,b") == both
    assert ranges(subscribePattern="[ab]") == both
    assert ranges(subscribePattern="b.*") == both[1:]
    assert ranges(subscribePattern="nothing") == []
    assert ranges(assign={"a": [1, 0]}) == both[:1]


def test_the_ids_of_the_topics_are_found_on_the_way() -> None:
    planner = Planner(VIEW, options(subscribe="b"))
    planner.ranges()
    assert planner.topic_ids == {"b": VIEW.topic_id}


def test_what_is_not_there() -> None:
    with pytest.raises(SourceError, match="There is no topic c"):
        ranges(subscribe="a,c")
    with pytest.raises(SourceError, match="Topic a has no partition 2, but 2"):
        ranges(assign={"a": [2]})


def test_given_offsets() -> None:
    start = {"a": {"0": -2, "1": 0}, "b": {"0": 3}}
    end = {"a": {"0": 11, "1": -1}, "b": {"0": -1}}
    assert ranges(subscribe="a,b", startingOffsets=start, endingOffsets=end) == [
        OffsetRange("a", 0, 5, 11),
        OffsetRange("b", 0, 3, 9),
    ]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ({"b": {}}, "every partition; b-0 is missing"),
        ({"b": {"0": 1, "1": 1}}, "names b-1, which is not read"),
    ],
)
def test_offsets_name_every_partition_and_no_other(start: Any, reason: str) -> None:
    with pytest.raises(BadOption, match=f"startingOffsets.*{reason}"):
        ranges(subscribe="b", startingOffsets=start)


def test_a_start_behind_the_end_is_refused() -> None:
    with pytest.raises(BadOption, match="b-0 begins at 7, but ends at 3"):
        ranges(
            subscribe="b",
            startingOffsets={"b": {"0": 7}},
            endingOffsets={"b": {"0": 3}},
        )


def test_offsets_out_of_range_are_a_loss_or_what_there_is() -> None:
    start, end = {"a": {"0": 1, "1": 0}}, {"a": {"0": 99, "1": 0}}
    with pytest.raises(DataLoss, match="a-0 has the offsets from 5 to 20, and 1 was"):
        ranges(subscribe="a", startingOffsets=start)
    with pytest.raises(DataLoss, match=r"endingOffsets.*99.*failOnDataLoss=false"):
        ranges(subscribe="a", endingOffsets=end)
    assert ranges(
        subscribe="a", startingOffsets=start, endingOffsets=end, failOnDataLoss="false"
    ) == [OffsetRange("a", 0, 5, 20)]


def test_times() -> None:
    times = {"startingOffsetsByTimestampStrategy": "latest"}
    assert ranges(subscribe="a,b", startingTimestamp="100", **times) == [
        OffsetRange("a", 0, 7, 20),
        OffsetRange("b", 0, 4, 9),
    ]
    assert ranges(subscribe="b", endingTimestamp="100") == [OffsetRange("b", 0, 0, 4)]
    # Where there is nothing as late, the end is the end.
    assert ranges(subscribe="b", endingTimestamp="200") == [OffsetRange("b", 0, 0, 9)]
    both = {"a": {"0": 200, "1": 0}}
    assert ranges(assign={"a": [0, 1]}, startingOffsetsByTimestamp=both, **times) == [
        OffsetRange("a", 0, 15, 20)
    ]


def test_a_time_without_records_is_an_error_unless_told_otherwise() -> None:
    with pytest.raises(SourceError, match="startingOffsetsByTimestampStrategy=latest"):
        ranges(subscribe="b", startingTimestamp="200")


@given(
    st.lists(st.integers(1, 3 * OFFSETS_PER_TASK), min_size=1, max_size=4),
    st.none() | st.integers(1, 50),
    st.none() | st.integers(10_000, 10**6),
)
@example([4], 3, None)
def test_parts_are_all_of_it_in_order_and_not_too_large(
    sizes: list[int], least: int | None, most: int | None
) -> None:
    whole = [OffsetRange("t", n, 10, 10 + size) for n, size in enumerate(sizes)]
    given = {"subscribe": "t"}
    if least:
        given["minPartitions"] = str(least)
    if most:
        given["maxRecordsPerPartition"] = str(most)
    parts = split(whole, options(**given))
    assert len(parts) >= min(least or 1, sum(sizes))
    assert max(part.count for part in parts) <= (most or OFFSETS_PER_TASK)
    for each in whole:
        mine = [part for part in parts if part.partition == each.partition]
        assert (mine[0].start, mine[-1].end) == (each.start, each.end)
        assert all(a.end == b.start for a, b in pairwise(mine))
        assert all(part.count > 0 for part in mine)


def small(*counts: int) -> list[OffsetRange]:
    return [OffsetRange("t", n, 5, 5 + count) for n, count in enumerate(counts)]


def counts_of(tasks: list[tuple[OffsetRange, ...]]) -> list[list[int]]:
    return [[part.count for part in task] for task in tasks]


def test_small_partitions_are_read_together_and_large_ones_are_not() -> None:
    most = OFFSETS_TOGETHER
    parts = small(1, 2, most - 3, 4, most, most + 1, 7, 8)
    tasks = together(parts, options(subscribe="t"))
    assert counts_of(tasks) == [[1, 2, most - 3], [4], [most], [most + 1], [7, 8]]
    assert [part for task in tasks for part in task] == parts
    thousand = together(small(*[1] * 1000), options(subscribe="t"))
    assert [len(task) for task in thousand] == [PLACES_TOGETHER] * 2


def test_as_many_tasks_as_are_asked_for() -> None:
    parts = small(1, 1, 1, 1)
    assert len(together(parts, options(subscribe="t"))) == 1
    assert len(together(parts, options(subscribe="t", minPartitions="3"))) == 4
    most = options(subscribe="t", maxRecordsPerPartition="2")
    assert counts_of(together(parts, most)) == [[1, 1], [1, 1]]
    assert together([], options(subscribe="t")) == []


def test_large_records_are_many_tasks() -> None:
    """A log of 100 KB each: what a task reads is cut by bytes, too."""
    whole = [OffsetRange("t", 0, 0, 100_000), OffsetRange("t", 1, 0, 100_000)]
    heavy = {whole[0].place: 100_000.0}
    parts = split(whole, options(subscribe="t"), heavy)
    first = [part for part in parts if part.partition == 0]
    assert len(first) == -(-100_000 * 100_000 // BYTES_PER_TASK)
    assert max(part.count for part in first) * 100_000 <= BYTES_PER_TASK
    assert [part for part in parts if part.partition == 1] == [whole[1]]
    huge = split(small(3), options(subscribe="t"), {whole[0].place: 1e12})
    assert [part.count for part in huge] == [1, 1, 1]


def test_only_what_may_be_too_much_is_weighed() -> None:
    places = [TopicPartition("t", number) for number in range(3)]
    view = FakeView({}, sizes={places[0]: 7.0, places[1]: 8.0})
    ranges = small(OFFSETS_WEIGHED + 1, OFFSETS_WEIGHED, OFFSETS_WEIGHED + 1)
    assert weights(ranges, view) == {places[0]: 7.0}


def test_brokers_that_tell_no_sizes_are_asked_once() -> None:
    large, few = small(OFFSETS_WEIGHED + 1), small(OFFSETS_WEIGHED)
    place, sizes = large[0].place, OffsetSizes()
    silent, telling = FakeView({}), FakeView({}, sizes={large[0].place: 7.0})
    assert sizes.of(few, silent) == {}
    assert sizes.of(large, telling) == {place: 7.0}, "there was nothing to ask"
    assert sizes.of(large, silent) == {}
    assert sizes.of(large, telling) == {}
