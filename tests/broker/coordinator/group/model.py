"""Clients that do whatever comes to their minds, and what must hold all the same.

A `World` is one group whose clients join, retry, forget, die, come back, commit; whose
disk fails and whose broker restarts. It notes every answer, and asserts:

- of one generation a partition has one owner, whoever asks, how often, and after
  whichever restart; an owner is a member, a static one by its name;
- assignments are never given for a generation older than one given before;
- an offset is never below one whose commit was acknowledged, nor goes back while the
  broker runs;
- every question is answered once, and at last.
"""

import random
from dataclasses import dataclass, field
from typing import Any

from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import CoordinatorNotAvailable, KafkaError, NotCoordinator
from tests.broker.coordinator.group.rig import GROUP, Groups

PARTITIONS = range(4)
PROTOCOLS = ((("range", b"r"),), (("sticky", b"s"), ("range", b"r")))
FOR_EVER_MS = 400_000


@dataclass(eq=False)
class Client:
    name: str
    instance: str | None = None
    member_id: str = ""
    generation: int = -1
    members: list[str] = field(default_factory=list)  # as the leader is told
    assignment: tuple[int, ...] = ()
    is_assigned: bool = False
    asked: Parked | None = None
    positions: dict[int, int] = field(default_factory=dict)
    protocols: Any = PROTOCOLS[0]

    @property
    def is_asking(self) -> bool:
        return self.asked is not None and not self.asked.done()

    @property
    def owner(self) -> str:
        return self.instance or self.member_id


class World:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        delay_ms = self.random.choice((0, 0, 3000))
        self.groups = Groups(group_initial_rebalance_delay_ms=delay_ms)
        self.clients: list[Client] = [self._new_client() for _ in range(3)]
        self.parked: list[Parked] = []
        self.owners: dict[tuple[int, int], str] = {}
        self.given: dict[tuple[int, str], tuple[int, ...]] = {}
        self.last_generation = 0
        self.seen = dict.fromkeys(PARTITIONS, -1)
        self.acknowledged = dict.fromkeys(PARTITIONS, -1)
        self._written: list[tuple[int, int]] = []

    # What may happen

    def step(self) -> None:
        happening = self.random.choices(
            (
                self._someone_goes_on,
                self._someone_joins,
                self._someone_syncs,
                self._someone_beats,
                self._someone_commits,
                self._sync_disk,
                self._time_passes,
                self._someone_leaves,
                self._someone_comes,
                self._someone_dies,
                self._someone_restarts,
                self._appends_fail,
                self._disk_fails,
                self._broker_restarts,
            ),
            (120, 5, 5, 5, 5, 40, 10, 2, 2, 2, 2, 2, 1, 1),
        )[0]
        happening()
        self.check()

    def _someone(self) -> Client:
        return self.random.choice(self.clients)

    def _new_client(self) -> Client:
        name = f"c{self.random.randrange(1000)}"
        instance = self.random.choice((None, None, "one", "two"))
        return Client(name, instance, protocols=self.random.choice(PROTOCOLS))

    def _someone_goes_on(self) -> None:
        """As a client in its right mind does."""
        client = self._someone()
        if client.is_asking:
            return
        if client.generation < 0:
            self._someone_joins(client)
        elif not client.is_assigned:
            self._someone_syncs(client)
        elif self.random.random() < 0.5:
            self._someone_commits(client)
        else:
            self._someone_beats(client)

    def _someone_joins(self, client: Client | None = None) -> None:
        client = client or self._someone()
        if self.random.random() < 0.1:
            client.protocols = self.random.choice(PROTOCOLS)
        answer = self.groups.join(
            client.member_id,
            client.instance,
            client_id=client.name,
            protocols=client.protocols,
            must_know_its_id=self.random.random() < 0.7,
            knows_skip_assignment=self.random.random() < 0.7,
            rebalance_timeout_ms=self.random.choice((5000, 20_000)),
        )
        self._when(client, answer, lambda told: self._on_joined(client, told))

    def _on_joined(self, client: Client, answer: Any) -> None:
        if isinstance(answer, KafkaError) or answer.error_code:
            code = answer.code if isinstance(answer, KafkaError) else answer.error_code
            if code == 79:
                client.member_id = answer.member_id
            elif code in (25, 82) and self.random.random() < 0.8:
                client.member_id, client.generation = "", -1
            return
        client.member_id = answer.member_id
        client.generation = answer.generation_id
        client.assignment = ()
        client.is_assigned = False
        client.members = [each.member_id for each in answer.members]

    def _someone_syncs(self, client: Client | None = None) -> None:
        client = client or self._someone()
        if client.generation < 0:
            return
        shares: dict[str, list[str]] = {each: [] for each in client.members}
        for partition in PARTITIONS if shares else ():
            shares[self.random.choice(client.members)].append(str(partition))
        given = {each: ",".join(share).encode() for each, share in shares.items()}
        generation, owner = client.generation, client.owner
        answer = self.groups.sync(
            client.member_id,
            given,
            generation=generation,
            group_instance_id=client.instance,
        )
        self._when(
            client,
            answer,
            lambda told: self._on_assigned(client, owner, generation, told),
        )

    def _on_assigned(
        self, client: Client, owner: str, generation: int, answer: Any
    ) -> None:
        if isinstance(answer, KafkaError) or answer.error_code:
            client.generation = -1
            return
        text = bytes(answer.assignment).decode()
        assignment = tuple(int(each) for each in text.split(",") if each)
        assert generation >= self.last_generation, "given for an older generation"
        self.last_generation = generation
        known = self.given.setdefault((generation, owner), assignment)
        assert known == assignment, "an assignment has changed"
        for partition in assignment:
            known_owner = self.owners.setdefault((generation, partition), owner)
            assert known_owner == owner, "owned by two members of one generation"
        if client.generation == generation:
            client.assignment, client.is_assigned = assignment, True
            client.positions = {each: self._offset(each) for each in assignment}

    def _someone_beats(self, client: Client | None = None) -> None:
        client = client or self._someone()
        if client.generation < 0:
            return
        fields = {"group_instance_id": client.instance}
        if self.groups.beat(client.member_id, client.generation, **fields):
            client.generation = -1

    def _someone_commits(self, client: Client | None = None) -> None:
        client = client or self._someone()
        if client.generation < 0:
            return
        for partition in client.assignment:
            offset = client.positions[partition] + 1
            answer = self.groups.commit(
                offset,
                places=[("t", partition)],
                generation_id=client.generation,
                member_id=client.member_id,
                group_instance_id=client.instance,
            )
            if isinstance(answer, list):
                assert answer == [0]
                client.positions[partition] = offset
                self._written.append((partition, offset))

    def _someone_leaves(self) -> None:
        client = self._someone()
        self.groups.leave(client.member_id, instance=client.instance)

    def _someone_comes(self) -> None:
        if len(self.clients) < 6:
            self.clients.append(self._new_client())

    def _someone_dies(self) -> None:
        if len(self.clients) > 1:
            self.clients.remove(self._someone())

    def _someone_restarts(self) -> None:
        """Its old self may go on for a while."""
        client = self._someone()
        anew = Client(client.name, client.instance, protocols=client.protocols)
        self.clients.append(anew)
        if len(self.clients) > 6 or self.random.random() < 0.5:
            self.clients.remove(client)

    def _time_passes(self) -> None:
        self.groups.clock.advance(self.random.choice((0, 1000, 4000, 11_000)))

    def _sync_disk(self) -> None:
        self.groups.fake.refusal = None
        self.groups.flush()
        for partition, offset in self._written:
            self.acknowledged[partition] = offset
        self._written.clear()

    def _appends_fail(self) -> None:
        self.groups.fake.refusal = CoordinatorNotAvailable()

    def _disk_fails(self) -> None:
        """The shard answers everybody and is of no use; the next process loads."""
        error = CoordinatorNotAvailable()
        self.groups.fake.timers.close()
        self.groups.state.on_unloaded(error)
        self.groups.fake.flush(error)
        self._begin_anew()

    def _broker_restarts(self) -> None:
        if self.random.random() < 0.5:  # in an orderly way
            self._sync_disk()
            self.groups.state.on_unloaded(NotCoordinator())
        else:
            for client in self.clients:
                client.asked = None
            self.parked.clear()  # the connections are gone, and so are the questions
        self._begin_anew()

    def _begin_anew(self) -> None:
        for each in self.parked:
            assert each.done(), "a question was not answered"
        self.parked.clear()
        self._written.clear()
        self.groups.fake.crash()
        self.groups.reload()
        self.seen = {each: self._offset(each) for each in PARTITIONS}
        for partition in PARTITIONS:
            assert self.seen[partition] == self.acknowledged[partition]

    # What must hold

    def check(self) -> None:
        for partition in PARTITIONS:
            offset = self._offset(partition)
            assert offset >= self.acknowledged[partition], "a commit is lost"
            assert offset >= self.seen[partition], "a commit went back"
            self.seen[partition] = offset
        group = self.groups.state.group(GROUP)
        if group is None:
            return
        assert group.leader_id is None or group.leader_id in group.members
        assert (group.leader_id is None) == (not group.members)
        assert set(group.static_members.values()) == {
            each.member_id for each in group.members.values() if each.is_static
        }
        assert all(key == each.member_id for key, each in group.members.items())
        assert not group.pending_join_ids & set(group.members)
        if group.is_in(ClassicState.EMPTY):
            assert not group.members
        if group.is_in(ClassicState.STABLE):
            assert not any(each.awaiting_sync for each in group.members.values())

    def finish(self) -> None:
        """Nobody does anything any more: all is answered, all sessions end."""
        for _ in range(3):
            self._sync_disk()
            self.groups.clock.advance(FOR_EVER_MS)
        assert all(each.done() for each in self.parked), "a question was not answered"
        group = self.groups.state.group(GROUP)
        if group is not None:
            assert group.is_in(ClassicState.EMPTY), group
            assert not group.pending_join_ids
        assert len(self.groups.fake.timers) == 0
        self._sync_disk()
        self._begin_anew()

    def _when(self, client: Client, answer: Any, note: Any) -> None:
        """Have ``note`` told of the answer, now or later."""
        if not isinstance(answer, Parked):
            note(answer)
            return
        if not answer.done():
            self.parked.append(answer)
        client.asked = answer
        answer.listen(lambda parked: note(parked.result()))

    def _offset(self, partition: int) -> int:
        return self.groups.offset("t", partition)
