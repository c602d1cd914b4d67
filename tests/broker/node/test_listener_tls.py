import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.broker.config.live_config import with_changes
from odradek.broker.config.options.security import SecurityOptions
from odradek.broker.network.pre_auth import PreAuth
from odradek.broker.node.listener_tls import (
    make_identity,
    make_tls,
    renew_from_now_on,
)
from odradek.broker.runtime.clock import SystemClock
from odradek.broker.security.certificates.stores import StoreError
from tests.broker.security.certificates.options import tls_options
from tests.fakes.topics import topic_broker

WAITING = PreAuth(SystemClock(), 1, 1)
OWN = "listener.name.ssl."


def test_a_listener_gets_its_certificate() -> None:
    options = tls_options()
    tls = make_tls(options.config, options.listener, SystemClock(), WAITING)
    assert tls.identity.current.certificate.is_for("localhost")
    assert tls.pre_auth is WAITING


def test_one_that_was_set_later_and_is_gone_is_not_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    options = tls_options()
    config = with_changes(
        options.config, {}, {f"{OWN}ssl.certificate.file": "/no/such.pem"}
    )
    identity = make_identity(SecurityOptions(config, options.listener), SystemClock())
    assert identity.options.config is options.config
    assert identity.failure is not None
    assert "No such file" in identity.failure
    assert "begins with the certificate of its file of options" in caplog.text


def test_one_that_was_never_there_stops_the_start() -> None:
    options = tls_options()
    config = with_changes(
        replace(options.config, ssl_certificate_file="/no/such.pem"),
        {},
        {"message.max.bytes": "7"},
    )
    with pytest.raises(StoreError, match="No such file"):
        make_identity(SecurityOptions(config, options.listener), SystemClock())


async def test_certificates_follow_the_options(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        services, options = broker.services, tls_options()
        identity = make_identity(options, SystemClock())
        renew_from_now_on(services, identity)
        renew_from_now_on(services, make_identity(options, SystemClock()))
        assert services.certificates is not None
        assert services.certificates.identities[0] is identity
        services.live.static = options.config
        services.live.change({}, {f"{OWN}ssl.key.password": "x"})
        assert identity.options.get("ssl.key.password") == "x"
        await asyncio.sleep(0)
