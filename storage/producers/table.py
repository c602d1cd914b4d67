"""The producers of a partition as the rows of a snapshot, ready to be written.

A row is what a snapshot holds of a producer (`formats.producer_entry`). Rows lie in
pieces of `PIECE_LENGTH`, without holes: the last row takes the place of one that goes.

Invariant: a piece that a `ProducerPicture` has is never changed. Whoever changes a row
of it copies the piece first. So a picture of half a million producers is made in some
microseconds, and a disk thread writes it while producers go on.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from odradek.storage.formats.producer_entry import (
    ENTRY_SIZE,
    ProducerEntry,
    pack_entry_into,
    snapshot_header,
    unpack_entries,
)

from .growing_map import GrowingMap
from .state import BatchMetadata, ProducerState

PIECE_LENGTH: Final = 64
_NO_BATCH = BatchMetadata(-1, -1, 0, -1)
# A thread that writes a picture waits for the loop between any two parts: so they are
# some 1.5 MB.
_PIECES_IN_PART = 512


class ProducerPicture:
    """The rows of a table as they were once."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: tuple[bytearray, ...]) -> None:
        self.pieces = pieces

    def parts(self) -> Iterator[bytes]:
        """The content of a snapshot file, part by part."""
        parts = [
            b"".join(self.pieces[start : start + _PIECES_IN_PART])
            for start in range(0, len(self.pieces), _PIECES_IN_PART)
        ]
        yield b"".join((snapshot_header(parts), *parts[:1]))
        yield from parts[1:]

    def encode(self) -> bytes:
        """The content of a snapshot file."""
        return b"".join(self.parts())


class ProducerTable:
    """Rows by producer id."""

    __slots__ = ("_are_shared", "_pieces", "_places")

    def __init__(self) -> None:
        self._places = GrowingMap[int]()  # numbers of rows by producer id
        self._pieces: list[bytearray] = []
        self._are_shared = bytearray()  # for each piece: whether a picture has it

    def __len__(self) -> int:
        return len(self._places)

    def get(self, producer_id: int) -> ProducerEntry | None:
        """The row of a producer, if there is one."""
        place = self._places.get(producer_id)
        return None if place is None else next(self.rows(place, place + 1))

    def rows(self, start: int, end: int) -> Iterator[ProducerEntry]:
        """The rows from ``start`` to before ``end``, which lie in one piece."""
        number, first = divmod(start, PIECE_LENGTH)
        last = first + end - start
        packed = memoryview(self._pieces[number])
        return unpack_entries(packed[first * ENTRY_SIZE : last * ENTRY_SIZE])

    def put(self, entry: ProducerEntry) -> None:
        """Let ``entry`` be its producer's row."""
        place = self._places.get(entry.producer_id)
        if place is None:
            place = self.add(entry.producer_id)
        number, row = divmod(place, PIECE_LENGTH)
        pack_entry_into(self._writable(number), row * ENTRY_SIZE, *entry)

    def pack(self, states: Iterable[ProducerState]) -> None:
        """Let the rows of these, which have one, say what the states are.

        One loop with locals: half as long as a `put` for each.
        """
        part, pieces, are_shared = self._places.part, self._pieces, self._are_shared
        pack_into = pack_entry_into
        for state in states:
            producer_id, batches = state.producer_id, state.batches
            last_sequence, last_offset, delta, _ = batches[-1] if batches else _NO_BATCH
            number, row = divmod(part(producer_id)[producer_id], PIECE_LENGTH)
            pack_into(
                self._writable(number) if are_shared[number] else pieces[number],
                row * ENTRY_SIZE,
                producer_id,
                state.producer_epoch,
                last_sequence,
                last_offset,
                delta,
                state.last_timestamp,
                state.coordinator_epoch,
                state.current_txn_first_offset,
            )
            state.is_packed = True

    def add(self, producer_id: int) -> int:
        """A row for a producer that has none. What it says is still to be put.

        Returns its number.
        """
        place = len(self._places)
        self._places.put(producer_id, place)
        if place == len(self._pieces) * PIECE_LENGTH:
            self._pieces.append(bytearray())
            self._are_shared.append(False)
        piece = self._writable(place // PIECE_LENGTH)
        piece += bytes(ENTRY_SIZE)
        return place

    def remove(self, producer_id: int) -> None:
        """Remove a producer's row, which there is. The last one takes its place."""
        place = self._places.pop(producer_id)
        assert place is not None
        last_number, last_row = divmod(len(self._places), PIECE_LENGTH)
        last_piece = self._writable(last_number)
        moved = last_piece[last_row * ENTRY_SIZE :]
        del last_piece[last_row * ENTRY_SIZE :]
        if not last_piece:
            del self._pieces[last_number], self._are_shared[last_number]
        if place < len(self._places):
            number, row = divmod(place, PIECE_LENGTH)
            position = row * ENTRY_SIZE
            self._writable(number)[position : position + ENTRY_SIZE] = moved
            (entry,) = unpack_entries(moved)
            self._places.put(entry.producer_id, place)

    def picture(self) -> ProducerPicture:
        """The rows as they are now."""
        self._are_shared = bytearray(b"\1") * len(self._pieces)
        return ProducerPicture(tuple(self._pieces))

    def _writable(self, number: int) -> bytearray:
        """A piece that no picture has."""
        if self._are_shared[number]:
            self._pieces[number] = bytearray(self._pieces[number])
            self._are_shared[number] = False
        return self._pieces[number]
