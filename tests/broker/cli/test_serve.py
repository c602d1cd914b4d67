import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from broker.cli.serve import command, explain
from broker.metadata.catalog_store import CatalogError
from broker.start_error import StartError
from protocol.errors import KafkaStorageError
from storage.log_directory import BadLogDirectory, DirectoryInUse

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-o", "num.partition=3"], "did you mean num.partitions?"),
        (["-o", "num.partitions=x"], "Not a number of type INT"),
        (["-o", "durability=x"], "must be one of: commit, interval, none"),
        (["--config", "nowhere.properties"], "cannot read nowhere.properties"),
        (["--host", "0.0.0.0"], "add --allow-unauthenticated"),
        (["--host", "::"], "add --allow-unauthenticated"),
        (["-o", "listeners=SSL://127.0.0.1:1"], "only PLAINTEXT is served"),
    ],
)
def test_a_bad_option_is_one_line_and_code_2(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(arguments) == 2
    line = capsys.readouterr().err
    assert line.startswith("odradek serve: ")
    assert complaint in line
    assert line.count("\n") == 1


def test_a_misspelt_variable_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_NUM_PARTITON", "3")
    assert command([]) == 2
    assert "did you mean KAFKA_NUM_PARTITIONS?" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--prot", "1"], ["--durability", "all"]])
def test_a_bad_flag_is_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command(arguments)
    assert ended.value.code == 2


def system_error(code: int, filename: str | None = None) -> OSError:
    return OSError(code, os.strerror(code), filename)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StartError("no"), "no"),
        (CatalogError("catalogue"), "catalogue"),
        (DirectoryInUse("data is in use by process 7"), "data is in use by process 7"),
        (BadLogDirectory("data belongs to node 2"), "data belongs to node 2"),
        (KafkaStorageError("broken"), "broken"),
        (
            system_error(errno.EADDRINUSE),
            "Address already in use: choose another address with --host and --port",
        ),
        (
            system_error(errno.EROFS, "/data"),
            "cannot write /data: Read-only file system; choose another --data-dir",
        ),
        (
            system_error(errno.EACCES, "/data"),
            "cannot write /data: Permission denied; choose another --data-dir",
        ),
        (system_error(errno.ENOSPC, "/data"), "/data: No space left on device"),
        (system_error(errno.ENOSPC), "No space left on device"),
        (ValueError("a bug"), None),
    ],
)
def test_what_stops_the_start_is_told_in_one_line(
    error: Exception, told: str | None
) -> None:
    assert explain(error) == told


def test_the_command_does_not_import_what_lies_around(tmp_path: Path) -> None:
    (tmp_path / "protocol.py").write_text("raise SystemExit('the wrong one')")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "broker", "serve", "--prot"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "did you mean --port" in done.stderr
