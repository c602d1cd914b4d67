from dataclasses import FrozenInstanceError, replace

import pytest

from odradek.broker.coordinator.group.state.steady import Steady


def test_it_is_a_value() -> None:
    said = Steady("g", "m", 3, None, "c", "/h", ("session", "g", "m"), 45_000)
    assert said == replace(said)
    assert said != replace(said, epoch=4)
    with pytest.raises(FrozenInstanceError):
        said.epoch = 4  # type: ignore[misc]
