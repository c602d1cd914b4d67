import subprocess
import sys
from pathlib import Path

from storage.fsck.lock_holder import lock_holder

HOLD = (
    "import fcntl, sys\n"
    "lock = open(sys.argv[1], 'w')\n"
    "fcntl.lockf(lock, fcntl.LOCK_EX)\n"
    "print('held', flush=True)\n"
    "sys.stdin.read()\n"
)


def test_says_which_process_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert lock_holder(tmp_path) == holder.pid
        holder.communicate("")
    assert lock_holder(tmp_path) is None


def test_no_lock_file_is_no_holder(tmp_path: Path) -> None:
    assert lock_holder(tmp_path) is None
    assert not (tmp_path / ".lock").exists()
