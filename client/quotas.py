"""Quotas of clients (KIP-546): described, set and removed.

An entity is a name by type: of a user, a client id, both, or an address. None instead
of a name is the default of all that have no quota of their own.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.messages.client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlteredQuotaEntry,
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    OpData,
)

from .errors import raise_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .cluster import Cluster

    Entity = Mapping[str, str | None]

# The types in the order in which an entity is written.
TYPES = ("user", "client-id", "ip")


class Match(IntEnum):
    """What a part of an entity has to be, as the protocol numbers it."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


class Quotas(NamedTuple):
    """What is set for an entity: numbers by name."""

    entity: Entity
    values: Mapping[str, float]


def describe_quotas(
    cluster: Cluster, entity: Entity | None = None, *, strict: bool = False
) -> list[Quotas]:
    """What is set for entities of which these are parts, in order; or for all.

    With ``strict`` it is for this entity alone.

    Raises:
        InvalidRequest, ClusterAuthorizationFailed: the broker does not say.
    """
    components = [
        ComponentData(
            entity_type=kind,
            match_type=Match.DEFAULT if name is None else Match.EXACT,
            match=name,
        )
        for kind, name in (entity or {}).items()
    ]
    request = DescribeClientQuotasRequest(components=components, strict=strict)
    answer = cluster.request(request, DescribeClientQuotasResponse)
    raise_for(answer.error_code, answer.error_message)
    found = [
        Quotas(
            _in_order({each.entity_type: each.entity_name for each in entry.entity}),
            {each.key: each.value for each in entry.values},
        )
        for entry in answer.entries or ()
    ]
    return sorted(found, key=_rank)


def alter_quotas(
    cluster: Cluster,
    entity: Entity,
    changes: Mapping[str, float | None],
    *,
    validate_only: bool = False,
) -> None:
    """Set quotas of an entity, and remove those that are None: all of it, or nothing.

    Raises:
        InvalidRequest: a quota or its value is none.
    """
    ops = [
        OpData(key=key, value=value or 0.0, remove=value is None)
        for key, value in changes.items()
    ]
    parts = [
        EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()
    ]
    request = AlterClientQuotasRequest(
        entries=[AlteredQuotaEntry(entity=parts, ops=ops)], validate_only=validate_only
    )
    (result,) = cluster.request(request, AlterClientQuotasResponse).entries
    raise_for(result.error_code, result.error_message)


def _in_order(entity: dict[str, str | None]) -> dict[str, str | None]:
    known = [kind for kind in TYPES if kind in entity]
    return {kind: entity[kind] for kind in [*known, *sorted(entity.keys() - {*known})]}


def _rank(quotas: Quotas) -> list[tuple[str, bool, str]]:
    """Users first; a default behind the names."""
    places = {kind: str(place) for place, kind in enumerate(TYPES)}
    return [
        (places.get(kind, kind), name is None, name or "")
        for kind, name in quotas.entity.items()
    ]
