"""A partition that this broker serves: its log, its epoch, its high watermark.

The log is opened or created when it is first needed; until then a partition that
was never written ends at offset 0 and has no files.

Invariants: with durability=commit the high watermark is at most the durable offset
of the log, else it is the log's end. It rises before the operations that wait for
it are looked at, and not before the catalogue says that the partition is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.protocol.errors import KafkaError, NotEnoughReplicas
from odradek.storage.producers.append_info import AppendInfo, AppendOrigin
from odradek.storage.producers.verification_state import VerificationStates
from odradek.storage.values.log_config import UNLIMITED

from .durable_log_start import DurableLogStart
from .followed import Followed
from .leadership import Leadership
from .replica_state import ReplicaState
from .replication import Replication
from .view import PartitionView

if TYPE_CHECKING:
    from odradek.broker.durability.committer import DirectoryCommitter
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.files.files import Buffer
    from odradek.storage.log.appender import Placed
    from odradek.storage.log.unified_log import UnifiedLog
    from odradek.storage.producers.marker import BuiltMarker
    from odradek.storage.producers.verification_state import VerificationGuard
    from odradek.storage.values.log_config import LogConfig

    from .host import PartitionHost
    from .refusals import Refused
    from .replica_state import LeaderAndIsr

ACKS_ALL, _CLIENT = -1, AppendOrigin.CLIENT


class Partition:
    """One partition, and how it changes. Used by the loop's thread alone.

    What can be asked of it is in its ``view``. Counted since the start: batches that
    were appended, or were there already (``append_count``) and others (``refused``),
    fetches, and those that failed.
    """

    __slots__ = (
        "_first_dirty_ms",
        "_host",
        "_verifications",
        "append_count",
        "awaited",
        "committer",
        "config",
        "durable_log_start",
        "failed_fetch_count",
        "fetch_count",
        "has_flush_options",
        "is_dirty",
        "is_internal",
        "is_written",
        "leadership",
        "log_end_fetch_count",
        "refused",
        "replication",
        "topic_id",
        "topic_partition",
        "view",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        leader_epoch: int,
        config: LogConfig,
        replicas: ReplicaState,
        host: PartitionHost,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.leadership = Leadership(leader_epoch, replicas, host)
        self.view = PartitionView(self.leadership)
        self.durable_log_start = DurableLogStart()
        self.append_count = self.fetch_count = self.failed_fetch_count = 0
        self.refused: Refused | None = None  # nothing was
        self.committer: DirectoryCommitter | None = None
        self.awaited: Any = None  # `AwaitedAppends` that another append may join
        self.is_internal = self.is_written = False
        self.log_end_fetch_count = 0
        # Of those that follow us, or of whom we follow; None: there is no other.
        self.replication: Replication | Followed | None = None
        self._verifications: VerificationStates | None = None  # while there is no log
        self._host = host
        self.is_dirty, self._first_dirty_ms = False, 0
        self.update_config(config)

    def __repr__(self) -> str:
        return f"Partition({self.topic_partition}, epoch {self.leadership.epoch})"

    # What it is made of

    @property
    def log(self) -> UnifiedLog | None:
        """Its log, once it is opened or created."""
        return self.view.log

    def use_log(self, log: UnifiedLog, committer: DirectoryCommitter) -> None:
        """Serve ``log`` from now on; all of it is durable or none of it is there."""
        self.view.log = log
        self.committer = committer
        if self._verifications is not None:
            log.producers.verifications = self._verifications
            self._verifications = None
        if self.replication is None:
            log.visibility.raise_to(log.end_metadata)
        self.leadership.epoch_start_offset = log.log_end_offset
        self.durable_log_start.offset = log.log_start_offset

    def update_config(self, config: LogConfig) -> None:
        """Follow the options of the topic."""
        self.config = config
        self.has_flush_options = (
            config.flush_messages != UNLIMITED or config.flush_ms != UNLIMITED
        )
        self._use_replicas(self.leadership.replicas)
        if self.view.log is not None:
            self.view.log.update_config(config)
        if isinstance(self.replication, Replication):
            self.replication.look_again()  # fewer in sync may be enough

    def make_leader(self, decided: LeaderAndIsr) -> None:
        """Lead, as the controller decided; an epoch that we lead in keeps its start."""
        if decided.partition_epoch < self.leadership.replicas.partition_epoch:
            return
        epochs_passed = decided.leader_epoch - self.leadership.epoch
        if epochs_passed > 0:
            self.leadership.begin_epoch(decided.leader_epoch, self.view.log_end_offset)
            if self.view.log is not None:
                self.view.log.assign_epoch(decided.leader_epoch)
        in_sync, epoch = decided.in_sync, decided.partition_epoch
        self._use_replicas(ReplicaState(decided.replicas, in_sync, True, epoch))
        if len(decided.replicas) == 1:
            self.replication = None
        else:
            if not isinstance(self.replication, Replication):
                cluster = self._host.cluster
                assert cluster is not None, "there is no other broker"
                self.replication = Replication(self, cluster)
            self.replication.begin(decided, epochs_passed)
        if self.raise_high_watermark():
            self.check_all_waiting()

    def make_follower(self, decided: LeaderAndIsr) -> None:
        """Follow another broker."""
        if decided.partition_epoch < self.leadership.replicas.partition_epoch:
            return
        if self.replication is not None:
            self.replication.note_append()
        is_new_epoch = decided.leader_epoch > self.leadership.epoch
        self.leadership.epoch = decided.leader_epoch
        if is_new_epoch or not isinstance(self.replication, Followed):
            self.replication = Followed()  # what another leader said is not committed
        self._use_replicas(
            ReplicaState(decided.replicas, (), False, decided.partition_epoch)
        )
        self.check_all_waiting()

    def use_in_sync(self, in_sync: tuple[int, ...], partition_epoch: int) -> None:
        """These replicas are in sync from now on."""
        replicas = self.leadership.replicas
        changed = replicas._replace(in_sync=in_sync, partition_epoch=partition_epoch)
        self._use_replicas(changed)

    def refuse(self, error: KafkaError) -> None:
        """Serve nothing any more: the partition is deleted, or its files are gone."""
        self.leadership.refusal = error
        self.check_all_waiting()

    def check_all_waiting(self) -> None:
        """Have everybody look again who waits for anything here."""
        if self.committer is not None:
            self.committer.hand_over(self)
        self._host.check_all_waiting(self)

    def _use_replicas(self, replicas: ReplicaState) -> None:
        self.leadership.use_replicas(replicas, self.config.min_insync_replicas)

    # Append

    def start_verification(
        self,
        producer_id: int,
        sequence: int,
        producer_epoch: int,
        now_ms: int,
        epoch_bump: bool = False,
    ) -> VerificationGuard | None:
        """What `ProducerStates.start_verification` says; nothing is written for it.

        The guard holds also when the log is made between now and its append.

        Raises:
            NotLeaderOrFollower, PolicyViolation, InvalidProducerEpoch: as an append
                would.
        """
        self.leadership.check_writable()
        batch = producer_id, sequence, producer_epoch, now_ms, epoch_bump
        if self.view.log is not None:
            return self.view.log.producers.start_verification(*batch)
        if self._verifications is None:
            self._verifications = VerificationStates()
        return self._verifications.start(*batch)

    def append(
        self,
        batch: Buffer | tuple[Buffer, ...],
        acks: int,
        origin: AppendOrigin,
        now_ms: int,
        guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendInfo:
        """Write one batch, or several of a coordinator. Returns before it is durable.

        ``guard`` and ``transaction_version``: see `Appender.append_as_leader`.

        Raises:
            NotLeaderOrFollower, NotEnoughReplicas, PolicyViolation: nothing was
                written.
            KafkaError: what the log refuses.
        """
        leadership = self.leadership
        if leadership.refusal is not None or not leadership.replicas.is_leader:
            leadership.check()
        if not leadership.has_enough_in_sync:
            leadership.check_writable()
            if acks == ACKS_ALL:
                raise NotEnoughReplicas
        log = self.view.log
        if log is None or not self.is_written:
            log = self._host.begin_log(self)
        if isinstance(batch, tuple):
            info = log.joint_appender.append(batch, leadership.epoch, now_ms, guard)
        else:
            if origin is _CLIENT and leadership.settling_since_ms is not None:
                leadership.check_nothing_left_out(batch, log.producers)
            info = log.appender.append_as_leader(
                batch, leadership.epoch, now_ms, origin, guard, transaction_version
            )
        if not info.is_duplicate:
            self.follow_append(log, now_ms)
        return info

    def append_usual(
        self,
        batch: memoryview,
        now_ms: int,
        guard: VerificationGuard | None = None,
        marker: BuiltMarker | None = None,
    ) -> Placed | None:
        """`append` a batch, or a ``marker``'s, that has nothing special about it.

        None, and nothing was done, where it has; see `Appender.append_usual`.
        """
        log, leadership = self.view.log, self.leadership
        if (
            log is None
            or leadership.refusal is not None
            or not leadership.has_enough_in_sync
            or not leadership.replicas.is_leader
        ):
            return None
        appender, epoch = log.appender, leadership.epoch
        if marker is None:
            placed = appender.append_usual(batch, epoch, now_ms, guard)
        else:
            placed = appender.append_usual_marker(batch, marker, epoch, now_ms)
        if placed is not None:
            self.follow_append(log, now_ms)
        return placed

    def follow_append(self, log: UnifiedLog, now_ms: int) -> None:
        """Batches were appended: let them be synced, and be seen when they may be."""
        if not self.is_dirty:
            self.is_dirty, self._first_dirty_ms = True, now_ms
            assert self.committer is not None
            self.committer.mark_dirty(self)
            if self.config.flush_ms != UNLIMITED:
                self._host.sync_within(self, self.config.flush_ms)
        host, replication = self._host, self.replication
        if replication is not None:
            replication.note_append()
        if not host.bounds_by_durability and replication is None:
            log.visibility.raise_to_end()
            host.check_waiting(self)
        elif not host.bounds_by_durability and self.raise_high_watermark():
            host.check_waiting(self)
        elif self.log_end_fetch_count:
            host.check_log_end_fetches(self)

    def must_sync_now(self, now_ms: int) -> bool:
        """Whether ``flush.messages`` or ``flush.ms`` is reached. Begins the sync."""
        log, config = self.view.log, self.config
        if not self.is_dirty or log is None:
            return False
        if (
            config.flush_messages > 1  # one is unsynced at least
            and log.log_end_offset - log.recovery_point < config.flush_messages
            and now_ms - self._first_dirty_ms < config.flush_ms
        ):
            return False
        assert self.committer is not None
        self.committer.request_sync(self)
        return True

    # Sync: called by the committer

    def begin_sync(self, for_checkpoint: bool = False) -> Any:
        """The ticket of what is to be synced now; None when there is nothing."""
        self.is_dirty = False
        if self.view.log is None or self.leadership.refusal is not None:
            return None
        syncing = self.view.log.syncing
        return syncing.begin_checkpoint() if for_checkpoint else syncing.begin()

    def finish_sync(self, ticket: Any) -> None:
        """What the ticket stands for is durable."""
        if self.view.log is not None:
            self.view.log.syncing.finish(ticket)

    def on_durable(self) -> None:
        """The durable offset has moved."""
        if self.leadership.refusal is not None:
            return  # deleted; its name may be another topic's by now
        if not self.is_written:
            # The row goes in behind the files: a power cut between the two must
            # not leave a partition that is said to be written and has no directory.
            self._host.record_written(self)
            if self._host.bounds_by_durability:
                return
        log = self.view.log
        if log is None:
            return
        if self._host.bounds_by_durability:
            if self.replication is None:
                log.visibility.raise_to_durable()
            else:
                self.raise_high_watermark()
        self._host.check_all_waiting(self)

    def on_written(self) -> None:
        """The catalogue has committed that this partition is written."""
        self.is_written = True
        self.on_durable()

    def fail(self, error: KafkaError) -> None:
        """Refuse writes for good; what is durable can still be read."""
        if self.view.log is not None:
            self.view.log.fail(error)
        self.check_all_waiting()

    def raise_high_watermark(self) -> bool:
        """Raise it as far as all copies that count hold the log. Whether it moved."""
        log = self.view.log
        if log is None:
            return False
        own = log.durable_end if self._host.bounds_by_durability else log.end_metadata
        replication = self.replication
        if replication is None:
            return log.visibility.raise_to(own)
        end = replication.replicated_end(own)
        if end is None or not log.visibility.raise_to(end):
            return False
        replication.note_change()
        return True

    # Log start: the records below it are deleted

    @property
    def low_watermark(self) -> int:
        """The lowest offset that a replica may hold, whatever crashes."""
        own = self.durable_log_start.offset
        return own if self.replication is None else self.replication.low_watermark(own)

    def on_log_start_durable(self, log_start_offset: int) -> None:
        """No crash brings back what is below."""
        self.durable_log_start.raise_to(log_start_offset)
        self.check_all_waiting()

    def on_log_start_unwritten(self, error: KafkaError) -> None:
        """The log start could not be made durable: who waits for that is told."""
        with self.durable_log_start.failing(error):
            self.check_all_waiting()
