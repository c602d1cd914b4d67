"""What adopted metadata say of brokers, groups and clients: options, quotas, users.

It is taken over as it would be taken from an admin client; what odradek would refuse,
or would not heed, is told in one line each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.config.client_metrics_config import subscription
from odradek.broker.config.group_config import validate_group_options
from odradek.broker.config.live_config import check_changes, with_changes
from odradek.broker.config.options.broker_config import OPTIONS
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.foreign import meaning_of
from odradek.broker.config.options.foreign_table import foreign_table
from odradek.broker.config.secrets import shown
from odradek.broker.metadata.client_quotas import (
    CLIENT_ID,
    IP,
    USER,
    QuotaEntity,
    QuotaKey,
)
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.protocol.errors import InvalidConfig, KafkaError
from odradek.protocol.scram import Mechanism

from .metadata import ALL_BROKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.delegation_token import DelegationToken
    from odradek.protocol.acl_entries import AclEntry

    from .metadata import ClusterMetadata

_ENTITIES = ({USER}, {CLIENT_ID}, {USER, CLIENT_ID}, {IP})


class AdoptedResources:
    """The options of what is no topic; ``broker`` has those of the broker applied.

    ``options`` are for the catalogue, ``notes`` for the operator.
    """

    def __init__(
        self, metadata: ClusterMetadata | None, node_id: int, broker: BrokerConfig
    ) -> None:
        self.options: dict[Resource, dict[str, str]] = {}
        self.notes: list[str] = []
        self.acls: list[AclEntry] = []
        self.tokens: list[DelegationToken] = []
        self.broker = broker
        if metadata is None:
            return
        self.acls = list(dict.fromkeys(metadata.acls.values()))
        self.tokens = list(metadata.tokens.values())
        if self.tokens:
            self.notes.append(
                "delegation tokens go on with the delegation.token.secret.key that"
                " Kafka had: give it to odradek serve"
            )
        self._take_broker_options(metadata.broker_options, node_id)
        for group, options in metadata.group_options.items():
            self._take_each(ResourceKind.GROUP, group, options, self._check_group)
        for name, options in metadata.client_metrics_options.items():
            kind = ResourceKind.CLIENT_METRICS
            self._take_each(kind, name, options, _check_client_metrics)
        for entity, quotas in metadata.quotas.items():
            self._take_quotas(entity, quotas)
        for user, credentials in metadata.credentials.items():
            for number, credential in credentials.items():
                if number in frozenset(Mechanism):
                    text = str(credential)
                    name = Mechanism(number).title
                    self._put(Resource(ResourceKind.SCRAM, user), name, text)
                else:
                    self._refuse(f"user {user}: SCRAM mechanism {number}", "unknown")

    def counted(self) -> list[str]:
        """How many there are of each kind, in words, for the operator."""
        words = {
            ResourceKind.BROKER: "broker options",
            ResourceKind.GROUP: "group options",
            ResourceKind.CLIENT_METRICS: "client metrics options",
            ResourceKind.QUOTA: "client quotas",
            ResourceKind.SCRAM: "SCRAM credentials",
        }
        counts = dict.fromkeys(words, 0)
        for resource, options in self.options.items():
            counts[resource.kind] += len(options)
        counted = [
            f"{word}: {counts[kind]}" for kind, word in words.items() if counts[kind]
        ]
        others = (("ACLs", self.acls), ("delegation tokens", self.tokens))
        return counted + [f"{word}: {len(found)}" for word, found in others if found]

    def _take_broker_options(
        self, of_brokers: Mapping[str, Mapping[str, str]], node_id: int
    ) -> None:
        """Those of all brokers, and of this one."""
        static, everywhere = self.broker, Resource(ResourceKind.BROKER, ALL_BROKERS)
        here = Resource(ResourceKind.BROKER, str(node_id))
        for resource in (everywhere, here):
            for name, value in of_brokers.get(resource.name, {}).items():
                what = f"broker option {name}={shown(name, value)}"
                if name not in OPTIONS and name in foreign_table():
                    self._refuse(what, meaning_of(name))
                    continue
                kept = {
                    each: dict(self.options.get(each, {}))
                    for each in (everywhere, here)
                }
                kept[resource][name] = value
                try:
                    check_changes([name], static, of_all=resource is everywhere)
                    self.broker = with_changes(static, kept[everywhere], kept[here])
                except (KafkaError, OptionError) as error:
                    self._refuse(what, f"{error}; give it to odradek serve if needed")
                else:
                    self._put(resource, name, value)
                    self.notes.append(f"{what} is the broker's here, too")

    def _take_each(
        self,
        kind: ResourceKind,
        resource: str,
        options: Mapping[str, str],
        check: Callable[[str, Mapping[str, str]], object],
    ) -> None:
        for name, value in options.items():
            try:
                check(resource, {name: value})
            except KafkaError as error:
                self._refuse(f"{kind} {resource}: {name}={value}", str(error))
            else:
                self._put(Resource(kind, resource), name, value)

    def _check_group(self, _: str, options: Mapping[str, str]) -> None:
        validate_group_options(options, self.broker)

    def _take_quotas(self, entity: QuotaEntity, quotas: Mapping[str, float]) -> None:
        for key, limit in quotas.items():
            is_of_address = key == QuotaKey.CONNECTION
            if set(entity.names) not in _ENTITIES:
                reason = "there are quotas of users, client ids and addresses"
            elif key not in frozenset(QuotaKey) or is_of_address != (
                IP in entity.names
            ):
                reason = "there is no such quota"
            elif not limit > 0:
                reason = "a quota is more than 0"
            else:
                self._put(entity.resource, key, repr(limit))
                continue
            self._refuse(f"quota {key}={limit} of {dict(entity.parts)}", reason)

    def _put(self, resource: Resource, name: str, value: str) -> None:
        self.options.setdefault(resource, {})[name] = value

    def _refuse(self, what: str, reason: str) -> None:
        self.notes.append(f"{what} is not carried over: {reason}")


def _check_client_metrics(name: str, options: Mapping[str, str]) -> None:
    try:
        subscription(name, options)
    except OptionError as error:
        raise InvalidConfig(str(error)) from error
