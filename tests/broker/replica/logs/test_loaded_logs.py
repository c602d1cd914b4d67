import logging
from pathlib import Path

import pytest

from odradek.broker.replica.logs import loaded_logs
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, batch_of, replicas

TORN = 33
LOADED = "[t-0 in /logs] loaded with 1 segment, log start offset 0, log end offset "


def append(broker: Replicas, place: TopicPartition) -> None:
    broker.manager.append_records({place: batch_of(b"v")}, acks=1, timeout_ms=1000)


async def two_topics(tmp_path: Path, files: FakeFiles) -> None:
    """Three batches in t, of which one is durable, and a torn one; one in u."""
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        t0, u0 = await broker.create_topic(), await broker.create_topic("u")
        append(broker, t0)
        append(broker, u0)
        await broker.commit()
        broker.logs.checkpoint_job()()
        append(broker, t0)
        append(broker, t0)
        log = broker.log_of(t0)
        log.local.active.log.append(bytes(batch_of(b"v"))[:TORN])


async def started(
    tmp_path: Path, files: FakeFiles, caplog: pytest.LogCaptureFixture
) -> list[tuple[int, str]]:
    """What is said, from which level on."""
    caplog.clear()
    async with replicas(tmp_path, files) as broker:
        with caplog.at_level(logging.DEBUG, loaded_logs.__name__):
            await broker.manager.open_all()
    return [
        (record.levelno, record.getMessage())
        for record in caplog.records
        if record.name == loaded_logs.__name__
    ]


async def test_after_an_unclean_stop_it_is_said_what_became_of_the_logs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = FakeFiles()
    await two_topics(tmp_path, files)
    *each, summary = await started(tmp_path, files, caplog)
    assert sorted(each) == [
        (
            logging.DEBUG,
            LOADED.replace("t-0", "u-0")
            + "1 in 0 ms; 0 offsets recovered, 0 bytes cut",
        ),
        (
            logging.INFO,
            LOADED + f"3 in 0 ms; 2 offsets recovered, {TORN} bytes cut",
        ),
    ]
    assert summary == (
        logging.INFO,
        "2 logs loaded in 0.000 s; the last stop was not a clean one: 2 logs"
        f" recovered, 2 segments and {4 * len(batch_of(b'v'))} bytes read again, 2"
        " offsets found beyond what was known to be on disk,"
        f" {TORN} bytes of torn tails cut",
    )


async def test_after_a_clean_stop_nothing_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = FakeFiles()
    await two_topics(tmp_path, files)
    await started(tmp_path, files, caplog)
    said = await started(tmp_path, files, caplog)
    assert [level for level, _ in said] == [logging.DEBUG] * 3
    assert said[-1][1] == "2 logs loaded in 0.000 s"


async def test_a_start_that_takes_long_says_so(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loaded_logs, "LONG_MS", 0)
    *_, (level, text) = await started(tmp_path, FakeFiles(), caplog)
    assert level == logging.INFO
    assert text == "0 logs loaded in 0.000 s"


async def test_a_log_that_cannot_be_loaded_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = FakeFiles()
    await two_topics(tmp_path, files)
    await started(tmp_path, files, caplog)
    files.fail("listdir", nth=2)  # the first one is of the log directory
    *_, (level, text) = await started(tmp_path, files, caplog)
    assert level == logging.INFO
    assert text.startswith("1 log loaded")
    assert text.endswith("1 log cannot be opened")
