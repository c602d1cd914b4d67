"""IncrementalAlterConfigs of a listener's ``ssl.*``: its certificate is another one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from odradek.broker.node.listener_tls import make_identity, renew_from_now_on
from odradek.broker.runtime.clock import SystemClock
from odradek.broker.security.certificates.identity import Identity
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import (
    AlterConfigsResourceResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from tests.broker.handlers.options.test_alter_configs import (
    BROKER,
    DELETE,
    SET,
    a_change,
    changed,
)
from tests.broker.security.certificates.options import tls_options
from tests.certificates import ALICE, SERVER, Holder, authority
from tests.fakes.topics import TopicBroker, topic_broker

OWN = "listener.name.ssl."
PASSWORD = "marker-secret"


class Served(TopicBroker):
    """With one listener that has TLS."""

    identity: Identity


@asynccontextmanager
async def tls_topic_broker(folder: Path) -> AsyncIterator[Served]:
    options = tls_options()
    given = options.config
    more = {
        name: getattr(given, name)
        for name in ("listeners", "ssl_certificate_file", "ssl_key_file", "ssl_ca_file")
    }
    async with topic_broker(folder, **more) as broker:
        broker.__class__ = Served
        assert isinstance(broker, Served)
        broker.identity = make_identity(options, SystemClock())
        renew_from_now_on(broker.services, broker.identity)
        yield broker


async def put(
    broker: Served, holder: Holder | None, *, on: str = "1", **more: bool
) -> AlterConfigsResourceResponse:
    """Set the files of ``holder`` for the listener; None: take away what is set."""
    names = (f"{OWN}ssl.certificate.file", f"{OWN}ssl.key.file")
    if holder is None:
        change = a_change(
            *((name, DELETE, None) for name in names), name=on, resource_type=BROKER
        )
    else:
        files = zip(names, map(str, holder), strict=True)
        change = a_change(
            *((name, SET, file) for name, file in files), name=on, resource_type=BROKER
        )
    (result,) = await changed(broker, change, **more)
    return result


async def test_the_next_handshake_has_what_was_set_and_then_what_was_before(
    tmp_path: Path,
) -> None:
    async with tls_topic_broker(tmp_path) as broker:
        names = ["DNS:localhost", "IP:127.0.0.1"]
        new = authority().issue(SERVER, names=names)
        before = broker.identity.current
        assert not (await put(broker, new, validate_only=True)).error_code
        assert broker.identity.current is before
        assert (await put(broker, new)).error_code == ErrorCode.NONE
        assert str(new.key) in broker.identity.current.where
        assert (await put(broker, None)).error_code == ErrorCode.NONE
        assert broker.identity.current.made_of == before.made_of
        assert broker.identity.renewed_count == 2


async def test_what_cannot_be_used_is_refused_and_nothing_changes(
    tmp_path: Path,
) -> None:
    async with tls_topic_broker(tmp_path) as broker:
        before = broker.identity.current
        for holder, complaint in (
            (authority().issue(ALICE), "ssl.allow.dn.changes=true allows that"),
            (Holder(tmp_path / "no", tmp_path / "no"), "No such file"),
        ):
            refused = await put(broker, holder)
            assert refused.error_code == ErrorCode.INVALID_REQUEST
            assert complaint in (refused.error_message or "")
        for_all = await put(broker, authority().issue(SERVER), on="")
        assert "broker id must be specified" in (for_all.error_message or "")
        assert broker.identity.current is before
        assert not broker.services.resources.of_brokers(1)[1]


async def test_a_password_is_shown_to_nobody(tmp_path: Path) -> None:
    async with tls_topic_broker(tmp_path) as broker:
        change = a_change(
            (f"{OWN}ssl.key.password", SET, PASSWORD), name="1", resource_type=BROKER
        )
        (result,) = await changed(broker, change)
        assert result.error_code == ErrorCode.NONE
        resource = DescribeConfigsResource(resource_type=BROKER, resource_name="1")
        answer: Any = await broker.ask(
            DescribeConfigsRequest(resources=[resource], include_synonyms=True), 4
        )
        (found,) = [
            each
            for each in answer.results[0].configs
            if each.name == f"{OWN}ssl.key.password"
        ]
        assert found.is_sensitive
        assert not found.read_only
        assert PASSWORD not in repr(answer)
