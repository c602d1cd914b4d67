from odradek.storage.values.log_read import FetchedData, nothing_at
from odradek.storage.values.offset_metadata import OffsetMetadata


def test_nothing_keeps_the_place_and_says_nothing_of_transactions() -> None:
    place = OffsetMetadata(5, 0, 100)
    assert nothing_at(place) == FetchedData(place, b"", False, None)
