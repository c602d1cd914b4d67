from odradek.broker.coordinator.group.state.share.beginning import Beginning


def test_nobody_waits_at_first() -> None:
    one, other = Beginning({}), Beginning({})
    one.waiting.append(("beat", None))  # type: ignore[arg-type]
    assert other.waiting == []
