"""The options of what is no topic: brokers, groups, quotas, credentials, mirrors.

Invariant: what is here is durable; a change is decided in the catalogue's queue, on
what everything before it has left.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.watchers import tell_all

from .catalog.catalog import Catalog, Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Options = Mapping[str, str]
    Decide = Callable[[Options], Mapping[str, str]]
    Watcher = Callable[["Resource"], object]


class ResourceKind(StrEnum):
    """What can have options besides topics, as the catalogue calls it."""

    BROKER = "broker"
    GROUP = "group"
    CLIENT_METRICS = "client-metrics"
    QUOTA = "quota"
    SCRAM = "scram"
    FEATURE = "feature"
    MIRROR = "mirror"
    MIRRORED_TOPIC = "mirrored-topic"


class Resource(NamedTuple):
    """One of them. The broker without a name stands for all brokers."""

    kind: ResourceKind
    name: str


_NOTHING: Options = {}


class ResourceOptions:
    """The options of every resource, and how they are changed."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._watchers: list[Watcher] = []
        self._options: dict[ResourceKind, dict[str, dict[str, str]]] = {
            kind: {} for kind in ResourceKind
        }
        for kind, resource, name, value in catalog.store.resource_options():
            of_kind = self._options[ResourceKind(kind)]
            of_kind.setdefault(resource, {})[name] = value

    def of(self, resource: Resource) -> Options:
        """What is set for a resource. Not to be kept: it is replaced by a change."""
        kind, name = resource
        return self._options[kind].get(name, _NOTHING)

    def all_of(self, kind: ResourceKind) -> Iterator[tuple[str, Options]]:
        """The name and the options of every resource that has some."""
        yield from self._options[kind].items()

    def has_any(self, kind: ResourceKind) -> bool:
        """Whether one of them has some: every client's first request asks for it."""
        return bool(self._options[kind])

    def of_brokers(self, node_id: int) -> tuple[Options, Options]:
        """What is set for all brokers, and for this one."""
        everywhere = Resource(ResourceKind.BROKER, "")
        here = Resource(ResourceKind.BROKER, str(node_id))
        return self.of(everywhere), self.of(here)

    def watch(self, watcher: Watcher) -> None:
        """Call ``watcher`` with every resource whose options have changed."""
        self._watchers.append(watcher)

    async def alter(self, resource: Resource, decide: Decide) -> None:
        """Replace a resource's options by what ``decide`` makes of them.

        Raises:
            KafkaError: what ``decide`` raises; nothing has changed then.
            KafkaStorageError: the catalogue cannot be written.
        """

        def decide_change() -> Change:
            before = self.of(resource)
            options = dict(decide(before))

            def apply(_: None) -> None:
                self._apply(resource, options)

            if options == before:
                return Change(lambda _: None)
            rows: dict[tuple[str, str], dict[str, str]] = {resource: options}
            return Change(
                apply, lambda store: store.replace_resource_options(rows), True
            )

        await self._catalog.change(decide_change)

    def _apply(self, resource: Resource, options: dict[str, str]) -> None:
        kind, name = resource
        if options:
            self._options[kind][name] = options
        else:
            self._options[kind].pop(name, None)
        tell_all(self._watchers, resource)
