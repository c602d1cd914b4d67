import pytest

from odradek.broker.coordinator.group.state.classic_member import ClassicMember
from odradek.broker.runtime.parked import Parked


def member(*protocols: str, instance: str | None = None) -> ClassicMember:
    pairs = tuple((name, name.encode()) for name in protocols)
    return ClassicMember(
        "m", instance, "client", "/127.0.0.1", 60_000, 10_000, "consumer", pairs
    )


def test_it_votes_for_the_first_protocol_that_all_support() -> None:
    assert member("sticky", "range").vote({"range", "sticky"}) == "sticky"
    assert member("sticky", "range").vote({"range"}) == "range"
    with pytest.raises(ValueError, match="supports none"):
        member("sticky").vote({"range"})


def test_it_has_metadata_for_what_it_supports() -> None:
    asked = member("sticky", "range")
    assert asked.metadata_for("range") == b"range"
    assert asked.metadata_for("other") == b""
    assert asked.supports("range")
    assert not asked.supports("other")


def test_it_waits_while_an_answer_is_parked() -> None:
    asked = member("range")
    assert not asked.is_waiting
    asked.awaiting_sync = Parked()
    assert asked.is_waiting
    asked.awaiting_sync, asked.awaiting_join = None, Parked()
    assert asked.is_waiting


def test_a_static_member_has_a_name() -> None:
    assert member("range", instance="one").is_static
    assert not member("range").is_static
