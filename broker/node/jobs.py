"""The periodic jobs of the broker: all of them, with what each needs.

A job without an interval that an option gives has one of its own, named where it is
at home. `Scheduler` says how they run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.shortage import LOOK_INTERVAL_MS
from odradek.broker.handlers.topics.topic_deletion import (
    DELETION_INTERVAL_MS,
    finish_deletions,
)
from odradek.broker.network.listener import SWEEP_INTERVAL_MS
from odradek.broker.replica.logs.free_space import FreeSpace
from odradek.broker.requests.request_times import HALF_LIFE_MS
from odradek.broker.upkeep.compaction.cleaning import Cleaning
from odradek.broker.upkeep.compaction.cleaning_limits import CleaningLimits
from odradek.broker.upkeep.compaction.cleaning_process import ProcessCleaner
from odradek.broker.upkeep.retention import FILE_REMOVAL_INTERVAL_MS, Retention
from odradek.broker.upkeep.scrubbing import SCRUB_TURN_MS, Scrubbing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.network.listener import Listener
    from odradek.broker.requests.dispatch import Dispatcher
    from odradek.broker.requests.services import Services
    from odradek.storage.files.files import Files

FIRST_RETENTION_MS = 30_000
CERTIFICATES_INTERVAL_MS = 10_000
SHARE_UPKEEP_INTERVAL_MS = 300_000  # as Apache Kafka has it
CLEANING_JOB = "clean logs"


def add_jobs(
    services: Services,
    listeners: Iterable[Listener],
    cleaning: Cleaning,
    dispatcher: Dispatcher,
) -> None:
    """Let the scheduler begin them."""
    config, every = services.config, services.scheduler.every
    for listener in listeners:
        every(SWEEP_INTERVAL_MS, f"sweep {listener.name}", listener.sweep)
    every(HALF_LIFE_MS, "request times", dispatcher.forget_times)
    every(
        config.log_flush_offset_checkpoint_interval_ms,
        "checkpoints",
        services.replica_manager.checkpointer.write,
    )
    every(
        config.log_flush_start_offset_checkpoint_interval_ms,
        "log starts",
        services.replica_manager.checkpointer.write_log_starts,
    )
    every(LOOK_INTERVAL_MS, "look for room", lambda: services.shortage.look())
    every(DELETION_INTERVAL_MS, "finish deletions", lambda: finish_deletions(services))
    _add_coordinator_jobs(services)
    _add_retention(services)
    if services.tokens is not None:
        every(
            config.delegation_token_expiry_check_interval_ms,
            "remove expired tokens",
            services.tokens.remove_expired,
        )
    if config.log_cleaner_enable and config.log_cleaner_threads:
        every(cleaning_interval_ms(config), CLEANING_JOB, cleaning.clean_due)
    if config.log_scrub_interval_ms:
        _add_scrubbing(services)
    if services.certificates is not None:
        every(CERTIFICATES_INTERVAL_MS, "certificates", services.certificates.look)


def make_cleaning(services: Services, files: Files) -> Cleaning:
    """What compacts logs: as a job, and when somebody asks for it."""
    config = services.config
    return Cleaning(
        services.clock,
        services.log_manager,
        services.committer,
        services.disk_threads,
        ProcessCleaner(files, services.disk_threads),
        cleaning_limits(config),
    )


def cleaning_limits(config: BrokerConfig) -> CleaningLimits:
    """What the options let compaction take."""
    return CleaningLimits(
        config.log_cleaner_dedupe_buffer_size,
        config.log_cleaner_threads,
        config.log_cleaner_io_max_bytes_per_second,
        config.log_cleaner_io_buffer_load_factor,
    )


def cleaning_interval_ms(config: BrokerConfig) -> int:
    """How long compaction rests when nothing is due."""
    return max(config.log_cleaner_backoff_ms, 1)


def _add_coordinator_jobs(services: Services) -> None:
    config, transactions = services.config, services.transactions
    every = services.scheduler.every
    every(
        config.offsets_retention_check_interval_ms,
        "expire offsets",
        services.groups.expire_offsets,
    )
    every(
        config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
        "abort transactions",
        transactions.abort_timed_out,
    )
    every(
        config.transaction_remove_expired_transaction_cleanup_interval_ms,
        "expire transactional ids",
        transactions.expire_ids,
    )
    every(SHARE_UPKEEP_INTERVAL_MS, "share states", lambda: _keep_short(services))


def _keep_short(services: Services) -> None:
    share_states = services.share_states_in_use
    if share_states is not None:
        share_states.upkeep()


def _add_retention(services: Services) -> None:
    config, every = services.config, services.scheduler.every
    retention = Retention(
        services.clock,
        services.log_manager,
        services.committer,
        services.disk_threads,
        FreeSpace(config.log_dirs, config.log_min_free_bytes),
        services.bugs,
    )
    every(
        config.log_retention_check_interval_ms,
        "delete old segments",
        retention.delete_segments,
        # As Kafka does: not while a start has enough to do.
        first_after_ms=min(FIRST_RETENTION_MS, config.log_retention_check_interval_ms),
    )
    every(
        FILE_REMOVAL_INTERVAL_MS,
        "remove files",
        retention.remove_files,
        first_after_ms=0,
    )
    every(
        config.producer_id_expiration_check_interval_ms,
        "forget producers",
        retention.forget_producers,
    )


def _add_scrubbing(services: Services) -> None:
    config = services.config
    scrubbing = Scrubbing(
        services.clock,
        services.log_manager,
        services.disk_threads,
        config.log_scrub_interval_ms,
        config.log_scrub_bytes_per_second,
        services.bugs,
    )
    services.scheduler.every(SCRUB_TURN_MS, "scrub", scrubbing.scrub)
