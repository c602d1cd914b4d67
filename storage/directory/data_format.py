"""Which format the data of a directory has, and whether this odradek can read it.

The number is in ``meta.properties``. It rises when an older odradek would misread
what a newer one wrote, which is seldom: the files of a log are Apache Kafka's, and the
catalogue has a version of its own. A directory of an older format is read, and becomes
one of this format when it is opened; from then on older programs refuse it.

| format | since | what is in it |
|---|---|---|
| 1 | 0.1.0 | the files of Apache Kafka 4, ``quarantine``, a catalogue beside them |
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.file_system import Files
from odradek.storage.files.meta_properties import (
    FIRST_FORMAT,
    FIRST_FORMAT_SINCE,
    BadMetaProperties,
    MetaProperties,
    read_meta_properties,
)

DATA_FORMAT: Final = FIRST_FORMAT
FORMAT_SINCE: Final = FIRST_FORMAT_SINCE


class BadLogDirectory(Exception):
    """A log directory that cannot be used as it is; the message says why."""


def why_unreadable(found: MetaProperties) -> str | None:
    """Why this odradek must not serve such a directory; None when it may."""
    if found.data_format > DATA_FORMAT:
        return (
            f"has data format {found.data_format}, which odradek {found.format_since} "
            f"or a later one wrote and reads; this one reads formats up to "
            f"{DATA_FORMAT}: run the newer one, or restore a backup from before it"
        )
    if found.unfinished:
        return (
            f"is unfinished: {found.unfinished} was interrupted; remove what is in "
            "it, and do that again"
        )
    return None


def check_formats(files: Files, directories: Iterable[Path]) -> None:
    """See that the directories can be read, before anything in them is touched.

    What cannot be looked at is passed over: opening it says what is wrong.

    Raises:
        BadLogDirectory: a newer odradek wrote one, or it is not all there.
    """
    for directory in directories:
        with suppress(BadMetaProperties, KafkaStorageError, OSError):
            found = read_meta_properties(files, directory)
            reason = None if found is None else why_unreadable(found)
            if reason is not None:
                raise BadLogDirectory(f"{directory} {reason}")


def with_this_format(found: MetaProperties) -> MetaProperties:
    """The identity of a directory that is of this format from now on."""
    return found._replace(data_format=DATA_FORMAT, format_since=FORMAT_SINCE)
