"""What a change of the broker's options reaches: the parts that hold a value of them.

Handlers read ``services.config``, which every change replaces. An option that is not
here, and that no handler reads, needs a restart: it is not dynamic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.metadata.resource_options import ResourceKind

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.resource_options import Resource
    from odradek.broker.network.admission import Admission
    from odradek.broker.network.network import Network
    from odradek.broker.requests.quotas.metered import MeteredDispatcher
    from odradek.broker.requests.services import Services
    from odradek.broker.upkeep.compaction.cleaning import Cleaning


def follow_changes(services: Services, admission: Admission) -> None:
    """Have logs and listeners follow the options from now on."""

    def follow(config: BrokerConfig) -> None:
        services.replica_manager.update_config(config)
        services.log_manager.update_producer_options(
            config.producer_id_expiration_ms,
            config.transaction_partition_verification_enable,
        )
        admission.update(config)

    services.live.watch(follow)


def follow_quotas(services: Services, network: Network) -> None:
    """Have requests measured while somebody has a quota."""
    metered: MeteredDispatcher | None = None  # until somebody has a quota

    def follow(resource: Resource | None = None) -> None:
        if resource is not None and resource.kind is not ResourceKind.QUOTA:
            return
        nonlocal metered
        if metered is None and services.quotas:
            from odradek.broker.requests.quotas.metered import MeteredDispatcher

            metered = MeteredDispatcher(network.dispatcher, services)
            network.admission.is_over_quota = metered.is_address_over_quota
        if metered is not None:
            metered.follow()

    services.resources.watch(follow)
    follow()


def follow_cleaning_changes(services: Services, cleaning: Cleaning) -> None:
    """Have compaction follow the options from now on."""
    from .jobs import CLEANING_JOB, cleaning_interval_ms, cleaning_limits

    def follow(config: BrokerConfig) -> None:
        cleaning.limit(cleaning_limits(config))
        services.scheduler.change_interval(CLEANING_JOB, cleaning_interval_ms(config))

    services.live.watch(follow)
