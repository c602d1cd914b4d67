from odradek.storage.local.segments import LogSegments
from tests.fakes.files import FakeFiles
from tests.storage.batches import new_segment


def segments(*bases: int) -> LogSegments:
    files = FakeFiles()
    return LogSegments(new_segment(files, base) for base in bases)


def base(segment: object) -> int | None:
    return getattr(segment, "base_offset", None)


def test_segments_are_in_the_order_of_their_bases() -> None:
    found = segments(20, 0, 10)
    found.add(new_segment(base_offset=5))
    assert [segment.base_offset for segment in found] == [0, 5, 10, 20]
    assert (base(found.first), base(found.last), len(found)) == (0, 20, 4)
    assert base(found.get(10)) == 10
    assert found.get(11) is None


def test_neighbours() -> None:
    found = segments(10, 20, 30)
    assert [base(found.floor(o)) for o in (9, 10, 19, 20, 99)] == [None, 10, 10, 20, 30]
    assert [base(found.higher(o)) for o in (9, 10, 29, 30)] == [10, 20, 30, None]
    assert [base(found.lower(o)) for o in (10, 11, 30, 99)] == [None, 10, 20, 30]


def test_values_span_from_the_floor_to_below_the_end() -> None:
    found = segments(10, 20, 30)
    spans = {
        (0, 10): [],
        (0, 11): [10],
        (15, 15): [],
        (15, 20): [10],
        (15, 21): [10, 20],
        (20, 99): [20, 30],
    }
    for span, expected in spans.items():
        assert [segment.base_offset for segment in found.values(*span)] == expected


def test_segment_with_the_same_base_is_replaced() -> None:
    found = segments(10, 20)
    other = new_segment(base_offset=20)
    found.add(other)
    assert found.last is other
    assert len(found) == 2
    assert found.remove(20) is other
    assert len(found) == 1


def test_segments_are_told_where_the_next_one_begins() -> None:
    found = segments(10, 20)

    def next_bases() -> list[int]:
        return [segment.reader.end.limit for segment in found][:-1]

    assert next_bases() == [20]
    found.add(new_segment(base_offset=15))
    assert next_bases() == [15, 20]
    found.remove(15)
    assert next_bases() == [20]
