"""Committed and pending offsets, against the same said plainly."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator.decision import Place
from odradek.broker.coordinator.group.state.offsets import GroupOffsets
from odradek.broker.coordinator.group.state.records import CommittedOffset, OffsetRecord

GROUPS = ("g", "h")
PARTITIONS = (0, 1)
PRODUCERS = (5, 6)

_commits = st.tuples(
    st.just("commit"),
    st.sampled_from(GROUPS),
    st.sampled_from(PARTITIONS),
    st.sampled_from((-1, *PRODUCERS)),
)
_tombstones = st.tuples(
    st.just("forget"), st.sampled_from(GROUPS), st.sampled_from(PARTITIONS)
)
_ends = st.tuples(st.just("end"), st.sampled_from(PRODUCERS), st.booleans())


class Plain:
    """Each key has its committed record and one pending for each producer."""

    def __init__(self) -> None:
        self.committed: dict[tuple[str, int], int] = {}
        self.pending: dict[tuple[int, str, int], int] = {}

    def end(self, producer_id: int, is_commit: bool) -> None:
        for key in [each for each in self.pending if each[0] == producer_id]:
            offset = self.pending.pop(key)
            if is_commit and self.committed.get(key[1:], -1) < offset:
                self.committed[key[1:]] = offset


@given(st.lists(st.one_of(_commits, _tombstones, _ends), max_size=40))
def test_they_are_what_the_records_add_up_to(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    offsets, plain = GroupOffsets(), Plain()
    for position, step in enumerate(steps):
        if step[0] == "end":
            offsets.end_transaction(step[1], step[2])
            plain.end(step[1], step[2])
        elif step[0] == "forget":
            _, group, partition = step
            record = OffsetRecord(group, "t", partition, None)
            offsets.replay(record, Place(position, 0))
            plain.committed.pop((group, partition), None)
            for producer_id in PRODUCERS:
                plain.pending.pop((producer_id, group, partition), None)
        else:
            _, group, partition, producer_id = step
            committed = CommittedOffset(position)
            record = OffsetRecord(group, "t", partition, committed)
            offsets.replay(record, Place(position, 0, producer_id, 0))
            if producer_id < 0:
                plain.committed[group, partition] = position
            else:
                plain.pending[producer_id, group, partition] = position
    for group in GROUPS:
        pending = {key[2] for key in plain.pending if key[1] == group}
        for partition in PARTITIONS:
            found = offsets.get(group, "t", partition)
            expected = plain.committed.get((group, partition))
            assert (None if found is None else found.offset) == expected
            assert offsets.is_pending(group, "t", partition) == (partition in pending)
        assert {key for _, key in offsets.pending_of_group(group)} == pending
        known = {key[1] for key in plain.committed if key[0] == group}
        assert {key for _, key in offsets.of_group(group)} == known
    assert len(offsets) == len(plain.committed)
    everywhere = set(plain.committed) | {key[1:] for key in plain.pending}
    assert offsets.of_topic("t") == sorted(everywhere)
    assert offsets.of_topic("u") == []


def test_a_group_without_offsets_is_not_kept() -> None:
    offsets = GroupOffsets()
    offsets.replay(OffsetRecord("g", "t", 0, CommittedOffset(1)), Place(0, 0))
    offsets.replay(OffsetRecord("g", "t", 0, None), Place(1, 0))
    assert offsets.group_ids() == []


def test_what_is_put_together_is_as_if_it_was_replayed() -> None:
    together, alone = GroupOffsets(), GroupOffsets()
    for base_offset, partitions in ((5, (0, 1, 2)), (8, (1,)), (9, (2, 2))):
        records = [
            OffsetRecord("g", "t", partition, CommittedOffset(base_offset + place))
            for place, partition in enumerate(partitions)
        ]
        together.put_all("g", records, base_offset)
        for offset, record in enumerate(records, base_offset):
            alone.replay(record, Place(offset, 0))
        assert together.of_group("g") == alone.of_group("g")
    for each in together, alone:  # of a transaction that wrote before the last two
        each.replay(OffsetRecord("g", "t", 2, CommittedOffset(1)), Place(9, 0, 7, 0))
        each.end_transaction(7, is_commit=True)
    assert together.of_group("g") == alone.of_group("g")
