"""R15, R16: batches that lie, and batches that explode.

The codes are those of Apache Kafka: the groups ``produce-errors``, ``produce-limits``
and ``produce-idempotent`` of its recorded behaviour are replayed by
`test_wire_recordings`. Here: what is refused leaves nothing behind, and what is taken
can be read whole, whatever the header said; and memory is bounded.
"""

import os
import random
from collections import Counter
from pathlib import Path

from odradek.client.connection import Connection
from odradek.protocol.checksum import crc32c
from odradek.protocol.compression import DECOMPRESSED_SIZE_MAX
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CHECKED_POSITION,
    COMPRESSION_MASK,
    LOG_OVERHEAD,
    check_crc,
    codec_id,
    pack_header,
    read_header,
)
from odradek.protocol.records import NewRecord, build_batch, iterate
from odradek.storage.values.log_read import FetchIsolation
from tests.broker.node.test_server import BEFORE_TOPIC_IDS, create_topic
from tests.broker_process import BrokerProcess, running_broker
from tests.fakes.replicas import NOW_MS, replicas
from tests.fuzz.strangers import Pinger, cpu_seconds
from tests.protocol.test_compression import bombs

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
LIES = 100_000 if IS_LONG else 2_000
MIB = 1 << 20
REFUSALS = {
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
}
BITS = {
    "base_offset": 64,
    "batch_length": 32,
    "partition_leader_epoch": 32,
    "magic": 8,
    "attributes": 16,
    "last_offset_delta": 32,
    "base_timestamp": 64,
    "max_timestamp": 64,
    "producer_id": 64,
    "producer_epoch": 16,
    "base_sequence": 32,
    "records_count": 32,
}


def with_checksum(data: bytearray) -> bytearray:
    data[CHECKED_POSITION - 4 : CHECKED_POSITION] = crc32c(
        memoryview(data)[CHECKED_POSITION:]
    ).to_bytes(4, "big")
    return data


def lying_batch(chance: random.Random) -> bytearray:
    """One to three fields of the header are not true; the checksum mostly is."""
    count = chance.choice((1, 2, 5))
    records = [NewRecord(b"k", b"v", NOW_MS + number) for number in range(count)]
    data = build_batch(records, compression=chance.choice((0, 0, 1, 2, 3, 4)))
    header = read_header(data)
    for name in chance.sample(sorted(BITS), chance.choice((1, 1, 2, 3))):
        bits, honest = BITS[name], getattr(header, name)
        edge = 1 << bits - 1
        value = chance.choice(
            (honest + 1, honest - 1, honest ^ 1 << chance.randrange(bits - 1), 0, -1)
            + (edge - 1, -edge, honest * 2)
        )
        if -edge <= value < edge:
            header = header._replace(**{name: value})
    pack_header(data, header)
    if chance.random() < 0.1:
        data[chance.randrange(BATCH_OVERHEAD, len(data))] ^= 1
    return with_checksum(data) if chance.random() < 0.95 else data


async def test_what_is_refused_is_not_stored_and_what_is_taken_is_whole(
    tmp_path: Path,
) -> None:
    chance = random.Random(LIES)
    codes: Counter[int] = Counter()
    async with replicas(tmp_path) as broker:
        place = await broker.create_topic()
        for number in range(LIES):
            log = broker.logs.get(place)
            end = log.log_end_offset if log else 0
            sent = lying_batch(chance)
            results = broker.manager.append_records(
                {place: memoryview(bytearray(sent))}, acks=1, timeout_ms=1000
            )
            code = results[place].error_code
            codes[code] += 1
            log = broker.logs.get(place)
            if code:
                assert code in REFUSALS, (number, code, sent.hex())
                assert log is None or log.log_end_offset == end, sent.hex()
                continue
            assert log is not None
            if results[place].base_offset < end:  # what a producer sent before
                assert log.log_end_offset == end
                continue
            stored = log.read(end, MIB, FetchIsolation.LOG_END).records
            header = read_header(stored)
            batch = memoryview(stored)[: header.size]
            assert check_crc(batch, header)
            found = list(iterate(batch))
            assert [record.offset for record in found] == list(
                range(end, end + header.records_count)
            ), sent.hex()
            assert header.size == len(stored)
            assert log.log_end_offset == end + header.records_count
    print(f"{LIES} lying batches: {dict(codes)}")
    assert codes[0] > LIES // 100
    assert sum(codes.values()) - codes[0] > LIES // 4


def zstd_of_one_byte(size: int) -> bytes:
    """A frame of run-length blocks, 128 KiB from four bytes each: 32,768 to one."""
    block = 128 << 10
    count = size // block
    run = (block << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    last = (block << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x38" + run * (count - 1) + last


def all_bombs() -> dict[str, tuple[str, bytes]]:
    found = {f"zstd-{size}m": ("zstd", zstd_of_one_byte(size * MIB)) for size in SIZES}
    return {**bombs(), **found}


CODECS = ("gzip", "snappy", "lz4", "zstd")
TAKEN = (ErrorCode.NONE,)
SIZES = (2, 63, 65, 1024, 16_384) if IS_LONG else (65, 1024)
BOMB_CODES = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.CORRUPT_MESSAGE,
)


def bomb_batch(codec: str, payload: bytes) -> bytes:
    data = build_batch([NewRecord(b"k", b"v", NOW_MS)])[:BATCH_OVERHEAD] + payload
    header = read_header(data)
    header = header._replace(
        attributes=header.attributes & ~COMPRESSION_MASK | codec_id(codec),
        batch_length=len(data) - LOG_OVERHEAD,
    )
    pack_header(data, header)
    return bytes(with_checksum(data))


def send(broker: BrokerProcess, batch: bytes) -> int:
    data = PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(
        acks=1,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name="t", partition_data=[data])],
    )
    with Connection("127.0.0.1", broker.port) as connection:
        answer = connection.request(request, ProduceResponse, BEFORE_TOPIC_IDS)
    (partition,) = answer.responses[0].partition_responses
    code: int = partition.error_code
    return code


def peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def honest_giants() -> dict[str, bytes]:
    """One value of zeros, as large as may be: taken, however small it has become."""
    records = [NewRecord(b"k", bytes(63 * MIB), NOW_MS)]
    return {
        f"{codec}-honest": bytes(build_batch(records, compression=codec_id(codec)))
        for codec in CODECS
    }


def test_bombs_are_refused_within_the_limit(tmp_path: Path) -> None:
    options = ("-o", "message.max.bytes=104857600")
    batches = {
        **{name: (bomb_batch(*bomb), BOMB_CODES) for name, bomb in all_bombs().items()},
        **{name: (batch, TAKEN) for name, batch in honest_giants().items()},
    }
    with running_broker(tmp_path / "data", *options) as broker:
        with Connection("127.0.0.1", broker.port) as connection:
            create_topic(connection)
        for codec in CODECS:  # loads the library
            record = NewRecord(b"k", b"v" * 10_000, NOW_MS)
            batch = build_batch([record], compression=codec_id(codec))
            assert send(broker, bytes(batch)) in TAKEN
        before = peak_bytes(broker.pid)
        codes: dict[str, int] = {}
        slowest_s = 0.0
        with Pinger(broker.port) as pinger:
            for name, (sent, answers) in batches.items():
                spent_s = cpu_seconds(broker.pid)
                codes[name] = send(broker, sent)
                slowest_s = max(slowest_s, cpu_seconds(broker.pid) - spent_s)
                assert codes[name] in answers, (name, len(sent), codes[name])
        grown = peak_bytes(broker.pid) - before
        print(
            f"{len(codes)} bombs and giants: +{grown // MIB} MiB and"
            f" {slowest_s:.2f} s of CPU at most; {codes}; {pinger}"
        )
        # The output, a window as large with zstd, and the largest request.
        assert grown < 2 * DECOMPRESSED_SIZE_MAX + 32 * MIB
        assert not pinger.failed
        assert "hold more than the limit of" in broker.log()
        broker.terminate()
        assert "Traceback" not in broker.log()
