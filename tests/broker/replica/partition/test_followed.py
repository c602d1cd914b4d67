from odradek.broker.replica.partition.followed import Followed
from odradek.storage.values.offset_metadata import OffsetMetadata


def test_what_counts_is_the_lower_of_the_leaders_word_and_our_own_log() -> None:
    followed = Followed()
    assert followed.replicated_end(OffsetMetadata(5, 0, 100)) == (0, -1, -1)
    followed.high_watermark = 3
    assert followed.replicated_end(OffsetMetadata(5, 0, 100)) == (3, -1, -1)
    followed.high_watermark = 9
    assert followed.replicated_end(OffsetMetadata(5, 0, 100)) == (5, 0, 100)


def test_the_log_start_is_our_own() -> None:
    assert Followed().low_watermark(7) == 7
