"""The highest producer id that a log directory knows of.

Batches, producer snapshots and ``__transaction_state`` hold ids that clients still
use: a new producer must not get one of them. A batch counts when its checksum is
right, since a flipped bit makes an id of any size.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from odradek.broker.metadata.topic_names import TRANSACTION_STATE
from odradek.broker.quorum.metadata_directory import METADATA_DIRECTORY
from odradek.protocol.checksum import crc32c
from odradek.protocol.errors import KafkaError, MalformedRequest
from odradek.protocol.records import iterate
from odradek.protocol.transaction_records import TransactionLogValue
from odradek.storage.directory.log_directory import parse_directory_name
from odradek.storage.producers.snapshot import SUFFIX, SnapshotCorrupt, decode_snapshot
from odradek.storage.scan.batch_scan import BatchScan

if TYPE_CHECKING:
    from pathlib import Path

    from odradek.storage.files.files import Files

NO_PRODUCER_ID: Final = -1
_LOG = re.compile(r"\d{20}\.log", re.ASCII)
_CRC_START: Final = 21
_VERSION_SIZE: Final = 2


def highest_producer_id(files: Files, directory: Path) -> int:
    """The highest id in the partitions of ``directory``, also in those set aside."""
    highest = NO_PRODUCER_ID
    for name in files.listdir(directory):
        parsed = parse_directory_name(name)
        path = directory / name
        if parsed is None or name == METADATA_DIRECTORY or not path.is_dir():
            continue
        is_transaction_state = parsed.topic_partition.topic == TRANSACTION_STATE
        for file_name in files.listdir(path):
            if file_name.endswith(SUFFIX):
                highest = max(highest, _of_snapshot(files, path / file_name))
            elif _LOG.fullmatch(file_name):
                highest = _of_log(files, path / file_name, highest)
                if is_transaction_state:
                    highest = max(highest, _of_transactions(files, path / file_name))
    return highest


def _of_snapshot(files: Files, path: Path) -> int:
    try:
        producers = decode_snapshot(files.read_bytes(path))
    except SnapshotCorrupt:  # what it held is in the batches as well
        return NO_PRODUCER_ID
    return max((each.producer_id for each in producers), default=NO_PRODUCER_ID)


def _of_log(files: Files, path: Path, highest: int) -> int:
    """The highest id in a log's batches, or ``highest`` when that is higher."""
    file = files.open(path)
    for _, header, batch in BatchScan(file, 0, int(path.name[:20]), checks_crc=False):
        if header.producer_id > highest and crc32c(batch[_CRC_START:]) == header.crc:
            highest = header.producer_id
    file.close()
    return highest


def _of_transactions(files: Files, path: Path) -> int:
    """The highest id in the values of the transaction coordinator's records."""
    highest = NO_PRODUCER_ID
    file = files.open(path)
    for _, header, batch in BatchScan(file, 0, int(path.name[:20])):
        if header.is_control:
            continue
        try:
            values = [record.value for record in iterate(batch)]
        except KafkaError:
            continue
        for value in filter(None, values):
            highest = max(highest, _of_transaction(value))
    file.close()
    return highest


def _of_transaction(data: bytes) -> int:
    version = int.from_bytes(data[:_VERSION_SIZE], "big", signed=True)
    try:
        value = TransactionLogValue.decode(data[_VERSION_SIZE:], version)
    except (ValueError, MalformedRequest):  # of a newer version, or none of them
        return NO_PRODUCER_ID
    return max(value.producer_id, value.previous_producer_id, value.next_producer_id)
