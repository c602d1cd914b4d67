"""A follower that is sent Apache Kafka's batches writes Apache Kafka's files."""

import json
from pathlib import Path

import pytest

from odradek.protocol.record_batch import scan
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.opening.loader import Surroundings, create_log
from odradek.storage.values.log_config import LogConfig
from tests.fakes.files import FakeFiles
from tests.storage.logs import ROOT, TOPIC_ID, sync

GOLDEN = Path(__file__).parents[1] / "golden/kafka-4.3.1"
CASES = (
    "txn-interleaved",
    "plain-size-roll",
    "leader-epochs",
    "idempotent",
    "index-full-roll",
)
# Between its epochs the broker was started again: index entries are counted anew then.
RESTARTED = {"leader-epochs"}
INDEXES = {".index", ".timeindex"}


def followed(name: str, source: Path) -> tuple[UnifiedLog, FakeFiles]:
    """A log of the same options that was sent one batch after the other."""
    expected = json.loads((GOLDEN / name / "expected.json").read_text())
    topic = source.name.rpartition("-")[0]
    options = expected["topic_config"].get(topic, {})
    config = LogConfig(
        segment_bytes=int(options.get("internal.segment.bytes", 1 << 30)),
        index_interval_bytes=int(options.get("index.interval.bytes", 4096)),
        segment_index_bytes=int(options.get("segment.index.bytes", 10 << 20)),
    )
    files, now_ms = FakeFiles(), int(expected["written_at_ms"])
    files.mkdir(ROOT)
    log = create_log(
        TopicPartition(topic, 0),
        TOPIC_ID,
        ROOT / source.name,
        config,
        Surroundings(files, now_ms),
    )
    for path in sorted(source.glob("*.log")):
        data = path.read_bytes()
        for position, header in scan(data):
            batch = data[position : position + header.size]
            info = log.replica_appender.append_as_follower(batch, now_ms)
            assert info.last_offset == header.last_offset
    sync(log)
    return log, files


@pytest.mark.parametrize("name", CASES)
def test_the_same_batches_make_the_same_files(name: str) -> None:
    partitions = [
        path.parent
        for path in sorted((GOLDEN / name / "log-dir").glob("*-0/*0.log"))
        if path.name == f"{0:020d}.log" and not path.parent.name.startswith("__")
    ]
    assert partitions
    kinds = {".log", ".txnindex"} | (set() if name in RESTARTED else INDEXES)
    for source in partitions:
        log, files = followed(name, source)
        assert log.close()
        ours = {path.name: files.content(path) for path in files.paths()}
        kafkas = {path.name: path.read_bytes() for path in source.iterdir()}
        assert _of_kinds(ours, kinds) == _of_kinds(kafkas, kinds)
        epochs = "leader-epoch-checkpoint"
        assert ours[epochs] == kafkas[epochs]


def _of_kinds(files: dict[str, bytes], kinds: set[str]) -> dict[str, bytes]:
    """Those that hold anything: an index without entries may have no file."""
    return {
        name: data
        for name, data in files.items()
        if data and Path(name).suffix in kinds
    }
