"""A broker that is killed at a step of a round of cleaning: ``DIES_AT`` says which.

The steps are the calls to the file system by which cleaned segments come into the log,
and those after them; they are counted from the first ``.cleaned`` name on.
"""

import os
import signal
import sys
from pathlib import Path

from odradek.broker.cli.main import main
from odradek.storage.files.files import OsFiles
from odradek.storage.values.file_names import CLEANED

DIES_AT = int(os.environ["DIES_AT"])


class Steps:
    """The calls so far."""

    count = 0

    @classmethod
    def take(cls, operation: str, path: Path) -> None:
        """Count a step; the one that is meant does not happen."""
        if cls.count or path.name.endswith(CLEANED):
            cls.count += 1
        if cls.count == DIES_AT:
            print(f"dies at {operation} {path.name}", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)


def watch(operation: str) -> None:
    """Count the calls of this kind."""
    call = getattr(OsFiles, operation)

    def counted(self: OsFiles, path: Path, *others: Path) -> object:
        Steps.take(operation, path)
        return call(self, path, *others)

    setattr(OsFiles, operation, counted)


if __name__ == "__main__":
    for each in ("rename", "unlink", "sync_directory", "write_atomic"):
        watch(each)
    sys.exit(main())
