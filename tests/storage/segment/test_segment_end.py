from weakref import ref

from odradek.storage.segment.segment_end import SegmentEnd
from odradek.storage.values.offset_metadata import OffsetMetadata


class Log:
    end = OffsetMetadata(60)


def test_of_a_segment_alone_nothing_is_known_but_what_fits_in_its_indexes() -> None:
    end = SegmentEnd(100)
    assert end.offset is None
    assert end.limit == 100 + (1 << 31)


def test_a_sealed_segment_ends_where_the_next_one_begins() -> None:
    end = SegmentEnd(100)
    end.put_before(130)
    assert (end.offset, end.limit) == (130, 130)
    end.put_before(None)
    assert end.offset is None


def test_the_last_segment_ends_where_its_log_does_which_moves() -> None:
    end, log = SegmentEnd(0), Log()
    end.follow(ref(log))
    assert (end.offset, end.limit) == (60, 60)
    log.end = OffsetMetadata(70)
    assert end.limit == 70


def test_it_is_sealed_and_is_the_last_one_again() -> None:
    end, log = SegmentEnd(0), Log()
    end.follow(ref(log))
    end.put_before(50)
    log.end = OffsetMetadata(70)
    assert (end.offset, end.limit) == (50, 50)
    end.follow(ref(log))
    assert (end.offset, end.limit) == (70, 70)


def test_a_log_that_is_gone_says_nothing() -> None:
    end, log = SegmentEnd(0), Log()
    end.follow(ref(log))
    del log
    assert end.offset is None
    assert end.limit == 1 << 31
