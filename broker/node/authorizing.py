"""The authorizer and the delegation tokens that the options want, made at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.metadata.access.authorizer import Authorizer
from odradek.broker.metadata.access.denials import Denials
from odradek.broker.metadata.acls import Acls

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.catalog.catalog import Catalog
    from odradek.broker.runtime.clock import Clock

    from .parts import Parts


def add_what_is_wanted(services: Parts, catalog: Catalog) -> None:
    """Give the broker what its options want of both."""
    config, clock = services.config, services.clock
    if config.authorizer_class_name:
        services.authorizer = authorizer_of(config, catalog, clock)
    if config.delegation_token_secret_key:
        from odradek.broker.metadata.delegation_tokens import DelegationTokens

        services.tokens = DelegationTokens.of(config, catalog, clock)


def authorizer_of(config: BrokerConfig, catalog: Catalog, clock: Clock) -> Authorizer:
    """Who decides what clients may do."""
    return Authorizer(
        Acls(catalog),
        Denials(clock),
        config.super_users,
        config.allow_everyone_if_no_acl_found,
    )
