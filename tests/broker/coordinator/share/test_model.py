"""Random lives of share partitions, beside dictionaries of what each offset is.

What must hold, wherever the log is cut that nobody needs: a restart arrives at the same
states; these are what was written; finished offsets are counted.
"""

import random
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator.share.decisions import decide_delete
from odradek.broker.coordinator.share.state import FINISHED_STATES, ShareKey, StateBatch
from odradek.broker.coordinator.share.upkeep import COLD_MS, decide_cold_snapshots
from tests.broker.coordinator.share.rig import States, T, U

KEYS = [ShareKey("g", T, 0), ShareKey("g", T, 1), ShareKey("h", U, 0)]
STEPS = 60
SNAPSHOTS = "share_coordinator_snapshot_update_records_per_snapshot"


@dataclass
class Plain:
    """What one share partition should be."""

    epoch: int
    start: int
    leader_epoch: int = 0
    offsets: dict[int, tuple[int, int]] = field(default_factory=dict)

    def write(self, start: int, batches: list[StateBatch]) -> None:
        for first, last, state, count in batches:
            for offset in range(first, last + 1):
                self.offsets[offset] = state, count
        self.start = start
        self.offsets = {
            offset: each for offset, each in self.offsets.items() if offset >= start
        }


class Life:
    """The shard, and what it should know."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        limit = self.random.choice((0, 1, 3, 500))
        self.states = States(**{SNAPSHOTS: limit})
        self.known: dict[ShareKey, Plain] = {}

    def step(self) -> None:
        key = self.random.choice(KEYS)
        known = self.known.get(key)
        what = self.random.random()
        if known is None or what < 0.05:
            epoch = 1 if known is None else known.epoch + self.random.randrange(2)
            start = self.random.randrange(5)
            assert self.states.begin(start, epoch, key) is None
            self.known[key] = Plain(epoch, start)
        elif what < 0.75:
            self._write(key, known)
        elif what < 0.85:
            known.leader_epoch += self.random.randrange(2)
            self.states.read(known.leader_epoch, key)
        elif what < 0.9:
            self.states.apply(decide_delete(self.states.shard, [key]))
            del self.known[key]
        else:
            self.states.clock.advance(self.random.choice((1, COLD_MS)))
            self.states.apply(decide_cold_snapshots(self.states.shard))

    def _write(self, key: ShareKey, known: Plain) -> None:
        batches, first = [], known.start
        for _ in range(self.random.randrange(4)):
            first += self.random.randrange(3)
            last = first + self.random.randrange(4)
            state, count = self.random.choice((0, 2, 4)), self.random.randint(1, 3)
            batches.append(StateBatch(first, last, state, count))
            first = last + 1
        start = known.start
        if self.random.random() < 0.5:
            start += self.random.randrange(6)
        self.states.write(start, *batches, key=key, state_epoch=known.epoch)
        known.write(start, batches)

    def check(self) -> None:
        found = self.states.shard.states
        assert found.keys() == self.known.keys()
        for key, known in self.known.items():
            stored = found[key].stored()
            assert (stored.state_epoch, stored.start) == (known.epoch, known.start)
            assert stored.leader_epoch == known.leader_epoch
            offsets = {
                offset: (each.state, each.delivery_count)
                for each in stored.batches
                for offset in range(each.first, each.last + 1)
            }
            assert offsets == known.offsets
            finished = [each for each in offsets.values() if each[0] in FINISHED_STATES]
            assert stored.complete_count == len(finished)


@given(st.integers(0, 1 << 32))
def test_a_restart_arrives_at_what_was_written(seed: int) -> None:
    life = Life(seed)
    for _ in range(STEPS):
        life.step()
        life.check()
    before, needed = life.states.shard.states, life.states.shard.first_needed_offset
    for cut in {0, life.random.randint(0, needed), needed}:
        assert life.states.reload(cut).states == before, cut
        life.check()
