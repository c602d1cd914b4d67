import resource
from pathlib import Path

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener as Address
from odradek.broker.network.guarded_connection import GuardedConnection
from odradek.broker.node.listening import make_listeners
from tests.broker.security.certificates.options import tls_options
from tests.fakes.login import login_broker


async def test_a_listener_with_sasl_guards_its_connections(tmp_path: Path) -> None:
    async with login_broker(tmp_path) as broker:
        assert isinstance(broker.listener.make_connection()(), GuardedConnection)
        (logins,) = broker.services.logins
        assert logins.listener.security_protocol == "SASL_PLAINTEXT"


async def test_sasl_ssl_has_both_and_strangers_are_counted_once(tmp_path: Path) -> None:
    async with login_broker(tmp_path) as broker:
        given = tls_options(
            protocol="SASL_SSL", sasl_enabled_mechanisms=("PLAIN",)
        ).config
        given.check()
        (listener,) = await make_listeners(
            given, broker.services, broker.listener.network, broker.catalog
        )
        assert listener.tls is not None
        assert isinstance(listener.make_connection()(), GuardedConnection)
        assert listener._pre_auths == {listener.tls.pre_auth}


async def test_one_without_either_has_neither(tmp_path: Path) -> None:
    async with login_broker(tmp_path) as broker:
        config = BrokerConfig(listeners=(Address("PLAINTEXT", "127.0.0.1", 0),))
        (listener,) = await make_listeners(
            config, broker.services, broker.listener.network, broker.catalog
        )
        assert listener.tls is None
        assert not isinstance(listener.make_connection()(), GuardedConnection)


@pytest.mark.parametrize("is_plain", [True, False])
async def test_no_core_is_dumped_of_a_broker_with_secrets(
    tmp_path: Path, is_plain: bool
) -> None:
    before = resource.getrlimit(resource.RLIMIT_CORE)
    given = BrokerConfig(listeners=(Address("PLAINTEXT", "127.0.0.1", 0),))
    try:
        async with login_broker(tmp_path) as broker:
            if not is_plain:
                given = tls_options().config
            resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
            await make_listeners(
                given, broker.services, broker.listener.network, broker.catalog
            )
            soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    assert (soft, hard) == (before[1] if is_plain else 0, before[1])
