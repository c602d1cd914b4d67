"""Files with secrets: for who made them alone, and never in the place of others."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE = 0o600
PUBLIC = 0o644  # of what is told to everybody: the certificate of a CA
_FOLDER = 0o700


def make_folder(path: Path) -> None:
    """See that the folder is there; a new one is for who makes it alone.

    Raises:
        OSError: it cannot be made.
    """
    path.mkdir(mode=_FOLDER, parents=True, exist_ok=True)


def write_new(path: Path, content: str | bytes, mode: int = PRIVATE) -> None:
    """Write a file that must not be there yet.

    Raises:
        FileExistsError: it is.
        OSError: it cannot be written; nothing is left of it.
    """
    # Not through a link that somebody may have put there.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def replace(path: Path, content: str | bytes, mode: int = PRIVATE) -> None:
    """Put a file in the place of the one that is there, in one step.

    Raises:
        OSError: it cannot be written; the old one is as it was.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_new(beside, content, mode)
    try:
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
