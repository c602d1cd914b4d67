from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.node.listener_tls import make_tls
from odradek.broker.runtime.clock import SystemClock
from tests.broker.security.certificates.options import tls_options


def test_a_listener_gets_its_certificate() -> None:
    options = tls_options()
    tls = make_tls(options.config, options.listener, SystemClock())
    assert tls is not None
    assert tls.identity.current.certificate.is_for("localhost")
    assert tls.pre_auth.count == 0


def test_one_without_tls_gets_nothing() -> None:
    config = BrokerConfig()
    assert make_tls(config, config.client_listeners[0], SystemClock()) is None
