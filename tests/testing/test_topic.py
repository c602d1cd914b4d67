"""What a test does with its topic, on a broker of its own.

T313 and T314 of the test kit are here.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.testing import Broker, Record, Refused, Topic, WaitTimeout, assert_records

# Of the 2,000 topics that the case has: what is left of one shows with 40, too.
TOPIC_COUNT = 40
WARM_COUNT, STRETCH_COUNT, STRETCHES = 200, 600, 3
# Of each topic. No object stays (tests/broker/control/test_removal.py), but what the
# allocator once had it keeps: 16 MB at one time, and of the next two thousand nothing.
# What is left of each topic shows in every stretch, so the least one counts.
LEFT_BYTES_MAX = 1536


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> Topic:
    return broker.topic(request.node.name, 2)


def test_it_is_its_name(broker: Broker, topic: Topic) -> None:
    assert topic == "test_it_is_its_name"
    assert (topic.broker, topic.partitions) == (broker, 2)
    with pytest.raises(Refused, match="already exists"):
        broker.topic(topic)


def test_what_is_produced_is_there(topic: Topic) -> None:
    places = topic.produce(["a", b"\xff", ("k", {"n": 1}), {"value": None}])
    assert places[0] == (0, 0)
    assert places[1] == (1, 0)
    by_place = {(each.partition, each.offset): each for each in topic.records()}
    assert [by_place[each].value for each in places] == [
        b"a",
        b"\xff",
        b'{"n": 1}',
        None,
    ]
    assert all(isinstance(each, Record) for each in by_place.values())


def test_some_are_read(topic: Topic) -> None:
    topic.produce(map(str, range(6)), partition=1)
    values = [each.text for each in topic.records(partition=1, from_=2, to=4)]
    assert values == ["2", "3"]
    assert [each.text for each in topic.records(last=2)] == ["4", "5"]
    assert topic.records(partition=0) == []


def test_a_record_of_a_megabyte_goes_through(topic: Topic) -> None:
    topic.produce([b"\xff" * 1_000_000])
    (record,) = topic.records(1)
    assert len(record.value or b"") == 1_000_000
    with pytest.raises(Refused, match=r"max\.message\.bytes is"):
        topic.produce([b"x" * 2_000_000])


def test_a_misspelt_condition_of_records_is_named(topic: Topic) -> None:
    with pytest.raises(
        TypeError, match=r"no 'timout': it has count, timeout, .*, open"
    ):
        topic.records(1, timout=3)


def test_one_record_in_place_of_several_is_refused(topic: Topic) -> None:
    with pytest.raises(ValueError, match=r"say \['abc'\]"):
        topic.produce("abc")
    assert topic.records() == []


def test_t314_too_few_records_are_shown(topic: Topic) -> None:
    """T314: with two there, waiting for three fails at its timeout and shows both."""
    topic.produce([("k", "first"), ("k", "second")])
    with pytest.raises(WaitTimeout) as caught:
        topic.records(3, timeout=0.01)
    (header, there, *lines) = str(caught.value).splitlines()
    assert header == f"{topic} has 2 of 3 records (after 10 ms)"
    assert there == "there are:"
    assert [line.split(" ", 3)[-1] for line in lines] == [
        "'k' = 'first'",
        "'k' = 'second'",
    ]


def test_records_are_compared(topic: Topic) -> None:
    topic.produce([("a", "1"), ("b", "1"), ("a", "2")])
    assert_records(topic, [("b", "1"), ("a", "1"), ("a", "2")])
    with pytest.raises(AssertionError, match="not expected"):
        assert_records(topic, [("b", "1"), ("a", "1")])
    with pytest.raises(AssertionError, match="missing: 'c'"):
        assert_records(
            topic, [("b", "1"), ("a", "1"), ("a", "2"), ("c", "3")], timeout=0.01
        )


def test_t313_a_topic_that_is_deleted_leaves_nothing(broker: Broker) -> None:
    """T313: files after many topics are as before them."""

    def files() -> set[Path]:
        found = broker.data_dir.rglob("*")
        return {each for each in found if "catalog" not in each.name}

    def one(number: int) -> None:
        topic = broker.topic(f"t313-{number}")
        topic.produce(["x"])
        assert len(topic.records(1)) == 1
        topic.delete()

    one(0)
    before = files()
    for number in range(1, TOPIC_COUNT):
        one(number)
    assert files() == before
    with pytest.raises(Refused, match="there is no topic t313-0"):
        broker.ask("topics.delete", topics=["t313-0"])


@pytest.mark.long
def test_t313_two_thousand_topics_leave_no_memory() -> None:
    """T313: after them files and memory are as after two hundred."""
    with Broker() as broker:

        def run(count: int, start: int) -> tuple[int, int, set[Path]]:
            for number in range(start, start + count):
                topic = broker.topic(f"t313-long-{number}")
                topic.produce(["x"])
                assert len(topic.records(1)) == 1
                topic.delete()
            found = broker.data_dir.rglob("*")
            files = {each for each in found if "catalog" not in each.name}
            open_count = len(os.listdir(f"/proc/{broker.pid}/fd"))
            return resident_bytes(broker), open_count, files

        had, open_count, files = run(WARM_COUNT, 0)
        grown = []
        for number in range(STRETCHES):
            start = WARM_COUNT + number * STRETCH_COUNT
            has, more_open_count, more_files = run(STRETCH_COUNT, start)
            assert more_files == files
            assert more_open_count < open_count + WARM_COUNT
            grown.append(has - had)
            had = has
        assert min(grown) < STRETCH_COUNT * LEFT_BYTES_MAX, grown


def resident_bytes(broker: Broker) -> int:
    lines = Path(f"/proc/{broker.pid}/status").read_text().splitlines()
    return 1024 * next(int(x.split()[1]) for x in lines if x.startswith("VmRSS:"))
