"""What a change of the broker's options reaches: the parts that hold a value of them.

Handlers read ``services.config``, which every change replaces. An option that is not
here, and that no handler reads, needs a restart: it is not dynamic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .jobs import CLEANING_JOB, cleaning_interval_ms, cleaning_limits

if TYPE_CHECKING:
    from .config.broker_config import BrokerConfig
    from .network.admission import Admission
    from .replica.cleaning import Cleaning
    from .services import Services


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


def follow_cleaning_changes(services: Services, cleaning: Cleaning) -> None:
    """Have compaction follow the options from now on."""

    def follow(config: BrokerConfig) -> None:
        cleaning.limit(cleaning_limits(config))
        services.scheduler.change_interval(CLEANING_JOB, cleaning_interval_ms(config))

    services.live.watch(follow)
