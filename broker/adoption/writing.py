"""Writing the catalogue of an adoption, whole or not at all.

It is made under another name and renamed when it is complete and durable: a kill
leaves a directory that can be adopted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.metadata.catalog.recovery import BACKUP, CATALOG
from odradek.broker.metadata.catalog.store import (
    CatalogStore,
    PartitionRow,
    make_directory,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from odradek.broker.metadata.delegation_token import DelegationToken
    from odradek.broker.metadata.resource_options import Resource
    from odradek.protocol.acl_entries import AclEntry

_UNFINISHED = CATALOG + ".adopting"


class AdoptedPartition(NamedTuple):
    """A partition for the catalogue.

    ``log_dir`` is None for one without a directory: it begins empty, or is offline
    when it ``is_written``.
    """

    partition: int
    leader_epoch: int
    log_dir: Path | None
    is_written: bool


class AdoptedTopic(NamedTuple):
    """A topic for the catalogue."""

    name: str
    topic_id: bytes
    options: dict[str, str]
    partitions: list[AdoptedPartition]


def write_catalog(
    directory: Path,
    topics: Sequence[AdoptedTopic],
    facts: Mapping[str, str | int],
    resources: Mapping[Resource, Mapping[str, str]] | None = None,
    acls: Iterable[AclEntry] = (),
    tokens: Iterable[DelegationToken] = (),
) -> None:
    """Write the catalogue and its backup into ``directory``, durably.

    Raises:
        OSError, sqlite3.Error: the disk refuses; there is no catalogue then.
    """
    make_directory(directory)
    _remove_unfinished(directory)
    try:
        store = CatalogStore(directory / _UNFINISHED)
        try:
            for name, value in facts.items():
                store.set_fact(name, value)
            store.insert_topics(
                (topic.topic_id, topic.name, len(topic.partitions), topic.options)
                for topic in topics
            )
            store.put_partitions(_rows(topics))
            store.replace_resource_options(
                {(each.kind, each.name): x for each, x in (resources or {}).items()}
            )
            store.change_acls([], acls)
            store.change_tokens([], tokens)
            store.copy_to(directory / CATALOG)
            store.copy_to(directory / BACKUP)
        finally:
            store.close()
    finally:
        _remove_unfinished(directory)


def _rows(topics: Sequence[AdoptedTopic]) -> Iterator[PartitionRow]:
    for topic in topics:
        for number, epoch, log_dir, is_written in topic.partitions:
            if epoch > 0 or log_dir is not None or is_written:
                place = None if log_dir is None else str(log_dir)
                yield PartitionRow(topic.topic_id, number, epoch, place, is_written)


def _remove_unfinished(directory: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        (directory / (_UNFINISHED + suffix)).unlink(missing_ok=True)
