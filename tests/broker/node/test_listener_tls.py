import asyncio
import contextlib
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.broker.config.live_config import with_changes
from odradek.broker.config.options.security.per_listener import SecurityOptions
from odradek.broker.network.pre_auth import PreAuth
from odradek.broker.node.listener_tls import (
    current_context,
    make_identity,
    make_tls,
    renew_from_now_on,
)
from odradek.broker.runtime.clock import SystemClock
from odradek.broker.runtime.process import loop_factory
from odradek.broker.security.certificates.context import make_server_tls
from odradek.broker.security.certificates.identity import Identity
from odradek.broker.security.certificates.look import look_at
from odradek.broker.security.certificates.stores import StoreError
from tests.broker.network.tls.words import client_context
from tests.broker.security.certificates.copies import Copies
from tests.broker.security.certificates.options import tls_options
from tests.certificates import Holder, alice, authority, server, stranger
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


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_server_that_keeps_its_context_shows_and_trusts_what_is_new(
    loop: str, tmp_path: Path
) -> None:
    copies, trusted = Copies(tmp_path, server()), tmp_path / "ca.pem"
    trusted.write_text(authority().certificate.read_text())
    options = tls_options(
        copies.holder, ssl_client_auth="required", ssl_ca_file=str(trusted)
    )
    identity = Identity(options, SystemClock())

    async def shown_to(holder: Holder, port: int) -> bytes | None:
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=client_context(holder)
            )
            try:
                if await reader.read() == b"in":
                    found = writer.get_extra_info("ssl_object")
                    return bytes(found.getpeercert(binary_form=True))
            finally:
                writer.close()
        return None

    def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"in")
        writer.close()

    async def ask() -> None:
        context = current_context(identity)
        listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        port = listening.sockets[0].getsockname()[1]
        assert await shown_to(alice(), port) == der_of(server())
        assert await shown_to(stranger(), port) is None
        new = authority().issue("/CN=new", names=["IP:127.0.0.1"])
        copies.put(new)
        trusted.write_text(stranger().certificate.read_text())
        made = make_server_tls(options, identity.now_s)
        identity.take(made, look_at(options))
        assert await shown_to(alice(), port) is None
        assert await shown_to(stranger(), port) == der_of(new)
        listening.close()

    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        runner.run(ask())


def der_of(holder: Holder) -> bytes:
    return ssl.PEM_cert_to_DER_cert(holder.certificate.read_text())
