from odradek.broker.coordinator.phase import Phase


def test_only_an_active_shard_is_asked() -> None:
    assert [each.value for each in Phase] == ["loading", "active", "failed"]
