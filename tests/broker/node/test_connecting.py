import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener
from odradek.broker.node.connecting import endpoints_of
from odradek.broker.runtime.start_error import StartError


def test_others_are_told_where_to_connect() -> None:
    config = BrokerConfig(
        listeners=(Listener("PLAINTEXT", "0.0.0.0", 9092),),
        advertised_listeners=(Listener("PLAINTEXT", "broker-1", 19092),),
    )
    (found,) = endpoints_of(config)
    assert found == ("PLAINTEXT", "broker-1", 19092, 0)


@pytest.mark.parametrize(("host", "port"), [("0.0.0.0", 9092), ("broker-1", 0)])
def test_an_address_that_nobody_reaches_is_refused(host: str, port: int) -> None:
    config = BrokerConfig(listeners=(Listener("PLAINTEXT", host, port),))
    with pytest.raises(StartError, match=r"advertised\.listeners"):
        endpoints_of(config)
