"""Every scene in ``scenarios`` goes as it is written there."""

from pathlib import Path

import pytest

from odradek.broker.coordinator.group.state.classic_states import (
    TRANSITIONS,
    ClassicState,
)
from tests.broker.coordinator.group.scenario import played

SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scene_goes_as_written(path: Path) -> None:
    text = path.read_text()
    assert played(text) == text


def test_every_way_from_state_to_state_occurs() -> None:
    """``Dead`` is what nobody sees: the group is gone in the same breath."""
    seen: set[tuple[str, str]] = set()
    for path in SCENARIOS:
        before = "no"
        for line in path.read_text().splitlines():
            if line.startswith("= "):
                after = line.split()[1]
                seen.add((before, after))
                before = after
    for state, known in TRANSITIONS.items():
        for following in known.values():
            if following is not ClassicState.DEAD:
                assert (state.value, following.value) in seen
    assert ("Empty", "no") in seen


def test_a_scene_that_goes_otherwise_is_noticed() -> None:
    text = next(path for path in SCENARIOS if path.stem == "arrival").read_text()
    assert played(text.replace("< b assigned two", "< b assigned one")) == text
