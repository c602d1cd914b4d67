import pytest

from odradek.broker.share.record_states import (
    ENDS,
    AcknowledgeType,
    RecordState,
    state_after,
)


@pytest.mark.parametrize(
    ("kind", "count", "state"),
    [
        (AcknowledgeType.ACCEPT, 5, RecordState.ACKNOWLEDGED),
        (AcknowledgeType.REJECT, 1, RecordState.ARCHIVED),
        (AcknowledgeType.GAP, 1, RecordState.ARCHIVED),
        (AcknowledgeType.RELEASE, 4, RecordState.AVAILABLE),
        (AcknowledgeType.RELEASE, 5, RecordState.ARCHIVED),
    ],
)
def test_what_becomes_of_a_record(kind: int, count: int, state: RecordState) -> None:
    assert state_after(kind, count, 5) is state
    assert (state in ENDS) == (state is not RecordState.AVAILABLE)


@pytest.mark.parametrize("kind", [AcknowledgeType.RENEW, 7])
def test_what_does_not_end_it(kind: int) -> None:
    with pytest.raises(ValueError, match=str(int(kind))):
        state_after(kind, 1, 5)
