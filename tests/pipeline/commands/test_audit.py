import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from odradek.pipeline.commands import command
from odradek.pipeline.spark import executors
from odradek.pipeline.spark import session as spark_session
from tests.pipeline.audit.test_audit import flip
from tests.pipeline.fake_executors import FakeExecutors
from tests.pipeline.log_directories import log_file, make_directory, small_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _one_spark(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    """The session of the tests serves, and is not stopped."""
    monkeypatch.setattr(spark_session, "spark_session", lambda *_: spark)
    monkeypatch.setattr(spark_session.SparkOfCommand, "__exit__", lambda *_: None)


def test_exit_status_and_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_directory(tmp_path / "data", small_batches(20))
    report = tmp_path / "report"
    assert command(["audit", str(root)]) == 0
    out, err = capsys.readouterr()
    assert "total: 1 partition, 20 batches, 40 records" in out
    assert '"step": "audit", "records": 40' in err
    flip(log_file(root, 0), 70)
    assert command(["audit", str(root), "--report", str(report)]) == 1
    out, _ = capsys.readouterr()
    assert "DAMAGE topic-0" in out
    assert f"written: {report}/findings.parquet" in out
    assert command(["audit", str(root), "--json"]) == 1
    finding, sums = map(json.loads, capsys.readouterr().out.splitlines())
    assert (finding["topic"], finding["segment"], finding["isDamage"]) == (
        "topic",
        0,
        True,
    )
    assert (sums["isSound"], sums["batches"], sums["damages"]) == (False, 19, 1)


def test_what_no_executor_sees_is_not_called_sound(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = make_directory(tmp_path / "data", small_batches(20))
    blind = FakeExecutors(lambda piece: piece._replace(path=f"/nowhere{piece.path}"))
    monkeypatch.setattr(spark_session, "spark_session", lambda *_: None)
    monkeypatch.setattr(executors, "Executors", lambda _: blind)
    assert command(["audit", str(root)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert (
        f"{socket.gethostname()} could not read {log_file(root, 0)} (no such file)"
        in err
    )


def test_mistakes_are_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["audit", str(tmp_path / "nothing")]) == 2
    assert "nothing: No such file or directory" in capsys.readouterr().err
    root = make_directory(tmp_path / "data", small_batches(2))
    assert command(["audit", str(root), "--topic", "other"]) == 2
    assert "has no partition of topic other" in capsys.readouterr().err
    assert command(["audit", str(root), "--conf", "nonsense"]) == 2
    assert "--conf nonsense" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command(["audit"])
    assert "path" in capsys.readouterr().err.lower()
