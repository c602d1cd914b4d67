from pathlib import Path

import pytest

from odradek.broker.node.jobs import SHARE_UPKEEP_INTERVAL_MS, add_jobs, make_cleaning
from odradek.broker.requests.dispatch import Dispatcher
from tests.fakes.replicas import replicas


@pytest.mark.parametrize(
    ("options", "is_there"),
    [
        ({}, True),
        ({"log_cleaner_enable": False}, False),
        ({"log_cleaner_threads": 0}, False),
    ],
)
async def test_logs_are_cleaned_unless_an_option_says_no(
    tmp_path: Path, options: dict[str, object], is_there: bool
) -> None:
    async with replicas(tmp_path, **options) as broker:
        services = broker.services
        cleaning = make_cleaning(services, broker.files)
        dispatcher = Dispatcher(services, {})
        add_jobs(services, [], cleaning, dispatcher)
        names = services.scheduler.names
        assert ("clean logs" in names) is is_there
        assert "scrub" not in names, "no interval is set"
        await services.scheduler.stop()


async def test_cleaning_gets_what_the_options_say(tmp_path: Path) -> None:
    options = {
        "log_cleaner_dedupe_buffer_size": 6 << 20,
        "log_cleaner_threads": 3,
        "log_cleaner_io_max_bytes_per_second": 3000.0,
        "log_cleaner_io_buffer_load_factor": 0.5,
    }
    async with replicas(tmp_path, **options) as broker:
        limits = make_cleaning(broker.services, broker.files).limits
        assert limits.map_size_of_round == 2 << 20
        assert limits.rate_of_round == 1000
        assert limits.rounds_max == 3
        assert limits.load_factor == 0.5


async def test_share_states_are_kept_short_once_there_are_any(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        services = broker.services
        cleaning = make_cleaning(services, broker.files)
        add_jobs(services, [], cleaning, Dispatcher(services, {}))
        await broker.clock.tick(SHARE_UPKEEP_INTERVAL_MS)
        assert "share_states" not in vars(services), "nobody uses them"
        cut: list[None] = []
        states = services.share_states
        states.upkeep = lambda: cut.append(None)  # type: ignore[method-assign]
        await broker.clock.tick(SHARE_UPKEEP_INTERVAL_MS)
        assert cut == [None]
        await services.scheduler.stop()
        await states.close()
