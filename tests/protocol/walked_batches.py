"""Small batches one behind another, right and damaged."""

from hypothesis import strategies as st

from odradek.protocol.record_batch import BATCH_OVERHEAD, read_header, stamp
from odradek.protocol.records import NewRecord, build_batch

batches = st.lists(st.integers(-3, 9), max_size=6)  # timestamps


def laid_out(given: list[bytearray]) -> bytes:
    data, offset = bytearray(), 0
    for batch in given:
        stamp(batch, offset, 3)
        data += batch
        offset = read_header(batch).next_offset
    return bytes(data)


def written(timestamps: list[int]) -> bytes:
    return laid_out(
        [
            build_batch([NewRecord(None, b"v", each)] * 2, producer_id=each)
            for each in timestamps
        ]
    )


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Batches of which one byte is another, or the last is cut."""
    data = bytearray(written(draw(batches)))
    if data:
        near_headers = st.integers(0, min(len(data) - 1, 2 * BATCH_OVERHEAD))
        position = draw(near_headers | st.integers(0, len(data) - 1))
        data[position] = draw(st.integers(0, 255))
        del data[draw(st.integers(0, len(data)) | st.just(len(data))) :]
    return bytes(data)
