"""The entries of access control lists, as the catalogue keeps them.

Invariant: what is here is durable; a change is decided in the catalogue's queue, on
what everything before it has left, and is whole or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.acl_entries import AclEntry

from .catalog.catalog import Catalog, Change

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from odradek.protocol.acl_entries import AclFilter


class Acls:
    """All entries, each once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._watchers: list[Callable[[], object]] = []
        # A dict for its order, in which they are shown.
        self._entries = dict.fromkeys(map(AclEntry._make, catalog.store.acls()))

    def __iter__(self) -> Iterator[AclEntry]:
        """The entries."""
        return iter(self._entries)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._entries)

    def matching(self, wanted: AclFilter) -> list[AclEntry]:
        """Those that are meant."""
        return [entry for entry in self._entries if wanted.matches(entry)]

    def watch(self, watcher: Callable[[], object]) -> None:
        """Call ``watcher`` after every change."""
        self._watchers.append(watcher)

    async def add(self, entries: Sequence[AclEntry]) -> None:
        """Store entries; those that are there stay as they are.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """

        def decide() -> Change:
            new = [each for each in dict.fromkeys(entries) if each not in self._entries]
            return self._change([], new)

        await self._catalog.change(decide)

    async def replace(self, entries: Collection[AclEntry]) -> None:
        """Have these entries and no others.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """

        def decide() -> Change:
            wanted = dict.fromkeys(entries)
            gone = [each for each in self._entries if each not in wanted]
            new = [each for each in wanted if each not in self._entries]
            return self._change(gone, new)

        await self._catalog.change(decide)

    async def remove(
        self, filters: Sequence[AclFilter], at_most: int
    ) -> list[list[AclEntry]] | None:
        """Remove what is meant; of each filter what it has found.

        None, and nothing is removed: that would be more than ``at_most``.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """
        found: list[list[AclEntry]] = []

        def decide() -> Change:
            found.extend(self.matching(wanted) for wanted in filters)
            gone = list(dict.fromkeys(each for some in found for each in some))
            return self._change(gone if len(gone) <= at_most else [], [])

        await self._catalog.change(decide)
        is_too_much = len({each for some in found for each in some}) > at_most
        return None if is_too_much else found

    def _change(self, removed: list[AclEntry], added: list[AclEntry]) -> Change:
        if not removed and not added:
            return Change(lambda _: None)

        def apply(_: None) -> None:
            for entry in removed:
                del self._entries[entry]
            self._entries.update(dict.fromkeys(added))
            for watcher in self._watchers:
                watcher()

        return Change(apply, lambda store: store.change_acls(removed, added), True)
