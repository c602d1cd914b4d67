"""A small disk of its own for a broker, and what fills it. Mounting it needs root."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.broker_process import BrokerProcess
from tests.patience import PATIENCE_S

DISK_MIB = 20
_PIECES = (1 << 20, 1 << 16, 1 << 12, 1)


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def small_disk(root: Path, kind: str) -> Iterator[Path]:
    path = root / "disk"
    path.mkdir()
    if kind == "tmpfs":
        run("mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(path))
    else:
        image = root / "disk.img"
        with image.open("wb") as file:
            file.truncate(DISK_MIB << 20)
        run("mkfs.ext4", "-q", "-F", "-m", "0", str(image))
        run("mount", "-o", "loop", str(image), str(path))
    try:
        yield path
    finally:
        run("umount", str(path))


@contextlib.contextmanager
def broker_on(disk: Path, *options: str) -> Iterator[BrokerProcess]:
    """Its own log is elsewhere: that could not be written either."""
    broker = BrokerProcess(disk / "data", options)
    broker.log_path = disk.with_name("broker.err")
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


class Filler:
    """A file of somebody else on the disk, which takes what is free."""

    def __init__(self, disk: Path) -> None:
        self._path = disk / "filler"

    def fill(self) -> None:
        """Take everything, to the last byte."""
        with self._path.open("ab", buffering=0) as file:
            for size in _PIECES:
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)) == size:
                        pass

    def give(self, size: int) -> None:
        """Leave so much to others."""
        os.truncate(self._path, max(self._path.stat().st_size - size, 0))

    def remove(self) -> None:
        self._path.unlink()


def wait_for_room(disk: Path) -> None:
    """Return when half of the disk is free: what was deleted is gone."""
    deadline = time.monotonic() + PATIENCE_S
    while os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize < DISK_MIB << 19:
        assert time.monotonic() < deadline, "what was deleted is not removed"
        time.sleep(0.02)
