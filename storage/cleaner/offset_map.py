"""Of each key, the last offset: what a round of cleaning goes by.

The keys themselves are kept, not digests of them: no two can be taken for one. What
they take is counted, so that the map stays within its size.
"""

from collections.abc import Iterable

from protocol.record_batch import BatchHeader

# Of an entry besides the bytes of its key: the objects of key and offset, and their
# share of the table, with what that has to spare when it has just grown.
ENTRY_OVERHEAD = 200

Rows = Iterable[tuple[int, ...]]


class OffsetMap:
    """The last offset of each key, for so many bytes of keys as fit.

    ``latest_offset`` is the offset up to which it is complete.
    """

    def __init__(self, size_max: int) -> None:
        self.latest_offset = -1
        self._size_max = size_max
        self._size = 0
        self.offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.offsets)

    def put_rows(
        self, header: BatchHeader, data: bytes, rows: Rows, start_offset: int
    ) -> bool:
        """Take in the records of a batch from ``start_offset`` on.

        Returns False when there is no room: then ``latest_offset`` is that of the last
        record that had some.
        """
        offsets, base_offset = self.offsets, header.base_offset
        for _, delta, key_at, key_length, _, _ in rows:
            offset = base_offset + delta
            if key_length < 0 or offset < start_offset:
                continue
            key = data[key_at : key_at + key_length]
            if key not in offsets:
                self._size += key_length + ENTRY_OVERHEAD
                if self._size > self._size_max and offsets:
                    return False
            offsets[key] = offset
            self.latest_offset = offset
        return True

    def advance(self, offset: int) -> None:
        """Note that there is nothing more to take in up to ``offset``."""
        self.latest_offset = max(self.latest_offset, offset)
