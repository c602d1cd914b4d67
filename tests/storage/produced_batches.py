"""Batches as clients produce them, right and wrong, and what the validator says."""

from odradek.protocol.record_batch import pack_header, read_header, restamp_crc
from odradek.protocol.records import NewRecord, assemble, build_batch, encode_record
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.validation.validator import ValidBatch, validate
from odradek.storage.values.log_config import LogConfig

CLIENT, COORDINATOR = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR
REPLICATION = AppendOrigin.REPLICATION
NOW = 1_700_000_000_000
HOUR = 3_600_000
CONFIG = LogConfig()


def checked(
    data: bytearray | memoryview,
    config: LogConfig = CONFIG,
    origin: AppendOrigin = CLIENT,
) -> ValidBatch:
    return validate(data, config, NOW, origin, TopicPartition("t", 0))


def batch(count: int = 1, compression: int = 0, **fields: int) -> bytearray:
    records = [NewRecord(b"k", b"value", NOW + place) for place in range(count)]
    made = build_batch(records, compression=compression)
    return changed(made, **fields)


def changed(data: bytearray, **fields: int) -> bytearray:
    """The batch with other header fields, and the checksum right for them."""
    pack_header(data, read_header(data)._replace(**fields))
    if "crc" not in fields:
        restamp_crc(data)
    return data


def with_deltas(deltas: list[int], compression: int = 0) -> bytearray:
    """A batch whose records say these offset deltas."""
    payload = b"".join(
        encode_record(delta, 0, NewRecord(b"k", b"v", NOW)) for delta in deltas
    )
    header = read_header(batch(len(deltas)))._replace(attributes=compression)
    return assemble(header, payload)
