"""The names of the files in a partition's directory."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
SEGMENT_KINDS: Final = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)

DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"

_SEGMENT_NAME = re.compile(
    r"(\d{20})\.(log|index|timeindex|txnindex)(\.deleted|\.cleaned|\.swap)?", re.ASCII
)


def segment_path(directory: Path, base_offset: int, kind: str) -> Path:
    """``00000000000000001500.log`` for base offset 1500 and kind ``.log``."""
    return directory / f"{base_offset:020d}{kind}"


def is_segment_file(name: str) -> bool:
    """Whether a name is that of a segment's file, with or without a suffix."""
    return _SEGMENT_NAME.fullmatch(name) is not None


def base_offset_of(name: str) -> int:
    """The offset in the name of a segment's file or a snapshot.

    Raises:
        ValueError: the name does not begin with a number.
    """
    return int(name.partition(".")[0])


def segment_bases(names: Iterable[str]) -> list[int]:
    """The base offsets of the segments whose logs are among ``names``, ascending."""
    return sorted(
        base_offset_of(name)
        for name in names
        if name.endswith(LOG) and is_segment_file(name)
    )
