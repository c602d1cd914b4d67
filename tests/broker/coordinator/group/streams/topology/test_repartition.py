import pytest

from odradek.broker.coordinator.group.state.streams.topology import (
    InternalTopic,
    Subtopology,
    Topology,
)
from odradek.broker.coordinator.group.streams.topology.repartition import (
    repartition_counts,
)
from odradek.protocol.coordinator_errors import StreamsInvalidTopology


def part(
    name: str, reads: str = "", writes: str = "", fixed: int = 0, source: str = ""
) -> Subtopology:
    return Subtopology(
        name,
        tuple(source.split()),
        repartition_sources=tuple(InternalTopic(each, fixed) for each in reads.split()),
        repartition_sinks=tuple(writes.split()),
    )


def counts(*parts: Subtopology, **topics: int) -> dict[str, int]:
    return repartition_counts(Topology(1, parts), topics.__getitem__)


def test_as_many_as_the_largest_input_of_who_writes_it() -> None:
    found = counts(
        part("0", "", "re", source="small large"), part("1", "re"), small=2, large=5
    )
    assert found == {"re": 5}


def test_as_many_as_the_application_says() -> None:
    found = counts(part("0", "", "re", source="a"), part("1", "re", fixed=3), a=8)
    assert found == {"re": 3}


def test_through_a_chain_in_any_order() -> None:
    parts = [
        part("0", "second", ""),
        part("1", "first", "second"),
        part("2", "", "first", source="a"),
    ]
    assert counts(*parts, a=7) == {"first": 7, "second": 7}


def test_who_knows_one_input_does_not_wait_for_the_others() -> None:
    """As in Apache Kafka, where that goes by the order of the subtopologies."""
    early = [
        part("0", "late", "re", source="small"),
        part("1", "", "late", source="large"),
    ]
    assert counts(*early, small=2, large=6) == {"re": 2, "late": 6}
    later = [
        part("0", "", "late", source="large"),
        part("1", "late", "re", source="small"),
    ]
    assert counts(*later, small=2, large=6) == {"re": 6, "late": 6}


def test_a_long_chain_backwards_takes_no_time() -> None:
    length = 20_000
    parts = [
        part(f"{number:05}", f"t{number + 1}", f"t{number}") for number in range(length)
    ]
    parts.append(part("z", "", f"t{length}", source="a"))
    assert set(counts(*parts, a=3).values()) == {3}


def test_a_loop_is_refused() -> None:
    with pytest.raises(StreamsInvalidTopology, match="There may be loops"):
        counts(part("0", "a", "b"), part("1", "b", "a"))


def test_what_nobody_writes_is_refused() -> None:
    with pytest.raises(StreamsInvalidTopology, match="never used as a sink"):
        counts(part("0", "re", source="a"), a=1)
