"""A round in another process, without the process."""

import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from odradek.storage.cleaner.choice import find_cleanable, plan_round
from odradek.storage.cleaner.framing import receive, send
from odradek.storage.cleaner.plan import (
    CleanedSegment,
    CleaningPlan,
    DamageFound,
    RoundEnd,
)
from odradek.storage.cleaner.worker import run
from odradek.storage.files.files import OsFiles
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.opening.loader import Surroundings, create_log
from odradek.storage.values.log_config import LogConfig
from tests.storage.cleaner.cleaning import MAP_SIZE, write
from tests.storage.logs import NOW, PARTITION, TOPIC_ID


def log_in(directory: Path, text: str) -> UnifiedLog:
    config = LogConfig(cleanup_policy=frozenset({"compact"}))
    surroundings = Surroundings(OsFiles(), NOW)
    log = create_log(PARTITION, TOPIC_ID, directory / "topic-0", config, surroundings)
    write(log, text)
    log.flush()
    return log


def plan_of(log: UnifiedLog) -> CleaningPlan:
    return plan_round(log, find_cleanable(log, 0, NOW), NOW, MAP_SIZE)


def messages(plan: CleaningPlan, answers: bytes) -> list[Any]:
    target = BytesIO()
    run(plan, BytesIO(answers), target)
    target.seek(0)
    found = []
    while target.tell() < len(target.getbuffer()):
        found.append(receive(target))
    return found


def test_each_segment_is_told_and_then_the_end(tmp_path: Path) -> None:
    log = log_in(tmp_path, "a1 b1 a2 | z1")
    source = BytesIO()
    send(source, plan_of(log))
    source.seek(0)
    segment, end = messages(receive(source), b"+")
    assert segment == CleanedSegment(0, (0,), segment.size)
    assert isinstance(end, RoundEnd)
    assert (end.error, end.next_dirty_offset, end.stats.records_written) == (None, 3, 2)
    assert (tmp_path / "topic-0" / f"{0:020d}.log.cleaned").exists()


def test_it_ends_when_nobody_answers(tmp_path: Path) -> None:
    log = log_in(tmp_path, "a1 b1 a2 | z1")
    (segment,) = messages(plan_of(log), b"")
    assert isinstance(segment, CleanedSegment)


def test_damage_is_told_as_what_it_is(tmp_path: Path) -> None:
    log = log_in(tmp_path, "a1 b1 a2 | z1")
    path = tmp_path / "topic-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[80] ^= 1
    path.write_bytes(data)
    (end,) = messages(plan_of(log), b"+")
    assert isinstance(end.error, DamageFound)
    assert (end.error.base_offset, end.error.position) == (0, 70)


def test_what_nobody_expects_is_told_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = log_in(tmp_path, "a1 | z1")
    plan = plan_of(log)._replace(segments=(None,))  # type: ignore[arg-type]
    (end,) = messages(plan, b"")
    assert "AttributeError" in str(end.error)
    assert "Traceback" in capsys.readouterr().err, "for the log of the broker"


def test_a_log_that_is_gone_is_no_bug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = log_in(tmp_path, "a1 | z1")
    plan = plan_of(log)._replace(directory=tmp_path / "gone")
    (end,) = messages(plan, b"")
    assert "FileNotFoundError" in str(end.error)
    assert "Traceback" not in capsys.readouterr().err


def test_it_has_nothing_to_say_where_its_broker_is_gone(tmp_path: Path) -> None:
    plan = plan_of(log_in(tmp_path, "a1 b1 a2 | z1"))
    command = [sys.executable, "-m", "odradek.storage.cleaner.worker"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        assert worker.stderr is not None
        worker.stdout.close()
        send(worker.stdin, plan)
        worker.stdin.close()
        assert worker.stderr.read() == b""
    assert worker.returncode == 0
