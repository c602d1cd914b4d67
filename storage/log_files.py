"""The names of the files in a partition's directory."""

from pathlib import Path
from typing import Final

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
SEGMENT_KINDS: Final = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)

DELETED: Final = ".deleted"


def segment_path(directory: Path, base_offset: int, kind: str) -> Path:
    """``00000000000000001500.log`` for base offset 1500 and kind ``.log``."""
    return directory / f"{base_offset:020d}{kind}"


def base_offset_of(name: str) -> int:
    """The offset in the name of a segment's file or a snapshot.

    Raises:
        ValueError: the name does not begin with a number.
    """
    return int(name.partition(".")[0])
