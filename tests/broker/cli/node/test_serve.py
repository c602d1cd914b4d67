import errno
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.cli.node.extensions import EXTENSIONS
from odradek.broker.cli.node.serve import command, explain
from odradek.broker.metadata.catalog.store import SCHEMA, CatalogError, CatalogStore
from odradek.broker.node import server
from odradek.broker.runtime.start_error import StartError
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.directory.log_directory import BadLogDirectory, DirectoryInUse
from tests.broker_process import ended
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[4]
# T354
STEERED_BY_ALL = ["-o", "test.control=true", "--host", "0.0.0.0"]
STEERED_BY_ALL += ["--allow-unauthenticated"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-o", "num.partition=3"], "did you mean num.partitions?"),
        (["-o", "num.partitions=x"], "Not a number of type INT"),
        (["-o", "durability=x"], "must be one of: commit, interval, none"),
        (["--config", "nowhere.properties"], "cannot read nowhere.properties"),
        (["--host", "0.0.0.0"], "everybody in with --allow-unauthenticated"),
        (["--host", "::"], "everybody in with --allow-unauthenticated"),
        (["-o", "listeners=SASL_PLAINTEXT://127.0.0.1:1"], "SASL"),
        (STEERED_BY_ALL, "test.control=true, and listener PLAINTEXT://0.0.0.0:"),
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


@pytest.mark.parametrize("is_missing", [True, False])
def test_plain_python_is_told_once(
    is_missing: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for module in EXTENSIONS.values():
        monkeypatch.setitem(sys.modules, module, None if is_missing else sys)
    monkeypatch.setattr(server, "run", lambda config: 0)
    assert command(["--port", "0", "--data-dir", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert said.count("plain Python does the work") == is_missing
    assert said.count("then: ") == is_missing


def system_error(code: int, filename: str | None = None) -> OSError:
    return OSError(code, os.strerror(code), filename)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StartError("no"), "no"),
        (CatalogError("catalogue"), "catalogue"),
        (
            DirectoryInUse("the directory data is in use by process 7"),
            "the directory data is in use by process 7; stop that, or choose another"
            " one with --data-dir",
        ),
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
        (
            system_error(errno.EEXIST, "/data"),
            "/data is not a directory; choose another --data-dir",
        ),
        (ValueError("a bug"), None),
    ],
)
def test_what_stops_the_start_is_told_in_one_line(
    error: Exception, told: str | None
) -> None:
    assert explain(error) == told


def start(*arguments: str, cwd: Path = ROOT) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "odradek", "serve", *arguments]
    return subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[int, Path, str]]:
    """A broker's process id, its data directory, its ready line."""
    data = tmp_path_factory.mktemp("serve") / "new" / "data"
    process = start("--port", "0", "--data-dir", str(data))
    assert process.stdout is not None
    with ended(process):
        yield process.pid, data, process.stdout.readline()
        process.terminate()
        _, log = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, log


def test_the_ready_line_says_where_and_how_safe(
    running: tuple[int, Path, str],
) -> None:
    _, data, line = running
    form = rf"odradek ready on 127\.0\.0\.1:\d+, data in {data}, durability commit\n"
    assert re.fullmatch(form, line)


def refusal(*arguments: str) -> str:
    """The one line with which a start is refused."""
    process = start(*arguments)
    out, line = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (1, "")
    assert line.startswith("odradek serve: ")
    assert line.count("\n") == 1
    return line


def test_a_directory_in_use_names_the_process(running: tuple[int, Path, str]) -> None:
    pid, data, _ = running
    line = refusal("--port", "0", "--data-dir", str(data))
    assert f"{data} is in use by process {pid}" in line


def test_a_port_in_use_says_so(running: tuple[int, Path, str], tmp_path: Path) -> None:
    port = running[2].split(",")[0].rsplit(":", 1)[1]
    assert f":{port}" in (line := refusal("--port", port, "--data-dir", str(tmp_path)))
    assert "in use" in line


def test_a_file_in_the_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    line = refusal("--port", "0", "--data-dir", str(tmp_path / "data"))
    assert "data is not a directory; choose another --data-dir" in line


def test_a_newer_catalogue_is_refused(tmp_path: Path) -> None:
    CatalogStore(tmp_path / "catalog.db", (*SCHEMA, "CREATE TABLE x (y)")).close()
    line = refusal("--port", "0", "--data-dir", str(tmp_path))
    assert "was written by a newer odradek" in line


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    line = refusal("--port", "0", "--data-dir", str(tmp_path / "data"))
    assert "cannot write" in line


def test_the_command_does_not_import_what_lies_around(tmp_path: Path) -> None:
    (tmp_path / "protocol.py").write_text("raise SystemExit('the wrong one')")
    process = start("--prot", cwd=tmp_path)
    _, line = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert "did you mean --port" in line


def test_what_takes_long_to_import_is_not_imported_at_the_start() -> None:
    code = "import sys, odradek.broker.node.server; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    slow = {"importlib.metadata", "aiokafka", "prometheus_client", "email", "cramjam"}
    assert not slow & set(modules)
