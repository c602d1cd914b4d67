"""Share groups (KIP-932) as handlers know them: sessions, fetches, acknowledgements.

Invariants: a share partition is in memory from its first fetch until the last session
of its group is over; what is forgotten has been released before. Nobody is woken inside
of a change: who waits looks again in a later turn of the loop.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.share.state import ShareKey
from odradek.protocol.errors import InvalidRecordState, KafkaError
from odradek.protocol.topic_partition import TopicPartition

from .acknowledge import by_type
from .handing_out import HandingOut
from .loading import ShareLoader
from .record_states import AcknowledgeType
from .served_partition import ServedPartition
from .sessions import ShareSessions
from .settings import Settings
from .share_fetch import DelayedShareFetch, FetchState

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    from odradek.broker.config.live_config import LiveConfig
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.coordinator.share.anywhere import ShareStates
    from odradek.broker.metadata.resource_options import ResourceOptions
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.broker.runtime.memory.answer_memory import AnswerMemory
    from odradek.broker.runtime.parked import Parked

    from .acknowledge import Acknowledged
    from .acquire import Limits
    from .served_partition import StateStore
    from .sessions import MemberKey, ShareSession
    from .share_fetch import FetchTerms, ShareRead


class Sharing:
    """The share partitions of this broker, and who is given their records."""

    def __init__(  # noqa: PLR0913 - the broker's parts, by their names
        self,
        *,
        live: LiveConfig,
        clock: Clock,
        topics: Topics,
        resources: ResourceOptions,
        replica_manager: ReplicaManager,
        states: ShareStates,
        disk_threads: DiskThreads,
        answers: AnswerMemory,
        bugs: Bugs,
    ) -> None:
        self.clock = clock
        self.states: StateStore = states
        self.settings = Settings(resources, live)
        self.sessions = ShareSessions(live.current.group_share_max_share_sessions)
        self._topics = topics
        self._replica_manager = replica_manager
        self._bugs = bugs
        self._loader = ShareLoader(
            clock=clock,
            states=states,
            replica_manager=replica_manager,
            disk_threads=disk_threads,
        )
        self.handing_out = HandingOut(
            clock=clock,
            replica_manager=replica_manager,
            answers=answers,
            bugs=bugs,
            wake_soon=self.wake_soon,
            tell=self._tell,
        )
        self._served: dict[str, dict[ShareKey, ServedPartition]] = {}  # by group
        # The fetches that are not answered yet: they are given up with their session.
        self._waiting: dict[MemberKey, DelayedShareFetch] = {}
        self._to_wake: dict[ShareKey, None] = {}
        self._loads: set[asyncio.Task[None]] = set()
        # What happened since the start; of acknowledgements by their type.
        self.expired_count = 0
        self.acknowledged_counts = [0] * len(AcknowledgeType)
        # Told when members have got something, or have it no longer; mostly nobody.
        self.watchers: list[Callable[[], object]] = []
        live.watch(self._take_config)
        states.watchers.append(self.forget)

    def _take_config(self, config: BrokerConfig) -> None:
        self.sessions.limit = config.group_share_max_share_sessions

    async def close(self) -> None:
        """Answer everybody who waits; hand out nothing any more."""
        for key in list(self._waiting):
            self._give_up_waiting(key)
        for served in self.served():
            served.close()
        self._served.clear()
        for task in self._loads:
            task.cancel()
        await asyncio.gather(*self._loads, return_exceptions=True)
        await self.handing_out.close()

    def served(self) -> list[ServedPartition]:
        """The share partitions that are in memory."""
        return [each for group in self._served.values() for each in group.values()]

    # Fetch

    def fetch(
        self, session: ShareSession, keys: Sequence[ShareKey], terms: FetchTerms
    ) -> Parked[dict[ShareKey, ShareRead]]:
        """What the member of ``session`` gets of these; of some perhaps nothing.

        It waits until there is something, or for ``max_wait_ms``.
        """
        member = session.key
        self._give_up_waiting(member)  # it asks anew
        wants_some = terms.records_max > 0 and terms.max_bytes > 0
        served = [self._serve(key) for key in keys] if wants_some else []
        fetch = FetchState(terms, served)
        answer = fetch.answer
        if not served:
            fetch.finish()
            return answer
        waiting = DelayedShareFetch(fetch, self._replica_manager, self.handing_out.read)
        fetch.when_answered = partial(self._forget_waiting, member, waiting)
        self._waiting[member] = waiting
        self._replica_manager.share_fetches.try_complete_else_watch(
            waiting, waiting.keys, terms.max_wait_ms
        )
        return answer

    def _forget_waiting(self, member: MemberKey, waiting: DelayedShareFetch) -> None:
        if self._waiting.get(member) is waiting:
            del self._waiting[member]

    def _give_up_waiting(self, member: MemberKey) -> None:
        waiting = self._waiting.get(member)
        if waiting is not None:
            waiting.fetch.is_over = True
            # One that reads from the disk is complete, and ends when that is done.
            waiting.force_complete()

    def _serve(self, key: ShareKey) -> ServedPartition:
        group = self._served.setdefault(key.group_id, {})
        served = group.get(key)
        if served is not None:
            return served
        topic = self._topics.by_id(key.topic_id)
        name = "" if topic is None else topic.name
        served = group[key] = ServedPartition(
            key, TopicPartition(name, key.partition), self
        )
        settings = self.settings.of(key.group_id)
        task = asyncio.get_running_loop().create_task(
            self._load(served, self._loader.load(served, settings)),
            name="load a share partition",
        )
        self._loads.add(task)
        task.add_done_callback(self._loads.discard)
        return served

    async def _load(
        self, served: ServedPartition, loading: Coroutine[Any, Any, None]
    ) -> None:
        try:
            await loading
        except Exception as error:
            self._bugs.record(f"load {served.key}", error)
            served.fail(KafkaError())

    # Acknowledge

    def acknowledge(
        self, key: ShareKey, member_id: str, said: Sequence[Acknowledged]
    ) -> KafkaError | Parked[KafkaError | None] | None:
        """None once it is durable that a member has said this; or why it is not taken.

        Of what is not in memory nobody has anything.
        """
        served = self._served.get(key.group_id, {}).get(key)
        if served is None:
            return InvalidRecordState()
        outcome = served.acknowledge(member_id, said)
        if not isinstance(outcome, KafkaError):
            for each in said:
                for first, last, kind in by_type(each):
                    self.acknowledged_counts[kind] += last - first + 1
        return outcome

    # Sessions

    def end(self, session: ShareSession) -> None:
        """A session is over: its member waits for nothing, and has nothing any more."""
        if not self.sessions.close(session):
            return
        group_id, member_id = session.key
        self._give_up_waiting(session.key)
        for served in list(self._served.get(group_id, {}).values()):
            served.release(member_id)
        if not self.sessions.count_of(group_id):
            self._unload(group_id)

    def connection_lost(self, connection: object) -> None:
        """Soon end the sessions that began on ``connection``, which is gone."""
        asyncio.get_running_loop().call_soon(self._end_all, connection)

    def _end_all(self, connection: object) -> None:
        for session in self.sessions.of_connection(connection):
            self.end(session)

    def _unload(self, group_id: str) -> None:
        """Nobody reads for this group: what it has done is written."""
        for served in self._served.pop(group_id, {}).values():
            served.close()
        self.settings.forget(group_id)

    # What changes elsewhere

    def forget(self, key: ShareKey) -> None:
        """What is in memory of a share partition counts no more."""
        served = self._served.get(key.group_id, {}).get(key)
        if served is not None:
            self.drop(served)

    def forget_partition(self, topic_partition: TopicPartition) -> None:
        """It is led in a new epoch: what others have done meanwhile is not known."""
        topic = self._topics.get(topic_partition.topic)
        if topic is None:
            return
        for group_id in self._served:
            self.forget(ShareKey(group_id, topic.topic_id, topic_partition.partition))

    # What share partitions ask for (ServingHost)

    def note_expired(self, count: int) -> None:
        """So many records were not acknowledged in time."""
        self.expired_count += count

    def limits_of(self, group_id: str) -> Limits:
        """The options of a group, as they are now."""
        return self.settings.of(group_id).limits

    def drop(self, served: ServedPartition) -> None:
        """It is of no use any more; whoever wants it has it loaded again."""
        served.close()
        group = self._served.get(served.key.group_id, {})
        if group.get(served.key) is served:
            del group[served.key]
        self.wake_soon(served)

    def wake_soon(self, served: ServedPartition) -> None:
        """Look again at the fetches that wait for it, in a later turn of the loop."""
        if not self._to_wake:
            asyncio.get_running_loop().call_soon(self._wake)
        self._to_wake[served.key] = None

    def let_go(self, keys: Iterable[ShareKey]) -> None:
        """A session reads these no more: what nobody reads leaves the memory soon."""
        for key in keys:
            served = self._served.get(key.group_id, {}).get(key)
            if served is not None:
                self.wake_soon(served)

    def _tell(self) -> None:
        for watcher in self.watchers:
            watcher()

    def _wake(self) -> None:
        self._tell()
        keys, self._to_wake = self._to_wake, {}
        for key in keys:
            self._drop_unread(key)
            self._replica_manager.share_fetches.check(key)

    def _drop_unread(self, key: ShareKey) -> None:
        """Else one session could go through all partitions, and leave them here."""
        served = self._served.get(key.group_id, {}).get(key)
        if (
            served is not None
            and served.is_idle
            and not served.is_being_read
            and not self.sessions.is_read(key)
        ):
            self.drop(served)
