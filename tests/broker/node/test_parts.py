from pathlib import Path

from tests.fakes.replicas import replicas


async def test_a_part_is_made_once_when_it_is_asked_for(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        services = broker.services
        assert "groups" not in vars(services)
        groups = services.groups
        assert services.groups is groups
        assert vars(services)["groups"] is groups


async def test_the_options_are_those_of_the_last_change(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        services = broker.services
        before = services.config
        services.live.change({"log.retention.ms": "5"}, {})
        assert services.config is services.live.current
        assert (before.log_retention_ms, services.config.log_retention_ms) == (None, 5)


async def test_share_states_are_not_loaded_before_somebody_uses_them(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        services = broker.services
        assert services.share_states_in_use is None
        assert "share_states" not in vars(services)
        await broker.create_topic("__share_group_state")
        states = services.share_states_in_use
        assert states is services.share_states
        await states.close()


async def test_share_states_are_in_use_while_their_topic_is_deleted(
    tmp_path: Path,
) -> None:
    """What it knew has to go with it."""
    async with replicas(tmp_path) as broker:
        states = broker.services.share_states
        assert broker.services.share_states_in_use is states
        await states.close()
