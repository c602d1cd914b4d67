import pytest

from odradek.broker.coordinator.coordinator_error import as_coordinator_error
from odradek.protocol.errors import ErrorCode


@pytest.mark.parametrize(
    ("code", "answered"),
    [(3, 15), (19, 15), (7, 15), (56, 15), (6, 16), (10, -1), (18, -1), (4, -1)],
)
def test_errors_of_appends_as_clients_see_them(code: int, answered: int) -> None:
    assert as_coordinator_error(code).code == answered


def test_other_errors_pass_as_they_are() -> None:
    assert as_coordinator_error(ErrorCode.INVALID_PRODUCER_EPOCH).code == 47
