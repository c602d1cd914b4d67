"""Access control lists, arranged so that one question looks at few entries.

Each kind of resource has a shelf for every principal and one for all of them together:
literal names (``*`` is one of them), and prefixes by their lengths. A question looks a
name up in the shelves of its principal and of ``User:*``: its literal, the wildcard,
and one prefix for each length that there is.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from odradek.protocol.acl_entries import ANYBODY, WILDCARD, AclEntry, PatternType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class _Shelf:
    """Entries of one kind of resource, by how their names are meant."""

    __slots__ = ("literals", "prefixes")

    def __init__(self) -> None:
        self.literals: dict[str, list[AclEntry]] = {}
        self.prefixes: dict[int, dict[str, list[AclEntry]]] = {}

    def add(self, entry: AclEntry) -> None:
        """Put ``entry`` where it will be looked for."""
        name = entry.resource_name
        if entry.pattern_type == PatternType.PREFIXED:
            of_length = self.prefixes.setdefault(len(name), {})
            of_length.setdefault(name, []).append(entry)
        else:
            self.literals.setdefault(name, []).append(entry)

    def of(self, name: str) -> Iterator[AclEntry]:
        """The entries that touch the resource ``name``."""
        yield from self.literals.get(name, ())
        if name != WILDCARD:
            yield from self.literals.get(WILDCARD, ())
        for length, of_length in self.prefixes.items():
            if length <= len(name):
                yield from of_length.get(name[:length], ())

    def touches(self, name: str) -> bool:
        """Whether there is any such entry."""
        return next(self.of(name), None) is not None


class AclIndex:
    """All entries. It is made anew when they change."""

    def __init__(self, entries: Iterable[AclEntry] = ()) -> None:
        self.names_hosts = False
        self._of_principals: dict[tuple[int, str], _Shelf] = {}
        self._of_all: dict[int, _Shelf] = {}
        for entry in entries:
            self._add(entry)

    def matching(
        self, principal: str, host: str, resource_type: int, name: str
    ) -> Iterator[AclEntry]:
        """What touches the resource, and holds for this principal from this host."""
        for holder in {principal, ANYBODY}:
            shelf = self._of_principals.get((resource_type, holder))
            if shelf is None:
                continue
            for entry in shelf.of(name):
                if entry.host in (WILDCARD, host):
                    yield entry

    def of_type(
        self, principal: str, host: str, resource_type: int
    ) -> Iterator[AclEntry]:
        """What holds for this principal from this host, on any such resource."""
        for holder in {principal, ANYBODY}:
            shelf = self._of_principals.get((resource_type, holder))
            if shelf is None:
                continue
            groups = [shelf.literals, *shelf.prefixes.values()]
            for entries in (each for group in groups for each in group.values()):
                yield from (x for x in entries if x.host in (WILDCARD, host))

    def touches(self, resource_type: int, name: str) -> bool:
        """Whether an entry of anybody touches the resource."""
        shelf = self._of_all.get(resource_type)
        return shelf is not None and shelf.touches(name)

    def _add(self, entry: AclEntry) -> None:
        entry = entry._replace(host=plain_host(entry.host))
        self.names_hosts |= entry.host != WILDCARD
        kind = entry.resource_type
        self._of_principals.setdefault((kind, entry.principal), _Shelf()).add(entry)
        self._of_all.setdefault(kind, _Shelf()).add(entry)


def plain_host(host: str) -> str:
    """An address in its shortest form, without zone; whatever else it is, as it is.

    Java writes addresses of IPv6 in full, and those of IPv4 as such, also where a
    socket of IPv6 has accepted them.
    """
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    return str(getattr(address, "ipv4_mapped", None) or address)
