from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.network.pre_auth import PreAuth
from odradek.broker.node.listener_tls import make_tls
from odradek.broker.runtime.clock import SystemClock
from tests.broker.security.certificates.options import tls_options

WAITING = PreAuth(SystemClock(), 1, 1)


def test_a_listener_gets_its_certificate() -> None:
    options = tls_options()
    tls = make_tls(options.config, options.listener, SystemClock(), WAITING)
    assert tls is not None
    assert tls.identity.current.certificate.is_for("localhost")
    assert tls.pre_auth is WAITING


def test_one_without_tls_gets_nothing() -> None:
    config = BrokerConfig()
    assert make_tls(config, config.client_listeners[0], SystemClock(), WAITING) is None
