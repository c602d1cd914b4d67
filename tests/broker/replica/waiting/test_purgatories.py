from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.replica.waiting.purgatories import purgatories_of
from tests.fakes.clock import FakeClock


def test_each_has_its_own_name_and_interval() -> None:
    config = BrokerConfig(
        producer_purgatory_purge_interval_requests=1,
        fetch_purgatory_purge_interval_requests=2,
        delete_records_purgatory_purge_interval_requests=3,
        share_fetch_purgatory_purge_interval_requests=4,
    )
    made = purgatories_of(config, FakeClock())
    names = [each.name for each in made]
    assert names == ["Produce", "Fetch", "DeleteRecords", "ShareFetch"]
    assert [each._purge_interval for each in made] == [1, 2, 3, 4]
