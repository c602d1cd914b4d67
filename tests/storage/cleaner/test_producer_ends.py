from odradek.storage.cleaner.producer_ends import ProducerEnd, pack_ends, unpack_ends
from odradek.storage.producers.table import PIECE_LENGTH
from tests.storage.cleaner.cleaning import compacted_log, put


def test_only_those_that_end_in_what_is_cleaned() -> None:
    log = compacted_log()
    for producer_id in (7, 1 << 40):
        put(log, (b"a", b"1"), producer_id=producer_id, producer_epoch=3)
    assert unpack_ends(b"".join(pack_ends(log, 2))) == {
        7: ProducerEnd(0, 3),
        1 << 40: ProducerEnd(1, 3),
    }
    assert unpack_ends(b"".join(pack_ends(log, 1))) == {7: ProducerEnd(0, 3)}


def test_many_come_in_pieces_between_which_the_log_goes_on() -> None:
    log = compacted_log()
    for producer_id in range(PIECE_LENGTH + 1):
        put(log, (b"a", b"1"), producer_id=producer_id, producer_epoch=0)
    end_offset = log.log_end_offset
    packed = []
    for number, piece in enumerate(pack_ends(log, end_offset)):
        packed.append(piece)
        put(log, (b"a", b"1"), producer_id=5000 + number, producer_epoch=0)
    assert len(packed) == 2
    assert len(unpack_ends(b"".join(packed))) == PIECE_LENGTH + 1
