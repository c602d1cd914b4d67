"""The quotas of clients: what is set, and which of it holds for a client.

An entity is a user, a client id, both, or an address; instead of a name it may have
the default of all that have none of their own. For a client the most precise quota
holds, in the order of Kafka (KIP-13, KIP-257): user and client id by name, then with
one of them the default, then the user, then the client id.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.options.option import INT_MAX

from .resource_options import Resource, ResourceKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from odradek.broker.config.options.broker_config import BrokerConfig

    from .resource_options import ResourceOptions

USER, CLIENT_ID, IP = "user", "client-id", "ip"
# There is no authentication yet, so everybody is this user.
ANONYMOUS = "ANONYMOUS"


class QuotaKey(StrEnum):
    """What is limited."""

    PRODUCE = "producer_byte_rate"
    FETCH = "consumer_byte_rate"
    REQUEST = "request_percentage"
    MUTATION = "controller_mutation_rate"
    CONNECTION = "connection_creation_rate"


class QuotaEntity(NamedTuple):
    """Names by type, in the order of the types; None is the default of its type."""

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, names: Mapping[str, str | None]) -> QuotaEntity:
        """The entity with these names by type."""
        return cls(tuple(sorted(names.items())))

    @classmethod
    def read(cls, resource_name: str) -> QuotaEntity:
        """The entity that the catalogue calls so."""
        import json  # only who has quotas needs it

        return cls.of(json.loads(resource_name))

    @property
    def resource(self) -> Resource:
        """What the catalogue calls it."""
        import json

        name = json.dumps(dict(self.parts), ensure_ascii=False)
        return Resource(ResourceKind.QUOTA, name)

    @property
    def names(self) -> dict[str, str | None]:
        """Names by type."""
        return dict(self.parts)


class Quota(NamedTuple):
    """A limit, and the entity for which it was set: whoever shares that, shares it."""

    limit: float
    entity: QuotaEntity


class ClientQuotas:
    """The quotas as the catalogue has committed them; a look-up is a few dict reads.

    Watch the ``ResourceOptions`` for changes (kind QUOTA); ``version`` counts them.
    """

    def __init__(self, resources: ResourceOptions) -> None:
        self.version = 0
        self._resources = resources
        self._values: dict[QuotaEntity, dict[str, float]] = {}
        for name, options in resources.all_of(ResourceKind.QUOTA):
            self._values[QuotaEntity.read(name)] = _numbers(options)
        resources.watch(self._update)

    def __iter__(self) -> Iterator[tuple[QuotaEntity, Mapping[str, float]]]:
        """Every entity that has quotas, with those."""
        return iter(self._values.items())

    def __bool__(self) -> bool:
        """Whether anybody has a quota."""
        return bool(self._values)

    def find(self, key: QuotaKey, user: str, client_id: str) -> Quota | None:
        """The quota that holds for a client of a user; None: there is none."""
        values = self._values
        if not values:
            return None
        for entity in _candidates(user, client_id):
            own = values.get(entity)
            if own is not None and key in own:
                return Quota(own[key], _shared(entity, user, client_id))
        return None

    def fetch_bytes_max(self, user: str, client_id: str, config: BrokerConfig) -> int:
        """The most that a client may be sent at once if it has read nothing of late.

        More than its quota's windows hold would make it wait in any case, and the
        longer, the more it is (Kafka's ``maxQuotaWindowBytes``).
        """
        quota = self.find(QuotaKey.FETCH, user, client_id)
        if quota is None:
            return INT_MAX
        seconds = (config.quota_window_num - 1) * config.quota_window_size_seconds
        return int(min(quota.limit * seconds, INT_MAX))

    def find_of_address(self, key: QuotaKey, address: str) -> Quota | None:
        """The quota that holds for connections from an address."""
        for name in (address, None):
            own = self._values.get(QuotaEntity(((IP, name),)))
            if own is not None and key in own:
                return Quota(own[key], QuotaEntity(((IP, address),)))
        return None

    def _update(self, resource: Resource) -> None:
        if resource.kind is not ResourceKind.QUOTA:
            return
        self.version += 1
        entity = QuotaEntity.read(resource.name)
        values = _numbers(self._resources.of(resource))
        if values:
            self._values[entity] = values
        else:
            self._values.pop(entity, None)


def _numbers(options: Mapping[str, str]) -> dict[str, float]:
    return {key: float(text) for key, text in options.items()}


def _candidates(user: str, client_id: str) -> Iterator[QuotaEntity]:
    """The entities that a client is, the most precise first."""
    for users in (user, None):
        for clients in (client_id, None):
            yield QuotaEntity(((CLIENT_ID, clients), (USER, users)))
        yield QuotaEntity(((USER, users),))
    for clients in (client_id, None):
        yield QuotaEntity(((CLIENT_ID, clients),))


def _shared(entity: QuotaEntity, user: str, client_id: str) -> QuotaEntity:
    """Who shares the quota: of a default, everybody has one for themselves."""
    own = {USER: user, CLIENT_ID: client_id}
    return QuotaEntity(
        tuple(
            (kind, own[kind] if name is None else name) for kind, name in entity.parts
        )
    )
