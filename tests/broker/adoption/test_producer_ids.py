from pathlib import Path

import pytest

from odradek.broker.adoption.producer_ids import NO_PRODUCER_ID, highest_producer_id
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.transaction_records import TransactionLogValue
from odradek.storage.files.files import OsFiles
from odradek.storage.formats.producer_entry import ProducerEntry, pack_producers
from tests.adopted import GOLDEN, METADATA_GOLDEN

LOG = f"{0:020d}.log"


def highest(directory: Path) -> int:
    return highest_producer_id(OsFiles(), directory)


def partition(tmp_path: Path, name: str = "t-0") -> Path:
    path = tmp_path / name
    path.mkdir()
    return path


def batch(producer_id: int, offset: int = 0) -> bytearray:
    records = [NewRecord(b"k", b"v", 1)]
    return build_batch(
        records,
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
    )


def test_an_empty_directory_has_none(tmp_path: Path) -> None:
    assert highest(tmp_path) == NO_PRODUCER_ID
    (partition(tmp_path) / LOG).write_bytes(build_batch([NewRecord(b"k", b"v", 1)]))
    (tmp_path / "__cluster_metadata-0").mkdir()
    assert highest(tmp_path) == NO_PRODUCER_ID


def test_the_highest_of_all_batches(tmp_path: Path) -> None:
    (partition(tmp_path, "a-0") / LOG).write_bytes(batch(5) + batch(3, 1))
    (partition(tmp_path, "b-0") / LOG).write_bytes(batch(4))
    assert highest(tmp_path) == 5
    stray = partition(tmp_path, "c-0." + "0" * 32 + "-stray")
    (stray / LOG).write_bytes(batch(6))
    assert highest(tmp_path) == 6


def test_a_damaged_batch_is_not_believed_and_those_behind_it_are(
    tmp_path: Path,
) -> None:
    damaged = batch(5, 1)
    damaged[43] ^= 1  # the first byte of its producer id
    data = batch(1) + damaged + batch(7, 2) + batch(99, 3)[:-1]
    (partition(tmp_path) / LOG).write_bytes(data)
    assert highest(tmp_path) == 7


def test_producer_snapshots_count(tmp_path: Path) -> None:
    path = partition(tmp_path) / f"{8:020d}.snapshot"
    known = (ProducerEntry(each, 0, -1, -1, 0, -1, -1, -1) for each in (41, 12))
    path.write_bytes(pack_producers(known))
    assert highest(tmp_path) == 41
    path.write_bytes(path.read_bytes()[:-1])
    assert highest(tmp_path) == NO_PRODUCER_ID


@pytest.mark.parametrize("version", [0, 1])
def test_the_transaction_coordinators_records_count(
    version: int, tmp_path: Path
) -> None:
    value = TransactionLogValue(producer_id=70, next_producer_id=73)
    data = version.to_bytes(2, "big") + value.encode(version)
    records = [
        NewRecord(b"id", data, 1),
        NewRecord(b"id", None, 1),
        NewRecord(b"id", b"\0\0", 1),  # cut short
        NewRecord(b"id", b"\0\x09" + data, 1),  # of a version to come
    ]
    (partition(tmp_path, "__transaction_state-3") / LOG).write_bytes(
        build_batch(records)
    )
    assert highest(tmp_path) == (73 if version else 70)
    (tmp_path / "__transaction_state-3").rename(tmp_path / "other-3")
    assert highest(tmp_path) == NO_PRODUCER_ID


def test_in_kafkas_own_directories() -> None:
    assert highest(GOLDEN / "idempotent" / "log-dir") == 1
    ids = [
        highest(METADATA_GOLDEN / "topics" / name)
        for name in ("log-dir-1", "log-dir-2")
    ]
    assert max(ids) == 2004
