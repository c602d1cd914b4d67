from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.security.per_listener import SecurityOptions

CONFIG = BrokerConfig(
    listeners=(Listener("IN", "127.0.0.1", 1), Listener("OUT.SIDE", "127.0.0.1", 2)),
    listener_security_protocol_map=("IN:SSL", "OUT.SIDE:SASL_SSL"),
    ssl_client_auth="requested",
    ssl_keystore_location="/all",
    of_listeners={
        "listener.name.in.ssl.keystore.location": "/in",
        "listener.name.out.side.scram-sha-256.ssl.client.auth": "required",
        "listener.name.out.side.ssl.keystore.password": None,
    },
)


def test_a_listener_has_its_own_value_or_that_of_all() -> None:
    inside = SecurityOptions.of(CONFIG, "IN")
    outside = SecurityOptions.of(CONFIG, "OUT.SIDE")
    assert inside.listener.security_protocol == "SSL"
    assert inside.get("ssl.keystore.location") == "/in"
    assert outside.get("ssl.keystore.location") == "/all"
    assert inside.get("ssl.client.auth") == outside.get("ssl.client.auth")


def test_a_mechanism_has_its_own_before_that_of_its_listener() -> None:
    outside = SecurityOptions.of(CONFIG, "OUT.SIDE")
    assert outside.get("ssl.client.auth", "SCRAM-SHA-256") == "required"
    assert outside.get("ssl.client.auth", "PLAIN") == "requested"
    assert outside.get("ssl.client.auth") == "requested"


def test_people_are_told_where_a_value_is_set() -> None:
    inside = SecurityOptions.of(CONFIG, "IN")
    own = "listener.name.in.ssl.keystore.location"
    assert inside.name_of("ssl.keystore.location") == own
    assert inside.name_of("ssl.client.auth") == "ssl.client.auth"
    assert inside.is_own("ssl.keystore.location")
    assert not inside.is_own("ssl.client.auth")


def test_that_there_is_no_value_is_a_value() -> None:
    outside = SecurityOptions.of(CONFIG, "OUT.SIDE")
    assert outside.is_own("ssl.keystore.password")
    assert outside.get("ssl.keystore.password") is None
