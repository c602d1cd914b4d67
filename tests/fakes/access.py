"""Access control lists in memory, and an authorizer that decides by them."""

from collections.abc import Callable, Iterator
from typing import Any, cast

from odradek.broker.metadata.access.authorizer import Authorizer
from odradek.broker.metadata.access.denials import Denials
from odradek.protocol.acl_entries import AclEntry, PatternType, Permission
from odradek.protocol.acls import Operation, ResourceType
from tests.fakes.clock import FakeClock

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP


class FakeAcls:
    """Entries that come and go at once."""

    def __init__(self, *entries: AclEntry) -> None:
        self.entries = list(entries)
        self._watchers: list[Callable[[], object]] = []

    def __iter__(self) -> Iterator[AclEntry]:
        return iter(self.entries)

    def watch(self, watcher: Callable[[], object]) -> None:
        self._watchers.append(watcher)

    def become(self, *entries: AclEntry) -> None:
        self.entries = list(entries)
        for watcher in self._watchers:
            watcher()


def entry(
    operation: Operation,
    name: str,
    *,
    kind: ResourceType = TOPIC,
    principal: str = "User:alice",
    host: str = "*",
    prefixed: bool = False,
    denies: bool = False,
) -> AclEntry:
    return AclEntry(
        kind,
        name,
        PatternType.PREFIXED if prefixed else PatternType.LITERAL,
        principal,
        host,
        operation,
        Permission.DENY if denies else Permission.ALLOW,
    )


def fake_authorizer(
    *entries: AclEntry, clock: FakeClock | None = None, **options: Any
) -> tuple[Authorizer, FakeAcls]:
    acls = FakeAcls(*entries)
    denials = Denials(clock or FakeClock())
    return Authorizer(cast(Any, acls), denials, **options), acls
