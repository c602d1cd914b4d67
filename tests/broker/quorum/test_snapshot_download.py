import pytest

from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.replay import Replay
from odradek.broker.quorum.snapshot_download import (
    SnapshotDownload,
    SnapshotName,
    is_footer,
    replay_snapshot,
)
from odradek.protocol.metadata_records import FeatureLevelRecord
from tests.fakes.controller import snapshot_of

NAME = SnapshotName(9, 2)
DATA = snapshot_of([FeatureLevelRecord(name="f", feature_level=3)])


def whole(data: bytes) -> SnapshotDownload:
    download = SnapshotDownload(NAME)
    assert download.take(0, data, len(data))
    return download


def test_pieces_of_any_size_make_a_whole() -> None:
    download = SnapshotDownload(NAME)
    for position in range(len(DATA) - 1):
        piece = DATA[position : position + 1]
        assert not download.take(position, piece, len(DATA))
    assert download.take(len(DATA) - 1, DATA[-1:], len(DATA))
    replay = Replay()
    replay_snapshot(replay, NAME, download.batches())
    image = replay.publish()
    assert (image.offset, image.epoch, image.features) == (8, 2, {"f": 3})


@pytest.mark.parametrize(
    ("position", "piece", "size"),
    [(1, b"a", 9), (0, b"", 9), (0, b"abc", 2)],
)
def test_a_piece_that_does_not_fit_is_refused(
    position: int, piece: bytes, size: int
) -> None:
    with pytest.raises(MetadataLogError, match="was to come"):
        SnapshotDownload(NAME).take(position, piece, size)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (DATA[:-1], "damaged at position"),
        (DATA[:-60], "ends inside a batch"),
        (bytes(100), "damaged at position 0"),
    ],
)
def test_damage_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(MetadataLogError, match=complaint):
        whole(data).batches()


def test_the_footer_says_that_it_is_whole() -> None:
    batches = whole(DATA).batches()
    assert [is_footer(*each) for each in batches] == [False, False, True]
    with pytest.raises(MetadataLogError, match=f"snapshot {NAME} has no footer"):
        replay_snapshot(Replay(), NAME, batches[:-1])
    assert str(NAME) == f"{9:020d}-{2:010d}"
