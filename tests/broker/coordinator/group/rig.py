"""A shard of groups without a broker: what it writes is durable when the test says."""

from collections.abc import Callable, Iterator
from typing import Any, cast

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.coordinator.batches import NOBODY
from odradek.broker.coordinator.decision import Decision, Place, ProducerIdentity
from odradek.broker.coordinator.group.classic import rebalance as classic_rebalance
from odradek.broker.coordinator.group.classic.join import Joining, decide_join
from odradek.broker.coordinator.group.classic.leave import decide_leave
from odradek.broker.coordinator.group.classic.sync import decide_heartbeat, decide_sync
from odradek.broker.coordinator.group.offsets.commit import (
    Committer,
    WantedOffset,
    decide_commit,
)
from odradek.broker.coordinator.group.offsets.fetch import (
    FetchedOffset,
    Fetcher,
    decide_fetch,
)
from odradek.broker.coordinator.group.offsets.txn_commit import decide_txn_commit
from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
from odradek.broker.coordinator.group.state.shard import GroupShard
from odradek.broker.coordinator.timers import Timers
from odradek.broker.metadata.topic import PartitionInfo, Topic
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import CoordinatorNotAvailable, KafkaError
from odradek.protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from tests.fakes.clock import FakeClock

GROUP = "g"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
RANGE = (("range", b"r"),)
TOPIC_ID = bytes(range(16))
NOW_MS = 1_700_000_000_000


class FakeShard:
    """Where decisions end up: the log, in order; ``flush`` makes it durable.

    What follows them comes then, also where a shard waits for a turn of the loop only.
    """

    def __init__(self, clock: FakeClock) -> None:
        self.timers = Timers(clock, self._on_time)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.may_be_lost: list[bool] = []  # of each decision that was written
        self.refusal: KafkaError | None = None
        self.state: Any = None
        self._clock = clock
        self.durable_count = 0
        self._behind: list[Callable[[KafkaError | None], None]] = []

    def apply(self, decision: Decision, refuse: Callable[[KafkaError], Any]) -> Any:
        if not decision.records:
            if decision.then is not None:
                self._behind.append(lambda error: decision.then and decision.then())
            return decision.response
        if self.refusal is not None:
            if decision.undo is not None:
                decision.undo(self.refusal)
            raise self.refusal
        self.may_be_lost.append(decision.may_be_lost)
        for record in decision.records:
            if decision.is_replayed:
                producer = decision.producer or NOBODY
                place = Place(len(self.log), self._clock.now_ms(), *producer)
                self.state.replay(record, place)
            self.log.append(record.encode())

        def release(error: KafkaError | None) -> None:
            after: Any = decision.then if error is None else decision.undo
            if after is not None:
                after() if error is None else after(error)

        self._behind.append(release)
        return decision.response

    def act(
        self, decide: Callable[[Any], Decision], refuse: Callable[[KafkaError], Any]
    ) -> Any:
        try:
            return self.apply(decide(self.state), refuse)
        except KafkaError as error:
            return refuse(error)

    def run_soon(self, action: Callable[[], object]) -> None:
        self._clock.call_later(0, action)

    def flush(self, error: KafkaError | None = None) -> None:
        if error is None:
            self.durable_count = len(self.log)
        while self._behind:
            self._behind.pop(0)(error)

    def crash(self) -> None:
        """What is not durable is lost."""
        del self.log[self.durable_count :]

    def begin_anew(self) -> None:
        """As after a restart: nobody waits, and nothing is due."""
        self.timers.close()
        self.timers = Timers(self._clock, self._on_time)
        self._behind.clear()

    def _on_time(self, action: Callable[[], object]) -> None:
        decision = action()
        if isinstance(decision, Decision):
            self.apply(decision, lambda error: error)


class FakeTopics:
    """Topics with ids that begin with their names, each another one."""

    def __init__(self) -> None:
        self.index_version = 0
        self._by_name: dict[str, Topic] = {}

    def put(self, name: str, count: int) -> bytes:
        """Make a topic, or widen it. Returns its id."""
        known = self._by_name.get(name)
        topic_id = f"{name}-{self.index_version}".encode().ljust(16, b"-")
        if known is not None:
            topic_id = known.topic_id
        partitions = [PartitionInfo(number, 0) for number in range(count)]
        self._by_name[name] = Topic(name, topic_id, partitions)
        self.index_version += 1
        return topic_id

    def remove(self, name: str) -> None:
        del self._by_name[name]
        self.index_version += 1

    def get(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        found = [each for each in self if each.topic_id == topic_id]
        return found[0] if found else None

    def __iter__(self) -> Iterator[Topic]:
        return iter(list(self._by_name.values()))


class Groups:
    """A group shard with a clock, and requests in few words."""

    def __init__(self, **options: Any) -> None:
        self.clock = FakeClock()
        self.config = BrokerConfig(**options)
        self.fake = FakeShard(self.clock)
        self.topics = FakeTopics()
        self.options: dict[str, dict[str, str]] = {}  # of groups
        self.state = self._new_state()

    def _new_state(self) -> GroupShard:
        state = GroupShard(
            cast("Any", self.fake),
            self.config,
            self.clock,
            cast("Any", self.topics),
            lambda group_id: self.options.get(group_id, {}),
        )
        state.when_loaded.append(classic_rebalance.resume)
        state.when_unloaded.append(classic_rebalance.dismiss)
        self.fake.state = state
        return state

    def reload(self) -> None:
        """What the next process makes of the log."""
        self.fake.begin_anew()
        self.state = self._new_state()
        for offset, (key, value) in enumerate(self.fake.log):
            record = self.state.decode(key, value)
            if record is not None:
                self.state.replay(record, Place(offset, self.clock.now_ms()))
        self.state.on_loaded()

    @property
    def group(self) -> ClassicGroup:
        group = self.state.group(GROUP)
        assert group is not None
        return group

    def flush(self) -> None:
        self.fake.flush()

    def fail_appends(self) -> None:
        self.fake.refusal = CoordinatorNotAvailable()

    # Requests

    def join(
        self, member_id: str = "", instance: str | None = None, **fields: Any
    ) -> Any:
        """The answer, an error, or the parked answer."""
        joining = Joining(
            group_id=GROUP,
            member_id=member_id,
            group_instance_id=instance,
            client_id=fields.pop("client_id", "client"),
            client_host="/127.0.0.1",
            rebalance_timeout_ms=fields.pop("rebalance_timeout_ms", REBALANCE_MS),
            session_timeout_ms=fields.pop("session_timeout_ms", SESSION_MS),
            protocol_type=fields.pop("protocol_type", "consumer"),
            protocols=fields.pop("protocols", RANGE),
            must_know_its_id=fields.pop("must_know_its_id", False),
            knows_skip_assignment=fields.pop("knows_skip_assignment", True),
        )
        assert not fields, fields
        return self._decided(lambda: decide_join(self.state, joining))

    def sync(self, member_id: str, assignments: Any = None, **fields: Any) -> Any:
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=fields.pop("generation", None) or self.group.generation_id,
            member_id=member_id,
            assignments=[
                SyncGroupRequestAssignment(member_id=each, assignment=given)
                for each, given in (assignments or {}).items()
            ],
            **fields,
        )
        return self._decided(lambda: decide_sync(self.state, request))

    def beat(self, member_id: str, generation: int | None = None, **fields: Any) -> Any:
        """0, or the code of the error."""
        if generation is None:
            generation = self.group.generation_id
        request = HeartbeatRequest(
            group_id=GROUP, generation_id=generation, member_id=member_id, **fields
        )
        answer = self._decided(lambda: decide_heartbeat(self.state, request))
        return answer.code if isinstance(answer, KafkaError) else answer.error_code

    def leave(self, *members: str, instance: str | None = None) -> list[int]:
        leaving = [
            MemberIdentity(member_id=each, group_instance_id=instance)
            for each in members
        ]
        answer = self._decided(lambda: decide_leave(self.state, GROUP, leaving))
        return [each.error_code for each in answer.members]

    def commit(self, offset: int, **fields: Any) -> Any:
        """The codes of one or more partitions, or an error."""
        places = fields.pop("places", [("t", 0)])
        metadata = fields.pop("metadata", "")
        api_version = fields.pop("api_version", 9)
        retention_ms = fields.pop("retention_ms", -1)
        committer = Committer(fields.pop("group_id", GROUP), **fields)
        wanted = [
            WantedOffset(topic, partition, offset, 3, metadata, TOPIC_ID)
            for topic, partition in places
        ]
        return self._decided(
            lambda: decide_commit(
                self.state, committer, wanted, api_version, retention_ms, list
            )
        )

    def txn_commit(self, offset: int, producer_id: int = 5, **fields: Any) -> Any:
        """The same in a transaction."""
        places = fields.pop("places", [("t", 0)])
        metadata = fields.pop("metadata", "")
        producer = ProducerIdentity(producer_id, fields.pop("producer_epoch", 0))
        committer = Committer(fields.pop("group_id", GROUP), **fields)
        wanted = [
            WantedOffset(topic, partition, offset, 3, metadata, TOPIC_ID)
            for topic, partition in places
        ]
        return self._decided(
            lambda: decide_txn_commit(
                self.state, committer, producer, None, wanted, list
            )
        )

    def fetch(
        self,
        wanted: Any = (("t", 0),),
        *,
        group_id: str = GROUP,
        require_stable: bool = False,
    ) -> list[FetchedOffset]:
        answer: list[FetchedOffset] = self._decided(
            lambda: decide_fetch(
                self.state, Fetcher(group_id), wanted, require_stable, list
            )
        )
        return answer

    def offset(self, topic: str = "t", partition: int = 0) -> int:
        """The committed offset of a partition, -1 for none."""
        return self.fetch([(topic, partition)])[0].committed.offset

    def in_transaction(self, producer_id: int, offset: int, topic: str = "t") -> None:
        """Let a producer commit an offset in its transaction."""
        assert self.txn_commit(offset, producer_id, places=[(topic, 0)]) == [0]

    def end_transaction(
        self, producer_id: int, producer_epoch: int = 0, *, is_commit: bool
    ) -> None:
        now_ms = self.clock.now_ms()
        place = Place(len(self.fake.log), now_ms, producer_id, producer_epoch)
        self.fake.log.append((b"", None))
        self.state.end_transaction(place, is_commit)

    def decide(self, decide: Callable[[GroupShard], Decision]) -> Any:
        """The response of a decision, or the error."""
        return self._decided(lambda: decide(self.state))

    def _decided(self, decide: Callable[[], Decision]) -> Any:
        try:
            decision = decide()
            return self.fake.apply(decision, lambda error: error)
        except KafkaError as error:
            return error

    # Whole scenes

    def joined(self, *names: str) -> list[JoinGroupResponse]:
        """New members, one for each name, in one generation; the first one leads."""
        parked = [self.join(client_id=name) for name in names]
        self.clock.advance(self.config.group_initial_rebalance_delay_ms)
        return [each.result() for each in parked]

    def stable(self, *names: str) -> list[str]:
        """The ids of new members, each of which has its own id as assignment."""
        ids = [answer.member_id for answer in self.joined(*names)]
        self.settle(ids)
        return ids

    def settle(self, ids: list[str]) -> None:
        """All members sync; the leader, which is among them, gives each its id."""
        given = {each: each.encode() for each in ids}
        parked = [self.sync(each, given if self._leads(each) else None) for each in ids]
        self.flush()
        for each, answer in zip(ids, parked, strict=True):
            found = answer.result() if isinstance(answer, Parked) else answer
            assert found.assignment == each.encode(), found

    def _leads(self, member_id: str) -> bool:
        return self.group.is_leader(member_id)
