import pytest

from odradek.broker.coordinator.share.state import (
    ShareKey,
    ShareState,
    StateBatch,
    StateSummary,
    StoredState,
    key_text,
)
from odradek.protocol.errors import InvalidRequest
from odradek.protocol.uuids import to_text

T = bytes(range(16))


def test_a_key_as_clients_name_it() -> None:
    key = ShareKey("g", T, 3)
    assert key_text(key) == "g:AAECAwQFBgcICQoLDA0ODw:3"
    assert ShareKey.parse(key_text(key)) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "g",
        f"g:{to_text(T)}",
        f"g:{to_text(T)}:0:0",
        f"a:g:{to_text(T)}:0",
        f":{to_text(T)}:0",
        f" :{to_text(T)}:0",
        f"g:{to_text(T)}:",
        f"g:{to_text(T)}:-1",
        f"g:{to_text(T)}:x",
        f"g:{to_text(T)}:٣",
        f"g:{to_text(T)}:2147483648",
        "g:t:0",
        "g:ééééééééééééééééééééé:0",
    ],
)
def test_what_is_no_key_says_so(text: str) -> None:
    with pytest.raises(InvalidRequest, match="GROUP:TOPIC_ID:PARTITION"):
        ShareKey.parse(text)


def test_what_is_told_of_a_state_does_not_change_with_it() -> None:
    state = ShareState(0, 1, 2, 3, 4, 5, 6, 7, [StateBatch(3, 4, 0, 1)])
    stored, summary = state.stored(), state.summary()
    state.batches.clear()
    state.start = 9
    assert stored == StoredState(1, 2, 3, 4, (StateBatch(3, 4, 0, 1),))
    assert summary == StateSummary(1, 2, 3, 4)
