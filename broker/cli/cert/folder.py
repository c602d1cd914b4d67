"""What the commands share that make certificates: their folder, and failures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from odradek.broker.security.issuing.key_folder import KeyFolder

if TYPE_CHECKING:
    import argparse

    from odradek.terminal.parser import Parser


def renew_argument(parser: Parser) -> None:
    """Add ``--dir`` and ``--renew``."""
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path("secure"),
        metavar="DIR",
        help="the folder with the CA (default: ./secure)",
    )
    parser.add_argument(
        "--renew",
        action="store_true",
        help="put a new certificate in the place of the one that is there",
    )


def folder_of(options: argparse.Namespace) -> KeyFolder:
    """The folder that the arguments name."""
    directory: Path = options.dir
    return KeyFolder(directory.absolute())


def refused(error: Exception) -> str:
    """Why nothing was made, in one line."""
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return f"{error.filename}: {reason}" if error.filename else reason
    return str(error)
