"""The batch of a usual commit is the one that its records would have become."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator.batches import batch_of
from odradek.broker.coordinator.group.offsets.commit import Committer
from odradek.broker.coordinator.group.offsets.usual_commit import UsualOffsets
from odradek.broker.metadata.topic import Topic

NUMBERS = st.tuples(
    st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-(1 << 31), (1 << 31) - 1)
)


@given(
    st.text(max_size=200),
    st.lists(
        st.tuples(
            st.sampled_from(["t", "t" * 249]),
            st.integers(0, 1000),
            NUMBERS,
            st.just("") | st.text(max_size=150),
        ),
        min_size=1,
        max_size=150,
    ),
    st.integers(0, 1 << 45),
)
def test_numbers_are_put_where_they_belong(
    group_id: str, wanted: list[tuple[str, int, tuple[int, int], str]], now_ms: int
) -> None:
    partitions = [
        (Topic(name, bytes(range(1, 17)), []), index, note)
        for name, index, _, note in wanted
    ]
    usual = UsualOffsets(Committer(group_id), partitions, 9)
    numbers = [each for _, _, each, _ in wanted]
    records = usual.records(numbers, now_ms)
    assert [record.partition for record in records] == [each[1] for each in wanted]
    assert [record.committed and record.committed[:2] for record in records] == numbers
    encoded = [(record, *record.encode()) for record in records]
    assert usual.batch(numbers, now_ms) == batch_of(encoded, None, now_ms)
