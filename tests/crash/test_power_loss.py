"""R2: the power goes while a broker works on a real file system.

The data lie on an ext4 image; the image is a file on XFS, which can be cloned in one
moment. The clone is what a disk that honours flushes holds at that moment: what the
kernel had not written to it yet is not there. Another broker starts on the clone.

What must fail is here too: with ``durability=none`` acknowledged records are lost.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker_process import running_broker
from tests.crash.test_kill import (
    PARTITIONS,
    Load,
    create_topic,
    latest_offsets,
    progress,
    read_from,
)

CUTS = 200
CONTROL_CUTS = 10
NEEDED = ("mkfs.xfs", "mkfs.ext4", "mount", "umount")
QUIET = ("-o", "log.min.free.bytes=0")

pytestmark = pytest.mark.long


class Disk:
    """An ext4 file system in an image that can be cloned."""

    def __init__(self, root: Path) -> None:
        self.path = root / "disk"
        self._outer = root / "outer"
        self._clone_path = root / "clone"
        for directory in (self.path, self._outer, self._clone_path):
            directory.mkdir()
        outer_image = root / "outer.img"
        _sparse(outer_image, 8 << 30)
        _run("mkfs.xfs", "-q", "-m", "reflink=1", str(outer_image))
        _mount(outer_image, self._outer)
        self._image = self._outer / "disk.img"
        _sparse(self._image, 2 << 30)
        _run("mkfs.ext4", "-q", "-F", str(self._image))
        _mount(self._image, self.path)

    @contextlib.contextmanager
    def power_cut(self) -> Iterator[Path]:
        """The file system as it is found after the power came back."""
        image = self._outer / "clone.img"
        _run("cp", "--reflink=always", str(self._image), str(image))
        _mount(image, self._clone_path)
        try:
            yield self._clone_path
        finally:
            _run("umount", str(self._clone_path))
            image.unlink()

    def close(self) -> None:
        for directory in (self.path, self._outer):
            with contextlib.suppress(subprocess.CalledProcessError):
                _run("umount", str(directory))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root, loop devices and {', '.join(NEEDED)}")
    made = Disk(tmp_path)
    try:
        yield made
    finally:
        made.close()


def test_r2_no_acknowledged_record_is_lost(disk: Disk) -> None:
    with running_broker(disk.path / "data", *QUIET) as broker:
        create_topic(broker, "numbers")
        floors = [0] * PARTITIONS
        with Load(broker.address, "numbers") as load:
            for _ in range(CUTS):
                progress(load, 200)
                acknowledged = snapshot(load)
                assert lost_after_cut(disk, acknowledged, floors) == 0
                floors = last_of(acknowledged)
        assert not load.failed, load.failed[:3]


def test_r2_interval_loses_only_what_is_younger_than_it(disk: Disk) -> None:
    options = ("-o", "durability=interval", "-o", "durability.interval.ms=300")
    with running_broker(disk.path / "data", *QUIET, *options) as broker:
        create_topic(broker, "numbers")
        floors = [0] * PARTITIONS
        with Load(broker.address, "numbers") as load:
            for _ in range(CONTROL_CUTS):
                progress(load, 500)
                acknowledged = snapshot(load)
                load.rest(0.8)  # more than twice the interval: all of it is safe
                assert lost_after_cut(disk, acknowledged, floors) == 0
                floors = last_of(acknowledged)


def test_r2_control_without_durability_records_are_lost(disk: Disk) -> None:
    options = ("-o", "durability=none")
    with running_broker(disk.path / "data", *QUIET, *options) as broker:
        create_topic(broker, "numbers")
        with Load(broker.address, "numbers") as load:
            losses = []
            for _ in range(CONTROL_CUTS):
                progress(load, 500)
                acknowledged = snapshot(load)
                lost = lost_after_cut(disk, acknowledged, last_of(acknowledged))
                losses.append(lost)
    assert any(losses)


def snapshot(load: Load) -> list[dict[int, int]]:
    """What is known to be safe now, by partition and offset."""
    return [dict(each) for each in load.acknowledged]


def last_of(acknowledged: list[dict[int, int]]) -> list[int]:
    """The last offset of each partition."""
    return [max(each, default=0) for each in acknowledged]


def lost_after_cut(
    disk: Disk, acknowledged: list[dict[int, int]], floors: list[int]
) -> int:
    """How many of these are not there after a power cut; nothing may be wrong.

    Only offsets from ``floors`` on are looked at: those below were before.
    """
    lost = 0
    with (
        disk.power_cut() as clone,
        running_broker(clone / "data", *QUIET) as survivor,
    ):
        ends = latest_offsets(survivor.address, "numbers")
        for partition, end in enumerate(ends):
            floor = floors[partition]
            found = read_from(survivor.address, "numbers", partition, floor, end)
            # One producer counts up: nothing is repeated, reordered or left out.
            assert found == list(range(floor, max(end, floor)))
            for offset, number in acknowledged[partition].items():
                if offset >= end:
                    lost += 1
                elif offset >= floor:
                    assert found[offset - floor] == number
        assert "Traceback" not in survivor.log()
        survivor.terminate()
    return lost


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def _mount(image: Path, directory: Path) -> None:
    _run("mount", "-o", "loop", str(image), str(directory))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
