import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from odradek.storage.fsck.lock_holder import lock_holder

HOLD = (
    "import fcntl, sys\n"
    "lock = open(sys.argv[1], 'w')\n"
    "fcntl.lockf(lock, fcntl.LOCK_EX)\n"
    "print('held', flush=True)\n"
    "sys.stdin.read()\n"
)


@contextmanager
def held(directory: Path) -> Iterator[int]:
    """Another process holds the lock; its id."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, directory / ".lock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            yield holder.pid
        finally:
            holder.communicate("")


def test_says_which_process_holds_the_lock(tmp_path: Path) -> None:
    with held(tmp_path) as pid:
        assert lock_holder(tmp_path) == pid
    assert lock_holder(tmp_path) is None


def test_no_lock_file_is_no_holder(tmp_path: Path) -> None:
    assert lock_holder(tmp_path) is None
    assert not (tmp_path / ".lock").exists()
