"""What both indexes share is shown with the offset index; here is what is left."""

from pathlib import Path

import pytest

from odradek.storage.files.files import OsFiles
from odradek.storage.formats.index_entry import IndexEntry, pack_index_entry
from odradek.storage.indexes.offset_index import OffsetIndex, OffsetPosition


def test_sealed_index_is_mapped_from_a_real_file(tmp_path: Path) -> None:
    path = tmp_path / "0.index"
    path.write_bytes(pack_index_entry(IndexEntry(10, 500)) + bytes(1 << 20))
    index = OffsetIndex(OsFiles(), path, 0, 10_000)
    assert index.lookup(11) == OffsetPosition(10, 500)
    assert (index.count, index.size) == (1, 8)
    assert path.stat().st_size == 8 + (1 << 20)


def test_index_goes_from_growing_to_sealed_and_back(tmp_path: Path) -> None:
    path = tmp_path / "0.index"
    index = OffsetIndex(OsFiles(), path, 0, 0)
    index.start()
    for number in range(1, 100):
        index.append(10 * number, 100 * number)
        if number % 10 == 0:
            index.seal()
            assert not index.is_growing
            assert index.last == OffsetPosition(10 * number, 100 * number)
            index.grow()
    index.close()
    assert path.stat().st_size == 99 * 8
    assert index.last == OffsetPosition(990, 9900)


def test_sealed_index_takes_no_entries(tmp_path: Path) -> None:
    index = OffsetIndex(OsFiles(), tmp_path / "0.index", 0, 0)
    index.start()
    index.seal()
    with pytest.raises(AssertionError, match="sealed"):
        index.append(1, 1)
