"""Staging folders: where the files of a batch lie before they are committed.

In Delta and Iceberg tables the files stay there, so such a folder may be a part of the
table. Invariants: the name of a folder says one job and one batch, and no two jobs have
the same (``ORDERS-DIGEST-BATCH-RANDOM``; job names may differ in characters that the
first part does not keep). A folder that holds a file of the table stays, whatever its
name. Folders of earlier versions had no digest: whose they are cannot be told, and they
stay too.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .commit import Commit
    from .places.place import TablePlace

_SLUG_LENGTH = 60  # a name of a file has 255 bytes, a name of a topic may have 249
_DIGEST_LENGTH = 20
_NAME = re.compile(
    r"(?P<owner>\w*-[0-9a-f]{20})-(?P<batch>\d{10,})-[0-9a-f]{12}", re.ASCII
)
_ANY_NAME = re.compile(r"[\w-]*-(?P<batch>\d{10,})-[0-9a-f]{12}", re.ASCII)


class _Folder(NamedTuple):
    """What the name of a staging folder says."""

    owner: str
    batch: int


# So many names are looked at for each batch, on average.
_LISTED_A_BATCH = 1000


def owner_name(job: str) -> str:
    """What files of a job are named after; no two jobs have the same."""
    slug = re.sub(r"[^A-Za-z0-9_]", "_", job)[:_SLUG_LENGTH]
    return f"{slug}-{hashlib.sha256(job.encode()).hexdigest()[:_DIGEST_LENGTH]}"


def staging_name(job: str, batch: int) -> str:
    """The name of a new staging folder: the job's, the batch's, and a random part."""
    return f"{owner_name(job)}-{batch:010d}-{uuid.uuid4().hex[:12]}"


def leftovers(names: Iterable[str], commits: Iterable[Commit]) -> list[str]:
    """The staging folders of some batches that their commits have not taken."""
    taken = {f"{owner_name(e.job)}-{e.batch:010d}": e.staged for e in commits}
    return [
        name
        for name in names
        if taken.get(name.rpartition("-")[0], name) != name and _NAME.fullmatch(name)
    ]


class Leftovers:
    """Removes folders of batches that came to nothing, and cannot any more.

    A table that lives for long has a folder for each batch of days, and a list of them
    costs as much: so it is asked for once in a while, for all batches since. A driver
    that begins, or has tried a batch twice, asks at once.
    """

    def __init__(self, place: TablePlace, folder: str) -> None:
        self._place = place
        self._folder = folder
        self._waiting: list[Commit] = []
        self._wanted = 0  # so many batches are waited for
        self._begun: int | None = None

    def begin(self, batch: int) -> None:
        """A folder is made for a batch."""
        if self._begun is None or self._begun == batch:
            self._wanted = 0
        self._begun = batch

    def remove(self, commit: Commit, files: Callable[[], Iterable[str]]) -> None:
        """Remove those of a batch that is committed, and of those before.

        ``files`` says the paths of all files of the table; it is asked only when there
        is something to remove.
        """
        self._waiting.append(commit)
        if len(self._waiting) < self._wanted:
            return
        names = self._place.folders_in(self._folder)
        self._wanted = len(names) // _LISTED_A_BATCH
        found, self._waiting = leftovers(names, self._waiting), []
        if not found:
            return
        kept = {os.path.basename(os.path.dirname(path)) for path in files()}
        for name in found:
            if name not in kept:
                self._place.remove_folder(self._folder, name)


def batch_of(name: str) -> int | None:
    """The batch in the name of a staging folder, also of those without a digest."""
    match = _ANY_NAME.fullmatch(name)
    return int(match["batch"]) if match else None


def is_of_job(path: str, job: str) -> bool:
    """Whether a file of a table lies in a folder of the job."""
    folder = _folder(os.path.basename(os.path.dirname(path)))
    return folder is not None and folder.owner == owner_name(job)


def _folder(name: str) -> _Folder | None:
    match = _NAME.fullmatch(name)
    return match and _Folder(match["owner"], int(match["batch"]))
