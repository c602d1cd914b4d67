from odradek.broker.handlers.authorized_operations import (
    ALL_ON_CLUSTER,
    ALL_ON_TOPIC,
)


def test_everything_is_what_apache_kafka_answers() -> None:
    """Seen in the recordings: metadata, steps 38 and 39."""
    assert ALL_ON_TOPIC == 3576
    assert ALL_ON_CLUSTER == 8096
