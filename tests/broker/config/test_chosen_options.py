import pytest

from odradek.broker.config.chosen_options import ChosenOptions
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.topic_config import log_config, validate_topic_options
from odradek.protocol.errors import InvalidConfig
from tests.fakes.counted_options import counted_options

BROKER = BrokerConfig()


def test_a_chosen_option_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = counted_options(monkeypatch)
    chosen = ChosenOptions({"retention.ms": "5", "flush.ms": "7"})
    assert parsed == [], "nobody has asked for its value"
    chosen = validate_topic_options(chosen, BROKER)
    log_config(chosen, BROKER)
    assert parsed == ["5", "7"]
    changed = chosen.changed_to({"retention.ms": "6", "flush.ms": "7"})
    config = log_config(validate_topic_options(changed, BROKER), BROKER)
    assert (config.retention_ms, config.flush_ms) == (6, 7)
    assert parsed == ["5", "7", "6"]


def test_what_was_stored_and_cannot_be_can_be_taken_away() -> None:
    stored = ChosenOptions({"no.such": "1", "flush.ms": "7"})
    with pytest.raises(InvalidConfig):
        log_config(stored, BROKER)
    changed = stored.changed_to({"flush.ms": "7"})
    assert log_config(changed, BROKER).flush_ms == 7
    with pytest.raises(InvalidConfig):
        stored.changed_to({"no.such": "1"})
