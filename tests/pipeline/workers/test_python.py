import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.pipeline.workers.python import socket_options, worker_python

pyspark = pytest.importorskip("pyspark")

HOME = Path(pyspark.__file__).parent


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    worker_python.cache_clear()
    yield
    worker_python.cache_clear()


def said(code: str, path: list[str]) -> list[str]:
    """What a worker prints that Spark gives this path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    command = [worker_python(), "-c", code]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_workers_have_pyspark_as_it_is_installed(tmp_path: Path) -> None:
    (tmp_path / "with a space").mkdir()
    (tmp_path / "with a space" / "of_the_user.py").write_text("")
    archives = [str(each) for each in (HOME / "python" / "lib").glob("*.zip")]
    jar = next((HOME / "jars").glob("spark-core_*.jar"))
    code = "import sys, pyspark, of_the_user; print(sys.executable, pyspark.__file__)"
    path = [*archives, str(jar), str(tmp_path / "with a space")]
    assert archives
    assert said(code, path) == [f"{sys.executable} {pyspark.__file__}"]


def test_the_path_of_the_user_stays() -> None:
    code = "import os; print(os.environ['PYTHONPATH'])"
    assert said(code, []) == [""]
    assert said(code, ["/a", str(HOME / "python"), "/b c", "/d*"]) == ["/a:/b c:/d*"]


def test_all_workers_come_of_our_daemon() -> None:
    """Spark's own would say that it found no number of a worker to end."""
    command = [worker_python(), "-X", "importtime", "-m", "pyspark.daemon", "x"]
    for given in (command[:1] + command[3:], command):
        done = subprocess.run(
            [*given[:1], *given[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"},
            start_new_session=True,
        )
        is_ours = b"odradek.pipeline.workers" in done.stderr
        assert is_ours == (given != command)  # only as Spark calls it


def test_another_spark_has_a_pyspark_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert worker_python() == sys.executable


def test_where_no_script_can_be_run_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flags = os.statvfs("/")

    class NoScripts:
        f_flag = flags.f_flag | os.ST_NOEXEC

    monkeypatch.setattr(os, "statvfs", lambda _: NoScripts)
    assert worker_python() == sys.executable


def test_sockets_of_workers_are_in_a_folder_that_goes_away() -> None:
    code = "from odradek.pipeline.workers import python as w; "
    code += "print(w.socket_options()['spark.python.unix.domain.socket.dir'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    folder = Path(done.stdout.decode().strip())
    assert folder.name.startswith("odradek-python-")
    assert not folder.exists()


def test_a_long_name_is_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    assert socket_options()
    monkeypatch.setattr(
        "odradek.pipeline.workers.python._folder", lambda: Path("/" + 60 * "x")
    )
    assert socket_options() == {}
