"""A disk whose power goes while it is in use: an ext4 file system in an image.

The file system is shut down at once, and without its journal being written. What is
there when it is mounted again is what was flushed, and what the kernel had written by
itself. This needs root and loop devices.
"""

import contextlib
import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

_EXT4_IOC_SHUTDOWN = 0x8004587D
_WITHOUT_ITS_JOURNAL = struct.pack("I", 2)
_NEEDED = ("mkfs.ext4", "mount", "umount")


class CutDisk:
    """Mounted at ``path``."""

    def __init__(self, path: Path, size: int = 1 << 30) -> None:
        self.path = path
        self._image = path.with_name(path.name + ".img")
        self._cuts = 0
        path.mkdir()
        with self._image.open("wb") as file:
            file.truncate(size)
        _run("mkfs.ext4", "-q", "-F", str(self._image))
        self.mount()

    def cut(self) -> None:
        """Nothing is read or written any more: who tries it is told of an error."""
        directory = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(directory, _EXT4_IOC_SHUTDOWN, _WITHOUT_ITS_JOURNAL)
        finally:
            os.close(directory)

    def mount_again(self) -> None:
        """The power is back. Nobody may have a file open.

        A copy of the image is mounted: as long as anybody on the machine has the old
        one mounted, in a namespace of its own, that stays shut down.
        """
        _run("umount", str(self.path))
        old, self._cuts = self._image, self._cuts + 1
        self._image = self.path.with_name(f"{self.path.name}.{self._cuts}.img")
        _run("cp", "--sparse=always", str(old), str(self._image))
        old.unlink()
        self.mount()

    def mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self.path))

    def close(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            _run("umount", str(self.path))


@contextlib.contextmanager
def cut_disks(root: Path, count: int) -> Iterator[list[CutDisk]]:
    """So many of them; the test is skipped where there can be none."""
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root, loop devices and {', '.join(_NEEDED)}")
    with contextlib.ExitStack() as stack:
        made = []
        for number in range(count):
            made.append(CutDisk(root / f"disk-{number}"))
            stack.callback(made[-1].close)
        yield made


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
