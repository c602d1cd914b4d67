"""The authorizer that the options want, made at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.access.authorizer import Authorizer
from odradek.broker.access.denials import Denials
from odradek.broker.metadata.acls import Acls

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.catalog.catalog import Catalog
    from odradek.broker.runtime.clock import Clock


def authorizer_of(config: BrokerConfig, catalog: Catalog, clock: Clock) -> Authorizer:
    """Who decides what clients may do."""
    return Authorizer(
        Acls(catalog),
        Denials(clock),
        config.super_users,
        config.allow_everyone_if_no_acl_found,
    )
